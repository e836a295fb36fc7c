"""What the benchmarks share: tables, clocks, memory, the shared data, another
checkout beside this one.
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
    """A checkout and the Python that runs it."""

    folder: Path
    python: str

    def environment(self) -> dict[str, str]:
        """Of its processes: this tree first, and one thread."""
        path = os.pathsep.join([str(self.folder), str(ROOT / "scripts")])
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return {**os.environ, **one, "PYTHONPATH": path}

    def compile(self) -> None:
        """Have machine code ready, so that no row compiles."""
        command = [self.python, "-m", "ioopt", "doctor", "--compile"]
        subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True
        )


def trees() -> dict[str, Tree]:
    """This checkout, and before it the one that
    ``IOOPT_BEFORE=FOLDER[:PYTHON]`` names.
    """
    folder, _, python = os.environ.get("IOOPT_BEFORE", "").partition(":")
    before = (
        {"before": Tree(Path(folder).resolve(), python or sys.executable)}
        if folder
        else {}
    )
    return before | {"now": Tree(ROOT, sys.executable)}


class Cost(NamedTuple):
    """What a command took and printed: its exit code, processor seconds, seconds by
    the clock, most bytes.
    """

    code: int
    cpu: float
    wall: float
    peak: int
    text: str
    error: str


def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> Cost:
    """One process; what it left running beside is ended."""
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
        wall, process.returncode = (
            time.monotonic() - begun,
            os.waitstatus_to_exitcode(ended),
        )
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        told.seek(0)
        seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        return Cost(process.returncode, seconds, wall, peak, out.read(), told.read())


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a titled table."""
    print(f"\n{title}\n\n{render(head, list(rows))}", flush=True)


def cpu() -> float:
    """Processor seconds of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(
    work: Callable[[], Answer], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Answer]:
    """Seconds of a call by *clock*, and its answer."""
    begun = clock()
    answer = work()
    return clock() - begun, answer


def shared_data(folder: str) -> Path:
    """*folder* of the shared data (``IOOPT_SHARED``), which need not be there."""
    return (
        Path(os.environ.get("IOOPT_SHARED", ROOT.parent / "shared")) / "data" / folder
    )
