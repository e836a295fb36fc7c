"""A comparison as text: one table an instance, a summary over several,
ratios to a baseline.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from ioopt.comparing.measures import COUNTED, Row, spent, standing
from ioopt.families import Metric
from ioopt.metrics import TIE, GeometricMean, PairedRatio, geometric_mean, paired_ratios
from ioopt.registry import KindSpec
from ioopt.result import relative_gap
from ioopt.tables import Form, fitting, percent, render
from ioopt.units import column, is_number, is_time, quantity, time_unit, title

ESSENTIAL = 5
"""Columns that are always there: solver, status, the measure, gap, ratio."""
Columns = dict[str, list[Any]]


def comparison_text(
    rows: Sequence[Row],
    kind: KindSpec,
    measure: Metric,
    width: int | None,
    form: Form = "table",
) -> str:
    """One table an instance, without its last columns where they do
    not fit into *width*.
    """
    parts, dropped = [], 0
    for name, own in by_instance(rows).items():
        columns, bound = _columns(own, kind, measure)
        headers, cells = list(columns), list(zip(*columns.values(), strict=True))
        count = len(headers)
        if width is not None and form == "table":
            count = fitting(headers, cells, width, ESSENTIAL)
        elif width is not None:
            count = ESSENTIAL + 1
        dropped = max(dropped, len(headers) - count)
        table = render(
            headers[:count], [line[:count] for line in cells], form, width=width
        )
        text = f"{name}, by {measure}" + (f"; bound {bound}" if bound else "")
        parts.append((f"**{text}**\n\n" if form == "markdown" else f"{text}\n") + table)
    if dropped and form == "table":
        parts.append(f"{dropped} more column{'s' if dropped > 1 else ''}: --wide\n")
    return "\n".join(parts)


def by_instance(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each instance, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["instance"], []).append(row)
    return found


def _columns(
    rows: Sequence[Row], kind: KindSpec, measure: Metric
) -> tuple[Columns, str | None]:
    """Headings and cells, the most telling first; what only ``--wide`` shows
    last. The best bound.
    """
    by = measure.name
    bounded = [metric for metric in kind.metrics if metric.bounded_by is not None]
    proven = {
        metric.name: metric.proof
        for metric in (kind.objective, *bounded)
        if any(row["metrics"].get(metric.proof) is not None for row in rows)
    }
    names = [name for name in dict.fromkeys([*kind.columns, *proven]) if name != by]
    metrics = {name: [row["metrics"].get(name) for row in rows] for name in names}
    bounds = [row["bound"] for row in rows]
    found = {by: [row["value"] for row in rows], "bound": bounds} | metrics
    times = [name for name in found if is_time(by if name == "bound" else name)]
    numbers = [x for name in times for x in found[name] if is_number(x)]
    unit = time_unit(numbers)

    def cells(name: str, values: Sequence[Any]) -> list[str | None]:
        return column(name, values, unit if is_time(name) else None)

    columns: Columns = {
        "solver": [row["solver"] for row in rows],
        "status": [standing(row) for row in rows],
        title(by): cells(by, found[by]),
        "gap": [percent(row["gap"]) for row in rows],
        "ratio": [_fixed(row["ratio_to_best"]) for row in rows],
        "time": column("seconds", [spent(row) for row in rows], (1.0, "s")),
    }
    if len(set(bounds)) > 1:
        columns["bound"] = cells(by, bounds)
    for name in sorted(names, key=lambda name: name not in proven):
        if any(value is not None for value in metrics[name]):
            columns[title(name)] = cells(name, metrics[name])
        if name in proven:
            gaps = [
                relative_gap(
                    value, row["metrics"].get(proven[name]), kind.metric(name).sense
                )
                for value, row in zip(metrics[name], rows)
            ]
            columns[f"{title(name)} gap"] = [percent(gap) for gap in gaps]
    best = (min if measure.sense == "max" else max)(
        (
            row["bound"]
            for row in rows
            if row["bound"] is not None and not row["reference"]
        ),
        default=None,
    )
    bound = (
        None if best is None else quantity(by, best, unit=unit if is_time(by) else None)
    )
    return columns, bound


def _fixed(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}" if value < 1e4 else f"{value:.3g}"


def raw_table(rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    """Headers and cells for programs: names with their units, every metric a column."""
    plain = (
        "instance",
        "solver",
        "status",
        "objective_name",
        "objective",
        "bound",
        "gap",
        "measure",
        "value",
        "ratio_to_best",
    )
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


def summary_text(
    rows: Sequence[Row], measure: Metric, form: Form, width: int | None
) -> str:
    """Return one line a solver over several instances: means over those that
    all answered, counts.

    The ratio is a geometric mean, with an interval from five instances on.
    """
    instances = by_instance(rows)
    names = list(dict.fromkeys(row["solver"] for row in rows))
    answered: dict[str, set[str]] = {}
    for row in rows:
        if row["value"] is not None:
            answered.setdefault(row["solver"], set()).add(row["instance"])
    common = set.intersection(*answered.values()) if answered else set()
    lines = []
    for name in names:
        own = [row for row in rows if row["solver"] == name]
        counts = Counter(standing(row) for row in own)
        shared = [row for row in own if row["instance"] in common]
        times = [seconds for row in own if (seconds := spent(row)) is not None]
        ratios = [
            row["ratio_to_best"] for row in own if row["ratio_to_best"] is not None
        ]
        over = _ratio_over(shared)
        line = [
            name,
            _fixed(over.mean),
            interval(over.low, over.high),
            percent(_mean(row["gap"] for row in shared)),
            sum(ratio <= 1 + TIE for ratio in ratios),
            *(counts[what] for what in COUNTED),
            quantity("seconds", median(times)) if times else None,
        ]
        lines.append(line)
    headers = ["solver", "ratio", "95 % interval", "gap", "best", *COUNTED, "time"]
    if form == "table":
        headers = [textwrap.fill(header, 8) for header in headers]
    text = (
        f"{len(instances)} instances, by {measure}: means over the {len(common)} that "
        "all answered"
    )
    return f"{text}\n" + render(
        headers, lines, form, width=width, keep=len(headers) - 1
    )


def _ratio_over(rows: Sequence[Row]) -> GeometricMean:
    """Return the geometric mean of ratios to the best; of none where one is unknown."""
    ratios = [row["ratio_to_best"] for row in rows]
    return GeometricMean(None) if None in ratios else geometric_mean(ratios)


def interval(low: float | None, high: float | None) -> str | None:
    """Return the ends of an interval as text; None without one."""
    return None if low is None else f"{_fixed(low)} to {_fixed(high)}"


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean; None where a value is unknown, since it would be a
    mean of other instances.
    """
    known = list(values)
    if not known or any(value is None for value in known):
        return None
    return sum(value for value in known if value is not None) / len(known)


def baseline_ratios(
    rows: Sequence[Row],
    kind: KindSpec,
    measure: Metric,
    baseline: str,
    everything: bool,
) -> list[PairedRatio]:
    """Ratios to *baseline* of the measure, with *everything* of
    all the kind's metrics.
    """
    others = dict.fromkeys([kind.objective.name, *kind.columns]) if everything else {}
    metrics = list(dict.fromkeys([measure.name, *others]))
    most = [name for name in metrics if kind.metric(name).sense == "max"]
    rows = [row for row in rows if not row["reference"] or row["solver"] == baseline]
    return paired_ratios(rows, baseline, metrics, most)


def baseline_text(
    ratios: Sequence[PairedRatio], baseline: str, form: Form, width: int | None
) -> str:
    """The table of :func:`baseline_ratios`."""
    headers = (
        "solver",
        "metric",
        "pairs",
        "ratio",
        "95 % interval",
        "wins",
        "ties",
        "losses",
    )
    cells = []
    for row in ratios:
        if row.solver == baseline:
            continue
        ends = interval(row.low, row.high)
        counts = (row.wins, row.ties, row.losses)
        ratio = _fixed(row.mean_ratio)
        cells.append((row.solver, title(row.metric), row.pairs, ratio, ends, *counts))
    if not cells:
        return (
            f"ratios to {baseline}: no instance has sound plans of it and of another "
            "solver\n"
        )
    heading = f"ratios to {baseline}, geometric means of pairs by instance"
    return f"{heading}\n{render(headers, cells, form, width=width)}"
