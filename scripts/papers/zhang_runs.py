"""The runs behind the claims of Zhang et al.: points, seeds, figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
from papers.claims import values_of

from ioopt.decisions.gang.state import Timing
from ioopt.generate.gang.generate import LOADS_SECONDS, BluePacificLike, make_table
from ioopt.sim.gang.compiled import run
from ioopt.solvers.gang import guarded, index
from ioopt.solvers.gang.policy import ADAPTIVE_IOGS, GS, IOGS, MIGRATE_IOGS

FOUR = ("gs", "iogs", "adaptive-iogs", "migrate-iogs")
OURS = (guarded.policy(guarded.Settings()), index.policy(index.Settings()))
POLICIES = {policy.name: policy for policy in (GS, IOGS, ADAPTIVE_IOGS, MIGRATE_IOGS, *OURS)}
"""Every policy that is compared."""
INTENSITIES: tuple[Any, ...] = (0.5, 0.33, 0.1, "mixed")


@dataclass(frozen=True)
class Figures:
    """What one simulated workload comes to; slowdown is counted from arrival."""

    slowdown: float
    wait: float
    local: int
    from_start: float


@cache
def point(
    policy: str, load: int, intensity: Any, seed: int, jobs: int,
    migration: float = 20.0, budget: int | None = 64, **preset: Any,
) -> Figures:  # fmt: skip
    """Simulate one workload of the preset; *load* counts the nine execution times from 0.

    *preset* are other settings of the preset.
    """
    settings = BluePacificLike(
        jobs=jobs, mean_local_seconds=LOADS_SECONDS[load], intensity=intensity,
        migration_seconds=migration, migration_tasks_per_quantum=budget, **preset,
    )  # fmt: skip
    jobs_of, timing = make_table(settings, seed), Timing.of(settings.machine)
    trajectory = run(jobs_of, timing, POLICIES[policy].rules)
    start, finish = np.array(trajectory.start), np.array(trajectory.finish)
    quantum = float(timing.quantum)
    floor = np.maximum(jobs_of.local, quantum)
    slowdown = np.maximum(finish - jobs_of.arrival, quantum) / floor
    return Figures(
        float(slowdown.mean()), float((start - jobs_of.arrival).mean()), sum(trajectory.local),
        float((np.maximum(finish - start, quantum) / floor).mean()),
    )  # fmt: skip


def simulated(**settings: Any) -> dict[str, float]:
    """:func:`point` as plain values, for the store of a reproduction."""
    return asdict(point(**settings))


@dataclass(frozen=True)
class Runs:
    """How many jobs and seeds the claims rest on, and access to their runs.

    ``settling_seeds`` serve comparisons that ``num_seeds`` do not clearly decide; ``preset`` are
    settings of the preset that are changed.
    """

    jobs: int = 10_000
    num_seeds: int = 30
    settling_seeds: int = 200
    preset: Mapping[str, Any] = field(default_factory=dict)

    def seeds(
        self, policy: str, load: int, intensity: Any, count: int | None = None, **options: Any
    ) -> list[Figures]:
        """The figures of one point over the seeds 0, 1, ..."""
        asked = [
            {"policy": policy, "load": load, "intensity": intensity, "seed": seed,
             "jobs": self.jobs, **self.preset, **options}
            for seed in range(count or self.num_seeds)
        ]  # fmt: skip
        return [Figures(**found) for found in values_of(simulated, asked)]

    def mean(self, policy: str, load: int, intensity: Any, **options: Any) -> float:
        """The mean slowdown of a point over the seeds."""
        return fmean(run.slowdown for run in self.seeds(policy, load, intensity, **options))
