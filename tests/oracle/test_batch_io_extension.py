"""Rules 24 to 37: the engines against the slow reference on tiny random traces."""

import pytest
from _pytest.mark.structures import ParameterSet

from tests.batch_io_extension_traces import random_extension
from tests.conftest import needs_kernels
from tests.oracle.batch_io_compare import differences, policy_of

KINDS = {
    "rates": ("rates",),
    "queue": ("queue",),
    "mixed": (),
}


BLOCK = 250
ALL = ("python", "compiled", "exact")


def case(kind: str, seeds: range, engines: tuple[str, ...], slow: bool) -> ParameterSet:
    """Seeds of a kind, and the engines compared with the reference on each."""
    name = f"{kind}-{seeds.start}-{seeds.stop}-{'-'.join(engines)}"
    marks = [pytest.mark.slow] if slow else []
    if "compiled" in engines:
        marks.append(needs_kernels)
    return pytest.param(kind, seeds, engines, marks=marks, id=name)


CASES = []
"""In all 1,100 seeds of each kind, 2,100 of all mixed."""
for kind in KINDS:
    CASES.append(case(kind, range(25), ("python", "exact"), slow=False))
    CASES.append(case(kind, range(25, 40), ("exact",), slow=False))
    CASES.append(case(kind, range(25), ("compiled",), slow=False))
    CASES.append(case(kind, range(25, 100), ("compiled",), slow=True))
    last = 2100 if kind == "mixed" else 1100
    for at in range(100, last, BLOCK):
        CASES.append(case(kind, range(at, at + BLOCK), ALL, slow=True))


@pytest.mark.parametrize(("kind", "seeds", "engines"), CASES)
def test_engines_against_the_reference(
    kind: str, seeds: range, engines: tuple[str, ...]
) -> None:
    for seed in seeds:
        trace = random_extension(seed, *KINDS[kind])
        found = differences(trace, *policy_of(seed), *engines)
        assert not found, (seed, found)
