"""Recorded workflows, copied, in a work directory of part of the peak of an unlimited run, on 64 cores.

Makespans over that of the unlimited run in order of submission; ``stuck`` runs have none. The search was
chosen on the first table's files, the second table's are others. Peers keep no way to the end: the order of
submission (what nobody reads any more is deleted at once, as nf-boost does), the task with the most temporary
input first (the order of Snakemake's greedy scheduler), and one sample at a time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from statistics import geometric_mean

import ioopt
from bench.frame import shared_data, show
from ioopt.advice.recorded import read_work_directory
from ioopt.problems.work_directory import Fault, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, Policy, Rank, dispatch
from ioopt.sim.work_directory.replay import replay
from ioopt.solvers.work_directory.frontier import unlimited

CORES, LIMIT_SECONDS, OTHER_COPIES = 64, 15.0, 8
CHOSEN = {
    "methylseq-dirt02-001": (20, (0.5, 0.3, 0.1)), "chipseq-dirt02-001": (12, (0.5, 0.3, 0.2)),
    "viralrecon-dirt02-001": (12, (0.5, 0.3, 0.2)), "montage-chameleon-dss-075d-001": (8, (0.5, 0.2)),
}  # fmt: skip
LEFT_OUT = ("helloworld", "blast-chameleon-small", "montage-chameleon-2mass-005d")
"""No workflow, and smaller ones of those that are there."""


def read(path: Path, copies: int, names: str = "") -> WorkDirectoryProblem:
    """The workflow of a file, *copies* times; with *names* its tasks and files shuffled by that seed."""
    one = read_work_directory(str(path), CORES)
    if names:
        rng = random.Random(names)
        tasks = rng.sample(one.tasks, len(one.tasks))
        one = one.model_copy(update={"tasks": tuple(tasks)})
        one = WorkDirectoryProblem.model_validate(one.model_dump())
    return one.copies(copies)


def budgets(
    problem: WorkDirectoryProblem, shares: tuple[float, ...]
) -> Iterator[tuple[WorkDirectoryProblem, float, float]]:
    """The problem with each quota, its share, and the makespan of the unlimited run."""
    free = unlimited(problem)
    for share in shares:
        quota = ceil(round(share * 1000) * free["peak_bytes"] / 1000)
        yield problem.model_copy(update={"quota_bytes": quota}), share, free["makespan_seconds"]


def row(problem: WorkDirectoryProblem, whole: float, limit: float) -> list[float | None]:
    """In-flight, search and bound over *whole*."""
    slow = ioopt.solve(problem, "in-flight", time_limit=None)
    best = ioopt.solve(problem, "search", time_limit=limit)
    found = (slow.objective, best.objective, best.bound)
    return [None if value is None else value / whole for value in found]


def peers(problem: WorkDirectoryProblem, whole: float) -> list[str]:
    """What each peer's order comes to under the quota."""
    inputs = [sum(problem.products[f].bytes for f in files) for files in problem.inputs]
    ways: tuple[tuple[Policy | Rank, int | None], ...] = (
        ("submission", None), (lambda now, k: -inputs[k], None), ("submission", 1),
    )  # fmt: skip
    cells = []
    for rank, cap in ways:
        try:
            plan = dispatch(problem, Dispatcher(problem, rank, problem.quota_bytes, False, cap))
            cells.append(f"{replay(problem, plan).metrics['makespan_seconds'] / whole:.2f}")
        except Fault:
            cells.append("stuck")
    return cells


def cell(value: float | None) -> str:
    """Two decimals."""
    return "-" if value is None else f"{value:.2f}"


def main(quick: bool) -> None:
    """Print the tables; *quick* gives each search two seconds."""
    limit = 2.0 if quick else LIMIT_SECONDS
    rows, beside = [], []
    for stem, (copies, shares) in CHOSEN.items():
        path = shared_data("workflows") / f"{stem}.json"
        shuffled = [*budgets(read(path, copies, "shuffled"), shares)]
        for (problem, share, whole), (other, _, again) in zip(
            budgets(read(path, copies), shares), shuffled, strict=True
        ):
            found = row(problem, whole, limit)
            name = f"{stem.split('-')[0]} x{copies}"
            rows.append([name, share, *map(cell, found), cell(row(other, again, limit)[1])])
            beside.append([name, share, *peers(problem, whole), cell(found[1])])
    head = ("workflow", "quota", "in-flight", f"search {limit:g} s", "bound", "search, shuffled")
    show("Files that the search was chosen on", head, rows)
    show(
        "Peers",
        ("workflow", "quota", "submission", "most input first", "one sample", "search"),
        beside,
    )
    rows, ratios = [], []
    for path in sorted(shared_data("wfformat").glob("*.json")):
        if not path.stem.startswith(LEFT_OUT):
            for problem, _, whole in budgets(read(path, OTHER_COPIES), (0.5,)):
                found = row(problem, whole, limit)
                rows.append([path.stem, len(problem.tasks), *map(cell, found)])
                ratios += [value for value in found[1:2] if value is not None]
    show("Others, at half of the peak", ("workflow", "tasks", *head[2:5]), rows)
    print(f"\ngeometric mean of {len(ratios)}: {geometric_mean(ratios):.3f}")
