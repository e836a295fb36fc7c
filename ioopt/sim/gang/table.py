"""Jobs of a gang workload as arrays: what the compiled engine reads and the generators write."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ioopt.problems.gang import GangProblem


@dataclass(frozen=True)
class JobTable:
    """Jobs in FCFS order: masks (jobs, words) of uint64, the rest (jobs,); seconds."""

    arrival: Any
    size: Any
    files: Any
    local: Any
    remote: Any


def table_of(problem: GangProblem) -> JobTable:
    """The jobs of a workload in FCFS order."""
    jobs = [problem.jobs[position] for position in problem.fcfs]
    times = [problem.times[position] for position in problem.fcfs]
    taken = np.zeros((len(jobs), problem.machine.nodes), np.bool_)
    for k, job in enumerate(jobs):
        taken[k, list(job.file_nodes)] = True
    return JobTable(
        np.array([job.arrival_seconds for job in jobs], np.float64),
        np.array([job.size for job in jobs], np.int64),
        pack_masks(taken),
        np.array([local for local, _ in times], np.float64),
        np.array([remote for _, remote in times], np.float64),
    )


def pack_masks(taken: Any) -> Any:
    """Rows of booleans (jobs, nodes) as masks (jobs, words); bit k of word w is node 64 w + k."""
    jobs, nodes = taken.shape
    words = (nodes + 63) // 64
    padded = np.zeros((jobs, words * 8), np.uint8)
    packed = np.packbits(taken, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64)


def interval_masks(start: Any, size: Any, nodes: int) -> Any:
    """Masks (jobs, words) of the node intervals ``start .. start + size - 1``."""
    words = (nodes + 63) // 64
    base = np.arange(words, dtype=np.int64) * 64
    low = np.clip(start[:, None] - base, 0, 64)
    high = np.clip((start + size)[:, None] - base, 0, 64)
    return _below(high) & ~_below(low)


def _below(count: Any) -> Any:
    """Words whose *count* lowest bits are set (0 .. 64)."""
    table = np.array([(1 << k) - 1 for k in range(65)], np.uint64)
    return table[count]


def unpack_masks(masks: Any, nodes: int) -> Any:
    """The booleans (jobs, nodes) of masks (jobs, words): the inverse of :func:`pack_masks`."""
    octets = np.ascontiguousarray(masks.astype("<u8")).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, bitorder="little", count=None)
    return bits[:, :nodes].astype(np.bool_)
