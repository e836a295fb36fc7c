"""The paper's two-stage scheme for limited disks (Khanna et al., Sections 4.2 and 4.3; rules 5 to 7)."""

from __future__ import annotations

import time

from ioopt.models.replication.bounds import area_seconds
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.replication.greedy.file_order import answer_in_file_order
from ioopt.solvers.replication.plans import require_batch
from ioopt.solvers.replication.rounds.rounds import HASTE_SECONDS_PER_TASK, Rounds, Settings

SLACK_SECONDS = 0.3
"""How far past its limit a run may be planned in haste."""


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Solve in rounds over all nodes at once."""
    return solve_in_rounds(problem, request, request.settings or Settings(), (len(problem.nodes),))


def solve_in_rounds(
    problem: ReplicationProblem, request: SolveRequest, settings: Settings, levels: tuple[int, ...]
) -> Outcome:
    """Plan with the tree of virtual nodes *levels*; the bound is the area bound.

    Metrics: ``rounds``; ``scheduling_milliseconds_per_task`` (wall clock of the whole planning).
    Raises UnsolvableInstanceError for a task that no disk can hold.
    """
    begun = time.perf_counter()
    require_batch(problem)
    if HASTE_SECONDS_PER_TASK * len(problem.tasks) > request.deadline.remaining() + SLACK_SECONDS:
        return answer_in_file_order(problem, "rounds")
    rounds = Rounds(problem, request, settings, levels)
    plan = rounds.run()
    milliseconds = 1000 * (time.perf_counter() - begun) / max(1, len(problem.tasks))
    stop = StopReason.TIME if rounds.rushed or rounds.hurried else StopReason.FINISHED
    return Outcome(
        plan,
        area_seconds(problem),
        StopReason.INTERRUPTED if rounds.interrupted else stop,
        notes=("; ".join(rounds.notes()),),
        metrics={
            "rounds": len(rounds.rounds),
            "scheduling_milliseconds_per_task": milliseconds,
        },
    )
