"""Rules 24 to 37: the engines against the slow reference on tiny random traces."""

import pytest

from tests.batch_io_extension_traces import random_extension
from tests.oracle.batch_io_compare import differences, policy_of

KINDS = {
    "rates": ("rates",),
    "queue": ("queue",),
    "mixed": (),
}


BLOCK = 250
ALL = ("python", "compiled", "exact")
FIRST = [
    pytest.param(kind, seeds, engines, marks=marks)
    for kind in KINDS
    for seeds, engines, marks in (
        (range(25), ("python", "exact"), ()),
        (range(25, 40), ("exact",), ()),
        (range(100), ("compiled",), pytest.mark.slow),
    )
]
BLOCKS = [
    pytest.param(kind, range(at, at + BLOCK), ALL, marks=pytest.mark.slow)
    for kind in KINDS
    for at in range(100, 2100 if kind == "mixed" else 1100, BLOCK)
]
"""1,000 seeds of each kind, 2,000 of all mixed."""


@pytest.mark.parametrize(("kind", "seeds", "engines"), [*FIRST, *BLOCKS])
def test_engines_against_the_reference(
    kind: str, seeds: range, engines: tuple[str, ...]
) -> None:
    for seed in seeds:
        trace = random_extension(seed, *KINDS[kind])
        found = differences(trace, *policy_of(seed), *engines)
        assert not found, (seed, found)
