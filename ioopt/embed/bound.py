"""Follow a bound plan in a scheduler: what may start now, and from where files come.

The plan states every transfer, save and eviction in order (timeline rule 12 of
replication). The scheduler carries out the acts that :meth:`PlanRun.acts` returns, and
reports their starts and ends. The simulator follows the same graph.

>>> from ioopt.embed import PlanRun
>>> problem = {
...     "format": "ioopt/replication",
...     "network": {"remote_bytes_per_second": 1e7, "replica_bytes_per_second": 1e9},
...     "nodes": [{"id": "n0"}, {"id": "n1"}],
...     "files": [{"id": "f", "bytes": 64_000_000}],
...     "tasks": [
...         {"id": "t", "compute_seconds": 1.5, "inputs": ["f"]},
...         {"id": "u", "compute_seconds": 1.5, "inputs": ["f"]},
...     ],
... }
>>> moves = [["n0", "f", None], ["n1", "f", "n0"]]
>>> run = PlanRun(problem, {"order": {"n0": ["t"], "n1": ["u"]}, "moves": moves})
>>> fetch = run.acts()[0]
>>> fetch.kind, fetch.node, fetch.file, fetch.source
('transfer', 'n0', 'f', None)
>>> run.started(fetch)
>>> run.acts()
()
>>> run.ended(fetch)
>>> [(act.kind, act.node, act.source) for act in run.acts()]
[('task', 'n0', None), ('transfer', 'n1', 'n0')]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ioopt import arguments
from ioopt.errors import SimulationError, UsageError
from ioopt.formats.native import validate
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.bound import REMOTE, Action, ActionKind, BoundRun, graph_of

LONGEST_SECONDS = 1e12
"""A time after every arrival."""


@dataclass(frozen=True)
class Act:
    """An act that a node carries out: it runs ``task``, or brings, saves or deletes
    ``file``.

    ``kind`` is ``task``, ``transfer``, ``save``, ``eviction`` or ``copy entry`` (which
    only waits for its file). ``node`` runs, receives, saves or deletes. ``source`` is
    the node from which a transfer comes, None for the remote storage. ``number`` is its
    number in the graph, and ``plan`` that of the plan of a planner. It waits for the
    ends of the acts ``after_end``, and for the starts of the acts ``after_start``.
    """

    kind: ActionKind
    node: str
    number: int
    task: str | None = None
    file: str | None = None
    source: str | None = None
    release_seconds: float = 0.0
    after_end: tuple[int, ...] = ()
    after_start: tuple[int, ...] = ()
    plan: int = 0


class PlanRun:
    """One run of a bound plan, by the names of its instance.

    *problem* is an ``ioopt/replication`` instance, *plan* a bound plan for it; both may
    be dictionaries. Raises InstanceError for what they do not say rightly, and
    UsageError for a plan that is not bound or cannot be carried out. The object reads
    neither clock nor file, and is not thread-safe.
    """

    def __init__(
        self,
        problem: ReplicationProblem | Mapping[str, object],
        plan: ReplicationPlan | Mapping[str, object],
    ) -> None:
        self.problem = validate(ReplicationProblem, problem, "problem")
        bound = validate(ReplicationPlan, plan, "plan")
        if bound.bound_moves is None:
            raise UsageError(
                "plan: its moves are no list, so it is not bound; solve with "
                'settings={"moves": "schedule"} (--set moves=schedule)'
            )
        try:
            graph = graph_of(self.problem, bound)
        except SimulationError as error:
            raise UsageError(f"plan: {error}") from None
        self._run = BoundRun(graph)
        self._acts = tuple(
            [self._named(n, action) for n, action in enumerate(graph.actions)]
        )

    def _named(self, number: int, action: Action) -> Act:
        problem = self.problem
        task = None
        file = None
        source = None
        if action.kind == "task":
            task = problem.tasks[action.task].id
        else:
            file = problem.files[action.file].id
        if action.kind == "transfer" and action.source != REMOTE:
            source = problem.nodes[action.source].id
        return Act(
            action.kind,
            problem.nodes[action.node].id,
            number,
            task,
            file,
            source,
            action.release_seconds,
            action.after_end,
            action.after_start,
        )

    @property
    def all_acts(self) -> tuple[Act, ...]:
        """All acts of the plan, each after those that it waits for."""
        return self._acts

    def acts(self, seconds: float = LONGEST_SECONDS) -> tuple[Act, ...]:
        """Return the acts that may start now; they may all start together.

        *seconds* is the time since the start of the run. Acts for tasks that arrive
        later are left out; without it, every task counts as arrived.
        """
        now = arguments.number(seconds, "seconds")
        return tuple([self._acts[number] for number in self._run.ready(now)])

    def next_release(self, seconds: float) -> float | None:
        """Return the next arrival of a task, after *seconds*, for which an act waits
        that waits for nothing else; None if there is none.
        """
        return self._run.next_release(arguments.number(seconds, "seconds"))

    def started(self, act: Act | int) -> None:
        """Record that an act, or the act of that number, has started.

        Raises UsageError for one that must still wait.
        """
        try:
            self._run.started(self._number(act))
        except ValueError as error:
            raise UsageError(str(error)) from None

    def ended(self, act: Act | int) -> None:
        """Record that an act has ended. Raises UsageError for one that has not
        started.
        """
        try:
            self._run.ended(self._number(act))
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _number(self, act: Act | int) -> int:
        if isinstance(act, Act):
            return act.number
        return arguments.whole(act, "act", 0, len(self._acts) - 1)

    @property
    def is_over(self) -> bool:
        """Whether every act has ended."""
        return self._run.is_over()
