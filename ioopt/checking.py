"""Check results: first the plan with its family's checker, then every statement of the
result.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from ioopt import registry
from ioopt.errors import InstanceError, SimulationError, UsageError
from ioopt.families import EXACT, Kind
from ioopt.formats.native import validate
from ioopt.known_plans import known_plans
from ioopt.loading import load, plan_of, require_form, result_from_dict
from ioopt.options import suggest
from ioopt.problems.base import Json, Problem
from ioopt.problems.schedules import Measured
from ioopt.protocols import CheckReport, Known
from ioopt.result import Result, Violation, violation
from ioopt.run_statements import false_run, leaves_out_copies
from ioopt.solving import beyond, check_plan, simulate
from ioopt.statements import Statements, false_schedule, false_settings


class Judgement(NamedTuple):
    """The findings about a result: false statements, the names of statements that
    cannot be recomputed, and excused violations.

    ``excused`` are violations of the machine's rules that the result's own solver
    commits by design, because it is a reference to compare with.
    """

    violations: list[Violation]
    unjudged: list[str]
    excused: tuple[Violation, ...]


def check(
    source: object,
    result: object = None,
    link: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Violation]:
    """Return the violations of *result* against the instance *source*; the body of
    :func:`ioopt.check`, which explains the parameters.
    """
    problem = load(source)
    require_servable(problem)
    if result is None:
        return []
    kind = registry.kind_of_problem(problem)
    if isinstance(result, (Result, Mapping)):
        data = _document(result, "result")
        require_form(kind, data, "result")
        expected = {**(settings or {}), **({"link": link} if link else {})}
        return judge(problem, data, "result", expected)[0]
    return list(check_plan(kind, problem, result, None).violations)


def require_servable(problem: Problem) -> None:
    """Raise UnsolvableInstanceError for an instance that no plan can serve, such as one
    with a task larger than every disk; nothing is solved.
    """
    if hasattr(problem, "require_room"):
        problem.require_room()


def judge(
    problem: Problem,
    given: Result | Mapping[str, Any],
    name: str,
    expected: Mapping[str, object] = MappingProxyType({}),
) -> tuple[list[Violation], list[str]]:
    """Return (violations, unjudged) of the document *given*; the second list has the
    names of its statements that cannot be recomputed.
    """
    return judgement(problem, given, name, expected)[:2]


def judgement(
    problem: Problem,
    given: Result | Mapping[str, Any],
    name: str,
    expected: Mapping[str, object] = MappingProxyType({}),
) -> Judgement:
    """Judge every statement of *given*, called *name* in messages.

    *given* is a result, an object with ``plan`` or ``schedule``, or a plan. A schedule
    that the plan determines is compared with a replay of the plan, and so are the
    metrics that only a replay computes. The settings that *given* adds to the instance
    must equal *expected*.
    """
    data = _document(given, name)
    kind = registry.kind_of_problem(problem)
    schedule = data.get("schedule")
    if data.get("plan") is None and schedule is None:
        raise UsageError(
            f"{name}: holds neither a plan nor a schedule, so nothing can be checked"
        )
    plan = plan_of(kind, data.get("plan"), name)
    settings = beyond(kind, problem, plan, schedule)
    expected = _expected_settings(kind, problem, expected)
    asked = {
        name: told for name, told in settings.items() if expected.get(name) == told
    }
    problem = kind.as_replayed(problem, asked)
    report = _report(kind, problem, plan, data, name)
    # The best known plans were found without added settings and count for every plan of
    # the instance.
    known: Mapping[str, Known] = {}
    if not settings and not leaves_out_copies(kind, data) and _states_bounds(data):
        known = known_plans(problem)
    told = Statements(kind, data, report, known)
    found = [
        *report.violations,
        *false_settings(settings, expected, data.get("settings")),
        *told.false(problem),
        *false_run(kind, data),
    ]
    left = told.unjudged()
    contradicted = any(item.rule == "bound" for item in found)
    if not contradicted and not told.bound_is_recomputed():
        left.append("bound")
    if data.get("solver") not in (None, getattr(plan, "policy", None)):
        return Judgement([*found, *report.excused], left, ())
    return Judgement(found, left, report.excused)


def _expected_settings(
    kind: Kind, problem: Problem, given: Mapping[str, object]
) -> dict[str, Any]:
    """Return those settings of *given* that differ from the instance; raise UsageError
    for a key that no result of the kind can add.
    """
    usual = kind.beyond(problem, None, None)
    for key in given:
        if key not in usual:
            raise UsageError(
                f"--set {key}: a result of {kind.kind} cannot add {key!r}; "
                f"{suggest(key, usual)}"
            )
    return {key: value for key, value in given.items() if value != usual[key]}


def _report(
    kind: Kind, problem: Problem, plan: Any, data: Mapping[str, Any], name: str
) -> CheckReport:
    """Return the checker's report on *data*, called *name* in messages. A replay of the
    plan is added to it when the plan determines the schedule, or when the result states
    metrics that only a replay computes.
    """
    schedule = data.get("schedule")
    report = check_plan(kind, problem, plan, schedule)
    follows = kind.follows and not searched(kind, plan)
    wanted = follows or bool(Statements(kind, data, report).unjudged())
    if wanted and plan is not None and not report.violations and kind.simulates:
        report = replayed(kind, problem, plan, schedule, report)
    stated = data.get("metrics") or {}
    if plan is not None and "noise" in stated and not report.violations:
        noisy = kind.noise_again(problem, plan, stated, name)
        report = replace(report, metrics={**report.metrics, **noisy})
    repeated = follows and plan is not None
    if not repeated and report.metrics.get("matrix_checked") is False:
        text = "has no updates (--set history=yes), and no plan that a check can repeat"
        wrong = violation("schedule", problem.name, text)
        report = replace(report, violations=(wrong,))
    return report


def _states_bounds(data: Mapping[str, Any]) -> bool:
    """Return whether the result *data* states a bound of its objective, or a metric
    that bounds another metric.
    """
    return data.get("bound") is not None or any(
        "_bound" in key for key in data.get("metrics") or ()
    )


def searched(kind: Kind, plan: object) -> bool:
    """Return whether the policy of *plan* solves integer programs while it runs, so
    that a check cannot repeat it.
    """
    name = getattr(plan, "policy", None)
    return name is not None and EXACT in registry.solver(name, kind).abilities


def _document(given: Result | Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        form = given.get("format")
        if form not in (None, "ioopt/result", "ioopt/simulation"):
            raise InstanceError(
                f"{name}: format: {form!r} is neither a result nor a simulation"
            )
        if form != "ioopt/result" or "solver" not in given:
            if "plan" not in given and "schedule" not in given:
                return {"plan": given}
            for key in given.keys() - Result.model_fields.keys():
                raise InstanceError(
                    f"{name}: {key}: is not a field of a result; remove it"
                )
            return given
        given = result_from_dict(given, name)
    # Leave out plan and schedule, which are plain data already, and long.
    stated = given.model_dump(mode="json", exclude={"plan", "schedule"})
    return stated | {"plan": given.plan, "schedule": given.schedule}


def replayed(
    kind: Kind, problem: Problem, plan: Any, schedule: Json | None, report: CheckReport
) -> CheckReport:
    """Replay the plan, and return *report* with the metrics of the replay.

    If *schedule* is given, a violation is added for its first difference from the
    replay. Otherwise the schedule of the replay is checked.
    """
    told = schedule or {}
    how = validate(Measured, told.get("measured") or {}, "schedule.measured")
    options = {**kind.undrawn, **how.model_dump(exclude_none=True)}
    if actual := told.get("actual_compute_seconds"):
        options["actual"] = actual
    try:
        simulation = simulate(problem, plan, **options)
    except SimulationError as error:
        broken = violation("replay", problem.name, str(error))
        return replace(report, violations=(*report.violations, broken))
    if schedule is None:
        report = check_plan(kind, problem, plan, simulation.schedule)
    else:
        apart = false_schedule(schedule, simulation.schedule, report.rounding)
        report = replace(report, violations=(*report.violations, *apart))
    return replace(report, metrics={**simulation.metrics, **report.metrics})
