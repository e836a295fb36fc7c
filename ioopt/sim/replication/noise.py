"""Compute times that differ from the planned ones, seeded: how good are plans when estimates are not?"""

import random

from ioopt.errors import UsageError
from ioopt.problems.base import LONGEST_SECONDS
from ioopt.problems.replication import ReplicationProblem


def noisy_seconds(problem: ReplicationProblem, sigma: float, seed: int = 0) -> dict[str, float]:
    """Per task, its planned compute seconds times a lognormal number with median 1.

    *sigma* is the standard deviation of its logarithm: 0.3 for good estimates, 0.8 for poor ones.
    Raises UsageError for one that is negative or above 10.
    """
    if not 0 <= sigma <= 10:
        raise UsageError(f"the noise of compute times is from 0 to 10, not {sigma}")
    draw = random.Random(seed)
    factors = [draw.lognormvariate(0.0, sigma) for _ in problem.tasks]
    return {
        task.id: min(task.compute_seconds * factor, float(LONGEST_SECONDS))
        for task, factor in zip(problem.tasks, factors, strict=True)
    }
