"""Choose among plans by simulation on selection seeds; reports use other seeds (F6, rule 12)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ioopt.measure.io_server import SECONDS_PER_BURST, use_compiled
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.sim.flexgang.flexible_gang import measure, num_bursts_drawn

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
        return fmean(self.values)

    def row(self) -> Json:
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

    Baselines and the model's best plan are simulated first, the others while *deadline* leaves time;
    where it is too short for the former the list is empty. A candidate that does not beat the best
    baseline by two standard errors of their paired difference gives way to it.
    """
    order = sorted(candidates, key=lambda item: (not item.baseline, -item.model_objective))
    clock = deadline or Deadline(None)
    needed = min(len(order), 1 + sum(item.baseline for item in order))
    ranked: list[Ranked] = []
    bursts = num_bursts_drawn(problem, seconds)
    fast = use_compiled(bursts * len(seeds) * len(order), clock)
    run = 0.0 if fast else SECONDS_PER_BURST * bursts
    if fast:  # loaded before runs are timed
        measure(problem, order[0].plan, seeds[0], 1.0, fast)
    for at, item in enumerate(order):
        # What must still be simulated, the winner's report among it.
        ahead = 1 + (needed - at if at < needed else 1)
        if clock.remaining() <= ahead * len(seeds) * run:
            break
        begun = clock.elapsed()
        values = [measure(problem, item.plan, seed, seconds, fast).objective for seed in seeds]
        run = max(run, (clock.elapsed() - begun) / len(seeds))
        ranked.append(Ranked(item, tuple(values)))
    if len(ranked) < needed:
        return []
    ranked.sort(key=lambda item: -item.mean)
    baseline = next((item for item in ranked if item.candidate.baseline), None)
    if baseline is not None and not _surely_better(ranked[0], baseline):
        ranked.remove(baseline)
        ranked.insert(0, baseline)
    return ranked


def _surely_better(first: Ranked, second: Ranked) -> bool:
    """Whether *first* is ahead by more than the noise between seeds."""
    if first is second:
        return True
    gains = [a - b for a, b in zip(first.values, second.values)]
    mean = fmean(gains)
    if len(gains) < 2:
        return mean > 0
    spread = math.fsum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
    return mean > CERTAIN * math.sqrt(spread / len(gains))
