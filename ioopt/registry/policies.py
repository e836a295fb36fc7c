"""Policies by name: from a row of the registry to the policy of its file, for replays and live use."""

from collections.abc import Mapping
from typing import Any

from ioopt import registry
from ioopt.decisions.batch_io import IoPolicy
from ioopt.decisions.gang.state import GangPolicy
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem
from ioopt.problems.gang import GangPlan, GangProblem
from ioopt.protocols import Simulation


def io_policy(name: str, settings: Mapping[str, Any] | None = None) -> IoPolicy:
    """The I/O policy called *name*; UsageError for an unknown name or setting."""
    spec = registry.solver(name, registry.KINDS["batch-io"])
    policy: IoPolicy = registry.load_target(spec.policy or "")(
        registry.settings_for(spec, settings or {})
    )
    return policy


def policy_of_plan(plan: BatchIoPlan) -> IoPolicy:
    """The policy of a plan, with the settings that the plan tells."""
    spec = registry.solver(plan.policy + "+top" * plan.top, registry.KINDS["batch-io"])
    told = registry.load_target(spec.settings or "").model_fields.keys() - {"policy", "top"}
    known = plan.model_dump(include=told)
    return io_policy(spec.name, {**known, **(plan.settings or {})})


def simulate_batch_io(problem: BatchIoProblem, plan: BatchIoPlan, **options: Any) -> Simulation:
    """Replay a plan: run its policy on the trace."""
    from ioopt.solvers.batch_io.run import simulate

    return simulate(problem, plan, policy_of_plan(plan), **options)


def gang_policy(name: str, settings: Mapping[str, Any]) -> tuple[GangPolicy, Any]:
    """The gang policy called *name* and its settings; UsageError for an unknown name or setting."""
    spec = registry.solver(name, registry.KINDS["gang"])
    chosen = registry.settings_for(spec, settings)
    return registry.load_target(spec.policy or "")(chosen), chosen


def simulate_gang(problem: GangProblem, plan: GangPlan) -> Simulation:
    """Replay a plan: run its policy on the workload (the family's simulator)."""
    from ioopt.solvers.gang.run import simulate_policy

    return simulate_policy(problem, *gang_policy(plan.policy, plan.settings))
