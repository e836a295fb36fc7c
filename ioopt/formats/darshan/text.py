"""What stands in a Darshan log, and the text of ``darshan-parser`` 3.x: header and counters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, field_validator

from ioopt.errors import InstanceError
from ioopt.formats.native import validate
from ioopt.problems.base import Record

MODULES = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_"}
"""The layers that are read, and how their counters begin."""
LARGEST = float(1 << 128)
"""Counters have 64 bits, and there are variances of them."""
_HEAD_LINES = 5000

Kind = Literal["read", "write"]
Span = tuple[float, float]
Seconds = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]


class Access(NamedTuple):
    """Bytes read or written, and when (seconds since the job's start; None: unknown)."""

    kind: Kind
    moved: int
    span: Span | None


class Header(Record, extra="ignore"):
    """A log's header in numbers; its keys are those that ``darshan-parser`` prints."""

    version: str = Field(alias="darshan log version")
    job_id: int = Field(alias="jobid")
    processes: int = Field(alias="nprocs", ge=1)
    start_seconds: Seconds = Field(alias="start_time")
    run_seconds: Seconds = Field(alias="run time")

    @field_validator("version")
    @classmethod
    def _known(cls, version: str) -> str:
        if not re.match(r"3\.\d", version):
            raise ValueError(f"{version!r}; ioopt reads logs of format 3.x")
        return version


@dataclass(frozen=True, slots=True)
class RawLog:
    """What a parser (text or binary) found: header, counters by record, times, remarks.

    ``records`` maps (module, rank, record) to its counters without the module's prefix, none for
    modules that are not read. ``listed`` are the modules that the header announces. Binary logs have
    more: ``segments`` are the accesses of the DXT modules, by module; ``bins`` the bytes of the
    HEATMAP module by kind and bin, all layers but MPI-IO (which ends in POSIX) and all ranks together.
    """

    name: str
    header: Header
    records: Mapping[tuple[str, int, str], Mapping[str, float]]
    listed: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    segments: Mapping[str, list[Access]] = field(default_factory=dict)
    bins: Mapping[tuple[Kind, int], int] = field(default_factory=dict)
    bin_seconds: float = 0.0

    def __post_init__(self) -> None:
        for (module, _, record), counters in self.records.items():
            for counter, value in counters.items():
                if not abs(value) <= LARGEST:
                    raise InstanceError(
                        f"{self.name}: {counter} of {module} record {record} is {value}, which is "
                        "not a finite number in range"
                    )


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
            header.setdefault(key, value.strip())
        elif line.strip():
            try:
                _counter(line, records)
            except ValueError as error:
                raise InstanceError(f"{name}: line {number}: {error}") from None
    return RawLog(name, validate(Header, header, name), records, listed, tuple(warnings))


def _counter(line: str, records: dict[tuple[str, int, str], dict[str, float]]) -> None:
    """Add the counter of one line; ValueError says what is wrong with it."""
    if line.startswith("total_"):
        raise ValueError(
            "this is a summary (darshan-parser --total); import the output without options"
        )
    words = line.split("\t")
    if len(words) < 5:
        raise ValueError("fewer columns than a counter line has")
    module, rank, record, counter, value = words[:5]
    if module not in MODULES:
        records.setdefault((module, 0, ""), {})
        return
    if not counter.startswith(MODULES[module]):
        raise ValueError(f"counter {counter!r} does not belong to module {module}")
    counters = records.setdefault((module, int(rank), record), {})
    counters[counter.removeprefix(MODULES[module])] = float(value)
