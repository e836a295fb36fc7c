"""Solve tiny workflows by a simpler model in PyJobShop, beside ``exact-workflow``.

The simpler model is a job shop: each node is a machine, the shared link is another one,
and every remote input is fetched once, before its readers start. Copies between nodes,
disks and staging cost nothing. Its optimum is therefore a lower bound of the makespan
of every plan, and its proof says nothing about how good a plan of the replay is. Times
are rounded down to milliseconds.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any, NamedTuple

import ioopt
from bench.frame import show
from bench.relaxation import WORKFLOWS, generated

SECONDS = 5.0
"""The time limit of one solve in seconds."""
PER_SECOND = 1_000
"""Units of time of the job shop in a second."""
SEEDS = 3
"""The number of seeds of each workflow."""
SAGA = "SAGA: not run (its licence file forbids commercial use)"
HEAD = (
    "workflow",
    "job shop proves",
    "we prove",
    "or all queues tried",
    "its s",
    "our s",
    "its bound",
    "our bound",
)


class Shop(NamedTuple):
    """The answer of PyJobShop: makespan and bound in seconds, and whether it is proven
    optimal.
    """

    makespan: float
    bound: float
    proven: bool


def job_shop(problem: Any) -> Shop:
    """Return the answer of PyJobShop for the simpler model of *problem*, a workflow on
    a shared link.
    """
    from pyjobshop import Model

    model = Model()
    link = model.add_machine(name="link")
    nodes = [model.add_machine(name=node.id) for node in problem.nodes]
    tasks = []
    for task in problem.tasks:
        added = model.add_task(name=task.id)
        for node, machine in zip(problem.nodes, nodes, strict=True):
            seconds = task.compute_seconds / node.speed
            model.add_mode(added, machine, int(PER_SECOND * seconds))
        tasks.append(added)
    for k, before in enumerate(problem.predecessors):
        for j in before:
            model.add_end_before_start(tasks[j], tasks[k])
    held = {name for node in problem.nodes for name in node.holds}
    for f, file in enumerate(problem.files):
        readers = problem.readers[f]
        fetched = problem.producer[f] < 0 and file.id not in held
        if not fetched or not readers:
            continue
        fetch = model.add_task(name=f"fetch {file.id}")
        seconds = file.bytes * problem.remote_seconds_per_byte
        model.add_mode(fetch, link, int(PER_SECOND * seconds))
        for k in readers:
            model.add_end_before_start(fetch, tasks[k])
    found = model.solve(time_limit=SECONDS, display=False, num_workers=1)
    return Shop(
        found.objective / PER_SECOND,
        found.lower_bound / PER_SECOND,
        found.status.value == "Optimal",
    )


def row(name: str, problems: list[Any]) -> list[Any]:
    """Return a row of the table: proofs, searches that tried all queues of tasks,
    processor seconds, and how far each bound is below the makespan of our plan.
    """
    shops = 0
    ours = 0
    searched = 0
    cpu = [0.0, 0.0]
    below = [0.0, 0.0]
    for problem in problems:
        begun = time.process_time()
        shop = job_shop(problem)
        between = time.process_time()
        result = ioopt.solve(problem, "exact-workflow", time_limit=SECONDS)
        cpu[0] += between - begun
        cpu[1] += time.process_time() - between
        shops += shop.proven
        ours += result.status.value == "optimal"
        searched += result.stop.value in ("finished", "searched")
        end = result.metrics["makespan_seconds"]
        assert shop.bound <= end + 1e-6, f"{name}: {shop.bound} s is no bound of {end}"
        for side, bound in enumerate((shop.bound, result.bound)):
            below[side] += max(0.0, 100 * (1 - bound / end))
    count = len(problems)
    proofs = [f"{proven}/{count}" for proven in (shops, ours, searched)]
    gaps = [f"{gap / count:.2f}" for gap in below]
    return [name, *proofs, *(f"{used / count:.2f}" for used in cpu), *gaps]


def main(quick: bool) -> None:
    """Print the table; a quick run has one seed. Without PyJobShop, say so."""
    if importlib.util.find_spec("pyjobshop") is None:
        print(f"job-shop: skipped; pip install pyjobshop (MIT licence)\n{SAGA}")
        return
    seeds = range(1, 2 if quick else SEEDS + 1)
    by_seed = [generated(seed) for seed in seeds]
    rows = []
    for number, (name, how) in enumerate(WORKFLOWS):
        size = " ".join(f"{key}={value}" for key, value in how.items())
        problems = [flows[number] for flows in by_seed]
        rows.append(row(f"{name} {size}", problems))
    rows.append([SAGA, *["-"] * (len(HEAD) - 1)])
    show(
        f"{SECONDS:g} s each, one thread: proofs, mean processor seconds, and how far "
        "the bound is below our makespan (%).\nThe job shop moves no file between "
        "nodes and has no disks: its optimum is only a bound of ours",
        HEAD,
        rows,
    )
