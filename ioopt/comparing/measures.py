"""One comparison, one measure: the number by which rows are compared, its sense, bounds and gaps.

A row is a result without plan and schedule. What a solver proved about another measure is said
beside its status, and takes no part in gaps, ratios and bests.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ioopt.errors import UsageError
from ioopt.quantities import title
from ioopt.registry import KindSpec, suggest
from ioopt.result import OPTIMAL_RELATIVE_GAP, Status, StopReason, relative_gap

Row = dict[str, Any]
NO_ANSWER, FAILED, FELL_BACK, REFERENCE = "no answer", "failed", "fell back", "reference"
NOT_APPLICABLE = str(Status.NOT_APPLICABLE)
COUNTED = (NO_ANSWER, FAILED, FELL_BACK, NOT_APPLICABLE)
"""Standings that summaries count in columns of their own."""


@dataclass(frozen=True)
class Measure:
    """A metric or objective by its name, and whether less or more of it is better."""

    name: str
    sense: Literal["min", "max"] = "min"

    def __str__(self) -> str:
        return f"{self.name} ({'less' if self.sense == 'min' else 'more'} is better)"


def measure_of(kind: KindSpec, name: str | None = None) -> Measure:
    """The measure called *name* (None: what the user of this kind waits for); UsageError for others."""
    known = dict.fromkeys([kind.measure or kind.objective_name, kind.objective_name])
    known |= dict.fromkeys(kind.compare_columns)
    chosen = name or next(iter(known))
    if chosen not in known:
        raise UsageError(f"--measure: {kind.kind} has no {chosen!r}; {suggest(chosen, known)}")
    if chosen == kind.objective_name:
        return Measure(chosen, kind.sense)
    return Measure(chosen, "max" if chosen in kind.most else "min")


def measured(row: Mapping[str, Any], measure: str) -> float | None:
    """The measure of a sound plan; None for other rows."""
    if row["status"] not in (Status.OPTIMAL, Status.FEASIBLE):
        return None
    value = row["metrics"].get(measure)
    if value is None and row["objective_name"] == measure:
        value = row["objective"]
    return value if isinstance(value, (int, float)) else None


def own_bound(row: Mapping[str, Any], kind: KindSpec, measure: str) -> float | None:
    """The bound of the measure that the row itself proves."""
    if row["objective_name"] == measure and row["bound"] is not None:
        return float(row["bound"])
    bound: float | None = row["metrics"].get(kind.bound_metrics.get(measure, ""))
    return bound


def tightest(value: float | None, bounds: Iterable[float | None], sense: str) -> float | None:
    """The best of several bounds of the same thing that *value* does not contradict."""
    up = 1.0 if sense == "max" else -1.0
    slack = 0.0 if value is None else OPTIMAL_RELATIVE_GAP * max(1.0, abs(value))
    known = [
        bound
        for bound in bounds
        if bound is not None and (value is None or up * (bound - value) >= -slack)
    ]
    return (min if sense == "max" else max)(known, default=None)


def add_measure(
    rows: Sequence[Row], kind: KindSpec, measure: Measure, shared: float | None = None
) -> None:
    """Set ``measure``, ``value``, ``value_bound``, ``value_gap`` and ``ratio_to_best`` in the rows.

    *rows* are of one instance; *shared* is a bound that holds for all of them. The ratio is 1 for
    the best, more for worse, None where unknown and for references.
    """
    for row in rows:
        value = measured(row, measure.name)
        offered = (own_bound(row, kind, measure.name), None if row["reference"] else shared)
        bound = tightest(value, offered, measure.sense)
        row |= {"measure": measure.name, "value": value, "value_bound": bound}
        row["value_gap"] = relative_gap(value, bound, measure.sense)
        if row["value_gap"] is not None and row["value_gap"] <= OPTIMAL_RELATIVE_GAP:
            row["value_gap"] = 0.0
    known = [row["value"] for row in rows if row["value"] is not None and not row["reference"]]
    best = (max if measure.sense == "max" else min)(known, default=None)
    for row in rows:
        row["ratio_to_best"] = None if row["reference"] else _ratio(row["value"], best, measure)


def _ratio(value: float | None, best: float | None, measure: Measure) -> float | None:
    if value is None or best is None:
        return None
    if value == best:
        return 1.0
    above, below = (best, value) if measure.sense == "max" else (value, best)
    return above / below if below > 0 else None


def standing(row: Mapping[str, Any]) -> str:
    """What a row is, for people: what is known of it by its measure, or why it has no answer."""
    status = row["status"]
    if status in (Status.UNKNOWN, Status.ERROR, FAILED):
        return NO_ANSWER if status == Status.UNKNOWN else FAILED
    if row["stop"] in (StopReason.FALLBACK, StopReason.INTERRUPTED):
        return FELL_BACK if row["stop"] == StopReason.FALLBACK else str(row["stop"])
    if status in (Status.OPTIMAL, Status.FEASIBLE) and row["reference"]:
        return REFERENCE
    if row["value_gap"] == 0.0:
        return str(Status.OPTIMAL)
    if status == Status.OPTIMAL and row["objective_name"] != row["measure"]:
        return f"optimal ({title(row['objective_name'] or 'objective')})"
    return str(Status.FEASIBLE if status == Status.OPTIMAL else status)
