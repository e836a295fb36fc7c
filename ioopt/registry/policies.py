"""Policies by name: from a row of the registry to the policy of its file, for
replays and live use.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ioopt import registry
from ioopt.decisions.batch_io import IoPolicy
from ioopt.decisions.gang.state import GangPolicy
from ioopt.errors import UsageError
from ioopt.options import OVERTIME_SECONDS
from ioopt.problems.base import Problem
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem
from ioopt.problems.gang import GangPlan, GangProblem
from ioopt.protocols import Outcome, Simulation, SolveRequest
from ioopt.result import StopReason

FULL = 4.0
"""How much longer a run with records may take than a trial."""


def best_policy(problem: Problem, request: SolveRequest) -> Outcome:
    """Every policy of the kind, the best in the mean first, while there is time;
    the best plan answers.
    """
    kind, deadline = registry.kind_of_problem(problem), request.deadline
    sign = -1.0 if kind.objective.sense == "max" else 1.0
    found: dict[str, float] = {}
    best: Outcome = Outcome(None)
    chosen, last = "", 0.0
    for name in kind.policies:
        if found and deadline.expired():
            break
        begun = deadline.elapsed()
        until = (
            deadline.within(deadline.remaining() - OVERTIME_SECONDS)
            if found
            else deadline
        )
        spec = registry.solver(name, kind)
        settings = registry.settings_for(spec, {})
        policy = registry.load_target(spec.policy or "")(settings)
        asked = replace(
            request,
            settings=settings,
            policy=policy,
            deadline=until,
            trials=len(kind.policies),
        )
        outcome: Outcome = registry.load_target(spec.target)(problem, asked)
        if (
            outcome.stop is not StopReason.FINISHED
        ):  # late; what answers in its place is known
            if not found:
                return outcome
            break
        last = deadline.elapsed() - begun
        values = outcome.simulation.metrics if outcome.simulation else None
        if values is None:
            values = registry.load_target(kind.check)(
                problem, outcome.plan, None
            ).objectives
        found[name] = values[kind.objective.name]
        request.incumbents.report(outcome.plan, found[name])
        if not chosen or sign * found[name] < sign * found[chosen]:
            best, chosen, winner = outcome, name, asked
    if best.trial and deadline.remaining() > FULL * last:
        whole = registry.load_target(spec.target)(
            problem, replace(winner, deadline=deadline, trials=0)
        )
        best = whole if whole.stop is StopReason.FINISHED else best
    late = kind.policies[len(found) :]
    notes = [f"{chosen} is the best of {', '.join(found)}"]
    notes += [f"no time was left for {', '.join(late)}"] if late else []
    stop = StopReason.TIME if late else StopReason.FINISHED
    return replace(best, stop=stop, notes=(*notes, *best.notes))


def io_policy(name: str, settings: Mapping[str, object] | None = None) -> IoPolicy:
    """The I/O policy called *name*; UsageError for an unknown name or setting."""
    spec = _policy_row(name, "batch-io")
    policy: IoPolicy = registry.load_target(spec.policy or "")(
        registry.settings_for(spec, settings or {})
    )
    return policy


def _policy_row(name: str, kind: str) -> registry.SolverSpec:
    spec = registry.solver(name, registry.KINDS[kind])
    if spec.policy is None:
        raise UsageError(f"{name} tries policies on whole instances; name one of them")
    return spec


def policy_of_plan(plan: BatchIoPlan) -> IoPolicy:
    """The policy of a plan, with the settings that the plan tells."""
    spec = registry.solver(plan.policy + "+top" * plan.top, registry.KINDS["batch-io"])
    told = registry.load_target(spec.settings or "").model_fields.keys() - {
        "policy",
        "top",
    }
    known = plan.model_dump(include=told)
    return io_policy(spec.name, {**known, **(plan.settings or {})})


def simulate_batch_io(
    problem: BatchIoProblem, plan: BatchIoPlan, **options: Any
) -> Simulation:
    """Replay a plan: run its policy on the trace."""
    from ioopt.solvers.batch_io.run import simulate

    return simulate(problem, plan, policy_of_plan(plan), **options)


def gang_policy(name: str, settings: Mapping[str, object]) -> tuple[GangPolicy, Any]:
    """The gang policy called *name* and its settings; UsageError for an
    unknown name or setting.
    """
    spec = _policy_row(name, "gang")
    chosen = registry.settings_for(spec, settings)
    return registry.load_target(spec.policy or "")(chosen), chosen


def simulate_gang(problem: GangProblem, plan: GangPlan) -> Simulation:
    """Replay a plan: run its policy on the workload (the family's simulator)."""
    from ioopt.solvers.gang.run import simulate_policy

    return simulate_policy(problem, *gang_policy(plan.policy, plan.settings))
