"""Store the state of a gang simulation: the Ousterhout matrix, its jobs and the queue.

The same records are Python objects, or C structs for compiled kernels
(:mod:`ioopt.compiled.memory`). The key of a job is its FCFS position; it is the job's
index in all lists. All changes are made in place, so that the phases of an update and
:mod:`ioopt.sim.gang.clock` allocate no memory. Rule numbers refer to
docs/rules/gang.md.

A set of nodes is one or more words: whole numbers in which bit k of word w stands for
node ``w * width + k``. In plain Python one word holds all nodes. In a list of sets, set
j is ``sets[j * words:(j + 1) * words]``. A set of rows is one word in any case.

Times are in seconds. In exact arithmetic, which only plain Python has, fractions take
the place of floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from ioopt.arrays import Flags, Floats, Ints
from ioopt.compiled.memory import Maker
from ioopt.decisions.gang.rules import Rules
from ioopt.decisions.gang.state import Gang
from ioopt.problems.gang import mask_of
from ioopt.problems.gang_jobs import GangJobs
from ioopt.problems.job_columns import offsets

BYTES_PER_WORD = 7
"""Bytes of a word of a compiled set of nodes: as many whole bytes as a number of 64
bits can have without being negative.
"""
CELLS_AT_ONCE = 1 << 22
"""Number of pairs of a job and a node that become sets at a time."""
NOT_YET = -1.0
"""Start of a job that waits, and finish of a job that has not finished."""


@dataclass(slots=True)
class Job:
    """A job of parallel tasks, a gang. The fields from ``local`` on change in a run.

    ``at_files`` and ``remote`` are its run times on its file nodes and elsewhere.
    ``packed`` marks a job that gains little from its file nodes. ``local`` tells
    whether its columns are its file nodes (rule 8). ``home`` is the row of its home
    instance, ``span`` the set of rows that hold it, replicas included, and ``rows``
    their number. ``next_row`` is the first row that FillMatrix has not tried yet.
    ``rank`` is the number of jobs that started before it. ``worth`` is its weight times
    its speed. ``need`` is the scheduled time that it still needs, and ``attained`` the
    time that it has received.
    """

    size: int
    at_files: float
    remote: float
    arrival: float
    packed: bool
    local: bool
    home: int
    span: int
    rows: int
    next_row: int
    rank: int
    worth: float
    need: float
    attained: float
    start: float
    finish: float


@dataclass(slots=True)
class Matrix:
    """The matrix of ``levels`` rows and ``nodes`` columns, the queue, and the clock.

    ``every`` is the set of all nodes, of ``words`` words. ``files`` and ``columns`` are
    the sets of each job's file nodes and of the nodes that it occupies. For each row,
    ``homes`` holds the nodes that home instances occupy, ``population`` the number of
    these nodes, and ``filled`` the nodes that are occupied when replicas are included.
    Where sets have several words, ``room`` is the number of the other nodes, so that
    most rows that are too full need no look at the words.

    ``running`` has the keys of the ``num_running`` running jobs in start order (rule
    10); ``num_before`` of them ran before this update started others, and
    ``num_started`` jobs have started in the whole run. With weights, ``order`` has the
    same keys, the largest worth first. The queue is ``queue[queue_head:queue_tail]``;
    ``queue_tail`` is the number of jobs that have arrived. ``moved`` are the
    ``num_moved`` jobs that migrated in this update. ``gone`` are the ``num_gone`` jobs
    that have finished but are still in the matrix; ``num_left`` of them left it in this
    update. ``num_done`` jobs have finished. ``ascending`` and ``descending`` are the
    rows by their population. ``group`` and ``layers`` are scratch space.

    ``now`` is the present time, in the time slice number ``slice_number``. ``slots`` is
    the number of occupied slots (node, row), and ``slot_seconds`` its integral over
    time. In the slice ``budget_slice``, ``tasks_left`` tasks may still migrate;
    ``tasks_moved`` have migrated in the whole run. ``updates`` is the number of matrix
    updates made, and ``update_due`` tells whether another one is due.
    """

    nodes: int
    levels: int
    words: int
    every: list[int]
    jobs: list[Job]
    files: list[int]
    columns: list[int]
    homes: list[int]
    filled: list[int]
    population: list[int]
    room: list[int]
    running: list[int]
    order: list[int]
    queue: list[int]
    moved: list[int]
    gone: list[int]
    ascending: list[int]
    descending: list[int]
    group: list[int]
    layers: list[int]
    num_running: int
    num_before: int
    num_started: int
    queue_head: int
    queue_tail: int
    num_moved: int
    num_gone: int
    num_left: int
    num_done: int
    now: float
    slice_number: int
    slots: int
    slot_seconds: float
    budget_slice: int
    tasks_left: int
    tasks_moved: int
    updates: int
    update_due: bool


class Service(NamedTuple):
    """The scheduled times that jobs have received, and those that they still need.

    ``attained`` may be one number for all jobs. ``need`` is None if these are the run
    times of the jobs at their file nodes.
    """

    attained: Sequence[float] | float
    need: Sequence[float] | None = None


class Gangs(Sequence[Gang]):
    """The jobs of a workload in FCFS order, held as columns; a :class:`Gang` is made
    where one is read.
    """

    def __init__(self, workload: GangJobs) -> None:
        self.workload = workload

    def __len__(self) -> int:
        return len(self.workload)

    @overload
    def __getitem__(self, key: int) -> Gang: ...

    @overload
    def __getitem__(self, key: slice) -> list[Gang]: ...

    def __getitem__(self, key: int | slice) -> Gang | list[Gang]:
        """Return the job with this *key*, or those of a slice."""
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        jobs = self.workload
        k = int(jobs.fcfs[key])
        files = mask_of(jobs.files_of(k))
        times = float(jobs.local[k]), float(jobs.remote[k]), float(jobs.arrival[k])
        return Gang(key, int(jobs.sizes[k]), files, *times)

    def columns(self, nodes: int, make: Maker) -> _Columns:
        """Return the columns of the jobs on a machine of *nodes* nodes."""
        jobs = self.workload
        order = jobs.fcfs
        files = _packed_sets(jobs.files, jobs.sizes, nodes)
        if not np.array_equal(order, np.arange(len(order))):
            files = files[order]
        return _Columns(
            size=jobs.sizes[order],
            files=make.ints(files.ravel()),
            local=jobs.local[order],
            remote=jobs.remote[order],
            arrival=jobs.arrival[order],
        )


class _Columns(NamedTuple):
    """Jobs as columns, in FCFS order; ``files`` are sets of nodes as in
    :class:`Matrix`.
    """

    size: Sequence[int] | Ints
    files: list[int]
    local: Sequence[float] | Floats
    remote: Sequence[float] | Floats
    arrival: Sequence[float] | Floats

    @classmethod
    def of(cls, gangs: Sequence[Gang], nodes: int, make: Maker) -> _Columns:
        """Return the columns of *gangs*."""
        if isinstance(gangs, Gangs):
            return gangs.columns(nodes, make)
        if not gangs:
            return cls((), make.ints([]), (), (), ())
        # All fields become columns in one step, because a live policy makes a matrix at
        # every event.
        _, size, files, local, remote, arrival = zip(*gangs, strict=True)
        return cls(size, sets_of(files, nodes, make), local, remote, arrival)


def new_matrix(
    gangs: Sequence[Gang],
    nodes: int,
    levels: int,
    rules: Rules,
    make: Maker,
    now: float,
    service: Service | None = None,
) -> Matrix:
    """Return an empty matrix of *nodes* columns and *levels* rows, for *gangs*.

    No job has arrived at the time *now*, whose arithmetic is that of all times.
    *service* is what the jobs have received and still need; by default they have
    received none, and need their run times at their file nodes.
    """
    zero = zero_of(now)
    total = len(gangs)
    columns = _Columns.of(gangs, nodes, make)
    room = min(total, nodes * levels) + 1
    every = sets_of([(1 << nodes) - 1], nodes, make)
    words = len(every)
    return make.table(
        Matrix,
        nodes=nodes,
        levels=levels,
        words=words,
        every=every,
        jobs=_jobs_of(columns, rules, make, service or Service(zero)),
        files=columns.files,
        columns=_zeros(total * words, make),
        homes=_zeros(levels * words, make),
        filled=_zeros(levels * words, make),
        population=_zeros(levels, make),
        room=_zeros(levels, make),
        running=_zeros(room, make),
        order=_zeros(room, make),
        queue=make.ints(np.arange(total)),
        moved=_zeros(room, make),
        gone=_zeros(room, make),
        ascending=make.ints(range(levels)),
        descending=make.ints(range(levels)),
        group=_zeros(room, make),
        layers=_zeros((levels + 1) * words, make),
        now=now,
        slot_seconds=zero,
        budget_slice=-1,
    )


def zero_of(number: float) -> float:
    """Return 0 in the arithmetic of *number*: a float, or a fraction."""
    if isinstance(number, Fraction):
        return cast(float, Fraction(0))
    return 0.0


def sets_of(masks: Sequence[int], nodes: int, make: Maker) -> list[int]:
    """Return sets of nodes as *make* stores them. Bit k of a mask stands for node k."""
    if not make.compiled:
        return make.ints(masks)
    words = _num_words(nodes)
    width = words * BYTES_PER_WORD
    data = b"".join([mask.to_bytes(width, "little") for mask in masks])
    whole = np.zeros((len(masks) * words, 8), np.uint8)
    whole[:, :BYTES_PER_WORD] = np.frombuffer(data, np.uint8).reshape(
        -1, BYTES_PER_WORD
    )
    return make.ints(_as_words(whole).ravel())


def _num_words(nodes: int) -> int:
    """Return the number of words of a compiled set of *nodes* nodes."""
    return -(-nodes // (8 * BYTES_PER_WORD))


def _as_words(whole: NDArray[np.uint8]) -> Ints:
    """Return the words of compiled sets, from their bytes (the last axis)."""
    return whole.view("<i8")[..., 0].astype(np.int64, copy=False)


def _packed_sets(files: NDArray[np.int32], sizes: Ints, nodes: int) -> Ints:
    """Return compiled sets of nodes, one row for each job. *files* are the nodes of all
    jobs, one job after the other, and *sizes* their numbers.
    """
    words = _num_words(nodes)
    edges = offsets(sizes)
    whole = np.zeros((len(sizes), words, 8), np.uint8)
    step = max(1, CELLS_AT_ONCE // nodes)
    for first in range(0, len(sizes), step):
        part = sizes[first : first + step]
        count = len(part)
        bits = np.zeros((count, 8 * BYTES_PER_WORD * words), bool)
        owner = np.repeat(np.arange(count), part)
        bits[owner, files[edges[first] : edges[first + count]]] = True
        packed = np.packbits(bits, axis=1, bitorder="little")
        whole[first : first + count, :, :BYTES_PER_WORD] = packed.reshape(
            count, words, BYTES_PER_WORD
        )
    return _as_words(whole)


def masks_of(sets: Sequence[int], words: int) -> list[int]:
    """Return *sets* of nodes as masks, which :func:`sets_of` made into words."""
    if words == 1:
        return list(sets)
    width = 8 * BYTES_PER_WORD
    masks = []
    for first in range(0, len(sets), words):
        mask = 0
        for w in range(words):
            mask |= sets[first + w] << (w * width)
        masks.append(mask)
    return masks


def _jobs_of(
    columns: _Columns, rules: Rules, make: Maker, service: Service
) -> list[Job]:
    """Return the jobs of *columns*, in their order; none is in the matrix yet."""
    return make.records(
        Job,
        len(columns.size),
        size=columns.size,
        at_files=columns.local,
        remote=columns.remote,
        arrival=columns.arrival,
        packed=_packed(columns, rules),
        need=columns.local if service.need is None else service.need,
        attained=service.attained,
        start=NOT_YET,
        finish=NOT_YET,
    )


def _packed(columns: _Columns, rules: Rules) -> Sequence[bool] | Flags | bool:
    """Return which jobs gain little from their file nodes."""
    above, below = rules.pack_ratio.as_integer_ratio()
    if not above:
        return False
    local = columns.local
    remote = columns.remote
    if isinstance(local, np.ndarray) and isinstance(remote, np.ndarray):
        small: Flags = remote * float(below) <= local * float(above)
        return small
    return [
        far * below <= near * above for near, far in zip(local, remote, strict=True)
    ]


def _zeros(count: int, make: Maker) -> list[int]:
    """Return *count* zeros."""
    if make.compiled:
        return make.ints(np.zeros(count, np.int64))
    return [0] * count  # made often, by live policies
