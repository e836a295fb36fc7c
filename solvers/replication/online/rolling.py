"""``rolling``: a plan of what is left, made anew as tasks arrive or a
share of them has gone.

Plans come from heft, b-level, locality and dispatches by live bytes of what is left
(:mod:`ioopt.solvers.replication.online.rolling`), beside the plan in force; the one
whose replay ends first is followed strictly, each node taking its tasks in the
planned order. Under small disks that pays, as what a plan spills depends on its
order. Where it does not, no plan is followed: tasks are bound late
(:mod:`ioopt.solvers.replication.online.late_binding`), as estimates may be wrong.
Ours (workflow rule 20).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, islice
from typing import Literal

from pydantic import Field

from ioopt.compiled import compiled
from ioopt.compiled.choice import KERNELS, LOADING_SECONDS
from ioopt.decisions.replication import Dispatcher, DispatchView, Pair
from ioopt.problems.replication import (
    File,
    Node,
    ReplicationProblem,
    Task,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.replication import kernel
from ioopt.sim.replication.dispatch import queues_of_run
from ioopt.sim.replication.state import (
    BEGUN,
    SECONDS_PER_CELL,
    Log,
    instance_arrays,
    new_log,
    new_state,
    queue_arrays,
)
from ioopt.solvers.replication import dispatch
from ioopt.solvers.replication.dispatch import locality
from ioopt.solvers.replication.greedy.list_scheduler import B_LEVEL, HEFT, ListScheduler
from ioopt.solvers.replication.online.late_binding import LateBinding
from ioopt.solvers.replication.search.flow_deal import LiveBytes, depth_first, stretches

LATE = 0.1
"""Tasks are bound late where that is at most by this share worse than the
plan, times being known.
"""
TIE = 1e-3
"""Weight of the mean end beside the makespan: of plans that end
together the one that leads.
"""
MARGIN = 0.02
"""The plan in force gives way only to one better by this share: what is
left is known roughly.
"""
OVERRUN = 0.5
"""A task past its estimate is expected to go on for half of what it has taken."""
PLANS = 20
"""About how many a run makes."""
MOST_CELLS = 30_000
"""Tasks x nodes that one re-planning may look at; of larger rests locality decides."""


class Settings(dispatch.Settings):
    """As of every dispatcher, which here answers with its run; ``share``: a new plan
    once this share of the unassigned tasks has been given since the last.
    ``evaluations``: replays a new plan may take.
    """

    mode: Literal["replay", "dispatch"] = "dispatch"
    prefetch: bool = True
    share: float = Field(default=0.1, gt=0, le=1)
    evaluations: int = Field(default=9, ge=2, le=100)


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Run the dispatcher on planned times."""
    settings = request.settings or Settings()
    return dispatch.answer(
        problem, request, request.policy or policy(settings), settings
    )


def policy(settings: Settings | None) -> Dispatcher:
    """A dispatcher for one run: it remembers what it has given and its plan."""
    return Rolling(settings or Settings())


class Rolling:
    """The dispatcher. ``plans`` and ``replays`` count what it has done."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.replays = self.plans = 0
        self._given: set[int] = set()
        self._orders: list[list[int]] = []
        self._start: dict[int, float] = {}
        self._late_binding = LateBinding()
        self._binds_late = False
        self._arrived = self._given_then = 0
        self._fast: bool | None = None

    def resume(self, given: Iterable[int]) -> None:
        """Take over a run in which the tasks *given* have been given by another."""
        self._given.update(given)

    def __call__(self, view: DispatchView) -> Pair | None:
        """The next task of some node's plan, the one that is to start first."""
        if not view.open_nodes():
            return None
        pair = self._decide(view)
        if pair is not None:
            self._given.add(pair[0])
        return pair

    def _decide(self, view: DispatchView) -> Pair | None:
        released = len(view.released())
        left = released - len(self._given)
        if left * len(view.nodes) > MOST_CELLS:
            return locality(view)
        gone = (len(self._given) - self._given_then) / max(1, left)
        stale = gone > 0 and gone >= self.settings.share
        settled = self._binds_late and not _limited(view.nodes)
        if released > self._arrived or (stale and not settled):
            self._arrived = released
            self._given_then = len(self._given)
            self._plan(view)
        pair = self._late_binding(view) if self._binds_late else self._next(view)
        if pair is None and all(
            view.unstarted(i) is None and not view.computing(i)
            for i in range(len(view.nodes))
        ):  # nothing computes or waits: a plan must not be waited for
            pair = locality(view)
        return pair

    def _next(self, view: DispatchView) -> Pair | None:
        ready = set(view.ready)
        best: tuple[float, int, int] | None = None
        for i in view.open_nodes():
            k = self._head(i)
            if k in ready and view.takes(k, i):
                row = (self._start[k], k, i)
                best = row if best is None else min(best, row)
        return None if best is None else best[1:]

    def _head(self, i: int) -> int:
        """The next task of node *i* in the plan; -1 where there is none."""
        order = self._orders[i]
        while order and order[0] in self._given:
            order.pop(0)
        return order[0] if order else -1

    def _plan(self, view: DispatchView) -> None:
        """Take the best of the plan in force and the plans of all planners, unless
        late binding will do.
        """
        self.plans += 1
        if self._fast is None:
            cells = sum(len(view.inputs(k)) for k in view.released()) * len(view.nodes)
            long = (
                PLANS * self.settings.evaluations * SECONDS_PER_CELL * cells
                >= LOADING_SECONDS
            )
            self._fast = long and KERNELS["timeline"].ready()
        rest = Remaining(view, self._given, self._fast)
        if not rest.todo:
            self._orders = [[] for _ in view.nodes]
            return
        self._late_binding = LateBinding()
        late = rest.score(_run(rest, LateBinding(), True), TIE)
        in_force = self._in_force(rest)
        candidates = chain([in_force] if in_force else [], _candidates(rest))
        best: Queues = []
        least = limit = float("inf")
        for queues in islice(candidates, self.settings.evaluations - 1):
            found = rest.score(queues, TIE)
            self.replays += 1
            if not best or found < limit:
                # What follows the plan in force has to be better by a margin.
                best = queues
                least = found
                limit = found * (1 - MARGIN if queues is in_force else 1)
        self.replays += 1
        self._binds_late = late <= least * (1 + LATE)
        self._start = rest.starts(best)
        self._orders = rest.orders(best)

    def _in_force(self, rest: Remaining) -> Queues | None:
        """The plan in force; None where it leaves out tasks that have arrived since."""
        left = [
            [rest.place[k] for k in order if k in rest.place] for order in self._orders
        ]
        return (
            rest.behind_heads(left) if sum(map(len, left)) == len(rest.todo) else None
        )


def _candidates(rest: Remaining) -> Iterator[Queues]:
    """Plans of what is left, the first ones those that know of limited disks
    where there are any.
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
    """The queues that a run of another dispatcher makes."""
    forced = partial(_heads_first, decide, [list(head) for head in rest.heads])
    return rest.behind_heads(queues_of_run(rest.problem, forced, prefetch, rest.fast))


def _limited(nodes: Sequence[Node]) -> bool:
    return any(node.disk_bytes is not None for node in nodes)


def _heads_first(decide: Dispatcher, heads: Queues, view: DispatchView) -> Pair | None:
    """What *decide* says, once each node has been given its own *heads*."""
    for i, head in enumerate(heads):
        if (
            head
            and view.unstarted(i) is None
            and head[0] in view.ready
            and view.takes(head[0], i)
        ):
            return head.pop(0), i
    if view.now == 0 and any(head and head[0] in view.ready for head in heads):
        return None  # they compute already: nobody else may have their cores
    return decide(view)


Queues = list[list[int]]
ENTRY = kernel.begin_or_advance.__name__


class Remaining:
    """The instance ``problem``; its tasks from ``first`` on are the tasks
    ``todo`` of the run.
    """

    def __init__(self, view: DispatchView, given: Collection[int], fast: bool) -> None:
        """*given*: tasks that have been assigned; *fast*: replays by machine code."""
        self.view = view
        self.todo = [k for k in view.released() if k not in given]
        self.heads: Queues = [[] for _ in view.nodes]
        self._names: dict[int, str] = {}
        self._tasks: list[Task] = []
        under_way = [row for i in range(len(view.nodes)) for row in self._under_way(i)]
        written = {
            f
            for k in [*self.todo, *(k for _, k, _ in under_way)]
            for f in self._name_files(k)
        }
        there = [(f, name) for f, name in self._names.items() if f not in written]
        for i, k, seconds in under_way:
            self.heads[i].append(len(self._tasks))
            self._tasks.append(_task(view.task(k), seconds))
        self.first = len(self._tasks)
        self._tasks += [_task(view.task(k)) for k in self.todo]
        self.problem = ReplicationProblem.model_construct(
            name="remaining",
            network=view.network,
            storages=(),
            tasks=tuple(self._tasks),
            nodes=tuple(
                Node.model_construct(
                    **{
                        **dict(node),
                        "holds": tuple(name for f, name in there if view.holds(i, f)),
                    }
                )
                for i, node in enumerate(view.nodes)
            ),
            files=tuple(
                File.model_construct(
                    id=name, bytes=view.size(f), storage=None, keep=False
                )
                for f, name in self._names.items()
            ),
        )
        self.place = {k: self.first + x for x, k in enumerate(self.todo)}
        self.fast = fast

    def _under_way(self, i: int) -> list[tuple[int, int, float]]:
        """(node, task, compute seconds from now on at speed 1) of what is
        decided on node *i*.
        """
        view = self.view
        speed = self.view.nodes[i].speed
        rows = []
        for row in view.computing(i):
            left = row.end_seconds - view.now
            if left <= 0:
                left = OVERRUN * (view.now - row.start_seconds)
            rows.append((i, row.task, left * speed))
        waits = view.unstarted(i)
        if waits is not None:
            rows.append((i, waits, view.task(waits).compute_seconds))
        return rows

    def _name_files(self, k: int) -> Sequence[int]:
        """Note the files of task *k*; returns those it writes."""
        task = self.view.task(k)
        reads = self.view.inputs(k)
        writes = self.view.outputs(k)
        self._names.update(
            zip((*reads, *writes), (*task.inputs, *task.outputs), strict=True)
        )
        return writes

    def behind_heads(self, queues: Sequence[Sequence[int]]) -> Queues:
        """Queues of a planner that knows of no heads, the heads put first."""
        return [
            head + [e for e in queue if e >= self.first]
            for head, queue in zip(self.heads, queues, strict=True)
        ]

    def orders(self, queues: Queues) -> list[list[int]]:
        """Per node the tasks of the run, in order."""
        return [
            [self.todo[e - self.first] for e in queue if e >= self.first]
            for queue in queues
        ]

    @cached_property
    def _replay(self) -> Callable[[Queues], tuple[float, Log]]:
        inst = instance_arrays(self.problem, compiled=self.fast)
        state = new_state(inst, compiled=self.fast)
        log = new_log(inst, 1, 1, self.fast)
        step = (
            compiled(kernel.__name__, ENTRY) if self.fast else kernel.begin_or_advance
        )

        def replay(queues: Queues) -> tuple[float, Log]:
            state.counters[BEGUN] = 0
            arrays = queue_arrays(queues, "farthest-next-use", compiled=self.fast)
            makespan, code = step(inst, arrays, state, log, 1 << 60, kernel.REPLAY, 0)
            return (float("inf") if code == kernel.STUCK else float(makespan)), log

        return replay

    def score(self, queues: Queues, tie: float) -> float:
        """The makespan, and *tie* times the mean end of all entries; infinite
        where it gets stuck.
        """
        makespan, log = self._replay(queues)
        return makespan + tie * sum(log.task_end) / max(1, len(log.task_end))

    def starts(self, queues: Queues) -> dict[int, float]:
        """When each task of ``todo`` starts in the replay, in seconds of the run."""
        _, log = self._replay(queues)
        return {
            k: self.view.now + float(log.task_start[e]) for k, e in self.place.items()
        }


def _task(task: Task, seconds: float | None = None) -> Task:
    """*task*, there from now on, computing *seconds* instead if given."""
    if seconds is None and not task.release_seconds:
        return task
    times = {"release_seconds": 0.0}
    if seconds is not None:
        times["compute_seconds"] = seconds
    return task.model_construct(**{**dict(task), **times})
