"""Policies by name: from a row of the registry to the policy of its file, for replays and live use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioopt import registry
from ioopt.decisions.gang.state import GangPolicy
from ioopt.problems.gang import GangPlan, GangProblem
from ioopt.protocols import Simulation


def gang_policy(name: str, settings: Mapping[str, Any]) -> tuple[GangPolicy, Any]:
    """The gang policy called *name* and its settings; UsageError for an unknown name or setting."""
    spec = registry.solver(name, registry.KINDS["gang"])
    chosen = registry.settings_for(spec, settings)
    module = spec.target.partition(":")[0]
    return registry.load_target(f"{module}:policy")(chosen), chosen


def simulate_gang(problem: GangProblem, plan: GangPlan) -> Simulation:
    """Replay a plan: run its policy on the workload (the family's simulator)."""
    from ioopt.solvers.gang.run import simulate_policy

    return simulate_policy(problem, *gang_policy(plan.policy, plan.settings))
