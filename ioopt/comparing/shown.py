"""Show a comparison: as a table in any format, as a picture, and as an object for
Python that does both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ioopt.comparing import table as text
from ioopt.comparing.measures import Row, synthetic_footnote
from ioopt.comparing.notes import remarks_on, went_wrong
from ioopt.comparing.picture import plot_comparison
from ioopt.comparing.runs import Runs, baseline_of, parts_by, value_of
from ioopt.comparing.summary import baseline_ratios, summary_rows
from ioopt.errors import UsageError
from ioopt.formats.native import dump_json, write_text
from ioopt.options import PAPER_WIDTHS
from ioopt.plot.page import check_target, save
from ioopt.problems.base import OTHER_WAITS, SYNTHETIC_IO
from ioopt.tables import Form, render

if TYPE_CHECKING:
    import pandas as pd


WIDTH = 80
"""The largest number of characters in a line of a table that Python prints."""


def rendered(
    runs: Runs,
    form: str,
    width: int | None = None,
    by: str | None = None,
    columns: Sequence[str] = tuple(text.SUMMARY),
    *,
    wide: bool = False,
) -> str:
    """Return the comparison as text in the format *form*, in at most *width* characters
    (None: any number); JSON has the format ``ioopt/comparison``.

    Several instances have a summary with these *columns* and, with *by*, one for each
    value of this setting; if it is *wide*, then also a table for each instance.
    """
    if form == "json":
        return dump_json(runs.document(by))
    shown = runs.labelled()
    rows, kind, measure, baseline = shown[:4]
    if form == "csv":
        return _csv(rows, by)
    shape = cast(Form, form)
    parts = []
    several = len(runs.instances) > 1
    if several and baseline is not None:
        groups = _parts(shown, by)
        parts.append(
            text.summary_text(groups, kind, measure, baseline, shape, width, columns)
        )
    if wide or not several:
        parts.append(text.comparison_text(rows, kind, measure, width, shape))
        if baseline is not None:
            ratios = baseline_ratios(rows, kind, measure, baseline, wide)
            parts.append(text.baseline_text(ratios, kind, baseline, shape, width))
    footnotes = _footnotes(rows)
    if footnotes:
        parts.append(text.remarks(footnotes, shape, width))
    return "\n".join(parts)


def drawn(runs: Runs, by: str | None = None, width: float | None = None) -> Any:
    """Return the axes of the picture of *runs*: with a panel for each value of the
    setting *by*, and *width* millimetres wide, if given.
    """
    shown = runs.labelled()
    parts = _parts(shown, by)
    return plot_comparison(shown.rows, shown.measure.name, shown.baseline, width, parts)


def _parts(shown: Runs, by: str | None) -> dict[str, Sequence[Row]]:
    """Return the rows of each value of the setting *by*, keyed by what is told of it;
    without *by* all rows are one part, of which nothing is told.
    """
    if by is None:
        return {"": shown.rows}
    return {part.told: part.rows for part in parts_by(shown, by)}


def _csv(rows: Sequence[Row], by: str | None) -> str:
    """Return *rows* as CSV, with the value of the setting *by* in the first column."""
    headers, cells = text.raw_table(rows)
    if by is not None:
        headers.insert(0, by)
        cells = [[value_of(by, row), *line] for row, line in zip(rows, cells)]
    return render(headers, cells, "csv")


def _footnotes(rows: Sequence[Row]) -> list[str]:
    """Return the remarks below the tables: which instances have generated I/O, and the
    different notes that say how the waits came about.
    """
    invented = []
    waits: dict[str, None] = {}
    for row in rows:
        if any(note.startswith(SYNTHETIC_IO) for note in row["notes"]):
            invented.append(row["instance"])
        told = (note for note in row["notes"] if note.startswith(OTHER_WAITS))
        waits |= dict.fromkeys(told)
    footnote = synthetic_footnote(invented)
    return [footnote, *waits] if footnote else list(waits)


@dataclass(frozen=True)
class Study:
    """A comparison of solvers, made by :func:`ioopt.study`: the rows of all runs, the
    baseline of ratios, and the setting *by* whose values have a part each.
    """

    runs: Runs
    by: str | None = None

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Return the runs: each is a result without plan and schedule."""
        return self.runs.labelled().rows

    def summary(self) -> pd.DataFrame:
        """Return one row for each solver, with the fields of
        :class:`~ioopt.comparing.summary.SummaryRow` as columns, unrounded. With *by*,
        the index is (value, solver).
        """
        return summary_frame(self.runs, self.by)

    def latex(
        self,
        target: str | os.PathLike[str] | None = None,
        columns: str | None = None,
    ) -> str:
        """Return the summary as a ``tabular`` for the package booktabs, and write it to
        the file *target*, if given. *columns* is a text such as ``"ratio,interval,p"``.
        """
        chosen = text.parse_columns(columns)
        content = rendered(self.runs, "latex", WIDTH, self.by, chosen)
        if target is not None:
            write_text(target, content)
        return content

    def plot(
        self, target: str | os.PathLike[str] | None = None, width: float | None = None
    ) -> Any:
        """Draw the ratios, or the bars of one instance, and return the axes of
        matplotlib. Write them to the file *target* (``.pdf``, ``.svg``, ``.png`` or
        ``.html``), if given; *width* is that of a column of a paper, in millimetres.
        """
        least, most = PAPER_WIDTHS
        if width is not None and not least <= width <= most:
            raise UsageError(f"width: wanted {least:g} to {most:g} mm, not {width!r}")
        if target is not None:
            check_target(os.fspath(target))
        axes = drawn(self.runs, self.by, width)
        if target is not None:
            save(axes, os.fspath(target), exact=width is not None)
        return axes

    def save(self, target: str | os.PathLike[str]) -> None:
        """Write all runs to the file *target*, as ``ioopt compare --format json``
        does: the command and :func:`ioopt.study` read it again.
        """
        write_text(target, dump_json(self.runs.document(self.by)))

    def __str__(self) -> str:
        table = rendered(self.runs, "table", WIDTH, self.by)
        failed = list(
            remarks_on([row for row in self.runs.labelled().rows if went_wrong(row)])
        )
        return "\n".join([table, *failed]) if failed else table


def summary_frame(runs: Runs, by: str | None) -> pd.DataFrame:
    """Return the summary of *runs* as a DataFrame, indexed by the solver's name or,
    with the name of a setting, *by*, by its value and the solver's name.
    """
    import pandas as pd

    shown = runs.labelled()
    baseline = shown.baseline or str(baseline_of(shown.kind, shown.solvers, 2))
    if by is None:
        rows = summary_rows(shown.rows, shown.kind, shown.measure, baseline)
        return pd.DataFrame(rows).set_index("solver")
    lines = [
        {by: part.value, **row._asdict()}
        for part in parts_by(shown, by)
        for row in summary_rows(part.rows, shown.kind, shown.measure, baseline)
    ]
    return pd.DataFrame(lines).set_index([by, "solver"])
