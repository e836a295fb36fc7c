"""First stage of the paper's two: which pending tasks the disks can serve
without eviction (rule 5).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

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
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat

LEAST_SECONDS = 0.05
"""With less than this the greedy selection is taken as it is."""
HINTED = {"symmetry_level": 0}
"""Presolve with symmetries can call a complete feasible hint infeasible."""
ROWS_PER_SECOND = 40_000
"""Rows (14) that Python writes in a second; a model that would take half
its time is not built.
"""


@dataclass(frozen=True)
class Selection:
    """Tasks of each place; whether (17) was kept, and whether (20) was proven."""

    tasks: tuple[tuple[int, ...], ...]
    balanced: bool
    proven: bool


def select(
    problem: ReplicationProblem,
    pending: Sequence[int],
    places: Sequence[Place],
    thresh: float,
    limits: BackendLimits,
    ties: Literal["any", "bytes"] = "any",
) -> Selection:
    """A largest balanced sub-batch within *limits*; never empty while
    something is pending.
    """
    greedy = greedy_selection(problem, pending, places)
    for balance in (thresh, None):
        left = timed(
            limits,
            sum(len(problem.inputs[k]) for k in pending)
            * len(places)
            / ROWS_PER_SECOND,
        )
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
            return Selection(tuple(map(tuple, chosen)), balance is not None, proven)
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
    """*limits*, or None where the time is too short to build a model of
    *build_seconds* and solve.
    """
    if limits.seconds is not None and limits.seconds < max(
        LEAST_SECONDS, 2 * build_seconds
    ):
        return None
    return limits


def greedy_selection(
    problem: ReplicationProblem, pending: Sequence[int], places: Sequence[Place]
) -> list[list[int]]:
    """Tasks one by one: the place with the least computing takes what brings
    it the fewest bytes.

    A place leaves when nothing fits any more. Ties: lowest place,
    then first pending task.
    """
    import numpy as np

    sizes = [file.bytes for file in problem.files]
    rows = list(pending)
    row_of = {task: row for row, task in enumerate(rows)}
    total = np.array([problem.task_bytes(task) for task in rows], dtype=np.int64)
    missing = np.tile(total, (len(places), 1))
    used = [0] * len(places)
    load = [0.0] * len(places)
    stored: list[set[int]] = [set() for _ in places]
    open_rows = np.ones(len(rows), dtype=bool)
    chosen: list[list[int]] = [[] for _ in places]
    working = set(range(len(places)))
    free = [
        np.array(
            [0 if p.present.issuperset(problem.inputs[task]) else 1 for task in rows]
        )
        for p in places
    ]
    while working and open_rows.any():
        i = min(working, key=lambda at: (load[at], at))
        place = places[i]
        fits = open_rows.copy()
        if place.largest_disk is not None:
            fits &= total <= place.largest_disk
        if place.disk_bytes is not None:
            fits &= missing[i] <= place.disk_bytes - used[i]
        if not fits.any():
            working.discard(i)
            continue
        candidates = np.flatnonzero(fits)
        # Bytes decide; what is on the place already breaks ties.
        fewest = candidates[missing[i][candidates] == missing[i][candidates].min()]
        row = int(fewest[free[i][fewest].argmin()])
        task = rows[row]
        chosen[i].append(task)
        open_rows[row] = False
        load[i] += problem.tasks[task].compute_seconds / place.speed
        for file in problem.inputs[task]:
            if file not in stored[i]:
                stored[i].add(file)
                used[i] += sizes[file]
                for reader in problem.readers[file]:
                    if reader in row_of:
                        missing[i][row_of[reader]] -= sizes[file]
    return [sorted(tasks) for tasks in chosen]


TERMS_PER_SECOND = 15_000
"""Columns and rows of the allocation model that Python writes in a second."""


@dataclass(frozen=True)
class Allocation:
    """One sub-batch on *nodes* by positions in the whole problem: where, in
    which order, what moves.
    """

    nodes: tuple[int, ...]
    assign: Mapping[int, int]
    order: Mapping[int, Sequence[int]]
    remote: tuple[tuple[int, int], ...]
    copies: tuple[tuple[int, int, int], ...]

    def read_on(self, problem: ReplicationProblem, node: int) -> set[int]:
        """Files that the sub-batch's tasks on *node* read."""
        return {
            file for task in self.order.get(node, ()) for file in problem.inputs[task]
        }


def allocate(
    problem: ReplicationProblem,
    start: Mapping[int, Sequence[int]],
    nodes: Sequence[int],
    present: Sequence[frozenset[int]],
    limits: BackendLimits,
    copies: bool = True,
) -> Allocation:
    """Allocate the tasks of *start* (node -> tasks, which fits the disks) to *nodes*;
    without time, as it is.

    *present* are the files on every node of the problem; on *nodes* they are free and
    may go. Without *copies* every other file is fetched.
    """
    tasks = sorted(task for part in start.values() for task in part)
    read = sorted({file for task in tasks for file in problem.inputs[task]})
    small = _restricted(problem, tasks, nodes, present, read)
    instance = reduce(small)
    local = {node: at for at, node in enumerate(nodes)}
    placed = {task: local[node] for node, part in start.items() for task in part}
    best = first_moves(instance, [placed[task] for task in tasks], copies)
    terms = (
        sum(len(group.inputs) for group in instance.classes) + 4 * instance.num_files
    )
    left = timed(limits, terms * len(nodes) / TERMS_PER_SECOND)
    if tasks and left is not None:
        best = _improved(instance, best, left, copies)
    files = [read[file] for file in instance.files]
    where = {task: nodes[best.assign[at]] for at, task in enumerate(tasks)}
    queues = {
        node: [tasks[k] for k in queue_order(instance, mine)]
        for node, at in local.items()
        if (mine := [k for k in range(len(tasks)) if best.assign[k] == at])
    }
    return Allocation(
        tuple(nodes),
        where,
        queues,
        tuple((files[f], nodes[i]) for f, i in best.remote),
        tuple((files[f], nodes[i], nodes[j]) for f, i, j in best.copies),
    )


def _restricted(
    problem: ReplicationProblem,
    tasks: Sequence[int],
    nodes: Sequence[int],
    present: Sequence[frozenset[int]],
    read: Sequence[int],
) -> ReplicationProblem:
    """The problem of these tasks on these nodes, with the files
    *read* in that order.
    """
    held = [sorted(present[node].intersection(read)) for node in nodes]
    return ReplicationProblem.model_construct(
        name=problem.name,
        network=problem.network,
        storages=problem.storages,
        files=tuple(problem.files[file] for file in read),
        tasks=tuple(problem.tasks[task] for task in tasks),
        nodes=tuple(
            problem.nodes[node].model_copy(
                update={"holds": tuple(problem.files[f].id for f in files)}
            )
            for node, files in zip(nodes, held, strict=True)
        ),
    )


def first_moves(
    instance: StaticInstance, assign: Sequence[int], sends: bool = True
) -> Moves:
    """Transfers for a fixed assignment: what a task's node lacks is copied (if it
    *sends*) from a reader.
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
) -> Moves:
    """The best allocation CP-SAT finds within *limits*, never worse than *best*."""
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
        return best
    found = tidied(instance, model.moves(answer.values))
    return found if max(loads(instance, found), default=0) < before else best
