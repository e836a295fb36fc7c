"""Jobs of a gang workload as arrays: what the compiled engine reads and the generators write."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ioopt.problems.gang import GangProblem

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class JobTable:
    """Jobs in FCFS order: ``files`` booleans (jobs, nodes), the rest (jobs,); seconds."""

    arrival: Reals
    size: NDArray[np.int64]
    files: NDArray[np.bool_]
    local: Reals
    remote: Reals


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
        taken,
        np.array([local for local, _ in times], np.float64),
        np.array([remote for _, remote in times], np.float64),
    )


def pack_masks(taken: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of booleans (jobs, nodes) as masks (jobs, words); bit k of word w is node 64 w + k."""
    jobs, nodes = taken.shape
    words = (nodes + 63) // 64
    padded = np.zeros((jobs, words * 8), np.uint8)
    packed = np.packbits(taken, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64)
