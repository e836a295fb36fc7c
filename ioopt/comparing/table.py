"""Write a comparison as text: a table for each instance, a summary over several
instances, and ratios to a baseline.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from ioopt.comparing.measures import COUNTED, Row, spent, standing
from ioopt.families import Kind, Metric
from ioopt.metrics import TIE, GeometricMean, PairedRatio, geometric_mean, paired_ratios
from ioopt.result import relative_gap
from ioopt.tables import Form, fitting, percent, render
from ioopt.units import (
    Unit,
    column,
    counted,
    is_number,
    is_time,
    quantity,
    time_unit,
    title,
)
from ioopt.verdict import strongest

ESSENTIAL = 5
"""The number of columns that are never dropped: solver, status, measure, gap, ratio."""
Columns = dict[str, list[Any]]


def comparison_text(
    rows: Sequence[Row],
    kind: Kind,
    measure: Metric,
    width: int | None,
    form: Form = "table",
) -> str:
    """Return the tables of all instances as one text. The last columns are dropped if
    they do not fit into *width* characters.
    """
    parts = []
    most_dropped = 0
    for name, own in by_instance(rows).items():
        shown = _Shown(own, kind, measure)
        columns = shown.columns()
        headers = list(columns)
        cells = list(zip(*columns.values(), strict=True))
        count = len(headers)
        if width is not None and form == "table":
            count = fitting(headers, cells, width, ESSENTIAL)
        elif width is not None:
            count = ESSENTIAL + 1
        most_dropped = max(most_dropped, len(headers) - count)
        lines = [line[:count] for line in cells]
        table = render(headers[:count], lines, form, width=width)
        heading = f"{name}, by {measure}"
        bound = shown.best_bound()
        if bound is not None:
            heading += f"; bound {bound}"
        if form == "markdown":
            parts.append(f"**{heading}**\n\n{table}")
        else:
            parts.append(f"{heading}\n{table}")
    if most_dropped and form == "table":
        parts.append(f"{counted(most_dropped, 'more column')}: --wide\n")
    return "\n".join(parts)


def by_instance(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows in lists, keyed by the name of their instance; the order of rows
    is kept.
    """
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["instance"], []).append(row)
    return found


class _Shown:
    """The rows of one instance as they are shown to users, with all times in one
    unit.
    """

    def __init__(self, rows: Sequence[Row], kind: Kind, measure: Metric) -> None:
        self.rows = rows
        self.kind = kind
        self.measure = measure
        self.proven = self._proven()
        names = dict.fromkeys([*kind.columns, *self.proven])
        self.others = [name for name in names if name != measure.name]
        self.unit = self._unit()

    def columns(self) -> Columns:
        """Return the cells of each column, keyed by its heading; the most important
        columns come first, those only for ``--wide`` last.
        """
        rows = self.rows
        measure = self.measure.name
        columns: Columns = {
            "solver": [row["solver"] for row in rows],
            "status": [standing(row) for row in rows],
            title(measure): self._cells(measure, [row["value"] for row in rows]),
            "gap": [percent(row["gap"]) for row in rows],
            "ratio": [_fixed(row["ratio_to_best"]) for row in rows],
            "time": column("seconds", [spent(row) for row in rows], (1.0, "s")),
        }
        bounds = [row["bound"] for row in rows]
        if len(set(bounds)) > 1:
            columns["bound"] = self._cells(measure, bounds)
        for name in self.others:
            if name in self.proven:
                columns |= self._column(name)
                columns[f"{title(name)} gap"] = self._gaps(self.proven[name])
        for name in self.others:
            if name not in self.proven:
                columns |= self._column(name)
        return columns

    def best_bound(self) -> str | None:
        """Return, as text, the strongest bound of the measure among the rows; None if
        no row has one.
        """
        measure = self.measure
        own = [row["bound"] for row in self.rows if not row["reference"]]
        best = strongest(measure.sense, own)
        if best is None:
            return None
        unit = self.unit if is_time(measure.name) else None
        return quantity(measure.name, best, unit=unit)

    def _proven(self) -> dict[str, Metric]:
        """Return, by name, the metrics for which at least one row states a proven bound
        (``Metric.proof``).
        """
        bounded = [metric for metric in self.kind.metrics if metric.bounded_by]
        candidates = dict.fromkeys([self.kind.objective, *bounded])
        return {
            metric.name: metric
            for metric in candidates
            if any(value is not None for value in self._values(metric.proof))
        }

    def _unit(self) -> Unit:
        """Return the common unit for all times in the table."""
        seconds: list[Any] = []
        if is_time(self.measure.name):
            seconds += [row["value"] for row in self.rows]
            seconds += [row["bound"] for row in self.rows]
        for name in self.others:
            if is_time(name):
                seconds += self._values(name)
        return time_unit([value for value in seconds if is_number(value)])

    def _values(self, name: str) -> list[Any]:
        """Return the value of the metric *name* in each row."""
        return [row["metrics"].get(name) for row in self.rows]

    def _cells(self, name: str, values: Sequence[Any]) -> list[str | None]:
        """Return *values* of the metric *name* as text; times are in the unit of the
        table.
        """
        return column(name, values, self.unit if is_time(name) else None)

    def _column(self, name: str) -> Columns:
        """Return the column of the metric *name*; empty if no row has this metric."""
        values = self._values(name)
        if all(value is None for value in values):
            return {}
        return {title(name): self._cells(name, values)}

    def _gaps(self, metric: Metric) -> list[str | None]:
        """Return, for each row, the gap between its value of *metric* and the bound
        that it proves for this metric, as text.
        """
        gaps = []
        for row in self.rows:
            value = row["metrics"].get(metric.name)
            proof = row["metrics"].get(metric.proof)
            gaps.append(percent(relative_gap(value, proof, metric.sense)))
        return gaps


def _fixed(value: float | None) -> str | None:
    """Return a ratio as text, with three decimals unless it is very large."""
    if value is None:
        return None
    return f"{value:.3f}" if value < 1e4 else f"{value:.3g}"


def raw_table(rows: Sequence[Row]) -> tuple[list[str], list[list[Any]]]:
    """Return the headings and the cells of a table for programs. There is one column
    for each metric, with the name of the metric as heading.
    """
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
    metrics: dict[str, None] = {}
    for row in rows:
        metrics |= dict.fromkeys(row["metrics"])
    cells = []
    for row in rows:
        figures = [row["metrics"].get(name) for name in metrics]
        cells.append([*(row[name] for name in plain), *figures, spent(row)])
    return [*plain, *metrics, "seconds"], cells


def summary_text(
    rows: Sequence[Row], measure: Metric, form: Form, width: int | None
) -> str:
    """Return the summary over several instances with one line for each solver: counts
    over all its rows, and means over the instances that every solver solved.

    The ratio is a geometric mean; it has an interval if there are at least five
    instances. A solver that solved no instance is ignored when these common instances
    are determined.
    """
    common = _solved_by_all(rows)
    names = dict.fromkeys(row["solver"] for row in rows)
    lines = []
    for name in names:
        own = [row for row in rows if row["solver"] == name]
        lines.append(_summary_line(name, own, common))
    headers = ["solver", "ratio", "95 % interval", "gap", "best", *COUNTED, "time"]
    if form == "table":
        headers = [textwrap.fill(header, 8) for header in headers]
    table = render(headers, lines, form, width=width, keep=len(headers) - 1)
    shared = counted(len(common), "instance")
    return (
        f"{len(by_instance(rows))} instances, by {measure}: means over the {shared} "
        f"that every solver solved\n{table}"
    )


def _solved_by_all(rows: Sequence[Row]) -> set[str]:
    """Return the names of the instances that were solved by every solver, not counting
    solvers that solved none.
    """
    solved: dict[str, set[str]] = {}
    for row in rows:
        if row["value"] is not None:
            solved.setdefault(row["solver"], set()).add(row["instance"])
    return set.intersection(*solved.values()) if solved else set()


def _summary_line(name: str, own: Sequence[Row], common: set[str]) -> list[Any]:
    """Return the cells of one solver: means over the *common* instances, and counts
    over all its rows.
    """
    shared = [row for row in own if row["instance"] in common]
    over = _ratio_over(shared)
    best = 0
    for row in own:
        if row["ratio_to_best"] is not None and row["ratio_to_best"] <= 1 + TIE:
            best += 1
    standings = Counter(standing(row) for row in own)
    times = [spent(row) for row in own]
    seconds = [time for time in times if time is not None]
    return [
        name,
        _fixed(over.mean),
        interval(over.low, over.high),
        percent(_mean([row["gap"] for row in shared])),
        best,
        *(standings[what] for what in COUNTED),
        quantity("seconds", median(seconds)) if seconds else None,
    ]


def _ratio_over(rows: Sequence[Row]) -> GeometricMean:
    """Return the geometric mean of the rows' ratios to the best; its mean is None when
    a ratio is unknown.
    """
    ratios = [row["ratio_to_best"] for row in rows]
    return GeometricMean(None) if None in ratios else geometric_mean(ratios)


def interval(low: float | None, high: float | None) -> str | None:
    """Return the ends of an interval as text; None if there is no interval."""
    return None if low is None else f"{_fixed(low)} to {_fixed(high)}"


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of *values*; None when one is unknown, because a mean of the
    known values would be over fewer instances.
    """
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return sum(known) / len(known)


def baseline_ratios(
    rows: Sequence[Row],
    kind: Kind,
    measure: Metric,
    baseline: str,
    everything: bool,
) -> list[PairedRatio]:
    """Return the ratios to *baseline* of the measure or, with *everything*, of all
    metrics of the kind.
    """
    names = [measure.name]
    if everything:
        names += [kind.objective.name, *kind.columns]
    metrics = list(dict.fromkeys(names))
    most = [name for name in metrics if kind.metric(name).sense == "max"]
    rows = [row for row in rows if not row["reference"] or row["solver"] == baseline]
    return paired_ratios(rows, baseline, metrics, most)


def baseline_text(
    ratios: Sequence[PairedRatio], baseline: str, form: Form, width: int | None
) -> str:
    """Return the ratios of :func:`baseline_ratios` as a table."""
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
