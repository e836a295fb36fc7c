"""Say in a kernel text what only its translation into C needs to know."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

ParametersT = ParamSpec("ParametersT")
ResultT = TypeVar("ResultT")


def in_c(
    text: Callable[ParametersT, ResultT],
) -> Callable[[Callable[ParametersT, ResultT]], Callable[ParametersT, ResultT]]:
    """Return a decorator of functions that C replaces by *text*.

    The decorated function calls what Python has built in, such as sorting, and is no
    kernel text. *text* is kernel text that does the same.
    """
    return lambda function: function
