"""Bandwidth over time: who transfers at what rate, and how far that is from
the storage's limit.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ioopt.errors import UsageError
from ioopt.plot.layout import (
    NARROW,
    finish,
    headline,
    label_axis,
    new_axes,
    shortened,
    unit_for,
)
from ioopt.plot.palette import BOUND, HUES, OTHERS
from ioopt.result import Result
from ioopt.units import quantity

Span = tuple[float, float, float]
"""From, until (seconds), bytes per second."""
Spans = dict[str, list[Span]]
NAMED_JOBS = 6
MOST_STEPS = 600
"""Changes of a rate that a picture can show one by one; with more it shows
means over intervals.
"""
INTERVALS = 240
"""Most of these; each is as long as the next of :data:`LENGTHS`."""
LENGTHS = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0),
    *(3600.0, 7200.0, 10800.0, 21600.0, 43200.0, 86400.0),
)
"""Seconds that people count in."""


def rates_by_job(schedule: Mapping[str, Any]) -> Spans:
    """Job -> its (from, until, bytes per second), jobs with the most bytes
    first (ties: as listed).

    Raises UsageError when the schedule does not say the rates of its requests.
    """
    spans: Spans = {}
    for job in schedule["jobs"]:
        # What a job writes to a burst buffer comes to the storage in its streams.
        for record in job["streams"] if job.get("buffered") else job["io"]:
            if "rates" not in record:
                raise UsageError(
                    "the result holds no rates; solve again with --set rates=yes"
                )
            spans.setdefault(str(job["id"]), []).extend(
                tuple(span) for span in record["rates"]
            )
    moved = {
        name: sum((until - since) * rate for since, until, rate in items)
        for name, items in spans.items()
    }
    return {name: spans[name] for name in sorted(spans, key=lambda name: -moved[name])}


def plot_bandwidth(
    spans: Spans, axes: Any = None, title: str = "", limit: float | None = None
) -> Any:
    """Stack the rates of the jobs over time; returns the axes.

    *spans* as from :func:`rates_by_job`; *limit* is the storage's rate in bytes per
    second, a line. The six jobs with the most bytes have bands of their own, the others
    share one. Rates that change too often to be seen are drawn as means over equal
    intervals, which the axis says.
    """
    axes = new_axes(9, 4) if axes is None else axes
    axes.set_ylim(0, 1)
    edges = np.unique(
        [time for items in spans.values() for span in items for time in span[:2]]
    )
    width = None
    if len(edges) > MOST_STEPS:
        first, last = edges[0], edges[-1]
        finest = (last - first) / INTERVALS
        width = next((length for length in LENGTHS if length >= finest > 0.5), finest)
        edges = first + width * np.arange(np.ceil((last - first) / width) + 1)
    slice_ = quantity("seconds", float(width or 0.0))
    layers = [
        (name, colour, mean_rates(items, edges))
        for name, colour, items in _layers(spans)
    ]
    totals = sum(
        (heights for _, _, heights in layers), np.zeros(max(0, len(edges) - 1))
    )
    peak = max([limit or 0.0, *totals])
    time = unit_for("seconds", edges[-1] if len(edges) else 0.0)
    rate = unit_for("rate_bytes_per_second", peak)
    below = np.zeros_like(totals)
    for name, colour, heights in layers:
        axes.stairs(
            (below + heights) / rate.size,
            edges / time.size,
            baseline=below / rate.size,
            fill=True,
            color=colour,
            label=name,
            linewidth=0,
        )
        below = below + heights
    if width is not None:
        every = [span for items in spans.values() for span in items]
        axes.stairs(
            _highest(every, edges) / rate.size,
            edges / time.size,
            baseline=None,
            color=OTHERS,
            lw=0.7,
            label=f"highest in {slice_}",
        )
    if limit is not None:
        axes.axhline(
            limit / rate.size, color=BOUND, linestyle="--", lw=1, label="storage limit"
        )
    axes.set_ylim(0, 1.06 * peak / rate.size or 1)
    if len(edges):
        axes.set_xlim(min(0.0, edges[0]) / time.size, edges[-1] * 1.01 / time.size or 1)
    label_axis(axes.xaxis, "time", time.name)
    means = "" if width is None else f", mean over {slice_}"
    label_axis(axes.yaxis, "bandwidth", rate.name + means)
    return finish(axes, title, legend="job")


def plot_traffic(
    options: Mapping[str, Mapping[str, Sequence[float]]],
    limit: float,
    slice_seconds: float,
) -> Any:
    """Draw a panel for each option: stacked mean rates of classes of jobs, and the
    storage's *limit*; return the last axes.

    The mean rates are of slices of time, from the first on.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(NARROW, 0.7 + 1.9 * len(options)), layout="constrained")
    panels = figure.subplots(len(options), squeeze=False)[:, 0]
    for axes, (name, found) in zip(panels, options.items()):
        spans: Spans = {}
        for kind, rates in found.items():
            times = [slice_seconds * k for k in range(len(rates) + 1)]
            spans[kind] = [*zip(times, times[1:], rates)]
        plot_bandwidth(spans, axes, f"with {name}", limit).get_legend().remove()
    handles = axes.get_legend_handles_labels()[0]
    figure.legend(handles=handles, ncols=2, loc="outside lower center", frameon=False)
    return axes


def _layers(spans: Spans) -> list[tuple[str, str, list[Span]]]:
    """(name, colour, spans) of the bands, the largest first and lowest."""
    split = NAMED_JOBS if len(spans) > len(HUES) else len(spans)
    named = list(spans.items())[:split]
    bands = [
        (shortened(name, 24), hue, items) for (name, items), hue in zip(named, HUES)
    ]
    rest = [span for items in list(spans.values())[split:] for span in items]
    return [*bands, (f"{len(spans) - split} others", OTHERS, rest)] if rest else bands


def steps(spans: Any) -> tuple[Any, Any]:
    """Instants at which the total rate changes, and the rate from each on."""
    since, until, rate = np.array(spans, dtype=float).T
    times = np.concatenate([since, until])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(np.concatenate([rate, -rate])[order])


def mean_rates(spans: Any, edges: Any) -> Any:
    """Mean of the total rate between neighbouring *edges*, from the bytes
    moved until each edge.
    """
    if not len(spans) or len(edges) < 2:
        return np.zeros(max(0, len(edges) - 1))
    times, rates = steps(spans)
    moved = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(times))])
    return np.maximum(0.0, np.diff(np.interp(edges, times, moved)) / np.diff(edges))


def _highest(spans: Sequence[Span], edges: Any) -> Any:
    """Highest total rate between neighbouring *edges*, changes at one
    instant taken together.
    """
    times, rates = steps(spans)
    last = np.append(np.diff(times) > 0, True)
    times, rates = times[last], np.append(0.0, rates[last])
    first = np.searchsorted(times, edges[:-1], side="right")
    past = np.searchsorted(times, edges[1:], side="left")
    return np.array([rates[low : high + 1].max() for low, high in zip(first, past)])


def plot_batch_io(result: Result, axes: Any = None) -> Any:
    """Bandwidth over time of a batch I/O result, by job; returns the axes."""
    if not result.schedule:
        raise UsageError(
            "the result holds no schedule to draw; run `ioopt simulate` on its plan"
        )
    limit = result.schedule.get("storage_bytes_per_second")
    return plot_bandwidth(rates_by_job(result.schedule), axes, headline(result), limit)
