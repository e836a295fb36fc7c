"""Define the settings (``--set``) of the I/O policies.

A policy with settings of its own has a class derived from :class:`Settings`.
"""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from ioopt.compiled.library import Engine
from ioopt.problems.base import Record
from ioopt.problems.batch_io import Loop, Share

Recording = Literal["auto", "yes", "no"]
LEAST_EF = 1e-9
"""Least expansion factor apart from 0."""


class Settings(Record):
    """Configure any I/O policy (``--set``).

    ``ef`` is the expansion factor of rule 23. ``loop=open`` fixes the start and the
    nodes of every job to those of an uncongested run. ``arithmetic=exact`` computes
    with rationals. ``engine`` is the simulator: pure Python or compiled (auto: compiled
    if it was compiled at installation and can run this). ``rates`` says whether the
    schedule records the rate of every request over time (auto: unless the trace is
    large).
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
                f"I/O volumes lose digits if ef is below {LEAST_EF:g}; give 0, or at "
                "least this value"
            )
        return ef


def policy_name(how: Settings) -> str:
    """Return the name of the policy that *how* configures, with ``+top`` if that is
    set.
    """
    if how.top:
        return how.policy + "+top"
    return how.policy


class SharingSettings(Settings):
    """Configure BASE_LINE: how requests ``share`` the storage (rules 7 and 27)."""

    share: Share = "per-node"


class FirstComeSettings(Settings):
    """Configure Cons-FCFS: with ``preempt=no`` a transfer that has begun continues.

    Requests of less than ``least_bytes`` bytes then need no turn (rule 54).
    """

    preempt: bool = True
    least_bytes: float = Field(0.0, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _has_turns(self) -> Self:
        if self.least_bytes and (self.preempt or self.top):
            raise ValueError("least_bytes is a setting of turns: give preempt=no")
        return self


class OrderedSettings(Settings):
    """Configure Cons-MinInstSld and Cons-MinAggrSld: ``order`` as in rule 52."""

    order: Literal["ascending", "descending"] = "ascending"
