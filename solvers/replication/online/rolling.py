"""Follow a plan of the remaining tasks, and replan as tasks arrive, as nodes come or go
and as tasks are assigned (ours, workflow rule 20).

A task that failed and waits again is no new task: it keeps its node, as the next one
there, and nothing is replanned.

The candidates are the plan now followed, and plans of the remaining tasks by heft,
b-level, locality and dispatch by live bytes. The dispatcher follows the candidate whose
replay has the least makespan, and does so strictly: each node takes its tasks in the
planned order. On small disks this pays, because the order decides how much must be
written back for lack of space. If no candidate is clearly better than late binding
(:mod:`ioopt.solvers.replication.online.late_binding`), no plan is followed and tasks
are assigned late, because the estimates may be wrong.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cached_property, partial
from itertools import chain, islice
from typing import Annotated, Literal

from pydantic import Field

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair
from ioopt.problems.base import Json, Record
from ioopt.problems.replication import File, Node, ReplicationProblem, Task
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.replication import kernel
from ioopt.sim.replication.build import Queues as Plan
from ioopt.sim.replication.build import build_world, give_queues, maker_for
from ioopt.sim.replication.dispatch import queues_of_run
from ioopt.sim.replication.world import World
from ioopt.solvers.replication import dispatch
from ioopt.solvers.replication.dispatch import locality, nearest
from ioopt.solvers.replication.greedy.list_scheduler import B_LEVEL, HEFT, ListScheduler
from ioopt.solvers.replication.online.late_binding import LateBinding
from ioopt.solvers.replication.search.flow_deal import LiveBytes, depth_first, stretches


class RollingLimits(Record):
    """Set when ``rolling`` follows a plan, and how much it plans.

    The values were chosen on the bundled workflows and on the sweep ``workflow``, with
    correct estimates and with estimates that are wrong by half.

    ``late_share``: late binding is preferred if its estimated makespan is at most this
    share longer than that of the best plan. ``lead``: weight of the mean end of the
    tasks, which is added to the makespan in the score of a plan; of plans with equal
    makespans, the one with earlier ends wins. ``margin``: the present plan is replaced
    only by a plan that is better by this share, since remaining times are known only
    roughly.

    ``overrun``: a task that has exceeded its estimate is expected to continue for this
    share of the time that it has run. ``plans``: approximate number of times that a run
    replans.
    """

    late_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    lead: Annotated[float, Field(ge=0, le=1)] = 1e-3
    margin: Annotated[float, Field(ge=0, lt=1)] = 0.02
    overrun: Annotated[float, Field(gt=0, le=10)] = 0.5
    plans: Annotated[int, Field(ge=1)] = 20


LIMITS = RollingLimits()


class Settings(dispatch.Settings):
    """Configure the replanning of ``rolling``; the settings of every dispatcher apply
    too.

    By default the answer is the run itself. ``share``: replan once this share of the
    unassigned tasks has been assigned since the last plan. ``evaluations``: number of
    replays for each new plan. ``most_cells``: largest number of unassigned tasks x
    nodes for which plans are made; while more remain, the dispatcher ``locality``
    decides.
    """

    mode: Literal["replay", "dispatch"] = "dispatch"
    prefetch: bool = True
    share: float = Field(default=0.1, gt=0, le=1)
    evaluations: int = Field(default=9, ge=2, le=100)
    most_cells: int = Field(default=30_000, ge=0)


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Simulate the dispatcher ``rolling``, or that of the request, with compute times
    as planned.
    """
    settings = request.settings or Settings()
    return dispatch.answer(
        problem, request, request.policy or policy(settings), settings
    )


def policy(settings: Settings | None) -> Dispatcher:
    """Return a new dispatcher for one run; it remembers its plan and the tasks it has
    assigned.
    """
    return Rolling(settings or Settings())


class Rolling:
    """Dispatch by a plan of the remaining tasks; count the ``plans`` and ``replays``
    made.

    Tasks that arrive are planned at once, except while a plan is followed that was late
    (:meth:`came_late`). Until they are the ``share`` of the unassigned tasks at which a
    run replans, they are then placed by ``locality`` where the plan leaves cores idle;
    late binding takes them after all others.

    ``by_greedy`` tells whether ``locality`` gave the last answer, and ``too_many`` why
    no plans are made: empty text if they are.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.replays = 0
        self.plans = 0
        self._given: set[int] = set()
        self._orders: list[list[int]] = []
        self._start: dict[int, float] = {}
        self._late_binding = LateBinding()
        self._binds_late = False
        self._arrived = 0
        self._node_changes = 0
        self._given_then = 0
        self.by_greedy = False
        self.too_many = ""
        self._came_late = False
        self._is_late = False
        # The tasks that the plan lacks, and how many came since it is followed.
        self._unplanned: list[int] = []
        self._num_new = 0

    def came_late(self) -> None:
        """Follow the plan that was just made, although it was late and tasks have
        arrived or were assigned since it was begun.
        """
        self._came_late = True

    def resume(self, given: Iterable[int], plan: Json | None = None) -> None:
        """Continue a run in which, partly by another dispatcher, the tasks *given* were
        assigned, and no others; with *plan*, follow this plan, which :meth:`plan`
        returned.
        """
        self._given = set(given)
        if plan is not None:
            self._orders = [[k for k, _ in order] for order in plan["orders"]]
            self._start = {k: start for order in plan["orders"] for k, start in order}
            self._late_binding.resume(plan["late"])
            self._binds_late = plan["binds_late"]
            self._arrived = plan["arrived"]
            self._node_changes = plan["node_changes"]
            self._given_then = len(self._given) - plan["given_since"]
            # Plans of earlier versions do not say it.
            self._came_late = plan.get("came_late", False)
            self._is_late = plan.get("is_late", False)
            self._unplanned = list(plan.get("unplanned", ()))
            self._num_new = plan.get("num_new", 0)

    def plan(self, places: Mapping[int, int]) -> Json:
        """Return the plan now followed, as plain JSON values.

        *places* maps the tasks that the run goes on with to their new indices, in the
        same order; it lacks only tasks that have been assigned.
        """
        orders = []
        for order in self._orders:
            left = [k for k in order if k not in self._given]
            orders.append([[places[k], self._start[k]] for k in left])
        return {
            "orders": orders,
            "late": [places[k] for k in self._late_binding.order(self._given)],
            "binds_late": self._binds_late,
            "arrived": sum(k < self._arrived for k in places),
            "node_changes": self._node_changes,
            "given_since": len(self._given) - self._given_then,
            "came_late": self._came_late,
            "is_late": self._is_late,
            "unplanned": [places[k] for k in self._unplanned if k not in self._given],
            "num_new": self._num_new,
        }

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the next task to assign and its node; None if no task should be
        assigned now.
        """
        if not view.open_nodes():
            return None
        pair = self._decide(view)
        if pair is not None:
            self._given.add(pair[0])
        return pair

    def _decide(self, view: DispatchView) -> Pair | None:
        """Replan if it is due, then return the next task of the plan, and its node.

        With too many tasks left, ``locality`` decides.
        """
        new = view.released()[self._arrived :]
        left = self._arrived + len(new) - len(self._given)
        self.by_greedy = left * len(view.nodes) > self.settings.most_cells
        if self.by_greedy:
            self.too_many = (
                f"{left} tasks x {len(view.nodes)} nodes are left, more than most_cells"
                f" ({self.settings.most_cells}), so that no plans are made"
            )
            return locality(view)
        self.too_many = ""
        self._arrived += len(new)
        if self._is_due(view, new, left):
            self._node_changes = view.node_changes
            self._given_then = len(self._given)
            self._plan(view)
        else:
            self._retry(view, new)
        if self._binds_late:
            pair = self._late_binding(view)
        else:
            pair = self._next(view) or self._next_unplanned(view)
        if pair is None and _nothing_runs(view):
            # If no task is running or assigned, following the plan would end the run.
            self.by_greedy = True
            pair = locality(view)
        return pair

    def _is_due(self, view: DispatchView, new: Sequence[int], left: int) -> bool:
        """Return whether to replan, now that the tasks *new* have arrived and *left*
        are unassigned. Tasks that failed are not new.
        """
        unplanned = [k for k in new if view.retried_on(k) is None]
        if self._came_late:
            self._came_late = False
            self._is_late = bool(self._orders)
            self._given_then = len(self._given)
            self._unplanned = unplanned
            self._num_new = 0
        elif self._is_late:
            self._unplanned += unplanned
            self._num_new += len(unplanned)
        if self._is_late:
            self._late_binding.append(unplanned)
        if view.node_changes != self._node_changes:
            return True
        if unplanned and not self._is_late:
            return True
        if self._num_new and self._num_new >= self.settings.share * left:
            return True
        gone = (len(self._given) - self._given_then) / max(1, left)
        settled = self._binds_late and not _limited(view.nodes)
        return 0 < gone >= self.settings.share and not settled

    def _retry(self, view: DispatchView, tasks: Sequence[int]) -> None:
        """Put *tasks*, which failed since the last question, first on their nodes."""
        for k in tasks:
            i = view.retried_on(k)
            if i is not None:
                self._orders[i].insert(0, k)
                self._start[k] = view.now

    def _next(self, view: DispatchView) -> Pair | None:
        """Return the task that is planned to start first among the heads of all queues,
        and its node.

        The head of a queue is its next unassigned task. Only heads that are ready, and
        that their node can take now, are considered. The result is None if there are
        none.
        """
        ready = set(view.ready)
        best: tuple[float, int, int] | None = None
        for i in view.open_nodes():
            k = self._head(i)
            if k in ready and view.takes(k, i):
                row = (self._start[k], k, i)
                best = row if best is None else min(best, row)
        return None if best is None else best[1:]

    def _next_unplanned(self, view: DispatchView) -> Pair | None:
        """Return the pair that ``locality`` would choose if no other tasks were ready
        than those that the plan lacks; None if there is none.
        """
        self._unplanned = [k for k in self._unplanned if k not in self._given]
        if not self._unplanned:
            return None
        ready = set(view.ready)
        pair = nearest(view, [k for k in self._unplanned if k in ready])
        self.by_greedy = pair is not None
        return pair

    def _head(self, i: int) -> int:
        """Return the next unassigned task in the plan of node *i*, or -1 if none."""
        order = self._orders[i]
        while order and order[0] in self._given:
            order.pop(0)
        return order[0] if order else -1

    def _plan(self, view: DispatchView) -> None:
        """Adopt the best of the present plan and the plans of all planners.

        If late binding is about as good, follow no plan.
        """
        self.plans += 1
        self._is_late = False
        self._unplanned = []
        self._num_new = 0
        rest = Remaining(view, self._given)
        if not rest.todo:
            self._orders = [[] for _ in view.nodes]
            return
        self._late_binding = LateBinding()
        late = rest.score(_run(rest, LateBinding(), True), LIMITS.lead)
        in_force = self._in_force(rest)
        candidates = _candidates(rest)
        if in_force:
            candidates = chain([in_force], candidates)
        best: Queues = []
        least = float("inf")
        limit = float("inf")
        for queues in islice(candidates, self.settings.evaluations - 1):
            found = rest.score(queues, LIMITS.lead)
            self.replays += 1
            if not best or found < limit:
                best = queues
                least = found
                limit = found
                if queues is in_force:
                    # A new plan must be better than the present one by a margin.
                    limit = found * (1 - LIMITS.margin)
        self.replays += 1
        self._binds_late = late <= least * (1 + LIMITS.late_share)
        self._start = rest.starts(best)
        self._orders = rest.orders(best)
        self._move_from_avoided(view)

    def _move_from_avoided(self, view: DispatchView) -> None:
        """Move the tasks that are planned on a node which they avoid to the node that
        takes them and has a core idle first, each where its start belongs there.
        """
        for i, order in enumerate(self._orders):
            for k in [k for k in order if view.avoids(k, i)]:
                order.remove(k)
                able = [j for j in range(len(view.nodes)) if view.fits(k, j)]
                j = min(able, key=lambda j: view.core_time(k, j))
                insort(self._orders[j], k, key=self._start.__getitem__)

    def _in_force(self, rest: Remaining) -> Queues | None:
        """Return the rest of the present plan; None if it lacks tasks that have arrived
        since.
        """
        if not self._orders:
            return None
        left = []
        for i in rest.nodes:
            order = self._orders[i] if i < len(self._orders) else []
            left.append([rest.place[k] for k in order if k in rest.place])
        if sum(map(len, left)) < len(rest.todo):
            return None
        return rest.behind_heads(left)


def _nothing_runs(view: DispatchView) -> bool:
    """Return whether no node has a computing task, or an assigned task that has not
    started.
    """
    for i in range(len(view.nodes)):
        if view.unstarted(i) is not None or view.computing(i):
            return False
    return True


def _candidates(rest: Remaining) -> Iterator[Queues]:
    """Yield plans of the remaining tasks, each as queues.

    If disks are limited, plans of planners that respect disk limits come first.
    """
    problem = rest.problem
    if _limited(problem.nodes):
        order = depth_first(problem)
        for strict in (True, False):
            yield _run(rest, LiveBytes(problem, order, strict), False)
        yield rest.behind_heads(stretches(problem, order))
    for components in (HEFT, B_LEVEL):
        yield rest.behind_heads(ListScheduler(problem, components).run().queues())
    for prefetch in (True, False):
        yield _run(rest, locality, prefetch)


def _run(rest: Remaining, decide: Dispatcher, prefetch: bool) -> Queues:
    """Return the queues of a simulated run of dispatcher *decide* over the remaining
    tasks.
    """
    forced = partial(_heads_first, decide, [list(head) for head in rest.heads])
    return rest.behind_heads(queues_of_run(rest.problem, forced, prefetch))


def _possible(view: DispatchView, tasks: Sequence[int]) -> list[int]:
    """Return *tasks* without those that fit no node now, and without those that read,
    directly or not, what these write.
    """
    nodes = range(len(view.nodes))
    left_out = [k for k in tasks if not any(view.fits(k, i) for i in nodes)]
    if not left_out:
        return list(tasks)
    readers: dict[int, list[int]] = {}
    for k in tasks:
        for f in view.inputs(k):
            readers.setdefault(f, []).append(k)
    without = set(left_out)
    while left_out:
        for f in view.outputs(left_out.pop()):
            new = [k for k in readers.get(f, ()) if k not in without]
            without.update(new)
            left_out += new
    return [k for k in tasks if k not in without]


def _limited(nodes: Sequence[Node]) -> bool:
    """Return whether the disk of some node is limited."""
    return any(node.disk_bytes is not None for node in nodes)


def _heads_first(decide: Dispatcher, heads: Queues, view: DispatchView) -> Pair | None:
    """Assign the *heads* of every node first; after that, return the decisions of
    *decide*.

    The heads are the tasks that were running or assigned when the plan was made.
    """
    if not any(heads):
        return decide(view)
    for i, head in enumerate(heads):
        if not head or view.unstarted(i) is not None or head[0] not in view.ready:
            continue
        if view.takes(head[0], i):
            return head.pop(0), i
    waiting = [head[0] for head in heads if head]
    if view.now == 0 and any(k in view.ready for k in waiting):
        # The waiting tasks are computing already, so their cores are reserved first.
        return None
    return decide(view)


Queues = list[list[int]]


class Remaining:
    """An instance, ``problem``, that consists of the unfinished part of a run.

    Its ``nodes`` are those of the run that are not lost; queues are those of these
    nodes. Its tasks before ``first`` are running or assigned, and form the queues
    ``heads``. Its tasks from ``first`` on are the unassigned tasks ``todo`` of the run.
    """

    def __init__(self, view: DispatchView, given: Collection[int]) -> None:
        """Build the instance; *given* are the tasks assigned so far."""
        self.view = view
        self.todo = _possible(view, [k for k in view.released() if k not in given])
        self.nodes = [i for i in range(len(view.nodes)) if i not in view.lost]
        self._names: dict[int, str] = {}
        self._tasks: list[Task] = []
        under_way = [self._under_way(i) for i in self.nodes]
        written: set[int] = set()
        for k in self.todo:
            written.update(self._name_files(k))
        for k, _ in chain(*under_way):
            written.update(self._name_files(k))
        there = [(f, name) for f, name in self._names.items() if f not in written]
        self.heads: Queues = []
        for rows in under_way:
            first = len(self._tasks)
            self._tasks += [_task(view.task(k), seconds) for k, seconds in rows]
            self.heads.append([*range(first, len(self._tasks))])
        self.first = len(self._tasks)
        self._tasks += [_task(view.task(k)) for k in self.todo]
        self.problem = ReplicationProblem.model_construct(
            name="remaining",
            network=view.network,
            products=view.products,
            cache=view.cache,
            storages=(),
            tasks=tuple(self._tasks),
            nodes=tuple(self._nodes_with(there)),
            files=tuple(self._files()),
        )
        self.place = {k: self.first + x for x, k in enumerate(self.todo)}

    def _nodes_with(self, there: Sequence[tuple[int, str]]) -> Iterator[Node]:
        """Yield the nodes; each holds from the start those files in *there* that it has
        now.

        *there* lists (file of the run, file name in the instance).
        """
        for i in self.nodes:
            node = self.view.nodes[i]
            held = tuple(name for f, name in there if self.view.holds(i, f))
            yield Node.model_construct(**{**dict(node), "holds": held})

    def _files(self) -> Iterator[File]:
        """Yield the files that the remaining tasks read or write."""
        for f, name in self._names.items():
            size = self.view.size(f)
            yield File.model_construct(id=name, bytes=size, storage=None, keep=False)

    def _under_way(self, i: int) -> list[tuple[int, float]]:
        """Return the running and assigned tasks of node *i*, each as (task, compute
        seconds left at speed 1).
        """
        view = self.view
        speed = self.view.nodes[i].speed
        rows = []
        for row in view.computing(i):
            left = row.end_seconds - view.now
            if left <= 0:
                left = LIMITS.overrun * (view.now - row.start_seconds)
            rows.append((row.task, left * speed))
        waits = view.unstarted(i)
        if waits is not None:
            task = view.task(waits)
            seconds = task.overhead_seconds * speed + task.compute_seconds
            rows.append((waits, seconds))
        return rows

    def _name_files(self, k: int) -> Sequence[int]:
        """Record the names of all files of task *k*; return the files that the task
        writes.
        """
        task = self.view.task(k)
        reads = self.view.inputs(k)
        writes = self.view.outputs(k)
        self._names.update(
            zip((*reads, *writes), (*task.inputs, *task.outputs), strict=True)
        )
        return writes

    def behind_heads(self, queues: Sequence[Sequence[int]]) -> Queues:
        """Return *queues* with the heads of each node put first.

        Heads that occur in *queues* are removed there, so planners need not know of
        them.
        """
        found = []
        for head, queue in zip(self.heads, queues, strict=True):
            found.append(head + [entry for entry in queue if entry >= self.first])
        return found

    def orders(self, queues: Queues) -> list[list[int]]:
        """Return *queues* without the heads, one for each node of the run, and with
        tasks numbered as there.
        """
        found: list[list[int]] = [[] for _ in self.view.nodes]
        for i, queue in zip(self.nodes, queues, strict=True):
            found[i] = [self.todo[e - self.first] for e in queue if e >= self.first]
        return found

    @cached_property
    def _replay(self) -> Callable[[Queues], tuple[float, World]]:
        """Return a function that replays queues and returns the makespan in seconds and
        the world of the replay.
        """
        make = maker_for(self.problem)
        tasks = range(len(self._tasks))
        queues_at_first = [tasks, *([()] * (len(self.problem.nodes) - 1))]
        world = build_world(self.problem, Plan(queues_at_first), make, room=1)
        step = make.function(kernel.replay)

        def replay(queues: Queues) -> tuple[float, World]:
            give_queues(world, queues, self.problem.default_eviction)
            makespan, code = step(world, float("inf"))
            if code == kernel.STUCK:
                return float("inf"), world
            return makespan, world

        return replay

    def score(self, queues: Queues, tie: float) -> float:
        """Return the makespan of a replay plus *tie* times the mean end of all tasks,
        in seconds.

        The score is infinite if the replay gets stuck.
        """
        makespan, world = self._replay(queues)
        ends = sum(entry.end for entry in world.entries)
        return makespan + tie * ends / max(1, len(world.entries))

    def starts(self, queues: Queues) -> dict[int, float]:
        """Return the time, in seconds of the run, at which each unassigned task starts
        in a replay.
        """
        _, world = self._replay(queues)
        return {
            k: self.view.now + world.entries[e].start for k, e in self.place.items()
        }


def _task(task: Task, seconds: float | None = None) -> Task:
    """Return *task* as already arrived, with *seconds* of computing if given."""
    if seconds is None and not task.release_seconds:
        return task
    times = {"release_seconds": 0.0}
    if seconds is not None:
        # What is left of the task's overhead is part of *seconds*.
        times["compute_seconds"] = seconds
        times["overhead_seconds"] = 0.0
    return task.model_construct(**{**dict(task), **times})
