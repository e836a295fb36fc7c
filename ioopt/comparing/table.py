"""Write a comparison as text: a table for each instance, a summary over several
instances, and ratios to a baseline.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from ioopt.comparing.measures import Row, spent, standing
from ioopt.comparing.summary import SummaryRow, left_out, summary_rows
from ioopt.errors import UsageError
from ioopt.families import Kind, Metric
from ioopt.metrics import LEAST_PAIRS, PairedRatio
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
)
from ioopt.verdict import strongest

ESSENTIAL = 5
"""The number of columns that are never dropped: solver, status, measure, gap, ratio."""
SUMMARY = {
    "pairs": "pairs",
    "ratio": "ratio",
    "interval": "95 % interval",
    "wins": "wins/ties/losses",
    "p": "p",
    "gap": "gap",
    "time": "time",
}
"""The columns of the summary over several instances after the solver: the names with
which a user chooses them, and their headings.
"""
DROPPED_LAST = ("gap", "time")
"""The columns of the summary that a narrow terminal does not show."""
SIDES = {"interval": "l", "wins": "l", "p": "l"}
"""The columns of the summary that are aligned left, whatever is in them."""
LEFT_OUT = "Left out"
WITHIN_PARTS = "Holm's correction is within each part, not over all parts."
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
        table = render(headers[:count], lines, form, width=width, fold=True)
        heading = f"{name}, by {measure}"
        bound = shown.best_bound()
        if bound is not None:
            heading += f"; bound {bound}"
        parts.append(headed(heading, table, form, width))
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
            self.measure.heading: self._cells(measure, [row["value"] for row in rows]),
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
                proven = self.proven[name]
                columns[f"{proven.heading} gap"] = self._gaps(proven)
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

    def _cells(self, name: str, values: Sequence[object]) -> list[str | None]:
        """Return *values* of the metric *name* as text; times are in the unit of the
        table.
        """
        return column(name, values, self.unit if is_time(name) else None)

    def _column(self, name: str) -> Columns:
        """Return the column of the metric *name*; empty if no row has this metric."""
        values = self._values(name)
        if all(value is None for value in values):
            return {}
        return {self.kind.metric(name).heading: self._cells(name, values)}

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
    parts: Mapping[str, Sequence[Row]],
    kind: Kind,
    measure: Metric,
    baseline: str,
    form: Form,
    width: int | None,
    chosen: Sequence[str] = tuple(SUMMARY),
) -> str:
    """Return the summary of each of *parts*, keyed by what is told of it: a table with
    a line for each solver (:class:`SummaryRow`) and the *chosen* columns, and remarks
    that say what its figures are and what was left out.

    In LaTeX the parts are groups of lines of one table. Remarks that hold for all parts
    stand once, at the end.
    """
    summary = _Summary(parts, kind, measure, baseline, chosen)
    if form == "latex":
        return summary.in_latex(width)
    return summary.as_tables(form, width)


class _Summary:
    """The summaries of *parts*, with the *chosen* columns, as they are shown."""

    def __init__(
        self,
        parts: Mapping[str, Sequence[Row]],
        kind: Kind,
        measure: Metric,
        baseline: str,
        chosen: Sequence[str],
    ) -> None:
        self.chosen = chosen
        self.counts = {told: _and_count(told, rows) for told, rows in parts.items()}
        self.headings = {
            told: f"{count}, by {measure}; ratios to {baseline}"
            for told, count in self.counts.items()
        }
        found = {
            told: summary_rows(rows, kind, measure, baseline)
            for told, rows in parts.items()
        }
        self.lengths = {told: len(some) for told, some in found.items()}
        every = [row for some in found.values() for row in some]
        columns = _summary_columns(every, baseline)
        shown = [columns[name] for name in ("solver", *chosen)]
        self.headers, *self.lines = zip(*shown, strict=True)
        said = {told: _said(found[told], parts[told], baseline) for told in parts}
        self.own, self.common = _own_and_common(said)

    def in_latex(self, width: int | None) -> str:
        """Return one table, with the parts as groups of its lines if there are
        several.
        """
        sides = "l" + "".join(SIDES.get(name, "r") for name in self.chosen)
        groups = []
        if len(self.lengths) > 1:
            groups = [(self.counts[told], some) for told, some in self.lengths.items()]
        table = render(self.headers, self.lines, "latex", sides=sides, groups=groups)
        own = [f"{told}: {text}" for told, some in self.own.items() for text in some]
        said = [*self.headings.values(), *own, *self.common]
        return remarks(said, "latex", width) + table

    def as_tables(self, form: Form, width: int | None) -> str:
        """Return a table for each part, with its own remarks below it, and the common
        remarks at the end.
        """
        headers = list(self.headers)
        if form == "table":
            headers = [textwrap.fill(name.replace("/", "/ "), 8) for name in headers]
        keep = 1 + sum(name not in DROPPED_LAST for name in self.chosen)
        texts = []
        lines = iter(self.lines)
        for told, length in self.lengths.items():
            shown = list(islice(lines, length))
            table = render(headers, shown, form, width=width, keep=keep, fold=True)
            below = remarks(self.own[told], form, width)
            texts.append(headed(self.headings[told], table, form, width) + below)
        if len(texts) > 1:
            texts.append("")
        return "\n".join(texts) + remarks(self.common, form, width)


def _own_and_common(
    said: Mapping[str, Sequence[str]],
) -> tuple[dict[str, list[str]], list[str]]:
    """Divide the remarks on each part into its own ones and those that hold for all."""
    parts = {told: list(some) for told, some in said.items()}
    every = [remark for some in parts.values() for remark in some]
    if len(parts) > 1 and any("Holm-corrected" in remark for remark in every):
        for some in parts.values():
            some.append(WITHIN_PARTS)
    first = next(iter(parts.values()))
    common = [
        remark
        for remark in first
        if all(remark in some for some in parts.values())
        and not (remark.startswith(LEFT_OUT) and len(parts) > 1)  # counts of one part
    ]
    own = {
        told: [remark for remark in some if remark not in common]
        for told, some in parts.items()
    }
    return own, common


def parse_columns(given: str | None) -> tuple[str, ...]:
    """Return the columns of the summary in a text such as ``ratio,p`` (None: all).
    Raises UsageError for others.
    """
    if given is None:
        return tuple(SUMMARY)
    names = tuple(name.strip() for name in given.split(","))
    for name in names:
        if name not in SUMMARY or names.count(name) > 1:
            raise UsageError(
                f"--columns {given!r}: wanted some of {', '.join(SUMMARY)}, each once"
            )
    return names


def _and_count(told: str, rows: Sequence[Row]) -> str:
    """Return what is *told* of a part with the number of its instances."""
    count = counted(len(by_instance(rows)), "instance")
    return f"{told}: {count}" if told else count


def _summary_columns(found: Sequence[SummaryRow], baseline: str) -> Columns:
    """Return the heading and the cells of each column of the summary, keyed by its
    name.
    """
    pairs: list[Any] = ["pairs", *(row.pairs for row in found)]
    if any(row.independent < row.pairs for row in found):
        pairs = ["pairs (indep.)"]
        pairs += [f"{row.pairs} ({row.independent})" for row in found]
    counts = []
    for row in found:
        unknown = row.solver == baseline or not row.pairs
        counts.append(None if unknown else f"{row.wins}/{row.ties}/{row.losses}")
    cells: Columns = {
        "ratio": [_fixed(row.ratio) for row in found],
        "interval": [interval(row.low, row.high) for row in found],
        "wins": counts,
        "p": [_p_value(row.holm_p) for row in found],
        "gap": [percent(row.gap) for row in found],
        "time": column("seconds", [row.seconds for row in found]),
    }
    columns = {name: [SUMMARY[name], *some] for name, some in cells.items()}
    return {"solver": ["solver", *(row.solver for row in found)], "pairs": pairs} | (
        columns
    )


def _said(found: Sequence[SummaryRow], rows: Sequence[Row], baseline: str) -> list[str]:
    """Return the remarks on the summary *found* of *rows*."""
    return [
        _test_said(found, baseline),
        *_groups_said(found),
        _bound_said(found),
        *_left_out_said(found, rows, baseline),
    ]


def _p_value(value: float | None) -> str | None:
    """Return a p-value as text with three decimals."""
    if value is None:
        return None
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def _test_said(found: Sequence[SummaryRow], baseline: str) -> str:
    """Return the remark that says what the columns of the summary are."""
    tests = sum(row.p is not None for row in found)
    ratio = "ratio: geometric mean over the pairs"
    rest = f"wins: pairs on which a solver beats {baseline}; gap: mean; time: median."
    if not tests:
        return f"{ratio}; interval and p need {LEAST_PAIRS} pairs; {rest}"
    corrected = ""
    if tests > 1:
        corrected = f", Holm-corrected for {tests} solvers, which the interval is not"
    return (
        f"{ratio}, with its interval (Student's t of the logarithms); p: two-sided "
        f"Wilcoxon signed-rank test of log ratios, without ties{corrected}; {rest}"
    )


def _groups_said(found: Sequence[SummaryRow]) -> list[str]:
    """Return the remark that pairs of one base instance count once; none if each pair
    has its own.
    """
    grouped = [row for row in found if row.independent < row.pairs]
    if not grouped:
        return []
    most = max(grouped, key=lambda row: row.pairs)
    return [
        "Instances of one preset and seed, and runs of one instance with several "
        "seeds, are not independent: they count as one in ratio, interval and p, by "
        f"the mean of their log ratios ({most.independent} for {most.pairs} pairs)."
    ]


def _bound_said(found: Sequence[SummaryRow]) -> str:
    """Return the remark that says what the bound of the gaps is, and how many plans
    are proven optimal.
    """
    proven = [
        f"{row.solver} {row.proven} of {row.pairs}" for row in found if row.proven
    ]
    return (
        "gap is to the strongest bound proven for the instance, by these solvers or "
        f"from its data; proven optimal (gap 0): {', '.join(proven) or 'none'}."
    )


def _left_out_said(
    found: Sequence[SummaryRow], rows: Sequence[Row], baseline: str
) -> list[str]:
    """Return the remark that says which runs have no ratio and why, with advice if the
    baseline has no plan at all; none if all have one.
    """
    parts = [
        f"{solver} on {counted(number, 'instance')} ({why})"
        for (solver, why), number in left_out(rows, baseline).items()
    ]
    if not parts:
        return []
    advice = ""
    if len(found) > 1 and not any(row.pairs for row in found):
        advice = (
            f" No ratios, for want of plans of {baseline}: name another --baseline."
        )
    return [f"{LEFT_OUT}: {', '.join(parts)}.{advice}"]


def remarks(said: Sequence[str], form: Form, width: int | None) -> str:
    """Return remarks above or below a table, wrapped to *width* characters."""
    lines = []
    for remark in said:
        if width is None:
            lines.append(remark)
        else:
            lines += textwrap.wrap(remark, width, break_on_hyphens=False)
    if form == "latex":
        lines = [f"% {line}" for line in lines]
    if form == "markdown":
        lines = ["", *lines]
    return "".join(f"{line}\n" for line in lines)


def headed(heading: str, table: str, form: Form, width: int | None) -> str:
    """Return *table* below its *heading*."""
    if form == "markdown":
        return f"**{heading}**\n\n{table}"
    return remarks([heading], form, width) + table


def interval(low: float | None, high: float | None) -> str | None:
    """Return the ends of an interval as text; None if there is no interval."""
    return None if low is None else f"{_fixed(low)} to {_fixed(high)}"


def baseline_text(
    ratios: Sequence[PairedRatio],
    kind: Kind,
    baseline: str,
    form: Form,
    width: int | None,
) -> str:
    """Return the ratios to *baseline* as a table."""
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
        name = kind.metric(row.metric).heading
        cells.append((row.solver, name, row.pairs, ratio, ends, *counts))
    if not cells:
        return (
            f"ratios to {baseline}: no instance has sound plans of it and of another "
            "solver\n"
        )
    heading = f"ratios to {baseline}, geometric means of pairs by instance"
    table = render(headers, cells, form, width=width, fold=True)
    return headed(heading, table, form, width)
