"""Rows of one comparison by its measure: bounds that all share, gaps,
ratios, and what a row is.

A row is a result without plan and schedule whose objective is the measure. What a
solver proved of another objective is a metric (:attr:`ioopt.families.Metric.proof`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioopt.families import Metric
from ioopt.problems.base import SYNTHETIC_IO, Json
from ioopt.result import OPTIMAL_RELATIVE_GAP, Status, StopReason, relative_gap

Row = Json
NO_ANSWER, FAILED, FELL_BACK, REFERENCE = (
    "no answer",
    "failed",
    "fell back",
    "reference",
)
NOT_APPLICABLE = str(Status.NOT_APPLICABLE)
COUNTED = (NO_ANSWER, FAILED, FELL_BACK, NOT_APPLICABLE)
"""Standings that summaries count in columns of their own."""


def tightest(
    value: float | None, bounds: Iterable[float | None], sense: str
) -> float | None:
    """The best of several bounds of the same thing that *value* does not contradict."""
    up = 1.0 if sense == "max" else -1.0
    slack = 0.0 if value is None else OPTIMAL_RELATIVE_GAP * max(1.0, abs(value))
    known = [
        bound
        for bound in bounds
        if bound is not None and (value is None or up * (bound - value) >= -slack)
    ]
    return (min if sense == "max" else max)(known, default=None)


def add_ratios(
    rows: Sequence[Row], measure: Metric, shared: float | None = None
) -> None:
    """Tighten bound, gap and status of *rows* of one instance, and
    set ``ratio_to_best``.

    *shared* is a bound that holds for all of them. The ratio is 1 for the best, more
    for worse, None where unknown and for references; what answers another question than
    the first answer, such as with ``loop=open``, is none of the others' rivals and
    becomes a reference, with a note.
    """
    asked = next(
        (row.get("settings") or {} for row in rows if row["value"] is not None), {}
    )
    for row in rows:
        if row["value"] is not None and (row.get("settings") or {}) != asked:
            other = ", ".join(
                f"{key}={value}" for key, value in row["settings"].items()
            )
            said = (
                f"answers another question ({other or 'as the instance says'}): not "
                "compared"
            )
            row |= {"reference": True, "notes": [*row["notes"], said]}
    for row in rows:
        value = row["value"]
        offered = (row["bound"], None if row["reference"] else shared)
        row["bound"] = tightest(value, offered, measure.sense)
        row["gap"] = relative_gap(value, row["bound"], measure.sense)
        if row["gap"] is not None and row["gap"] <= OPTIMAL_RELATIVE_GAP:
            row |= {"gap": 0.0, "status": str(Status.OPTIMAL)}
    known = [
        row["value"]
        for row in rows
        if row["value"] is not None and not row["reference"]
    ]
    best = (max if measure.sense == "max" else min)(known, default=None)
    for row in rows:
        row["ratio_to_best"] = (
            None if row["reference"] else ratio(row["value"], best, measure.sense)
        )


def ratio(value: float | None, to: float | None, sense: str) -> float | None:
    """How many times worse *value* is than *to*; None where that is no number."""
    if value is None or to is None:
        return None
    if value == to:
        return 1.0
    above, below = (to, value) if sense == "max" else (value, to)
    return above / below if below > 0 else None


def standing(row: Mapping[str, Any]) -> str:
    """What a row is, for people: what is known of it by its measure, or
    why it has no answer.
    """
    status = row["status"]
    if status in (Status.UNKNOWN, Status.ERROR, FAILED):
        return NO_ANSWER if status == Status.UNKNOWN else FAILED
    if row["stop"] in (StopReason.FALLBACK, StopReason.INTERRUPTED):
        return FELL_BACK if row["stop"] == StopReason.FALLBACK else str(row["stop"])
    if status in (Status.OPTIMAL, Status.FEASIBLE):
        if row["reference"]:
            return REFERENCE
        return str(Status.OPTIMAL if row["gap"] == 0.0 else Status.FEASIBLE)
    return str(status)


def spent(row: Mapping[str, Any]) -> float | None:
    """Seconds of building and solving."""
    known = [
        row[part]
        for part in ("build_seconds", "solve_seconds")
        if row[part] is not None
    ]
    return max(0.0, sum(known)) if known else None


def synthetic_footnote(instances: Iterable[str]) -> str:
    """The line under a table of results, some of them of these
    *instances*; empty for none.
    """
    names = ", ".join(dict.fromkeys(instances))
    if not names:
        return ""
    return (
        f"{SYNTHETIC_IO} in {names}: these figures depend on it (see meta.synthetic)."
    )
