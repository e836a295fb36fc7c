"""Summarise Darshan logs: the bytes, the I/O time and the phases of a job.

The files are parsed by :mod:`ioopt.formats.darshan.raw`. Source: Carns et al., ACM TOS
7(3), 2011, and the documentation of darshan-util 3.5. Times are seconds since the job's
start.

Bytes are those of the POSIX and STDIO layers. MPI-IO calls end in POSIX calls and are
counted there; their own bytes are used only if a log has no POSIX data. I/O time is the
time in which at least one process was reading or writing, if a DXT trace records that.
Otherwise it is Darshan's ``agg_time_by_slowest``. This is the largest time that a rank
spent on its own files plus, for every shared file, the time of its slowest rank. The
longer of the times of POSIX and MPI-IO counts, and that of STDIO is added.

Phases follow a rule of ours. Accesses of one kind that overlap, or are less than a gap
apart, form one phase. Reads and writes stay separate. An access is a segment of a DXT
trace. If a log has no trace, it is a bin of a heatmap. If a log has neither, it is the
span from the first to the last read of a file, or from the first to the last write. The
smallest accesses form no phase of their own if they have at most a thousandth of the
bytes together. Such accesses are, for example, to log files, which are often open all
the time.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

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

Record = tuple[int, Mapping[str, float]]
"""The rank of a record, and its counters."""
_OTHER_STORAGE = ("DFS", "DAOS")
_BINARY = re.compile(rb"[0-9]\.[0-9]{2}\x00")
SHARED_RANK = -1
NOT_MONITORED = -1.0
OVERFLOW = 2.0**63
"""Smallest value of an overflowed counter (counters are signed 64-bit numbers)."""
SLACK_SECONDS = 1.0
"""Seconds by which times in one log may disagree, as text logs have whole seconds."""
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
"""Smallest share of the bytes that a trace or heatmap must cover to be used. Darshan
stops recording when its memory is full.
"""
MINOR_SHARE = 1e-3
"""Largest share of the bytes for which the smallest accesses form no phase of their
own.
"""


@dataclass(slots=True)
class DarshanPhase:
    """Represent a time in which a job read or wrote.

    Times are seconds since the start of the job.
    """

    start_seconds: float
    end_seconds: float
    bytes_read: int = 0
    bytes_written: int = 0

    @property
    def total_bytes(self) -> int:
        """Return the number of bytes read and written."""
        return self.bytes_read + self.bytes_written

    def bytes_of(self, kind: Kind) -> int:
        """Return the number of bytes read, or written if *kind* is ``write``."""
        if kind == "read":
            return self.bytes_read
        return self.bytes_written

    def add(self, kind: Kind, count: int) -> None:
        """Add *count* bytes that were read, or written if *kind* is ``write``."""
        if kind == "read":
            self.bytes_read += count
        else:
            self.bytes_written += count


def find_phases(
    accesses: Sequence[Access], run_seconds: float, gap_seconds: float
) -> tuple[tuple[DarshanPhase, ...], list[str]]:
    """Group *accesses* into phases; return the phases in order of time, and remarks.

    The phases hold all bytes. The smallest accesses, and those with unknown times, are
    added to the largest phase of their kind. If no phase has their kind, they are added
    to the largest phase. If there is no phase at all, they form one at the end of the
    run.

    >>> reads = Access("read", 10, (1, 2))
    >>> writes = Access("write", 5, (1.5, 4))
    >>> phases, remarks = find_phases([reads, writes], 9.0, 1.0)
    >>> [(each.start_seconds, each.bytes_read, each.bytes_written) for each in phases]
    [(1, 10, 0), (1.5, 0, 5)]
    """
    total = sum(access.moved for access in accesses)
    placed, rest = _minor_apart(accesses, MINOR_SHARE * total)
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
    _add_to_largest(phases, rest, latest.keys())
    return tuple(phases), remarks


def _minor_apart(
    accesses: Iterable[Access], allowance: float
) -> tuple[list[tuple[Span, Access]], list[Access]]:
    """Return (span, access) of each access that forms phases, and the other accesses.

    The other accesses have unknown times, or are the smallest ones. The smallest ones
    have at most *allowance* bytes together.
    """
    placed: list[tuple[Span, Access]] = []
    rest: list[Access] = []
    for access in sorted(accesses, key=lambda access: access.moved):
        if access.span is None:
            rest.append(access)
            continue
        allowance -= access.moved
        if allowance >= 0:
            rest.append(access)
        else:
            placed.append((access.span, access))
    return placed, rest


def _add_to_largest(
    phases: Sequence[DarshanPhase], accesses: Iterable[Access], kinds: Iterable[Kind]
) -> None:
    """Add each of *accesses* to the phase with the most bytes of its kind.

    *kinds* are the kinds for which there are phases. An access of another kind is added
    to the phase with the most bytes.
    """
    largest = {
        kind: max(phases, key=lambda phase: phase.bytes_of(kind)) for kind in kinds
    }
    widest = max(phases, key=lambda phase: phase.total_bytes, default=None)
    for access in accesses:
        into = largest.get(access.kind, widest)
        if into is not None:
            into.add(access.kind, access.moved)


@dataclass(frozen=True, slots=True)
class DarshanLog:
    """Describe one job as Darshan recorded it.

    ``phases`` are in order of time, and their bytes add up to the totals.
    ``io_seconds`` is the time of all I/O; ``read_seconds`` and ``write_seconds`` are
    the times of reading and of writing. ``layer_seconds`` has the I/O times of POSIX,
    MPI-IO and STDIO as Darshan counts them. ``times_from`` is the source of the phases:
    ``DXT``, ``heatmap`` or ``files``.
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
        """Return the number of bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def rate(self) -> float | None:
        """Return the achieved rate in bytes per second: all bytes over the I/O time.

        Return None if either is 0.
        """
        if not self.total_bytes or not self.io_seconds:
            return None
        return self.total_bytes / self.io_seconds


def read_darshan(
    source: str | os.PathLike[str], *, gap_seconds: float = 1.0
) -> DarshanLog:
    """Return the summary of one log, text or binary.

    Accesses of one kind that are less than *gap_seconds* apart form one phase. Raises
    InstanceError if the log cannot be imported: it is no Darshan log, or a binary log
    of format 2.x, or lacks all data that the header announces. Raises
    BackendMissingError for a binary log if the ``darshan`` package is not installed.
    """
    return summarise(read_raw(source), gap_seconds=gap_seconds)


def read_raw(source: str | os.PathLike[str]) -> RawLog:
    """Read and parse one log; see :func:`read_darshan`."""
    name = named(source)
    raw = read_bytes(source)
    if _BINARY.match(raw):
        return read_binary(raw, name)
    return parse_text(decoded(raw, name, "utf-8"), name)


def summarise(raw: RawLog, *, gap_seconds: float = 1.0) -> DarshanLog:
    """Return the totals, times and phases of a parsed log.

    Raises InstanceError for a log that lost all its data. A part that is lost causes a
    warning.
    """
    name = raw.name
    header = raw.header
    warnings = list(raw.warnings)
    by_module = _counters_by_module(raw)
    segments = raw.segments.get("DXT_POSIX") or raw.segments.get("DXT_MPIIO") or []
    warnings += _lost(raw, by_module, segments)
    warnings += _impossible(by_module)
    segments = _within_run(
        segments, header.run_seconds, warnings, "segments of the trace"
    )
    layers = {module: _layer_seconds(rows) for module, rows in by_module.items()}
    if not layers:
        warnings += _other_data(raw)
    rows = _counted_rows(by_module, warnings)
    accesses = segments
    if rows:
        accesses = _within_run(_accesses(rows), header.run_seconds, warnings, "files")
    moved = _moved_by_kind(accesses)
    times, times_from = _times(raw, segments, moved, warnings)
    if times_from == "DXT":
        seconds, io_seconds = _traced_seconds(segments)
    else:
        seconds = _seconds_by_kind(rows, layers)
        io_seconds = sum(seconds.values())
    run = header.run_seconds
    if io_seconds > run > 0:
        if io_seconds > run + SLACK_SECONDS or times_from != "DXT":
            warnings.append(
                f"I/O time {io_seconds:g} s is longer than the run of {run:g} s (it "
                "adds the slowest ranks of several files): cut to the run"
            )
        seconds = {kind: each * run / io_seconds for kind, each in seconds.items()}
        io_seconds = run
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


def _other_data(raw: RawLog) -> list[str]:
    """Return a warning if a log has data, but of no module that counts I/O."""
    if not raw.records:
        return []
    found = sorted({module for module, _, _ in raw.records})
    return [f"no POSIX, MPI-IO or STDIO data, only {some(found)}: no I/O counted"]


def _moved_by_kind(accesses: Iterable[Access]) -> dict[Kind, int]:
    """Return the number of bytes read and the number of bytes written."""
    moved: dict[Kind, int] = {kind: 0 for kind, *_ in _COUNTERS}
    for access in accesses:
        moved[access.kind] += access.moved
    return moved


def _counters_by_module(raw: RawLog) -> dict[str, list[Record]]:
    """Return, for each module, the rank and counters of every record with counters."""
    by_module: dict[str, list[Record]] = defaultdict(list)
    for (module, rank, _), counters in raw.records.items():
        if counters:
            by_module[module].append((rank, counters))
    return by_module


def _counted_rows(
    by_module: Mapping[str, list[Record]], warnings: list[str]
) -> list[Mapping[str, float]]:
    """Return the counters of each record in the layers whose bytes count.

    These layers are POSIX and STDIO. Calls of MPI-IO end in POSIX calls, so MPI-IO
    counts only if there are no POSIX data.
    """
    counted = ["POSIX", "STDIO"]
    if "MPI-IO" in by_module and "POSIX" not in by_module:
        warnings.append("no POSIX data: bytes are those of MPI-IO")
        counted = ["MPI-IO", "STDIO"]
    rows: list[Mapping[str, float]] = []
    for module in counted:
        rows += [counters for _, counters in by_module.get(module, ())]
    return rows


def _traced_seconds(segments: Sequence[Access]) -> tuple[dict[Kind, float], float]:
    """Return the seconds of reading and of writing, and the seconds of either.

    A second counts if at least one process was reading or writing.
    """
    spans: dict[Kind, list[Span]] = {kind: [] for kind, *_ in _COUNTERS}
    for access in segments:
        if access.span:
            spans[access.kind].append(access.span)
    seconds = {kind: covered_seconds(of_kind) for kind, of_kind in spans.items()}
    return seconds, covered_seconds(chain.from_iterable(spans.values()))


def _times(
    raw: RawLog,
    segments: Sequence[Access],
    moved: Mapping[Kind, int],
    warnings: list[str],
) -> tuple[list[Access], str]:
    """Return accesses with times from the best source in the log, and the source.

    The best source is a DXT trace, then a heatmap. A source is used only if it holds
    about as many bytes as *moved*, to which its accesses are scaled. If no source is
    used, there are no accesses and the source is ``files``.
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
            scaled: list[Access] = []
            for kind, count in moved.items():
                same = [access for access in accesses if access.kind == kind]
                scaled += _scaled(same, kind, count)
            return scaled, source
    return [], "files"


def _scaled(accesses: Sequence[Access], kind: Kind, count: int) -> list[Access]:
    """Return *accesses* of one kind, with their bytes scaled to add up to *count*.

    The sums may differ because a trace may lack some layers. If the accesses have no
    bytes, return one access of *count* bytes with an unknown time.
    """
    held = sum(access.moved for access in accesses)
    if not held and not count:
        return []
    if not held:
        return [Access(kind, count, None)]
    scaled = []
    seen = 0
    given = 0
    for access in accesses:
        seen += access.moved
        share = count * seen // held
        scaled.append(access._replace(moved=share - given))
        given = share
    return scaled


def _lost(
    raw: RawLog,
    by_module: Mapping[str, list[Record]],
    segments: Sequence[Access],
) -> list[str]:
    """Return warnings about data that the header announces but the log lacks.

    Raises InstanceError if the log lacks all of them.
    """
    if segments and not by_module:
        return ["only DXT segments: what was read and written beside them is not known"]
    missing = _missing(raw, by_module)
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
        warnings += _cut_records(module, rows)
    return warnings


def _missing(raw: RawLog, by_module: Container[str]) -> list[str]:
    """Return the modules that have no data although the header lists data for them.

    Raises InstanceError if none of the listed modules has data.
    """
    announced = {
        module: size
        for module, size in raw.listed.items()
        if module in MODULES and size
    }
    missing = [module for module in announced if module not in by_module]
    if announced and len(missing) == len(announced):
        raise InstanceError(
            f"{raw.name}: incomplete: the header lists {some(announced)} data "
            f"({sum(announced.values())} bytes) and none follows; the parser stopped "
            "early, so import the binary .darshan log itself"
        )
    return missing


def _cut_records(module: str, rows: Sequence[Record]) -> list[str]:
    """Return a warning if some records of *module* have fewer counters than others."""
    sizes = Counter(len(counters) for _, counters in rows)
    if len(sizes) == 1:
        return []
    full = max(sizes)
    cut = len(rows) - sizes[full]
    return [f"incomplete: {cut} {module} records have less than {full} counters"]


def _amount(counters: Mapping[str, float], name: str) -> float:
    """Return the value of a counter; 0 if it overflowed, is -1 or is missing.

    The value -1 means that the counter was not recorded.
    """
    value = counters.get(name, 0.0)
    if not 0 <= value < OVERFLOW:
        return 0.0
    return value


def _impossible(
    by_module: Mapping[str, list[Record]],
) -> list[str]:
    """Return warnings about overflowed byte counters and negative times.

    Such values count as 0.
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
    """Return *accesses* with their spans cut to the run.

    Clocks differ, so a span may end after the run. A cut by more than *slack_seconds*
    causes a warning. An impossible span becomes unknown. An access with an impossible
    number of bytes is left out. *what* names the accesses in warnings.
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
            f"{wrong} {what} have impossible times or bytes, which are not used"
        )
    return kept


def _layer_seconds(rows: Iterable[Record]) -> float:
    """Return the I/O time of one layer in seconds.

    It is the largest time that a rank spent on its own files, plus the time of the
    slowest rank on each shared file.
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
    """Divide the I/O time of all layers into the seconds of reading and of writing.

    The proportion is that of the times which ranks spent on each. Without such times,
    it is that of the bytes.
    """
    whole = max(layers.get("POSIX", 0.0), layers.get("MPI-IO", 0.0)) + layers.get(
        "STDIO", 0.0
    )
    times: dict[Kind, float] = {}
    sizes: dict[Kind, float] = {}
    for kind, what, count in _COUNTERS:
        moving = [row for row in rows if _amount(row, count)]
        times[kind] = sum(_amount(row, f"F_{what}_TIME") for row in moving)
        sizes[kind] = sum(_amount(row, count) for row in moving)
    weights = times if any(times.values()) else sizes
    total = sum(weights.values())
    if not total:
        return dict.fromkeys(weights, 0.0)
    return {kind: whole * weight / total for kind, weight in weights.items()}


def _accesses(rows: Iterable[Mapping[str, float]]) -> list[Access]:
    """Return one access for the reads of each record and one for its writes.

    The span is None if the record has no times.
    """
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
