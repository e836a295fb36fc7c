"""Binary Darshan logs of format 3.x, read by the optional ``darshan`` package (PyDarshan).

The package wraps a C library that can crash on a damaged log, so it runs in a process of its own
(this module as a program: log in, JSON out) and a crash is an error message like any other.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ioopt.errors import BackendMissingError, InstanceError
from ioopt.formats.darshan.text import Access, RawLog
from ioopt.problems.base import Json

TIME_LIMIT_SECONDS = 300
_HINT = "; the output of `darshan-parser` for it can be imported instead"


def read_binary(raw: bytes, name: str) -> RawLog:
    """Parse the bytes of a binary log; *name* is used in messages.

    Raises InstanceError when it is of format 1.x or 2.x or damaged, BackendMissingError when the
    ``darshan`` package is not installed.
    """
    version = raw[:4].decode("ascii")
    if not version.startswith("3"):
        raise InstanceError(
            f"{name}: binary log of format {version}, which only darshan-parser 2.x reads{_HINT}"
        )
    if importlib.util.find_spec("darshan") is None:
        raise BackendMissingError(
            f"{name}: reading binary logs needs the package darshan (pip install 'ioopt[darshan]')"
            f"{_HINT}"
        )
    found = _in_own_process(raw, name)
    records = {
        (module, int(rank), str(record)): counters
        for module, rank, record, counters in found["records"]
    }
    segments = {
        module: [Access(kind, count, (start, end)) for kind, count, start, end in rows]
        for module, rows in found["segments"].items()
    }
    bins = {(kind, place): count for kind, place, count in found["bins"]}
    return RawLog(
        name, found["header"], records, found["listed"], tuple(found["warnings"]), segments, bins,
        found["bin_seconds"],
    )  # fmt: skip


def _in_own_process(raw: bytes, name: str) -> Json:
    """What :func:`main` prints of a log; whatever kills it is an InstanceError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.darshan"
        path.write_bytes(raw)
        root = str(Path(__file__).resolve().parents[3])
        try:
            done = subprocess.run(
                [sys.executable, "-c", _PROGRAM, root, str(path)],
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
    try:
        # The C library may print remarks of its own before the answer, which is the last line.
        answer: Json = json.loads(done.stdout.splitlines()[-1], parse_constant=_refuse)
    except (ValueError, IndexError) as error:
        raise InstanceError(f"{name}: damaged: {error}{_HINT}") from None
    return answer


def _refuse(text: str) -> Any:
    raise ValueError(f"a counter is {text}")


_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ioopt.formats.darshan.binary import main; main(sys.argv[2])"
)


def main(path: str) -> None:
    """Print the log at *path* as JSON: header, announced modules, records, warnings."""
    import darshan  # type: ignore[import-not-found,unused-ignore]

    report = darshan.DarshanReport(path, read_all=False)
    job = report.metadata["job"]
    header = {
        "darshan log version": job["log_ver"],
        "jobid": str(job["jobid"]),
        "nprocs": str(job["nprocs"]),
        "start_time": str(job["start_time_sec"] + job["start_time_nsec"] * 1e-9),
        "run time": str(job["run_time"]),
    }
    listed, records, warnings = {}, [], []
    segments: dict[str, list[tuple[str, int, float, float]]] = {}
    for module, about in report.modules.items():
        listed[module] = int(about["len"])
        if about["partial_flag"]:
            warnings.append(f"Darshan says: the {module} module contains incomplete data")
        if module in ("POSIX", "MPI-IO", "STDIO"):
            records += _records(report, module)
        if module.startswith("DXT_"):
            report.mod_read_all_dxt_records(module, dtype="dict")
            segments[module] = [
                (kind, int(part["length"]), float(part["start_time"]), float(part["end_time"]))
                for record in report.records[module]
                for kind in ("read", "write")
                for part in record[f"{kind}_segments"]
            ]
    bins, width = _bins(report) if "HEATMAP" in listed else ([], 0.0)
    found = {
        "header": header, "listed": listed, "records": records, "warnings": warnings,
        "segments": segments, "bins": bins, "bin_seconds": width,
    }  # fmt: skip
    print("\n" + json.dumps(found))


def _bins(report: Any) -> tuple[list[tuple[str, int, int]], float]:
    """(kind, bin, bytes) of the HEATMAP module, and the width of a bin in seconds."""
    report.read_all_heatmap_records()
    bins, width = [], 0.0
    for name, heatmap in report.heatmaps.items():
        if name == "heatmap:MPIIO":  # ends in POSIX and is counted there
            continue
        for kind in ("read", "write"):
            frame = heatmap.to_df(ops=[kind])
            width = float(frame.columns[0].right) if len(frame.columns) else 0.0
            bins += [(kind, place, int(count)) for place, count in enumerate(frame.sum()) if count]
    return bins, width


def _records(report: Any, module: str) -> list[tuple[str, int, str, dict[str, float]]]:
    """(module, rank, record, counters without the module's prefix) of one module."""
    report.mod_read_all_records(module)
    tables = report.records[module].to_df()
    prefix = module.replace("-", "") + "_"
    rows = []
    for whole, real in zip(
        tables["counters"].to_dict("records"), tables["fcounters"].to_dict("records")
    ):
        both = {**whole, **real}
        counters = {
            key.removeprefix(prefix): float(value)
            for key, value in both.items()
            if key.startswith(prefix)
        }
        rows.append((module, int(whole["rank"]), str(whole["id"]), counters))
    return rows
