"""Check quantum selections: each option is in its job's menu, the slots fill the cycle,
and each job's share of the cycle is at least its floor.
"""

import math

from ioopt.checks.flexgang.response import respond
from ioopt.errors import InstanceError
from ioopt.problems.base import Json
from ioopt.problems.flexgang.quantum_selection import (
    QuantumPlan,
    QuantumSelectionProblem,
)
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation
from ioopt.units import exact

TOLERANCE = 1e-9
ROUNDING = 1e-11
"""Tolerated difference between the sums of checker and solvers, relative to the terms
of the sums.
"""


def check(
    problem: QuantumSelectionProblem,
    plan: QuantumPlan | Json,
    schedule: Json | None = None,
) -> CheckReport:
    """Check a plan and recompute its cost, which adds up the slowdown and the waste of
    the I/O jobs.

    The cost of a job is w (S(q, L/f - q) - 1) + mu waste. w is the weight of the job, q
    its quantum, f its number of visits in a cycle of length L, and mu the price of
    waste. S is the slowdown for q seconds on and L/f - q seconds off.
    """
    if isinstance(plan, dict):
        plan = QuantumPlan.model_validate(plan)
    found = _options(problem, plan) + _cycle(plan)
    if not found:
        found = _floors(problem, plan)
    if schedule is not None:
        found += _slots(plan, schedule)
    if any(item.rule in ("options", "cycle") for item in found):
        return CheckReport(tuple(found))
    predicted, size = _predicted(problem, plan)
    options = {
        name: [item.quantum_seconds, item.visits] for name, item in plan.options.items()
    }
    metrics = {
        "predicted": predicted,
        "cycle_seconds": plan.cycle_seconds,
        "options": options,
    }
    objectives = {"predicted_cost": predicted}
    limits = {"predicted_cost": _least_cost(problem)}
    return CheckReport(
        tuple(found), objectives, metrics, rounding=ROUNDING * size, limits=limits
    )


def _least_cost(problem: QuantumSelectionProblem) -> float:
    """Return a lower bound on the cost of every plan: the cost if no job were slowed
    down and nothing were wasted.

    If the instance has a table of responses with lower entries, the least entries are
    used for the bound.
    """
    table = problem.surface or ()
    slowdown = min([1.0, *(entry.slowdown for entry in table)])
    waste = min([0.0, *(entry.fragmentation or 0.0 for entry in table)])
    weights = (job.weight for job in problem.jobs if job.is_io)
    return math.fsum(
        weight * (slowdown - 1.0) + problem.mu * waste for weight in weights
    )


def _options(problem: QuantumSelectionProblem, plan: QuantumPlan) -> list[Violation]:
    found = []
    for at, job in enumerate(problem.jobs):
        choice = plan.options.get(job.id)
        if choice is None:
            found.append(violation("options", job.id, "has no option"))
        elif (choice.quantum_seconds, choice.visits) not in problem.options(at):
            message = (
                f"({choice.quantum_seconds:g} s, {choice.visits} visits) is not on "
                "its menu"
            )
            found.append(violation("options", job.id, message))
    for name in plan.options:
        if name not in problem.job_index:
            found.append(violation("options", name, "there is no such job"))
    return found


def _cycle(plan: QuantumPlan) -> list[Violation]:
    used = sum(
        exact(item.quantum_seconds) * item.visits for item in plan.options.values()
    )
    over = float(used) - plan.cycle_seconds
    if abs(over) <= TOLERANCE:
        return []
    message = f"the slots take {float(used):g} s of a cycle of {plan.cycle_seconds:g} s"
    return [violation("cycle", "cycle_seconds", message, abs(over))]


def _floors(problem: QuantumSelectionProblem, plan: QuantumPlan) -> list[Violation]:
    found = []
    for job in problem.jobs:
        choice = plan.options[job.id]
        share = choice.quantum_seconds * choice.visits / plan.cycle_seconds
        if share < job.floor - TOLERANCE:
            message = f"gets {share:.4g} of the cycle, its floor is {job.floor:g}"
            found.append(violation("floor", job.id, message, job.floor - share))
    return found


def _slots(plan: QuantumPlan, schedule: Json) -> list[Violation]:
    """Check that the slots of *schedule* follow each other without gaps and give every
    job its visits.
    """
    found = []
    clock = 0.0
    visits: dict[str, int] = {}
    for at, slot in enumerate(schedule.get("slots", [])):
        if abs(slot["start_seconds"] - clock) > TOLERANCE:
            message = (
                f"starts at {slot['start_seconds']:g} s, the one before ends at "
                f"{clock:g} s"
            )
            found.append(violation("slots", f"slots[{at}]", message))
        clock = slot["end_seconds"]
        name = slot["job"]
        visits[name] = visits.get(name, 0) + 1
        choice = plan.options.get(name)
        length = slot["end_seconds"] - slot["start_seconds"]
        if choice is None or not math.isclose(
            length, choice.quantum_seconds, rel_tol=1e-9
        ):
            message = f"job {name!r} has no quantum of {length:g} s"
            found.append(violation("slots", f"slots[{at}]", message))
    for name, choice in plan.options.items():
        if visits.get(name, 0) != choice.visits:
            message = (
                f"has {visits.get(name, 0)} slots a cycle, its option says "
                f"{choice.visits}"
            )
            found.append(violation("slots", name, message))
    return found


def _predicted(
    problem: QuantumSelectionProblem, plan: QuantumPlan
) -> tuple[float, float]:
    """Return the predicted cost of a plan and the sum of w S, weight times slowdown,
    over its I/O jobs.

    The rounding error of the cost is proportional to that sum.
    """
    machine = problem.machine
    costs = []
    size = 0.0
    for job in problem.jobs:
        if not job.is_io:
            continue
        choice = plan.options[job.id]
        off = plan.cycle_seconds / choice.visits - choice.quantum_seconds
        off = max(0.0, round(off, 12))
        response = respond(
            job, choice.quantum_seconds, off, machine.processors, problem.surface
        )
        costs.append(job.weight * (response.slowdown - 1.0))
        size += job.weight * response.slowdown
        if problem.mu > 0:
            if response.waste is None:
                raise InstanceError(
                    "surface: mu is more than 0, so every entry needs fragmentation"
                )
            costs.append(problem.mu * response.waste)
    return math.fsum(costs), size
