"""Message counts of gangs (Lee et al., Section 5): what a gangedness monitor is fed, and its answer.

A count is the number of messages that one processor received in one quantum. Gang quanta are those
in which all processes run; in a disturbed quantum some do not, and counts of the processors that
run are kept apart from those of the processors that do not.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ioopt.problems.base import Amount, Count, Name, Positive, Problem, Record, require_unique

Gangedness = Literal["LOW", "HIGH", "UNKNOWN"]
Basis = Literal["non-running", "running"]


class MessageCounts(Record):
    """Counts of one application by kind of quantum, or only their means.

    ``gang`` are counts of gang quanta, ``running`` and ``nonrunning`` of the processors that ran
    and did not run in disturbed quanta.
    """

    id: Name
    gang: tuple[Amount, ...] = ()
    running: tuple[Amount, ...] = ()
    nonrunning: tuple[Amount, ...] = ()
    gang_mean: Amount | None = None
    running_mean: Amount | None = None
    nonrunning_mean: Amount | None = None

    @model_validator(mode="after")
    def _one_form(self) -> MessageCounts:
        means = (self.gang_mean, self.running_mean, self.nonrunning_mean)
        counted = bool(self.gang or self.running or self.nonrunning)
        if counted and any(mean is not None for mean in means):
            raise ValueError(f"{self.id}: give counts or means, not both")
        if not counted and self.gang_mean is None:
            raise ValueError(f"{self.id}: neither counts nor gang_mean given")
        return self

    @property
    def means_only(self) -> bool:
        """Whether only means are known."""
        return self.gang_mean is not None


class MessageCountsProblem(Problem):
    """Message counts of applications on gangs of ``processors`` processes."""

    format: Literal["ioopt/message-counts"] = "ioopt/message-counts"
    processors: Annotated[int, Field(ge=2, strict=True)] = 4
    applications: Annotated[tuple[MessageCounts, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _unique(self) -> MessageCountsProblem:
        require_unique("applications", (item.id for item in self.applications))
        return self


class Verdict(Record):
    """A class with its evidence.

    ``ratio`` is the mean count of the samples used over that of gang quanta (times (P-1)/(P-2) for
    running processors), ``low`` and ``high`` its 90 % interval; the class is decided against
    ``threshold``. ``reason`` says in words why. What could not be computed is None.
    """

    gangedness: Gangedness
    reason: str
    basis: Basis | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: Positive | None = None
    gang_samples: Count | None = None
    samples: Count | None = None
    gang_mean: Amount | None = None
    mean: Amount | None = None


class ApplicationVerdict(Record):
    """The verdict on one application."""

    id: Name
    verdict: Verdict


class GangednessPlan(Record):
    """The verdicts on all applications of an instance, in its order."""

    applications: tuple[ApplicationVerdict, ...]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        return self.model_dump(mode="json")
