"""Replication: how near ``link-aware`` comes to the bound and the best known plans on small disks.

Limits are CPU seconds of the solving process, kernels loaded before, so that a busy machine changes little;
two processes solve beside each other. ``IOOPT_BEFORE=FOLDER[:PYTHON]`` runs another checkout too, for rows
named *before*, on the first seeds of each row. The search was chosen on ``image-85`` and ``bipartite-85``,
seeds 0 to 9; it had not seen ``image-85-windows``, the WfFormat files and the seeds from 10 on of the tables.
The whole takes about 20 minutes on two idle cores; larger batches have a table of their own,
``replication-large``.

``best_replication.json`` keeps the best makespan known of every instance and what found it. A table reads it,
adds what its own runs found better, and writes it back.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

KNOWN = Path(__file__).with_name("best_replication.json")
PRESETS = ("image-85", "bipartite-85", "image-85-windows")
WORKFLOWS = (
    "1000genome-chameleon-2ch", "cycles", "epigenomics-chameleon-ilmn", "montage-chameleon-2mass-05d",
    "srasearch", "montage-chameleon-dss",
)  # fmt: skip
"""Files of the shared data, by the beginning of their names; instead of seeds."""
SEEDS = tuple(range(10, 30))
BEFORE_SEEDS, LONG_SEEDS = 4, 1
"""So many of them before, and at 60 seconds."""
STEPS = 20_000
"""Moves that are timed."""


class Case(NamedTuple):
    """An instance: a preset or a workflow file, and settings; a workflow's disk is a share of its bytes."""

    source: str
    disk: str
    tasks: int
    nodes: int
    seed: int

    def load(self) -> Any:
        """The problem."""
        if self.source in (*PRESETS, "image-85-follow-up"):
            from ioopt.generate.replication.generate import generate

            settings = {"disk": self.disk, "tasks": self.tasks, "nodes": self.nodes}
            return generate(self.source, settings, self.seed)
        from ioopt.formats.wfformat.instance import Machine, read_wfformat

        sys.path[:0] = [str(KNOWN.parents[1])]
        from bench.frame import shared_data

        path = next(iter(shared_data("wfformat").glob(f"{self.source}*.json")))
        machine = Machine.model_validate({"disk": self.disk, "nodes": self.nodes})
        return read_wfformat(str(path), "all", machine, flatten=True)

    @property
    def name(self) -> str:
        """Key in the file of best known values."""
        return " ".join(map(str, self))


class Job(NamedTuple):
    """One solve: *seconds* of CPU, in the checkout *tree* (FOLDER[:PYTHON]; this one where empty)."""

    case: Case
    solver: str
    seconds: float
    tree: str


class Row(NamedTuple):
    """Instances of one row of the table; so many of them *before*."""

    title: str
    cases: list[Case]
    seconds: float
    before: int


def solved(case: Case, solver: str, seconds: float) -> dict[str, float]:
    """Makespan, bound, replays and CPU seconds of one solve."""
    from ioopt.options import Deadline, SolveOptions
    from ioopt.protocols import SolveRequest
    from ioopt.sim.replication.simulate import simulate
    from ioopt.solvers.replication.greedy import minmin
    from ioopt.solvers.replication.search import link_aware, link_search

    link_search.compile_kernels()
    problem, begun = case.load(), time.process_time()
    options = SolveOptions(time_limit_seconds=seconds, seed=case.seed)
    deadline = Deadline(seconds, time.process_time)
    solve: Any = {"minmin": minmin.solve, "link-aware": link_aware.solve}[solver]
    settings = link_aware.Settings() if solver == "link-aware" else None
    found = solve(problem, SolveRequest(options, deadline, settings))
    taken, metrics = time.process_time() - begun, simulate(problem, found.plan).metrics
    return {
        "makespan": metrics["makespan_seconds"], "bound": metrics["lower_bound_seconds"], "cpu": taken,
        "replays": found.metrics.get("evaluations", 0),
    }  # fmt: skip


def paces(case: Case) -> list[float]:
    """CPU microseconds of a whole replay, and of a move of queues, an order and an order with barriers.

    NaN where this checkout has no such move.
    """
    from ioopt.solvers.replication.search import link_search
    from ioopt.solvers.replication.search.spectral import task_order

    link_search.compile_kernels()
    problem = case.load()
    engine, order, nodes = link_search.Engine(problem, 1, True), task_order(problem), case.nodes
    queues = [order[i::nodes] for i in range(nodes)]
    score = engine.score(queues)
    begun = time.process_time()
    for _ in range(STEPS // 20):
        engine.score(queues)
    found = [(time.process_time() - begun) / (STEPS // 20) * 1e6]
    ordered = link_search.OrderAnnealing(engine, order)
    searches: list[Any] = [(engine.annealing(queues, score), 5e-3), (ordered, 1e-2)]
    for search, hot in searches:
        begun = time.process_time()
        search.run(STEPS, hot * score, 0.02 * hot * score, 0.0)
        found.append((time.process_time() - begun) / STEPS * 1e6)
    if not hasattr(link_search, "RoundAnnealing"):
        return [*found, float("nan")]
    barred = link_search.RoundAnnealing(engine, ordered, nodes)
    begun = time.process_time()
    barred.run(STEPS, 1e-3 * barred.best_score, 2e-5 * barred.best_score, 0.0)
    return [*found, (time.process_time() - begun) / STEPS * 1e6]


def apart(tree: str, asked: list[list[Any]]) -> list[Any]:
    """What *asked* (function and arguments) came to, one after the other in a process of *tree*."""
    folder, _, python = tree.partition(":")
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if folder:
        environment["PYTHONPATH"] = folder
    ran = subprocess.run(
        [python or sys.executable, str(Path(__file__).resolve()), "--some"], input=json.dumps(asked),
        env=environment, stdout=subprocess.PIPE, text=True, check=True, cwd=folder or None,
    )  # fmt: skip
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith(("{", "["))]


def known() -> dict[str, Any]:
    """What the file of best known values holds."""
    return dict(json.loads(KNOWN.read_text())) if KNOWN.exists() else {}


def note(best: dict[str, Any], job: Job, answer: Mapping[str, float]) -> None:
    """Keep the makespan of *answer* where it is the best of its instance."""
    case, before = job.case, best.get(job.case.name, {"makespan": float("inf"), "bound": 0.0})
    bound, makespan = round(max(answer["bound"], before["bound"]), 6), round(answer["makespan"], 6)
    if makespan < before["makespan"] * (1 - 1e-9):
        how = f"{job.solver}, {job.seconds:g} s, seed {case.seed}"
        if makespan <= bound * (1 + 1e-9):
            how += ": the bound"
        best[case.name] = {"makespan": makespan, "bound": bound, "how": how}


def write(best: Mapping[str, Any]) -> None:
    """Put the best known values into their file, one a line."""
    lines = [f"  {json.dumps(name)}: {json.dumps(best[name])}" for name in sorted(best)]
    KNOWN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def rows(quick: bool) -> Iterator[Row]:
    """All rows of the table."""
    for seconds, seeds in (
        ((2.0, SEEDS[:1]),) if quick else ((10.0, SEEDS), (60.0, SEEDS[:LONG_SEEDS]))
    ):
        before = BEFORE_SEEDS if seconds <= 10.0 else 0
        for disk, share in (("300MB", "15%"), ("500MB", "25%")):
            for source in PRESETS:
                cases = [Case(source, disk, 100, 4, seed) for seed in seeds]
                yield Row(f"{source} 100 x 4, {disk}", cases, seconds, before)
            files = WORKFLOWS[: 1 if quick else 2 if seconds > 10.0 else None]
            cases = [Case(source, share, 0, 4, 0) for source in files]
            yield Row(f"WfFormat x 4, {share}", cases, seconds, before)


def ran(jobs: Iterable[Job], workers: int = 2) -> dict[Job, dict[str, float]]:
    """The answers to all *jobs*, by so many processes a checkout, one checkout after the other."""
    answers: dict[Job, dict[str, float]] = {}
    listed = list(dict.fromkeys(jobs))
    for tree in dict.fromkeys(job.tree for job in listed):
        own = sorted((job for job in listed if job.tree == tree), key=lambda job: -job.seconds)
        parts = [own[turn::workers] for turn in range(workers)]
        asked = [
            [["solved", list(job.case), job.solver, job.seconds] for job in part] for part in parts
        ]
        with ThreadPoolExecutor(workers) as pool:
            for part, found in zip(parts, pool.map(partial(apart, tree), asked), strict=True):
                answers.update(zip(part, found, strict=True))
    return answers


def main(quick: bool = False) -> None:
    """Print microseconds a move, then the table."""
    from bench.frame import show

    tree = os.environ.get("IOOPT_BEFORE", "")
    trees = {"before": tree, "after": ""} if tree else {"after": ""}
    timed = []
    for source in PRESETS[:2]:
        case = Case(source, "300MB", 100, 4, 10)
        for label, where in trees.items():
            found = apart(where, [["paces", list(case)]])[0]
            timed.append((f"{source} 300MB", label, *(f"{x:.0f}" for x in found)))
    show("CPU microseconds, 100 x 4", ("instance", "", "whole replay", "move of queues",
                                       "of an order", "with barriers"), timed)  # fmt: skip
    runs = [
        ("minmin", "minmin", ""),
        *((label, "link-aware", where) for label, where in trees.items()),
    ]
    planned: list[tuple[Row, str, list[Job]]] = []
    for row in rows(quick):
        for label, solver, where in runs:
            cases = row.cases[: row.before] if label == "before" else row.cases
            if cases:
                planned.append(
                    (row, label, [Job(case, solver, row.seconds, where) for case in cases])
                )
    answers, best = ran(job for *_, jobs in planned for job in jobs), known()
    for job, answer in answers.items():
        note(best, job, answer)
    write(best)
    lines = []
    for row, label, jobs in planned:
        found = [answers[job]["makespan"] for job in jobs]
        over = [x / best[job.case.name]["makespan"] for x, job in zip(found, jobs)]
        bound = [x / best[job.case.name]["bound"] for x, job in zip(found, jobs)]
        figures = (statistics.median(over), max(over), statistics.median(bound), max(bound))
        cpu = statistics.median(answers[job]["cpu"] for job in jobs)
        replays = statistics.median(answers[job]["replays"] for job in jobs)
        lines.append((row.title, f"{row.seconds:g} s", label, *(f"{x:.4f}" for x in figures),
                      f"{cpu:.1f}", f"{replays:.0f}", len(jobs)))  # fmt: skip
    head = ("instances", "limit", "solver", "over best: median", "worst", "over bound: median", "worst",
            "cpu s", "replays", "n")  # fmt: skip
    show("link-aware, makespan over the best known and over the bound", head, lines)


if __name__ == "__main__":
    calls: dict[str, Any] = {"solved": solved, "paces": paces}
    for name, values, *more in json.load(sys.stdin):
        print(json.dumps(calls[name](Case(*values), *more)), flush=True)
