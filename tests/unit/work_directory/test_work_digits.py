"""What is proven of a work directory does not depend on the last
digits of its times.
"""

import json

import pytest

import ioopt
from ioopt.catalog import resolve


@pytest.mark.parametrize("digits", [2.3e-16, -2.3e-16, 1e-12])
def test_times_with_many_digits_are_proven_too(digits: float) -> None:
    """Two chains of two tasks of 1 s that do not fit beside each other: 4 s,
    whatever the digits.
    """
    with open(resolve("directory-two-chains")) as file:
        data = json.load(file)
    for k, task in enumerate(data["tasks"]):
        task["compute_seconds"] *= 1 + (k + 1) * digits
    result = ioopt.solve(data, "exact", time_limit=60)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(4.0, rel=1e-11)
    assert 0 <= result.objective - result.bound < 4e-9
