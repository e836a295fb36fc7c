"""The simulator of :mod:`ioopt.sim.gang.simulate` as machine code, equal to the bit.

Nodes are 64-bit words, at most 62 rows.
"""

import numpy as np

from ioopt.compiled import compiled
from ioopt.decisions.gang.rules import BEST_FIT, Rules
from ioopt.decisions.gang.state import Timing
from ioopt.problems.base import Json
from ioopt.sim.gang import clock
from ioopt.sim.gang.board import DONE, SLOT_SECONDS, TAIL, TASKS, UPDATES, Board, Jobs, make_board
from ioopt.sim.gang.simulate import Trajectory
from ioopt.sim.gang.table import JobTable, pack_masks
from ioopt.sim.gang.words import Words, WordSets
from ioopt.sim.pace import Pace

STEPS_PER_CALL = 2_000
"""Steps between two looks at the deadline."""
MAX_LEVELS = 62
"""Rows of a matrix; their masks are signed 64-bit words."""

_SETS = {"homes", "filled", "common", "layers"}
_KEYS = {"run", "queue", "moved", "gone", "group", "loose"}
_REAL = {"clock", "worth"}

_simulate = compiled(clock.__name__, "simulate", whole=True)


def run(table: JobTable, timing: Timing, rules: Rules, pace: Pace | None = None) -> Trajectory:
    """Simulate in compiled code; the same answer as :class:`ioopt.sim.gang.simulate.GangSimulation`.

    Raises OutOfTime where *pace* ends the run.
    """
    total = len(table.size)
    board = board_arrays(make_board(total, timing.nodes, timing.levels))
    jobs = job_arrays(table, rules)
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
    one = np.ones(1)
    table = JobTable(0 * one, one.astype(np.int64), np.ones((1, 1), np.bool_), one, one)
    run(table, Timing(1, 1, 1.0, 0.0, 0, 1e-7), Rules(BEST_FIT))


def board_arrays(board: Board) -> Board:
    """*board* with arrays in the place of lists; an empty one."""
    words = (board.nodes + 63) // 64
    made: Json = {}
    for name, value in board._asdict().items():
        if isinstance(value, int):
            made[name] = value
        elif name in _SETS:
            made[name] = np.zeros((len(value), words), np.uint64)
        else:
            kind = np.uint32 if name in _KEYS else np.float64 if name in _REAL else np.int64
            made[name] = np.array(value, dtype=kind)
    return Board(**made)


def job_arrays(table: JobTable, rules: Rules) -> Jobs:
    """The job table as arrays; nothing placed yet."""
    num = len(table.size)
    local, remote, arrival = (
        np.array(c, float) for c in (table.local, table.remote, table.arrival)
    )
    above, below = rules.pack_ratio.as_integer_ratio()
    files = word_sets(pack_masks(table.files))
    made: Json = {
        "size": np.array(table.size, np.int64),
        "files": files,
        "at_files": local,
        "remote": remote,
        "arrival": arrival,
        "packed": remote * below <= local * above,
        "columns": word_sets(np.zeros_like(files.words)),
        "home": np.zeros(num, np.uint32),
        "span": np.zeros(num, np.int64),
        "local": np.zeros(num, np.bool_),
        "need": local.copy(),
        "attained": np.zeros(num),
        "start": np.full(num, np.nan),
        "finish": np.full(num, np.nan),
    }
    return Jobs(**made)


def word_sets(words: Words) -> WordSets:
    """Sets of nodes from masks (sets, words)."""
    used = words != 0
    num = words.shape[1]
    low = used.argmax(axis=1).astype(np.int64)
    high = num - used[:, ::-1].argmax(axis=1)
    return WordSets(words, low, np.where(used.any(axis=1), high, 0).astype(np.int64))
