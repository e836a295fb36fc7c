"""Rules 24 to 37: the engines against the slow reference on tiny random traces."""

import pytest

from tests.batch_io_extension_traces import random_extension
from tests.conftest import ENGINES
from tests.oracle.batch_io_compare import differences, policy_of

KINDS = {
    "rates": ("rates",),
    "queue": ("queue",),
    "mixed": (),
}


BLOCK = 250
BLOCKS = [
    pytest.param(kind, range(at, at + BLOCK), marks=pytest.mark.slow)
    for kind in KINDS
    for at in range(100, 2100 if kind == "mixed" else 1100, BLOCK)
]
"""1,000 seeds of each kind, 2,000 of all mixed."""


@pytest.mark.parametrize(
    ("kind", "seeds"), [*((kind, None) for kind in KINDS), *BLOCKS]
)
@pytest.mark.parametrize("engine", [*ENGINES, "exact"])
def test_engines_against_the_reference(
    engine: str, kind: str, seeds: range | None
) -> None:
    for seed in seeds or range({"python": 25, "exact": 40}.get(engine, 100)):
        found = differences(
            random_extension(seed, *KINDS[kind]), *policy_of(seed), engine
        )
        assert not found, (seed, found)
