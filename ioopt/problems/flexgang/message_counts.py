"""Message counts of gangs (Lee et al., Section 5), and verdicts on gangedness.

A count is the number of messages that one processor received in one quantum. In a gang
quantum all processes of the application run; in a disturbed quantum some do not. For
disturbed quanta, the counts of processors whose process ran are kept apart from those
of the other processors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from ioopt.problems import base

Gangedness = Literal["LOW", "HIGH", "UNKNOWN"]
Basis = Literal["non-running", "running"]


def _form(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "counts"
    return "mean"


Counted = Annotated[
    Annotated[tuple[base.Amount, ...], Tag("counts")]
    | Annotated[base.Amount, Tag("mean")],
    Discriminator(_form),
]
"""A list of counts, or one number, which is their mean."""
Quanta = Literal["gang", "running", "nonrunning"]
QUANTA: tuple[Quanta, ...] = ("gang", "running", "nonrunning")


class MessageCounts(base.Record):
    """Counts of one application for each kind of quantum, or only their means.

    ``gang`` has counts of gang quanta. ``running`` and ``nonrunning`` have counts of
    the processors that ran and that did not run in disturbed quanta. All of them are
    lists, or all are single numbers, which are means. A kind that was not recorded is
    left out. In a complete recording, ``absent`` lists for each quantum the processors
    that did not run. The other lists are then in order of quanta and, for each quantum,
    in order of processors.
    """

    id: base.Name
    gang: Counted = ()
    running: Counted = ()
    nonrunning: Counted = ()
    absent: tuple[tuple[base.Count, ...], ...] = ()

    @model_validator(mode="after")
    def _one_form(self) -> MessageCounts:
        given = {
            name: getattr(self, name) for name in QUANTA if getattr(self, name) != ()
        }
        if not given:
            raise ValueError(f"{self.id}: no counts given")
        means = [name for name, value in given.items() if isinstance(value, float)]
        lists = [name for name in given if name not in means]
        if means and lists:
            raise ValueError(
                f"{self.id}: {means[0]} is a mean and {lists[0]} a list; give one form"
            )
        if means and "gang" not in given:
            raise ValueError(f"{self.id}: the mean of gang quanta is missing")
        return self

    def rows(self, processors: int) -> Iterator[tuple[int, int, bool, bool, float]]:
        """Yield the counts of a complete recording, in order of quanta and processors.

        Each is (quantum, processor, ganged, running, messages). *ganged* says whether
        it was a gang quantum, and *running* whether the processor ran.
        """
        gang = iter(self.counts("gang"))
        running = iter(self.counts("running"))
        nonrunning = iter(self.counts("nonrunning"))
        for quantum, missing in enumerate(self.absent):
            for processor in range(processors):
                runs = processor not in missing
                if not runs:
                    source = nonrunning
                elif missing:
                    source = running
                else:
                    source = gang
                yield quantum, processor, not missing, runs, next(source)

    @property
    def means_only(self) -> bool:
        """Return whether only the means of counts are known."""
        return isinstance(self.gang, float)

    def counts(self, quanta: Quanta) -> tuple[float, ...]:
        """Return the counts of one kind of quanta; empty if only a mean is known."""
        value = getattr(self, quanta)
        if isinstance(value, tuple):
            return value
        return ()

    def mean(self, quanta: Quanta) -> float | None:
        """Return the mean count of one kind of quanta; None if it was not recorded."""
        value = getattr(self, quanta)
        if not isinstance(value, tuple):
            return float(value)
        if not value:
            return None
        return math.fsum(value) / len(value)


class MessageCountsProblem(base.Problem):
    """Message counts of applications on gangs of ``processors`` processes."""

    format: Literal["ioopt/message-counts"] = "ioopt/message-counts"
    processors: Annotated[int, Field(ge=2, le=base.MAX_NODES, strict=True)] = 4
    applications: Annotated[tuple[MessageCounts, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _unique(self) -> MessageCountsProblem:
        base.require_unique("applications", (item.id for item in self.applications))
        for item in self.applications:
            if item.absent:
                self._require_whole(item)
        return self

    def _require_whole(self, item: MessageCounts) -> None:
        """Raise ValueError unless *item* has all counts that its ``absent`` implies."""
        size = self.processors
        for quantum, missing in enumerate(item.absent):
            if len(set(missing)) < len(missing) or max(missing, default=0) >= size:
                raise ValueError(
                    f"{item.id}: absent[{quantum}]: {list(missing)}: each of 0 to "
                    f"{size - 1} at most once"
                )
        away = [len(missing) for missing in item.absent]
        wanted = {
            "gang": size * away.count(0),
            "running": sum(size - number for number in away if number),
            "nonrunning": sum(away),
        }
        for name in QUANTA:
            if len(item.counts(name)) != wanted[name]:
                raise ValueError(
                    f"{item.id}: absent: {len(away)} quanta have {wanted[name]} "
                    f"{name} counts, not {len(item.counts(name))}"
                )


class Verdict(base.Record):
    """State the class of an application, with the evidence.

    ``gangedness`` is decided by comparing ``ratio`` with ``threshold``. ``ratio`` is
    the mean count of the samples used, divided by the mean count of gang quanta. For
    running processors, it is multiplied by (P-1)/(P-2). ``low`` and ``high`` are its 90
    % interval.

    If running processors decide, two more values are known. ``one_each`` is the share
    of non-running samples with no message, or with one message from every other process
    (or one more). ``running_threshold`` is the threshold for running processors.

    ``gamma`` is an estimate of gamma_sub from the messages of ``stretches`` of quanta;
    ``gamma_low`` and ``gamma_high`` are its 90 % interval. ``reason`` explains the
    class in words. A value is None if it could not be computed.
    """

    gangedness: Gangedness
    reason: str
    basis: Basis | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: base.Positive | None = None
    gang_samples: base.Count | None = None
    samples: base.Count | None = None
    gang_mean: base.Amount | None = None
    mean: base.Amount | None = None
    one_each: Annotated[float, Field(ge=0, le=1)] | None = None
    running_threshold: base.Positive | None = None
    gamma: float | None = None
    gamma_low: float | None = None
    gamma_high: float | None = None
    stretches: base.Count | None = None


class ApplicationVerdict(base.Record):
    """The verdict on one application."""

    id: base.Name
    verdict: Verdict


class GangednessVerdicts(base.Record):
    """The verdicts on all applications of an instance, in its order."""

    applications: tuple[ApplicationVerdict, ...]
