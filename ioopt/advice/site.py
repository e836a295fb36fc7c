"""What an administrator says of the queue: the rules of a site, which no log contains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ioopt.problems import base

WEEK_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
HOUR, DAY = 3600.0, 86400.0
Hour = Annotated[float, Field(ge=0, le=24)]


class Window(base.Record):
    """Jobs that ask for more than ``over_hours`` do not start from ``from_hour`` to ``to_hour`` local time.

    With ``over_processors`` only jobs that ask for more of these as well. The days are those named.
    """

    over_hours: base.Amount = 0.0
    over_processors: int = 0
    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = WEEK_DAYS
    from_hour: Hour
    to_hour: Hour

    def closed(self, seconds: float, first: float, last: float) -> Iterator[tuple[float, float]]:
        """The spans of closed time from *first* to *last*; at 0 the local time is *seconds* of the epoch."""
        midnight = first - (first + seconds) % DAY
        while midnight <= last:
            day = WEEK_DAYS[
                int((midnight + seconds) // DAY + 3) % 7
            ]  # the epoch began on a Thursday
            if day in self.days:
                yield midnight + HOUR * self.from_hour, midnight + HOUR * self.to_hour
            midnight += DAY


class Limit(base.Record):
    """The most ``jobs`` or ``processors`` that one user (of *users*; default: each) has running."""

    users: tuple[int | str, ...] = ()
    jobs: base.PositiveCount | None = None
    processors: base.PositiveCount | None = None


class Site(base.Record):
    """The rules of a site; what it does not say is read from the log, or calibrated.

    ``partitions`` gives the processors of each: jobs of one wait for its processors only.
    ``utc_offset_hours`` counts where the log has no time zone.
    """

    order: Literal["fcfs", "sjf", "wfp"] = "fcfs"
    backfill: Literal["none", "easy", "deep"] | None = None
    processors: base.PositiveCount | None = None
    utc_offset_hours: float | None = None
    windows: tuple[Window, ...] = ()
    limits: tuple[Limit, ...] = ()
    partitions: dict[str, base.PositiveCount] = {}


def read_site(path: str) -> Site:
    """The TOML file *path*. Raises InstanceError naming the key that is wrong."""
    from ioopt.formats.native import read_toml, validate

    return validate(Site, read_toml(path), path)
