"""Checker of perturbation plans: what must hold of slopes whoever measured them; Emp's follow by counting."""

import math
from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from ioopt.problems.base import Json
from ioopt.problems.flexgang.perturbation import (
    Application,
    ApplicationSlopes,
    Emp,
    Environment,
    PerturbationPlan,
    PerturbationProblem,
    Workpile,
)
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation

SLACK = 1e-6


def check(
    problem: PerturbationProblem, plan: PerturbationPlan | None, schedule: Json | None
) -> CheckReport:
    """Check a plan against its instance.

    Rules: ``processors``, ``applications`` and ``environments`` (all there, in order),
    ``gang-time`` (no shorter than the work), ``work`` (slope no lower than conservation of work
    allows), ``stop`` (no higher than stopping all for the quantum), ``emp`` (slopes counted),
    ``gamma`` (recomputed), ``curve`` (its last point agrees with the slope).
    """
    if plan is None:
        return CheckReport(())
    wanted, given = [app.id for app in problem.applications], [app.id for app in plan.applications]
    if wanted != given:
        message = f"the instance has the applications {wanted}, the plan {given}"
        return CheckReport((violation("applications", "plan", message),))
    found: list[Violation] = []
    if plan.processors != problem.processors:
        message = f"the instance has {problem.processors} processors, the plan {plan.processors}"
        found.append(violation("processors", "plan", message))
    for app, slopes in zip(problem.applications, plan.applications):
        found += _of_application(problem, app, slopes)
    again = _measured_again(problem, schedule, found)
    gammas = {item.id: item.gamma_sub for item in plan.applications}
    known = [gamma for gamma in gammas.values() if gamma is not None]
    metrics: Json = {
        "slopes": {item.id: dict(item.slopes) for item in plan.applications},
        "gamma_sub": gammas,
        "gamma_add": {item.id: item.gamma_add for item in plan.applications},
        "mean_gamma_sub": fmean(known) if known else None,
    }
    if again:
        metrics["worst_slope_difference"] = max(
            abs(slope - new.slopes[environment])
            for old, new in zip(plan.applications, again)
            for environment, slope in old.slopes.items()
            if environment in new.slopes
        )
    objectives = {"mean_gamma_sub": metrics["mean_gamma_sub"]} if known else {}
    return CheckReport(tuple(found), objectives, metrics)


def _measured_again(
    problem: PerturbationProblem, schedule: Json | None, found: list[Violation]
) -> tuple[ApplicationSlopes, ...]:
    """The slopes of the replay, as many as it has, held to the same rules; empty where there is none."""
    rows = (schedule or {}).get("applications")
    if rows is None:
        return ()
    try:
        again = tuple(ApplicationSlopes.model_validate(row) for row in rows)
    except (ValueError, TypeError) as error:
        text = f"cannot be read ({str(error).splitlines()[0]})"
        found.append(violation("applications", "schedule", text))
        return ()
    replayed = problem.applications[: len(again)]
    wanted, given = [app.id for app in replayed], [item.id for item in again]
    if wanted != given:
        text = f"the instance has the applications {wanted}, the replay {given}"
        found.append(violation("applications", "schedule", text))
        return ()
    for app, slopes in zip(replayed, again, strict=True):
        found += _of_application(problem, app, slopes)
    return again


def _of_application(
    problem: PerturbationProblem, app: Application, item: ApplicationSlopes
) -> Iterator[Violation]:
    def broken(rule: str, amount: float, message: str) -> Violation:
        return violation(rule, app.id, message, amount)

    if set(item.slopes) != set(problem.environments):
        message = f"slopes of {sorted(item.slopes)}, the instance asks {list(problem.environments)}"
        yield broken("environments", 0.0, message)
        return
    if item.gang_quanta < problem.work_quanta - SLACK:
        message = f"T_gang {item.gang_quanta:.6g} is less than the work {problem.work_quanta}"
        yield broken("gang-time", problem.work_quanta - item.gang_quanta, message)
    for environment, slope in item.slopes.items():
        low, high = _range(problem, app, item.gang_quanta, environment)
        if slope < low - SLACK:
            message = (
                f"{environment}: slope {slope:.6g} does more work than there was CPU ({low:.6g})"
            )
            yield broken("work", low - slope, message)
        if slope > high + SLACK:
            message = f"{environment}: slope {slope:.6g} is worse than stopping all ({high:.6g})"
            yield broken("stop", slope - high, message)
        if isinstance(app, Emp) and abs(slope - (counted := _emp(problem, environment))) > SLACK:
            message = f"{environment}: slope {slope:.6g}, counting gives {counted:.6g}"
            yield broken("emp", abs(slope - counted), message)
        last = item.curves[environment][-1] if item.curves.get(environment) else None
        if last is not None and not math.isclose(
            last[1], slope * problem.perturbations, abs_tol=SLACK
        ):
            message = f"{environment}: the curve ends at {last[1]:.6g}, not slope x perturbations"
            yield broken("curve", abs(last[1] - slope * problem.perturbations), message)
    yield from (broken("gamma", amount, text) for amount, text in _gammas(problem, item))


def _range(
    problem: PerturbationProblem, app: Application, gang: float, environment: Environment
) -> tuple[float, float]:
    """Least and greatest slope: all CPU time is used, or all stop; a work unit's size on top."""
    count, share = problem.perturbations, 1 / problem.processors
    unit = app.unit_quanta / count if isinstance(app, Workpile) else 0.0
    idle = (gang - problem.work_quanta) / count
    if environment.startswith("Sub"):
        return share - idle, 1.0 + unit
    return -share - idle, unit


def _emp(problem: PerturbationProblem, environment: Environment) -> float:
    """Emp's slope: the most quanta that one process loses, or the fewest that one gains."""
    turns = Counter(
        problem.fixed_processor
        if environment.endswith("FX")
        else k % problem.batch % problem.processors
        for k in range(problem.perturbations)
    )
    lost = [turns[p] for p in range(problem.processors)]
    quanta = max(lost) if environment.startswith("Sub") else -min(lost)
    return quanta / problem.perturbations


def _gammas(problem: PerturbationProblem, item: ApplicationSlopes) -> Iterator[tuple[float, str]]:
    processors = problem.processors
    sub, add = item.slopes.get("Sub_RR"), item.slopes.get("Add_RR")
    expected = {
        "gamma_sub": None if sub is None else (sub * processors - 1) / (processors - 1),
        "gamma_add": None if add is None else 1 + processors * add,
    }
    for name, value in expected.items():
        given = getattr(item, name)
        if (value is None) != (given is None):
            yield 0.0, f"{name} is {given}, the slopes give {value}"
        elif value is not None and abs(value - given) > SLACK:
            yield abs(value - given), f"{name} is {given:.6g}, the slopes give {value:.6g}"
