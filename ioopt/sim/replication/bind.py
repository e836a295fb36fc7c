"""Bind a plan: write down the transfers, saves and evictions of its exact replay.

The bound plan (timeline rule 12) leaves nothing to the rules of a replay. It states no
times: only orders, and what needed the room of each eviction.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from ioopt.compiled.library import Engine
from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.problems.replication import (
    EvictionRow,
    LinkModel,
    MoveRow,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Outcome
from ioopt.sim.replication.bound import require_bindable
from ioopt.sim.replication.report import Replay
from ioopt.sim.replication.simulate import replayed
from ioopt.sim.replication.world import Eviction, Transfer


def bind(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    link: LinkModel | None = None,
    engine: Engine = "auto",
    deadline: Deadline | None = None,
) -> ReplicationPlan:
    """Return *plan* bound to the order of its exact replay; a bound plan is returned
    unchanged.

    Arguments and errors are those of :func:`ioopt.sim.replication.simulate.simulate`.
    """
    if plan.bound_moves is not None:
        return plan
    return bound_plan(problem, plan, replayed(problem, plan, link, engine, deadline))


def bound_plan(
    problem: ReplicationProblem, plan: ReplicationPlan, replay: Replay
) -> ReplicationPlan:
    """Return *plan* bound to the order of *replay*, an exact replay of it.

    Raises NotApplicableError for rules that no bound plan states.
    """
    require_bindable(problem)
    return _Binder(problem, replay).plan(plan)


def bound_outcome(
    problem: ReplicationProblem, outcome: Outcome, deadline: Deadline
) -> Outcome:
    """Return *outcome* with its plan bound; its measure is then the makespan.

    A bound that the solver proved is left out: it holds for plans that are replayed by
    the rules, and a bound plan may end earlier. Without time for the replay the plan
    stays as it is, and a note says so. So does a plan that cannot be replayed, which
    the replay of the answer then reports.
    """
    if outcome.plan is None:
        return outcome
    if outcome.plan.bound_moves is not None:
        return outcome
    try:
        replay = replayed(problem, outcome.plan, deadline=deadline)
    except OutOfTime as error:
        note = f"the transfers are not in the plan: {error}"
        return replace(outcome, notes=(*outcome.notes, note))
    except SimulationError:
        return outcome
    note = f"by the rules the plan ends at {replay.makespan_seconds:.6g} s"
    return replace(
        outcome,
        plan=bound_plan(problem, outcome.plan, replay),
        notes=(*outcome.notes, note),
        bound=None,
        objective_name="makespan_seconds",
        simulation=None,
    )


class _Binder:
    """Read the order of transfers, entries and evictions from the log of a replay.

    ``turns`` are, for each node, the numbers of the entries of its queue in the order
    of all starts; they ascend, because entries start in the order of their queue.
    """

    def __init__(self, problem: ReplicationProblem, replay: Replay) -> None:
        self.problem = problem
        self.queues = replay.listed.queues
        self.entries = replay.world.entries
        self.nodes = [node.id for node in problem.nodes]
        self.turns = []
        for queue in self.queues:
            self.turns.append([self.entries[e].turn for e in queue])
        run = replay.world.run
        self.moves = list(islice(replay.world.transfers, run.transfers))
        self.evictions = list(islice(replay.world.evictions, run.evictions))
        self.incoming: list[list[int]] = [[] for _ in self.nodes]
        for row, move in enumerate(self.moves):
            if move.destination >= 0:
                self.incoming[move.destination].append(row)

    def plan(self, plan: ReplicationPlan) -> ReplicationPlan:
        """Return *plan* with the rows of the log, and without what they replace."""
        return ReplicationPlan(
            assign=plan.assign,
            order=plan.order,
            eviction=plan.eviction,
            moves=tuple(self.move_row(move) for move in self.moves),
            moves_after=tuple(self.started_before(move) for move in self.moves),
            evictions=tuple(self.eviction_row(gone) for gone in self.evictions),
        )

    def move_row(self, move: Transfer) -> MoveRow:
        """Return the row of a transfer or a save."""
        receiver = None
        if move.destination >= 0:
            receiver = self.nodes[move.destination]
        source = None
        if move.source >= 0:
            source = self.nodes[move.source]
        return receiver, self.problem.files[move.file].id, source

    def started_before(self, move: Transfer) -> int:
        """Return the number of entries of a move's node that started before it."""
        node = move.source if move.destination < 0 else move.destination
        return bisect_left(self.turns[node], move.begun)

    def eviction_row(self, gone: Eviction) -> EvictionRow:
        """Return the row of an eviction: the room is for the next transfer to its node
        or the next task there that writes files, whichever started first.
        """
        i = gone.node
        before: int | str | None = None
        place = bisect_left(self.incoming[i], gone.moves)
        until = len(self.queues[i])
        if place < len(self.incoming[i]):
            before = self.incoming[i][place]
            until = self.started_before(self.moves[before])
        first = bisect_left(self.turns[i], gone.begun)
        writer = self._first_writer(self.queues[i][first:until])
        if writer is not None:
            before = self.problem.tasks[writer].id
        return self.nodes[i], self.problem.files[gone.file].id, before

    def _first_writer(self, entries: Sequence[int]) -> int | None:
        """Return the first of *entries* that writes files; None if none does."""
        for entry in entries:
            if self.entries[entry].end_output > self.entries[entry].first_output:
                return entry
        return None
