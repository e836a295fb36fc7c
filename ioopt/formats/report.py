"""What an importer hands back: the problem, and everything the user should know about the reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Imported:
    """A problem made from a foreign file, with one line a warning (what was left out, assumed, cut)."""

    problem: Any
    warnings: tuple[str, ...] = ()


def imported(kind: str, data: Mapping[str, Any], warnings: Iterable[str], name: str) -> Imported:
    """Build the problem of *kind* from plain *data* that was read from the file *name*.

    Raises InstanceError with one line when the data break a rule of the kind.
    """
    from ioopt.formats.native import validate
    from ioopt.registry import KINDS, load_target

    spec = KINDS[kind]
    problem = validate(
        load_target(spec.problem), {"format": spec.format, "version": 1, **data}, name
    )
    return Imported(problem, tuple(warnings))


def some(items: Iterable[object], most: int = 5) -> str:
    """The first few *items* as text, for warnings.

    >>> some(range(9), most=3)
    '0, 1, 2, ...'
    """
    shown = [str(item) for item in items]
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
