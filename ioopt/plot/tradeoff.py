"""Slowdown of the I/O job and CPU fragmentation against a quantum (Lee et al., Figures 2 and 3)."""

from collections.abc import Sequence
from typing import Any

from ioopt.plot.layout import legend_beside
from ioopt.plot.palette import series
from ioopt.problems.flexgang.quantum_model import MeasuredPoint, QuantumMeasures

MILLISECONDS = 1000.0


def plot_quantum_model(found: QuantumMeasures, title: str = "") -> Any:
    """The picture of a measurement, under its *title*; returns the left of the two axes."""
    left = plot_tradeoff(found.points)
    left.figure.suptitle(title, fontsize="medium")
    return left


def plot_tradeoff(points: Sequence[MeasuredPoint], axes: Any = None) -> Any:
    """Draw slowdown (left) and fragmentation (right) of *points* against the quantum that varies more.

    One curve for each value of the other quantum. *axes* is a pair of axes, made when None;
    returns the left one.
    """
    from matplotlib.figure import Figure

    if axes is None:
        axes = Figure(figsize=(11.0, 4.0), layout="constrained").subplots(1, 2)
    left, right = axes
    distinct_qi = {point.qi_seconds for point in points}
    distinct_qc = {point.qc_seconds for point in points}
    x_name, x_label, curve_name, curve_label = (
        ("qi_seconds", "I/O quantum qi (ms)", "qc_seconds", "qc")
        if len(distinct_qi) > len(distinct_qc)
        else ("qc_seconds", "compute quantum qc (ms)", "qi_seconds", "qi")
    )
    handles = []
    for number, value in enumerate(sorted({getattr(point, curve_name) for point in points})):
        curve = sorted(
            (point for point in points if getattr(point, curve_name) == value),
            key=lambda point: float(getattr(point, x_name)),
        )
        x = [getattr(point, x_name) * MILLISECONDS for point in curve]
        style = {**series(number), "label": f"{curve_label} = {value * MILLISECONDS:g} ms"}
        style["markevery"] = max(1, len(x) // 8)
        handles += left.plot(x, [point.slowdown for point in curve], **style)
        right.plot(x, [100 * point.fragmentation for point in curve], **style)
    left.set_ylabel("slowdown of the I/O job (factor)")
    right.set_ylabel("CPU fragmentation (% of all CPUs)")
    for axis in (left, right):
        axis.set_xlabel(x_label)
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
    if left.figure.get_layout_engine() is not None:
        legend_beside(left.figure, handles)
    return left
