"""Simulate a bound plan: follow the graph of its actions in time (timeline rule 12).

Rates are those of every other replay (:mod:`ioopt.sim.fluid`), with latency
and unfair sharing if they are asked for. The plan decides everything else, so nothing
here looks at queues, sources or victims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from ioopt.compiled.library import Engine
from ioopt.compiled.memory import Plain
from ioopt.errors import SimulationError
from ioopt.options import Deadline
from ioopt.problems.replication import (
    LinkModel,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Simulation
from ioopt.sim.clock import Events, instant_of
from ioopt.sim.replication.bound import REMOTE, Action, BoundGraph, BoundRun, graph_of
from ioopt.sim.replication.build import Noise, Queues, build_world, require_actual
from ioopt.sim.replication.kernel import reset_numbers
from ioopt.sim.replication.moves import free_slot, set_off, share_out
from ioopt.sim.replication.report import Replay, report
from ioopt.sim.replication.simulate import (
    INSTANTS,
    Entries,
    replay_deadline,
    too_long,
)


def follow(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    link: LinkModel | None = None,
    engine: Engine = "auto",
    deadline: Deadline | None = None,
    actual: Mapping[str, float] | None = None,
) -> Simulation:
    """Simulate a bound plan and report the result.

    Arguments and errors are those of :func:`ioopt.sim.replication.simulate.simulate`.
    There is no compiled text: every *engine* follows the graph in plain Python.
    """
    parsed = Entries.of(problem, plan)
    follower = Follower(problem, plan, link, actual)
    makespan = follower.run(0, replay_deadline(problem, deadline, Plain()))
    replay = Replay(follower.world, parsed.listed(), makespan)
    return report(problem, link, replay, actual)


SECONDS_PER_ACTION = 4e-5
"""Seconds that following a plan takes for each of its actions (measured)."""


def follow_seconds(problem: ReplicationProblem, plan: ReplicationPlan) -> float:
    """Return the estimated seconds in which a bound plan is followed once."""
    moves = plan.bound_moves or ()
    actions = len(problem.tasks) + len(moves) + len(plan.evictions)
    return SECONDS_PER_ACTION * actions


class Follower:
    """Carry out the graph of a bound plan on the records of a replay.

    The records are those of :mod:`ioopt.sim.replication.world`. Only their flows,
    resources and log are used, so that rates and reports are those of other replays.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        plan: ReplicationPlan,
        link: LinkModel | None = None,
        actual: Mapping[str, float] | None = None,
        noise: Noise | None = None,
    ) -> None:
        if problem.is_workflow:
            problem.require_room()
        require_actual(problem, actual)
        self.problem = problem
        self.graph: BoundGraph = graph_of(problem, plan)
        self.copy_files = Entries.of(problem, plan).copy_files
        empty: list[list[int]] = [[] for _ in problem.nodes]
        rows = 1 + len(plan.bound_moves or ()) + len(plan.evictions)
        self.world = build_world(
            problem,
            Queues(empty),
            Plain(),
            link,
            self.copy_files,
            actual,
            rows,
            noise,
        )
        self.sizes = [file.bytes for file in problem.files]
        self.held = [sum([self.sizes[f] for f in files]) for files in problem.holds]

    def run(self, draw: int = 0, until: Deadline | None = None) -> float:
        """Carry out the plan from time 0; return the makespan in seconds.

        *draw* numbers the draw of the weights of flows (0: all 1). Raises OutOfTime
        once *until* has passed.
        """
        self._begin(draw)
        world = self.world
        instants = 0
        while True:
            self._start_all()
            if self.state.is_over():
                return world.run.last_end
            if world.run.changed:
                share_out(world, world.run.now)
            self._complete(self._next_instant())
            instants += 1
            late = until is not None and instants % INSTANTS == 0 and until.expired()
            if late:
                raise too_long(self.problem)

    def _begin(self, draw: int) -> None:
        """Set everything to time 0."""
        world = self.world
        reset_numbers(world)
        world.fluid.draw = draw
        for flow in world.fluid.flows:
            flow.file = -1
            flow.rate = 0.0
            flow.due = inf
        self.state = BoundRun(self.graph)
        self.used = list(self.held)
        self.ends = Events()
        self.moving: dict[int, int] = {}

    def _next_instant(self) -> float:
        """Return the next time at which something ends or a task arrives."""
        run = self.world.run
        soonest = self.ends.soonest if self.ends else inf
        for flow in self.moving:
            soonest = min(soonest, self.world.fluid.flows[flow].due)
        release = self.state.next_release(run.instant)
        if release is not None:
            soonest = min(soonest, release)
        if soonest == inf:
            raise SimulationError("the plan stopped before its end")
        return soonest

    def _start_all(self) -> None:
        """Start actions until none can start at this instant."""
        run = self.world.run
        ready = self.state.ready(run.instant)
        while ready:
            for number in ready:
                self.state.started(number)
                self._start(number, self.graph.actions[number])
            ready = self.state.ready(run.instant)

    def _start(self, number: int, action: Action) -> None:
        """Start an action now; an eviction ends at once."""
        world = self.world
        now = world.run.now
        if action.kind == "eviction":
            self._evict(action)
            self.state.ended(number)
        elif action.kind in ("task", "copy entry"):
            entry = world.entries[self._entry(action)]
            for file in self._outputs(action):
                self._claim(action.node, file)
            entry.start = now
            computing = entry.compute / world.nodes[action.node].speed
            self.ends.add(now + (entry.overhead + computing), number)
        elif action.kind == "transfer":
            self._claim(action.node, action.file)
            flow = free_slot(world, action.node)
            self.moving[flow] = number
            self._count_transfer(action)
            set_off(world, flow, action.file, action.source, action.node, now)
        else:
            flow = world.num_nodes + action.node
            self.moving[flow] = number
            world.run.saves += 1
            world.run.saved_bytes += self.sizes[action.file]
            if not self.problem.files[action.file].keep:
                world.run.spills += 1
            set_off(world, flow, action.file, action.node, REMOTE, now)

    def _entry(self, action: Action) -> int:
        """Return the number of a task or a copy entry among the entries."""
        if action.kind == "task":
            return action.task
        return len(self.problem.tasks) + action.row

    def _outputs(self, action: Action) -> Sequence[int]:
        """Return the files that a task or a copy entry writes."""
        return self.problem.outputs[action.task] if action.kind == "task" else ()

    def _claim(self, i: int, file: int) -> None:
        """Take the room of *file* on the disk of node *i*; the graph has made sure
        that there is enough.
        """
        self.used[i] += self.sizes[file]
        assert self.used[i] <= self.world.nodes[i].disk

    def _evict(self, action: Action) -> None:
        """Evict a file now, and log it."""
        run = self.world.run
        self.used[action.node] -= self.sizes[action.file]
        eviction = self.world.evictions[run.evictions]
        eviction.file = action.file
        eviction.node = action.node
        eviction.at = run.now
        run.evictions += 1

    def _count_transfer(self, action: Action) -> None:
        """Count a transfer and its bytes."""
        run = self.world.run
        if action.source != REMOTE:
            run.replica_bytes += self.sizes[action.file]
            return
        run.remote_bytes += self.sizes[action.file]
        run.fetches += 1
        run.refetched += self.problem.producer[action.file] >= 0

    def _complete(self, now: float) -> None:
        """Set the time to *now*, and end everything that is due at this instant."""
        run = self.world.run
        run.now = now
        run.instant = instant_of(now)
        for number in self.ends.due(run.instant):
            self.world.entries[self._entry(self.graph.actions[number])].end = now
            run.last_end = now
            self.state.ended(number)
        for y in list(self.moving):
            if self.world.fluid.flows[y].due <= run.instant:
                self._arrive(y)

    def _arrive(self, y: int) -> None:
        """End the transfer or save on flow *y*; if only its latency is over, its bytes
        begin to move instead.
        """
        run = self.world.run
        flow = self.world.fluid.flows[y]
        run.changed = 1
        if flow.rate < 0.0 and self.sizes[flow.file] > 0:
            flow.rate = 0.0
            flow.since = run.now
            flow.due = inf
            return
        number = self.moving.pop(y)
        action = self.graph.actions[number]
        if action.kind == "save" and self.problem.files[action.file].keep:
            run.last_end = run.now
        self.world.transfers[flow.row].end = run.now
        flow.file = -1
        flow.due = inf
        self.state.ended(number)
