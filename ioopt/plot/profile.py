"""Performance profiles (Dolan and More, Mathematical Programming 91, 2002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plot_profiles(
    profiles: Mapping[str, tuple[Sequence[float], Sequence[float]]], axes: Any = None
) -> Any:
    """Draw, per solver, the share of runs within a factor of the best; returns the axes.

    *profiles* maps a solver to (sorted ratios, share of its runs at or below each).
    """
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(6, 4), layout="constrained").add_subplot()
    worst = max((ratios[-1] for ratios, _ in profiles.values() if ratios), default=1.0)
    for name, (ratios, shares) in profiles.items():
        if ratios:
            axes.step([1.0, *ratios, worst], [0.0, *shares, shares[-1]], where="post", label=name)
    if worst > 3:
        axes.set_xscale("log")
    axes.set_xlabel("factor of the best (dimensionless)")
    axes.set_ylabel("share of runs")
    axes.set_ylim(0, 1.02)
    axes.legend(fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes
