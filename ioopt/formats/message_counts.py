"""Message counts as CSV: one row for each processor and quantum.

Columns ``ganged``, ``running`` (0/1, false/true, no/yes) and ``messages`` are needed;
``application`` (or ``job``) names the application, the file's name when it is not there. Other
columns, such as ``quantum`` and ``processor``, are not read.
"""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path

from ioopt.errors import InstanceError
from ioopt.formats.native import read_bytes
from ioopt.problems.message_counts import MessageCounts, MessageCountsProblem

NEEDED = ("ganged", "running", "messages")
_TRUTH = {
    "0": False, "false": False, "no": False, "1": True, "true": True, "yes": True,
}  # fmt: skip


def read_message_counts(
    source: str | os.PathLike[str], processors: int = 4, name: str | None = None
) -> MessageCountsProblem:
    """Read a CSV file (also .gz; ``-`` is standard input) of counts on gangs of *processors*.

    Raises InstanceError naming the file, the line and the value that is wrong.
    """
    path = os.fspath(source)
    shown = "<stdin>" if path == "-" else path
    stem = "messages" if path == "-" else Path(path).name.split(".")[0]
    try:
        text = read_bytes(source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InstanceError(f"{shown}: not UTF-8 text (byte {error.start})") from None
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    columns = [column.strip() for column in reader.fieldnames or ()]
    reader.fieldnames = columns
    missing = [column for column in NEEDED if column not in columns]
    if missing:
        raise InstanceError(
            f"{shown}: line 1: column {missing[0]!r} is missing; needed: {', '.join(NEEDED)}"
        )
    label = next((column for column in ("application", "job") if column in columns), None)
    counts: dict[str, dict[str, list[float]]] = {}
    for row in reader:
        where = f"{shown}: line {reader.line_num}"
        app = row[label] if label else stem
        if not app:
            raise InstanceError(f"{where}: {label}: empty")
        kind = _kind(row, where)
        lists = counts.setdefault(app, {"gang": [], "running": [], "nonrunning": []})
        lists[kind].append(_count(row["messages"], where))
    if not counts:
        raise InstanceError(f"{shown}: no counts: the file has a heading only")
    applications = tuple(
        MessageCounts(id=app, **{kind: tuple(values) for kind, values in lists.items()})
        for app, lists in counts.items()
    )
    meta = {"source": Path(path).name if path != "-" else "standard input"}
    return MessageCountsProblem(
        name=name or stem, meta=meta, processors=processors, applications=applications
    )


def _kind(row: dict[str, str | None], where: str) -> str:
    ganged, running = (_truth(row[column], column, where) for column in ("ganged", "running"))
    if ganged and not running:
        raise InstanceError(f"{where}: ganged but not running: in a gang quantum all processes run")
    return "gang" if ganged else "running" if running else "nonrunning"


def _truth(text: str | None, column: str, where: str) -> bool:
    value = _TRUTH.get((text or "").strip().lower())
    if value is None:
        raise InstanceError(f"{where}: {column}: wanted 0 or 1, not {text!r}")
    return value


def _count(text: str | None, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        raise InstanceError(f"{where}: messages: wanted a number, 0 or more, not {text!r}")
    return value
