"""The text of ``darshan-parser`` 2.x and 3.x: header fields and counters by record."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ioopt.errors import InstanceError

MODULES = ("POSIX", "MPI-IO", "STDIO")
_PREFIX = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_"}
_HEADER = ("darshan log version", "jobid", "start_time", "end_time", "nprocs", "run time")
_HEAD_LINES = 5000
LARGEST = float(1 << 64)
"""Counters have 64 bits."""


@dataclass(frozen=True, slots=True)
class RawLog:
    """What a parser (text or binary) found: header fields, counters by record, remarks.

    ``records`` maps (module, rank, record) to its counters without the module's prefix; a log of
    format 2.x has the one module ``CP``. ``listed`` are the modules that the header announces.
    """

    name: str
    header: Mapping[str, str]
    records: Mapping[tuple[str, int, str], Mapping[str, float]]
    listed: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def parse_text(text: str, name: str) -> RawLog:
    """Parse the output of ``darshan-parser`` (no options); *name* is used in messages."""
    header: dict[str, str] = {}
    listed: dict[str, int] = {}
    warnings: list[str] = []
    records: dict[tuple[str, int, str], dict[str, float]] = {}
    lines = text.split("\n")
    if any(line.startswith("# DXT, ") for line in lines[:_HEAD_LINES]):
        raise InstanceError(
            f"{name}: this is the output of darshan-dxt-parser; import that of darshan-parser"
        )
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
                _record_line(line, records)
            except ValueError as error:
                if number != last or not records:
                    raise InstanceError(f"{name}: line {number + 1}: {error}") from None
                warnings.append(f"the text ends in the middle of line {number + 1}")
    return RawLog(name, header, records, listed, tuple(warnings))


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


def _record_line(line: str, records: dict[tuple[str, int, str], dict[str, float]]) -> None:
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
        prefix = _PREFIX.get(module)
        if prefix is None:
            records.setdefault((module, 0, ""), {})
            return
        if not counter.startswith(prefix):
            raise ValueError(f"counter {counter!r} does not belong to module {module}")
        counter = counter[len(prefix) :]
    else:
        raise ValueError("fewer columns than a counter line has")
    value = float(text)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise ValueError(f"{counter} {text!r} is not a finite number in range")
    records.setdefault((module, int(rank), record), {})[counter] = value
