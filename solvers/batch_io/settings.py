"""``--set`` keys of the I/O policies; a policy with keys of its own derives from :class:`Settings`.

Rule 50 (ours): what policies believe that are not told how much is left. ``estimate``: ``exact`` sizes;
``job-mean``, the mean of the job's requests, as its profile has it; ``history``, the mean of those that it
finished; ``none``. ``volume_noise`` multiplies what is believed by exp(sigma Z), Z standard normal, drawn
anew for every request. What is believed left is never below 0; of a request nothing is known of it is 0, so
that ties go first come, first served.
"""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, field_validator

from ioopt.decisions.batch_io import IoPolicy
from ioopt.problems.base import Record
from ioopt.problems.batch_io import Loop, Share

Engine = Literal["auto", "python", "compiled"]
Recording = Literal["auto", "yes", "no"]
LEAST_EF = 1e-9
"""The least expansion factor above 0."""


class Settings(Record):
    """Settings of every policy (``--set``).

    ``ef`` is the expansion factor of rule 23; ``loop=open`` fixes every job's start and nodes to
    those of an uncongested run; ``arithmetic=exact`` runs on rationals; ``engine`` is the pure
    Python or the compiled simulator (auto: compiled for long runs); ``rates`` says whether the schedule
    holds the
    rate of every request over time (auto: unless the trace is large).
    """

    policy: str
    top: bool = False
    ef: float = Field(1.0, ge=0)
    loop: Loop = "closed"
    arithmetic: Literal["float", "exact"] = "float"
    engine: Engine = "auto"
    rates: Recording = "auto"

    @field_validator("ef")
    @classmethod
    def _keeps_digits(cls, ef: float) -> float:
        if 0 < ef < LEAST_EF:
            raise ValueError(
                f"volumes lose their digits below {LEAST_EF:g}; give 0, or at least that"
            )
        return ef


class SharingSettings(Settings):
    """Settings of BASE_LINE: ``share`` is how all share (rules 7 and 27)."""

    share: Share = "per-node"


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
