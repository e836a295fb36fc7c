"""All planners of workflows, replayed, and the best of them: what ``auto`` answers for workflows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ioopt.errors import OutOfTime
from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo, locality, run
from ioopt.solvers.replication.greedy import b_level, heft, ready_min_min

Planner = Callable[[ReplicationProblem, SolveRequest], Outcome[ReplicationPlan]]
PLANNERS: dict[str, Planner] = {
    "b-level": b_level.solve,
    "locality": lambda problem, request: run.answer(
        problem, request, locality.decide, run.Settings()
    ),
    "heft": heft.solve,
    "ready-min-min": ready_min_min.solve,
    "fifo": lambda problem, request: run.answer(problem, request, fifo.decide, run.Settings()),
}
"""In the order in which they are tried where time is short: the surest first."""


def solve_best(problem: ReplicationProblem, request: SolveRequest) -> Outcome[ReplicationPlan]:
    """The plan whose replay ends first, ties to the planner tried first; the first note names it.

    Past the deadline no further planner is tried. Raises UnsolvableInstanceError for a task that
    fits no node.
    """
    problem.require_room()
    bound = makespan_bound_seconds(problem)
    plain = replace(request, settings=None, start=None, policy=None)
    best: Outcome[ReplicationPlan] | None = None
    least, name = float("inf"), ""
    ends: dict[str, float] = {}
    for planner, plan in PLANNERS.items():
        if best is not None and request.deadline.expired():
            break
        try:
            outcome = plan(problem, plain)
            best = best or outcome
            assert outcome.plan is not None
            replayed = simulate(problem, outcome.plan, deadline=request.deadline)
        except OutOfTime:
            continue
        end = replayed.metrics["makespan_seconds"]
        ends[planner] = end
        if end < least:
            least, name, best = end, planner, replace(outcome, simulation=replayed)
            request.incumbents.report(outcome.plan, end, bound)
    assert best is not None, "b-level answers whatever the limit"
    tried = ", ".join(f"{planner} {end:.6g} s" for planner, end in ends.items())
    note = f"auto: the best planner is {name} ({tried})" if ends else "auto: b-level, not replayed"
    late = len(ends) < len(PLANNERS)
    return replace(
        best,
        bound=bound,
        objective_name="makespan_seconds",
        stop=StopReason.TIME if late else best.stop,
        notes=(note, *best.notes),
    )
