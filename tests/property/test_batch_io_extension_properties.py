"""What must not change a schedule under rules 24 to 37, and what scales with it."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from tests.batch_io_extension_traces import random_extension
from tests.batch_io_traces import POLICIES

SEEDS = st.integers(0, 10**9)
NAMES = st.sampled_from(POLICIES)
BYTES = (
    "io_bytes",
    "io_bytes_per_second",
    "node_bytes_per_second",
    "storage_bytes_per_second",
)


def jobs_of(instance: dict[str, Any], name: str, arithmetic: str = "float") -> Any:
    given = {"arithmetic": arithmetic, "rates": "no"} | (
        {"engine": "python"} if arithmetic == "float" else {}
    )
    result = ioopt.solve(instance, name, settings=given)
    assert result.schedule is not None and result.violations == ()
    return result.schedule["jobs"]


def scaled(value: Any, factor: int) -> Any:
    if isinstance(value, list):
        return [scaled(item, factor) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: item * factor if key in BYTES else scaled(item, factor)
        for key, item in value.items()
    }


@given(SEEDS, NAMES, st.sampled_from([2, 4, 1024]))
@settings(max_examples=40, deadline=None)
def test_bytes_and_rates_in_another_unit_leave_the_times(
    seed: int, name: str, factor: int
) -> None:
    instance = random_extension(seed)
    assert jobs_of(scaled(instance, factor), name, "exact") == jobs_of(
        instance, name, "exact"
    )


@given(SEEDS, NAMES)
@settings(max_examples=40, deadline=None)
def test_names_do_not_matter_but_their_order_does(seed: int, name: str) -> None:
    instance = random_extension(seed)
    order = sorted(job["id"] for job in instance["jobs"])
    plain = jobs_of(instance, name)
    for job in instance["jobs"]:
        job["id"] = f"job-{order.index(job['id']):03d}"
    renamed = jobs_of(instance, name)
    assert [{**row, "id": None} for row in renamed] == [
        {**row, "id": None} for row in plain
    ]
