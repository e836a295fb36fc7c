"""Store the state of a gang simulation in flat lists, or in arrays for machine code.

The key of a job is its FCFS position; it is the job's index in all tables. All changes
are made in place. The kernels of :mod:`ioopt.sim.gang.phases` and
:mod:`ioopt.sim.gang.clock` therefore allocate no memory. Rule numbers refer to
docs/rules/gang.md.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ioopt.decisions.gang.rules import Number, Rules
from ioopt.decisions.gang.state import Gang
from ioopt.sim.gang.nodes import Sets

# Indices of Board.tally.
RUNNING = 0
"""Number of running jobs."""
STARTED = 1
"""Number of jobs that were running before this update started others."""
HEAD = 2
"""Index of the first job in the queue, which is ``queue[HEAD:TAIL]``."""
TAIL = 3
"""Index after the last job in the queue: the number of jobs that have arrived."""
MOVED = 4
"""Number of jobs that migrated in this update."""
BUDGET = 5
"""Number of tasks that may still migrate in the slice BUDGET_SLICE."""
BUDGET_SLICE = 6
TASKS = 7
"""Number of tasks that have migrated in the whole run."""
UPDATES = 8
"""Number of matrix updates made."""
SLICE = 9
"""Number of the present time slice."""
GONE = 10
"""Number of jobs that have finished but are still in the matrix."""
LEFT = 11
"""Number of jobs that this update removed from the matrix."""
DONE = 12
"""Number of jobs that have finished."""
SLOTS = 13
"""Number of occupied slots (node, row)."""
DUE = 14
"""1 if a matrix update is due, else 0."""
# Indices of Board.clock.
NOW = 0
"""The present time in seconds."""
SLOT_SECONDS = 1
"""Integral over time of the number of occupied slots (node, row)."""


class Jobs(NamedTuple):
    """Store the jobs, indexed by key; times are in seconds. The fields from ``columns``
    on change during a run.

    ``files`` are a job's file nodes. ``at_files`` and ``remote`` are its run times on
    its file nodes and elsewhere. ``packed`` marks jobs that gain little from their file
    nodes. ``columns`` are the nodes that the job occupies, and ``home`` is the row of
    its home instance. ``span`` is the mask of the rows that hold the job, replicas
    included. ``local`` tells whether its columns are its file nodes (rule 8). ``need``
    is the scheduled time that it still needs.
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
    """Store the matrix and the queue; the fields from ``group`` on are scratch space.

    ``run`` holds the keys of the running jobs in start order (rule 10). For each row,
    ``homes`` holds the nodes that home instances occupy, ``population`` the number of
    these nodes, and ``filled`` the nodes that are occupied when replicas are included.
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
    """Return the job table of *gangs* for plain Python, in the order given; no job is
    in the matrix yet.
    """
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
    """Return an empty matrix of *nodes* columns and *levels* rows for plain Python.

    *zero* is the number 0 in the arithmetic of times (float or Fraction).
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
