"""Performance profiles (Dolan and More, Mathematical Programming 91, 2002)."""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.plot.layout import finish, new_axes, shortened
from ioopt.plot.palette import series


def plot_profiles(
    profiles: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    axes: Any = None,
    title: str = "",
    measure: str = "measure",
) -> Any:
    """Draw, per solver, the share of runs within a factor of the best; returns the axes.

    *profiles* maps a solver to (sorted ratios, share of its runs at or below each); *measure* are
    the words for what the ratios are of.
    """
    axes = new_axes(8, 4.2) if axes is None else axes
    worst = max((ratios[-1] for ratios, _ in profiles.values() if ratios), default=1.0)
    for number, (name, (ratios, shares)) in enumerate(profiles.items()):
        label = shortened(name, 40)
        if not ratios:
            axes.plot([], [], label=f"{label} (no answer)", **series(number, marker=False))
            continue
        steps = [0.0, *(100 * share for share in shares)]
        axes.step(
            [1.0, *ratios, worst], [*steps, steps[-1]], where="post", label=label, lw=1.4,
            **series(number, marker=False),
        )  # fmt: skip
    if worst > 3:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if worst < 10 else "")
    axes.set_xlabel(f"{measure} over the best of the instance (factor)")
    axes.set_ylabel("share of runs (%)")
    axes.set_ylim(0, 102)
    return finish(axes, title)
