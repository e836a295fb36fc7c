"""Define the advice as data: the findings, and the document ``ioopt/advice``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ioopt.advice.replays import Traffic
from ioopt.advice.spread import WORTH, Figure
from ioopt.problems.base import Json

FORMAT = "ioopt/advice"
VERSION = 3


class Kind(StrEnum):
    """List the conclusions that can be drawn about a saving."""

    SAVES = "saves"
    NOTHING = "no clear benefit"
    UNCERTAIN = "inconclusive"
    DEPENDS = "depends"


TRUSTED_SCALE = 0.4
"""Where I/O, without congestion, takes less than this share of the time that it takes
in the log, nothing is concluded, because the result depends on what jobs really write.
Of 50 made logs of known truth (slow tests of advise) no verdict was wrong above this
share; below it, 5 of 15 would have been wrong.
"""


def verdict_kind(saved: Figure, scale: float = 1.0) -> Kind:
    """Return the conclusion from a saving with its interval; *scale* is the factor on
    assumed I/O.

    >>> verdict_kind(Figure(0.1, 0.04, 0.15)).value
    'saves'
    """
    if saved.low is None or saved.high is None or scale < TRUSTED_SCALE:
        return Kind.UNCERTAIN
    if saved.low > WORTH:
        return Kind.SAVES
    if saved.high < WORTH:
        return Kind.NOTHING
    return Kind.UNCERTAIN


class AxisPoint(NamedTuple):
    """The cost of congestion, and the savings of the best policy and of the best
    setting, at one I/O fraction or storage rate.

    All are shares of run time. ``scale`` is the factor by which the bytes of assumed
    I/O were multiplied.
    """

    value: float
    cost: Figure
    policy: Figure
    setting: Figure
    setting_name: str
    scale: float

    @property
    def trusted(self) -> bool:
        """Return whether a conclusion is possible at this point."""
        return self.scale >= TRUSTED_SCALE


@dataclass(frozen=True)
class Axis:
    """One of the two figures that decide the advice: the I/O fraction or the storage
    rate.

    ``value`` is None when it is not known; ``shown`` is the value to which the details
    refer. A change of settings pays from ``pays_from`` to ``pays_to``, the policy from
    ``policy_pays_from`` on; None there means a value beyond those of ``points``.
    """

    value: float | None
    shown: float
    source: str
    pays_from: Figure
    pays_to: Figure
    policy_pays_from: Figure
    points: list[AxisPoint]

    @property
    def ends(self) -> tuple[float, float]:
        """Return the least and the largest value at which a conclusion is possible."""
        trusted = [point.value for point in self.points if point.trusted]
        if not trusted:
            return self.shown, self.shown
        return trusted[0], trusted[-1]


class Switch(NamedTuple):
    """A setting that can be switched on today, at its best level."""

    name: str
    words: str
    lines: tuple[str, ...]
    kind: Kind
    saves: Figure


class Saving(NamedTuple):
    """The savings of one option for a group of jobs: one in their run time, one in
    their I/O delay.
    """

    option: str
    group: str
    run_time: Figure
    io_delay: Figure


@dataclass(frozen=True)
class Advice:
    """The findings; all shares are shares of the run time of all jobs.

    ``setting`` is the best setting at the point to which the details refer, ``verdict``
    the conclusion about it, ``policy`` the best policy. Figures outside the two axes
    are of that point.
    """

    name: str
    baseline: str
    verdict: Kind
    setting: str
    policy: str
    fraction: Axis
    storage: Axis
    cost: Figure
    policy_saves: Figure
    switches: list[Switch]
    savings: list[Saving]
    traffic: list[Traffic]
    jobs: int
    groups: dict[str, int]
    large_job_nodes: int
    span_seconds: float
    nodes: int
    node_rate: float
    node_utilisation: float
    node_hours_above_machine: float
    node_hours_above_machine_with_setting: float
    scale: float
    draws: int
    resamples: int
    blocks: str
    warnings: list[str]

    @property
    def switch(self) -> Switch:
        """Return the best setting."""
        return next(row for row in self.switches if row.name == self.setting)

    @property
    def pasted(self) -> Switch | None:
        """Return the setting whose configuration lines are printed with the verdict.

        When the verdict depends on a figure, this is the setting at the first point at
        which one pays: from the lowest I/O fraction up, or from the highest storage
        rate down.
        """
        if self.verdict == Kind.SAVES:
            return self.switch
        if self.verdict != Kind.DEPENDS:
            return None
        points = self.storage.points[::-1]
        if self.fraction.value is None and self.fraction.pays_from.value is not None:
            points = self.fraction.points
        for point in points:
            if point.trusted and (point.setting.value or 0.0) >= WORTH:
                name = point.setting_name
                return next(row for row in self.switches if row.name == name)
        return None

    def document(self, answer: Sequence[str], command: str) -> Json:
        """Return the advice as plain data, with its answer in words and the *command*
        that produced it.
        """
        found: Json = {"format": FORMAT, "version": VERSION}
        for name, value in vars(self).items():
            found[name] = _plain(value)
        return found | {"answer": list(answer), "command": command}


def _plain(value: object) -> object:
    """Return records as dictionaries, records inside them included."""
    if isinstance(value, Axis):
        return _plain(vars(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
