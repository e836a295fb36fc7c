"""A comparison as text: one table an instance, a summary over several, ratios to a baseline."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioopt.comparing.measures import COUNTED, Measure, Row, measured, standing
from ioopt.metrics import PairedRatio, median, paired_ratios
from ioopt.quantities import column, quantity, title
from ioopt.registry import KindSpec
from ioopt.tables import Form, fitting, percent, render

ESSENTIAL = 5
"""Columns that are always there: solver, status, the measure, gap, ratio."""
Columns = dict[str, list[Any]]


def comparison_text(
    rows: Sequence[Row], kind: KindSpec, measure: Measure, width: int | None, form: Form = "table"
) -> str:
    """One table an instance, with a title that names instance, measure and bound.

    Columns are dropped from the right until the lines fit into *width* (None: all are shown).
    """
    parts, dropped = [], 0
    for name, own in by_instance(rows).items():
        columns = _columns(own, kind, measure.name)
        headers, cells = list(columns), list(zip(*columns.values(), strict=True))
        count = len(headers)
        if width is not None and form == "table":
            count = fitting(headers, cells, width, ESSENTIAL)
        elif width is not None:
            count = ESSENTIAL + 1
        dropped = max(dropped, len(headers) - count)
        table = render(headers[:count], [line[:count] for line in cells], form, width=width)
        parts.append(_heading(name, own, measure, form) + table)
    if dropped and form == "table":
        parts.append(f"{dropped} more column{'s' if dropped > 1 else ''}: --wide\n")
    return "\n".join(parts)


def by_instance(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each instance, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["instance"], []).append(row)
    return found


def _heading(name: str, rows: Sequence[Row], measure: Measure, form: Form) -> str:
    bounds = [row["value_bound"] for row in rows if not row["reference"]]
    known = [bound for bound in bounds if bound is not None]
    text = f"{name}, by {measure}"
    if known:
        tightest = (min if measure.sense == "max" else max)(known)
        text += f"; bound {quantity(measure.name, tightest)}"
    return f"**{text}**\n\n" if form == "markdown" else f"{text}\n"


def _columns(rows: Sequence[Row], kind: KindSpec, measure: str) -> Columns:
    """Headings and cells, the most telling first; what only ``--wide`` shows last."""
    columns: Columns = {
        "solver": [row["solver"] for row in rows],
        "status": [standing(row) for row in rows],
        title(measure): column(measure, [row["value"] for row in rows]),
        "gap": [percent(row["value_gap"]) for row in rows],
        "ratio": [_fixed(row["ratio_to_best"]) for row in rows],
        "time": column("seconds", [spent(row) for row in rows]),
    }
    if len({row["value_bound"] for row in rows}) > 1:
        columns["bound"] = column(measure, [row["value_bound"] for row in rows])
    for name in dict.fromkeys([kind.objective_name, *kind.compare_columns]):
        if name != measure:
            columns[title(name)] = column(name, [_metric(row, name) for row in rows])
    for name in dict.fromkeys(row["objective_name"] for row in rows if row["bound"] is not None):
        if name != measure:
            own = [row if row["objective_name"] == name else None for row in rows]
            bounds = [row and row["bound"] for row in own]
            columns[f"{title(name)} bound"] = column(name, bounds)
            columns[f"{title(name)} gap"] = [percent(row["gap"]) if row else None for row in own]
    return columns


def _metric(row: Row, name: str) -> Any:
    found = measured(row, name)
    return row["metrics"].get(name) if found is None else found


def _fixed(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}" if value < 1e4 else f"{value:.3g}"


def spent(row: Mapping[str, Any]) -> float | None:
    """Seconds of building and solving."""
    known = [row[part] for part in ("build_seconds", "solve_seconds") if row[part] is not None]
    return max(0.0, sum(known)) if known else None


def raw_table(rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    """Headers and cells for programs: names with their units, every metric a column."""
    plain = ("instance", "solver", "status", "objective_name", "objective", "bound", "gap",
             "measure", "value", "value_bound", "value_gap", "ratio_to_best")  # fmt: skip
    metrics = list(dict.fromkeys(key for row in rows for key in row["metrics"]))
    cells = [
        [
            *(row[name] for name in plain),
            *(row["metrics"].get(name) for name in metrics),
            spent(row),
        ]
        for row in rows
    ]
    return [*plain, *metrics, "seconds"], cells


def summary_text(rows: Sequence[Row], measure: Measure, form: Form, width: int | None) -> str:
    """One line a solver over several instances: means over those that all solvers answered, counts."""
    instances = by_instance(rows)
    names = list(dict.fromkeys(row["solver"] for row in rows))
    answered = {
        name: {
            row["instance"] for row in rows if row["solver"] == name and row["value"] is not None
        }
        for name in names
    }
    competing = [answered[name] for name in names if answered[name]]
    common = set(instances).intersection(*competing) if competing else set()
    lines = []
    for name in names:
        own = [row for row in rows if row["solver"] == name]
        counts = Counter(standing(row) for row in own)
        shared = [row for row in own if row["instance"] in common]
        times = [seconds for row in own if (seconds := spent(row)) is not None]
        lines.append(
            (
                name,
                _fixed(_mean(row["ratio_to_best"] for row in shared)),
                percent(_mean(row["value_gap"] for row in shared)),
                sum(row["ratio_to_best"] == 1.0 for row in own),
                *(counts[what] for what in COUNTED),
                quantity("seconds", median(times)) if times else None,
            )
        )
    headers = ["solver", "ratio", "gap", "best", *COUNTED, "time"]
    if form == "table":
        headers = [textwrap.fill(header, 8) for header in headers]
    text = (
        f"{len(instances)} instances, by {measure}: means over the {len(common)} that all answered"
    )
    return f"{text}\n" + render(headers, lines, form, width=width, keep=len(headers) - 1)


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean; None where a value is unknown, since it would be a mean of other instances."""
    known = list(values)
    if not known or any(value is None for value in known):
        return None
    return sum(value for value in known if value is not None) / len(known)


def baseline_ratios(
    rows: Sequence[Row], kind: KindSpec, measure: Measure, baseline: str, everything: bool
) -> list[PairedRatio]:
    """Mean ratios to *baseline* of the measure, with *everything* of all the kind's metrics."""
    others = dict.fromkeys([kind.objective_name, *kind.compare_columns]) if everything else {}
    metrics = list(dict.fromkeys([measure.name, *others]))
    rows = [row for row in rows if not row["reference"] or row["solver"] == baseline]
    return paired_ratios(rows, baseline, metrics)


def baseline_text(
    ratios: Sequence[PairedRatio], baseline: str, form: Form, width: int | None
) -> str:
    """The table of :func:`baseline_ratios`."""
    headers = ("solver", "metric", "mean ratio", "std. error", "instances")
    cells = [(a, title(b), _fixed(c), _fixed(d), e) for a, b, c, d, e in ratios]
    return f"ratios to {baseline}\n" + render(headers, cells, form, width=width)
