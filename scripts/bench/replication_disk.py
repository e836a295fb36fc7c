"""Benchmark of replication under limited disk: link-aware against the planners and the bound.

All plans are replayed by the one timeline simulator. IMAGE-85 workloads, five seeds or more;
medians with the least and the largest value. ``LB`` is the link bound of the shared link.
Batches of 400 tasks come in both readings of the workload: ``image-85`` follows the same patients
over more dates, ``image-85-follow-up`` more patients over the same dates.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bench.frame import peak_bytes, shared_data, timed

import ioopt
from ioopt.errors import IooptError
from ioopt.result import Result
from ioopt.solvers.replication.search.link_search import Engine, compile_kernels

SEEDS = (0, 1, 2, 3, 4)
BASELINES = ("minmin", "job-data-present", "two-stage")
PRESETS_400 = ("image-85", "image-85-follow-up")
Cases = Mapping[str, Callable[[int], Any]]
"""The instance of every seed, by the name of its row."""
DISKS = ("300MB", "500MB", "700MB", "1GB", "2GB")


def main(quick: bool = False) -> None:
    """Print all tables; *quick* takes shorter limits, two seeds and no large batch."""
    compile_kernels()
    seeds = SEEDS[:2] if quick else SEEDS
    score_speed()
    deadline_table(seeds, (2.0,) if quick else (10.0, 120.0))
    disk_table(seeds, 2.0 if quick else 10.0)
    for preset in PRESETS_400:
        node_table(preset, seeds, 5.0 if quick else 60.0)
    if not quick:
        scale_table(60.0)
        workflow_table(10.0)


def image(seed: int, preset: str = "image-85", **settings: Any) -> Any:
    """One IMAGE-85 instance on the shared link."""
    from ioopt.generate.replication.generate import generate

    return generate(preset, settings, seed)


def spread(values: Sequence[float]) -> str:
    """Median with least and largest value."""
    if not values:
        return "-"
    return f"{statistics.median(values):.4f} [{min(values):.4f}, {max(values):.4f}]"


def makespan(result: Result) -> float:
    """Simulated makespan in seconds; infinity for an answer without a plan."""
    return float(result.metrics.get("makespan_seconds", float("inf")))


def baseline(problem: Any, name: str) -> float:
    """Makespan of a baseline solver in seconds; infinity where it fails."""
    try:
        return makespan(ioopt.solve(problem, name, time_limit=20))
    except IooptError as error:
        print(f"  {name}: {error}")
        return float("inf")


def score_speed() -> None:
    """Time of one evaluation, 100 tasks x 4 nodes, 500 MB."""
    problem = image(0, disk="500MB")
    queues = [
        [problem.task_index[name] for name in queue]
        for queue in ioopt.solve(problem, "minmin").plan["order"].values()
    ]
    for fast in (True, False):
        engine = Engine(problem, 0, fast)
        annealing = engine.annealing(queues, engine.score(queues))
        begun = time.process_time()
        annealing.run(2000 if fast else 50, 1e9, 1e9, 0.0)
        taken = (time.process_time() - begun) / annealing.evaluations
        print(f"evaluation ({'compiled' if fast else 'pure Python'}): {1e3 * taken:.3f} ms CPU")


def deadline_table(seeds: Sequence[int], limits: Sequence[float]) -> None:
    """IMAGE-85, 100 x 4, 500 MB, shared link: against the bound and the baselines."""
    print("\nIMAGE-85, 100 tasks x 4 nodes, 500 MB, shared link; replayed makespans, ratios")
    problems = [image(seed, disk="500MB") for seed in seeds]
    others = {name: [baseline(problem, name) for problem in problems] for name in BASELINES}
    bounds = [ioopt.solve(problem, "minmin").metrics["link_bound_seconds"] for problem in problems]
    for name, values in others.items():
        print(f"  {name:18} / LB {spread([v / b for v, b in zip(values, bounds)])}")
    for limit in limits:
        found = [
            makespan(ioopt.solve(problem, "link-aware", time_limit=limit, seed=seed))
            for problem, seed in zip(problems, seeds)
        ]
        print(f"  link-aware {limit:g} s / LB {spread([v / b for v, b in zip(found, bounds)])}")
        for name, values in others.items():
            ratios = [mine / other for mine, other in zip(found, values)]
            print(f"      / {name:18} {spread(ratios)}")


def ratio_table(title: str, seeds: Sequence[int], limit: float, cases: Cases) -> None:
    """Per case, over *seeds*: link-aware / LB, / MinMin, / JobDataPresent, MinMin / LB."""
    print(f"\n{title} | / LB | / MinMin | / JDP | MinMin / LB")
    for name, make in cases.items():
        rows = [_ratios(make(seed), seed, limit) for seed in seeds]
        print(f"  {name:>10} | " + " | ".join(f"{spread(values):24}" for values in zip(*rows)))


def _ratios(problem: Any, seed: int, limit: float) -> tuple[float, float, float, float]:
    first = ioopt.solve(problem, "minmin")
    base, bound = makespan(first), first.metrics["link_bound_seconds"]
    mine = makespan(ioopt.solve(problem, "link-aware", time_limit=limit, seed=seed))
    return mine / bound, mine / base, mine / baseline(problem, "job-data-present"), base / bound


def disk_table(seeds: Sequence[int], limit: float) -> None:
    """IMAGE-85, 100 x 4, disks from 300 MB to 2 GB, shared link."""
    cases: Cases = {disk: partial(image, disk=disk) for disk in DISKS}
    ratio_table(f"IMAGE-85, 100 x 4, shared link, {limit:g} s: disk", seeds, limit, cases)


def node_table(preset: str, seeds: Sequence[int], limit: float) -> None:
    """IMAGE-85 as *preset* has it, 400 tasks at 4, 8 and 16 nodes, 500 MB, shared link."""
    cases: Cases = {
        str(nodes): partial(image, preset=preset, disk="500MB", tasks=400, nodes=nodes)
        for nodes in (4, 8, 16)
    }
    title = f"{preset}, 400 tasks, 500 MB, shared link, {limit:g} s: nodes"
    ratio_table(title, seeds, limit, cases)


def scale_table(limit: float) -> None:
    """2,000 x 32 and 10,000 x 64, 500 MB, shared link: time, memory, gap."""
    print(
        f"\nIMAGE-85, 500 MB, shared link, limit {limit:g} s: size, seconds, peak MiB, / MinMin, gap"
    )
    for tasks, nodes in ((2000, 32), (10_000, 64)):
        problem = image(0, disk="500MB", tasks=tasks, nodes=nodes)
        first = makespan(ioopt.solve(problem, "minmin"))
        taken, result = timed(partial(ioopt.solve, problem, "auto", time_limit=limit))
        peak = peak_bytes() / 2**20
        gap = float("nan") if result.gap is None else result.gap
        ratio = makespan(result) / first
        print(
            f"  {tasks:6} x {nodes:2}  {taken:6.1f} s  {peak:6.0f} MiB  {ratio:.4f}  gap {gap:.4f}"
        )


def workflow_table(limit: float) -> None:
    """Every WfFormat file at hand with a disk of a third of its distinct bytes, 4 nodes."""
    from ioopt.formats.wfformat.instance import Machine, read_wfformat

    folder = shared_data("wfformat")
    files = sorted(folder.glob("*.json"))
    if not files:
        print(f"\nno WfFormat files in {folder.name}: that table is left out")
        return
    print(
        f"\nWfFormat, 4 nodes, disk a third of the bytes, shared link, auto {limit:g} s: / MinMin, gap"
    )
    for path in files:
        problem = read_wfformat(str(path), "all", Machine(disk="33.34%"), flatten=True)
        first = makespan(ioopt.solve(problem, "minmin"))
        result = ioopt.solve(problem, "auto", time_limit=limit)
        gap = float("nan") if result.gap is None else result.gap
        print(f"  {path.stem:42} {len(problem.tasks):5} {makespan(result) / first:.4f}  {gap:.4f}")
