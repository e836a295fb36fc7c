"""I/O response against compute progress for a range of lambda."""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import finish, label_axis, new_axes, unit_for
from ioopt.plot.palette import EXACT, HEURISTIC, MARKERS, OTHERS


def plot_lambda_front(rows: Sequence[Mapping[str, Any]], axes: Any = None, title: str = "") -> Any:
    """Draw rows of a lambda front (see :mod:`ioopt.solvers.flexgang.pareto`); returns the axes.

    Points that no other beats are joined; the exact plans are filled, baselines hollow. Names stand
    in the legend, where points that lie together cannot hide them.
    """
    axes = new_axes(8.0, 4.5) if axes is None else axes
    unit = unit_for("seconds", max((row["io_response_seconds"] for row in rows), default=0.0))
    front = sorted(
        (row["compute_progress"], row["io_response_seconds"] / unit.size)
        for row in rows
        if not row["dominated"]
    )
    axes.plot(*zip(*front), color=OTHERS, zorder=0, label="beaten by none")
    for number, row in enumerate(rows):
        baseline = row["lambda_"] is None
        colour = HEURISTIC if baseline else EXACT
        axes.scatter(
            [row["compute_progress"]], [row["io_response_seconds"] / unit.size], s=45,
            marker=MARKERS[number % len(MARKERS)], edgecolors=colour,
            facecolors="none" if baseline else colour, label=row["label"],
        )  # fmt: skip
    axes.set_xlabel("compute progress (machines' worth)")
    label_axis(axes.yaxis, "I/O response, ready to next request", unit.name)
    return finish(axes, title)
