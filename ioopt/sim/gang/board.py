"""Store the state of a gang simulation in flat lists, or in arrays for machine code.

Jobs are numbered by key (FCFS position). All changes are made in place, so that the
kernels of :mod:`ioopt.sim.gang.phases` and :mod:`ioopt.sim.gang.clock` allocate no
memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ioopt.decisions.gang.rules import Number, Rules
from ioopt.decisions.gang.state import Gang
from ioopt.sim.gang.nodes import Sets

# Indices of Board.tally.
RUNNING = 0
"""Index of the number of running jobs."""
STARTED = 1
"""Number of jobs that ran before this update's starts."""
HEAD = 2
"""Begin of the queue, ``queue[HEAD:TAIL]``."""
TAIL = 3
"""End of the queue: the number of jobs that have arrived."""
MOVED = 4
"""Number of jobs that migrated in this update."""
BUDGET = 5
"""Tasks that may still migrate in the slice BUDGET_SLICE."""
BUDGET_SLICE = 6
TASKS = 7
"""Number of tasks that have migrated."""
UPDATES = 8
"""Number of matrix updates."""
SLICE = 9
"""The present slice."""
GONE = 10
"""Number of jobs that have finished and are still in the matrix."""
LEFT = 11
"""Number of jobs that left in this update."""
DONE = 12
"""Number of jobs that have finished."""
SLOTS = 13
"""Number of occupied node slots."""
DUE = 14
"""1 if an update is due."""
# Indices of Board.clock.
NOW = 0
"""The time."""
SLOT_SECONDS = 1
"""The integral of occupied node slots over time."""


class Jobs(NamedTuple):
    """Store the jobs by key; times are in seconds. Fields from ``columns`` on change.

    ``packed`` marks jobs that gain little from their files; ``span`` is the mask of
    rows that hold the job, ``local`` whether its columns are its file nodes (rule 8),
    and ``need`` the scheduled time still needed.
    """

    size: list[int]
    files: Sets
    at_files: list[Number]
    remote: list[Number]
    arrival: list[Number]
    packed: list[bool]
    columns: Sets
    home: list[int]
    span: list[int]
    local: list[bool]
    need: list[Number]
    attained: list[Number]
    start: list[Any]
    finish: list[Any]


class Board(NamedTuple):
    """Store the matrix and the queue; fields from ``group`` on are scratch space.

    ``run`` are the keys of running jobs in start order (rule 10). ``homes`` are the
    occupied nodes of each row without replicas, ``population`` their number, and
    ``filled`` the occupied nodes with replicas.
    """

    nodes: int
    levels: int
    run: list[int]
    queue: list[int]
    homes: Sets
    population: list[int]
    filled: Sets
    moved: list[int]
    gone: list[int]
    tally: list[int]
    clock: list[Number]
    group: list[int]
    layers: Sets
    worth: list[Number]
    ascending: list[int]
    descending: list[int]


def make_jobs(gangs: Sequence[Gang], rules: Rules) -> Jobs:
    """Return the table of *gangs* for plain Python, by position; none is placed yet."""
    num = len(gangs)
    # All fields become columns in one step, because a live policy makes a table at
    # every event.
    columns = map(list, zip(*gangs)) if gangs else ([],) * 6
    _, size, files, local, remote, arrival = columns
    packed = [False] * num
    above, below = rules.pack_ratio.as_integer_ratio()
    if above:
        packed = [away * below <= near * above for near, away in zip(local, remote)]
    return Jobs(
        size=size,
        files=files,
        at_files=local,
        remote=remote,
        arrival=arrival,
        packed=packed,
        columns=[0] * num,
        home=[0] * num,
        span=[0] * num,
        local=[False] * num,
        need=list(local),
        attained=[0] * num,
        start=[None] * num,
        finish=[None] * num,
    )


def make_board(num_jobs: int, nodes: int, levels: int, zero: Number = 0.0) -> Board:
    """Return an empty matrix of *nodes* x *levels* for plain Python.

    *zero* is a 0 in the arithmetic of times.
    """
    room = min(num_jobs, nodes * levels) + 1
    tally = [0] * (DUE + 1)
    tally[BUDGET_SLICE] = -1
    return Board(
        nodes=nodes,
        levels=levels,
        run=[0] * room,
        queue=list(range(num_jobs)),
        homes=[0] * levels,
        population=[0] * levels,
        filled=[0] * levels,
        moved=[0] * room,
        gone=[0] * room,
        tally=tally,
        clock=[zero, zero],
        group=[0] * room,
        layers=[0] * (levels + 1),
        worth=[zero] * num_jobs,
        ascending=[0] * levels,
        descending=[0] * levels,
    )
