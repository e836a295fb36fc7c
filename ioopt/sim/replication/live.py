"""Decide by the timeline rules while a run is carried out, not simulated.

The rules are those of the simulator (:mod:`ioopt.sim.replication.kernel`), on the same
records. But nothing ends by itself: whoever carries the run out says what has ended,
and is told what begins then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from ioopt.compiled.library import maker
from ioopt.errors import UsageError
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication import kernel
from ioopt.sim.replication.build import build_world
from ioopt.sim.replication.simulate import Entries

Kind = Literal["task", "transfer", "save", "eviction"]


@dataclass(frozen=True)
class Action:
    """Something to begin now: the ``number`` counts the actions of a run.

    ``name`` is a task, or the file that is moved or evicted. ``node`` runs the task,
    receives or evicts the file, or sends the saved file. ``source`` is the node from
    which a transfer comes; None is the remote storage.
    """

    number: int
    kind: Kind
    name: str
    node: str
    source: str | None = None


class LiveReplay:
    """Run the queues of *plan* by the rules, with completions told from outside.

    Call :meth:`begin_due` at the start, and whenever something has ended or a task
    arrives (:meth:`next_arrival`); call :meth:`ended` for every action but evictions,
    which are to be carried out at once. Raises UsageError for a plan that was decided
    while tasks ran, and SimulationError for invalid queues.
    """

    def __init__(self, problem: ReplicationProblem, plan: ReplicationPlan) -> None:
        if plan.dispatches is not None:
            raise UsageError(
                "the plan was decided while tasks ran: its queues are no decision in "
                "advance"
            )
        if problem.is_workflow:
            problem.require_room()
        self.problem = problem
        self._entries = Entries.of(problem, plan)
        queues = self._entries.as_queues(plan)
        make = maker(engine="python")
        reads = sum(map(len, problem.inputs))
        files = len(problem.nodes) * len(problem.files)
        self._world = build_world(
            problem,
            queues,
            make,
            copy_entries=self._entries.copy_files,
            room=reads + files,
        )
        kernel.reset(self._world)
        self._running: dict[int, tuple[Kind, int]] = {}
        self._transfers = 0
        self._count = 0

    def over(self) -> bool:
        """Return whether all tasks and saves have ended."""
        total = self._world.num_entries
        return kernel.over(self._world, total) == kernel.FINISHED

    def next_arrival(self) -> float:
        """Return the time in seconds at which the next task arrives; infinity if all
        have arrived.
        """
        world = self._world
        if world.run.arrived >= world.num_tasks:
            return inf
        return world.entries[world.by_release[world.run.arrived]].release

    def ended(self, action: Action, now: float) -> None:
        """Record that *action* has ended at time *now*.

        It takes effect at the next call of :meth:`begin_due`, with all that has ended
        before that call.
        """
        kind, place = self._running.pop(action.number)
        if kind == "task":
            self._world.cores[place].end = now
        else:
            self._world.flows[place].due = now

    def begin_due(self, now: float) -> list[Action]:
        """Return what begins at time *now*, evictions first."""
        world = self._world
        kernel.complete(world, now)
        evictions: list[Action] = []
        begun: list[Action] = []
        more = True
        while more:
            if world.barriers:
                kernel.open_rounds(world, now)
            kernel.passes(world, now)
            evictions += self._evictions()
            begun += self._transfers_begun()
            begun += self._tasks_begun()
            more = self._end_copies(now)
        return [*evictions, *begun]

    def _next(
        self, kind: Kind, name: str, node: int, source: int = -1
    ) -> Action:
        """Return an action with the next number."""
        nodes = self.problem.nodes
        self._count += 1
        start = None if source < 0 else nodes[source].id
        return Action(self._count, kind, name, nodes[node].id, start)

    def _evictions(self) -> Sequence[Action]:
        """Return the evictions in the log, and empty the log."""
        world = self._world
        found = []
        for n in range(world.run.evictions):
            row = world.evictions[n]
            name = self.problem.files[row.file].id
            found.append(self._next("eviction", name, row.node))
        world.run.evictions = 0
        return found

    def _transfers_begun(self) -> Sequence[Action]:
        """Return the transfers and saves that have set off since the last call; they
        end when :meth:`ended` says so.
        """
        world = self._world
        found = []
        for y, flow in enumerate(world.flows):
            if flow.file < 0 or flow.row < self._transfers:
                continue
            name = self.problem.files[flow.file].id
            if flow.target < 0:
                action = self._next("save", name, flow.source)
            else:
                action = self._next("transfer", name, flow.target, flow.source)
            flow.due = inf
            self._running[action.number] = action.kind, y
            found.append(action)
        self._transfers = world.run.transfers
        return found

    def _tasks_begun(self) -> Sequence[Action]:
        """Return the tasks that have started since the last call; they end when
        :meth:`ended` says so.
        """
        world = self._world
        found = []
        for c, core in enumerate(world.cores):
            is_task = 0 <= core.entry < world.num_tasks
            if not is_task or core.end == inf:
                continue
            name = self._entries.names[core.entry]
            action = self._next("task", name, core.node)
            core.end = inf
            self._running[action.number] = "task", c
            found.append(action)
        return found

    def _end_copies(self, now: float) -> bool:
        """End the copy entries that have started, which take no time; return whether
        there were any.
        """
        world = self._world
        starting = [
            core for core in world.cores if core.entry >= world.num_tasks
        ]
        if starting:
            kernel.complete(world, now)
        return bool(starting)
