"""Define the advice as data: the records of the findings, and the document
``ioopt/advice``.
"""

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
    """The conclusions that can be drawn about a saving."""

    SAVES = "saves"
    NOTHING = "no clear benefit"
    UNCERTAIN = "inconclusive"
    DEPENDS = "depends"


MOST_WAITING = 0.6
"""The largest share of the I/O time that may be waiting if a conclusion is drawn.

Above it the result depends on what the jobs really write. The value was chosen on 50
generated logs for which the truth is known (slow tests of advise): below it no verdict
was wrong, and above it 5 of 15 verdicts would have been wrong.
"""


FEWEST_DRAWS = 2
"""The smallest number of draws from which a verdict is drawn: a single one cannot tell
how much the result hangs on what was drawn.
"""
NEAR = 0.1
"""A figure this near to its limit, as a share of the limit, is called near."""


def verdict_kind(saved: Figure, waiting: float = 0.0) -> Kind:
    """Return the conclusion from the saving *saved* with its interval. *waiting* is the
    share of the I/O time that is waiting under sharing.

    >>> verdict_kind(Figure(0.1, 0.04, 0.15)).value
    'saves'
    """
    if saved.low is None or saved.high is None or waiting > MOST_WAITING:
        return Kind.UNCERTAIN
    if saved.low > WORTH:
        return Kind.SAVES
    if saved.high < WORTH:
        return Kind.NOTHING
    return Kind.UNCERTAIN


BY_DARSHAN = "by Darshan"
KNOWN = ("given", BY_DARSHAN)
"""The sources of a figure that is not a guess."""


class AxisPoint(NamedTuple):
    """One value of an axis, with the cost of congestion and the savings of
    the best policy and the best setting there.

    The cost and the savings are shares of run time. ``scale`` is the factor by which
    the bytes of assumed I/O were multiplied, and ``waiting`` the share of all I/O time
    that is waiting under sharing.
    """

    value: float
    cost: Figure
    policy: Figure
    setting: Figure
    setting_name: str
    scale: float
    waiting: float

    @property
    def trusted(self) -> bool:
        """Return whether a conclusion can be drawn at this value."""
        return self.waiting <= MOST_WAITING


@dataclass(frozen=True)
class Axis:
    """One of the figures on which the advice depends: the I/O fraction, the storage
    rate or the I/O period.

    ``value`` is the figure, None if it is not known. ``shown`` is the value for which
    the details of the advice were computed. ``decides`` says that the figure is not
    known and that the verdict is not the same at all values tried. ``saves_at`` has the
    values at which the setting of the value shown surely saves, at the same level; it
    is None if the figure is known. Changing a setting, the best at each value, pays
    between ``pays_from`` and ``pays_to``, and the policy pays from
    ``policy_pays_from`` on. If one of these limits is None, it lies beyond the values
    of ``points``.
    """

    value: float | None
    shown: float
    source: str
    decides: bool
    saves_at: list[float] | None
    pays_from: Figure
    pays_to: Figure
    policy_pays_from: Figure
    points: list[AxisPoint]

    @property
    def known(self) -> bool:
        """Return whether the figure was stated or measured."""
        return self.source in KNOWN

    @property
    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest value at which a conclusion can be
        drawn; where there is none, twice the value shown.
        """
        tried = [point.value for point in self.points if point.trusted]
        tried = tried or [self.shown]
        return tried[0], tried[-1]

    @property
    def told_at_shown(self) -> bool:
        """Return whether a conclusion can be drawn at the value shown."""
        return any(point.trusted for point in self.points if point.value == self.shown)


class Switch(NamedTuple):
    """A setting that a site can switch on today, at its best level, with the saving
    from it.

    ``solver`` is the policy that other commands take for it, empty if there is none.
    ``levels`` has the saving of each level on the start times in the log.
    """

    name: str
    solver: str
    words: str
    lines: tuple[str, ...]
    kind: Kind
    saves: Figure
    levels: dict[str, float]


class Conflict(NamedTuple):
    """The figures that cannot go together (``words``), and what to state in place of
    one of them (``instead``).
    """

    words: str
    instead: str


class Saving(NamedTuple):
    """The savings of one option for one group of jobs: ``run_time`` is the share of run
    time saved, ``io_delay`` the share of I/O delay saved.
    """

    option: str
    group: str
    run_time: Figure
    io_delay: Figure


@dataclass(frozen=True)
class Advice:
    """The findings about a log. All shares are shares of the run time of all jobs.

    ``setting`` is the best setting, ``verdict`` is the conclusion about it, and
    ``policy`` is the best policy. All figures except those in ``fraction``, ``storage``
    and ``period`` were computed at the values that these axes name as ``shown``.
    ``conflict`` says which stated figures cannot go together. ``measured_jobs`` is the
    number of jobs whose I/O is from Darshan logs; the I/O of the others is assumed.
    ``policy_suspends`` says that the policy stops and resumes transfers.
    """

    name: str
    baseline: str
    verdict: Kind
    conflict: Conflict | None
    setting: str
    policy: str
    policy_suspends: bool
    fraction: Axis
    storage: Axis
    period: Axis
    cost: Figure
    policy_saves: Figure
    switches: list[Switch]
    savings: list[Saving]
    traffic: list[Traffic]
    jobs: int
    measured_jobs: int
    groups: dict[str, int]
    large_job_nodes: int
    span_seconds: float
    nodes: int
    nodes_source: str
    node_rate: float
    node_rate_given: bool
    node_utilisation: float
    node_hours_above_machine: float
    node_hours_above_machine_with_setting: float
    scale: float
    waiting: float
    draws: int
    resamples: int
    blocks: str
    warnings: list[str]

    @property
    def is_one_draw(self) -> bool:
        """Return whether there are too few draws for a verdict."""
        return self.draws < FEWEST_DRAWS

    @property
    def assumed_jobs(self) -> int:
        """Return the number of jobs whose I/O is assumed."""
        return self.jobs - self.measured_jobs

    @property
    def switch(self) -> Switch:
        """Return the best setting, with its saving."""
        return next(row for row in self.switches if row.name == self.setting)

    @property
    def pasted(self) -> Switch | None:
        """Return the setting whose configuration lines are printed with the verdict;
        None if none is advised.
        """
        return self.switch if self.verdict == Kind.SAVES else None

    def document(self, answer: Sequence[str], command: str) -> Json:
        """Return the advice as plain data. *answer* is the advice in words, and
        *command* is the command that produced it.
        """
        found: Json = {"format": FORMAT, "version": VERSION}
        for name, value in vars(self).items():
            found[name] = _plain(value)
        return found | {"answer": list(answer), "command": command}


def _plain(value: object) -> object:
    """Return *value* with all records in it, at any depth, turned into dictionaries."""
    if isinstance(value, Axis):
        return _plain(vars(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
