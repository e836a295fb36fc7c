"""Binary Darshan logs of format 3.x, read by the optional ``darshan`` package (PyDarshan).

The package wraps a C library that can crash on a damaged log, so it runs in a process of its own
(this module as a program) and a crash is an error message like any other.
"""

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ioopt.errors import BackendMissingError, InstanceError
from ioopt.formats.darshan.text import MODULES, Access, Header, Kind, RawLog
from ioopt.formats.native import validate

TIME_LIMIT_SECONDS = 300
_HINT = "; the output of `darshan-parser` for it can be imported instead"


def read_binary(raw: bytes, name: str) -> RawLog:
    """Parse the bytes of a binary log; *name* is used in messages.

    Raises InstanceError when it is of format 1.x or 2.x or damaged, BackendMissingError when the
    ``darshan`` package is not installed.
    """
    version = raw[:4].decode("ascii")
    if not version.startswith("3"):
        raise InstanceError(f"{name}: binary log of format {version}; ioopt reads 3.x")
    if importlib.util.find_spec("darshan") is None:
        raise BackendMissingError(
            f"{name}: reading binary logs needs the package darshan (pip install 'ioopt[darshan]')"
            f"{_HINT}"
        )
    with tempfile.TemporaryDirectory() as folder:
        log, answer = Path(folder, "log.darshan"), Path(folder, "answer")
        log.write_bytes(raw)
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, str(log), str(answer), name],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                capture_output=True, timeout=TIME_LIMIT_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise InstanceError(
                f"{name}: not read within {TIME_LIMIT_SECONDS} seconds; damaged?{_HINT}"
            ) from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
            why = said[-1] if said else f"the darshan library ended with code {done.returncode}"
            raise InstanceError(f"{name}: damaged or unreadable: {why}{_HINT}")
        found: RawLog = pickle.loads(answer.read_bytes())
    return found


def parse_binary(path: str, name: str) -> RawLog:
    """What stands in the log at *path*; errors are those of the ``darshan`` package."""
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
    bins, width = _bins(report) if "HEATMAP" in report.modules else ({}, 0.0)
    return RawLog(
        name, validate(Header, header, name), records,
        {module: int(about["len"]) for module, about in report.modules.items()},
        tuple(
            f"Darshan says: the {module} module contains incomplete data"
            for module, about in report.modules.items()
            if about["partial_flag"]
        ),
        segments, bins, width,
    )  # fmt: skip


def _records(report: Any, module: str) -> dict[tuple[str, int, str], dict[str, float]]:
    """The counters of one module by (module, rank, record), without the module's prefix."""
    report.mod_read_all_records(module)
    tables, prefix = report.records[module].to_df(), MODULES[module]
    rows = tables["counters"].merge(tables["fcounters"], on=["id", "rank"]).to_dict("records")
    return {
        (module, int(row["rank"]), str(row["id"])): {
            key.removeprefix(prefix): float(value)
            for key, value in row.items()
            if key.startswith(prefix)
        }
        for row in rows
    }


def _segments(report: Any, module: str) -> list[Access]:
    """The accesses of one DXT module."""
    report.mod_read_all_dxt_records(module, dtype="dict")
    kinds: tuple[Kind, ...] = ("read", "write")
    return [
        Access(kind, int(part["length"]), (float(part["start_time"]), float(part["end_time"])))
        for record in report.records[module]
        for kind in kinds
        for part in record[f"{kind}_segments"]
    ]


def _bins(report: Any) -> tuple[dict[tuple[Kind, int], int], float]:
    """Bytes of the HEATMAP module by kind and bin, and the width of a bin in seconds."""
    report.read_all_heatmap_records()
    kinds: tuple[Kind, ...] = ("read", "write")
    bins: dict[tuple[Kind, int], int] = {}
    width = 0.0
    for name, heatmap in report.heatmaps.items():
        if name == "heatmap:MPIIO":  # ends in POSIX and is counted there
            continue
        for kind in kinds:
            frame = heatmap.to_df(ops=[kind])
            width = float(frame.columns[0].right) if len(frame.columns) else 0.0
            for place, count in enumerate(frame.sum()):
                if count:
                    bins[kind, place] = bins.get((kind, place), 0) + int(count)
    return bins, width


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(pickle.dumps(parse_binary(sys.argv[1], sys.argv[3])))
