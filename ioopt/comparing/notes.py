"""Say in lines what the runs of a comparison note, and which rules plans break."""

import re
from collections.abc import Callable, Iterator, Sequence

from ioopt.comparing.measures import Row
from ioopt.problems.base import OTHER_WAITS, SYNTHETIC_IO
from ioopt.result import Status, Violation
from ioopt.solving import COUNTED_VIOLATIONS
from ioopt.units import counted

FIGURE = re.compile(r"(?<!\.py:)\b\d[\d.]*(e[-+]?\d+)?|'[^']*'")
"""A number or a quoted name in a note, but no line number of a file."""


def remarks_on(
    rows: Sequence[Row], is_told: Callable[[str], bool] = bool
) -> Iterator[str]:
    """Yield a line for each kind of note of a solver for which *is_told* is true, and
    one for its violations, with the number of instances.

    Notes that differ only in numbers and quoted names are of one kind; the line is that
    of the first instance. Solvers with the same line share it.
    """
    said: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        for note in filter(is_told, row["notes"]):
            if note.startswith((SYNTHETIC_IO, OTHER_WAITS)):
                continue  # told once, under the table
            if row["violations"] and note.startswith(COUNTED_VIOLATIONS):
                continue  # told below
            line = note.removeprefix(row["solver"]).removeprefix(":").lstrip()
            alike = said.setdefault((row["solver"], FIGURE.sub("#", line)), {})
            alike.setdefault(row["instance"], line)
    told: dict[tuple[str, str], list[str]] = {}
    for (solver, _), lines in said.items():
        line = next(iter(lines.values()))
        told.setdefault((_where(list(lines)), line), []).append(solver)
    for (where, line), solvers in told.items():
        yield f"note: {where}: {', '.join(solvers)}: {line}"
    broken: dict[str, list[Row]] = {}
    for row in rows:
        if row["violations"]:
            broken.setdefault(row["solver"], []).append(row)
    for solver, wrong in broken.items():
        count = sum(len(row["violations"]) for row in wrong)
        such = ", such as" if count > 1 else ":"
        example = Violation(**wrong[0]["violations"][0])
        line = f"{counted(count, 'violation')}{such} {example}"
        names = [row["instance"] for row in wrong]
        yield f"violation: {_where(names)}: {solver}: {line}"


def went_wrong(row: Row) -> bool:
    """Return whether a row has an error, which is told even where notes are not."""
    return bool(row["violations"]) or row["status"] == Status.ERROR


def _where(instances: Sequence[str]) -> str:
    """Return the name of the first of *instances*, with the number of the others."""
    more = len(instances) - 1
    return f"{instances[0]} and {more} more" if more else instances[0]
