"""The pictures of the reproduction, from the same runs as the claims (they are in the store)."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

from papers.claims import mean_and_error

from ioopt.plot.sweep import plot_sweep
from ioopt.plot.tradeoff import plot_tradeoff

Picture = tuple[str, str, Any]
"""Name, caption, axes."""


def draw(paper: str, quick: bool) -> dict[str, dict[str, str]]:
    """Name -> caption and SVG text of the pictures of *paper*."""
    return {
        name: {"caption": caption, "svg": _svg(axes.figure)}
        for name, caption, axes in PAPERS[paper](quick)
    }


def _svg(figure: Any) -> str:
    """SVG with text as text and without a date, so that the same runs give the same small file."""
    from matplotlib import rc_context

    # Exponents kept as text make matplotlib warn of fonts that the reader need not have.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    out = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ioopt"}):
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return out.getvalue()


def khanna(quick: bool) -> Iterator[Picture]:
    """Batch time against overlap (Figure 2) and against disk space (Figure 4b)."""
    from papers.khanna import NAMES, ORDER, Laboratory, Sizes

    from ioopt.units import parse_bytes

    lab = Laboratory(Sizes.of(quick))
    tasks = {"tasks": lab.sizes.tasks}

    def line(solver: str, at: float, link: str, preset: str, settings: dict[str, Any]) -> Any:
        runs: Any = lab.run(preset, settings, solver)
        spans = [run[link]["makespan_seconds"] for run in runs]
        return at, *mean_and_error(spans), len(spans)

    for link in ("shared", "per-node"):
        for name, overlaps in (("image", (85, 40, 0)), ("sat", (85, 40, 10))):
            lines = {
                NAMES[solver]: [
                    line(solver, at, link, f"{name}-{at}", tasks) for at in reversed(overlaps)
                ]
                for solver in ORDER
            }
            caption = f"Figure 2, {name.upper()}: batch time against overlap, {link} link"
            axes = plot_sweep(lines, "overlap (%)", "batch time (s)", title=caption)
            yield f"khanna-2-{name}-{link}", caption, axes
        lines = {
            NAMES[solver]: [
                line(solver, parse_bytes(disk) / 1e9, link, "image-85",
                     {**tasks, "disk": disk, "cap": "300MB"})
                for disk in lab.sizes.disks
            ]
            for solver in ORDER
        }  # fmt: skip
        caption = f"Figure 4b, IMAGE-85: batch time against disk space, {link} link"
        axes = plot_sweep(lines, "disk of a node (GB)", "batch time (s)", title=caption)
        yield f"khanna-4b-{link}", caption, axes


def zhou(quick: bool) -> Iterator[Picture]:
    """Wait and response against the expansion factor, over those of BASE_LINE (Figure 11)."""
    from papers.zhou import FULL, QUICK, RESPONSE, WAIT
    from papers.zhou_runs import FACTORS, PAPER_POLICIES, run_all

    runs = run_all(QUICK if quick else FULL)
    for metric, name in ((WAIT, "wait"), (RESPONSE, "response")):
        lines = {
            policy: [
                (100 * factor, *mean_and_error(found), len(found))
                for factor in FACTORS
                for found in [runs.ratios(metric, policy, "base-line", factor)]
            ]
            for policy in (*PAPER_POLICIES[1:], "fill")
        }
        caption = f"Figure 11: {name} over that of BASE_LINE, closed loop"
        words = f"mean {name} over that of base-line (factor)"
        axes = plot_sweep(lines, "expansion factor (%)", words, title=caption)
        yield f"zhou-11-{name}", caption, axes


def zhang(quick: bool) -> Iterator[Picture]:
    """Slowdown against load, one picture an I/O intensity (Figures 9 and 10), ours beside."""
    from papers.zhang import runs_of
    from papers.zhang_figures import against_load
    from papers.zhang_runs import INTENSITIES

    for intensity in INTENSITIES:
        axes = against_load(runs_of(quick), intensity, "slowdown")
        caption = f"Slowdown from arrival against load, r = {intensity} (median, range over seeds)"
        yield f"zhang-slowdown-{intensity}", caption, axes


def lee(quick: bool) -> Iterator[Picture]:
    """Slowdown and fragmentation against the quanta (Figures 2 and 3)."""
    from itertools import product

    from papers.lee_quanta import FIGURE_2, FIGURE_3, SWEEP, horizon_of, measured

    from ioopt.problems.flexgang.quantum_model import MeasuredPoint, QuantumPoint

    pairs = {
        "2": [(qi, float(qc)) for qi, qc in product(FIGURE_2, SWEEP)],
        "3": [(float(qi), qc) for qi, qc in product(SWEEP, FIGURE_3)],
    }
    for number, chosen in pairs.items():
        found = measured(chosen, "chain", horizon_of(quick))
        points = [
            MeasuredPoint.of(QuantumPoint(qi_seconds=qi / 1000, qc_seconds=qc / 1000), measures)
            for (qi, qc), measures in found.items()
        ]
        caption = f"Figure {number}: slowdown of the I/O job and CPU fragmentation (Markov chain)"
        yield f"lee-{number}", caption, plot_tradeoff(points)


PAPERS: dict[str, Callable[[bool], Iterator[Picture]]] = {
    "khanna": khanna, "lee": lee, "zhang": zhang, "zhou": zhou,
}  # fmt: skip
