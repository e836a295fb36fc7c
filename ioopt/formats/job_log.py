"""Read job logs in SWF, from Slurm's ``sacct`` and from PBS, as :class:`SwfTrace`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import named
from ioopt.formats.pbs import RECORD, read_pbs
from ioopt.formats.report import Warnings, by_kind
from ioopt.formats.sacct import read_sacct
from ioopt.formats.swf.log import SwfJob, SwfTrace, log_text, parse_swf

if TYPE_CHECKING:
    from ioopt.arrays import Floats, Ints

_LOOKS = {
    "sacct": "heading of sacct -P",
    "pbs": "PBS accounting record",
    "swf": "line of the Standard Workload Format",
}
"""For each kind of log, a description of its first line, for messages."""


def read_log(
    source: str | os.PathLike[str],
    kind: str = "",
    time_zone: str | None = None,
    cluster: str | None = None,
    skip_bad: float | None = None,
) -> SwfTrace:
    """Read the job log *source*, which may be gzipped; ``-`` is standard input.

    *kind* is ``swf``, ``sacct`` or ``pbs``; empty text detects the kind. *time_zone*,
    such as ``Europe/Stockholm``, applies to sacct times without an offset; the default
    is UTC. *cluster* selects one of several clusters in a sacct log. *skip_bad* is the
    largest share of rows that may be left out because they cannot be read. Raises
    InstanceError with the file, the line and the value.
    """
    name = named(source)
    text = log_text(source)
    looks = _kind_of(text, kind, name)
    if looks == "swf":
        return parse_swf(text, name, skip_bad)
    try:
        zone = ZoneInfo(time_zone) if time_zone else UTC
    except (KeyError, OSError, ValueError):
        raise UsageError(
            f"--time-zone {time_zone}: no such zone; one is Europe/Stockholm"
        ) from None
    said = Warnings(list)
    if looks == "sacct":
        jobs, remarks = read_sacct(text, name, said, zone, cluster, skip_bad)
    else:
        jobs, remarks = read_pbs(text, name, said, skip_bad)
    most = _most_in_use(jobs, [job.processors for job in jobs])
    if not most:
        raise InstanceError(f"{name}: none of {len(jobs)} jobs ran")
    submitted = [job.submit_seconds for job in jobs if job.submit_seconds is not None]
    zero = min(submitted, default=0.0)
    header: dict[str, tuple[str, ...]] = {
        "UnixStartTime": (f"{zero:.0f}",),
        "MaxProcs": (str(most),),
        "MaxNodes": (str(_most_in_use(jobs, [job.nodes for job in jobs])),),
    }
    if time_zone:
        header["TimeZoneString"] = (time_zone,)
    return SwfTrace(
        name,
        header,
        tuple(_since(job, zero) for job in jobs),
        (*remarks, *by_kind(said)),
        looks,
    )


COLUMNS = re.compile(r"JobID(Raw)?\s")
"""The beginning of the heading of sacct without ``-P``."""


def _kind_of(text: str, kind: str, name: str) -> str:
    """Return the kind of log that *text* looks like: ``swf``, ``sacct`` or ``pbs``.

    Raises InstanceError if *kind* is not empty and differs, and for the output of sacct
    without ``-P``.
    """
    head = text.lstrip().partition("\n")[0].rstrip()
    if RECORD.fullmatch(head):
        looks = "pbs"
    elif "|" in head and not head.startswith(";"):
        looks = "sacct"
    elif COLUMNS.match(head):
        raise InstanceError(
            f"{name}: line 1: columns of sacct without a separator; use sacct -P"
        )
    else:
        looks = "swf"
    if kind not in ("", looks):
        raise InstanceError(f"{name}: line 1: no {_LOOKS[kind]}: {head[:60]!r}")
    return looks


def _most_in_use(jobs: Sequence[SwfJob], sizes: Sequence[int | None]) -> int:
    """Return the largest number of processors or nodes that *jobs*, which have these
    *sizes*, used at the same time.
    """
    begin = np.array(
        [(job.submit_seconds or 0.0) + (job.wait_seconds or 0.0) for job in jobs]
    )
    run = np.array([job.run_seconds or 0.0 for job in jobs])
    used = np.array([size or 0 for size in sizes], np.int64)
    ran = run > 0
    end = begin + run
    return int(in_use(begin[ran], end[ran], used[ran])[1].max(initial=0))


def _since(job: SwfJob, zero: float) -> SwfJob:
    """Return *job* with its submission in seconds since *zero*."""
    if job.submit_seconds is None:
        return job
    return replace(job, submit_seconds=job.submit_seconds - zero)


def in_use(begin: Floats, end: Floats, units: Ints) -> tuple[Floats, Ints]:
    """Return the times at which jobs begin or end, and the units in use from then on.

    Job k uses ``units[k]`` from ``begin[k]`` to ``end[k]``. A job whose begin is nan
    never ran and is ignored. The times are sorted, and the units are given for each of
    them.
    """
    known = ~np.isnan(begin)
    begin = begin[known]
    end = end[known]
    units = units[known]
    times = np.concatenate([end, begin])
    change = np.concatenate([-units, units])
    order = np.argsort(times, kind="stable")  # The job ends before it starts.
    return times[order], np.cumsum(change[order])
