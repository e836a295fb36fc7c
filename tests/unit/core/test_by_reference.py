"""Kernels get named tuples by their address: what they read and
write is the caller's.
"""

from typing import Any, NamedTuple

import pytest


class Inner(NamedTuple):
    """What stands in another tuple."""

    values: Any
    counts: Any


class Outer(NamedTuple):
    """A number and a tuple of arrays."""

    place: int
    inner: Inner


def take(inner: Any, place: int, amount: float) -> None:
    """Called by the kernel with a tuple that stands in another."""
    inner.values[place] -= amount
    inner.counts[place] += 1


def move(outer: Any, amount: float, times: int) -> float:
    """The kernel: 10 - 3 * 2.5 = 2.5 is left at place 1, and 2 values there are."""
    for _ in range(times):
        take(outer.inner, outer.place, amount)
    return float(outer.inner.values[outer.place]) + len(outer.inner.values)


def test_machine_code_works_on_the_arrays_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the kernel is assembled, not what it calls by itself too."""
    numba = pytest.importorskip("numba")
    import numpy as np
    from numba.extending import register_jitable

    from ioopt.compiled.references import PartCompiler, PartLibrary, Reference, entry

    made: list[str] = []
    finalize = PartLibrary.finalize
    monkeypatch.setattr(
        PartLibrary, "_finalize_specific", lambda part: made.append("assembled")
    )
    monkeypatch.setattr(
        PartLibrary, "finalize", lambda p: (made.append(p.name), finalize(p))[1]
    )
    for function in (take, move):
        register_jitable(pipeline_class=PartCompiler)(function)
    kernel = numba.njit(entry(move))
    outer = Outer(1, Inner(np.array([7.0, 10.0]), np.zeros(2, np.int64)))
    assert kernel(outer, 2.5, 3) == 2.5 + 2
    assert made == ["take", "move"]
    assert outer.inner.values.tolist() == [7.0, 2.5]
    assert outer.inner.counts.tolist() == [0, 3]
    lists = Outer(1, Inner([7.0, 10.0], [0, 0]))
    assert move(lists, 2.5, 3) == 4.5
    (argument, *_) = kernel.nopython_signatures[0].args
    assert argument == numba.typeof(outer)
    assert Reference(argument) == Reference(numba.typeof(outer))


def test_what_is_handed_on_keeps_name_and_arguments() -> None:
    """numba files machine code under them."""
    pytest.importorskip("numba")
    from inspect import signature

    from ioopt.compiled.references import entry

    made = entry(move)
    assert made.__name__ == "move" and made.__code__.co_filename == __file__
    assert [*signature(made).parameters] == ["outer", "amount", "times"]
