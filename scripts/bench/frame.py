"""What the benchmarks share: clocks, peak memory, the shared data, calls in a process of their own."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
Answer = TypeVar("Answer")
Clock = Callable[[], float]


def cpu() -> float:
    """Processor seconds of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(
    work: Callable[[], Answer], clock: Clock = time.perf_counter, times: int = 1
) -> tuple[float, Answer]:
    """Least seconds of *times* calls by *clock*, and the last answer."""
    best = float("inf")
    for _ in range(times):
        begun = clock()
        answer = work()
        best = min(best, clock() - begun)
    return best, answer


def per_call(function: Callable[[], Any], seconds: float = 0.5, clock: Clock = cpu) -> float:
    """Microseconds of one call: the best of batches of a millisecond (or one call) over *seconds*.

    The best, because whatever else runs on the machine only ever adds time.
    """
    function()
    once, _ = timed(function, clock)
    calls = max(1, int(1e-3 / max(once, 1e-7)))

    def batch() -> None:
        for _ in range(calls):
            function()

    best, last = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < last:
        best = min(best, timed(batch, clock)[0] / calls)
    return best * 1e6


def peak_bytes() -> int:
    """Peak memory of this process since its start."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def shared_data(folder: str) -> Path:
    """*folder* of the shared data (``IOOPT_SHARED``), which need not be there."""
    return Path(os.environ.get("IOOPT_SHARED", ROOT.parent / "shared")) / "data" / folder


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a call made in a fresh process, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)
