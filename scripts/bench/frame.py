"""Provide code shared by the benchmarks: tables, clocks, shared data, checkouts to
compare.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from ioopt.tables import render

ROOT = Path(__file__).resolve().parents[2]
Answer = TypeVar("Answer")


class Tree(NamedTuple):
    """Describe a checkout and the Python that runs it."""

    folder: Path
    python: str

    def environment(self) -> dict[str, str]:
        """Return the environment of the tree's processes: this tree first, one
        thread.
        """
        path = os.pathsep.join([str(self.folder), str(ROOT / "scripts")])
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return {**os.environ, **one, "PYTHONPATH": path}

    def compile(self) -> None:
        """Compile all kernels, so that no benchmark spends time on it."""
        command = [self.python, "-m", "ioopt", "doctor", "--compile"]
        subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True
        )


def trees() -> dict[str, Tree]:
    """Return the checkouts to compare: that of ``IOOPT_BEFORE``, then this one.

    ``IOOPT_BEFORE=FOLDER[:PYTHON]`` names a checkout and the Python that runs it.
    """
    found: dict[str, Tree] = {}
    folder, _, python = os.environ.get("IOOPT_BEFORE", "").partition(":")
    if folder:
        found["before"] = Tree(Path(folder).resolve(), python or sys.executable)
    found["now"] = Tree(ROOT, sys.executable)
    return found


class Cost(NamedTuple):
    """Record the seconds, memory and output of a command."""

    code: int
    """Its exit code."""
    cpu: float
    """Processor seconds."""
    wall: float
    """Seconds by the clock."""
    peak: int
    """Peak memory in bytes."""
    text: str
    """Its standard output."""
    error: str
    """Its standard error."""


def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> Cost:
    """Run one process to its end, and end the processes that it left running."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=told,
            start_new_session=True,
        )
        _, ended, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(ended)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        told.seek(0)
        seconds = used.ru_utime + used.ru_stime
        peak = used.ru_maxrss * 1024
        return Cost(process.returncode, seconds, wall, peak, out.read(), told.read())


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a titled table."""
    print(f"\n{title}\n\n{render(head, list(rows))}", flush=True)


def cpu() -> float:
    """Return the processor seconds of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(
    work: Callable[[], Answer], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Answer]:
    """Return the seconds of a call by *clock*, and its answer."""
    begun = clock()
    answer = work()
    return clock() - begun, answer


def shared_data(folder: str) -> Path:
    """Return *folder* of the shared data (``IOOPT_SHARED``); it need not exist."""
    shared = os.environ.get("IOOPT_SHARED", ROOT.parent / "shared")
    return Path(shared) / "data" / folder
