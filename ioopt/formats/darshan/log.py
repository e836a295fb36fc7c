"""Darshan logs: what a job read and wrote, how long that took, and in how many phases.

Reads the text of ``darshan-parser`` 2.x and 3.x, plain or gzipped (:mod:`ioopt.formats.darshan.text`)
and binary 3.x logs through the optional ``darshan`` package (:mod:`ioopt.formats.darshan.binary`).
Source: Carns et al., ACM TOS 7(3), 2011, and the documentation of darshan-util 2.3 and 3.5.

Bytes are those of the POSIX and STDIO layers (MPI-IO calls end in POSIX and are counted there; they
are used only where a log has no POSIX data). I/O time is Darshan's ``agg_time_by_slowest``: the
slowest rank over its own files plus, for every shared file, its slowest rank; of POSIX and MPI-IO
the longer, plus STDIO. Times are seconds since the job's start.
"""

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ioopt.errors import InstanceError
from ioopt.formats.darshan.binary import read_binary
from ioopt.formats.darshan.phases import Activity, DarshanPhase, find_phases
from ioopt.formats.darshan.text import LARGEST, MODULES, RawLog, parse_text
from ioopt.formats.native import named, read_bytes
from ioopt.formats.report import some

_OTHER_STORAGE = ("DFS", "DAOS")
_BINARY = re.compile(rb"[0-9]\.[0-9]{2}\x00")
SHARED_RANK = -1
_SLACK_SECONDS = 1.0  # 2.x rounds the start of a job down to a whole second


@dataclass(frozen=True, slots=True)
class ModuleTotals:
    """Bytes and time of one layer: POSIX, MPI-IO or STDIO."""

    bytes_read: int
    bytes_written: int
    io_seconds: float


@dataclass(frozen=True, slots=True)
class DarshanLog:
    """One job as Darshan saw it; ``phases`` in order of time, their bytes summing to the totals."""

    name: str
    version: str
    job_id: int
    processes: int
    start_seconds: float
    run_seconds: float
    bytes_read: int
    bytes_written: int
    io_seconds: float
    phases: tuple[DarshanPhase, ...]
    modules: Mapping[str, ModuleTotals] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_darshan(source: str | os.PathLike[str], *, gap_seconds: float = 1.0) -> DarshanLog:
    """Read one log, text or binary; phases less than *gap_seconds* apart are one phase.

    Raises InstanceError with the reason when the log cannot be imported (not a Darshan log, a
    binary log of format 2.x, no data where the header announces some), BackendMissingError for a
    binary log without the ``darshan`` package.
    """
    name = named(source)
    raw = read_bytes(source)
    if _BINARY.match(raw):
        return summarise(read_binary(raw, name), gap_seconds=gap_seconds)
    text = raw.decode("utf-8", errors="replace")
    return summarise(parse_text(text, name), gap_seconds=gap_seconds)


def summarise(raw: RawLog, *, gap_seconds: float = 1.0) -> DarshanLog:
    """Totals, times and phases of a parsed log; refuses one that lost its data, warns of lost parts."""
    name, warnings = raw.name, list(raw.warnings)
    header = _Header(raw)
    by_module: dict[str, list[tuple[int, Mapping[str, float]]]] = defaultdict(list)
    for (module, rank, _), counters in raw.records.items():
        if counters:
            by_module[module].append((rank, counters))
    warnings += _lost(raw, by_module)
    totals = {module: _totals(module, rows) for module, rows in by_module.items()}
    counted = _counted(totals, warnings)
    if raw.records and not totals:
        found = sorted({module for module, _, _ in raw.records})
        warnings.append(f"no POSIX, MPI-IO or STDIO data, only {some(found)}: no I/O counted")
    io_seconds = _io_seconds(totals)
    if io_seconds > header.run_seconds > 0:
        warnings.append(
            f"I/O time {io_seconds:g} s is longer than the run of {header.run_seconds:g} s "
            "(it adds the slowest ranks of several files): cut to the run"
        )
        io_seconds = header.run_seconds
    rows = [counters for module in counted for _, counters in by_module[module]]
    activities = _activities(rows, header.run_seconds, warnings)
    phases, remarks = find_phases(activities, header.run_seconds, gap_seconds)
    if not phases and not raw.records:
        remarks.append("the log holds no I/O data: a job without I/O")
    return DarshanLog(
        name=name, version=header.version, job_id=header.job_id, processes=header.processes,
        start_seconds=header.start_seconds, run_seconds=header.run_seconds,
        bytes_read=sum(totals[module].bytes_read for module in counted),
        bytes_written=sum(totals[module].bytes_written for module in counted),
        io_seconds=io_seconds, phases=phases, modules=totals,
        warnings=tuple(f"{name}: {text}" for text in (*warnings, *remarks)),
    )  # fmt: skip


class _Header:
    """The header's numbers, or InstanceError naming the one that is missing or wrong."""

    def __init__(self, raw: RawLog) -> None:
        self._raw = raw
        self.version = raw.header.get("darshan log version", "")
        if not re.match(r"[123]\.\d", self.version):
            raise InstanceError(
                f"{raw.name}: darshan log version {self.version!r}; ioopt reads 1.x to 3.x"
            )
        self.job_id = int(self._number("jobid"))
        self.processes = int(self._number("nprocs"))
        if self.processes < 1:
            raise InstanceError(f"{raw.name}: nprocs {self.processes}: a job has 1 or more")
        self.start_seconds = self._number("start_time")
        if "run time" in raw.header:
            self.run_seconds = self._number("run time")
        else:
            self.run_seconds = self._number("end_time") - self.start_seconds
        if self.run_seconds < 0:
            raise InstanceError(
                f"{raw.name}: run time {self.run_seconds:g} s: the job never ended, so the log is "
                "incomplete"
            )

    def _number(self, key: str) -> float:
        text = self._raw.header.get(key)
        if text is None:
            raise InstanceError(f"{self._raw.name}: no '# {key}:' line; the header is incomplete")
        try:
            value = float(text.split()[0])
        except (ValueError, IndexError):
            raise InstanceError(f"{self._raw.name}: {key} {text!r} is not a number") from None
        if not math.isfinite(value) or abs(value) > LARGEST:
            raise InstanceError(f"{self._raw.name}: {key} {text!r} is out of range")
        return value


def _lost(raw: RawLog, by_module: Mapping[str, list[tuple[int, Mapping[str, float]]]]) -> list[str]:
    """Warnings about data that should be there and is not; InstanceError when none of it is."""
    announced = {module: size for module, size in raw.listed.items() if module in MODULES and size}
    missing = [module for module in announced if module not in by_module]
    if announced and len(missing) == len(announced):
        raise InstanceError(
            f"{raw.name}: incomplete: the header lists {some(announced)} data "
            f"({sum(announced.values())} bytes) and none follows; the parser stopped early, so "
            "import the binary .darshan log itself"
        )
    warnings = [
        f"incomplete: the header lists {module} data and none follows" for module in missing
    ]
    warnings += [
        f"{module} data are not counted: storage that ioopt does not know"
        for module in _OTHER_STORAGE
        if module in raw.listed
    ]
    for module, rows in by_module.items():
        sizes = Counter(len(counters) for _, counters in rows)
        full = max(sizes)
        if len(sizes) > 1:
            cut = len(rows) - sizes[full]
            warnings.append(f"incomplete: {cut} {module} records have less than {full} counters")
    condensed = sum(1 for module, _, record in raw.records if module == "CP" and record == "0")
    if condensed:
        warnings.append(f"{condensed} records stand for many files each (condensed by Darshan)")
    return warnings


def _amount(counters: Mapping[str, float], name: str) -> float:
    """A counter, 0 where Darshan could not monitor it (-1) or does not have it."""
    return max(0.0, counters.get(name, 0.0))


def _busy_seconds(module: str, counters: Mapping[str, float]) -> float:
    """Read, write and metadata seconds of a record that belongs to one rank."""
    stem = "F_"
    if module == "CP":  # darshan-parser 2.x takes the MPI-IO times of a file opened through MPI-IO
        mpi = _amount(counters, "INDEP_OPENS") + _amount(counters, "COLL_OPENS")
        stem = "F_MPI_" if mpi else "F_POSIX_"
    return sum(_amount(counters, f"{stem}{what}_TIME") for what in ("READ", "WRITE", "META"))


def _totals(module: str, rows: Iterable[tuple[int, Mapping[str, float]]]) -> ModuleTotals:
    """Bytes and seconds of one layer: the slowest rank on its own files, and each shared file's."""
    read = written = 0.0
    shared = 0.0
    by_rank: dict[int, float] = defaultdict(float)
    for rank, counters in rows:
        read += _amount(counters, "BYTES_READ")
        written += _amount(counters, "BYTES_WRITTEN")
        if rank == SHARED_RANK:
            shared += _amount(counters, "F_SLOWEST_RANK_TIME")
        else:
            by_rank[rank] += _busy_seconds(module, counters)
    return ModuleTotals(int(read), int(written), shared + max(by_rank.values(), default=0.0))


def _counted(totals: Mapping[str, ModuleTotals], warnings: list[str]) -> list[str]:
    """Layers whose bytes count, so that none counts twice."""
    if "CP" in totals:
        return ["CP"]
    counted = [module for module in ("POSIX", "STDIO") if module in totals]
    if "POSIX" not in totals and "MPI-IO" in totals:
        warnings.append("no POSIX data: bytes are those of MPI-IO")
        counted.insert(0, "MPI-IO")
    return counted


def _io_seconds(totals: Mapping[str, ModuleTotals]) -> float:
    seconds = {module: total.io_seconds for module, total in totals.items()}
    layered = max((seconds[m] for m in ("CP", "POSIX", "MPI-IO") if m in seconds), default=0.0)
    return layered + seconds.get("STDIO", 0.0)


def _activities(
    rows: Iterable[Mapping[str, float]], run_seconds: float, warnings: list[str]
) -> list[Activity]:
    """What each record read and wrote, and when; times that count from elsewhere are shifted.

    Logs before 2.03 keep seconds since the node's boot or the time of day, not since the start.
    """
    found = []
    for counters in rows:
        for what, total in (("READ", "BYTES_READ"), ("WRITE", "BYTES_WRITTEN")):
            count = int(_amount(counters, total))
            if count:
                start = _amount(counters, f"F_{what}_START_TIMESTAMP")
                end = _amount(counters, f"F_{what}_END_TIMESTAMP")
                opened = _amount(counters, "F_OPEN_TIMESTAMP") or start
                found.append((what, count, start, end, min(opened, start)))
    shift = 0.0
    if any(end > run_seconds + _SLACK_SECONDS for _, _, _, end, _ in found):
        shift = min((first for *_, start, end, first in found if end >= start > 0), default=0.0)
        warnings.append(f"times do not count from the job's start: shifted by {shift:g} s")
    activities = []
    for what, count, start, end, _ in found:
        usable = 0.0 < start <= end <= run_seconds + shift + _SLACK_SECONDS
        span = (max(0.0, start - shift), min(max(0.0, end - shift), run_seconds))
        read, written = (count, 0) if what == "READ" else (0, count)
        activities.append(Activity(span if usable else None, read, written))
    return activities
