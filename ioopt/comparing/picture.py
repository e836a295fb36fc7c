"""A comparison: one named measure, a panel an instance, a bar a solver, bounds as lines."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ioopt import registry
from ioopt.comparing.measures import measured, standing
from ioopt.errors import UsageError
from ioopt.plot.layout import label_axis, legend_beside, shortened, unit_for
from ioopt.plot.palette import BOUND, EXACT, HEURISTIC
from ioopt.quantities import title
from ioopt.registry.types import EXACT as PROVES

Row = Mapping[str, Any]
PROVEN = "proven bound"
MOST_PANELS = 12
MOST_BARS = 30
COLUMNS = 2


def plot_comparison(rows: Sequence[Row], measure: str) -> Any:
    """Draw *measure* of comparison rows by instance and solver; returns the first axes.

    Proven bounds of the measure and references (which break a rule of the machine) are lines.
    Solvers without a value are named with the reason. Every instance has a panel with a scale of
    its own (the first 12). Raises UsageError for a comparison without rows.
    """
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["instance"] for row in rows))
    if not names:
        raise UsageError("the comparison has no rows to draw")
    shown = names[:MOST_PANELS]
    groups = [[row for row in rows if row["instance"] == name] for name in shown]
    columns = min(COLUMNS, len(shown))
    lines = math.ceil(len(shown) / columns)
    tallest = min(MOST_BARS, max(len(group) for group in groups))
    size = (3.0 + 4.2 * columns, 0.6 + lines * (0.9 + 0.27 * tallest))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for name, group, axes in zip(shown, groups, panels):
        handles |= _panel(axes, group, measure)
        axes.set_title(shortened(name, 40), fontsize="medium")
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    if len(shown) > 1:
        more = f", the first {len(shown)} of {len(names)} instances" * (len(shown) < len(names))
        figure.suptitle(f"{title(measure)} by solver{more}", fontsize="medium")
    legend_beside(figure, [handles[label] for label in sorted(handles, key=_rank)])
    return panels[0]


def _rank(label: str) -> tuple[int, str]:
    """Order in the legend: bars, then lines."""
    known = ("exact", "heuristic", PROVEN)
    return (known.index(label) if label in known else len(known), label)


def _panel(axes: Any, rows: Sequence[Row], measure: str) -> dict[str, Any]:
    """Bars and lines of one instance; returns legend entries by their label."""
    bars = [row for row in rows if not row.get("reference")][:MOST_BARS]
    lines = _lines(rows, measure)
    values = [measured(row, measure) for row in bars]
    known = [value for value in [*values, *lines.values()] if value is not None]
    unit = unit_for(measure, max(map(abs, known), default=0.0))
    high, low = max([0.0, *known]) / unit.size, min([0.0, *known]) / unit.size
    axes.set_xlim(low * 1.04, high * 1.04 or 1)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    handles: dict[str, Any] = {}
    for place, (row, value) in enumerate(zip(bars, values)):
        if value is None:
            reason = f" {standing(row)}"
            axes.text(0, place, reason, va="center", fontsize="small", style="italic")
            continue
        kind, colour = ("exact", EXACT) if _exact(row) else ("heuristic", HEURISTIC)
        handles[kind] = axes.barh(place, value / unit.size, 0.78, color=colour, label=kind)
        # Beside the panel, where no bar and no line crosses it.
        axes.text(
            1.02, place, f"{value / unit.size:.4g}", va="center", fontsize="small",
            transform=axes.get_yaxis_transform(),
        )  # fmt: skip
    for label, value in lines.items():
        dashes = "--" if label == PROVEN else ":"
        handles[label] = axes.axvline(value / unit.size, color=BOUND, linestyle=dashes, lw=1.2)
        handles[label].set_label(label)
    names = [shortened(row["solver"], 32) for row in bars]
    axes.set_yticks(range(len(bars)), names, fontsize="small")
    label_axis(axes.xaxis, title(measure), unit.name)
    axes.spines[["top", "right"]].set_visible(False)
    return handles


def _lines(rows: Sequence[Row], measure: str) -> dict[str, float]:
    """Label -> value of the tightest proven bound of the measure and of the references."""
    kind = registry.KINDS.get(rows[0].get("kind") or rows[0]["family"])
    most = kind is not None and kind.sense == "max" and kind.objective_name == measure
    bounds = [bound for row in rows if (bound := _bound(row, measure)) is not None]
    lines = {PROVEN: (min if most else max)(bounds)} if bounds else {}
    for row in (row for row in rows if row.get("reference")):
        value = measured(row, measure)
        if value is not None:
            lines[row["solver"]] = value
    return lines


def _bound(row: Row, measure: str) -> float | None:
    if row.get("reference"):
        return None  # of another machine
    if row.get("measure") == measure:
        return row.get("value_bound")
    return row["bound"] if row["objective_name"] == measure else None


def _exact(row: Row) -> bool:
    """Whether the solver proves its answers when it is given time."""
    name = row["solver"].partition(":")[0]
    kind = row.get("kind") or row["family"]
    return any(
        spec.name == name and kind in spec.kinds and PROVES in spec.abilities
        for spec in registry.SOLVERS
    )
