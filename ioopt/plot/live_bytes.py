"""Bytes on the disks of a workflow over time that are still needed."""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import finish, label_axis, unit_for
from ioopt.plot.palette import LIMIT, series

MOST_NODES, MOST_STEPS = 8, 2_000
"""Nodes with a line each, and changes of all lines; of more, the fullest and the mean are drawn."""


def plot_live_bytes(disks: Mapping[str, Mapping[str, Any]], until: float, axes: Any) -> Any:
    """Draw ``schedule.disks``: live bytes a node, up to *until* seconds, limits dotted; returns *axes*."""
    time = unit_for("seconds", until)
    limits = sorted({disk["bytes"] for disk in disks.values() if disk["bytes"] is not None})
    peak = max((step[1] for disk in disks.values() for step in disk["live"]), default=0)
    unit = unit_for("bytes", max([peak, *limits]))
    lines = {name: disk["live"] for name, disk in disks.items()}
    if len(lines) > MOST_NODES or sum(map(len, lines.values())) > MOST_STEPS:
        lines = fullest_and_mean([*lines.values()])
    for number, (name, steps) in enumerate(lines.items()):
        times = [0.0, *(at / time.size for at, _ in steps), until / time.size]
        values = [0.0, *(value / unit.size for _, value in steps)]
        axes.step(
            times, [*values, values[-1]], where="post", label=name, lw=1.1,
            **series(number, marker=False),
        )  # fmt: skip
    for number, limit in enumerate(limits):
        axes.axhline(limit / unit.size, label=None if number else "disk", **LIMIT)
    axes.set_ylim(0, None)
    label_axis(axes.xaxis, "time", time.name)
    label_axis(axes.yaxis, "live bytes", unit.name)
    return finish(axes)


def fullest_and_mean(lines: Sequence[Sequence[Sequence[float]]]) -> dict[str, list[list[float]]]:
    """The largest and the mean of step functions, as [time, value] at every change.

    >>> fullest_and_mean([[[0, 4], [2, 0]], [[1, 6]]])
    {'fullest node': [[0, 4], [1, 6], [2, 6]], 'mean': [[0, 2.0], [1, 5.0], [2, 3.0]]}
    """
    changes = sorted((time, n, value) for n, line in enumerate(lines) for time, value in line)
    now, largest, mean = [0.0] * len(lines), [], []
    for place, (time, n, value) in enumerate(changes):
        now[n] = value
        if place + 1 == len(changes) or changes[place + 1][0] > time:
            largest.append([time, max(now)])
            mean.append([time, sum(now) / len(now)])
    return {"fullest node": largest, "mean": mean}
