"""Run the simulator of :mod:`ioopt.sim.gang.simulate` as machine code.

The results equal those of plain Python to the bit. Sets of nodes are rows of 64-bit
words. A matrix has at most 62 rows.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ioopt.compiled import compiled
from ioopt.decisions.gang.rules import BEST_FIT, Rules
from ioopt.decisions.gang.state import Gang, Timing
from ioopt.sim.gang import board as at
from ioopt.sim.gang import clock
from ioopt.sim.gang.board import Board, Jobs, make_board, make_jobs
from ioopt.sim.gang.simulate import Trajectory
from ioopt.sim.gang.words import Words
from ioopt.sim.pace import Pace

STEPS_PER_CALL = 2_000
"""Steps of the event loop between two checks of the deadline."""
MAX_LEVELS = 62
"""Largest number of rows of a matrix, because masks of rows are signed 64-bit words."""

_KINDS: dict[type, frozenset[str]] = {
    np.uint64: frozenset({"homes", "filled", "layers", "files", "columns"}),
    np.float64: frozenset(
        {
            "clock",
            "worth",
            "at_files",
            "remote",
            "arrival",
            "need",
            "attained",
            "start",
            "finish",
        }
    ),
    np.bool_: frozenset({"packed", "local"}),
}
"""The fields of each element type; all other fields are int64.

Sets of nodes are rows of words.
"""
TableT = TypeVar("TableT", Board, Jobs)
_simulate = compiled(clock.__name__, "simulate", whole=True)


def run(
    gangs: Sequence[Gang], timing: Timing, rules: Rules, pace: Pace | None = None
) -> Trajectory:
    """Run the simulation of *gangs* under *rules* as machine code.

    Raises OutOfTime if *pace* ends the run.
    """
    total = len(gangs)
    board = in_arrays(make_board(total, timing.nodes, timing.levels), timing.nodes)
    jobs = in_arrays(make_jobs(gangs, rules), timing.nodes)
    numbers = rules.numbers(timing.nodes, timing.levels, timing.quantum)
    tally = board.tally
    while tally[at.DONE] < total:
        _simulate(board, jobs, timing, numbers, STEPS_PER_CALL)
        if tally[at.DONE] < total and pace:
            pace.look(int(tally[at.TAIL]), int(tally[at.DONE]), total)
    return Trajectory(
        start=np.asarray(jobs.start).tolist(),
        finish=np.asarray(jobs.finish).tolist(),
        local=np.asarray(jobs.local).tolist(),
        tasks_moved=int(tally[at.TASKS]),
        occupied=float(board.clock[at.SLOT_SECONDS]),
        updates=int(tally[at.UPDATES]),
    )


def compile_kernels() -> None:
    """Compile the simulator or load its machine code, by running one job."""
    run([Gang(0, 1, 1, 1.0, 1.0)], Timing(1, 1, 1.0, 0.0, 0, 1e-7), Rules(BEST_FIT))


def in_arrays(table: TableT, nodes: int) -> TableT:
    """Return a copy of a board or a job table in which arrays replace the lists.

    *nodes* is the number of nodes of the machine.
    """
    found: dict[str, Any] = {}
    for name, value in table._asdict().items():
        kind = next((kind for kind, names in _KINDS.items() if name in names), np.int64)
        if kind is np.uint64:
            found[name] = words_of(value, nodes)
        elif isinstance(value, int):
            found[name] = value
        else:
            found[name] = np.array(value, kind)
    return table._replace(**found)


def words_of(masks: Sequence[int], nodes: int) -> Words:
    """Return sets of nodes as rows of words: bit k of word w stands for node 64 w +
    k.
    """
    words = (nodes + 63) // 64
    data = b"".join(mask.to_bytes(8 * words, "little") for mask in masks)
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, words)
