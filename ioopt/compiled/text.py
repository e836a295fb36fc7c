"""Say in a kernel text what its translation into C does in another way."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

ParametersT = ParamSpec("ParametersT")
ResultT = TypeVar("ResultT")
RecordT = TypeVar("RecordT")


def in_c(
    text: Callable[ParametersT, ResultT],
) -> Callable[[Callable[ParametersT, ResultT]], Callable[ParametersT, ResultT]]:
    """Return a decorator of functions that C replaces by *text*.

    The decorated function calls what Python has built in, such as sorting, and is no
    kernel text. *text* is kernel text that does the same.
    """
    return lambda function: function


def copy_record(source: RecordT, target: RecordT) -> None:
    """Copy all fields of the record *source* to *target*; in C, one assignment."""
    for name in type(source).__slots__:  # type: ignore[attr-defined]
        setattr(target, name, getattr(source, name))
