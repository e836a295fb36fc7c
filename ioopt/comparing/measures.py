"""Complete the rows of one comparison with bounds, gaps, ratios and standing, all of
the comparison's measure.

A row is a result without plan and schedule whose objective is the measure. If the
solver proved a bound for another objective, this bound is one of the row's metrics
(``Metric.proof``).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioopt.families import Metric, Sense
from ioopt.problems.base import SYNTHETIC_IO, Json
from ioopt.result import Status, StopReason
from ioopt.units import quantity
from ioopt.verdict import best_of, strongest_sound, verdict_of

Row = Json
NO_ANSWER = "no answer"
FAILED = "failed"
FELL_BACK = "fell back"
REFERENCE = "reference"
NOT_APPLICABLE = str(Status.NOT_APPLICABLE)
COUNTED = (NO_ANSWER, FAILED, FELL_BACK, NOT_APPLICABLE)
"""The standings that have columns of their own in summaries."""


def add_ratios(
    rows: Sequence[Row], measure: Metric, shared: float | None = None
) -> None:
    """Set bound, gap, status and ``ratio_to_best`` in all *rows* of one instance.

    *shared* is a bound that holds for all plans. Each row takes the strongest bound
    that its own plan does not contradict. The ratio is 1 for the best row and greater
    for worse rows; it is None when unknown and for references. A plan with other added
    settings (such as ``loop=open``) than the plan of the first row with a value solves
    another problem. Its row becomes a reference, with a note.
    """
    _set_other_questions_apart(rows)
    for row in rows:
        value = row["value"]
        bounds = [row["bound"]] if row["reference"] else [row["bound"], shared]
        bound = strongest_sound(measure.sense, value, bounds)
        answer = verdict_of(measure, value, bound)
        row |= {"bound": answer.bound, "gap": answer.gap}
        if answer.status is Status.OPTIMAL:
            row["status"] = str(Status.OPTIMAL)
    add_ratios_to_best(rows, measure)


def add_ratios_to_best(rows: Sequence[Row], measure: Metric) -> None:
    """Set ``ratio_to_best`` in all *rows* of one instance; references have none."""
    rivals = [row["value"] for row in rows if not row["reference"]]
    best = best_of(measure.sense, rivals)
    for row in rows:
        row["ratio_to_best"] = None
        if not row["reference"]:
            row["ratio_to_best"] = ratio(row["value"], best, measure.sense)


def restrict(row: Row, objective: Metric) -> None:
    """Take the bound of *objective* from a *row* whose solver's model forbids plans,
    because it is no bound of the instance. A note says what was proven.
    """
    row["metrics"].pop(objective.proof, None)
    own = row["bound"]
    if row["reference"] or own is None or row["objective_name"] != objective.name:
        return
    said = f"{quantity(objective.name, own)} is a bound of"
    if row["status"] == Status.OPTIMAL:
        said = "the plan is optimal for"
        row["status"] = str(Status.FEASIBLE)
    said += " the solver's own model, which forbids plans; the gap is to a bound of all"
    row |= {"bound": None, "gap": None, "notes": [*row["notes"], said]}


def _set_other_questions_apart(rows: Sequence[Row]) -> None:
    """Turn a row into a reference when its plan has other settings than the plan of the
    first row with a value, because it solves another problem.
    """
    answered = [row for row in rows if row["value"] is not None]
    if not answered:
        return
    asked = answered[0].get("settings") or {}
    for row in answered:
        settings = row.get("settings") or {}
        if settings == asked:
            continue
        told = ", ".join(f"{key}={value}" for key, value in settings.items())
        question = told or "as the instance says"
        said = f"answers another question ({question}): not compared"
        if said not in row["notes"]:  # the row of a stored comparison may have it
            row["notes"] = [*row["notes"], said]
        row["reference"] = True


def ratio(value: float | None, to: float | None, sense: Sense) -> float | None:
    """Return by which factor *value* is worse than *to*; None when that is undefined.

    >>> ratio(12.0, 10.0, "min"), ratio(8.0, 10.0, "max"), ratio(1.0, 0.0, "min")
    (1.2, 1.25, None)
    """
    if value is None or to is None:
        return None
    if value == to:
        return 1.0
    above, below = (to, value) if sense == "max" else (value, to)
    return above / below if below > 0 else None


def standing(row: Mapping[str, object]) -> str:
    """Return the standing of a row in words: whether its answer is optimal or feasible
    by the measure, or why it has none.
    """
    status = row["status"]
    if status == Status.UNKNOWN:
        return NO_ANSWER
    if status in (Status.ERROR, FAILED):
        return FAILED
    if row["stop"] == StopReason.FALLBACK:
        return FELL_BACK
    if row["stop"] == StopReason.INTERRUPTED:
        return str(row["stop"])
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return str(status)
    if row["reference"]:
        return REFERENCE
    return str(Status.OPTIMAL if row["gap"] == 0.0 else Status.FEASIBLE)


def spent(row: Mapping[str, Any]) -> float | None:
    """Return the sum of the seconds of building and solving; None when neither is
    known.
    """
    parts = (row["build_seconds"], row["solve_seconds"])
    known = [seconds for seconds in parts if seconds is not None]
    return max(0.0, sum(known)) if known else None


def synthetic_footnote(instances: Iterable[str]) -> str:
    """Return the footnote of a table in which these *instances* have generated I/O;
    empty if there are none.
    """
    names = ", ".join(dict.fromkeys(instances))
    if not names:
        return ""
    return (
        f"{SYNTHETIC_IO} in {names}: these figures depend on it (see meta.synthetic)."
    )
