"""Choose among plans by simulation: on selection seeds, so that reports on others stay honest.

The two-job surface is 10-17 % low where I/O jobs share a loose column (F6), so the model's
best plan need not be the best one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ioopt.options import Deadline
from ioopt.problems.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.sim.flexible_gang import measure

SELECTION_SEEDS = tuple(range(10_001, 10_007))
"""Seeds on which plans are chosen; reports use others."""
SELECTION_SECONDS = 40.0
CERTAIN = 2.0
"""Standard errors by which a candidate must beat the best baseline."""


@dataclass(frozen=True)
class Candidate:
    """A plan with where it comes from and what the model says of it."""

    label: str
    plan: FlexibleGangPlan
    model_objective: float
    baseline: bool = False


@dataclass(frozen=True)
class Ranked:
    """A candidate with its simulated objective under each selection seed."""

    candidate: Candidate
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean simulated objective."""
        return math.fsum(self.values) / len(self.values)

    def row(self) -> dict[str, Any]:
        """The line of a report."""
        return {
            "candidate": self.candidate.label,
            "k": self.candidate.plan.k,
            "d": self.candidate.plan.d,
            "model": self.candidate.model_objective,
            "simulated": self.mean,
        }


def rerank(
    problem: FlexibleGangProblem,
    candidates: Sequence[Candidate],
    seeds: Sequence[int] = SELECTION_SEEDS,
    seconds: float = SELECTION_SECONDS,
    deadline: Deadline | None = None,
) -> list[Ranked]:
    """Candidates with the winner first, the others by falling simulated objective.

    Baselines and the model's best plan are always simulated, the others by falling model objective
    until the deadline.

    The winner has the best mean; a candidate that does not beat the best baseline by two standard
    errors of their paired difference gives way to it. Ties go to the earlier candidate.
    """
    order = sorted(candidates, key=lambda item: (not item.baseline, -item.model_objective))
    ranked: list[Ranked] = []
    for item in order:
        enough = bool(ranked) and not ranked[-1].candidate.baseline
        if enough and deadline is not None and deadline.expired():
            break
        values = (measure(problem, item.plan, seed, seconds).objective for seed in seeds)
        ranked.append(Ranked(item, tuple(values)))
    ranked.sort(key=lambda item: -item.mean)
    baseline = next((item for item in ranked if item.candidate.baseline), None)
    if baseline is not None and not _surely_better(ranked[0], baseline):
        ranked.remove(baseline)
        ranked.insert(0, baseline)
    return ranked


def _surely_better(first: Ranked, second: Ranked) -> bool:
    if first is second:
        return True
    gains = [a - b for a, b in zip(first.values, second.values)]
    mean = math.fsum(gains) / len(gains)
    if len(gains) < 2:
        return mean > 0
    spread = math.fsum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
    return mean > CERTAIN * math.sqrt(spread / len(gains))
