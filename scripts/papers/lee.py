"""Lee et al.: the claims of its sections, each a module, and the pictures of Figures 2 and 3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from papers import lee_assignment, lee_gangedness, lee_perturbations, lee_quanta
from papers.claims import Claim, Picture
from papers.lee_quanta import FIGURE_2, FIGURE_3, SWEEP

from ioopt.plot.tradeoff import plot_tradeoff
from ioopt.problems.flexgang.quantum_model import MeasuredPoint, QuantumPoint


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    if quick:
        return "horizon of 20 s, 5 runs and 5 recordings a workload, 2 heavy mixes"
    return "the model's horizon, 20 runs and 40 recordings a workload, 24 heavy mixes"


def claims(quick: bool) -> list[Claim]:
    """The claims of every section."""
    sections = (lee_quanta, lee_perturbations, lee_gangedness, lee_assignment)
    return [row for section in sections for row in section.claims(quick)]


def pictures(quick: bool) -> Iterator[Picture]:
    """Slowdown and fragmentation against the quanta (Figures 2 and 3)."""
    pairs = {
        "2": [(qi, float(qc)) for qi, qc in product(FIGURE_2, SWEEP)],
        "3": [(float(qi), qc) for qi, qc in product(SWEEP, FIGURE_3)],
    }
    for number, chosen in pairs.items():
        found = lee_quanta.measured(chosen, "chain", lee_quanta.horizon_of(quick))
        points = [
            MeasuredPoint.of(QuantumPoint(qi_seconds=qi / 1000, qc_seconds=qc / 1000), measures)
            for (qi, qc), measures in found.items()
        ]
        caption = f"Figure {number}: slowdown of the I/O job and CPU fragmentation (Markov chain)"
        yield Picture(f"lee-{number}", caption, plot_tradeoff(points))
