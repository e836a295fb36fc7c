"""Message counts as CSV: one row for each processor and quantum.

Columns ``ganged``, ``running`` (0/1, false/true, no/yes) and ``messages`` are needed;
``application`` (or ``job``) names the application, the file's name when it is not there. Where
``quantum`` and ``processor`` (from 0) are there too and name every processor in every quantum, in
any order, the recording is kept as one in time. Other columns are not read.
"""

import os
from itertools import groupby
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from ioopt.errors import InstanceError
from ioopt.formats.native import named, validate
from ioopt.formats.report import imported, some
from ioopt.formats.values import Cell, csv_rows
from ioopt.problems.base import Json
from ioopt.problems.flexgang.message_counts import QUANTA, MessageCountsProblem, Quanta

Truth = Annotated[bool, BeforeValidator(lambda text: str(text).strip())]
Row = tuple[int, int, Quanta, float]
"""Quantum and processor (-1 where they are not known), the kind of quantum, the count."""


class _Needed(BaseModel):
    """What every row must have; a truth is 0 or 1, true or false, yes or no."""

    ganged: Truth
    running: Truth
    messages: Cell


NEEDED = tuple(_Needed.model_fields)


def read_message_counts(
    source: str | os.PathLike[str], processors: int = 4, name: str | None = None
) -> MessageCountsProblem:
    """Read a CSV file (also .gz; ``-`` is standard input) of counts on gangs of *processors*.

    Raises InstanceError naming the file, the line and the value that is wrong.
    """
    shown = named(source)
    stem = "messages" if shown == "<stdin>" else Path(source).name.split(".")[0]
    columns: list[str] = []
    counts: dict[str, list[Row]] = {}
    for where, row in csv_rows(source, NEEDED):
        columns = columns or list(row)
        label = next((column for column in ("application", "job") if column in row), None)
        app = row[label] if label else stem
        if not app:
            raise InstanceError(f"{where}: {label}: empty")
        place = _whole(row.get("quantum")), _whole(row.get("processor"))
        cells: _Needed = validate(_Needed, row, where)
        if cells.ganged and not cells.running:
            raise InstanceError(
                f"{where}: ganged but not running: in a gang quantum all processes run"
            )
        kind: Quanta = "gang" if cells.ganged else "running" if cells.running else "nonrunning"
        counts.setdefault(app, []).append((*place, kind, cells.messages))
    if not counts:
        raise InstanceError(f"{shown}: no counts: the file has a heading only")
    applications: list[Json] = []
    for app, rows in counts.items():
        if min(min(row[:2]) for row in rows) >= 0:  # all places are known: a recording in time
            rows = sorted(rows, key=lambda row: row[:2])
        lists: Json = {name: tuple(row[3] for row in rows if row[2] == name) for name in QUANTA}
        applications.append({"id": app, **lists, "absent": _absent(rows, processors)})
    known = {*NEEDED, "application", "job", "quantum", "processor"}
    other = [column for column in columns if column and column not in known]
    warnings = [f"{shown}: columns not used: {', '.join(other)}"] if other else []
    loose = [item["id"] for item in applications if not item["absent"]]
    if loose and {"quantum", "processor"} <= set(columns):
        warnings.append(
            f"{shown}: the order in time is dropped, as not all {processors} processors (--processors) "
            f"stand in every quantum: {some(loose)}"
        )
    meta = {"source": "standard input" if shown == "<stdin>" else Path(shown).name}
    data = {"name": name or stem, "meta": meta, "processors": processors,
            "applications": applications}  # fmt: skip
    return imported(MessageCountsProblem, data, warnings, shown)


def _absent(rows: list[Row], processors: int) -> tuple[tuple[int, ...], ...]:
    """Absent processors by quantum; empty where not all processors are there in each quantum."""
    found = []
    for quantum, group in groupby(rows, key=lambda row: row[0]):
        places = [(processor, kind) for _, processor, kind, _ in group]
        missing = tuple(processor for processor, kind in places if kind == "nonrunning")
        wanted = {"running", "nonrunning"} if missing else {"gang"}
        kinds = {kind for _, kind in places}
        if quantum < 0 or [p for p, _ in places] != list(range(processors)) or not kinds <= wanted:
            return ()
        found.append(missing)
    return tuple(found)


def _whole(text: str | None) -> int:
    """A whole number, 0 or more; -1 where there is none."""
    whole = text is not None and text.strip().isdecimal() and len(text) < 20
    return int(text or -1) if whole else -1
