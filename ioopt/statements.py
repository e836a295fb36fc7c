"""What a result states beside its plan, held against what its plan and schedule give.

Nothing in a result is believed: names, objective, bound, gap, status, link model and
every metric are compared with what the family's checker recomputed, and bounds with the
best plans that are known.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ioopt.families import EXACT, REFERENCE, Metric
from ioopt.protocols import CheckReport, Known
from ioopt.registry import KindSpec, solvers_for
from ioopt.result import (
    OPTIMAL_RELATIVE_GAP,
    Status,
    StopReason,
    Violation,
    relative_gap,
    violation,
)
from ioopt.units import is_number

BEST_KNOWN = "the best known plan of this instance"
RELATIVE = 1e-6
"""Two numbers are the same within this part of the larger one (and what the
report calls rounding).
"""


def past_bound(
    sense: str, objective: float | None, bound: float | None, rounding: float = 0.0
) -> float | None:
    """By how much *bound* lies beyond *objective*, solvers' tolerances and *rounding*
    left out; else None.
    """
    if objective is None or bound is None:
        return None
    past = objective - bound if sense == "max" else bound - objective
    slack = RELATIVE * max(abs(objective), abs(bound)) if math.isfinite(bound) else 0.0
    return past if past > slack + rounding else None


def within_limits(
    kind: KindSpec, measure: str, bound: float | None, report: CheckReport
) -> float | None:
    """Return *bound*, or what the checker knows of *measure* where that is
    stronger; None if not finite.
    """
    if bound is None or not math.isfinite(bound):
        return None
    limit = report.limits.get(measure)
    if limit is None:
        return bound
    return (
        min(bound, limit) if kind.metric(measure).sense == "max" else max(bound, limit)
    )


def proves(sense: str, objective: float, bound: float) -> bool:
    """Whether *bound* meets *objective* (or passes it), so that
    nothing better exists.
    """
    short = bound - objective if sense == "max" else objective - bound
    return short <= OPTIMAL_RELATIVE_GAP * max(abs(objective), abs(bound))


def own_bound(row: Mapping[str, Any], metric: Metric) -> float | None:
    """Return what the *row* (a result's dictionary) itself proves of *metric*."""
    if row["objective_name"] == metric.name and row["bound"] is not None:
        return float(row["bound"])
    metrics: Mapping[str, float | None] = row["metrics"]
    if metric.proof in metrics or metric.bounded_by is None:
        return metrics.get(metric.proof)
    return metrics.get(metric.bounded_by)


def false_statements(
    kind: KindSpec,
    problem: Any,
    data: Mapping[str, Any],
    report: CheckReport,
    known: Mapping[str, Known],
) -> Iterator[Violation]:
    """Yield a violation for every statement of *data* that the report or a
    *known* plan contradicts.
    """
    yield from _names(kind, problem, data)
    yield from _solver(kind, data)
    yield from _ended(kind, data)
    yield from _objective(kind, data, report)
    yield from _bounds(kind, data, report, known)
    yield from _status(kind, data, report)
    yield from _gap(kind, data, report)
    yield from _trace(kind, data, report)
    yield from false_metrics(data.get("metrics") or {}, report)


def unjudged(kind: KindSpec, data: Mapping[str, Any], report: CheckReport) -> list[str]:
    """Names of stated metrics (and of a stated objective) that the
    report says nothing about.
    """
    known = {*report.metrics, *report.objectives, *report.ranges}
    stated = [
        name for name, value in (data.get("metrics") or {}).items() if value is not None
    ]
    if data.get("objective") is not None:
        stated.append(data.get("objective_name") or kind.objective.name)
    return sorted({*report.unjudged, *(name for name in stated if name not in known)})


def unproven(
    kind: KindSpec,
    data: Mapping[str, Any],
    report: CheckReport,
    known: Mapping[str, Known],
) -> bool:
    """Whether *data* states a bound that neither the checker nor what is known of
    the instance proves.
    """
    measure, bound = (
        data.get("objective_name") or kind.objective.name,
        data.get("bound"),
    )
    if bound is None:
        return False
    proven = [
        report.limits.get(measure),
        report.metrics.get(kind.metric(measure).bounded_by or ""),
    ]
    proven.append(known[measure].bound if measure in known else None)
    sense = kind.metric(measure).sense
    return all(
        value is None or past_bound(sense, value, bound, report.rounding) is not None
        for value in proven
    )


def _names(
    kind: KindSpec, problem: Any, data: Mapping[str, Any]
) -> Iterator[Violation]:
    for key, true in (
        ("instance", problem.name),
        ("family", kind.family),
        ("kind", kind.kind),
    ):
        stated = data.get(key)
        if stated is not None and stated != true:
            yield violation(
                key,
                str(stated),
                f"the result is of another {key}; this one is {true!r}",
            )


def is_reference(kind: KindSpec, policy: str | None) -> bool:
    """Whether *policy* breaks a rule of the machine, as a mark to measure against."""
    return any(
        row.name == policy and REFERENCE in row.abilities
        for row in solvers_for(kind.kind)
    )


def _solver(kind: KindSpec, data: Mapping[str, Any]) -> Iterator[Violation]:
    """The solver is one of the kind, or of the caller's own, and the plan is of the
    policy that it names.
    """
    name, plan = data.get("solver"), data.get("plan")
    plan = plan if isinstance(plan, Mapping) else {}
    policy = plan.get("policy")
    rows = {row.name: row for row in solvers_for(kind.kind)}
    if is_reference(kind, policy):
        text = f"{policy} breaks a rule of the machine: a reference"
        if data.get("status") == Status.OPTIMAL:
            yield violation("status", "optimal", text)
        if data.get("bound") is not None:
            yield violation("bound", repr(data["bound"]), text)
    if name is None or ":" in str(name):
        return
    if name not in rows:
        yield violation("solver", name, f"no solver of {kind.kind} has that name")
        return
    row = rows[name]
    own = {"policy": name, "top": False} | dict(row.fixed)
    if policy is None or (policy, plan.get("top") or False) == (
        own["policy"],
        own["top"],
    ):
        return
    # `auto` and the exact ones answer with another's plan where that is better, a late
    # one with the cheapest.
    late = data.get("stop") in (StopReason.FALLBACK, StopReason.TIME)
    if is_reference(kind, policy) or not (
        row.policy is None or EXACT in row.abilities or late
    ):
        yield violation("solver", name, f"its plan is of another policy, {policy}")


def _ended(kind: KindSpec, data: Mapping[str, Any]) -> Iterator[Violation]:
    """A result that says of itself that it is wrong is; its
    measure is one of the kind.
    """
    if data.get("violations"):
        yield violation(
            "violations", len(data["violations"]), "are stated by the result itself"
        )
    if data.get("status") == Status.ERROR:
        yield violation("status", "error", "the result is none")
    if data.get("status") == Status.NOT_APPLICABLE:
        yield violation("status", "does not apply", "but there is a plan")
    measure = data.get("measure")
    if measure not in (None, *(metric.name for metric in kind.metrics)):
        yield violation("measure", measure, f"is no measure of {kind.kind}")


def false_settings(
    told: Mapping[str, Any],
    expected: Mapping[str, Any],
    stated: Mapping[str, Any] | None,
) -> Iterator[Violation]:
    """What a result says of the question beyond its instance, held
    against what was asked for.
    """
    for key in sorted({*told, *expected}):
        if told.get(key) != expected.get(key):
            text = "is not what the instance says"
            text += (
                f"; --set {key}={told[key]} checks it all the same"
                if key in told
                else ""
            )
            if key in expected:
                text = f"{expected[key]!r} was asked for"
            yield violation(
                "settings", f"{key}={told.get(key, 'as in the instance')}", text
            )
    for key, value in (stated or {}).items():
        if not same(value, told.get(key)):
            yield violation(
                "settings",
                key,
                f"states {_short(value)}, which plan and schedule do not",
            )


def false_schedule(
    stated: Any, true: Any, rounding: float, where: str = "schedule"
) -> list[Violation]:
    """The first part of a *stated* schedule that its plan's replay does not give;
    empty if there is none.

    Parts with an ``id`` are matched by it. What is not stated is not compared, but no
    such part is left out.
    """
    if isinstance(stated, Mapping) and isinstance(true, Mapping):
        for key in (
            key for key in stated if key in true
        ):  # others are the writer's own
            if found := false_schedule(
                stated[key], true[key], rounding, f"{where}.{key}"
            ):
                return found
        return []
    if isinstance(stated, list) and isinstance(true, (list, tuple)):
        named = all(
            isinstance(part, Mapping) and "id" in part for part in (*stated, *true)
        )
        parts: Iterable[tuple[Any, Any]] = zip(stated, true)
        if named:
            known = {str(part["id"]): part for part in true}
            parts = ((part, known.get(str(part["id"]))) for part in stated)
        if len(stated) != len(true):
            text = f"has {len(stated)} parts; the plan's replay gives {len(true)}"
            return [violation("replay", where, text)]
        for k, (one, other) in enumerate(parts):
            if found := false_schedule(one, other, rounding, f"{where}[{k}]"):
                return found
        return []
    if stated is None or same(stated, true, rounding):
        return []
    text = f"says {_short(stated)}, the plan's replay gives {_short(true)}"
    return [violation("replay", where, text)]


def _objective(
    kind: KindSpec, data: Mapping[str, Any], report: CheckReport
) -> Iterator[Violation]:
    measure = data.get("objective_name") or kind.objective.name
    stated, true = data.get("objective"), true_objective(measure, report)
    if true is None:
        metric = (data.get("metrics") or {}).get(measure)
        if measure in kind.columns and metric == stated:
            # what was measured, not an objective: judged as a metric,
            # as far as it can be
            return
        named = data.get("objective_name") not in (None, kind.objective.name)
        if not report.violations and (stated is not None or named):
            known = ", ".join(sorted({*report.objectives, kind.objective.name}))
            yield violation(
                "objective", measure, f"is no measure of this plan; it has {known}"
            )
    elif stated is not None and not same(stated, true, report.rounding):
        text = f"the result says {stated!r}, the plan gives {true!r}"
        yield violation("objective", measure, text, abs(stated - true))


def true_objective(measure: str, report: CheckReport) -> float | None:
    """The value of *measure* by the checker: one of its objectives, or a
    metric that is a number.
    """
    value = report.objectives.get(measure, report.metrics.get(measure))
    return value if is_number(value) else None


def _bound_statements(
    kind: KindSpec, data: Mapping[str, Any], report: CheckReport
) -> Iterator[tuple[str, str, float]]:
    """Yield every stated bound that is a number: its name, the measure that
    it bounds, its value.

    Beside ``bound`` these are the metrics that bound other metrics and
    that nothing recomputes.
    """
    own = data.get("objective_name") or kind.objective.name
    if is_number(data.get("bound")):
        yield "bound", own, data["bound"]
    metrics = data.get("metrics") or {}
    for name, measure in _bound_metrics(kind, own, report):
        if is_number(metrics.get(name)):
            yield name, measure, metrics[name]


def _bound_metrics(
    kind: KindSpec, own: str, report: CheckReport
) -> Iterator[tuple[str, str]]:
    """Yield the metrics that bound a measure of the kind and are not
    recomputed, and the measure.

    *own* is the measure that the result's solver minimised or maximised.
    """
    recomputed = {*report.metrics, *report.ranges}
    for metric in dict.fromkeys([kind.metric(own), *kind.metrics]):
        for name in (metric.proof, metric.bounded_by, metric.raised_by):
            if name is not None and name not in recomputed:
                yield name, metric.name


def _bounds(
    kind: KindSpec,
    data: Mapping[str, Any],
    report: CheckReport,
    known: Mapping[str, Known],
) -> Iterator[Violation]:
    """No bound passes the plan at hand or the best one known, nor what the
    instance alone tells.
    """
    own = data.get("objective_name") or kind.objective.name
    stated = data.get("metrics") or {}
    for name in dict.fromkeys(name for name, _ in _bound_metrics(kind, own, report)):
        value = stated.get(name)
        if value is not None and not is_number(value):
            yield violation(
                "metric", name, f"bounds a measure, and {_short(value)} is no number"
            )
    for name, measure, bound in _bound_statements(kind, data, report):
        sense, true = kind.metric(measure).sense, true_objective(measure, report)
        side = "below" if sense == "max" else "above"
        best = known[measure].best if measure in known else None
        limit = report.limits.get(measure)
        comparisons = (
            (
                true,
                bound,
                f"lies {side} the objective {true!r}, which is {sense}imised",
            ),
            (best, bound, f"lies {side} {best!r}, which {BEST_KNOWN} reaches"),
            (bound, limit, f"says less than the instance alone, which tells {limit!r}"),
        )
        for reached, passed, text in comparisons:
            past = past_bound(sense, reached, passed, report.rounding)
            if past is not None:
                rule, item = (
                    ("bound", repr(bound)) if name == "bound" else ("metric", name)
                )
                yield violation(rule, item, text, past)
                break


def _status(
    kind: KindSpec, data: Mapping[str, Any], report: CheckReport
) -> Iterator[Violation]:
    """The status is what the recomputed objective and the stated bound come to."""
    measure = data.get("objective_name") or kind.objective.name
    status, objective, bound = (
        data.get(key) for key in ("status", "objective", "bound")
    )
    true, sense = true_objective(measure, report), kind.metric(measure).sense
    past = past_bound(sense, true, bound, report.rounding)
    proven = past is None and _meets(sense, true, bound)
    if status == Status.OPTIMAL and (true is not None or not report.violations):
        if not proven:
            text = f"objective {true!r} is called optimal, but the bound is {bound!r}"
            yield violation("status", "optimal", text, relative_gap(true, bound, sense))
        elif objective is None:
            yield violation("status", "optimal", "states no objective")
    elif status in (Status.INFEASIBLE, Status.UNKNOWN) and not report.violations:
        yield violation("status", str(status), "but the plan breaks no rule")
    elif status == Status.FEASIBLE and proven and _meets(sense, objective, bound):
        text = f"the bound {bound!r} meets the objective: the plan is optimal"
        yield violation("status", "feasible", text)


def _meets(sense: str, objective: float | None, bound: float | None) -> bool:
    """Whether both are known and *bound* proves *objective*."""
    return (
        objective is not None and bound is not None and proves(sense, objective, bound)
    )


def _gap(
    kind: KindSpec, data: Mapping[str, Any], report: CheckReport
) -> Iterator[Violation]:
    """The gap is that of the recomputed objective and the stated bound, or 0
    where this proves it.
    """
    measure = data.get("objective_name") or kind.objective.name
    gap, bound = data.get("gap"), data.get("bound")
    true, sense = true_objective(measure, report), kind.metric(measure).sense
    if gap is None or (true is None and report.violations):
        return
    if true is None and data.get("objective") is not None and bound is not None:
        return  # of an objective that nothing recomputes, which is named
    past = past_bound(sense, true, bound, report.rounding)
    if gap == 0 and past is None and _meets(sense, true, bound):
        return
    apart = relative_gap(true, bound, sense)
    if apart is None or not math.isclose(gap, apart, rel_tol=RELATIVE, abs_tol=1e-9):
        yield violation("gap", repr(gap), f"the objective and the bound give {apart!r}")


def _trace(
    kind: KindSpec, data: Mapping[str, Any], report: CheckReport
) -> Iterator[Violation]:
    """No plan on the way was better than the answer."""
    measure = data.get("objective_name") or kind.objective.name
    true, sense = true_objective(measure, report), kind.metric(measure).sense
    for seconds, value in data.get("trace") or ():
        past = past_bound(
            "min" if sense == "max" else "max", true, value, report.rounding
        )
        if past is not None:
            yield violation(
                "trace",
                f"{seconds:g} s",
                f"{value!r} is better than the answer, {true!r}",
            )
            return


def false_metrics(
    stated: Mapping[str, Any], report: CheckReport
) -> Iterator[Violation]:
    """One violation for every metric of *stated* that the report contradicts."""
    known = {**report.objectives, **report.metrics}
    for name, value in stated.items():
        if name in known and not same(value, known[name], report.rounding):
            text = (
                f"the result says {_short(value)}, the plan gives {_short(known[name])}"
            )
            yield violation("metric", name, text)
        elif name in report.ranges and value is not None:
            low, high = report.ranges[name]
            least = low - RELATIVE * abs(low) - report.rounding
            most = high + RELATIVE * abs(high) + report.rounding
            if not is_number(value) or not least <= value <= most:
                text = (
                    f"the result says {_short(value)}, the plan allows {low:g} to "
                    f"{high:g}"
                )
                yield violation("metric", name, text)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def same(stated: Any, true: Any, rounding: float = 0.0) -> bool:
    """Whether a stated value is the recomputed one; null is no number.

    Whole numbers must be equal, others agree within ``RELATIVE`` of
    their size or *rounding*.
    """
    if isinstance(true, Mapping):
        if not isinstance(stated, Mapping) or stated.keys() != {
            str(key) for key in true
        }:
            return False
        return all(
            same(stated[str(key)], value, rounding) for key, value in true.items()
        )
    if isinstance(true, (list, tuple)):
        if not isinstance(stated, (list, tuple)) or len(stated) != len(true):
            return False
        return all(
            same(one, other, rounding) for one, other in zip(stated, true, strict=True)
        )
    if not is_number(true) or not is_number(stated):
        return type(stated) is type(true) and bool(stated == true)
    if isinstance(true, int):
        return stated == true
    return math.isclose(stated, true, rel_tol=RELATIVE, abs_tol=rounding)
