"""The pictures of a result by name: its kind's own first, further ones beside it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from ioopt.errors import UsageError
from ioopt.registry import KINDS, KindSpec, load_target
from ioopt.result import Result

DEFAULT = "default"
"""The picture that a kind draws first."""


def pictures_of(spec: KindSpec) -> Mapping[str, str]:
    """Name -> target of the pictures of a kind's results, the first one first."""
    first = {} if spec.plot is None else {DEFAULT: spec.plot}
    return first | dict(spec.pictures)


def draw_result(result: Result, picture: str = DEFAULT) -> Any:
    """The axes of one picture of a result; UsageError when it has no such picture."""
    name = result.kind or result.family
    spec = KINDS.get(name)
    known = {} if spec is None else pictures_of(spec)
    if not known:
        raise UsageError(f"there is no picture for {name}")
    if picture not in known:
        raise UsageError(f"no picture {picture!r} for {name}; known: {', '.join(known)}")
    if result.schedule is None and result.plan is None:
        raise UsageError("the result holds neither plan nor schedule to draw")
    return load_target(known[picture])(result)


def drawn(result: Result) -> Iterator[tuple[str, Any]]:
    """(picture, axes) of every picture for which the result holds the data (rates, a history)."""
    spec = KINDS.get(result.kind or result.family)
    for picture in () if spec is None else pictures_of(spec):
        with suppress(UsageError):
            yield picture, draw_result(result, picture)
