"""Decide by the timeline rules while a run is carried out, not simulated.

The rules are those of the simulator (:mod:`ioopt.sim.replication.kernel`), on the same
records. But nothing ends by itself: whoever carries the run out says what has ended,
and is told what starts then.
"""

from __future__ import annotations

from itertools import islice
from math import inf

from ioopt.compiled.library import maker
from ioopt.errors import UsageError
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication import kernel
from ioopt.sim.replication.bound import Action
from ioopt.sim.replication.build import build_world
from ioopt.sim.replication.simulate import Entries


class LiveRun:
    """A run that decides again by the timeline rules whenever something ends.

    It is followed as a run of a bound plan is (:class:`~.bound.BoundRun`): start what
    is :meth:`ready`, and tell what has :meth:`ended`. But its ``actions`` grow with the
    decisions, and they do not say what they wait for. Copy entries end by themselves
    and are no actions. Raises UsageError for a plan that leaves nothing to decide and
    for rules that a live run does not know, and SimulationError for invalid queues.
    """

    def __init__(self, problem: ReplicationProblem, plan: ReplicationPlan) -> None:
        if plan.dispatches is not None:
            raise UsageError(
                "the plan was decided while tasks ran: its dispatches hold for its own "
                "times"
            )
        if plan.bound_moves is not None:
            raise UsageError("the plan is bound: follow the graph of its moves")
        problem.require_products_on_nodes("a live run")
        if problem.task_disk:
            raise UsageError(
                "a live run does not know task_disk, the use of disks by tasks that "
                "compute; leave task_disk out of the instance"
            )
        if problem.is_workflow:
            problem.require_room()
        self.actions: list[Action] = []
        entries = Entries.of(problem, plan)
        self._world = build_world(
            problem,
            entries.as_queues(plan),
            maker(engine="python"),
            copy_entries=entries.copy_files,
            # The log is emptied at each decision, which evicts no file twice.
            room=len(problem.nodes) * len(problem.files),
        )
        kernel.reset(self._world)
        self._begun: list[tuple[Action, int]] = []
        self._place: dict[int, int] = {}
        self._transfers = 0

    def is_over(self) -> bool:
        """Return whether all tasks and saves have ended."""
        # Whether the log of transfers is full does not matter: it is not read.
        return kernel.over(self._world, self._world.num_entries) != kernel.PAUSED

    def next_release(self, seconds: float) -> float | None:
        """Return the time after *seconds* at which the next task arrives; None if all
        tasks have arrived.
        """
        world = self._world
        arrived = world.run.arrived
        if arrived >= world.num_tasks:
            return None
        return max(seconds, world.entries[world.by_release[arrived]].release)

    def ready(self, seconds: float) -> list[int]:
        """Decide at the time *seconds*; return the numbers of the actions that start
        now, evictions first.
        """
        world = self._world
        kernel.complete(world, seconds)
        evictions: list[Action] = []
        self._begun = []
        deciding = True
        while deciding:
            if world.barriers:
                kernel.open_rounds(world, seconds)
            kernel.passes(world, seconds)
            evictions += self._evictions()
            self._begin_transfers()
            self._begin_tasks()
            deciding = self._end_copies(seconds)
        first = len(self.actions)
        self.actions += evictions
        for action, place in self._begun:
            self._place[len(self.actions)] = place
            self.actions.append(action)
        return list(range(first, len(self.actions)))

    def started(self, number: int) -> None:
        """Accept that an action starts; it has counted as started since it was
        decided.
        """

    def ended(self, number: int) -> None:
        """Note that an action has ended.

        It takes effect at the next decision, with all that has ended before that.
        """
        action = self.actions[number]
        if action.kind == "task":
            self._world.cores[self._place.pop(number)].end = 0.0
        elif action.kind != "eviction":
            self._world.fluid.flows[self._place.pop(number)].due = 0.0

    def _evictions(self) -> list[Action]:
        """Return the evictions in the log, and empty the log."""
        run = self._world.run
        found = []
        for row in islice(self._world.evictions, run.evictions):
            found.append(Action("eviction", row.node, file=row.file))
        run.evictions = 0
        return found

    def _begin_transfers(self) -> None:
        """Add the transfers and saves that have just set off to those that begin now;
        they end when :meth:`ended` says so.
        """
        for y, flow in enumerate(self._world.fluid.flows):
            if flow.file < 0 or flow.row < self._transfers:
                continue
            flow.due = inf
            if flow.target < 0:
                action = Action("save", flow.source, file=flow.file)
            else:
                action = Action(
                    "transfer", flow.target, file=flow.file, source=flow.source
                )
            self._begun.append((action, y))
        self._transfers = self._world.run.transfers

    def _begin_tasks(self) -> None:
        """Add the tasks that have just started to those that begin now; they end when
        :meth:`ended` says so.
        """
        for c, core in enumerate(self._world.cores):
            is_task = 0 <= core.entry < self._world.num_tasks
            if is_task and core.end < inf:
                core.end = inf
                self._begun.append((Action("task", core.node, core.entry), c))

    def _end_copies(self, seconds: float) -> bool:
        """End the copy entries that have started, which take no time; return whether
        there were any.
        """
        world = self._world
        starting = [core for core in world.cores if core.entry >= world.num_tasks]
        if starting:
            kernel.complete(world, seconds)
        return bool(starting)
