"""Provide code that benchmarks share: tables, clocks, shared data, and the checkouts to
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
    """A checkout of ioopt, and the Python interpreter that runs it."""

    folder: Path
    python: str

    def environment(self) -> dict[str, str]:
        """Return the environment for processes of this checkout: its modules come first
        on the path, and libraries use one thread.
        """
        path = os.pathsep.join([str(self.folder), str(ROOT / "scripts")])
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return {**os.environ, **one, "PYTHONPATH": path}


def trees() -> dict[str, Tree]:
    """Return the checkouts to compare, keyed by label: first the checkout that
    ``IOOPT_BEFORE`` names, if it is set, then this one.

    ``IOOPT_BEFORE=FOLDER[:PYTHON]`` names a checkout and the Python interpreter that
    runs it.
    """
    found: dict[str, Tree] = {}
    folder, _, python = os.environ.get("IOOPT_BEFORE", "").partition(":")
    if folder:
        found["before"] = Tree(Path(folder).resolve(), python or sys.executable)
    found["now"] = Tree(ROOT, sys.executable)
    return found


class Cost(NamedTuple):
    """The exit code, the seconds, the memory and the output of a command."""

    code: int
    """The exit code of the command."""
    cpu: float
    """The processor time in seconds."""
    wall: float
    """The elapsed time in seconds."""
    peak: int
    """The peak memory in bytes."""
    text: str
    """The standard output of the command."""
    error: str
    """The standard error of the command."""


def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> Cost:
    """Run one process to its end; kill the processes that it has left running."""
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
    """Print a table with a title."""
    print(f"\n{title}\n\n{render(head, list(rows))}", flush=True)


def cpu() -> float:
    """Return the processor seconds of this process and of its children that have
    ended.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(
    work: Callable[[], Answer], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Answer]:
    """Call *work*; return the seconds that the call took by *clock*, and its answer."""
    begun = clock()
    answer = work()
    return clock() - begun, answer


def shared_data(folder: str) -> Path:
    """Return the path of *folder* in the shared data (``IOOPT_SHARED``). The folder
    need not exist.
    """
    shared = os.environ.get("IOOPT_SHARED", ROOT.parent / "shared")
    return Path(shared) / "data" / folder
