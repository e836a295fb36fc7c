"""Replication: the additive model under several backends, and makespans under limited disk.

``ip-printed`` is the paper's model as printed, ``ip`` ours. Makespans are replayed by the one timeline
simulator on the shared link. Batches of 400 tasks come in both readings of the workload: ``image-85``
follows the same patients over more dates, ``image-85-follow-up`` more patients over the same dates.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from bench.frame import Cases, Run, compare, peak_bytes, shared_data

import ioopt
from ioopt.formats.wfformat.instance import Machine, read_wfformat
from ioopt.generate.replication.generate import generate
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.replication.search import anneal
from ioopt.solvers.replication.search.link_search import Engine, compile_kernels

SEEDS = (0, 1, 2, 3, 4)
DISKS = ("300MB", "500MB", "700MB", "1GB", "2GB")
ADDITIVE = ("image-85", "sat-85", "ppa")


def main(quick: bool = False) -> None:
    """Print all tables; *quick* takes shorter limits, two seeds and no large batch."""
    # Compiling happens once a machine and loading once a process: neither belongs to a run of 1 s.
    compile_kernels()
    anneal.compile_kernel()
    ioopt.solve("two-pairs", "ip", time_limit=5)
    score_speed()
    seeds = SEEDS[:2] if quick else SEEDS
    additive(*((4.0, 4.0) if quick else (60.0, 30.0)))
    cases: Cases = {disk: partial(image, disk=disk) for disk in DISKS}
    makespans("IMAGE-85, 100 x 4, by disk", cases, seeds, (2.0,) if quick else (10.0, 120.0))
    for preset in ("image-85", "image-85-follow-up"):
        batch = partial(image, preset=preset, disk="500MB", tasks=400)
        cases = {f"{nodes} nodes": partial(batch, nodes=nodes) for nodes in (4, 8, 16)}
        makespans(f"{preset}, 400 tasks, 500 MB", cases, seeds, (5.0,) if quick else (60.0,))
    if not quick:
        sizes = ((2000, 32), (10_000, 64))
        cases = {f"{n} x {m}": partial(image, disk="500MB", tasks=n, nodes=m) for n, m in sizes}
        makespans("IMAGE-85, 500 MB, large batches", cases, (0,), (60.0,))
        workflow = partial(read_wfformat, machine=Machine(disk="33.34%"), flatten=True)
        files = sorted(shared_data("wfformat").glob("*.json"))
        cases = {path.stem: lambda _, path=path: workflow(str(path)) for path in files}
        makespans("WfFormat as batches, 4 nodes, a third of the bytes", cases, (0,), (10.0,))
    print(f"this process: {peak_bytes() / 2**20:.0f} MiB at most")


def image(seed: int, preset: str = "image-85", **settings: Any) -> ReplicationProblem:
    """One instance on the shared link."""
    return generate(preset, settings, seed)


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


def additive(baseline: float, long: float) -> None:
    """The additive batch time (13) of the presets with unlimited disks, 100 x 4 (PPA: 500 x 4)."""
    how = {"measure": "additive_seconds"}
    runs = {
        f"{backend} on printed": Run(
            "ip-printed", how | {"backend": backend, "time_limit": baseline}
        )
        for backend in ("CBC", "HiGHS")
    }
    runs |= {f"ip at {limit:g} s": Run("ip", how | {"time_limit": limit}) for limit in (1.0, long)}
    cases: Cases = {name: partial(image, preset=name, disk="unlimited") for name in ADDITIVE}
    compare(f"Unlimited disks, additive time, {baseline:g} s on printed", cases, runs, (0,))


def makespans(title: str, cases: Cases, seeds: Sequence[int], limits: Sequence[float]) -> None:
    """Baselines of at most 20 s each, and ``auto`` at every limit."""
    runs = {name: Run(name, {"time_limit": 20}) for name in ("minmin", "job-data-present")}
    runs |= {f"auto at {limit:g} s": Run("auto", {"time_limit": limit}) for limit in limits}
    compare(f"{title}, shared link, makespan", cases, runs, seeds)
