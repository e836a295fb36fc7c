"""Build the problem that an importer returns, with warnings about its source."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from ioopt.formats.native import validate
from ioopt.problems.base import Json, Problem

P = TypeVar("P", bound=Problem)
Warnings = defaultdict[str, list[str]]
"""For each kind of oddity, the items of the source that show it."""

LONGEST_ITEM = 160
"""The largest number of characters of an item that is shown whole."""


def by_kind(warnings: Warnings) -> tuple[str, ...]:
    """Return one line for each kind of oddity that has items.

    The line shows the first item and the number of other items.
    """
    lines = []
    for what, items in warnings.items():
        if not items:
            continue
        first = items[0]
        if len(first) > LONGEST_ITEM:
            first = f"{first[: LONGEST_ITEM - 3]}..."
        line = f"{what}: {first}"
        if len(items) > 1:
            line += f" and {len(items) - 1} more"
        lines.append(line)
    return tuple(lines)


def imported(
    cls: type[P],
    data: Json,
    warnings: Iterable[str],
    name: str,
    synthetic: Mapping[str, str] | None = None,
) -> P:
    """Build a problem of class *cls* from plain *data* read from the file *name*.

    *synthetic* maps each assumed thing to a description of the assumption, such as
    ``{"I/O": "a tenth of the run time"}``. Empty descriptions are ignored. A line about
    each assumption is added to *warnings*. Warnings and assumptions are kept in the
    ``meta`` of the problem. Raises InstanceError with one line when the data break a
    rule of the class.
    """
    assumed = {key: how for key, how in (synthetic or {}).items() if how}
    lines = [*warnings]
    lines += [f"{name}: {what} assumed: {how}" for what, how in assumed.items()]
    kept: Json = {}
    if lines:
        kept["warnings"] = lines
    if assumed:
        kept["synthetic"] = assumed
    if kept:
        data = {**data, "meta": {**(data.get("meta") or {}), **kept}}
    problem: P = validate(cls, data, name)
    return problem


def file_name(path: str) -> str:
    """Return the last component of *path*, which names the source of an instance.

    >>> file_name("logs/KTH.swf")
    'KTH.swf'
    """
    return path.replace("\\", "/").rpartition("/")[2]


def some(items: Iterable[object], most: int = 5) -> str:
    """Return at most the first *most* of *items* as text, for warnings.

    >>> some(range(9), most=3)
    '0, 1, 2, ...'
    """
    shown = [str(item) for item in items]
    if len(shown) > most:
        shown[most:] = ["..."]
    return ", ".join(shown)
