"""Bandwidth over time of the two writers."""

from __future__ import annotations

import pytest

import ioopt
from ioopt.errors import UsageError
from ioopt.plot.bandwidth import plot_batch_io, rates_by_job


def test_rates_are_stacked_by_job() -> None:
    # Sharing 4 GB/s: 2 GB/s each from 0 to 4.
    result = ioopt.solve("two-writers", "base-line")
    assert result.schedule is not None
    assert rates_by_job(result.schedule) == {"A": [(0, 4, 2e9)], "B": [(0, 4, 2e9)]}
    axes = plot_batch_io(result)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["A", "B"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "bandwidth (GB/s)")
    top = max(
        path[:, 1].max() for area in axes.collections for path in [area.get_paths()[0].vertices]
    )
    assert top == pytest.approx(4)


def test_many_jobs_are_drawn_together() -> None:
    axes = plot_batch_io(ioopt.solve("mira-day", "fill"))
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(names) == 11 and names[-1].endswith("others")


def test_without_rates_there_is_a_hint() -> None:
    result = ioopt.solve("two-writers", "base-line", settings={"rates": "no"})
    with pytest.raises(UsageError, match="rates=yes"):
        plot_batch_io(result)
