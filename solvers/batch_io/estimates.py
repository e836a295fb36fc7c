"""Policies that are not told how much is left: what they believe, and noise on it (ours, rule 50).

``estimate``: ``exact`` sizes; ``job-mean``, the mean of the job's requests, as its profile has it;
``history``, the mean of those that it finished; ``none``. ``volume_noise`` multiplies what is believed by
exp(sigma Z), Z standard normal, drawn anew for every request. What is believed left is never below 0; of a
request nothing is known of it is 0, so that ties go first come, first served.
"""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from ioopt.decisions.batch_io import IoPolicy
from ioopt.solvers.batch_io.settings import Settings


class EstimateSettings(Settings):
    """Settings of the policies that look at bytes left; ``volume_seed`` is that of the noise."""

    estimate: Literal["exact", "job-mean", "history", "none"] = "exact"
    volume_noise: float = Field(0.0, ge=0, le=20)
    volume_seed: int = 0


def believing(made: IoPolicy, how: EstimateSettings) -> IoPolicy:
    """*made*, or where it is not told the sizes the same on beliefs."""
    if how.estimate == "exact" and not how.volume_noise:
        return made
    return replace(made, believes=_beliefs(how))


def _beliefs(how: EstimateSettings) -> Callable[[Any, int, float, float, float], float]:
    def believe(name: Any, done: int, size: float, mean: float, before: float) -> float:
        told = {"exact": size, "job-mean": mean, "history": before, "none": 0.0}[how.estimate]
        if not how.volume_noise or not told:
            return told
        rng = random.Random(f"{how.volume_seed}/{name}/{done}")
        return told * math.exp(how.volume_noise * rng.gauss(0.0, 1.0))

    return believe
