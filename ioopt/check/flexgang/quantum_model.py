"""Checker of quantum-model plans: identities and bounds that hold whatever engine measured.

It shares nothing with the engines. Where a measure is a sample mean, the allowance grows with its
standard error: five of them, plus one cycle at each end of the horizon.
"""

import math
from collections.abc import Iterator
from statistics import fmean

from ioopt.problems.base import Json
from ioopt.problems.flexgang.quantum_model import (
    DEFAULT_ITERATIONS,
    MeasuredPoint,
    QuantumModelPlan,
    QuantumModelProblem,
)
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation


def check(
    problem: QuantumModelProblem, plan: QuantumModelPlan | None, schedule: Json | None
) -> CheckReport:
    """Check that every point is there and that its measures can be true.

    Rules: ``points`` (the instance's quanta in its order), ``bound`` (slowdown is at least
    max(1, share (1 + qc/qi))), ``response`` (slowdown = (response + io)/(burst + io)),
    ``fragmentation`` (between 0 and the I/O slot's share), ``conservation`` (every CPU second is
    the I/O job's, useful or fragmented).
    """
    if plan is None:
        return CheckReport(())
    found = _violations(problem, plan.points, "plan")
    metrics = _means(plan.points)
    if plan.points:
        metrics["max_slowdown"] = max(point.slowdown for point in plan.points)
    replayed = _replayed(schedule, found)
    if replayed:
        found += _violations(problem, replayed, "schedule")
        metrics |= {f"simulated_{name}": value for name, value in _means(replayed).items()}
        metrics |= _differences(plan.points, replayed)
    objectives = {"slowdown": metrics["slowdown"]} if plan.points else {}
    return CheckReport(tuple(found), objectives, metrics)


def _violations(
    problem: QuantumModelProblem, points: tuple[MeasuredPoint, ...], where: str
) -> list[Violation]:
    """Every point there, in order (as many as a replay has), with measures that can be true."""
    wanted = [(point.qi_seconds, point.qc_seconds) for point in problem.points]
    given = [(point.qi_seconds, point.qc_seconds) for point in points]
    if where == "schedule":
        wanted = wanted[: len(given)]
    found: list[Violation] = []
    if wanted != given:
        text = f"the instance has the quanta {_some(wanted)}, the {where} {_some(given)}"
        found.append(
            violation("points", f"{where}.points", text, float(abs(len(wanted) - len(given))))
        )
    for point in points:
        found += _of_point(problem, point)
    return found


def _replayed(schedule: Json | None, found: list[Violation]) -> tuple[MeasuredPoint, ...]:
    """The points that the replay measured; what cannot be read is a violation."""
    try:
        rows = (schedule or {}).get("points", ())
        return tuple(MeasuredPoint.model_validate(row) for row in rows)
    except (ValueError, TypeError) as error:
        text = f"cannot be read ({str(error).splitlines()[0]})"
        found.append(violation("points", "schedule.points", text))
        return ()


def _means(points: tuple[MeasuredPoint, ...]) -> dict[str, float]:
    names = ("slowdown", "response_seconds", "fragmentation", "useful")
    return {name: fmean(getattr(point, name) for point in points) for name in names if points}


def _differences(
    planned: tuple[MeasuredPoint, ...], replayed: tuple[MeasuredPoint, ...]
) -> dict[str, float]:
    """The largest differences between plan and replay; nothing where they have other points."""
    if len(planned) < len(replayed):
        return {}
    pairs = list(zip(replayed, planned))
    return {
        "worst_slowdown_difference": max(abs(a.slowdown / b.slowdown - 1) for a, b in pairs),
        "worst_fragmentation_difference": max(
            abs(a.fragmentation - b.fragmentation) for a, b in pairs
        ),
    }


def _some(pairs: list[tuple[float, float]]) -> str:
    shown = ", ".join(f"({qi:g}, {qc:g})" for qi, qc in pairs[:3])
    return shown + (f" and {len(pairs) - 3} more" if len(pairs) > 3 else "")


def _of_point(problem: QuantumModelProblem, point: MeasuredPoint) -> Iterator[Violation]:
    item = f"({point.qi_seconds:g}, {point.qc_seconds:g})"
    burst, io = problem.burst_seconds, problem.io_seconds
    cycle = point.qi_seconds + point.qc_seconds
    allowed = _allowance(problem, point)

    def broken(rule: str, amount: float, message: str) -> Violation:
        return violation(rule, item, message, amount)

    least = max(1.0, burst / (burst + io) * (1 + point.qc_seconds / point.qi_seconds))
    if point.slowdown < least * (1 - allowed):
        message = f"slowdown {point.slowdown:.6g} is below the bound {least:.6g}"
        yield broken("bound", least - point.slowdown, message)
    implied = (point.response_seconds + io) / (burst + io)
    if not math.isclose(implied, point.slowdown, rel_tol=1e-6):
        message = f"the response gives slowdown {implied:.6g}, the plan says {point.slowdown:.6g}"
        yield broken("response", abs(implied - point.slowdown), message)
    share = point.qi_seconds / cycle
    if not -1e-9 <= point.fragmentation <= share + 1e-9:
        message = f"fragmentation {point.fragmentation:.6g} is not within 0 and {share:.6g}"
        yield broken("fragmentation", abs(point.fragmentation - share), message)
    beta = burst / (point.slowdown * (burst + io))
    total = beta + point.useful + point.fragmentation
    if abs(total - 1) > allowed:
        message = f"beta + useful + fragmentation is {total:.6g}, not 1"
        yield broken("conservation", abs(total - 1), message)


def _allowance(problem: QuantumModelProblem, point: MeasuredPoint) -> float:
    """What the finite horizon excuses, as a fraction; 0.1 % for the chain's discretisation."""
    iteration = point.slowdown * (problem.burst_seconds + problem.io_seconds)
    share = problem.burst_seconds / (problem.burst_seconds + problem.io_seconds)
    horizon = problem.horizon_seconds
    if horizon is None:
        least = max(1.0, share * (1 + point.qc_seconds / point.qi_seconds))
        horizon = DEFAULT_ITERATIONS * least * problem.burst_seconds / share
    iterations = problem.processors * horizon / iteration
    cycles = horizon / (point.qi_seconds + point.qc_seconds)
    deviation = 1 / math.sqrt(problem.burst_shape) if problem.burst_shape else 0.0
    return 0.001 + 5 * deviation / math.sqrt(max(iterations, 1)) + 2 / max(cycles, 1)
