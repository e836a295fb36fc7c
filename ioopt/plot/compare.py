"""Bars of a comparison: one group an instance, one bar a solver, its bound as a tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plot_comparison(
    rows: Sequence[Mapping[str, Any]], metric: str = "objective", axes: Any = None
) -> Any:
    """Draw comparison rows: *metric* (or ``objective``) by instance and solver; returns the axes.

    Rows without a value leave a gap; with ``objective`` the bound is drawn as a black tick.
    """
    from matplotlib.figure import Figure

    instances = list(dict.fromkeys(row["instance"] for row in rows))
    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    if axes is None:
        width = max(5.0, 1.2 + 0.5 * len(instances) * len(solvers))
        axes = Figure(figsize=(min(width, 40.0), 4.0), layout="constrained").add_subplot()
    step = 0.8 / max(len(solvers), 1)
    for k, solver in enumerate(solvers):
        places, values = [], []
        for row in (row for row in rows if row["solver"] == solver):
            value = row["objective"] if metric == "objective" else row["metrics"].get(metric)
            if value is None:
                continue
            place = instances.index(row["instance"]) + (k - (len(solvers) - 1) / 2) * step
            places.append(place)
            values.append(value)
            if metric == "objective" and row["bound"] is not None:
                axes.hlines(row["bound"], place - step / 2, place + step / 2, color="black", lw=1)
        axes.bar(places, values, step * 0.92, label=solver)
    axes.set_xticks(range(len(instances)), instances, rotation=20 if len(instances) > 3 else 0)
    axes.set_ylabel(_label(metric))
    axes.legend(fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _label(metric: str) -> str:
    name = metric.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ")
    unit = "s" if metric.endswith("_seconds") else "bytes" if metric.endswith("_bytes") else None
    return f"{name} ({unit})" if unit else name
