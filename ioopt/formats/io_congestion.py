"""Sets of periodic applications of the I/O congestion literature, as batch-io problems.

A set has one application a line: seconds of computation and GB of I/O in each period, processors.
Source: Aupy, Gainaru, Le Fevre, "Periodic I/O scheduling for super-computers" (PMBS 2017), whose
repository also publishes what their schedules reach. Their machine is 640 cores with B = 3 GB/s
and b = 0.01 GB/s, every value divided by 64; here nothing is divided, so a set runs on 40,960
processors with 192 GB/s.
"""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ioopt.errors import InstanceError
from ioopt.formats.native import read_bytes
from ioopt.formats.report import file_name, imported
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.units import format_bytes

PROCESSORS = 40_960
PROCESSOR_BYTES_PER_SECOND = 1e7
STORAGE_BYTES_PER_SECOND = 192e9
DEFAULT_PERIODS = 20


@dataclass(frozen=True, slots=True)
class Application:
    """A periodic application: each period computes *work_seconds*, then moves *io_bytes*."""

    work_seconds: float
    io_bytes: float
    processors: int

    @property
    def ideal_seconds(self) -> float:
        """Length of a period without congestion."""
        peak = min(self.processors * PROCESSOR_BYTES_PER_SECOND, STORAGE_BYTES_PER_SECOND)
        return self.work_seconds + self.io_bytes / peak


def read_set(source: str | os.PathLike[str]) -> tuple[Application, ...]:
    """Read one set; InstanceError names file and line of anything that is not three numbers."""
    name = os.fspath(source)
    rows = []
    lines = read_bytes(source).decode("utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        where = f"{name}: line {number}"
        try:
            work, volume, processors = (float(word) for word in words)
        except ValueError:
            raise InstanceError(
                f"{where}: wanted seconds, GB and processors, not {line!r}"
            ) from None
        if not (0 <= work < math.inf and 0 <= volume < math.inf and work + volume > 0):
            raise InstanceError(f"{where}: {line!r}: seconds and GB must be 0 or more, not both 0")
        if not (1 <= processors <= PROCESSORS and processors == int(processors)):
            raise InstanceError(f"{where}: processors {words[2]!r}: wanted 1 to {PROCESSORS}")
        rows.append(Application(work, volume * 1e9, int(processors)))
    if not rows:
        raise InstanceError(f"{name}: no application; is this a set of the I/O congestion data?")
    return tuple(rows)


def horizon_of(applications: Sequence[Application], periods: int = DEFAULT_PERIODS) -> float:
    """Seconds in which the longest application would do *periods* periods without congestion."""
    return periods * max(app.ideal_seconds for app in applications)


def batch_io_from_set(
    applications: Sequence[Application], name: str, *, periods: int = DEFAULT_PERIODS
) -> BatchIoProblem:
    """A batch-io problem in which all applications start at 0 and none ends before the horizon.

    Each is one job with as many periods as it could do until :func:`horizon_of`. The applications
    must fit the machine together (those published do), or InstanceError says so.
    """
    total = sum(app.processors for app in applications)
    if total > PROCESSORS:
        raise InstanceError(f"{name}: {total} processors, the machine has {PROCESSORS}")
    horizon = horizon_of(applications, periods)
    jobs = []
    for k, app in enumerate(applications, 1):
        repeat = math.ceil(horizon / app.ideal_seconds)
        jobs.append(
            {
                "id": k, "submit_seconds": 0.0, "nodes": app.processors,
                "walltime_seconds": 10 * repeat * app.ideal_seconds,
                "phases": [{"compute_seconds": app.work_seconds, "io_bytes": app.io_bytes,
                            "repeat": repeat}],
            }
        )  # fmt: skip
    found = re.search(r"set\d+$", file_name(name))
    data = {
        "name": f"io-congestion-{found.group(0)}" if found else file_name(name),
        "meta": {"source": file_name(name), "horizon_seconds": horizon},
        "machine": {
            "nodes": PROCESSORS, "unit_nodes": 1, "allocation": "flat",
            "node_bytes_per_second": PROCESSOR_BYTES_PER_SECOND,
            "storage_bytes_per_second": STORAGE_BYTES_PER_SECOND,
        },
        "options": {"queue": "fcfs"},
        "jobs": jobs,
    }  # fmt: skip
    synthetic = {
        "machine": f"{PROCESSORS} processors of {format_bytes(PROCESSOR_BYTES_PER_SECOND)}/s with "
        f"{format_bytes(STORAGE_BYTES_PER_SECOND)}/s of storage, as the source's, 64 times as large",
        "jobs": f"one an application, all at 0, with the periods of {horizon:g} s (--periods) and "
        "ten times that as walltime",
    }
    return imported(BatchIoProblem, data, (), name, synthetic)
