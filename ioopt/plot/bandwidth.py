"""Bandwidth over time: who transfers at what rate."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from ioopt.errors import UsageError
from ioopt.result import Result

Spans = dict[str, list[tuple[float, float, float]]]
NAMED_JOBS = 10
GIGABYTE = 1e9


def rates_by_job(schedule: Mapping[str, Any]) -> Spans:
    """Job -> its (from, until, bytes per second), jobs with the most bytes first (ties: as listed).

    Raises UsageError when the schedule does not say the rates of its requests.
    """
    spans: Spans = {}
    for job in schedule["jobs"]:
        for record in job["io"]:
            if "rates" not in record:
                raise UsageError("the result holds no rates; solve again with --set rates=yes")
            spans.setdefault(str(job["id"]), []).extend(tuple(span) for span in record["rates"])
    moved = {
        name: sum((until - since) * rate for since, until, rate in items)
        for name, items in spans.items()
    }
    return {name: spans[name] for name in sorted(spans, key=lambda name: -moved[name])}


def plot_bandwidth(spans: Spans, axes: Any = None, title: str = "") -> Any:
    """Stack the rates of the jobs over time; returns the axes.

    *spans* as from :func:`rates_by_job`. The first ten jobs have colours and names of their own,
    the others are drawn together.
    """
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(9, 4), layout="constrained").add_subplot()
    times = sorted({time for items in spans.values() for span in items for time in span[:2]})
    layers: list[tuple[str, list[tuple[float, float, float]]]] = list(spans.items())[:NAMED_JOBS]
    others = [span for items in list(spans.values())[NAMED_JOBS:] for span in items]
    if others:
        layers.append((f"{len(spans) - NAMED_JOBS} others", others))
    below = [0.0] * len(times)
    for number, (name, items) in enumerate(layers):
        heights = _heights(times, items)
        above = [low + rate / GIGABYTE for low, rate in zip(below, heights)]
        colour = "#bbbbbb" if number == NAMED_JOBS else f"C{number % 10}"
        axes.fill_between(times, below, above, step="post", label=name, color=colour, linewidth=0)
        below = above
    axes.set_xlabel("time (s)")
    axes.set_ylabel("bandwidth (GB/s)")
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize="medium")
    if layers:
        axes.legend(title="job", fontsize="small", loc="upper right", ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _heights(times: list[float], spans: list[tuple[float, float, float]]) -> list[float]:
    """Total rate from each of *times* on."""
    steps = [0.0] * (len(times) + 1)
    for since, until, rate in spans:
        steps[bisect_left(times, since)] += rate
        steps[bisect_left(times, until)] -= rate
    total, heights = 0.0, []
    for step in steps[:-1]:
        total += step
        heights.append(max(0.0, total))
    return heights


def plot_batch_io(result: Result, axes: Any = None) -> Any:
    """Bandwidth over time of a batch I/O result, by job; returns the axes.

    Raises UsageError for a result without a schedule or without rates.
    """
    if not result.schedule:
        raise UsageError("the result holds no schedule to draw; run `ioopt simulate` on its plan")
    return plot_bandwidth(
        rates_by_job(result.schedule), axes, f"{result.instance}: {result.solver}"
    )
