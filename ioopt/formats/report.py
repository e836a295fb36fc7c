"""What an importer hands back: the problem, and everything the user should know about the reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ioopt.problems.base import Problem


@dataclass(frozen=True)
class Imported:
    """A problem made from a foreign file, with one line a warning (what was left out, assumed, cut)."""

    problem: Any
    warnings: tuple[str, ...] = ()


def imported(
    cls: type[Problem], data: Mapping[str, Any], warnings: Iterable[str], name: str
) -> Imported:
    """Build a problem of class *cls* from plain *data* that was read from the file *name*.

    The warnings are kept in the problem's ``meta`` as well, so that they outlive the terminal.
    Raises InstanceError with one line when the data break a rule of the class.
    """
    from ioopt.formats.native import validate

    said = list(warnings)
    if said:
        data = {**data, "meta": {**data.get("meta", {}), "warnings": said}}
    return Imported(validate(cls, data, name), tuple(said))


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
