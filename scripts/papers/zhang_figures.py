"""Figures 9 and 10 of Zhang et al., ours beside: ``python scripts/papers/zhang_figures.py FOLDER [--quick]``.

Slowdown and wait against load for every policy, one picture an intensity and metric.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

from papers.zhang_runs import FOUR, INTENSITIES, Runs  # noqa: E402

from ioopt.plot.load import plot_load  # noqa: E402
from ioopt.plot.save import save  # noqa: E402

METRICS = {"slowdown": "mean_slowdown_from_arrival", "wait": "mean_wait_seconds"}
POLICIES = (*FOUR, "guarded-iogs", "index-iogs")


def against_load(runs: Runs, intensity: Any, metric: str) -> Any:
    """The axes of one picture: *metric* of every policy against load."""
    points = {
        policy: {
            seconds: [getattr(run, metric) for run in runs.seeds(policy, load, intensity)]
            for load, seconds in enumerate(runs.loads)
        }
        for policy in POLICIES
    }
    title = f"I/O intensity {intensity}"
    return plot_load(points, METRICS[metric], log=metric == "slowdown", title=title)


def main() -> None:
    """Write the pictures into the folder named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="1,000 jobs, two seeds")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = Runs(1_000, 2, 2) if arguments.quick else Runs()
    for intensity in INTENSITIES:
        for metric in METRICS:
            axes = against_load(runs, intensity, metric)
            target = arguments.folder / f"{metric}-{intensity}.png"
            save(axes, str(target))
            print(target)


if __name__ == "__main__":
    main()
