"""Read times and time spans of a log as Slurm and PBS write them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from itertools import product
from typing import NamedTuple

from ioopt.formats.report import Warnings
from ioopt.formats.rows import bad_value, number_of
from ioopt.formats.swf.log import CANCELLED_STATUS, SwfJob

EARLIEST = 365 * 86400.0
"""The end of 1970 in seconds of the epoch; earlier times count as unknown."""
LATEST = 253_402_300_800.0
"""The start of the year 10000 in seconds of the epoch; later times are refused."""
LOST_STATES = ("NODE_FAIL", "PREEMPTED", "REQUEUED", "BOOT_FAIL")
STATUS = {"COMPLETED": 1, "CANCELLED": CANCELLED_STATUS}
NO_ZONE = "times without an offset, taken for UTC (--time-zone)"
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)
_SPAN = re.compile(
    r"(?:(\d{1,9})[-:](?=\d+:\d+:))?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9})(?:\.\d+)?",
    re.ASCII,
)


class Times(NamedTuple):
    """Times at which a job was submitted, became eligible, started and ended.

    They are seconds of the epoch. A time is None if the event never happened or was not
    recorded.
    """

    submit: float | None = None
    eligible: float | None = None
    start: float | None = None
    end: float | None = None


def epoch_of(text: str, what: str) -> float | None:
    """Return *text* as seconds of the epoch; None if it is empty or a time in 1970.

    *what* names the value in messages. Raises BadRow for any other text.
    """
    if not text:
        return None
    seconds = number_of(text, what)
    if not 0 <= seconds < LATEST:
        raise bad_value(what, text, "is no time in seconds of the epoch")
    if seconds < EARLIEST:
        return None
    return seconds


def readings_of(
    text: str, zone: tzinfo, what: str, said: Warnings
) -> tuple[float, ...]:
    """Return the times that *text* can mean, in seconds of the epoch.

    *text* is a date and time such as ``2024-05-01T12:00:00``, or seconds of the epoch.
    The result has two times in the hour that is repeated when summer time ends. It has
    no time if *text* says that the time is unknown, and otherwise one. A date without
    an offset is in the time zone *zone*. *what* names the value in messages.
    """
    if text in ("", "Unknown", "None", "N/A"):
        return ()
    if text.isdigit():
        seconds = epoch_of(text, what)
        if seconds is None:
            return ()
        return (seconds,)
    moment = _moment_of(text, what)
    if moment.tzinfo is None:
        if zone is UTC:
            said[NO_ZONE].append(text)
        first = moment.replace(tzinfo=zone, fold=0).timestamp()
        second = moment.replace(tzinfo=zone, fold=1).timestamp()
    else:
        first = second = moment.timestamp()
    if first < EARLIEST:
        return ()
    # In the hour that summer time skips, the second reading is the earlier one.
    if first < second:
        return (first, second)
    return (first,)


def _moment_of(text: str, what: str) -> datetime:
    """Return the date and time in *text*; raise BadRow for text of another form."""
    if _DATE.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    raise bad_value(what, text, "is no time such as 2024-05-01T12:00:00")


def in_order(readings: Sequence[tuple[float, ...]], lasted: float | None) -> Times:
    """Choose one of the possible *readings* of each time of a job.

    Choose the first reading that is not before the time chosen for the previous event.
    If there is none, choose the last reading. If *lasted*, the seconds from start to
    end, is known, prefer a start and an end with this distance.
    """
    *earlier, starts, ends = readings
    if lasted is not None:
        for start, end in product(starts, ends):
            if abs(end - start - lasted) <= 1.0:
                starts = (start,)
                ends = (end,)
                break
    chosen: list[float | None] = []
    before = 0.0
    for possible in (*earlier, starts, ends):
        if not possible:
            chosen.append(None)
            continue
        before = next((time for time in possible if time >= before), possible[-1])
        chosen.append(before)
    return Times(*chosen)


def span_of(text: str, what: str) -> float | None:
    """Return the seconds of ``[days-]hours:minutes:seconds`` or ``minutes:seconds``.

    PBS also writes ``days:hours:minutes:seconds``. Return None for empty text and for a
    word such as UNLIMITED. *what* names the value in messages.

    >>> span_of("1-12:00:00", "limit"), span_of("4:00:00:00", "limit")
    (129600.0, 345600.0)
    >>> span_of("", "limit")
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
    nodes: int | None = None,
    limit: float | None,
    user: str | None,
    group: str | None,
    queue: str | None = None,
    partition: str | None,
) -> SwfJob:
    """Return the job *name* of a log, or one of its runs, as an :class:`SwfJob`.

    It counts as submitted when it became eligible. Its run time is *elapsed* seconds if
    the log states them, else the time from start to end. Guesses and omissions are
    added to *said*.
    """
    submit = _submission(name, times, said)
    wait = None
    if submit is not None and times.start is not None:
        wait = times.start - submit
    run = _run_seconds(name, times, elapsed, said)
    if run is not None and limit is None:
        said["without a time limit: the run time is used instead"].append(name)
    if state in LOST_STATES:
        said[f"{state}: a run of its own"].append(name)
    return SwfJob(
        number,
        submit,
        wait,
        run,
        processors,
        requested_seconds=limit,
        status=STATUS.get(state, 0),
        user=user,
        group=group,
        queue=queue,
        partition=partition,
        nodes=nodes,
    )


def _submission(name: str, times: Times, said: Warnings) -> float | None:
    """Return the time at which a job counts as submitted, in seconds of the epoch.

    This is the time of submission or, if later, the time at which the job became
    eligible. It is never later than the start. Return None if the submission is
    unknown.
    """
    submit = times.submit
    if submit is None:
        return None
    if times.eligible is not None and times.eligible > submit:
        what = (
            "eligible after submission (dependency, begin time): waits count from then"
        )
        said[what].append(name)
        submit = times.eligible
    if times.start is not None and times.start < submit:
        said["started before they were eligible: taken as eligible then"].append(name)
        submit = times.start
    return submit


def _run_seconds(
    name: str, times: Times, elapsed: float | None, said: Warnings
) -> float | None:
    """Return the run time of a job in seconds; None if unknown or negative."""
    if times.start is None or times.end is None:
        return None
    run = times.end - times.start
    if elapsed is not None:
        if abs(run - elapsed) > 1.0:
            what = "Elapsed is not End - Start (suspended, clock): run for Elapsed"
            said[what].append(name)
        run = elapsed
    if run < 0:
        said["ended before they started, left out"].append(name)
        return None
    return run
