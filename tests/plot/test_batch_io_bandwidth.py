"""Bandwidth over time of the two writers."""

from typing import Any

import numpy as np
import pytest

import ioopt
from ioopt.errors import UsageError
from ioopt.plot.bandwidth import (
    plot_bandwidth,
    plot_batch_io,
    rates_by_job,
    said_of_limit,
)


def test_rates_are_stacked_by_job() -> None:
    # Sharing 4 GB/s: 2 GB/s each from 0 to 4.
    result = ioopt.solve("two-writers", "base-line")
    assert result.schedule is not None
    assert rates_by_job(result.schedule) == {"A": [(0, 4, 2e9)], "B": [(0, 4, 2e9)]}
    axes = plot_batch_io(result)
    assert legend_of(axes) == ["A", "B", "storage limit", "at the limit"]
    assert said(axes) == ["storage at its limit 100.0 % of the time"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "bandwidth (GB/s)")
    lower, upper = (np.array(area.get_data().values) for area in axes.patches)
    assert (lower == [2]).all() and (upper == [4]).all()
    # The storage's 4 GB/s is a line, and the checker holds the schedule to it.
    assert list(axes.lines[0].get_ydata()) == [4, 4]
    false = result.model_copy(
        update={"schedule": result.schedule | {"storage_bytes_per_second": 5e9}}
    )
    assert [item.rule for item in ioopt.check("two-writers", false)] == ["storage-rate"]


def legend_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def said(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_the_share_of_time_at_the_limit_counts_from_the_first_start() -> None:
    result = ioopt.solve("two-writers", "cons-fcfs")
    assert result.schedule is not None
    (job, other) = result.schedule["jobs"]
    late = job | {"start_seconds": 2.0, "end_seconds": 10.0}
    late |= {"io": [{"phase": 0, "rates": [[4.0, 6.0, 4e9], [6.0, 8.0, 3.9e9]]}]}
    schedule = {"jobs": [late], "storage_bytes_per_second": 4e9}
    words = said_of_limit(schedule, rates_by_job(schedule))
    assert words == "storage at its limit 25.0 % of the time"
    schedule["jobs"] = [late, other | {"io": late["io"], "start_seconds": 0.0}]
    # Two jobs at 3.9 GB/s are above the limit, as those that have no congestion.
    words = said_of_limit(schedule, rates_by_job(schedule))
    assert words == "storage at its limit 40.0 % of the time"
    assert said_of_limit({"jobs": []}, {}) == ""


def test_many_jobs_share_one_band_and_intervals_keep_the_bytes() -> None:
    result = ioopt.solve("mira-day", "fill")
    assert result.schedule is not None
    spans = rates_by_job(result.schedule)
    axes = plot_batch_io(result)
    names = legend_of(axes)
    assert names[6:] == ["94 others", "storage limit", "at the limit"]
    *_, top = axes.patches  # 6 jobs, and the others
    assert len(axes.patches) == 7
    heights, edges, _ = top.get_data()
    assert 20 < len(heights) <= 240
    assert axes.get_ylabel() == "bandwidth (GB/s)"
    assert said(axes)[0] == "bars: mean over 15 min"
    moved = sum(
        (until - since) * rate
        for items in spans.values()
        for since, until, rate in items
    )
    assert (heights * np.diff(edges)).sum() * 1e9 * 3600 == pytest.approx(moved)
    assert max(heights) < 250  # GB/s of the machine's storage


def test_six_hundred_steps_are_drawn_as_they_are() -> None:
    steps = {"a": [(float(k), k + 0.5, 1e9) for k in range(300)]}
    few, many = (
        plot_bandwidth(steps),
        plot_bandwidth({"a": [*steps["a"], (400.0, 500.0, 1e9)]}),
    )
    assert len(few.patches[0].get_data().values) == 599
    assert (
        len(many.patches[0].get_data().values) == 100
    )  # of 5 s: 500 s / 240 is over 2 s
    assert plot_bandwidth({}).get_xlabel() == "time (s)"


def test_without_rates_there_is_a_hint() -> None:
    result = ioopt.solve("two-writers", "base-line", settings={"rates": "no"})
    with pytest.raises(UsageError, match="rates=yes"):
        plot_batch_io(result)
