"""Judge an answer: its value, bound, gap and status for one metric.

``solve``, ``check``, ``compare`` and campaigns all use this module. Values are those of
the family's checker. A bound is a finite number or None. A bound is kept only if it
contradicts neither the plan, nor the checker's bound of the instance, nor the best
known plan. No function changes its arguments.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

from ioopt.families import REFERENCE, Metric, Sense
from ioopt.options import shown
from ioopt.protocols import CheckReport, Known, Metrics
from ioopt.registry import KINDS, solvers_for
from ioopt.result import (
    OPTIMAL_RELATIVE_GAP,
    Result,
    Status,
    Violation,
    relative_gap,
    violation,
)
from ioopt.units import is_number, title

RELATIVE = 1e-6
"""Two numbers count as equal if they differ by at most this share of the larger one,
plus the rounding error that the checker reports.
"""
SOLVER_TOLERANCE = 1e-6
"""The absolute tolerance of the backends; a bound may be wrong by this much."""
MORE_BOUNDS = 2
"""The number of bounds that a printed result shows besides the bound of its
objective.
"""
BEST_KNOWN = "the best known plan of this instance"


def past_bound(
    sense: Sense, value: float | None, bound: float | None, rounding: float = 0.0
) -> float | None:
    """Return the amount by which *value* is better than *bound*, a proven limit of the
    value.

    Return None when the bound holds up to the tolerances of solvers and *rounding*, or
    when one of the two is unknown.
    """
    if value is None or bound is None:
        return None
    past = value - bound if sense == "max" else bound - value
    slack = rounding
    if math.isfinite(bound):
        slack += RELATIVE * max(abs(value), abs(bound))
    return past if past > slack else None


def proves(sense: Sense, value: float | None, bound: float | None) -> bool:
    """Return whether *value* reaches *bound* or is better, so that no better plan
    exists.

    Return False when one of the two is unknown.
    """
    if value is None or bound is None:
        return False
    short = bound - value if sense == "max" else value - bound
    return short <= OPTIMAL_RELATIVE_GAP * max(abs(value), abs(bound))


def best_of(sense: Sense, values: Iterable[float | None]) -> float | None:
    """Return the best of the known *values*; None when none is known.

    >>> best_of("max", [1.0, None, 3.0])
    3.0
    """
    known = [value for value in values if value is not None]
    return (max if sense == "max" else min)(known, default=None)


def strongest(sense: Sense, bounds: Iterable[float | None]) -> float | None:
    """Return the strongest of the known *bounds*: the greatest lower bound, or the
    least upper bound where more is better.

    >>> strongest("min", [1.0, None, 3.0])
    3.0
    """
    return best_of("min" if sense == "max" else "max", bounds)


def strongest_sound(
    sense: Sense, value: float | None, bounds: Iterable[float | None]
) -> float | None:
    """Return the strongest of those *bounds* that *value* does not contradict.

    The bounds may come from other solvers than the value does, so only a rounding error
    is tolerated.
    """
    if value is None:
        return strongest(sense, bounds)
    slack = OPTIMAL_RELATIVE_GAP * max(1.0, abs(value))
    sound = []
    for bound in bounds:
        if bound is None:
            continue
        past = value - bound if sense == "max" else bound - value
        if past <= slack:
            sound.append(bound)
    return strongest(sense, sound)


@dataclass(frozen=True)
class Verdict:
    """The judgement on an answer by the metric ``metric``.

    ``past`` is the amount by which the value contradicts the bound (None: no
    contradiction). ``proofs`` are the bounds that the solver proved for another
    objective, keyed by the name under which they become metrics. ``notes`` say which
    claims were left out.
    """

    metric: Metric
    status: Status
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    past: float | None = None
    proofs: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def verdict_of(
    metric: Metric, value: float | None, bound: float | None, rounding: float = 0.0
) -> Verdict:
    """Return the verdict on a sound plan of *value* for which *bound* is claimed.

    The plan is optimal if *value* reaches *bound*; its gap is then 0.
    """
    past = past_bound(metric.sense, value, bound, rounding)
    gap = gap_to(metric.sense, value, bound, rounding)
    proven = past is None and proves(metric.sense, value, bound)
    status = Status.OPTIMAL if proven else Status.FEASIBLE
    return Verdict(metric, status, value, bound, gap, past)


def gap_to(
    sense: Sense, value: float | None, bound: float | None, rounding: float = 0.0
) -> float | None:
    """Return the relative gap between the value of a sound plan and *bound*; 0 when the
    value reaches the bound, None when one is unknown.
    """
    if value is None or bound is None:
        return None
    past = past_bound(sense, value, bound, rounding)
    if past is None and proves(sense, value, bound):
        return 0.0
    return relative_gap(value, bound, sense)


def checked_value(name: str, report: CheckReport) -> float | None:
    """Return the value that the checker computed for the metric *name*, an objective or
    another metric; None unless it is a number.
    """
    value = report.objectives.get(name, report.metrics.get(name))
    return value if is_number(value) else None


def sound_bound(
    metric: Metric, bound: float | None, report: CheckReport
) -> float | None:
    """Return the stronger of *bound* and the checker's own bound of the metric.

    Return None if *bound* is unknown or not finite.
    """
    if bound is None or not math.isfinite(bound):
        return None
    return strongest(metric.sense, (bound, report.limits.get(metric.name)))


def bounding_metrics(metric: Metric) -> tuple[str, ...]:
    """Return the names of the metrics that are bounds of *metric*, in the order in
    which a result is searched for them.
    """
    if metric.bounded_by is None:
        return (metric.proof,)
    return (metric.proof, metric.bounded_by)


def own_bound(row: Mapping[str, Any], metric: Metric) -> float | None:
    """Return the bound of *metric* that the result *row* (a result's dictionary) itself
    proves; None if it proves none.
    """
    if row["objective_name"] == metric.name and row["bound"] is not None:
        return float(row["bound"])
    return _bound_among(row["metrics"], metric)


def _bound_among(metrics: Metrics, metric: Metric) -> float | None:
    """Return the first bound of *metric* that *metrics* contain; None if they contain
    none.
    """
    for name in bounding_metrics(metric):
        if name in metrics:
            found: float | None = metrics[name]
            return found
    return None


@dataclass(frozen=True)
class Claim:
    """The claim of a solver about its answer: the metric that it optimised, and the
    bound of this metric.
    """

    metric: Metric
    bound: float | None = None

    def by(self, measure: Metric | None) -> "Claim":
        """Return the claim about *measure* (None: the solver's own objective).

        The claim has no bound when the solver optimised another metric.
        """
        if measure is None or measure.name == self.metric.name:
            return self
        return Claim(measure)

    def proofs_beside(self, measure: Metric | None) -> dict[str, float]:
        """Return the bound that the solver proved of another metric than *measure*, as
        {name of the bound: value}; empty if it proved none.
        """
        if self.by(measure) is self or self.bound is None:
            return {}
        return {self.metric.proof: self.bound}


@dataclass(frozen=True)
class Evidence:
    """The facts found about a plan, independent of its solver's claim.

    ``metrics`` are all known metrics; ``replayed`` says whether a replay computed some
    of them. ``sound`` is false when the plan breaks a rule. ``failed`` is true when the
    plan cannot be carried out or its solver failed. A ``reference`` breaks a rule of
    the machine by design, so that bounds for other plans do not hold for it.
    ``quick_bound`` computes the kind's own bound of its ``objective``. ``known`` are
    the best known plans, with which claims are compared.
    """

    objective: Metric
    report: CheckReport
    metrics: Metrics
    replayed: bool = True
    sound: bool = True
    failed: bool = False
    reference: bool = False
    quick_bound: Callable[[], float | None] | None = None
    known: Mapping[str, Known] = field(default_factory=dict)


def verdict_without_plan(
    claim: Claim, measure: Metric | None, infeasible: bool, failed: bool
) -> Verdict:
    """Return the verdict on a run that ended without a plan; *infeasible* says that no
    plan exists, *failed* that the solver failed.
    """
    status = Status.INFEASIBLE if infeasible else Status.UNKNOWN
    if failed:
        status = Status.ERROR
    claim = replace(
        claim, bound=sound_bound(claim.metric, claim.bound, CheckReport(()))
    )
    asked = claim.by(measure)
    proofs = claim.proofs_beside(measure)
    return Verdict(asked.metric, status, bound=asked.bound, proofs=proofs)


def verdict_on_plan(claim: Claim, measure: Metric | None, found: Evidence) -> Verdict:
    """Return the verdict on a checked plan by *measure* or, if that is None, by the
    objective of its solver.
    """
    claim, notes = _not_refuted(_measurable(claim, found), found)
    claim = Claim(claim.metric, sound_bound(claim.metric, claim.bound, found.report))
    asked = claim.by(measure)
    contradicted = False
    if asked is not claim and found.sound and not found.failed:
        own = _verdict(claim.metric, claim.bound, found.metrics, found)
        claim = replace(claim, bound=own.bound)
        notes = (*notes, *own.notes)
        contradicted = own.status is Status.ERROR
    proofs = claim.proofs_beside(measure)
    metrics = {**found.metrics, **proofs}
    bound = None
    if not found.reference:
        value = _value(asked.metric, found.report, metrics)
        bound = _bound(asked, value, metrics, found)
    answer = _verdict(asked.metric, bound, metrics, found)
    if contradicted:
        answer = replace(answer, status=Status.ERROR)
    if proofs or notes:
        answer = replace(answer, proofs=proofs, notes=(*notes, *answer.notes))
    return answer


def _verdict(
    metric: Metric, bound: float | None, metrics: Metrics, found: Evidence
) -> Verdict:
    """Return the verdict on the plan by *metric*; *bound* is compared with the plan's
    value first.
    """
    value = _value(metric, found.report, metrics)
    if not found.sound:
        value = None  # a plan that breaks a rule has no value
    if found.failed or value is None:
        gap = relative_gap(value, bound, metric.sense)
        status = Status.FEASIBLE
        if found.failed or not found.sound:
            status = Status.ERROR
        return Verdict(metric, status, value, bound, gap)
    return _held_against_value(verdict_of(metric, value, bound, found.report.rounding))


def _measurable(claim: Claim, found: Evidence) -> Claim:
    """Return the claim. If its metric needs a replay and there was none, return instead
    a claim without a bound, about the kind's objective.
    """
    name = claim.metric.name
    told = found.replayed or name in found.report.objectives
    if told or name == found.objective.name:
        return claim
    return Claim(found.objective)


def _not_refuted(claim: Claim, found: Evidence) -> tuple[Claim, tuple[str, ...]]:
    """Return the claim and notes. If the best known plan contradicts the claimed bound,
    the bound is dropped, and a note says so.
    """
    best = found.known.get(claim.metric.name)
    if best is None or past_bound(claim.metric.sense, best.best, claim.bound) is None:
        return claim, ()
    note = f"its bound {claim.bound!r} is left out: {BEST_KNOWN} reaches {best.best!r}"
    return replace(claim, bound=None), (note,)


def _value(metric: Metric, report: CheckReport, metrics: Metrics) -> float | None:
    """Return the value of *metric*: the checker's, or the one among *metrics* if the
    checker computes none; None unless it is finite.
    """
    value = report.objectives.get(metric.name, metrics.get(metric.name))
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)) and math.isfinite(value):
        return value
    return None


def _bound(
    asked: Claim, value: float | None, metrics: Metrics, found: Evidence
) -> float | None:
    """Return the bound of the claimed metric: the solver's, else the kind's quick
    bound, else a metric that is such a bound. A stronger bound that the replay or the
    checker proves replaces it.
    """
    metric = asked.metric
    bound = asked.bound
    # Without a value a bound is of no use; a workflow that was not replayed has no
    # value.
    if bound is None and value is not None:
        if found.quick_bound is not None and metric.name == found.objective.name:
            bound = found.quick_bound()
        if bound is None:
            bound = _bound_among(metrics, metric)
    if bound is not None and metric.raised_by is not None:
        bound = strongest(metric.sense, (bound, metrics.get(metric.raised_by)))
    return sound_bound(metric, bound, found.report)


def _held_against_value(answer: Verdict) -> Verdict:
    """Return the verdict. If the plan's value contradicts the bound, the status becomes
    an error; if it does so only by a rounding error, the bound is dropped with a note.
    """
    if answer.past is None:
        return answer
    if answer.past > SOLVER_TOLERANCE:
        note = f"bound {answer.bound!r} contradicts the plan's {answer.value!r}"
        return replace(answer, status=Status.ERROR, notes=(note,))
    # The backend's absolute tolerance is larger than such small values.
    note = (
        f"bound {answer.bound!r} contradicts the plan's {answer.value!r} by a rounding "
        "error only and is left out"
    )
    return replace(answer, bound=None, gap=None, notes=(note,))


class Contradiction(NamedTuple):
    """The fact that contradicts a bound, in words that follow the bound in a message,
    and the amount of the contradiction.
    """

    message: str
    amount: float


def contradiction(
    metric: Metric, bound: float, report: CheckReport, known: Mapping[str, Known]
) -> Contradiction | None:
    """Return how the plan, the best known plan or the checker's bound of the instance
    contradicts the stated *bound* of *metric*; None if nothing does.
    """
    sense = metric.sense
    side = "below" if sense == "max" else "above"
    value = checked_value(metric.name, report)
    past = past_bound(sense, value, bound, report.rounding)
    if past is not None:
        text = f"lies {side} the objective {value!r}, which is {sense}imised"
        return Contradiction(text, past)
    best = known[metric.name].best if metric.name in known else None
    past = past_bound(sense, best, bound, report.rounding)
    if past is not None:
        text = f"lies {side} {best!r}, which {BEST_KNOWN} reaches"
        return Contradiction(text, past)
    limit = report.limits.get(metric.name)
    past = past_bound(sense, bound, limit, report.rounding)
    if past is not None:
        text = f"is weaker than {limit!r}, the bound of the instance alone"
        return Contradiction(text, past)
    return None


def is_recomputed(
    metric: Metric, bound: float, report: CheckReport, known: Mapping[str, Known]
) -> bool:
    """Return whether the checker or the best known plan proves *bound* of *metric*."""
    proven = [report.limits.get(metric.name)]
    if metric.bounded_by is not None:
        proven.append(report.metrics.get(metric.bounded_by))
    if metric.name in known:
        proven.append(known[metric.name].bound)
    for limit in proven:
        if limit is None:
            continue
        if past_bound(metric.sense, limit, bound, report.rounding) is None:
            return True
    return False


def left_out(result: Result) -> set[str]:
    """Return the metrics of *result* that are of little use to a reader: most bounds,
    and what a program of a paper adds up if nobody minimised it.
    """
    kind = KINDS.get(result.kind or result.family)
    added_up = set()
    if kind is not None:
        added_up = {metric.name for metric in kind.metrics if metric.meaning}
    return bounds_left_out(result) | added_up


def bounds_left_out(result: Result) -> set[str]:
    """Return the metrics of *result* that are bounds of little use to a reader.

    Beside the bound of the objective, at most :data:`MORE_BOUNDS` bounds are shown. The
    bound of the measure comes first, then those of the kind's other metrics, as far as
    the result contains them.
    """
    bounds = [name for name in result.metrics if "_bound" in name]
    kind = KINDS.get(result.kind or result.family)
    if kind is None:
        return set(bounds[MORE_BOUNDS:])
    wanted = dict.fromkeys([result.measure, *(metric.name for metric in kind.metrics)])
    useful: list[str] = []
    for name in wanted:
        if name is None or name == result.objective_name:
            continue  # shown as the result's bound
        for bound in bounding_metrics(kind.metric(name)):
            if bound in bounds and bound not in useful:
                useful.append(bound)
                break
    return set(bounds) - set(useful[:MORE_BOUNDS])


def defined_in(kind: str | None, name: str) -> str:
    """Return the place where the paper of *kind* defines the metric *name*; empty text
    if the paper does not define it.
    """
    spec = KINDS.get(kind or "")
    return "" if spec is None else spec.metric(name).defined_in


def heading(kind: str | None, name: str) -> str:
    """Return the heading of the metric *name* of *kind* (None: of no known kind)."""
    spec = KINDS.get(kind or "")
    return title(name) if spec is None else spec.metric(name).heading


def is_reference(kind: str, policy: str | None) -> bool:
    """Return whether *policy* breaks a rule of the machine by design, because it is a
    reference to compare with.
    """
    return policy in _references(kind)


@cache
def _references(kind: str) -> frozenset[str]:
    """Return the names of the solvers of *kind* that are references."""
    rows = solvers_for(kind)
    return frozenset(row.name for row in rows if REFERENCE in row.abilities)


def same(stated: Any, true: Any, rounding: float = 0.0) -> bool:
    """Return whether a stated value equals the recomputed value; None equals only None.

    Whole numbers must be equal; fractions must agree within ``RELATIVE`` of their size
    or within *rounding*. Lists and dictionaries are compared item by item.
    """
    if isinstance(true, Mapping):
        if not isinstance(stated, Mapping):
            return False
        if stated.keys() != {str(key) for key in true}:
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
        return bool(stated == true)
    return math.isclose(stated, true, rel_tol=RELATIVE, abs_tol=rounding)


def false_metrics(
    stated: Mapping[str, object], report: CheckReport
) -> Iterator[Violation]:
    """Yield a violation for every metric in *stated* that differs from the checker's
    report.
    """
    known = {**report.objectives, **report.metrics}
    for name, value in stated.items():
        said = f"the result says {shown(value)}, the plan"
        if name in known:
            if not same(value, known[name], report.rounding):
                yield violation("metric", name, f"{said} gives {shown(known[name])}")
        elif name in report.ranges and value is not None:
            low, high = report.ranges[name]
            if not _within(value, low, high, report.rounding):
                yield violation("metric", name, f"{said} allows {low:g} to {high:g}")


def _within(value: object, low: float, high: float, rounding: float) -> bool:
    """Return whether *value* is a number from *low* to *high*, up to rounding
    errors.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    least = low - RELATIVE * abs(low) - rounding
    most = high + RELATIVE * abs(high) + rounding
    return least <= value <= most
