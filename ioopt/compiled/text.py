"""Say in a kernel text what only its translation into C needs to know."""

from typing import TypeVar

RecordT = TypeVar("RecordT")


def copy_record(source: RecordT, target: RecordT) -> None:
    """Copy all fields of the record *source* to *target*; in C, one assignment."""
    for name in type(source).__slots__:  # type: ignore[attr-defined]
        setattr(target, name, getattr(source, name))
