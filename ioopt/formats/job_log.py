"""Job logs of batch systems as :class:`SwfTrace`: Slurm's ``sacct`` and the accounting files of PBS.

``sacct -a -P --noconvert`` prints a heading and a line a job or step, cells apart by ``|`` (manual page
of sacct, "Job Accounting Fields"). A line of PBS is ``time;type;job;key=value ...``; type E is a job that
has ended (PBS Professional Administrator's Guide, "Format of Accounting Log Messages"; Torque alike).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import named
from ioopt.formats.report import Warnings, by_kind
from ioopt.formats.swf.log import CANCELLED_STATUS, SwfJob, SwfTrace, log_text, parse_swf

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints

NEEDED = ("Submit", "Start", "End", "State")
SIZES = ("AllocCPUS", "NCPUS", "AllocTRES", "ReqCPUS", "ReqTRES")
"""Columns that say the processors of a job, the first that knows them counts."""
LOST = ("NODE_FAIL", "PREEMPTED", "REQUEUED", "BOOT_FAIL")
STATUS = {"COMPLETED": 1, "CANCELLED": CANCELLED_STATUS}
PBS_LINE = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;(\w);([^;]+);(.*)")
Times = tuple[float | None, float | None, float | None, float | None]
"""When a job was submitted, eligible, started and ended, in seconds of the epoch; None: never, not said."""


def read_log(
    source: str | os.PathLike[str], kind: str = "", time_zone: str | None = None
) -> SwfTrace:
    """Read the log *source* (also .gz or -): of *kind* swf, sacct or pbs, by default what it looks like.

    *time_zone* (``Europe/Stockholm``) is that of the times of sacct without an offset; without it they
    are taken for UTC. Raises InstanceError naming file, line and value.
    """
    name, text = named(source), log_text(source)
    head = text.partition("\n")[0]
    looks = "sacct" if "|" in head else "pbs" if PBS_LINE.match(head) else "swf"
    if kind not in ("", looks):
        what = {"sacct": "heading of sacct -P", "pbs": "PBS accounting record"}
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
    jobs = list(reader(text.splitlines(), name, said, zone))
    ran = [job for job in jobs if job.run_seconds]
    begin = np.array([(job.submit_seconds or 0.0) + (job.wait_seconds or 0.0) for job in ran])
    run = np.array([job.run_seconds or 0.0 for job in ran])
    sizes = np.array([job.processors or 0 for job in ran], np.int64)
    most = int(in_use(begin, begin + run, sizes)[1].max(initial=0))
    if not most:
        raise InstanceError(f"{name}: none of {len(jobs)} jobs ran")
    guess = f"machine of {most} processors, the most in use at once; --machine nodes=N states it"
    zero = min((job.submit_seconds for job in jobs if job.submit_seconds is not None), default=0.0)
    header: dict[str, tuple[str, ...]] = {"UnixStartTime": (f"{zero:.0f}",)}
    header |= {"MaxProcs": (str(most),)} | ({"TimeZoneString": (time_zone,)} if time_zone else {})
    since = (
        job if job.submit_seconds is None else replace(job, submit_seconds=job.submit_seconds - zero)
        for job in jobs
    )  # fmt: skip
    return SwfTrace(name, header, tuple(since), (*by_kind(said), guess))


def _job(name: str, where: str, state: str, times: Times, said: Warnings, **row: Any) -> SwfJob:
    """The job (or run) *name*, submitted when it was eligible; what is left out or guessed is said."""
    number = re.match(r"\d+", name)
    if number is None:
        raise InstanceError(f"{where}: JobID {name!r} does not begin with a number")
    submit, eligible, start, end = times
    if submit is not None and (eligible or 0.0) > submit:
        said["eligible after submission (dependency, begin time): count from then"].append(name)
        submit = eligible
    if submit is not None and start is not None and start < submit:
        said["started before they were eligible: taken as eligible then"].append(name)
        submit = start
    run = None if start is None or end is None else end - start
    if run is not None and run < 0:
        said["ended before they started, left out"].append(name)
        run = None
    if run is not None and row["requested_seconds"] is None:
        said["without a time limit: the run time is taken for it"].append(name)
    if state in LOST:
        said[f"{state}: a run of its own"].append(name)
    wait = None if submit is None or start is None else start - submit
    return SwfJob(int(number[0]), submit, wait, run, status=STATUS.get(state, 0), **row)


def in_use(begin: Floats, end: Floats, units: Ints) -> tuple[Floats, Ints]:
    """The times at which jobs begin or end (nan: never), and the *units* in use from each of them on."""
    known = ~np.isnan(begin)
    begin, end, units = begin[known], end[known], units[known]
    times, change = np.concatenate([end, begin]), np.concatenate([-units, units])
    order = np.argsort(times, kind="stable")  # ends before starts
    return times[order], np.cumsum(change[order])


def _sacct(lines: list[str], name: str, said: Warnings, zone: tzinfo) -> Iterator[SwfJob]:
    """The jobs in the output of sacct; steps are left out."""
    columns = lines[0].strip().split("|")
    lacking = [column for column in NEEDED if column not in columns]
    lacking += ["JobID"] * (not {"JobID", "JobIDRaw"} & set(columns))
    lacking += [" or ".join(SIZES)] * (not set(SIZES) & set(columns))
    if lacking:
        raise InstanceError(
            f"{name}: line 1: no column {', '.join(lacking)}; ask sacct for it (-o)"
        )
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("|")
        row = dict(zip(columns, cells))
        where, job = f"{name}: line {number}", row.get("JobID") or row.get("JobIDRaw", "")
        if line.strip() and len(cells) < len(columns):
            raise InstanceError(f"{where}: {len(cells)} cells, but the heading has {len(columns)}")
        if not line.strip() or "." in job:
            said["steps, not read"] += [job] * ("." in job)
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
        sizes = (_processors(row.get(column, "")) for column in SIZES)
        yield _job(
            row.get("JobIDRaw") or job, where, state, (submit, eligible, start, end), said,
            processors=next((size for size in sizes if size), None), requested_seconds=limit,
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
            said["times without an offset, taken for UTC (import sacct --time-zone)"].append(cell)
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


def _pbs(lines: list[str], name: str, said: Warnings, zone: tzinfo) -> Iterator[SwfJob]:
    """The jobs in PBS accounting records: those that have ended, each run of its own."""
    for number, line in enumerate(lines, 1):
        found, where = PBS_LINE.match(line), f"{name}: line {number}"
        if line.strip() and not found:
            raise InstanceError(f"{where}: no PBS accounting record: {line[:60]!r}")
        kind, job, text = found.groups() if found else ("", "", "")
        if kind in ("D", "A"):
            said["deleted or aborted (a run of theirs has a record of its own)"].append(job)
        if kind not in ("D", "A", "E"):
            continue
        cells = dict(re.findall(r"(\S+?)=(\S*)", text))
        made, queued, eligible, start, end = (
            float(cells[key]) if cells.get(key, "").isdigit() else None
            for key in ("ctime", "qtime", "etime", "start", "end")
        )
        state = (
            "CANCELLED" if kind != "E" else "COMPLETED" if cells.get("Exit_status") == "0" else ""
        )
        yield _job(
            job, where, state, (queued if made is None else made, eligible, start or None, end), said,
            processors=_pbs_size(cells) or None,
            requested_seconds=_span(cells.get("Resource_List.walltime", ""), f"{where}: walltime"),
            user=cells.get("user"), group=cells.get("group"), partition=cells.get("queue"),
        )  # fmt: skip


def _pbs_size(cells: dict[str, str]) -> int:
    """Processors: ``ncpus``, else the slots of ``exec_host`` (``n1/0*8+n2/0-7,9+n3/4``); 0: not said."""
    if cells.get("Resource_List.ncpus", "").isdigit():
        return int(cells["Resource_List.ncpus"])
    slots = re.findall(r"[/,](\d+)(?:-(\d+)|\*(\d+))?", cells.get("exec_host", ""))
    return sum(
        int(last) - int(first) + 1 if last else int(many or 1) for first, last, many in slots
    )
