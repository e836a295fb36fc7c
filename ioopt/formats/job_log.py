"""Job logs of batch systems as :class:`SwfTrace`: Slurm's ``sacct`` and the accounting files of PBS.

``sacct -a -P --noconvert`` prints a heading and a line a job or step, cells apart by ``|`` (manual page
of sacct, "Job Accounting Fields"). A line of PBS is ``time;type;job;key=value ...``; type E is a job that
has ended (PBS Professional Administrator's Guide, "Format of Accounting Log Messages"; Torque alike).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from itertools import accumulate
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import named
from ioopt.formats.report import Warnings, by_kind
from ioopt.formats.swf.log import CANCELLED_STATUS, SwfJob, SwfTrace, log_text, parse_swf

NEEDED = ("Submit", "Start", "End", "State")
SIZES = ("AllocCPUS", "NCPUS", "AllocTRES", "ReqCPUS", "ReqTRES")
"""Columns that say the processors of a job, the first that knows them counts."""
LOST = ("NODE_FAIL", "PREEMPTED", "REQUEUED", "BOOT_FAIL")
STATUS = {"COMPLETED": 1, "CANCELLED": CANCELLED_STATUS}
PBS_LINE = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;(\w);([^;]+);(.*)")


class Record(NamedTuple):
    """A run of a job: times in seconds of the epoch, None where there are none."""

    name: str
    state: str
    submit: float | None = None
    eligible: float | None = None
    start: float | None = None
    end: float | None = None
    processors: int = 0
    limit: float | None = None
    user: str | None = None
    group: str | None = None
    queue: str | None = None
    partition: str | None = None


def read_log(
    source: str | os.PathLike[str], kind: str = "", time_zone: str | None = None
) -> SwfTrace:
    """Read the log *source* (also .gz or -): of *kind* swf, sacct or pbs, by default what it looks like.

    *time_zone* (``Europe/Stockholm``) is that of the times of sacct without an offset; without it they
    are taken for UTC. Raises InstanceError naming file, line and value.
    """
    name, text = named(source), log_text(source)
    head = text.partition("\n")[0]
    looks = "sacct" if "|" in head and "JobID" in head else "pbs" if PBS_LINE.match(head) else "swf"
    if kind not in ("", looks):
        what = {"sacct": "heading of sacct -P with JobID", "pbs": "PBS accounting record"}
        wanted = what.get(kind, "line of the Standard Workload Format")
        raise InstanceError(f"{name}: line 1: no {wanted}: {head[:60]!r}")
    if looks == "swf":
        return parse_swf(text, name)
    try:
        zone = ZoneInfo(time_zone) if time_zone else UTC
    except (KeyError, OSError, ValueError):
        raise UsageError(
            f"--time-zone {time_zone}: no such zone; one is Europe/Stockholm"
        ) from None
    said = Warnings(list)
    reader = _sacct if looks == "sacct" else _pbs
    records = list(reader(text.splitlines(), name, said, zone))
    return _trace(name, records, said, time_zone)


def _trace(name: str, records: list[Record], said: Warnings, time_zone: str | None) -> SwfTrace:
    """The log of those of *records* that ran; what is dropped or guessed is said."""
    jobs, zero = [], min((one.submit for one in records if one.submit is not None), default=0.0)
    for one in records:
        number = re.match(r"\d+", one.name)
        if number is None:
            said["without a number, left out"].append(one.name)
            continue
        ready = max(time or zero for time in (one.submit, one.eligible))
        if one.submit is not None and ready > one.submit:
            said["eligible after submission (dependency, begin time): count from then"].append(
                one.name
            )
        if one.start is not None and one.start < ready:
            said["started before they were eligible: taken as eligible then"].append(one.name)
            ready = one.start
        wait = None if one.start is None else one.start - ready
        run = None if one.start is None or one.end is None else one.end - one.start
        if run is not None and run < 0:
            said["ended before they started, left out"].append(one.name)
            run = None
        if one.state in LOST:
            said[f"{one.state}: a run of its own"].append(one.name)
        jobs.append(
            SwfJob(
                int(number[0]), None if one.submit is None else ready - zero, wait, run,
                one.processors or None, requested_seconds=one.limit, status=STATUS.get(one.state, 0),
                user=one.user, group=one.group, queue=one.queue, partition=one.partition,
            )
        )  # fmt: skip
    most = _most(jobs)
    if not most:
        raise InstanceError(f"{name}: none of {len(records)} jobs ran")
    guess = f"machine of {most} processors, the most in use at once; --machine nodes=N states it"
    header: dict[str, tuple[str, ...]] = {"UnixStartTime": (f"{zero:.0f}",)}
    header |= {"MaxProcs": (str(most),)} | ({"TimeZoneString": (time_zone,)} if time_zone else {})
    return SwfTrace(name, header, tuple(jobs), (*by_kind(said), guess))


def _most(jobs: list[SwfJob]) -> int:
    """The most processors in use at once; 0 where nothing ran."""
    steps = []
    for job in jobs:
        if job.submit_seconds is not None and job.wait_seconds is not None and job.run_seconds:
            start, size = job.submit_seconds + job.wait_seconds, job.processors or 0
            steps += [(start, 1, size), (start + job.run_seconds, 0, -size)]
    return max(accumulate((change for _, _, change in sorted(steps)), initial=0))


def _sacct(lines: list[str], name: str, said: Warnings, zone: tzinfo) -> Iterator[Record]:
    """The jobs in the output of sacct; steps are left out."""
    columns = lines[0].strip().split("|")
    if lacking := [column for column in NEEDED if column not in columns]:
        raise InstanceError(
            f"{name}: line 1: no column {', '.join(lacking)}; needed: JobID, {', '.join(NEEDED)}, a size"
        )
    if not set(SIZES) & set(columns):
        raise InstanceError(f"{name}: line 1: no size; needed is one of {', '.join(SIZES)}")
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        row = dict(zip(columns, line.split("|")))
        where, job = f"{name}: line {number}", row.get("JobID") or row.get("JobIDRaw", "")
        if len(row) < len(columns):
            raise InstanceError(f"{where}: {len(row)} cells, but the heading has {len(columns)}")
        if "." in job:
            said["steps, not read"].append(job)
            continue
        if "_" in job and not row.get("JobIDRaw"):
            said["array tasks by the number of their array (column JobIDRaw has their own)"].append(
                job
            )
        submit, eligible, start, end = (
            _time(row.get(key, ""), zone, f"{where}: {key}", said)
            for key in ("Submit", "Eligible", "Start", "End")
        )
        state = row["State"].partition(" ")[0]
        if state in ("PENDING", "CANCELLED") and start == end:
            start = None
        limit = _span(row.get("Timelimit", ""), f"{where}: Timelimit")
        if row.get("TimelimitRaw", "").isdigit():
            limit = 60.0 * int(row["TimelimitRaw"])
        if start is not None and limit is None:
            said["without a time limit: the run time is taken for it"].append(job)
        sizes = (_processors(row.get(column, "")) for column in SIZES)
        size = next((size for size in sizes if size), 0)
        yield Record(
            row.get("JobIDRaw") or job, state, submit, eligible, start, end, size, limit,
            user=row.get("User") or None, group=row.get("Account") or None, queue=row.get("QOS") or None,
            partition=row.get("Partition", "").partition(",")[0] or None,
        )  # fmt: skip


def _processors(cell: str) -> int:
    """``64`` or ``billing=64,cpu=64,node=2``; 0: not said."""
    found = re.search(r"(?:^|\bcpu=)(\d+)\b", cell)
    return int(found[1]) if found else 0


def _time(cell: str, zone: tzinfo, where: str, said: Warnings) -> float | None:
    """``2024-05-01T12:00:00`` (with or without an offset) or seconds of the epoch; None: Unknown, None."""
    if cell in ("", "Unknown", "None", "N/A"):
        return None
    if cell.isdigit():
        return float(cell)
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        raise InstanceError(f"{where}: {cell!r} is no time such as 2024-05-01T12:00:00") from None
    if moment.tzinfo is None:
        if zone is UTC:
            said["times without an offset, taken for UTC (--time-zone)"].append(cell)
        moment = moment.replace(tzinfo=zone)
    return moment.timestamp()


def _span(cell: str, where: str) -> float | None:
    """``[days-]hours:minutes:seconds`` or ``minutes:seconds``; None: UNLIMITED, Partition_Limit, empty."""
    if not cell or cell[0].isalpha():
        return None
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?", cell)
    if not found:
        raise InstanceError(f"{where}: {cell!r} is no time such as 1-12:00:00")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 86400.0 * days + 3600 * hours + 60 * minutes + seconds


def _pbs(lines: list[str], name: str, said: Warnings, zone: tzinfo) -> Iterator[Record]:
    """The jobs in PBS accounting records: those that have ended, each run of its own."""
    for number, line in enumerate(lines, 1):
        found = PBS_LINE.match(line)
        if line.strip() and not found:
            raise InstanceError(f"{name}: line {number}: no PBS accounting record: {line[:60]!r}")
        if not found:
            continue
        kind, job, text = found.groups()
        if kind in "DA":
            said["deleted or aborted (a run of theirs has a record of its own)"].append(job)
            yield Record(job, "CANCELLED")
        if kind != "E":
            continue
        cells = dict(re.findall(r"(\S+?)=(\S*)", text))
        where = f"{name}: line {number}"
        made, queued, eligible, start, end = (
            float(cells[key]) if cells.get(key, "").isdigit() else None
            for key in ("ctime", "qtime", "etime", "start", "end")
        )
        limit = _span(cells.get("Resource_List.walltime", ""), f"{where}: Resource_List.walltime")
        if limit is None:
            said["without a time limit: the run time is taken for it"].append(job)
        state = "COMPLETED" if cells.get("Exit_status") == "0" else "FAILED"
        yield Record(
            job, state, made if made is not None else queued, eligible, start or None, end,
            _pbs_size(cells), limit, user=cells.get("user"), group=cells.get("group"),
            partition=cells.get("queue"),
        )  # fmt: skip


def _pbs_size(cells: dict[str, str]) -> int:
    """Processors: ``ncpus``, ``procs``, ``nodes=2:ppn=8``, or the slots of ``exec_host``; 0: not said."""
    for key in ("Resource_List.ncpus", "Resource_List.procs"):
        if cells.get(key, "").isdigit():
            return int(cells[key])
    total = 0
    for part in (
        cells.get("Resource_List.nodes", "").split("+") if "Resource_List.nodes" in cells else ()
    ):
        count, _, rest = part.partition(":")
        ppn = re.search(r"ppn=(\d+)", rest)
        total += (int(count) if count.isdigit() else 1) * (int(ppn[1]) if ppn else 1)
    if not total and "exec_host" in cells:
        slots = [re.search(r"\*(\d+)$", slot) for slot in cells["exec_host"].split("+")]
        total = sum(int(slot[1]) if slot else 1 for slot in slots)
    return total
