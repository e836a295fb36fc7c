"""Read rows of logs and traces by the same rules for all formats.

A row must have as many cells as the heading. A number must be readable as a whole, with
its sign, unit and thousands separators; otherwise the row is bad. A record that occurs
twice counts once, and a remark says so. A bad row is an error. If the user allows a
share of bad rows, they are left out and counted by cause.
"""

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ioopt.errors import InstanceError
from ioopt.formats.report import some
from ioopt.formats.values import LARGEST
from ioopt.units import counted

Row = TypeVar("Row")
Read = TypeVar("Read")

_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")


class BadRow(ValueError):
    """Report a row that cannot be read.

    The message describes the row. ``cause`` is a text that all rows with the same fault
    share.
    """

    def __init__(self, text: str, cause: str = "") -> None:
        super().__init__(text)
        self.cause = cause or text


def bad_value(what: str, text: str, why: str) -> BadRow:
    """Return the error for *text*, a bad value of *what*; *why* names the fault.

    >>> str(bad_value("realtime", "-3s", "is negative"))
    "realtime '-3s' is negative"
    """
    return BadRow(f"{what} {text[:40]!r} {why}", f"{what} {why}")


def number_of(text: str, what: str) -> float:
    """Return *text* as a finite number; *what* names the value in messages.

    >>> number_of("1,024", "MaxProcs"), number_of("-1", "run time")
    (1024.0, -1.0)
    """
    try:
        if "_" in text:  # Python reads 1_000 as a number, but no log writes that.
            raise ValueError(text)
        value = float(text)
    except ValueError:
        if not _THOUSANDS.fullmatch(text.strip()):
            why = "is not a number"
            if "," in text:
                why += " (a decimal comma?)"
            raise bad_value(what, text, why) from None
        value = float(text.replace(",", ""))
    if not math.isfinite(value):
        raise bad_value(what, text, "is not a finite number")
    return value


def amount_of(text: str, what: str, largest: float = LARGEST) -> float:
    """Return *text* as a number from 0 to *largest*; *what* names it in messages."""
    value = number_of(text, what)
    if value < 0:
        raise bad_value(what, text, "is negative")
    if value > largest:
        raise bad_value(what, text, f"is above {largest:g}")
    return value + 0.0  # -0 is 0


def lines_of(text: str) -> list[str]:
    """Split *text* at line feeds and drop carriage returns at the ends of lines.

    Text without line feeds is split at carriage returns. A form feed or another
    separator of Unicode does not end a line.
    """
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return [line.rstrip("\r") for line in text.split("\n")]


def cells_by_column(columns: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Return, for each column, its cell in a row.

    Raises BadRow if the numbers of columns and cells differ, or if two columns with the
    same name have different cells.
    """
    if len(cells) != len(columns):
        how = "longer" if len(cells) > len(columns) else "shorter"
        counts = f"{len(cells)} cells, but the heading has {len(columns)}"
        raise BadRow(counts, f"{how} than the heading")
    row: dict[str, str] = {}
    for column, cell in zip(columns, cells):
        if row.setdefault(column, cell) != cell:
            raise BadRow(
                f"two columns {column!r} that differ: {row[column]!r} and {cell!r}",
                f"two columns {column!r} that differ",
            )
    return row


def table(
    text: str, name: str, needed: Sequence[str]
) -> tuple[list[str], Iterator[tuple[int, tuple[str, ...]]]]:
    """Return the heading of a table, and an iterator over its (line number, row).

    The separator is the tab, semicolon or comma that is most frequent in the first
    line. In a table with commas or semicolons, a cell in quotes may contain the
    separator. In a table with tabs, only quotes around a whole cell have a meaning, and
    they are removed. Blank lines are skipped, as are repeated headings of joined files.
    Raises InstanceError if a *needed* column is missing.
    """
    rows = _stripped_rows(text, name)
    number, columns = next(rows, (1, ()))
    for column in needed:
        if column not in columns:
            raise InstanceError(
                f"{name}: line {number}: column {column!r} is missing; needed: "
                f"{', '.join(needed)}"
            )
    return list(columns), (row for row in rows if row[1] != columns)


def _stripped_rows(text: str, name: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (line number, cells) of each row of *text* that is not blank."""
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max("\t;,", key=first.count)
    if delimiter == "\t":
        rows = _tab_rows(text)
    else:
        rows = _quoted_rows(text, name, delimiter)
    for number, cells in rows:
        stripped = tuple(cell.strip() for cell in cells)
        if any(stripped):
            yield number, stripped


def _tab_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of each row of a tab-separated table."""
    for number, line in enumerate(lines_of(text), 1):
        yield number, [_unwrapped(cell) for cell in line.split("\t")]


def _unwrapped(cell: str) -> str:
    """Return *cell* without the quotes that enclose all of it."""
    if len(cell) < 2 or not cell[0] == cell[-1] == '"':
        return cell
    return cell[1:-1].replace('""', '"')


def _quoted_rows(
    text: str, name: str, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of each row of a table whose cells may be quoted."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InstanceError(
            f"{name}: line {reader.line_num}: not CSV: {error}"
        ) from None


def read_rows(
    rows: Iterable[tuple[int, Row]],
    read: Callable[[Row], Read | None],
    name: str,
    skip_bad: float | None = None,
    key: Callable[[Row], Hashable] = lambda row: row,
) -> tuple[list[Read], list[str]]:
    """Read the numbered *rows* of the log *name* with the function *read*.

    Return the values that *read* returned, and remarks on rows that were left out.
    *read* raises BadRow for a row that it cannot read. It returns None for a row of no
    interest, which is not counted. Of several rows with the same *key*, only the first
    counts; a row whose key is None is never a repetition. Raises InstanceError for the
    first bad row. If *skip_bad* is given, InstanceError is raised only if more than
    that share of the rows is bad.
    """
    found: list[Read] = []
    repeated: list[int] = []
    bad: dict[str, list[int]] = defaultdict(list)
    examples: dict[str, str] = {}
    seen: set[Hashable] = set()
    for number, row in rows:
        identity = key(row)
        if identity is not None and identity in seen:
            repeated.append(number)
            continue
        try:
            value = read(row)
        except BadRow as error:
            example = f"line {number}: {error}"
            if skip_bad is None:
                raise InstanceError(
                    f"{name}: {example}; --skip-bad leaves out such rows"
                ) from None
            bad[error.cause].append(number)
            examples.setdefault(error.cause, example)
            continue
        if value is not None:
            seen.add(identity)
            found.append(value)
    total = sum(len(numbers) for numbers in bad.values())
    count = len(found) + len(repeated) + total
    if skip_bad is not None:
        refuse_too_many(total, count, skip_bad, name, "rows", examples.values())
    return found, _remarks(count, bad, repeated)


def _remarks(
    count: int, bad: Mapping[str, Sequence[int]], repeated: Sequence[int]
) -> list[str]:
    """Return one remark for each cause of bad rows, and one on *repeated* rows.

    *bad* maps each cause to line numbers; *repeated* has line numbers too.
    """
    remarks = [
        f"{len(numbers)} of {count} rows left out, {cause}: line {some(numbers)}"
        for cause, numbers in bad.items()
    ]
    if repeated:
        remarks.append(
            f"{counted(len(repeated), 'repeated row')} counted once: line "
            f"{some(repeated)}"
        )
    return remarks


def refuse_too_many(
    bad: int, count: int, allowed: float, name: str, noun: str, examples: Iterable[str]
) -> None:
    """Raise InstanceError if *bad* items are more than the share *allowed* of *count*.

    *noun* names the items and *examples* shows some bad ones in the message.
    """
    # NaN is refused, and a share that a message suggested may be rounded.
    if not bad <= allowed * count * (1 + 1e-9):
        share = math.ceil(100 * bad / count) / 100
        raise InstanceError(
            f"{name}: {bad} of {count} {noun} cannot be read, more than "
            f"{100 * allowed:g} %: {'; '.join(examples)}; --skip-bad {share:g} allows "
            "that"
        )
