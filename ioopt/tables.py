"""Write tables as aligned text that fits the terminal, as Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ioopt.units import show

if TYPE_CHECKING:
    from rich.table import Table

Row = Sequence[Any]
Form = Literal["table", "markdown", "latex", "csv"]
NUMERIC = re.compile(r"-|<?[-+]?[0-9.]+(e[-+]?[0-9]+)?( ?[%A-Za-z/]{1,4})?")
EVERYTHING = 100_000
LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "[": "{[}",
        "*": "{*}",
        "\n": " ",
    }
)
"""What LaTeX needs in place of characters that have a meaning for it. After the end of
a line, ``[`` and ``*`` would be read as options of the line break.
"""
MATH = re.compile(r"\$[^$\n]+\$")
"""Math in a text, between two dollar signs, as LaTeX and matplotlib read it."""
GAP = 2
"""Characters between two columns of a text table."""
NARROWEST = 12
"""The least number of characters in a line of a name that is folded."""


def terminal_width() -> int:
    """Return the number of columns of the terminal (``COLUMNS`` if set), at least 40;
    80 without a terminal.
    """
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def render(
    headers: Sequence[str],
    rows: Sequence[Row],
    form: Form = "table",
    *,
    width: int | None = None,
    keep: int | None = None,
    wrap: int = 0,
    fold: bool = False,
    sides: str | None = None,
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """Render rows as text, Markdown, LaTeX or CSV; numbers are aligned right, None is
    shown as ``-`` (empty in CSV). LaTeX needs the package booktabs; a unit that all
    cells of a column share stands in its heading, and *sides* are the columns' letters
    (None: by what is in them). *groups* are the headings of groups of rows in LaTeX,
    each with its number of rows. Text between two dollar signs is math there.

    A text table is at most *width* characters wide (None: no limit). If it does not
    fit, the columns from index *keep* on are dropped, the rightmost first (None: none
    is dropped). Text in the last *wrap* columns continues on further lines, and so do
    names in the first column if *fold* is true, down to :data:`NARROWEST` characters;
    no other column is then cut. Else text that is too long ends in an ellipsis.
    """
    if form == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(headers)
        for row in rows:
            writer.writerow(["" if cell is None else cell for cell in row])
        return out.getvalue()
    if form == "latex":
        return _latex(headers, rows, sides, groups)
    limit = EVERYTHING if width is None or form == "markdown" else width
    count = fitting(headers, rows, limit, keep) if limit < EVERYTHING else len(headers)
    shown = [row[:count] for row in rows]
    if fold and limit < EVERYTHING:
        shown, limit = _with_names_folded(headers[:count], shown, limit)
    table = _table(headers[:count], shown, form, wrap)
    lines = _text(table, limit).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def fitting(
    headers: Sequence[str], rows: Sequence[Row], width: int, keep: int | None
) -> int:
    """Return the number of leading columns that fit into *width* characters, at least
    *keep*.
    """
    count = len(headers)
    if keep is None:
        return count
    widths = []
    for k, header in enumerate(headers):
        widths.append(_width([header, *(show(row[k]) for row in rows)]))
    while count > keep and sum(widths[:count]) + GAP * (count - 1) > width:
        count -= 1
    return count


def _with_names_folded(
    headers: Sequence[str], rows: Sequence[Row], width: int
) -> tuple[list[Row], int]:
    """Return *rows* with the names in their first column folded so that the table fits
    into *width* characters, and the width that it then needs, which may be larger.
    """
    others = sum(
        GAP + _width([header, *(show(row[k]) for row in rows)])
        for k, header in enumerate(headers)
        if k
    )
    room = max(width - others, NARROWEST)
    names = [folded(show(row[0]), room) for row in rows]
    shown: list[Row] = [(name, *row[1:]) for name, row in zip(names, rows, strict=True)]
    return shown, max(width, others + _width([headers[0], *names]))


def _width(texts: Sequence[str]) -> int:
    """Return the number of characters that a column of *texts* takes on a terminal."""
    from rich.cells import cell_len

    lines = "\n".join(texts).splitlines()
    return max(map(cell_len, lines), default=0)


def folded(text: str, most: int) -> str:
    """Return *text* in lines of at most *most* characters, broken after a sign that
    separates settings, or else within one.

    >>> folded("link-aware:evaluations=200,seed=1", 21)
    'link-aware:\\nevaluations=200,\\nseed=1'
    """
    lines = [""]
    for part in re.findall(rf"(?:{MATH.pattern}|.)*?(?:[:,/ ]|$)", text):
        if lines[-1] and drawn_length(lines[-1] + part.rstrip()) > most:
            lines.append("")
        while drawn_length(part.rstrip()) > most and not MATH.search(part):
            end = part.rfind("=", 0, most) + 1
            end = end or max(part.rfind(sign, 0, most) for sign in "_-") + 1 or most
            lines[-1] = part[:end]
            lines.append("")
            part = part[end:]
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines if line.strip())


def drawn_length(text: str) -> int:
    """Return about how many characters wide *text* is when it is drawn; a command of
    its math is one sign.

    >>> drawn_length(r"Ours ($\\sigma=0.3$)")
    12
    """
    for math in MATH.findall(text):
        text = text.replace(math, re.sub(r"\\[a-zA-Z]+ ?", "x", math).strip("$"))
    return len(text)


def _is_numeric(rows: Sequence[Row], k: int) -> bool:
    """Return whether all cells of column *k* are numbers."""
    return all(NUMERIC.fullmatch(show(row[k])) for row in rows)


def _latex(
    headers: Sequence[str],
    rows: Sequence[Row],
    sides: str | None,
    groups: Sequence[tuple[str, int]],
) -> str:
    """Return the table as a ``tabular`` of LaTeX with the rules of booktabs."""
    if sides is None:
        places = range(len(headers))
        sides = "".join("r" if _is_numeric(rows, k) else "l" for k in places)
    columns = [
        _unit_in_heading(header, [row[k] for row in rows])
        for k, header in enumerate(headers)
    ]
    header, *lines = map(_latex_line, zip(*columns, strict=True))
    text = [f"\\begin{{tabular}}{{{sides}}}", "\\toprule", header]
    for heading, count in groups or [("", len(lines))]:
        text.append("\\midrule")
        if heading:
            across = f"\\multicolumn{{{len(headers)}}}{{l}}"
            text.append(f"{across}{{{_in_latex(heading)}}} \\\\")
        text += lines[:count]
        lines = lines[count:]
    return "\n".join([*text, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _unit_in_heading(header: str, cells: Sequence[object]) -> list[str]:
    """Return the heading and the cells of a column as text; a unit that all cells share
    moves into the heading, and None is shown as a dash.
    """
    shown = [show(cell) for cell in cells if cell is not None]
    units = {text.partition(" ")[2] for text in shown if NUMERIC.fullmatch(text)}
    unit = units.pop() if len(units) == 1 and all(map(NUMERIC.fullmatch, shown)) else ""
    found = [f"{header} ({unit})" if unit else header]
    for cell in cells:
        text = "--" if cell is None else show(cell)
        found.append(text.removesuffix(f" {unit}") if unit else text)
    return found


def _latex_line(cells: Sequence[str]) -> str:
    """Return one line of a LaTeX table."""
    return " & ".join(map(_in_latex, cells)) + r" \\"


def _in_latex(text: str) -> str:
    """Return *text* as LaTeX prints it; math, such as ``$\\sigma=0.3$``, stays.

    >>> _in_latex("50 % of $n_1$")
    '50 \\\\% of $n_1$'
    """
    parts = re.split(f"({MATH.pattern})", text)
    return "".join(
        part if MATH.fullmatch(part) else part.translate(LATEX) for part in parts
    )


def _table(headers: Sequence[str], rows: Sequence[Row], form: Form, wrap: int) -> Table:
    """Return the table as an object of the package rich: numbers are aligned right, and
    text in the last *wrap* columns is wrapped.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    markdown = form == "markdown"
    style = box.MARKDOWN if markdown else box.SIMPLE_HEAD
    padding = (0, 1) if markdown else (0, 1, 0, 0)
    table = Table(box=style, show_edge=markdown, pad_edge=False, padding=padding)
    for k, header in enumerate(headers):
        numeric = _is_numeric(rows, k)
        wrapped = not markdown and k >= len(headers) - wrap
        table.add_column(
            header,
            justify="right" if numeric else "left",
            no_wrap=not wrapped,
            overflow="ellipsis",
        )
    for row in rows:
        table.add_row(*(Text(show(cell)) for cell in row))
    return table


def _text(table: Table, width: int) -> str:
    """Return the text of a table that is at most *width* characters wide."""
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=width, color_system=None, highlight=False).print(table)
    return text.getvalue()


def named_once(remarks: Iterable[str], name: str) -> list[str]:
    """Return *remarks* without the file *name* that each begins with, except the first.

    >>> named_once(["a.txt: few rows", "a.txt: no DAG", "slow"], "a.txt")
    ['a.txt: few rows', 'no DAG', 'slow']
    """
    found: list[str] = []
    for text in remarks:
        known = any(other.startswith(f"{name}: ") for other in found)
        found.append(text.removeprefix(f"{name}: ") if known else text)
    return found


def say(text: str) -> None:
    """Print one remark to standard error, wrapped to the width of the terminal (or of
    COLUMNS) if there is one.
    """
    if sys.stderr.isatty() or "COLUMNS" in os.environ:
        text = textwrap.fill(
            text,
            terminal_width(),
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
    print(text, file=sys.stderr)


def percent(value: float | None) -> str | None:
    """Return a ratio in per cent with one decimal, or with two significant digits below
    1 %; None stays None.

    >>> percent(0.0123), percent(0.0012), percent(0.0), percent(1e-13)
    ('1.2 %', '0.12 %', '0 %', '0 %')
    """
    if value is None:
        return None
    if abs(value) < 1e-9:
        return "0 %"
    return f"{100 * value:.1f} %" if abs(value) >= 0.01 else f"{100 * value:.2g} %"
