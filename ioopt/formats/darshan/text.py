"""What stands in a Darshan log, and the text of ``darshan-parser`` 2.x and 3.x: header and counters."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ioopt.errors import InstanceError

MODULES = ("POSIX", "MPI-IO", "STDIO")
_PREFIX = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_", "CP": "CP_"}
_HEADER = ("darshan log version", "jobid", "start_time", "end_time", "nprocs", "run time")
_HEAD_LINES = 5000
LARGEST = float(1 << 64)
"""Counters have 64 bits."""


Kind = Literal["read", "write"]
Span = tuple[float, float]


class Access(NamedTuple):
    """Bytes read or written, and when (seconds since the job's start; None: unknown)."""

    kind: Kind
    moved: int
    span: Span | None


@dataclass(frozen=True, slots=True)
class RawLog:
    """What a parser (text or binary) found: header fields, counters by record, times, remarks.

    ``records`` maps (module, rank, record) to its counters without the module's prefix; a log of
    format 2.x has the one module ``CP``. ``listed`` are the modules that the header announces.
    Binary logs have more: ``segments`` are the accesses of the DXT modules, by module; ``bins`` the
    bytes of the HEATMAP module by kind and bin, all layers but MPI-IO (which ends in POSIX) and all
    ranks together.
    """

    name: str
    header: Mapping[str, str]
    records: Mapping[tuple[str, int, str], Mapping[str, float]]
    listed: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    segments: Mapping[str, list[Access]] = field(default_factory=dict)
    bins: Mapping[tuple[Kind, int], int] = field(default_factory=dict)
    bin_seconds: float = 0.0


def parse_text(text: str, name: str) -> RawLog:
    """Parse the output of ``darshan-parser`` without options; *name* is used in messages."""
    lines = text.split("\n")
    if not any(line.startswith("# darshan log version") for line in lines[:_HEAD_LINES]):
        raise InstanceError(
            f"{name}: no '# darshan log version' line; is this the output of darshan-parser?"
        )
    header: dict[str, str] = {}
    listed: dict[str, int] = {}
    warnings: list[str] = []
    records: dict[tuple[str, int, str], dict[str, float]] = {}
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            words = line[1:].strip()
            if "incomplete data" in words or "partial data" in words:
                warnings.append("Darshan says: " + words.lstrip("*# "))
            if module := re.match(r"([A-Z0-9_/-]+) module: (\d+) bytes", words):
                listed[module[1]] = int(module[2])
            key, _, value = words.partition(": ")
            if key in _HEADER:
                header.setdefault(key, value.strip())
        elif line.strip():
            try:
                _counter(line, records)
            except ValueError as error:
                raise InstanceError(f"{name}: line {number}: {error}") from None
    return RawLog(name, header, records, listed, tuple(warnings))


def _counter(line: str, records: dict[tuple[str, int, str], dict[str, float]]) -> None:
    """Add the counter of one line; ValueError says what is wrong with it."""
    if line.startswith("total_"):
        raise ValueError(
            "this is a summary (darshan-parser --total); import the output without options"
        )
    words = line.split("\t")
    if len(words) > 3 and words[2].startswith("CP_"):
        words = ["CP", *words]
    if len(words) < 5:
        raise ValueError("fewer columns than a counter line has")
    module, rank, record, counter, value = words[:5]
    prefix = _PREFIX.get(module)
    if prefix is None:
        records.setdefault((module, 0, ""), {})
    elif not counter.startswith(prefix):
        raise ValueError(f"counter {counter!r} does not belong to module {module}")
    else:
        counters = records.setdefault((module, int(rank), record), {})
        counters[counter.removeprefix(prefix)] = _finite(value, counter)


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
