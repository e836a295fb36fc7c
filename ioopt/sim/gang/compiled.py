"""The simulator of :mod:`ioopt.sim.gang.simulate` as machine code, equal to the bit.

Nodes are 64-bit words, at most 62 rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ioopt.compiled import compiled
from ioopt.decisions.gang.rules import BEST_FIT, Rules
from ioopt.decisions.gang.state import Gang, Timing
from ioopt.sim.gang import clock
from ioopt.sim.gang.board import (
    DONE,
    SLOT_SECONDS,
    TAIL,
    TASKS,
    UPDATES,
    Board,
    Jobs,
    make_board,
    make_jobs,
)
from ioopt.sim.gang.simulate import Trajectory
from ioopt.sim.gang.words import Words
from ioopt.sim.pace import Pace

STEPS_PER_CALL = 2_000
"""Steps between two looks at the deadline."""
MAX_LEVELS = 62
"""Rows of a matrix; their masks are signed 64-bit words."""

_KINDS: dict[type, frozenset[str]] = {
    np.uint64: frozenset({"homes", "filled", "layers", "files", "columns"}),
    np.float64: frozenset(
        {"clock", "worth", "at_files", "remote", "arrival", "need", "attained", "start", "finish"}
    ),
    np.bool_: frozenset({"packed", "local"}),
}
"""The fields by what their arrays hold, int64 but for these; sets of nodes are rows of words."""
_simulate = compiled(clock.__name__, "simulate", whole=True)


def run(
    gangs: Sequence[Gang], timing: Timing, rules: Rules, pace: Pace | None = None
) -> Trajectory:
    """Simulate in compiled code; the same answer as :class:`ioopt.sim.gang.simulate.GangSimulation`.

    Raises OutOfTime where *pace* ends the run.
    """
    total = len(gangs)
    board = board_arrays(make_board(total, timing.nodes, timing.levels))
    jobs = job_arrays(make_jobs(gangs, rules), timing.nodes)
    numbers = rules.numbers(timing.nodes, timing.levels, timing.quantum)
    tally = board.tally
    while tally[DONE] < total:
        _simulate(board, jobs, timing, numbers, STEPS_PER_CALL)
        if tally[DONE] < total and pace:
            pace.look(int(tally[TAIL]), int(tally[DONE]), total)
    start, finish, local = (np.asarray(c).tolist() for c in (jobs.start, jobs.finish, jobs.local))
    slot_seconds = float(board.clock[SLOT_SECONDS])
    return Trajectory(start, finish, local, int(tally[TASKS]), slot_seconds, int(tally[UPDATES]))


def compile_kernels() -> None:
    """Compile the kernel, or load it, by a run of one job."""
    run([Gang(0, 1, 1, 1.0, 1.0)], Timing(1, 1, 1.0, 0.0, 0, 1e-7), Rules(BEST_FIT))


def board_arrays(board: Board) -> Board:
    """*board* with arrays in the place of lists."""
    made = {name: _array(name, value, board.nodes) for name, value in board._asdict().items()}
    return Board(**made)


def job_arrays(jobs: Jobs, nodes: int) -> Jobs:
    """*jobs* on a machine of *nodes* with arrays in the place of lists."""
    return Jobs(**{name: _array(name, value, nodes) for name, value in jobs._asdict().items()})


def _array(name: str, value: Any, nodes: int) -> Any:
    """What machine code takes in the place of the list *value* of that field."""
    if isinstance(value, int):
        return value
    kind = next((kind for kind, names in _KINDS.items() if name in names), np.int64)
    return words_of(value, nodes) if kind is np.uint64 else np.array(value, kind)


def words_of(masks: Sequence[int], nodes: int) -> Words:
    """Masks of nodes as rows of words; bit k of word w is node 64 w + k."""
    words = (nodes + 63) // 64
    data = b"".join(mask.to_bytes(8 * words, "little") for mask in masks)
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, words)
