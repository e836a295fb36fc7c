"""The text of ``darshan-parser`` 2.x and 3.x and of ``darshan-dxt-parser``: header and records."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ioopt.errors import InstanceError
from ioopt.formats.darshan.phases import Access, Kind

MODULES = ("POSIX", "MPI-IO", "STDIO")
_PREFIX = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_"}
_HEADER = ("darshan log version", "jobid", "start_time", "end_time", "nprocs", "run time")
_HEAD_LINES = 5000
LARGEST = float(1 << 64)
"""Counters have 64 bits."""


@dataclass(frozen=True, slots=True)
class RawLog:
    """What a parser (text or binary) found: header fields, counters by record, times, remarks.

    ``records`` maps (module, rank, record) to its counters without the module's prefix; a log of
    format 2.x has the one module ``CP``. ``listed`` are the modules that the header announces.
    ``segments`` are the accesses of the DXT modules, by module; ``bins`` the bytes of the HEATMAP
    module by kind and bin, all layers but MPI-IO (which ends in POSIX) and all ranks together.
    """

    name: str
    header: Mapping[str, str]
    records: Mapping[tuple[str, int, str], Mapping[str, float]]
    listed: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    segments: Mapping[str, list[Access]] = field(default_factory=dict)
    bins: Mapping[tuple[Kind, int], int] = field(default_factory=dict)
    bin_seconds: float = 0.0


class _Times:
    """The accesses and bins that a text lists."""

    def __init__(self) -> None:
        self.segments: dict[str, list[Access]] = defaultdict(list)
        self.bins: dict[tuple[Kind, int], int] = defaultdict(int)
        self.bin_seconds = 0.0

    def segment(self, line: str) -> None:
        """Add a line of ``darshan-dxt-parser``; ValueError says what is wrong with it."""
        words = line.split()
        if len(words) < 8 or words[2] not in ("read", "write"):
            raise ValueError("not module, rank, read or write, segment, offset, length, start, end")
        count, start, end = (_finite(text, "a segment") for text in words[5:8])
        kind: Kind = "read" if words[2] == "read" else "write"
        self.segments[words[0].replace("X_", "DXT_")].append(Access(kind, int(count), (start, end)))

    def bin(self, counter: str, value: float) -> None:
        """Add a counter of the HEATMAP module."""
        if counter == "F_BIN_WIDTH_SECONDS":
            self.bin_seconds = value
        found = re.fullmatch(r"(READ|WRITE)_BIN_(\d{1,6})", counter)
        if found and value > 0:
            kind: Kind = "read" if found[1] == "READ" else "write"
            self.bins[kind, int(found[2])] += int(value)


def parse_text(text: str, name: str) -> RawLog:
    """Parse the output of either parser (no options); *name* is used in messages."""
    header: dict[str, str] = {}
    listed: dict[str, int] = {}
    warnings: list[str] = []
    records: dict[tuple[str, int, str], dict[str, float]] = {}
    lines = text.split("\n")
    times = _Times()
    if not any(line.startswith("# darshan log version") for line in lines[:_HEAD_LINES]):
        raise InstanceError(
            f"{name}: no '# darshan log version' line; is this the output of darshan-parser?"
        )
    last = max((k for k, line in enumerate(lines) if line.strip()), default=-1)
    for number, line in enumerate(lines):
        if line.startswith("#"):
            _comment(line[1:].strip(), header, listed, warnings)
        elif line.strip():
            try:
                if line.startswith(" X_"):
                    times.segment(line)
                else:
                    _record_line(line, records, times)
            except ValueError as error:
                if number != last or not (records or times.segments):
                    raise InstanceError(f"{name}: line {number + 1}: {error}") from None
                warnings.append(f"the text ends in the middle of line {number + 1}")
    return RawLog(
        name, header, records, listed, tuple(warnings),
        times.segments, times.bins, times.bin_seconds,
    )  # fmt: skip


def _comment(
    text: str, header: dict[str, str], listed: dict[str, int], warnings: list[str]
) -> None:
    """Take from a comment line a header field, the size of a module, or a remark on lost data."""
    if "incomplete data" in text or "partial data" in text:
        warnings.append("Darshan says: " + text.lstrip("*# "))
    module = re.match(r"([A-Z0-9_/-]+) module: (\d+) bytes", text)
    if module:
        listed[module.group(1)] = int(module.group(2))
    key, colon, value = text.partition(": ")
    if colon and key in _HEADER and key not in header:
        header[key] = value.strip()


def _record_line(
    line: str, records: dict[tuple[str, int, str], dict[str, float]], times: _Times
) -> None:
    """Add one counter line; ValueError says what is wrong with it."""
    if line.startswith("total_"):
        raise ValueError(
            "this is a summary (darshan-parser --total); import the output without options"
        )
    words = line.split("\t")
    if len(words) < 4:
        raise ValueError("fewer columns than a counter line has")
    if words[2].startswith("CP_"):
        module, rank, record, counter, text = "CP", words[0], words[1], words[2][3:], words[3]
    elif len(words) >= 5:
        module, rank, record, counter, text = words[:5]
        if module == "HEATMAP":
            if "heatmap:MPIIO" not in words[5:]:
                times.bin(counter.removeprefix("HEATMAP_"), _finite(text, counter))
            return
        prefix = _PREFIX.get(module)
        if prefix is None:
            records.setdefault((module, 0, ""), {})
            return
        if not counter.startswith(prefix):
            raise ValueError(f"counter {counter!r} does not belong to module {module}")
        counter = counter[len(prefix) :]
    else:
        raise ValueError("fewer columns than a counter line has")
    records.setdefault((module, int(rank), record), {})[counter] = _finite(text, counter)


def _finite(text: str, what: str) -> float:
    value = float(text)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise ValueError(f"{what} {text!r} is not a finite number in range")
    return value


class Header:
    """A log's header in numbers, or InstanceError naming the one that is missing or wrong."""

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
