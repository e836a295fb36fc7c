"""Replication, unlimited disk: CBC, HiGHS and lp_solve on the printed model against ``ip``.

The additive batch time (13) of IMAGE-85 100 x 4, SAT-85 100 x 4 and PPA-500 x 4. ``bound``
is the run's own, the area bound where it gave none; ``gap`` is to the best bound of the whole run that
holds for the row: bounds of the printed model hold for both, those of ``ip`` (copies descend from a
fetch) for ``ip`` alone.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.frame import timed

from ioopt.generate.replication.generate import generate
from ioopt.models.replication.bounds import quick as area_bound
from ioopt.models.replication.printed import PrintedModel
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.backends.pulp_program import PulpProgram
from ioopt.solvers.replication.search import anneal
from ioopt.solving import solve
from ioopt.tables import render

INSTANCES = (("IMAGE-85 100x4", "image-85"), ("SAT-85 100x4", "sat-85"), ("PPA-500x4", "ppa"))
SEED = 0


@dataclass
class Run:
    """One engine on one instance: seconds, batch time found, bound proven."""

    engine: str
    limit: float
    seconds: float
    objective: float | None
    bound: float | None
    printed: bool


def main(quick: bool = False) -> None:
    """Print one table an instance; about 11 minutes, with ``quick`` under one."""
    baseline, short, long = (4.0, 1.0, 4.0) if quick else (60.0, 1.0, 30.0)
    # Compiling happens once a machine and loading once a process: neither belongs to the 1 s run.
    anneal.compile_kernel()
    solve("two-pairs", "ip", time_limit=5)
    for title, preset in INSTANCES:
        problem = generate(preset, {"disk": "unlimited"}, SEED)
        print(f"\n{title}, seed {SEED}, unlimited disk, {len(problem.files)} files")
        print(render(*table(compare(problem, baseline, short, long), area_bound(problem))))


def compare(problem: ReplicationProblem, baseline: float, short: float, long: float) -> list[Run]:
    """All engines on one instance, one after the other."""
    runs = [_solved(problem, "ip-printed", name, baseline) for name in ("CBC", "HiGHS")]
    if shutil.which("lp_solve") is not None:
        runs.append(_lp_solve(problem, baseline))
    return [*runs, *(_solved(problem, "ip", None, limit) for limit in (short, long))]


def _solved(problem: ReplicationProblem, solver: str, backend: str | None, limit: float) -> Run:
    seconds, result = timed(partial(solve, problem, solver, backend=backend, time_limit=limit))
    name = f"{backend} on printed" if backend else f"ip at {limit:g} s"
    # Where minmin answered the engine itself found nothing.
    found = None if result.stop == "fallback" else result.objective
    return Run(name, limit, seconds, found, result.bound, solver == "ip-printed")


def _lp_solve(problem: ReplicationProblem, limit: float) -> Run:
    """lp_solve, the paper's solver, on the same model as a file."""
    model = PrintedModel(problem)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mps")
        PulpProgram.of(model.program).lp.writeMPS(str(path), rename=True)
        command = ["lp_solve", "-fmps", str(path), "-timeout", f"{limit:.0f}", "-S3"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit + 5, check=False
            )
            text = done.stdout
        except subprocess.TimeoutExpired:
            text = ""
    found = re.search(r"Value of objective function:\s+(\S+)", text)
    objective = float(found.group(1)) if found else None
    return Run(
        "lp_solve on printed", limit, time.monotonic() - begun, objective or None, None, True
    )


def table(runs: list[Run], floor: float) -> tuple[list[str], list[list[str]]]:
    """Header and rows: engine, limit, seconds, batch time, bound, gap to the best.

    *floor* is the area bound, which holds for every row.
    """
    shared = max([floor, *(run.bound or 0.0 for run in runs if run.printed)])
    best = max([shared, *(run.bound or 0.0 for run in runs)])
    rows = []
    for run in runs:
        limit = shared if run.printed else best
        rows.append(
            [
                run.engine, f"{run.limit:g}", f"{run.seconds:.1f}", _number(run.objective),
                _number(run.bound), _gap(run.objective, limit),
            ]
        )  # fmt: skip
    header = ["engine", "limit s", "took s", "batch time s", "bound s", "gap"]
    return header, rows


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _gap(objective: float | None, bound: float | None) -> str:
    if objective is None or bound is None:
        return "-"
    return f"{100 * max(0.0, objective - bound) / objective:.3f} %"
