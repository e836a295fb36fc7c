"""Tables for people: aligned text, Markdown and CSV from one list of rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Literal

Row = Sequence[Any]


def render(
    headers: Sequence[str], rows: Sequence[Row], form: Literal["table", "markdown", "csv"] = "table"
) -> str:
    """Render rows; numbers are aligned right, None is shown as ``-`` (empty in CSV)."""
    if form == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
        return out.getvalue()
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    style = box.MARKDOWN if form == "markdown" else box.SIMPLE_HEAD
    table = Table(box=style, show_edge=form == "markdown", pad_edge=False)
    for k, header in enumerate(headers):
        numeric = all(isinstance(row[k], (int, float, type(None))) for row in rows)
        table.add_column(header, justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(show(cell)) for cell in row))
    text = io.StringIO()
    Console(file=text, width=100_000, color_system=None, highlight=False).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines() if line.strip()) + "\n"


def show(value: Any) -> str:
    """A cell: six significant digits for fractions, ``-`` for unknown.

    >>> show(5.184), show(None), show(1234567), show(0.00001)
    ('5.184', '-', '1234567', '1e-05')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.1f}"
    return str(value)


def percent(value: float | None) -> str | None:
    """A ratio as percent with two digits; None stays None.

    >>> percent(0.0123)
    '1.23%'
    """
    return None if value is None else f"{100 * value:.2f}%"
