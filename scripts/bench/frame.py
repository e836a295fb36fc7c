"""What the benchmarks share: tables, solvers compared, clocks, peak memory, the shared data."""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import ioopt
from ioopt.problems.base import Problem
from ioopt.tables import render

ROOT = Path(__file__).resolve().parents[2]
Answer = TypeVar("Answer")
Clock = Callable[[], float]

Cases = Mapping[str, Callable[[int], Problem]]
"""The instance of every seed, by the name of its row."""


class Tree(NamedTuple):
    """A checkout and the Python that runs it."""

    folder: Path
    python: str


def tree_before() -> Tree | None:
    """The checkout to compare with, ``IOOPT_BEFORE=FOLDER:PYTHON``; None where none is given."""
    folder, _, python = os.environ.get("IOOPT_BEFORE", "").partition(":")
    return Tree(Path(folder), python or sys.executable) if folder else None


class Run(NamedTuple):
    """A solver and the options of :func:`ioopt.solve` for it."""

    solver: str
    options: Mapping[str, Any]


Check = tuple[str, str, str, str]
"""A criterion, what was wanted, what was measured, and whether it holds."""


def check(what: str, wanted: str, measured: float, holds: bool) -> Check:
    """A row beside what was wanted."""
    return what, wanted, f"{measured:.4g}", "yes" if holds else "NO"


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a titled table."""
    print(f"\n{title}\n\n{render(head, list(rows))}", flush=True)


def compare(title: str, cases: Cases, runs: Mapping[str, Run], seeds: Sequence[int]) -> None:
    """Print what every one of *runs* reaches on *cases* by the measure of :func:`ioopt.compare`.

    Values are over the best bound of any run and over the first of *runs*, on the same instance.
    """
    head = ("case", "run", "over the bound", f"over {next(iter(runs))}", "solve s", "proven")
    show(
        f"{title}; median [least, most] of {len(seeds)} seeds", head, _compared(cases, runs, seeds)
    )


def _compared(
    cases: Cases, runs: Mapping[str, Run], seeds: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    import pandas

    for case, make in cases.items():
        tables = []
        for seed in seeds:
            problem = make(seed)
            table = pandas.concat(
                ioopt.compare(problem, [run.solver], seed=seed, wide=True, **run.options)
                for run in runs.values()
            ).set_axis(list(runs))
            table["bounded"] = table["value"] / table["bound"].max()
            table["against"] = table["value"] / table["value"].iloc[0]
            tables.append(table)
        for name, rows in pandas.concat(tables).groupby(level=0, sort=False):
            proven = int((rows["status"] == "optimal").sum())
            seconds = f"{rows['solve_seconds'].median():.2f}"
            yield case, name, spread(rows["bounded"]), spread(rows["against"]), seconds, proven


def spread(values: Iterable[float]) -> str:
    """Median with least and largest value."""
    found = list(values)
    return f"{statistics.median(found):.4f} [{min(found):.4f}, {max(found):.4f}]"


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


def per_call(function: Callable[[], Any], seconds: float = 0.5) -> float:
    """Microseconds of one call: the best of batches of a millisecond (or one call) over *seconds*.

    The best, because whatever else runs on the machine only ever adds time.
    """
    function()
    once, _ = timed(function, cpu)
    calls = max(1, int(1e-3 / max(once, 1e-7)))

    def batch() -> None:
        for _ in range(calls):
            function()

    best, last = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < last:
        best = min(best, timed(batch, cpu)[0] / calls)
    return best * 1e6


def peak_bytes() -> int:
    """Peak memory of this process since its start."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def shared_data(folder: str) -> Path:
    """*folder* of the shared data (``IOOPT_SHARED``), which need not be there."""
    return Path(os.environ.get("IOOPT_SHARED", ROOT.parent / "shared")) / "data" / folder
