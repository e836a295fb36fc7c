"""The two stages of a round: select tasks, then allocate them to nodes (rules 5 and 6).

The first stage selects pending tasks that the disks can serve without eviction. A place
is a node, or a group of nodes treated as one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from ioopt.errors import UnsolvableInstanceError
from ioopt.models.replication.aggregated import AggregatedModel
from ioopt.models.replication.bounds import area
from ioopt.models.replication.static import (
    Moves,
    StaticInstance,
    loads,
    queue_order,
    read_pairs,
    reduce,
    tidied,
)
from ioopt.models.replication.subbatch import Place, SubBatchModel
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat

if TYPE_CHECKING:
    from ioopt.arrays import Flags, Ints

LEAST_SECONDS = 0.05
"""If fewer seconds are left, no model is solved and the greedy choice is used."""
HINTED = {"symmetry_level": 0}
"""Parameters of CP-SAT for a model with a hint.

Symmetries are off: with them, presolve can reject a complete feasible hint.
"""
ROWS_PER_SECOND = 40_000
"""Number of rows (14) of the selection model that Python writes per second (measured).

A model is not built if writing it would take more than half of its time.
"""


@dataclass(frozen=True)
class Selection:
    """The tasks that the first stage selected, for each place.

    ``balanced``: the balance condition (17) is met. ``proven``: the number of tasks,
    the objective (20), is proven to be the largest. ``stop``: why the model ended.
    """

    tasks: tuple[tuple[int, ...], ...]
    balanced: bool
    proven: bool
    stop: StopReason = StopReason.FINISHED


def select(
    problem: ReplicationProblem,
    pending: Sequence[int],
    places: Sequence[Place],
    thresh: float,
    limits: BackendLimits,
    ties: Literal["any", "bytes"] = "any",
) -> Selection:
    """Select the tasks of this round for each place: the most tasks that fit and are
    balanced.

    The selection is a largest one only if *limits* suffice to find it; it is never
    empty. If no selection is balanced by (17) with *thresh*, the condition is dropped.
    """
    greedy = greedy_selection(problem, pending, places)
    rows = sum(len(problem.inputs[k]) for k in pending) * len(places)
    for balance in (thresh, None):
        left = timed(limits, rows / ROWS_PER_SECOND)
        if left is None:
            break
        begun = time.monotonic()
        model = SubBatchModel(problem, pending, places, balance, ties)
        start = model.hint(greedy)
        left = left.after(time.monotonic() - begun)
        answer = solve_by_cpsat(model.program, left, start, parameters=HINTED)
        chosen = model.decode(answer.values) if answer.found else []
        if any(chosen):
            proven = answer.status is Status.OPTIMAL
            found = tuple(map(tuple, chosen))
            return Selection(found, balance is not None, proven, answer.stop)
        if answer.status is Status.UNKNOWN:
            break
        limits = limits.after(time.monotonic() - begun)
    if not any(greedy):
        task = problem.tasks[pending[0]]
        raise UnsolvableInstanceError(
            f"task {task.id!r} and {len(pending) - 1} others fit no disk; raise "
            "disk_bytes"
        )
    return Selection(tuple(map(tuple, greedy)), False, False)


def timed(limits: BackendLimits, build_seconds: float) -> BackendLimits | None:
    """Return *limits*, or None if they are too short for a model that takes
    *build_seconds* to build.
    """
    least = max(LEAST_SECONDS, 2 * build_seconds)
    if limits.seconds is not None and limits.seconds < least:
        return None
    return limits


def greedy_selection(
    problem: ReplicationProblem, pending: Sequence[int], places: Sequence[Place]
) -> list[list[int]]:
    """Return tasks for each place, selected one by one.

    The place with the least computing so far takes the task that brings the fewest new
    bytes. A place is complete when no further task fits. Ties go to the first place,
    then to the first pending task.
    """
    choice = _Choice(problem, pending, places)
    load = [0.0] * len(places)
    chosen: list[list[int]] = [[] for _ in places]
    working = set(range(len(places)))
    while working and choice.is_open.any():
        i = min(working, key=lambda at: (load[at], at))
        row = choice.best_row(i)
        if row is None:
            working.discard(i)
            continue
        choice.take(i, row)
        task = pending[row]
        chosen[i].append(task)
        load[i] += problem.tasks[task].compute_seconds / places[i].speed
    return [sorted(tasks) for tasks in chosen]


class _Choice:
    """The pending tasks that no place took yet, and what each would bring to each
    place. Row k is for the k-th pending task.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        pending: Sequence[int],
        places: Sequence[Place],
    ) -> None:
        import numpy as np

        self.problem = problem
        self.pending = pending
        self.places = places
        self.is_open: Flags = np.ones(len(pending), dtype=bool)
        self._row_of = {task: row for row, task in enumerate(pending)}
        sizes = [problem.task_bytes(task) for task in pending]
        self._total: Ints = np.array(sizes, dtype=np.int64)
        self._missing: Ints = np.tile(self._total, (len(places), 1))
        """The bytes that each task would bring to each place: of the files that no task
        taken there reads.
        """
        self._stored: list[set[int]] = [set() for _ in places]
        self._used = [0] * len(places)
        self._misses: list[Flags] = []
        """Whether each task reads a file that is not at the place from the start."""
        for place in places:
            here = [place.present.issuperset(problem.inputs[task]) for task in pending]
            self._misses.append(~np.array(here, dtype=bool))

    def best_row(self, i: int) -> int | None:
        """Return the row of the task that fits place *i* and brings the fewest new
        bytes, None if no task fits. Of equal tasks, prefer one whose files are all
        stored at the place.
        """
        place = self.places[i]
        missing = self._missing[i]
        fits = self.is_open.copy()
        if place.largest_disk is not None:
            fits &= self._total <= place.largest_disk
        if place.disk_bytes is not None:
            fits &= missing <= place.disk_bytes - self._used[i]
        if not fits.any():
            return None
        candidates = fits.nonzero()[0]
        fewest = candidates[missing[candidates] == missing[candidates].min()]
        return int(fewest[self._misses[i][fewest].argmin()])

    def take(self, i: int, row: int) -> None:
        """Give the task of *row* to place *i*, which then stores its files."""
        self.is_open[row] = False
        for file in self.problem.inputs[self.pending[row]]:
            if file in self._stored[i]:
                continue
            size = self.problem.files[file].bytes
            self._stored[i].add(file)
            self._used[i] += size
            for reader in self.problem.readers[file]:
                if reader in self._row_of:
                    self._missing[i][self._row_of[reader]] -= size


TERMS_PER_SECOND = 15_000
"""Number of columns and rows of the allocation model that Python writes per second
(measured).
"""


@dataclass(frozen=True)
class Allocation:
    """One sub-batch on *nodes*: the node of each task, the order of tasks, and the
    transfers.

    All positions are those of the whole problem. ``stop`` says why the model ended.
    """

    nodes: tuple[int, ...]
    assign: Mapping[int, int]
    order: Mapping[int, Sequence[int]]
    remote: tuple[tuple[int, int], ...]
    copies: tuple[tuple[int, int, int], ...]
    stop: StopReason = StopReason.FINISHED

    def read_on(self, problem: ReplicationProblem, node: int) -> set[int]:
        """Return the files that tasks of the sub-batch read on *node*."""
        read: set[int] = set()
        for task in self.order.get(node, ()):
            read.update(problem.inputs[task])
        return read


def allocate(
    problem: ReplicationProblem,
    start: Mapping[int, Sequence[int]],
    nodes: Sequence[int],
    present: Sequence[frozenset[int]],
    limits: BackendLimits,
    copies: bool = True,
) -> Allocation:
    """Allocate the tasks in *start* to *nodes*, to minimise the batch time.

    *start* lists, for each node, tasks that fit its disk; this allocation is kept if no
    time is left. *present* are the files on each node of the problem; those on *nodes*
    need no transfer and may be evicted. Without *copies* every other file is fetched.
    """
    place_of: dict[int, int] = {}
    for place, node in enumerate(nodes):
        place_of.update(dict.fromkeys(start.get(node, ()), place))
    tasks = sorted(place_of)
    wanted: set[int] = set()
    for task in tasks:
        wanted.update(problem.inputs[task])
    read = sorted(wanted)
    instance = reduce(_restricted(problem, tasks, nodes, present, read))
    best = first_moves(instance, [place_of[task] for task in tasks], copies)
    inputs = sum(len(group.inputs) for group in instance.classes)
    terms = (inputs + 4 * instance.num_files) * len(nodes)
    left = timed(limits, terms / TERMS_PER_SECOND)
    stop = StopReason.FINISHED
    if tasks and left is not None:
        best, stop = _improved(instance, best, left, copies)
    return _allocation(instance, best, tasks, read, nodes, stop)


def _allocation(
    instance: StaticInstance,
    moves: Moves,
    tasks: Sequence[int],
    read: Sequence[int],
    nodes: Sequence[int],
    stop: StopReason,
) -> Allocation:
    """Return the *moves* of a reduced *instance* with the positions that its *tasks*,
    the files that they *read*, and its *nodes* have in the whole problem.
    """
    queues: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        mine = [k for k in range(len(tasks)) if moves.assign[k] == place]
        if mine:
            queues[node] = [tasks[k] for k in queue_order(instance, mine)]
    files = [read[file] for file in instance.files]
    return Allocation(
        tuple(nodes),
        {task: nodes[moves.assign[at]] for at, task in enumerate(tasks)},
        queues,
        tuple((files[f], nodes[i]) for f, i in moves.remote),
        tuple((files[f], nodes[i], nodes[j]) for f, i, j in moves.copies),
        stop,
    )


def _restricted(
    problem: ReplicationProblem,
    tasks: Sequence[int],
    nodes: Sequence[int],
    present: Sequence[frozenset[int]],
    read: Sequence[int],
) -> ReplicationProblem:
    """Return *problem* with only the given *tasks*, *nodes* and files *read*, in this
    order.

    Each node holds its files in *present* from the start.
    """
    kept = []
    for node in nodes:
        held = sorted(present[node].intersection(read))
        names = tuple(problem.files[file].id for file in held)
        kept.append(problem.nodes[node].model_copy(update={"holds": names}))
    return ReplicationProblem.model_construct(
        name=problem.name,
        network=problem.network,
        storages=problem.storages,
        files=tuple(problem.files[file] for file in read),
        tasks=tuple(problem.tasks[task] for task in tasks),
        nodes=tuple(kept),
    )


def first_moves(
    instance: StaticInstance, assign: Sequence[int], sends: bool = True
) -> Moves:
    """Return transfers for tasks whose nodes are fixed by *assign*.

    A missing file is copied from the node of another reader if *sends* allows it and a
    copy is cheaper than a fetch. Otherwise it is fetched.
    """
    remote: list[tuple[int, int]] = []
    copies: list[tuple[int, int, int]] = []
    load = loads(instance, Moves(tuple(assign), (), ()))
    for file, pairs in groupby(sorted(read_pairs(instance, assign)), key=itemgetter(0)):
        nodes = [node for _, node in pairs]
        sources = [i for i in nodes if file in instance.held[i]]
        lacking = sorted(set(nodes).difference(sources), key=lambda i: (load[i], i))
        if lacking and not sources:
            first = lacking.pop(0)
            remote.append((file, first))
            load[first] += instance.far[file]
            sources = [first]
        for node in lacking:
            source = min(sources, key=lambda i: (load[i], i))
            if sends and 2 * instance.near[file] < instance.far[file]:
                copies.append((file, source, node))
                load[source] += instance.near[file]
                load[node] += instance.near[file]
            else:
                remote.append((file, node))
                load[node] += instance.far[file]
            sources.append(node)
    return Moves(tuple(assign), tuple(remote), tuple(copies))


def _improved(
    instance: StaticInstance, best: Moves, limits: BackendLimits, copies: bool
) -> tuple[Moves, StopReason]:
    """Return the best allocation that CP-SAT finds within *limits*, or *best* if none
    is better, and why CP-SAT ended.
    """
    before = max(loads(instance, best), default=0)
    begun = time.monotonic()
    model = AggregatedModel(
        instance,
        replication=copies,
        evictable=True,
        lower=int(area(instance)),
        upper=before,
    )
    read = read_pairs(instance, best.assign)
    hint = model.hint(best)
    hint.update({variable: int(pair in read) for pair, variable in model.K.items()})
    limits = limits.after(time.monotonic() - begun)
    answer = solve_by_cpsat(model.program, limits, hint, parameters=HINTED)
    if not answer.found:
        return best, answer.stop
    found = tidied(instance, model.moves(answer.values))
    if max(loads(instance, found), default=0) < before:
        return found, answer.stop
    return best, answer.stop
