"""What an administrator says of the queue: the rules of a site,
which no log contains.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Annotated, Literal

from pydantic import Field

from ioopt.formats.native import read_toml, validate
from ioopt.problems import base

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Hour = Annotated[float, Field(ge=0, le=24)]


class Window(base.Record):
    """No job that asks for more than ``over_hours`` and ``over_processors``
    starts in these hours.

    With ``drain`` none that would still run then, by its walltime, starts before
    either; with ``to_hour`` = ``from_hour`` that is all. With ``to_hour`` below
    ``from_hour`` it ends the next day.
    """

    from_hour: Hour
    to_hour: Hour
    days: tuple[Day, ...] = DAYS
    over_hours: base.Amount = 0.0
    over_processors: base.Count = 0
    drain: bool = False

    def spans(
        self, first: float, last: float, zone: tzinfo
    ) -> Iterator[tuple[float, float, bool]]:
        """(closes, opens, drain) in seconds of the epoch, of the days
        from *first* to *last*.
        """
        day = datetime.fromtimestamp(first, zone).date() - timedelta(1)
        while day <= datetime.fromtimestamp(last, zone).date():
            if DAYS[day.weekday()] in self.days:
                over = self.to_hour < self.from_hour
                closes = _at(day, self.from_hour, zone)
                yield closes, _at(day + timedelta(over), self.to_hour, zone), self.drain
            day += timedelta(1)


def _at(day: date, hour: float, zone: tzinfo) -> float:
    return (datetime.combine(day, time(), zone) + timedelta(hours=hour)).timestamp()


class Limit(base.Record):
    """The most ``jobs`` or ``processors`` that each user (of ``users``, if given)
    has running at once.
    """

    users: tuple[int | str, ...] = ()
    jobs: base.PositiveCount | None = None
    processors: base.PositiveCount | None = None


class Site(base.Record):
    """The rules of a site; what it does not say is read from the log or calibrated.

    A job of one of the ``partitions`` waits for its processors only.
    ``utc_offset_hours`` is the clock of the windows (default: the log's time zone).
    """

    order: Literal["fcfs", "sjf", "wfp"] = "fcfs"
    backfill: Literal["none", "easy", "deep"] | None = None
    processors: base.PositiveCount | None = None
    utc_offset_hours: float | None = None
    windows: tuple[Window, ...] = ()
    limits: tuple[Limit, ...] = ()
    partitions: dict[str, base.PositiveCount] = Field(default_factory=dict)


def read_site(path: str) -> Site:
    """The TOML file *path*. Raises InstanceError naming the key that is wrong."""
    return validate(Site, read_toml(path), path)
