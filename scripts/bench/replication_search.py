"""Replication: how near ``link-aware`` comes to the best known plans on small disks and a shared link.

Every solve is a process of its own, on half of the cores. ``BEFORE=DIR`` runs another checkout on the same
instances, for the rows named *before*. The search was chosen on ``image-85`` and ``bipartite-85``, seeds 0
to 9; it had not seen ``image-85-windows``, the WfFormat files and the seeds from 10 on of the tables.

``best_replication.json`` keeps the best makespan known of every instance and how it was found. A table reads
it, adds what its own runs found better, and writes it back. ``python scripts/bench/replication_search.py
SECONDS [NAME]`` looks longer, with another seed, at the instances of all tables or of one generator.
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
SEEDS, QUICK_SEEDS = tuple(range(10, 30)), (10, 11)
LONG_SEED = 1000
"""Added to the seed of a long run, which must not repeat a short one."""


class Case(NamedTuple):
    """An instance: a preset or a workflow file, and settings; a workflow's disk is a share of its bytes."""

    source: str
    disk: str
    tasks: int
    nodes: int
    seed: int

    def load(self) -> Any:
        """The problem."""
        if self.source in PRESETS:
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


def solved(case: Case, solver: str, seconds: float, seed: int) -> dict[str, float]:
    """Makespan, bound and CPU seconds of one solve, its kernels compiled before."""
    import ioopt
    from ioopt.solvers.replication.search.link_search import compile_kernels

    compile_kernels()
    problem, begun = case.load(), time.process_time()
    result = ioopt.solve(problem, solver, time_limit=seconds, seed=seed)
    taken = time.process_time() - begun
    makespan, bound = result.metrics["makespan_seconds"], result.metrics["lower_bound_seconds"]
    return {"makespan": makespan, "bound": bound, "cpu": taken}


def apart(case: Case, solver: str, seconds: float, seed: int, tree: str = "") -> dict[str, float]:
    """:func:`solved` in a process of its own, of the checkout *tree* where one is given."""
    asked = json.dumps([list(case), solver, seconds, seed])
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if tree:
        environment["PYTHONPATH"] = tree
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--one", asked],
        env=environment, capture_output=True, text=True, check=True, cwd=tree or None,
    )  # fmt: skip
    answer: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def known() -> dict[str, Any]:
    """What the file of best known values holds."""
    return dict(json.loads(KNOWN.read_text())) if KNOWN.exists() else {}


def note(best: dict[str, Any], case: Case, answer: Mapping[str, float], how: str) -> None:
    """Keep the makespan of *answer* where it is the best of *case*."""
    before = best.get(case.name, {"makespan": float("inf"), "bound": 0.0})
    bound = round(max(answer["bound"], before["bound"]), 6)
    if answer["makespan"] < before["makespan"] * (1 - 1e-9):
        best[case.name] = {"makespan": round(answer["makespan"], 6), "bound": bound, "how": how}


def write(best: Mapping[str, Any]) -> None:
    """Put the best known values into their file, one a line."""
    lines = [f"  {json.dumps(name)}: {json.dumps(best[name])}" for name in sorted(best)]
    KNOWN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def groups(quick: bool) -> Iterator[tuple[str, list[Case], float]]:
    """Title, instances and time limit of every row."""
    seeds = QUICK_SEEDS if quick else SEEDS
    for seconds in (5.0,) if quick else (10.0, 60.0):
        few = seeds if seconds <= 10.0 else seeds[:5]
        for disk, share in (("300MB", "15%"), ("500MB", "25%")):
            for source in PRESETS:
                cases = [Case(source, disk, 100, 4, seed) for seed in few]
                yield f"{source} 100 x 4, {disk}", cases, seconds
            files = WORKFLOWS[: 2 if quick else None]
            cases = [Case(source, share, 0, 4, 0) for source in files]
            yield f"WfFormat x 4, {share}", cases, seconds
    if quick:
        return
    for source in PRESETS:
        cases = [Case(source, "500MB", 400, 8, seed) for seed in seeds[:5]]
        yield f"{source} 400 x 8, 500MB", cases, 60.0
        yield f"{source} 10,000 x 64, 500MB", [Case(source, "500MB", 10_000, 64, 10)], 60.0


def ran(
    jobs: Iterable[tuple[Case, str, float, int, str]], workers: int
) -> dict[tuple[Any, ...], dict[str, float]]:
    """The answers to all *jobs*, several at a time."""
    listed = list(jobs)
    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(listed, pool.map(lambda job: apart(*job), listed), strict=True))


def main(quick: bool = False) -> None:
    """Print the table; each instance with MinMin, the tree before (``BEFORE``) and this one."""
    from bench.frame import show

    tree = os.environ.get("BEFORE", "")
    workers, best = max(1, (os.cpu_count() or 2) // 2), known()
    head = (
        "instances",
        "limit",
        "solver",
        "over best: median",
        "worst",
        "over bound",
        "cpu s",
        "n",
    )
    rows = []
    for title, cases, seconds in groups(quick):
        runs = {
            "minmin": ("minmin", ""),
            "before": ("link-aware", tree),
            "after": ("link-aware", ""),
        }
        if not tree:
            del runs["before"]
        jobs = [
            (case, solver, seconds, case.seed, where)
            for solver, where in runs.values()
            for case in cases
        ]
        answers = ran(jobs, workers)
        for (case, solver, limit, _, _), answer in answers.items():
            note(best, case, answer, f"{solver}, {limit:g} s, seed {case.seed}")
        for label, (solver, where) in runs.items():
            found = [answers[case, solver, seconds, case.seed, where] for case in cases]
            over = [a["makespan"] / best[case.name]["makespan"] for a, case in zip(found, cases)]
            bound = [a["makespan"] / best[case.name]["bound"] for a, case in zip(found, cases)]
            rows.append((title, f"{seconds:g} s", label, *(f"{x:.4f}" for x in (
                statistics.median(over), max(over), statistics.median(bound))),
                f"{statistics.median(a['cpu'] for a in found):.1f}", len(cases)))  # fmt: skip
        write(best)
    show("link-aware, makespan over the best known", head, rows)


def look_longer(seconds: float, source: str = "") -> None:
    """Improve the best known values by runs of so many *seconds*."""
    best, cases = known(), {case: None for _, cases, _ in groups(False) for case in cases}
    asked = [case for case in cases if source in case.source and case.tasks <= 400]
    look = partial(apart, solver="link-aware", seconds=seconds)
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        for case, answer in zip(asked, pool.map(lambda c: look(c, seed=c.seed + LONG_SEED), asked)):
            note(best, case, answer, f"link-aware, {seconds:g} s, seed {case.seed + LONG_SEED}")
            write(best)
            print(case.name, best[case.name], flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        values = json.loads(sys.argv[2])
        print(json.dumps(solved(Case(*values[0]), *values[1:])))
    else:
        look_longer(float(sys.argv[1]), *sys.argv[2:3])
