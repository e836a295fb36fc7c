"""I/O response against compute progress for a range of lambda."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MILLISECONDS = 1000.0


def plot_lambda_front(rows: Sequence[Mapping[str, Any]], axes: Any = None) -> Any:
    """Draw rows of a lambda front (see :mod:`ioopt.solvers.flexgang.pareto`); returns the axes.

    Points that no other beats are joined; baselines are crosses.
    """
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(7.0, 4.5), layout="constrained").add_subplot()
    front = sorted(
        (row["compute_progress"], row["io_response_seconds"] * MILLISECONDS)
        for row in rows
        if not row["dominated"]
    )
    axes.plot([x for x, _ in front], [y for _, y in front], color="0.7", zorder=0)
    for row in rows:
        x, y = row["compute_progress"], row["io_response_seconds"] * MILLISECONDS
        baseline = row["lambda_"] is None
        axes.scatter([x], [y], marker="x" if baseline else "o", color="k" if baseline else "C0")
        axes.annotate(row["label"], (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.set_xlabel("compute progress (machines' worth)")
    axes.set_ylabel("I/O response, ready to next request (ms)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
