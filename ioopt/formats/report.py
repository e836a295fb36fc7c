"""What an importer hands back: the problem, and everything the user should
know about the reading.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ioopt.formats.native import validate
from ioopt.problems.base import Json, Problem

P = TypeVar("P", bound=Problem)


Warnings = defaultdict[str, list[str]]
"""What was odd -> the items of which it was so."""


def by_kind(warnings: Warnings) -> tuple[str, ...]:
    """One line a kind of oddity, with its first item and how many there were."""
    return tuple(
        f"{what}: {items[0][:80]}"
        + (f" and {len(items) - 1} more" if len(items) > 1 else "")
        for what, items in warnings.items()
        if items
    )


def imported(
    cls: type[P],
    data: Mapping[str, Any],
    warnings: Iterable[str],
    name: str,
    synthetic: Mapping[str, str] | None = None,
) -> P:
    """Build a problem of class *cls* from plain *data* that was read
    from the file *name*.

    *synthetic* says what was invented, and how:
    ``{"I/O": "a tenth of the run time"}``. It joins the *warnings*, and both are kept
    in the problem's ``meta``, so that they outlive the terminal. Raises InstanceError
    with one line when the data break a rule of the class.
    """
    made = {key: how for key, how in (synthetic or {}).items() if how}
    said = [
        *warnings,
        *(f"{name}: invented {what}: {how}" for what, how in made.items()),
    ]
    kept: Json = {"warnings": said} if said else {}
    if made:
        kept["synthetic"] = made
    if kept:
        data = {**data, "meta": {**(data.get("meta") or {}), **kept}}
    problem: P = validate(cls, data, name)
    return problem


def file_name(path: str) -> str:
    """The last part of a path, for names and provenance.

    >>> file_name("logs/KTH.swf")
    'KTH.swf'
    """
    return path.replace("\\", "/").rpartition("/")[2]


def some(items: Iterable[object], most: int = 5) -> str:
    """The first few *items* as text, for warnings.

    >>> some(range(9), most=3)
    '0, 1, 2, ...'
    """
    shown = [str(item) for item in items]
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
