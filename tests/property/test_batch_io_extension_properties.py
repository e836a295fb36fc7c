"""What must not change a schedule under rules 24-49, and what scales with it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from tests.batch_io_extension_traces import random_extension
from tests.batch_io_traces import POLICIES

SEEDS = st.integers(0, 10**9)
NAMES = st.sampled_from(POLICIES)
BYTES = (
    "io_bytes", "io_bytes_per_second", "buffer_bytes", "stage_in_bytes", "stage_out_bytes", "bytes",
    "bytes_per_second", "drain_bytes_per_second", "node_bytes_per_second",
    "storage_bytes_per_second",
)  # fmt: skip


def jobs_of(instance: dict[str, Any], name: str, arithmetic: str = "float") -> Any:
    """The schedule without what only a machine with a burst buffer states."""
    given = {"arithmetic": arithmetic, "rates": "no"} | (
        {"engine": "python"} if arithmetic == "float" else {}
    )
    result = ioopt.solve(instance, name, settings=given)
    assert result.schedule is not None and result.violations == ()
    rows = result.schedule["jobs"]
    for row in rows:
        for key in ("released_seconds", "streams", "buffered"):
            row.pop(key, None)
    return rows


@given(SEEDS, NAMES)
@settings(max_examples=40, deadline=None)
def test_a_peak_that_the_nodes_cannot_reach_changes_nothing(seed: int, name: str) -> None:
    """Rule 24, to the fraction: floats order sums of own peaks otherwise."""
    instance = random_extension(seed, "queue")
    plain = jobs_of(instance, name, "exact")
    for job in instance["jobs"]:
        job["io_bytes_per_second"] = instance["machine"]["nodes"] * 2
    assert jobs_of(instance, name, "exact") == plain


@given(SEEDS, NAMES)
@settings(max_examples=40, deadline=None)
def test_no_interference_is_none(seed: int, name: str) -> None:
    instance = random_extension(seed, "queue", "buffer")
    plain = jobs_of(instance, name)
    instance["machine"]["interference"] = 0
    assert jobs_of(instance, name) == plain


@given(SEEDS, NAMES)
@settings(max_examples=40, deadline=None)
def test_a_burst_buffer_that_nobody_uses_is_none(seed: int, name: str) -> None:
    instance = random_extension(seed, "rates", "queue")
    plain = jobs_of(instance, name)
    instance["machine"]["burst_buffer"] = {
        "bytes": 8, "bytes_per_second": 1, "drain_bytes_per_second": 0.5,
        "placement": "shared" if seed % 2 else "per-node",
    }  # fmt: skip
    instance["options"] |= {
        "staging": "ahead" if seed % 3 else "at-start",
        "nodes_until": "release" if seed % 5 else "end",
    }
    assert jobs_of(instance, name) == plain


def scaled(value: Any, factor: int) -> Any:
    if isinstance(value, list):
        return [scaled(item, factor) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: item * factor if key in BYTES else scaled(item, factor) for key, item in value.items()
    }


@given(SEEDS, NAMES, st.sampled_from([2, 4, 1024]))
@settings(max_examples=40, deadline=None)
def test_bytes_and_rates_in_another_unit_leave_the_times(seed: int, name: str, factor: int) -> None:
    instance = random_extension(seed)
    assert jobs_of(scaled(instance, factor), name, "exact") == jobs_of(instance, name, "exact")


@given(SEEDS, NAMES)
@settings(max_examples=40, deadline=None)
def test_names_do_not_matter_but_their_order_does(seed: int, name: str) -> None:
    instance = random_extension(seed)
    order = sorted(job["id"] for job in instance["jobs"])
    plain = jobs_of(instance, name)
    for job in instance["jobs"]:
        job["id"] = f"job-{order.index(job['id']):03d}"
    renamed = jobs_of(instance, name)
    assert [{**row, "id": None} for row in renamed] == [{**row, "id": None} for row in plain]
