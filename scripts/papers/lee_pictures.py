"""Draw Figures 2, 3 and 5 to 10 of Lee et al., and mark the numbers that the paper
prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from papers.claims import Picture
from papers.lee_perturbations import (
    SEED,
    TABLE_2,
    TAKEN,
    Reading,
    Recording,
    means,
    recorded,
)

from ioopt.generate.flexgang.message_counts import TABLE_3
from ioopt.generate.flexgang.perturbation import generate
from ioopt.measure import laboratory
from ioopt.plot.measured import plot_perturbation, plot_quantum_model
from ioopt.plot.palette import BLUE, ORANGE, OTHERS
from ioopt.problems.flexgang.perturbation import PerturbationProblem, PerturbationSlopes
from ioopt.problems.flexgang.quantum_model import MeasuredPoint, QuantumMeasures

Marks = Mapping[str, Mapping[str, Sequence[float]]]
REGIONS = {"2": ((24.5, 25.5),), "3": ((10, 15), (25, 40))}
"""For each figure, the regions in milliseconds that Section 3.2 names: the period of
the I/O job (Figure 2), and where inversion is low (Figure 3).
"""


def quanta(number: str, points: Sequence[MeasuredPoint]) -> Picture:
    """Draw slowdown and fragmentation against the quanta, as in Figure 2 or 3."""
    axes = plot_quantum_model(QuantumMeasures(points=tuple(points)))
    for low, high in REGIONS[number]:
        axes.axvspan(low, high, color=OTHERS, alpha=0.2, lw=0)
    named = "the regions of low inversion"
    if number == "2":
        named = "the period of 25 ms"
    caption = (
        f"Figure {number}: slowdown of the I/O job and CPU fragmentation; grey: "
        f"{named} (text)"
    )
    return Picture(f"lee-{number}", caption, axes)


def perturbations(reading: Reading, marks: Marks) -> Iterator[Picture]:
    """Draw Figures 5 to 10.

    *marks* gives, for each application and processor, the slopes that Section 4.2
    prints.
    """
    settings = {"runs": str(reading.runs), "window": "1.0"}
    types = laboratory.measure(generate("figure-5", settings, 0), seed=SEED).found
    caption = (
        "Figure 5: change of the run time, an application of each type; dotted: "
        "lines of the paper"
    )
    yield Picture("lee-5", caption, plot_perturbation(types))
    made = [
        generate("table-2", settings | {"fixed_processor": str(p)}, 0) for p in TAKEN
    ]
    panels = [laboratory.measure(each, seed=SEED).found for each in made]
    for place, name in enumerate(TABLE_2):
        items = [
            each.applications[place].model_copy(update={"id": f"{name}, fixed {p}"})
            for p, each in zip(TAKEN, panels)
        ]
        axes = plot_perturbation(
            PerturbationSlopes(processors=4, applications=tuple(items))
        )
        for p, panel in zip(TAKEN, axes.figure.axes):
            for slope in marks[name].get(str(p), ()):
                panel.scatter(
                    20,
                    20 * slope,
                    marker="D",
                    facecolors="none",
                    edgecolors="black",
                    zorder=5,
                )
        caption = (
            f"Figure {6 + place}, left: {name}, change of the run time; diamonds: "
            "Section 4.2's numbers"
        )
        yield Picture(f"lee-{6 + place}", caption, axes)
    caption = "Figures 6 to 9, right: progress on each processor under gang scheduling"
    yield Picture("lee-progress", caption, _progress(made[0]))
    caption = (
        "Figure 10: messages a quantum and processor in gang (G) and non-gang quanta "
        "(NG): mean and what 90 % of the counts lie between; diamonds: means of "
        "Table 3; in brackets: ratio, the paper's"
    )
    yield Picture("lee-10", caption, _messages(recorded(reading)))


def _progress(problem: PerturbationProblem) -> Any:
    """Draw the progress on each processor over time.

    Full progress reaches up to the line of the next processor; lower progress means
    that processes waited.
    """
    panels = Figure(figsize=(9, 7), layout="constrained").subplots(4, 1, sharex=True)
    for app, axes in zip(problem.applications, panels):
        found = laboratory.record(problem, app, "Sub_FX", SEED, count=0)
        part = found.progress / problem.quantum_instructions
        for p in range(problem.processors):
            axes.stairs(p + 0.9 * part[:, p], baseline=p, color=BLUE, fill=True)
        axes.set_yticks(np.arange(4) + 0.45, range(4))
        axes.set_ylabel(f"{app.id}: processor")
    panels[-1].set_xlabel("time (quanta)")
    return panels[0]


def _messages(heard: Mapping[str, Sequence[Recording]]) -> Any:
    """Draw the numbers of messages in gang and non-gang quanta, and mark those of Table
    3.
    """
    axes = Figure(figsize=(7, 4), layout="constrained").subplots()
    names = []
    for place, (name, found) in enumerate(heard.items()):
        average = []
        for side, (quanta, colour) in enumerate(
            (("gang", BLUE), ("nonrunning", ORANGE))
        ):
            at = place + 0.3 * side
            printed = TABLE_3[name][2 * side]
            low, high = np.mean([one[quanta]["range"] for one in found], axis=0)
            average.append(np.mean(means(found, quanta)))
            axes.bar(
                at,
                max(high, 0.1) - max(low, 0.1),
                0.25,
                max(low, 0.1),
                color=colour,
                alpha=0.4,
            )
            axes.hlines(average[-1], at - 0.12, at + 0.12, colour, lw=3)
            axes.scatter(
                at, printed, marker="D", facecolors="none", edgecolors="black", zorder=5
            )
        ours = average[1] / average[0]
        paper = TABLE_3[name][2] / TABLE_3[name][0]
        names.append(f"{name}  G, NG\n({ours:.3f}, {paper:.3f})")
    axes.set_yscale("log")
    axes.set_xticks(np.arange(len(names)) + 0.15, names)
    axes.set_ylabel("messages a quantum and processor")
    return axes
