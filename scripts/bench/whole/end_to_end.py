"""End to end: what a user waits for, start-up, loading, checks and writing included, before and after.

Processor seconds of whole commands and of calls in a process that has loaded everything. A tree of before is
another checkout with its own Python, ``IOOPT_BEFORE=FOLDER:PYTHON``; without it its columns are empty.
Every figure is the least of several runs.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.frame import ROOT, Tree, show, tree_before


class Cost(NamedTuple):
    """Processor seconds, seconds by the clock, most memory in bytes, and what was printed."""

    seconds: float
    wall: float
    peak: int
    text: str


CALLS = {
    "month of batch I/O": """
        problem = ioopt.load(file)
        work = lambda: ioopt.solve(problem, "fill", settings={"engine": "compiled"})""",
    "check of the month": """
        problem = ioopt.load(file)
        result = ioopt.solve(problem, "base-line")
        work = lambda: ioopt.check(problem, result)""",
    "gang workload": """
        problem = ioopt.load(file)
        work = lambda: ioopt.solve(problem, "migrate-iogs", bound=False)""",
    "knapsack, K = 200": """
        from ioopt.solvers.batch_io.max_util import best_subset
        weights = [1 + 7919 * k % 1000 for k in range(200)]
        work = lambda: best_subset(weights, sum(weights) // 2)""",
    "knapsack, K = 2000": """
        from ioopt.solvers.batch_io.max_util import best_subset
        weights = [1 + 7919 * k % 1000 for k in range(2000)]
        work = lambda: best_subset(weights, sum(weights) // 2)""",
    "ADAPTIVE, K = 50, 20 decisions": """
        sys.path[:0] = ["scripts"]
        from bench.batch_io import state
        from ioopt.solvers.batch_io.adaptive import adaptive
        views = [state(50, seed) for seed in range(20)]
        work = lambda: [adaptive(view) for view in views]""",
}
AIMS = {"ADAPTIVE, K = 50, 20 decisions": "2 ms"}
MEMORY_JOBS, MEMORY_AIM = (100_000, 200_000), 1_000_000
PROLOGUE = "import gc, sys, time, ioopt\ngc.set_threshold(200_000, 20, 100)\nfile = sys.argv[1]\n"
EPILOGUE = """
work()
best = 1e9
for _ in range(3):
    begun = time.process_time()
    work()
    best = min(best, time.process_time() - begun)
print(best)
"""


def _environment() -> dict[str, str]:
    """Bytecode is kept, as it is for users, but not in the trees."""
    kept = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "ioopt-end-to-end"))}


def run(tree: Tree, *arguments: str) -> Cost:
    """One run of Python in *tree*."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            [tree.python, *arguments], cwd=tree.folder, stdout=out, stderr=subprocess.DEVNULL,
            env=_environment() | {"PYTHONPATH": str(tree.folder)},
        )  # fmt: skip
        _, ended, used = os.wait4(process.pid, 0)
        if ended:
            raise SystemExit(
                f"{' '.join(arguments)[-300:]}: exit code {os.waitstatus_to_exitcode(ended)}"
            )
        out.seek(0)
        wall = time.monotonic() - begun
        return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024, out.read())


def call(tree: Tree, name: str, file: str) -> float:
    """Seconds of one of CALLS in a warm process."""
    lines = [line.strip() for line in CALLS[name].strip().splitlines()]
    code = PROLOGUE + "\n".join(lines) + EPILOGUE
    return float(run(tree, "-c", code, file).text or "nan")


def commands(folder: str, quick: bool) -> Iterator[tuple[str, list[str], str]]:
    """Title, arguments of ``ioopt``, and the aim."""
    month, gangs = (str(Path(folder, name)) for name in ("month.json", "gang.json"))
    out = str(Path(folder, "out.json"))
    yield "solve, month of batch I/O, fill", ["solve", month, "--solver", "fill"], "1 s"
    yield "solve, month, base-line", ["solve", month, "--solver", "base-line"], "1 s"
    yield "the same, result written", ["solve", month, "--solver", "base-line", "-o", out], ""
    yield "solve, gangs, migrate-iogs", ["solve", gangs, "--solver", "migrate-iogs"], "1.5 s"


SWEEPS = (("small", 50, ("fill", "adaptive", "set-10", "base-line"), "", "5 ms a point"),
          ("mira-week", 12, ("fill",), "set = {engine = 'python'}\n", ""))  # fmt: skip
"""Preset, seeds, solvers, their settings, the aim: points of two milliseconds, and of half a second."""


def sweep_rows(trees: list[Tree], quick: bool) -> Iterator[list[Any]]:
    """Sweeps with one worker and with two: what they cost, and how much sooner two are through."""
    for preset, seeds, solvers, given, aim in SWEEPS:
        chosen = list(range(seeds // 5 if quick else seeds))
        text = f"[[instances]]\ngenerate = 'batch-io'\npreset = '{preset}'\n"
        text += f"seeds = {chosen}\n"
        text += "".join(f"[[solvers]]\nname = '{name}'\n{given}" for name in solvers)
        costs: dict[int, list[Cost]] = {1: [], 2: []}
        for workers, tree in itertools.product(costs, trees):
            found = []
            for _ in range(1 if quick else 3 if aim else 2):
                with tempfile.TemporaryDirectory() as folder:  # a store of before has nothing to do
                    Path(folder, "s.toml").write_text(text)
                    found.append(run(tree, "-m", "ioopt", "sweep", f"{folder}/s.toml", "--store",
                                     f"{folder}/s.sqlite", "--workers", str(workers)))  # fmt: skip
            costs[workers].append(min(found, key=lambda cost: cost.wall))
        points = len(solvers) * len(chosen)
        title = f"sweep, {points} points of {preset}"
        for workers, each in costs.items():
            yield [f"{title}, --workers {workers}, CPU", *(
                f"{cost.seconds:.2f} s, {1000 * cost.seconds / points:.1f} ms a point" for cost in each
            ), aim]  # fmt: skip
        yield [f"{title}, clock, one worker over two",
               *(f"{one.wall / two.wall:.2f}" for one, two in zip(*costs.values())), "1.7"]  # fmt: skip


def warm(tree: Tree, month: str) -> None:
    """Have the tree's simulator compiled, so that no row compiles."""
    for name in ("fill", "base-line"):
        run(tree, "-m", "ioopt", "solve", month, "--solver", name, "--set", "engine=compiled",
            "--time-limit", "600")  # fmt: skip


def memory_rows(trees: list[Tree], folder: str, quick: bool) -> Iterator[list[Any]]:
    """Most memory of ``ioopt solve`` on so many jobs of one phase, and on a million by the difference."""
    month = json.loads(Path(folder, "month.json").read_text())
    jobs, span = month["jobs"], month["jobs"][-1]["submit_seconds"]
    counts = [count // (10 if quick else 1) for count in MEMORY_JOBS]
    peaks: list[list[int]] = []
    for count in counts:
        made = []
        for k in range(count):
            again, job = divmod(k, len(jobs))
            phases = [{**jobs[job]["phases"][0], "repeat": 1}]
            submit = jobs[job]["submit_seconds"] + again * span
            made.append({**jobs[job], "id": k, "submit_seconds": submit, "phases": phases})
        file = Path(folder, "jobs.json")
        file.write_text(json.dumps(month | {"jobs": made}))
        command = ["solve", str(file), "--solver", "fill", "--time-limit", "600"]
        command += ["--set", "engine=compiled", "--set", "rates=no"]
        costs = [run(tree, "-m", "ioopt", *command) for tree in trees]
        peaks.append([cost.peak for cost in costs])
        told = [f"{cost.seconds:.2f} s, {cost.peak / 1e6:.0f} MB" for cost in costs]
        yield [f"solve, {count:,} jobs, fill", *told, ""]
    steps = (MEMORY_AIM - counts[0]) / (counts[1] - counts[0])
    most = [few + steps * (many - few) for few, many in zip(*peaks)]
    yield [
        f"{MEMORY_AIM:,} jobs by these two",
        *(f"{peak / 1e6:.0f} MB" for peak in most),
        "1000 MB",
    ]


def gap_rows(trees: list[Tree]) -> Iterator[list[Any]]:
    """What ``ip`` reaches in a second of the wall clock, from the command line."""
    row: list[Any] = ["ip --time-limit 1, image-85 without disk limits, gap"]
    with tempfile.TemporaryDirectory() as folder:
        file, out = str(Path(folder, "image.json")), Path(folder, "out.json")
        run(trees[-1], "-m", "ioopt", "generate", "replication", "--preset", "image-85", "--set",
            "disk=unlimited", "--seed", "1", "-o", file)  # fmt: skip
        for tree in trees:
            run(
                tree,
                "-m",
                "ioopt",
                "solve",
                file,
                "--solver",
                "ip",
                "--time-limit",
                "1",
                "-o",
                str(out),
            )
            gap = json.loads(out.read_text())["gap"]
            row.append(f"{100 * gap:.2f} %")
    yield [*row, "2 %"]


def main(quick: bool) -> None:
    """Print the table of one run."""
    before = tree_before()
    trees = [*([before] if before else []), Tree(ROOT, sys.executable)]
    rows: list[list[Any]] = []
    times = 1 if quick else 3
    with tempfile.TemporaryDirectory() as folder:
        jobs = ["--set", "jobs=300"] if quick else []
        for family, preset, name in (
            ("batch-io", "mira-month", "month"),
            ("gang", "blue-pacific-like", "gang"),
        ):
            run(trees[-1], "-m", "ioopt", "generate", family, "--preset", preset, *jobs, "-o",
                str(Path(folder, f"{name}.json")))  # fmt: skip
        for tree in trees:
            warm(tree, str(Path(folder, "month.json")))
        for title, arguments, aim in commands(folder, quick):
            costs = []
            for tree in trees:
                found = []
                for _ in range(times):
                    found.append(run(tree, "-m", "ioopt", *arguments))
                costs.append(min(found))
            rows.append(
                [title, *(f"{cost.seconds:.2f} s, {cost.peak / 1e6:.0f} MB" for cost in costs), aim]
            )
        for name in CALLS:
            file = str(Path(folder, "gang.json" if "gang" in name else "month.json"))
            found = [call(tree, name, file) for tree in trees]
            told = [f"{1000 * seconds:.3g} ms" for seconds in found]
            rows.append([f"warm: {name}", *told, AIMS.get(name, "")])
        rows += memory_rows(trees, folder, quick)
    rows += gap_rows(trees)
    rows += sweep_rows(trees, quick)
    head = ("what", *(("before",) if before else ()), "now", "aim")
    show("End to end, processor seconds", head, rows)
