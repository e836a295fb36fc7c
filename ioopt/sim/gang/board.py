"""The state of a gang simulation as flat lists, or as arrays where machine code runs
it.

Jobs are numbered by key (FCFS position). All changes are made in place, so that the
kernels of :mod:`ioopt.sim.gang.phases` and :mod:`ioopt.sim.gang.clock` allocate
nothing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ioopt.decisions.gang.rules import Number, Rules
from ioopt.decisions.gang.state import Gang
from ioopt.sim.gang.nodes import Sets

RUNNING, STARTED, HEAD, TAIL, MOVED, BUDGET, BUDGET_SLICE, TASKS, UPDATES = range(9)
SLICE, GONE, LEFT, DONE, SLOTS, DUE = range(9, 15)
"""Places of :attr:`Board.tally`. Jobs: running, of them before this update's starts;
the queue is ``queue[HEAD:TAIL]``, TAIL all that have arrived; moved in this update.
Tasks that may still migrate in the slice BUDGET_SLICE, and all that did; updates. The
slice; jobs that finished and are still in the matrix, that left in this update, that
are done; occupied node slots; an update is due.
"""
NOW, SLOT_SECONDS = 0, 1
"""Places of :attr:`Board.clock`: the time, and the integral of occupied slots over it.
"""


class Jobs(NamedTuple):
    """The jobs by key, seconds throughout; from ``columns`` on what changes.

    ``packed`` ones hardly need their files; ``span`` is the mask of rows that hold the
    job, ``local`` whether its columns are its file nodes (rule 8); ``need`` the
    scheduled time still needed.
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
    """The matrix and the queue; from ``group`` on scratch space.

    ``run`` are the keys of running jobs in start order (rule 10); ``homes`` and
    ``population`` the nodes and their number in each row without replicas, ``filled``
    the nodes with them.
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
    """The table of *gangs*, keyed by position, for plain Python; nothing placed yet."""
    num = len(gangs)
    # The fields of the jobs as columns at once: a live policy makes a
    # table at every event.
    columns = map(list, zip(*gangs)) if gangs else ([],) * 6
    _, size, files, local, remote, arrival = columns
    above, below = rules.pack_ratio.as_integer_ratio()
    if above:
        packed = [away * below <= near * above for near, away in zip(local, remote)]
    else:
        packed = []
    return Jobs(
        size=size,
        files=files,
        at_files=local,
        remote=remote,
        arrival=arrival,
        packed=packed or [False] * num,
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
    """An empty matrix of *nodes* x *levels* for plain Python; *zero* in the
    arithmetic of times.
    """
    room = min(num_jobs, nodes * levels) + 1
    tally = [0] * (DUE + 1)
    tally[BUDGET_SLICE] = -1
    return Board(
        nodes,
        levels,
        [0] * room,
        list(range(num_jobs)),
        [0] * levels,
        [0] * levels,
        [0] * levels,
        [0] * room,
        [0] * room,
        tally,
        [zero, zero],
        [0] * room,
        [0] * (levels + 1),
        [zero] * num_jobs,
        [0] * levels,
        [0] * levels,
    )
