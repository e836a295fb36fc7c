"""The queue of a site as the fit replays it: the log's jobs as arrays, and the
rules that start them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from ioopt.advice.site import Site
from ioopt.compiled import boxes, compiled
from ioopt.formats.swf.log import SwfTrace, parse_swf
from ioopt.sim.batch_io import queue_kernel

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

DEPTHS = {"none": 0, "easy": 1, "deep": 16}
"""Of each kind of backfilling the jobs that have a reservation."""
NO_LIMIT = 1 << 60
MARGIN = 366 * 86400.0
"""Windows are laid out for so many seconds after the last submission."""


class Jobs:
    """The jobs of a log that ran and fit on so many *processors*, in order of
    submission, as arrays.

    Times count from the first submission, which is at ``zero`` of the epoch. ``wait``
    and ``begin`` are nan where the log does not say them.
    """

    def __init__(self, log: SwfTrace, processors: int) -> None:
        usable = log.usable_jobs()[0]
        self.listed = [job for job in usable if (job.size() or 1) <= processors]
        columns = [
            (
                job.submit_seconds,
                job.wait_seconds,
                job.run_seconds,
                job.requested_seconds,
            )
            for job in self.listed
        ]
        submit, self.wait, self.run, asked = np.array(columns, float).reshape(-1, 4).T
        self.first = float(submit.min(initial=np.inf))
        self.submit, self.zero = submit - self.first, self.first + (log.epoch or 0)
        self.length = np.maximum(np.where(np.isnan(asked), self.run, asked), 1.0)
        self.units = np.array([job.size() or 1 for job in self.listed], np.int64)
        names = np.array([str(job.user) for job in self.listed], str)
        self.user = np.unique(names, return_inverse=True)[1]
        self.begin = self.submit + self.wait

    def __len__(self) -> int:
        return len(self.listed)

    def head(self, count: int) -> Jobs:
        """The first *count* jobs."""
        part = copy(self)
        for name, values in vars(self).items():
            if isinstance(values, (list, np.ndarray)):
                setattr(part, name, values[:count])
        return part


def clock(log: SwfTrace, site: Site) -> tzinfo:
    """The clock of the windows: the site's, else that of the log's header, else UTC."""
    if site.utc_offset_hours is not None:
        return timezone(timedelta(hours=site.utc_offset_hours))
    try:
        return ZoneInfo(log.header["TimeZoneString"][0])
    except (KeyError, ValueError, OSError):  # not stated, or not known on this system
        return UTC


@dataclass(frozen=True)
class Rules:
    """What starts jobs: a site's rules by the clock of *zone*, and
    what was calibrated.
    """

    site: Site
    zone: tzinfo
    processors: int
    backfill: str = "easy"

    def starts(
        self, jobs: Jobs, run: Floats | None = None, fast: bool = False
    ) -> Floats:
        """The starts of *jobs*, with other run times (walltimes are at
        least those); nan: never.
        """
        replay: Any = queue_kernel.replay
        if fast:
            replay = compiled(queue_kernel.__name__, "replay")
        begin = np.full(len(jobs), np.nan)
        pools = {**self.site.partitions, "": self.processors}
        names = [str(job.partition) for job in jobs.listed]
        of = np.array([name if name in pools else "" for name in names])
        for name in np.unique(of):
            part = np.flatnonzero(of == name)
            line = self._line(jobs, jobs.run if run is None else run, part, fast)
            replay(
                line, pools[str(name)], DEPTHS[self.backfill], self.site.order == "wfp"
            )
            begin[part] = np.array(line.start, float)
        late = begin > jobs.submit[-1] + 0.99 * MARGIN  # behind the last window
        return np.where(late | (begin == queue_kernel.NEVER), np.nan, begin)

    def _line(
        self, jobs: Jobs, run: Floats, part: Ints, fast: bool
    ) -> queue_kernel.Line:
        """Those of the *jobs* whose places are *part*, as the kernel takes them."""
        spans, ends, kinds = self._spans(jobs, part)
        users, user = np.unique(jobs.user[part], return_inverse=True)
        most = np.full((2, len(part)), NO_LIMIT)
        for limit in self.site.limits:
            of = np.array(
                [not limit.users or jobs.listed[j].user in limit.users for j in part]
            )
            bounds = np.array([limit.jobs or NO_LIMIT, limit.processors or NO_LIMIT])
            most[:, of] = np.minimum(most[:, of], bounds[:, None])
        none, steps = (
            np.zeros(len(part)),
            np.zeros(2 * len(part) + max(DEPTHS.values()) + 2),
        )
        length = np.maximum(jobs.length, run)[part]
        whole = {
            "units": jobs.units[part],
            "kind": kinds,
            "user": user,
            "most_jobs": most[0],
            "most_units": most[1],
            "drains": spans[:, 2],
            "at": np.append(0, ends[:-1]),
            "last": ends,
            "waiting": none,
            "running": none,
            "free": steps,
            "user_jobs": 0 * users,
            "user_units": 0 * users,
        }
        real = {
            "submit": jobs.submit[part],
            "run": run[part],
            "length": length,
            "closes": spans[:, 0],
            "opens": spans[:, 1],
            "wakes": np.unique(spans[:, 1]),
            "start": none + queue_kernel.NEVER,
            "end": none,
            "due": none,
            "times": steps,
            "key": length if self.site.order == "sjf" else part,
        }
        box = boxes(fast)
        made = {
            name: box(values.astype(int).tolist()) for name, values in whole.items()
        }
        made |= {name: box(values.tolist(), real=True) for name, values in real.items()}
        return queue_kernel.Line(**made)

    def _spans(self, jobs: Jobs, part: Ints) -> tuple[Floats, Ints, Ints]:
        """The closed spans (closes, opens, drains) class by class, where each
        ends, classes of jobs.
        """
        member = np.zeros(len(part), np.int64)
        for k, window in enumerate(self.site.windows):
            over = jobs.length[part] > 3600 * window.over_hours
            member += (over & (jobs.units[part] > window.over_processors)) << k
        last = jobs.zero + float(jobs.submit[-1]) + MARGIN
        listed = [
            list(window.spans(jobs.zero, last, self.zone))
            for window in self.site.windows
        ]
        classes, kinds = np.unique(member, return_inverse=True)
        spans: list[tuple[float, float, bool]] = []
        ends = []
        for mask in classes:
            spans += sorted(
                span for k, own in enumerate(listed) if mask >> k & 1 for span in own
            )
            ends.append(len(spans))
        shift = np.array([jobs.zero, jobs.zero, 0.0])
        return np.array(spans, float).reshape(-1, 3) - shift, np.array(ends), kinds


def compile_kernel() -> None:
    """Compile the queue, on one job."""
    Rules(Site(), UTC, 1).starts(Jobs(parse_swf("1 0 0 1 1", "one"), 1), fast=True)
