"""Parse Darshan logs: text of ``darshan-parser`` 3.x, and binary logs of format 3.x.

Binary logs are read by the optional ``darshan`` package (PyDarshan). It wraps a C
library that can crash on a damaged log. Therefore the package runs in a process of its
own, with this module as the program, and a crash becomes an error message.
"""

import importlib.util
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field, field_validator

from ioopt.errors import BackendMissingError, InstanceError
from ioopt.formats.native import validate
from ioopt.formats.rows import number_of
from ioopt.problems.base import Record

MODULES = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_"}
"""Modules of Darshan that are read, each with the prefix of its counters."""
LARGEST = float(1 << 128)
"""Largest accepted value of a counter; variances of 64-bit numbers are smaller."""
_HEAD_LINES = 5000
_COLUMNS = 8
"""Number of columns of a counter line: module, rank, record, counter, value, file,
mount point and file system.
"""
_DXT_LINE = re.compile(r"\s*X_(?:POSIX|MPIIO)\s")
TIME_LIMIT_SECONDS = 300
_HINT = "; alternatively import the output of `darshan-parser` for it"

Kind = Literal["read", "write"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Span = tuple[float, float]
Seconds = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]


class Access(NamedTuple):
    """A read or a write of ``moved`` bytes.

    ``span`` is (begin, end) in seconds since the start of the job, or None if unknown.
    """

    kind: Kind
    moved: int
    span: Span | None


class Header(Record, extra="ignore"):
    """Header of a Darshan log; aliases are the keys in ``darshan-parser`` output."""

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
    """Store the contents of a Darshan log, text or binary.

    ``records`` maps (module, rank, record) to counters without the prefix of the
    module. There are no counters of modules that are not read. ``listed`` maps the
    modules that the header announces to their bytes.

    Only binary logs have the other fields. ``segments`` maps each DXT module to its
    accesses. ``bins`` maps (kind, bin) of the HEATMAP module to bytes; a bin is
    ``bin_seconds`` long. The bytes are summed over all ranks and over the layers other
    than MPI-IO, since bytes of MPI-IO also appear in POSIX.
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
                        f"{self.name}: {counter} of {module} record {record} is "
                        f"{value}, which is not a finite number in range"
                    )


def parse_text(text: str, name: str) -> RawLog:
    """Parse *text*, the output of ``darshan-parser`` without options.

    *name* is the name of the file in messages. Raises InstanceError.
    """
    lines = text.split("\n")
    if not any(
        line.startswith("# darshan log version") for line in lines[:_HEAD_LINES]
    ):
        raise InstanceError(
            f"{name}: no '# darshan log version' line; is this the output of "
            "darshan-parser?"
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
            if key == "darshan log version" and key in header:
                raise InstanceError(
                    f"{name}: line {number}: a second log begins; import one log "
                    "per file"
                )
            header.setdefault(key, value.strip())
        elif line.strip():
            try:
                _counter(line, records)
            except ValueError as error:
                # Lines of another format differ: first refuse its version.
                validate(Header, header, name)
                raise InstanceError(f"{name}: line {number}: {error}") from None
    return RawLog(
        name, validate(Header, header, name), records, listed, tuple(warnings)
    )


def _counter(line: str, records: dict[tuple[str, int, str], dict[str, float]]) -> None:
    """Add the counter in *line* to *records*; raise ValueError for a faulty line."""
    if line.startswith("total_"):
        raise ValueError(
            "this is a summary (darshan-parser --total); import the output "
            "without options"
        )
    if _DXT_LINE.match(line):
        raise ValueError(
            "a trace of darshan-dxt-parser; import the output of darshan-parser"
        )
    words = line.split("\t")
    if len(words) < _COLUMNS:  # A file name with tabs adds columns.
        raise ValueError(
            f"fewer columns than a counter line has ({len(words)}, not {_COLUMNS}): "
            "cut off, or a line break in the name of a file"
        )
    module, rank, record, counter, value = words[:5]
    if module not in MODULES:
        records.setdefault((module, 0, ""), {})
        return
    if not counter.startswith(MODULES[module]):
        raise ValueError(f"counter {counter!r} does not belong to module {module}")
    counters = records.setdefault((module, int(rank), record), {})
    short = counter.removeprefix(MODULES[module])
    if short in counters:
        raise ValueError(f"{counter} of record {record}, rank {rank}, a second time")
    counters[short] = number_of(value, counter)


def read_binary(raw: bytes, name: str) -> RawLog:
    """Parse *raw*, the bytes of a binary log; *name* names the file in messages.

    Raises InstanceError if the log is damaged or of format 1.x or 2.x. Raises
    BackendMissingError if the ``darshan`` package is not installed.
    """
    version = raw[:4].decode("ascii")
    if not version.startswith("3"):
        raise InstanceError(f"{name}: binary log of format {version}; ioopt reads 3.x")
    if importlib.util.find_spec("darshan") is None:
        raise BackendMissingError(
            f"{name}: reading binary logs needs the package darshan (pip install "
            f"'ioopt[darshan]'){_HINT}"
        )
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.darshan")
        answer = Path(folder, "answer")
        log.write_bytes(raw)
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, str(log), str(answer), name],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                capture_output=True,
                timeout=TIME_LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InstanceError(
                f"{name}: not read within {TIME_LIMIT_SECONDS} seconds; damaged?{_HINT}"
            ) from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
            why = f"the darshan library ended with code {done.returncode}"
            if said:
                why = said[-1]
            raise InstanceError(f"{name}: damaged or unreadable: {why}{_HINT}")
        found: RawLog = pickle.loads(answer.read_bytes())
    return found


def parse_binary(path: str, name: str) -> RawLog:
    """Parse the log at *path* with the ``darshan`` package.

    Errors are those of the package.
    """
    import darshan  # type: ignore[import-not-found,unused-ignore]

    report = darshan.DarshanReport(path, read_all=False)
    job = report.metadata["job"]
    header = {
        "darshan log version": job["log_ver"],
        "jobid": job["jobid"],
        "nprocs": job["nprocs"],
        "start_time": job["start_time_sec"] + job["start_time_nsec"] * 1e-9,
        "run time": job["run_time"],
    }
    records: dict[tuple[str, int, str], dict[str, float]] = {}
    segments: dict[str, list[Access]] = {}
    for module in report.modules:
        if module in MODULES:
            records |= _records(report, module)
        if module.startswith("DXT_"):
            segments[module] = _segments(report, module)
    bins: dict[tuple[Kind, int], int] = {}
    width = 0.0
    if "HEATMAP" in report.modules:
        bins, width = _bins(report)
    return RawLog(
        name,
        validate(Header, header, name),
        records,
        {module: int(about["len"]) for module, about in report.modules.items()},
        tuple(
            f"Darshan says: the {module} module contains incomplete data"
            for module, about in report.modules.items()
            if about["partial_flag"]
        ),
        segments,
        bins,
        width,
    )


def _records(report: Any, module: str) -> dict[tuple[str, int, str], dict[str, float]]:
    """Return the counters of *module*, keyed by (module, rank, record).

    The names of the counters lack the prefix of the module.
    """
    report.mod_read_all_records(module)
    prefix = MODULES[module]
    tables = report.records[module].to_df()
    rows = (
        tables["counters"]
        .merge(tables["fcounters"], on=["id", "rank"])
        .to_dict("records")
    )
    records: dict[tuple[str, int, str], dict[str, float]] = {}
    for row in rows:
        records[module, int(row["rank"]), str(row["id"])] = {
            key.removeprefix(prefix): float(value)
            for key, value in row.items()
            if key.startswith(prefix)
        }
    return records


def _segments(report: Any, module: str) -> list[Access]:
    """Return the accesses that a DXT module recorded."""
    report.mod_read_all_dxt_records(module, dtype="dict")
    accesses: list[Access] = []
    for record in report.records[module]:
        for kind in KINDS:
            for part in record[f"{kind}_segments"]:
                span = (float(part["start_time"]), float(part["end_time"]))
                accesses.append(Access(kind, int(part["length"]), span))
    return accesses


def _bins(report: Any) -> tuple[dict[tuple[Kind, int], int], float]:
    """Return the bytes in each (kind, bin) of the HEATMAP module, and the bin width.

    The width is in seconds.
    """
    report.read_all_heatmap_records()
    bins: dict[tuple[Kind, int], int] = {}
    width = 0.0
    for name, heatmap in report.heatmaps.items():
        if name == "heatmap:MPIIO":  # These bytes are counted in POSIX.
            continue
        for kind in KINDS:
            frame = heatmap.to_df(ops=[kind])
            width = 0.0
            if len(frame.columns):
                width = float(frame.columns[0].right)
            for place, count in enumerate(frame.sum()):
                if count:
                    bins[kind, place] = bins.get((kind, place), 0) + int(count)
    return bins, width


if __name__ == "__main__":
    # Imported anew, because classes of __main__ differ from those of the caller.
    from ioopt.formats.darshan import raw

    Path(sys.argv[2]).write_bytes(
        pickle.dumps(raw.parse_binary(sys.argv[1], sys.argv[3]))
    )
