"""When jobs of a log waited and ran: times and time spans as
Slurm and PBS write them.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from itertools import product
from typing import NamedTuple

from ioopt.formats.report import Warnings
from ioopt.formats.rows import bad_value, number_of
from ioopt.formats.swf.log import CANCELLED_STATUS, SwfJob

EARLIEST = 365 * 86400.0
"""Times in 1970 stand for one that is not known."""
LATEST = 253_402_300_800.0
"""The year 10000; larger numbers are no seconds of the epoch."""
LOST_STATES = ("NODE_FAIL", "PREEMPTED", "REQUEUED", "BOOT_FAIL")
STATUS = {"COMPLETED": 1, "CANCELLED": CANCELLED_STATUS}
NO_ZONE = "times without an offset, taken for UTC (import sacct --time-zone)"
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_SPAN = re.compile(
    r"(?:(\d{1,9})[-:](?=\d+:\d+:))?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9})(?:\.\d+)?",
    re.ASCII,
)


class Times(NamedTuple):
    """Seconds of the epoch at which a job was submitted, ...;
    None: never, or not said.
    """

    submit: float | None = None
    eligible: float | None = None
    start: float | None = None
    end: float | None = None


def epoch_of(text: str, what: str) -> float | None:
    """Return the seconds of the epoch that *text* is; None: not said."""
    if not text:
        return None
    seconds = number_of(text, what)
    if not 0 <= seconds < LATEST:
        raise bad_value(what, text, "is no time in seconds of the epoch")
    return seconds if seconds >= EARLIEST else None


def readings_of(
    text: str, zone: tzinfo, what: str, said: Warnings
) -> tuple[float, ...]:
    """Return the times that ``2024-05-01T12:00:00`` (or seconds of the epoch) may be.

    There are two in the hour that the end of summer time repeats, else one; none where
    it is not known. Without an offset a time is one of *zone*.
    """
    if text in ("", "Unknown", "None", "N/A"):
        return ()
    if text.isdigit():
        seconds = epoch_of(text, what)
        return () if seconds is None else (seconds,)
    try:
        moment = datetime.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        moment = None
    if moment is None:
        raise bad_value(what, text, "is no time such as 2024-05-01T12:00:00")
    if moment.tzinfo is None:
        if zone is UTC:
            said[NO_ZONE].append(text)
        first = moment.replace(tzinfo=zone, fold=0).timestamp()
        second = moment.replace(tzinfo=zone, fold=1).timestamp()
    else:
        first = second = moment.timestamp()
    if first < EARLIEST:
        return ()
    # Where summer time begins, the second is the earlier one: that hour does not exist.
    return (first, second) if first < second else (first,)


def in_order(readings: Sequence[tuple[float, ...]], lasted: float | None) -> Times:
    """Return one reading of each time: the first that is not before the time before it.

    Where it is known how long a job *lasted* from start to end, these
    two agree with that.
    """
    *earlier, starts, ends = readings
    if lasted is not None:
        agreeing = [
            pair
            for pair in product(starts, ends)
            if abs(pair[1] - pair[0] - lasted) <= 1.0
        ]
        if agreeing:
            starts, ends = (agreeing[0][0],), (agreeing[0][1],)
    chosen: list[float | None] = []
    before = 0.0
    for possible in (*earlier, starts, ends):
        time = next((time for time in possible if time >= before), None)
        if time is None and possible:
            time = possible[-1]
        before = before if time is None else time
        chosen.append(time)
    return Times(*chosen)


def span_of(text: str, what: str) -> float | None:
    """Return the seconds of ``[days-]hours:minutes:seconds`` or ``minutes:seconds``.

    PBS writes ``days:hours:minutes:seconds`` too. None: a word such as
    UNLIMITED, or empty.

    >>> span_of("1-12:00:00", "limit"), span_of("4:00:00:00", "limit"), span_of("", "limit")
    (129600.0, 345600.0, None)
    """
    if not text or text[0].isalpha():
        return None
    found = _SPAN.fullmatch(text)
    if not found:
        raise bad_value(what, text, "is no time such as 1-12:00:00")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 86400.0 * days + 3600 * hours + 60 * minutes + seconds


def job_of(
    name: str,
    state: str,
    times: Times,
    said: Warnings,
    *,
    number: int,
    elapsed: float | None = None,
    processors: int | None,
    limit: float | None,
    user: str | None,
    group: str | None,
    queue: str | None = None,
    partition: str | None,
) -> SwfJob:
    """Return the job (or run) *name*, submitted when it was eligible.

    It ran for *elapsed* seconds where the log says so, else from start to end. What is
    guessed or left out is said.
    """
    submit, eligible, start, end = times
    if submit is not None and (eligible or 0.0) > submit:
        said[
            "eligible after submission (dependency, begin time): count from then"
        ].append(name)
        submit = eligible
    if submit is not None and start is not None and start < submit:
        said["started before they were eligible: taken as eligible then"].append(name)
        submit = start
    run = None if start is None or end is None else end - start
    if run is not None and elapsed is not None:
        if abs(run - elapsed) > 1.0:
            said[
                "Elapsed is not End - Start (suspended, clock): run for Elapsed"
            ].append(name)
        run = elapsed
    if run is not None and run < 0:
        said["ended before they started, left out"].append(name)
        run = None
    if run is not None and limit is None:
        said["without a time limit: the run time is taken for it"].append(name)
    if state in LOST_STATES:
        said[f"{state}: a run of its own"].append(name)
    return SwfJob(
        number,
        submit,
        None if submit is None or start is None else start - submit,
        run,
        processors,
        requested_seconds=limit,
        status=STATUS.get(state, 0),
        user=user,
        group=group,
        queue=queue,
        partition=partition,
    )
