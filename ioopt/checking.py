"""Checking of results: the plan by its family's checker, then every statement of the result."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from ioopt import registry
from ioopt.errors import SimulationError, UsageError
from ioopt.formats.native import validate
from ioopt.problems.base import Json, Record
from ioopt.protocols import CheckReport
from ioopt.registry import KindSpec
from ioopt.result import Result, Violation
from ioopt.solving import check_plan, load, plan_of, require_form, result_from_dict, simulate
from ioopt.statements import false_statements, unjudged

Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Measured(Record):
    """``schedule.measured``: the options of a seeded replay, so that it can be repeated."""

    seed: Seed | None = None
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=64)] | None = None
    seconds: Annotated[float, Field(gt=0, le=10_000)] | None = None


def check(source: Any, result: Any = None, link: str | None = None) -> list[Violation]:
    """Violations of a result (or bare plan) against an instance; empty when all is well.

    Without *result* only the instance is read. A Result is also held to everything it states.
    *link* judges a replication schedule that was made with this remote link instead of the
    instance's. Raises InstanceError for invalid input and for an instance that nothing can serve.
    """
    problem = load(source)
    require_servable(problem)
    if result is None:
        return []
    kind = registry.kind_of_problem(problem)
    if isinstance(result, (Result, Mapping)):
        data = _document(result, "result")
        require_form(kind, data, "result")
        return judge(problem, data, "result", link)[0]
    return list(check_plan(kind, problem, result, None).violations)


def require_servable(problem: Any) -> None:
    """Raise UnsolvableInstanceError for an instance that no plan can serve, before any solving."""
    if hasattr(problem, "require_room"):
        problem.require_room()


def judge(
    problem: Any, given: Result | Mapping[str, Any], name: str, link: str | None = None
) -> tuple[list[Violation], list[str]]:
    """What is false in *given*, and the names of stated metrics that nothing recomputes.

    *given* is a result, an object with ``plan`` or ``schedule``, or a plan. Where metrics come from
    a seeded replay, or the schedule that they need is missing, the plan is replayed and they are
    held against that.
    """
    data = _document(given, name)
    kind = registry.kind_of_problem(problem)
    plan, schedule = data.get("plan"), data.get("schedule")
    if plan is None and schedule is None:
        raise UsageError(f"{name}: holds neither a plan nor a schedule, so nothing can be checked")
    if link is not None:
        problem = _with_link(problem, link)
    plan = plan_of(kind, plan, name)
    report = check_plan(kind, problem, plan, schedule)
    left = unjudged(kind, data, report)
    if left and plan is not None and not report.violations and kind.simulate is not None:
        report = replayed(kind, problem, plan, schedule, report)
        left = unjudged(kind, data, report)
    return [*report.violations, *false_statements(kind, problem, data, report)], left


def _document(given: Result | Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if isinstance(given, Result):
        return given.model_dump(mode="json")
    if given.get("format") == "ioopt/result" and "solver" in given:
        return result_from_dict(given, name).model_dump(mode="json")
    return given if "plan" in given or "schedule" in given else {"plan": given}


def _with_link(problem: Any, link: str) -> Any:
    network = getattr(problem, "network", None)
    if network is None:
        raise UsageError(f"--link belongs to replication instances, not to {problem.format}")
    changed = network.model_copy(update={"remote_link": link})
    return problem.model_copy(update={"network": changed})


def replayed(
    kind: KindSpec, problem: Any, plan: Any, schedule: Json | None, report: CheckReport
) -> CheckReport:
    """*report* with what a replay of the plan tells beside it, where a replay is called for."""
    if schedule is not None and not kind.measured:
        return report
    how = validate(Measured, (schedule or {}).get("measured") or {}, "schedule.measured")
    try:
        simulation = simulate(problem, plan, **how.model_dump(exclude_none=True))
    except SimulationError as error:
        broken = Violation(rule="replay", item=problem.name, message=str(error))
        return replace(report, violations=(*report.violations, broken))
    if schedule is None:
        report = check_plan(kind, problem, plan, simulation.schedule)
    return replace(report, metrics={**simulation.metrics, **report.metrics})
