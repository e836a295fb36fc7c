"""The linear relaxation, rounded (the paper's future work, Section 7; the rounding is ours).

One task is planted on each node first, since the relaxed program cannot tell equal nodes apart;
then, solve after solve, the tasks that lean most clearly to a node are fixed there. On the paper's
workloads this ends 1 to 5 % above the bound; it is here for comparison.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Annotated

from pydantic import Field

from ioopt.errors import BackendFailureError
from ioopt.models.replication.aggregated import AggregatedModel
from ioopt.models.replication.bounds import area, area_seconds
from ioopt.models.replication.left_out import relays_matter, roomy
from ioopt.models.replication.static import (
    Moves,
    StaticInstance,
    class_of_task,
    fits,
    loads,
    reduce,
    tidied,
    to_plan,
)
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.pulp_backend import solve_pulp
from ioopt.solvers.backends.pulp_program import PulpProgram
from ioopt.solvers.replication.greedy.file_order import answer_in_file_order
from ioopt.solvers.replication.greedy.placement import Placement
from ioopt.solvers.replication.plans import reading_nodes, require_batch

PLACING_SECONDS_PER_CELL = 1e-6
"""What placing every task takes, per input and node."""
SLACK_SECONDS = 0.3
TIME_SHARE = 0.8
"""Share of the time limit for the relaxations."""
TERMS_PER_SECOND = 10_000
"""Columns and rows of the relaxation that PuLP writes in a second."""
EVENING_READS = 400_000
"""Inputs looked at, in all, to even out unequal nodes: about a second."""


class Settings(Record):
    """``solves``: relaxations to solve; each fixes about the same number of tasks."""

    solves: Annotated[int, Field(ge=1, le=1000)] = 10


class _Relaxation:
    """The relaxed aggregated model, solved again and again with more and more tasks fixed."""

    def __init__(self, instance: StaticInstance) -> None:
        self.instance = instance
        self.model = AggregatedModel(instance, lower=int(area(instance)))
        self.relaxed = PulpProgram.of(self.model.program, relaxed=True)
        self.bound = area_seconds(instance.problem)
        self.solves = 0
        self.seconds = 0.0
        self.failure: str | None = None

    def shares(
        self, dive: Placement, request: SolveRequest, seconds: float
    ) -> dict[tuple[int, int], float] | None:
        """Tasks of every open class on every node; None when there is no optimum in *seconds*."""
        begun, columns = time.monotonic(), self.relaxed.columns
        for k, row in enumerate(self.model.T):
            for node, variable in enumerate(row):
                columns[variable].lowBound = dive.fixed[k][node]
        limits = BackendLimits.of(request, seconds)
        try:
            answer = solve_pulp(self.relaxed.lp, request.options.backend, limits)
        except BackendFailureError as error:
            self.failure = str(error)
            return None
        self.seconds = time.monotonic() - begun
        if answer.status is not Status.OPTIMAL:
            return None
        if self.solves == 0 and answer.objective is not None:
            self.bound = max(self.bound, answer.objective * (1 - 1e-9))
        self.solves += 1
        return {
            (k, node): answer.values[columns[variable].name]
            for k, row in enumerate(self.model.T)
            for node, variable in enumerate(row)
            if dive.open(k)
        }


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Outcome[ReplicationPlan]:
    """Solve relaxations, fix, finish; the first one's optimum is the bound if it is one of all plans.

    A disk limit is part of the relaxation and of the rounding; where the tasks still do not fit in
    one round the plan is an order only, and the replay evicts on demand.
    """
    settings = request.settings or Settings()
    require_batch(problem)
    cells = sum(map(len, problem.inputs)) * len(problem.nodes)
    if PLACING_SECONDS_PER_CELL * cells > request.deadline.remaining() + SLACK_SECONDS:
        return answer_in_file_order(problem, "a rounding")
    instance = _one_round(reduce(problem))
    dive = Placement(instance)
    relaxation, notes = _dived(dive, request, settings.solves)
    dive.finish()
    assign = dive.assign()
    if len({node.speed for node in problem.nodes}) > 1:
        assign = _evened(dive, assign, request.deadline)
    moves = tidied(instance, balanced_moves(instance, assign))
    bound = area_seconds(problem)
    if relaxation is not None and roomy(instance) and not relays_matter(instance):
        bound = relaxation.bound
    solves = 0 if relaxation is None else relaxation.solves
    stop = StopReason.TIME if notes else StopReason.FINISHED
    return Outcome(
        _plan(instance, moves), bound, stop, notes=notes, metrics={"relaxations": solves}
    )


def _dived(
    dive: Placement, request: SolveRequest, solves: int
) -> tuple[_Relaxation | None, tuple[str, ...]]:
    """Solve and fix until all is fixed or time is short; says what was left to the greedy, and why."""
    instance, deadline = dive.instance, request.deadline
    until = deadline.within(TIME_SHARE * deadline.remaining())
    terms = sum(len(group.inputs) for group in instance.classes) + 4 * instance.num_files
    if 2 * terms * instance.num_nodes / TERMS_PER_SECOND > until.remaining():
        return None, ("the relaxation is too large for the time limit: tasks placed by the greedy",)
    relaxation = _Relaxation(instance)
    batch = -(-len(instance.problem.tasks) // solves)
    while relaxation.solves < solves and dive.waiting():
        if relaxation.seconds > until.remaining():
            return relaxation, (f"time for {relaxation.solves} relaxation(s) only",)
        shares = relaxation.shares(dive, request, until.remaining())
        if shares is None:
            why = relaxation.failure or "no optimum in time"
            return relaxation, (f"after {relaxation.solves} relaxation(s): {why}",)
        if len({round(value, 6) for value in shares.values()}) > 1:
            dive.follow(shares, batch)
        else:
            # The relaxation leans nowhere: every class is spread evenly.
            dive.plant()
    return relaxation, ()


def _evened(dive: Placement, assign: list[int], deadline: Deadline) -> list[int]:
    """*assign* with single tasks moved while that lowers the batch time, or the sum of all loads.

    For unequal nodes, where the load that a task brings depends on who fetches its files. The
    number of moves tried goes by size.
    """
    instance = dive.instance
    of_task = class_of_task(instance)
    tries = EVENING_READS // max(1, sum(len(instance.classes[k].inputs) for k in of_task))

    def rated(assign: list[int]) -> tuple[bool, int, int]:
        moves = balanced_moves(instance, assign)
        load = loads(instance, moves)
        return not fits(instance, moves), max(load, default=0), sum(load)

    steps = [(task, node) for task in range(len(assign)) for node in range(instance.num_nodes)]
    best, since = rated(assign), 0
    for task, node in islice(cycle(steps), tries):
        if since == len(steps) or deadline.expired():
            break
        since += 1
        if node == assign[task] or not dive.able(of_task[task], node):
            continue
        moved = [*assign[:task], node, *assign[task + 1 :]]
        if (value := rated(moved)) < best:
            assign, best, since = moved, value, 0
    return assign


def _one_round(instance: StaticInstance) -> StaticInstance:
    """*instance*, without (21) where the disks together cannot hold its files in one round."""
    room = [size for size in instance.room if size is not None]
    if len(room) == instance.num_nodes and sum(room) < sum(instance.sizes):
        return replace(instance, room=(None,) * instance.num_nodes)
    return instance


def balanced_moves(instance: StaticInstance, assign: Sequence[int]) -> Moves:
    """Transfers for a fixed assignment: each file, longest first, is fetched where that ends first.

    Any node with room may fetch, a node that does not read the file pays for one more copy. The
    fetching node sends to all readers, unless fetching again is cheaper than both ends of a copy.
    """
    readers = reading_nodes(instance, assign)
    load = loads(instance, Moves(tuple(assign), (), ()))
    read = [
        sum(size for size, nodes in zip(instance.sizes, readers, strict=True) if i in nodes)
        for i in range(instance.num_nodes)
    ]
    free = [
        None if room is None else room - used
        for room, used in zip(instance.room, read, strict=True)
    ]
    remote: list[tuple[int, int]] = []
    copies: list[tuple[int, int, int]] = []
    for file in sorted(range(len(readers)), key=lambda file: (-instance.far[file], file)):
        size, near, far = instance.sizes[file], instance.near[file], instance.far[file]
        holders = instance.holders(file)
        lacking = [i for i in sorted(readers[file]) if i not in holders]
        if 2 * near >= far:
            remote += [(file, node) for node in lacking]
            for node in lacking:
                load[node] += far
            continue
        if holders:
            source = min(holders, key=lambda i: (load[i], i))
        elif lacking:
            able = [
                i for i, room in enumerate(free) if i in lacking or room is None or room >= size
            ]
            source = min(able, key=lambda i: (load[i] + far + near * (i not in lacking), i))
            remote.append((file, source))
            load[source] += far
            room = free[source]
            if source not in lacking and room is not None:
                free[source] = room - size
        for node in lacking:
            if node != source:
                copies.append((file, source, node))
                load[source] += near
                load[node] += near
    return Moves(tuple(assign), tuple(remote), tuple(copies))


def _plan(instance: StaticInstance, moves: Moves) -> ReplicationPlan:
    """The static plan, or only its order where one round cannot hold it."""
    plan = to_plan(instance, moves)
    if fits(replace(instance, room=reduce(instance.problem).room), moves):
        return plan
    return plan.model_copy(update={"remote": (), "copies": (), "moves": "replay"})
