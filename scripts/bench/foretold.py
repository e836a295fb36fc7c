"""Compare recorded runs on an emulated cluster with noisy replays of their plans.

The runs are those in which a run decided again at each completion, by the rules. A run
is foretold if its makespan is between the least and the largest of the noisy
makespans, with a slack of 1 %. The records are in the shared folder
(``testbed-runs``).
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import ioopt
from bench.frame import shared_data, show
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.build import Noise
from ioopt.sim.replication.noisy import noisy_makespans

NOISE = Noise(latency_seconds=0.01, sharing_noise=0.3)
"""How TCP shared the links of the emulated cluster, about (its README)."""
SLACK = 0.01


def main(quick: bool) -> None:
    """Print, for each way to run, how many runs were foretold."""
    folder = shared_data("testbed-runs")
    draws = 40 if quick else 200

    @cache
    def band(instance: str, solver: str) -> tuple[float, float]:
        """Return the least and the largest noisy makespan of a plan."""
        problem = ioopt.load(folder / "inst" / f"{instance}.json")
        result = json.loads(
            (folder / "plans" / f"{instance}.{solver}.json").read_text()
        )
        plan = ReplicationPlan.model_validate(result.get("plan", result))
        makespans = noisy_makespans(problem, plan, NOISE, draws)
        return min(makespans), max(makespans)

    runs: Counter[str] = Counter()
    foretold: Counter[str] = Counter()
    for path in sorted((folder / "runs").glob("*.live.*.json")):
        way = _way(path)
        least, most = band(*path.name.split(".")[:2])
        measured = json.loads(path.read_text())["measured"]
        runs[way] += 1
        if least * (1 - SLACK) <= measured <= most * (1 + SLACK):
            foretold[way] += 1
    rows = [(way, str(count), str(foretold[way])) for way, count in runs.items()]
    show(f"runs foretold by {draws} noisy replays", ("run", "runs", "foretold"), rows)


def _way(path: Path) -> str:
    """Return how the recorded run differed: ``plain``, ``lag=0.25``."""
    return ".".join(path.name.split(".")[3:-2])
