"""Darshan logs: what a job read and wrote, how long that took, and in how many phases.

What stands in them is read by :mod:`ioopt.formats.darshan.raw`. Source: Carns et
al., ACM TOS 7(3), 2011, and the documentation of darshan-util 3.5. Times are seconds
since the job's start.

Bytes are those of the POSIX and STDIO layers (MPI-IO calls end in POSIX and are counted
there; they are used only where a log has no POSIX data). I/O time is how long at least
one process was reading or writing, where a DXT trace knows that; else Darshan's
``agg_time_by_slowest``: the slowest rank over its own files plus, for every shared
file, its slowest rank; of POSIX and MPI-IO the longer, plus STDIO.

Phases are a rule of ours: accesses of one kind that overlap, or lie less than a gap
apart, are one phase, so that reads and writes stay apart. An access is a segment of a
DXT trace, a bin of a heatmap, or, where a log has neither, a file's span from first to
last read or write. The smallest accesses, together at most a thousandth of the bytes
(log files and the like, often open all the time), make no phase of their own.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ioopt.errors import InstanceError
from ioopt.formats.darshan.raw import (
    MODULES,
    Access,
    Kind,
    RawLog,
    Span,
    parse_text,
    read_binary,
)
from ioopt.formats.native import decoded, named, read_bytes
from ioopt.formats.report import some
from ioopt.timeline import covered_seconds

_OTHER_STORAGE = ("DFS", "DAOS")
_BINARY = re.compile(rb"[0-9]\.[0-9]{2}\x00")
SHARED_RANK = -1
NOT_MONITORED = -1.0
OVERFLOW = 2.0**63
"""Counters have 64 bits and a sign."""
SLACK_SECONDS = 1.0  # texts tell the start of a job in whole seconds
_COUNTERS: tuple[tuple[Kind, str, str], ...] = (
    ("read", "READ", "BYTES_READ"),
    ("write", "WRITE", "BYTES_WRITTEN"),
)
_TIMES = frozenset(
    f"F_{what}_{which}"
    for what in ("READ", "WRITE", "META")
    for which in ("START_TIMESTAMP", "END_TIMESTAMP", "TIME")
) | {"F_SLOWEST_RANK_TIME"}
_ENOUGH = 0.9
"""A trace or heatmap that holds less of the bytes than this is not used (they
can run out of memory).
"""


MINOR_SHARE = 1e-3


@dataclass(slots=True)
class DarshanPhase:
    """A stretch of time in which a job read or wrote, seconds since its start."""

    start_seconds: float
    end_seconds: float
    bytes_read: int = 0
    bytes_written: int = 0

    @property
    def total_bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    def add(self, kind: Kind, count: int) -> None:
        """Count more bytes."""
        if kind == "read":
            self.bytes_read += count
        else:
            self.bytes_written += count


def find_phases(
    accesses: Sequence[Access], run_seconds: float, gap_seconds: float
) -> tuple[tuple[DarshanPhase, ...], list[str]]:
    """Phases in order of time, holding all bytes, and remarks for the user.

    Bytes of the smallest accesses, and those whose time is unknown, join the
    largest phase of their kind (of any kind where there is none), or make one
    at the end of the run.

    >>> found = find_phases([Access("read", 10, (1, 2)), Access("write", 5, (1.5, 4))], 9.0, 1.0)[0]
    >>> [(phase.start_seconds, phase.bytes_read, phase.bytes_written) for phase in found]
    [(1, 10, 0), (1.5, 0, 5)]
    """
    total = sum(access.moved for access in accesses)
    allowance = MINOR_SHARE * total
    placed: list[tuple[Span, Access]] = []
    rest: list[Access] = []
    for access in sorted(accesses, key=lambda access: access.moved):
        if access.span is not None:
            allowance -= access.moved
        if access.span is None or allowance >= 0:
            rest.append(access)
        else:
            placed.append((access.span, access))
    phases: list[DarshanPhase] = []
    latest: dict[Kind, DarshanPhase] = {}
    for (start, end), access in sorted(placed):
        phase = latest.get(access.kind)
        if phase is None or start - phase.end_seconds >= gap_seconds:
            phase = latest[access.kind] = DarshanPhase(start, end)
            phases.append(phase)
        phase.end_seconds = max(phase.end_seconds, end)
        phase.add(access.kind, access.moved)
    unknown = sum(access.moved for access in rest if access.span is None)
    remarks = []
    if unknown > MINOR_SHARE * total:
        where = "the largest phase" if phases else "one phase at the end of the run"
        remarks.append(f"{unknown} bytes without usable times are put in {where}")
    if rest and not phases:
        phases.append(DarshanPhase(run_seconds, run_seconds))
    largest = {
        kind: max(phases, key=lambda phase: _bytes(phase, kind)) for kind in latest
    }
    widest = max(phases, key=lambda phase: phase.total_bytes, default=None)
    for access in rest:
        into = largest.get(access.kind, widest)
        if into is not None:
            into.add(access.kind, access.moved)
    return tuple(phases), remarks


def _bytes(phase: DarshanPhase, kind: Kind) -> int:
    return phase.bytes_read if kind == "read" else phase.bytes_written


@dataclass(frozen=True, slots=True)
class DarshanLog:
    """One job as Darshan saw it; ``phases`` in order of time, their bytes
    summing to the totals.

    ``io_seconds`` is the time of reading and writing together; ``read_seconds`` and
    ``write_seconds`` those of each, ``layer_seconds`` those of POSIX, MPI-IO and STDIO
    as Darshan counts them. ``times_from`` says what the phases are made of.
    """

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
    layer_seconds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    read_seconds: float = 0.0
    write_seconds: float = 0.0
    times_from: str = "files"

    @property
    def total_bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def rate(self) -> float | None:
        """Bytes per second achieved: all bytes over the I/O time;
        None where either is 0.
        """
        return (
            self.total_bytes / self.io_seconds
            if self.total_bytes and self.io_seconds
            else None
        )


def read_darshan(
    source: str | os.PathLike[str], *, gap_seconds: float = 1.0
) -> DarshanLog:
    """Read one log, text or binary; phases less than *gap_seconds* apart are one phase.

    Raises InstanceError with the reason when the log cannot be imported (not a Darshan
    log, a binary log of format 2.x, no data where the header announces some),
    BackendMissingError for a binary log without the ``darshan`` package.
    """
    return summarise(read_raw(source), gap_seconds=gap_seconds)


def read_raw(source: str | os.PathLike[str]) -> RawLog:
    """What stands in one log; see :func:`read_darshan`."""
    name = named(source)
    raw = read_bytes(source)
    if _BINARY.match(raw):
        return read_binary(raw, name)
    return parse_text(decoded(raw, name, "utf-8"), name)


def summarise(raw: RawLog, *, gap_seconds: float = 1.0) -> DarshanLog:
    """Totals, times and phases of a parsed log; refuses one that lost its data,
    warns of lost parts.
    """
    name, header, warnings = raw.name, raw.header, list(raw.warnings)
    by_module: dict[str, list[tuple[int, Mapping[str, float]]]] = defaultdict(list)
    for (module, rank, _), counters in raw.records.items():
        if counters:
            by_module[module].append((rank, counters))
    segments = raw.segments.get("DXT_POSIX") or raw.segments.get("DXT_MPIIO") or []
    warnings += _lost(raw, by_module, segments)
    warnings += _impossible(by_module)
    segments = _within_run(
        segments, header.run_seconds, warnings, "segments of the trace"
    )
    layers = {module: _layer_seconds(rows) for module, rows in by_module.items()}
    if raw.records and not layers:
        found = sorted({module for module, _, _ in raw.records})
        warnings.append(
            f"no POSIX, MPI-IO or STDIO data, only {some(found)}: no I/O counted"
        )
    counted = ["POSIX", "STDIO"]
    if "MPI-IO" in layers and "POSIX" not in layers:  # else its bytes are counted there
        warnings.append("no POSIX data: bytes are those of MPI-IO")
        counted = ["MPI-IO", "STDIO"]
    rows = [counters for module in counted for _, counters in by_module.get(module, ())]
    accesses = segments
    if rows:
        accesses = _within_run(_accesses(rows), header.run_seconds, warnings, "files")
    moved = {
        kind: sum(a.moved for a in accesses if a.kind == kind) for kind, *_ in _COUNTERS
    }
    seconds = _seconds_by_kind(rows, layers)
    times, times_from = _times(raw, segments, moved, warnings)
    if times_from == "DXT":
        spans = [(access.kind, access.span) for access in segments if access.span]
        seconds = {
            kind: covered_seconds(span for each, span in spans if each == kind)
            for kind in seconds
        }
        io_seconds = covered_seconds(span for _, span in spans)
    else:
        io_seconds = sum(seconds.values())
    if io_seconds > header.run_seconds > 0:
        if io_seconds > header.run_seconds + SLACK_SECONDS or times_from != "DXT":
            warnings.append(
                f"I/O time {io_seconds:g} s is longer than the run of "
                f"{header.run_seconds:g} s (it adds the slowest ranks of several "
                "files): cut to the run"
            )
        seconds = {
            kind: each * header.run_seconds / io_seconds
            for kind, each in seconds.items()
        }
        io_seconds = header.run_seconds
    phases, remarks = find_phases(times or accesses, header.run_seconds, gap_seconds)
    if not phases and not raw.records:
        remarks.append("the log holds no I/O data: a job without I/O")
    return DarshanLog(
        name=name,
        version=header.version,
        job_id=header.job_id,
        processes=header.processes,
        start_seconds=header.start_seconds,
        run_seconds=header.run_seconds,
        bytes_read=moved["read"],
        bytes_written=moved["write"],
        io_seconds=io_seconds,
        phases=phases,
        layer_seconds=layers,
        warnings=tuple(f"{name}: {text}" for text in (*warnings, *remarks)),
        read_seconds=seconds["read"],
        write_seconds=seconds["write"],
        times_from=times_from,
    )


def _times(
    raw: RawLog,
    segments: Sequence[Access],
    moved: Mapping[Kind, int],
    warnings: list[str],
) -> tuple[list[Access], str]:
    """The best accesses that the log has, holding the bytes *moved*,
    and what they are from.

    Empty, with ``files``, where neither a trace nor a heatmap holds most of the bytes.
    """
    width = raw.bin_seconds
    bins = [
        Access(kind, count, (place * width, (place + 1) * width))
        for (kind, place), count in sorted(raw.bins.items())
        if width > 0
    ]
    # The last bin may end after the run, by less than its width.
    bins = _within_run(
        bins,
        raw.header.run_seconds,
        warnings,
        "bins of the heatmap",
        width + SLACK_SECONDS,
    )
    total = sum(moved.values())
    for accesses, source in ((segments, "DXT"), (bins, "heatmap")):
        held = sum(access.moved for access in accesses)
        if held and not _ENOUGH * total <= held <= total / _ENOUGH:
            warnings.append(
                f"{source} holds {held} of {total} bytes: its times are not used"
            )
        elif held:
            same = {
                kind: [each for each in accesses if each.kind == kind] for kind in moved
            }
            return [
                access
                for kind in moved
                for access in _scaled(same[kind], kind, moved[kind])
            ], source
    return [], "files"


def _scaled(accesses: Sequence[Access], kind: Kind, count: int) -> list[Access]:
    """*accesses* of one kind with *count* bytes in all: what a trace holds
    differs by STDIO's, say.
    """
    held = sum(access.moved for access in accesses)
    if not held:
        return [Access(kind, count, None)] if count else []
    scaled, seen, given = [], 0, 0
    for access in accesses:
        seen += access.moved
        scaled.append(access._replace(moved=count * seen // held - given))
        given = count * seen // held
    return scaled


def _lost(
    raw: RawLog,
    by_module: Mapping[str, list[tuple[int, Mapping[str, float]]]],
    segments: Sequence[Access],
) -> list[str]:
    """Warnings about data that should be there and is not;
    InstanceError when none of it is.
    """
    announced = {
        module: size
        for module, size in raw.listed.items()
        if module in MODULES and size
    }
    missing = [module for module in announced if module not in by_module]
    if segments and not by_module:
        return ["only DXT segments: what was read and written beside them is not known"]
    if announced and len(missing) == len(announced):
        raise InstanceError(
            f"{raw.name}: incomplete: the header lists {some(announced)} data "
            f"({sum(announced.values())} bytes) and none follows; the parser stopped "
            "early, so import the binary .darshan log itself"
        )
    warnings = [
        f"incomplete: the header lists {module} data and none follows"
        for module in missing
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
            warnings.append(
                f"incomplete: {cut} {module} records have less than {full} counters"
            )
    return warnings


def _amount(counters: Mapping[str, float], name: str) -> float:
    """A counter, 0 where Darshan could not monitor it (-1), does not have
    it, or it overflowed.
    """
    value = counters.get(name, 0.0)
    return value if 0 <= value < OVERFLOW else 0.0


def _impossible(
    by_module: Mapping[str, list[tuple[int, Mapping[str, float]]]],
) -> list[str]:
    """Remark on counters of bytes that overflowed and on negative
    times, which count as 0.
    """
    found: dict[str, list[str]] = {"counters that overflowed": [], "negative times": []}
    for module, rows in by_module.items():
        for rank, counters in rows:
            for name, value in counters.items():
                if value == NOT_MONITORED or 0 <= value < OVERFLOW:
                    continue
                where = f"{module} {name} {value:.15g} of rank {rank}"
                if name in ("BYTES_READ", "BYTES_WRITTEN"):
                    found["counters that overflowed"].append(where)
                elif name in _TIMES:
                    found["negative times"].append(where)
    return [
        f"{len(places)} {what}, counted as 0: {some(places)}"
        for what, places in found.items()
        if places
    ]


def _within_run(
    accesses: Sequence[Access],
    run_seconds: float,
    warnings: list[str],
    what: str,
    slack_seconds: float = SLACK_SECONDS,
) -> list[Access]:
    """Return *accesses* with their spans cut to the run, as clocks differ.

    Those with a span that cannot be have an unknown one; bytes that cannot be are none.
    It is said where a span was cut by more than *slack_seconds*.
    """
    kept = []
    late: list[float] = []
    wrong = 0
    for access in accesses:
        if not 0 <= access.moved < OVERFLOW:
            wrong += 1
            continue
        if access.span is not None:
            start, end = access.span
            if 0 <= start <= end:
                if end > run_seconds + slack_seconds:
                    late.append(end)
                cut = (min(start, run_seconds), min(end, run_seconds))
                access = access._replace(span=cut)
            else:
                wrong += 1
                access = access._replace(span=None)
        kept.append(access)
    if late:
        warnings.append(
            f"{len(late)} {what} are read or written after the run of {run_seconds:g} "
            f"s, the last until {max(late):g} s: cut to the run"
        )
    if wrong:
        warnings.append(
            f"{wrong} {what} have times or bytes that cannot be, which are not used"
        )
    return kept


def _layer_seconds(rows: Iterable[tuple[int, Mapping[str, float]]]) -> float:
    """I/O seconds of one layer: the slowest rank on its own files,
    and each shared file's.
    """
    shared = 0.0
    by_rank: dict[int, float] = defaultdict(float)
    for rank, counters in rows:
        if rank == SHARED_RANK:
            shared += _amount(counters, "F_SLOWEST_RANK_TIME")
        else:
            times = (
                _amount(counters, f"F_{what}_TIME")
                for what in ("READ", "WRITE", "META")
            )
            by_rank[rank] += sum(times)
    return shared + max(by_rank.values(), default=0.0)


def _seconds_by_kind(
    rows: Sequence[Mapping[str, float]], layers: Mapping[str, float]
) -> dict[Kind, float]:
    """I/O time of the layers, split as their ranks' times of reading and
    writing are (or bytes).
    """
    whole = max(layers.get("POSIX", 0.0), layers.get("MPI-IO", 0.0)) + layers.get(
        "STDIO", 0.0
    )
    weight: dict[Kind, float] = {"read": 0.0, "write": 0.0}
    for by_time in (True, False):
        for kind, what, count in _COUNTERS:
            name = f"F_{what}_TIME" if by_time else count
            weight[kind] = sum(
                _amount(row, name) for row in rows if _amount(row, count)
            )
        if any(weight.values()):
            break
    total = sum(weight.values())
    return {
        kind: whole * each / total if total else 0.0 for kind, each in weight.items()
    }


def _accesses(rows: Iterable[Mapping[str, float]]) -> list[Access]:
    """What each record read and wrote, and when it says so."""
    accesses = []
    for counters in rows:
        for kind, what, total in _COUNTERS:
            count = int(_amount(counters, total))
            start = _amount(counters, f"F_{what}_START_TIMESTAMP")
            end = _amount(counters, f"F_{what}_END_TIMESTAMP")
            if count:
                span = (start, end) if 0.0 < start <= end else None
                accesses.append(Access(kind, count, span))
    return accesses
