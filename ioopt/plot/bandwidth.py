"""Draw bandwidth over time: the rates of the jobs, stacked, and the storage rate as
their limit.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ioopt.errors import UsageError
from ioopt.plot.gantt import rectangles
from ioopt.plot.layout import (
    WIDTH,
    finish,
    label_axis,
    new_axes,
    shortened,
    unit_for,
    valued,
)
from ioopt.plot.palette import BOUND, HUES, OTHERS
from ioopt.problems.base import Json
from ioopt.result import Result
from ioopt.tables import percent
from ioopt.units import quantity

HEADROOM = 1.25
"""The height of the axis as a multiple of the limit, so that words fit above it."""
MARK = 0.05
"""The height of the marks at the limit, as a share of the limit."""
NEARLY = 1e-6
"""The storage is at its limit if less than this share of the limit is left."""
Reals = NDArray[np.floating[Any]]
Span = tuple[float, float, float]
"""A span of time with a constant rate: start and end (seconds), and rate (bytes per
second).
"""
Spans = dict[str, list[Span]]
NAMED_JOBS = 6
"""The largest number of jobs that get a band of their own, if there are more jobs than
colours.
"""
MOST_STEPS = 600
"""The largest number of changes of a rate that are drawn. If there are more, means over
intervals are drawn.
"""
INTERVALS = 240
"""The largest number of intervals over which means are drawn. The length of the
intervals is one of :data:`LENGTHS`.
"""
LENGTHS = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0),
    *(3600.0, 7200.0, 10800.0, 21600.0, 43200.0, 86400.0),
)
"""The possible lengths of intervals in seconds: round numbers of seconds, minutes or
hours.
"""


def rates_by_job(schedule: Json) -> Spans:
    """Return, for each job, its spans of constant rate; the jobs are in descending
    order of their bytes.

    Raises UsageError if the schedule does not have the rates of its requests.
    """
    spans: Spans = {}
    for job in schedule["jobs"]:
        for record in job["io"]:
            if "rates" not in record:
                raise UsageError(
                    "the result has no rates; solve again with --set rates=yes"
                )
            spans.setdefault(str(job["id"]), []).extend(
                tuple(span) for span in record["rates"]
            )
    moved = {name: _bytes_moved(items) for name, items in spans.items()}
    order = sorted(spans, key=lambda name: (-moved[name], name))
    return {name: spans[name] for name in order}


def _bytes_moved(spans: Sequence[Span]) -> float:
    return sum((until - since) * rate for since, until, rate in spans)


def plot_bandwidth(
    spans: Spans,
    axes: Any = None,
    title: str = "",
    limit: float | None = None,
    until: float = 0.0,
) -> Any:
    """Draw the rates of the jobs over time, stacked; return the axes.

    *spans* have the form that :func:`rates_by_job` returns. A line marks *limit*, the
    storage rate in bytes per second. The jobs with the most bytes have bands of their
    own, and the other jobs share a band. If rates change too often, means over equal
    intervals are drawn, and the panel says how long the intervals are.
    Black marks above the line are the times at which the storage is at its limit.
    """
    if axes is None:
        axes = new_axes(WIDTH, 3.4)
    axes.set_ylim(0, 1)
    every = [span for items in spans.values() for span in items]
    edges, width, layers = bands(spans)
    totals = sum(
        (heights for _, _, heights in layers), np.zeros(max(0, len(edges) - 1))
    )
    peak = max([limit or 0.0, *totals])
    last = max(until, edges[-1] if len(edges) else 0.0)
    time = unit_for("seconds", last)
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
    if limit is not None:
        axes.axhline(
            limit / rate.size, color=BOUND, linestyle="--", lw=1, label="storage limit"
        )
        _mark_limit(axes, at_limit(every, limit), limit / rate.size, time.size)
    axes.set_ylim(0, HEADROOM * peak / rate.size or 1)
    if len(edges):
        axes.set_xlim(min(0.0, edges[0]) / time.size, last * 1.01 / time.size or 1)
    label_axis(axes.xaxis, "time", time.name)
    label_axis(axes.yaxis, "bandwidth", rate.name)
    if width is not None:
        _say(axes, f"bars: mean over {quantity('seconds', float(width))}", "left")
    return finish(axes, title, legend="job")


class Bands(NamedTuple):
    """The rates of jobs between neighbouring ``edges`` (seconds).

    ``layers`` are (name, colour, rates in bytes per second), the lowest first. If the
    rates are means over equal intervals, ``width`` is the length of the intervals in
    seconds; otherwise it is None.
    """

    edges: Reals
    width: float | None
    layers: list[tuple[str, str, Reals]]


def bands(spans: Spans) -> Bands:
    """Return the rates of the jobs over time, with one band for each of the jobs that
    have the most bytes, and one for the other jobs.
    """
    edges, width = _edges([span for items in spans.values() for span in items])
    layers = [
        (name, colour, mean_rates(items, edges))
        for name, colour, items in _layers(spans)
    ]
    return Bands(edges, width, layers)


def at_limit(spans: Sequence[Span], limit: float) -> list[tuple[float, float]]:
    """Return the spans of time, as (start, end) in seconds, in which the total rate of
    *spans* is *limit* or more.

    >>> at_limit([(0, 4, 2.0), (1, 3, 2.0), (3, 5, 2.0)], 4.0)
    [(1.0, 4.0)]
    """
    if not len(spans):
        return []
    times, rates = steps(spans)
    found: list[tuple[float, float]] = []
    for start, end, rate in zip(times, times[1:], rates):
        if end <= start or rate < limit * (1 - NEARLY):
            continue
        if found and found[-1][1] == start:
            start = found.pop()[0]
        found.append((float(start), float(end)))
    return found


def _mark_limit(
    axes: Any, full: Sequence[tuple[float, float]], level: float, size: float
) -> None:
    """Mark the spans of time *full* in black above *level*; *size* is the unit of time
    in seconds.
    """
    if not full:
        return
    corners = [(start / size, end / size, level, MARK * level) for start, end in full]
    rectangles(axes, corners, BOUND, BOUND, width=0.3)
    axes.collections[-1].set_label("at the limit")


def _edges(spans: Sequence[Span]) -> tuple[Reals, float | None]:
    """Return the times between which rates are drawn, and the length of the intervals
    in seconds.

    The times are all changes of a rate, and the length is then None. If there are too
    many changes, the times divide equal intervals.
    """
    edges = np.unique([span[:2] for span in spans])
    if len(edges) <= MOST_STEPS:
        return edges, None
    first = edges[0]
    last = edges[-1]
    width = (last - first) / INTERVALS
    if width > 0.5:
        width = next((length for length in LENGTHS if length >= width), width)
    return first + width * np.arange(np.ceil((last - first) / width) + 1), width


def plot_traffic(
    options: Mapping[str, Mapping[str, Sequence[float]]],
    limit: float,
    slice_seconds: float,
) -> Any:
    """Draw one panel for each option, one below the other; return the axes of the last
    panel.

    A panel stacks the mean rates of classes of jobs, with a line at the storage rate
    *limit*. *options* gives, for each option and class, the mean rates over slices of
    *slice_seconds*, beginning at time 0.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 0.7 + 1.9 * len(options)), layout="constrained")
    panels = figure.subplots(len(options), squeeze=False)[:, 0]
    for axes, (name, found) in zip(panels, options.items()):
        spans: Spans = {}
        for kind, rates in found.items():
            times = [slice_seconds * k for k in range(len(rates) + 1)]
            spans[kind] = [*zip(times, times[1:], rates)]
        plot_bandwidth(spans, axes, f"with {name}", limit).get_legend().remove()
    handles = axes.get_legend_handles_labels()[0]
    figure.legend(
        handles=handles, ncols=len(handles), loc="outside lower center", frameon=False
    )
    return axes


def _layers(spans: Spans) -> list[tuple[str, str, list[Span]]]:
    """Return the bands as (name, colour, spans). The band with the most bytes comes
    first and is drawn lowest.
    """
    split = len(spans)
    if split > len(HUES):
        split = NAMED_JOBS
    jobs = list(spans.items())
    bands = [
        (shortened(name, 24), hue, items)
        for (name, items), hue in zip(jobs[:split], HUES)
    ]
    rest: list[Span] = []
    for _, items in jobs[split:]:
        rest += items
    if rest:
        bands.append((f"{len(spans) - split} others", OTHERS, rest))
    return bands


def steps(spans: Sequence[Span] | Reals) -> tuple[Reals, Reals]:
    """Return the times at which the total rate of *spans* changes, and the total rate
    from each of these times on.
    """
    since, until, rate = np.array(spans, dtype=float).T
    times = np.concatenate([since, until])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(np.concatenate([rate, -rate])[order])


def mean_rates(spans: Sequence[Span] | Reals, edges: Reals) -> Reals:
    """Return the mean of the total rate of *spans* between each two neighbouring
    *edges*.

    The mean is computed from the number of bytes moved up to each edge.
    """
    if not len(spans) or len(edges) < 2:
        return np.zeros(max(0, len(edges) - 1))
    times, rates = steps(spans)
    moved = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(times))])
    return np.maximum(0.0, np.diff(np.interp(edges, times, moved)) / np.diff(edges))


def plot_batch_io(result: Result, axes: Any = None, until: float = 0.0) -> Any:
    """Draw the bandwidth of each job over time, for a batch I/O result; return the
    axes.

    The panel says for which share of the time, from the start of the first job to the
    end of the last, the storage is at its limit. The time axis extends to *until*
    seconds at least.
    """
    if not result.schedule:
        raise UsageError(
            "the result holds no schedule to draw; run `ioopt simulate` on its plan"
        )
    limit = result.schedule.get("storage_bytes_per_second")
    spans = rates_by_job(result.schedule)
    axes = plot_bandwidth(spans, axes, valued(result), limit, until)
    if limit is not None and (words := said_of_limit(result.schedule, spans)):
        _say(axes, words, "right")
    return axes


def _say(axes: Any, words: str, side: Literal["left", "right"]) -> None:
    """Write *words* into a panel, at the top of its *side*."""
    place = {"left": 0.01, "right": 0.99}[side]
    style = {"ha": side, "va": "top", "fontsize": "small"}
    axes.text(place, 0.98, words, transform=axes.transAxes, **style)


def said_of_limit(schedule: Json, spans: Spans) -> str:
    """Return the words for how long the storage is at its limit; empty if there are no
    jobs.
    """
    jobs = schedule["jobs"]
    whole = max((job["end_seconds"] for job in jobs), default=0.0) - min(
        (job["start_seconds"] for job in jobs), default=0.0
    )
    if whole <= 0:
        return ""
    every = [span for items in spans.values() for span in items]
    full = at_limit(every, schedule["storage_bytes_per_second"])
    share = sum(end - start for start, end in full) / whole
    return f"storage at its limit {percent(share)} of the time"
