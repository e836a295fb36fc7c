"""Workflows whose estimates are wrong: what each way to decide costs beside knowing all in advance.

Makespan / clairvoyant plan, the best of the static planners' plans made with the actual times and
replayed with them (which is no bound: other plans may be shorter). Actual seconds are planned ones x
lognormal(0, sigma); with arrivals, four copies of a workflow come at exponential distances of a
quarter of its bound, and the dispatchers see only those that have come. Mean over 20 seeds, with
half the 95 % interval of Student's t. ``static`` is the best plan made with the estimates (and all
arrivals), replayed with the actual times. ``rolling`` and ``locality+`` prefetch, ``fifo`` and
``locality`` do not.

The parameters of ``rolling`` were chosen on seeds 100 to 102 of montage, cybershake, ligo,
merge_neighbours, triplets, splitters (Estee) and many-small-groups: none of them is reported.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bench.frame import cpu, shared_data, timed

from ioopt.compiled import compiled
from ioopt.formats.cluster import Machine
from ioopt.formats.estee.instance import read_estee
from ioopt.generate.replication.generate import generate
from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.replication import kernel
from ioopt.sim.replication.dispatch import dispatch, queues_of_run
from ioopt.sim.replication.noise import noisy_seconds
from ioopt.sim.replication.simulate import simulate
from ioopt.sim.replication.state import BEGUN, instance_arrays, new_log, new_state, queue_arrays
from ioopt.solvers.replication.dispatch import fifo, locality
from ioopt.solvers.replication.online import rolling
from ioopt.solvers.replication.workflows import PLANNERS
from ioopt.solving import load
from ioopt.tables import render

SEEDS = range(1, 21)
SIGMAS = (0.3, 0.8)
SMALL_DISK = 1.5
"""Small disks, as a multiple of what the largest task reads and writes."""
WAYS: tuple[str, ...] = ("fifo", "locality", "locality+", "static", "rolling")
Times = Mapping[str, float]


def estee(file: str, graph: str, small: bool = False) -> ReplicationProblem:
    """A graph of the shared data on 4 nodes of 4 cores, 16 MB/s shared, 128 MB/s between nodes."""
    machine = Machine(nodes=4, cores=4, remote_rate=16e6, replica_rate=128e6)
    problem, _ = read_estee(str(shared_data("workflows") / f"{file}.zip"), graph, machine)
    if not small:
        return problem
    disk = int(SMALL_DISK * max(map(problem.task_bytes, range(len(problem.tasks)))))
    nodes = tuple(node.model_copy(update={"disk_bytes": disk}) for node in problem.nodes)
    return problem.model_copy(update={"nodes": nodes})


def arriving(problem: ReplicationProblem, seed: int, copies: int = 4) -> ReplicationProblem:
    """*copies* of a workflow in one instance, arriving one after the other."""
    draw = random.Random(seed)
    distance = makespan_bound_seconds(problem) / copies
    data = problem.to_dict()
    files, tasks, release = [], [], 0.0
    for copy in range(copies):
        files += [{**row, "id": f"{copy}.{row['id']}"} for row in data["files"]]
        for row in data["tasks"]:
            names = {
                key: [f"{copy}.{name}" for name in row.get(key, ())]
                for key in ("inputs", "outputs")
            }
            tasks.append({**row, "id": f"{copy}.{row['id']}", "release_seconds": release, **names})
        release += draw.expovariate(1.0 / distance)
    found: ReplicationProblem = load({**data, "files": files, "tasks": tasks})
    return found


CASES: dict[str, Callable[[], ReplicationProblem]] = {
    "epigenomics": partial(estee, "pegasus", "epigenomics"),
    "sipht": partial(estee, "pegasus", "sipht"),
    "merge_triplets": partial(estee, "elementary", "merge_triplets"),
    "merge_triplets, small disks": partial(estee, "elementary", "merge_triplets", True),
    "conflux": partial(estee, "elementary", "conflux"),
    "conflux, small disks": partial(estee, "elementary", "conflux", True),
    "grid": partial(estee, "elementary", "grid"),
    "fork1": partial(estee, "elementary", "fork1"),
    "chains": lambda: generate("chains", {}, 2),
    "fork-join": lambda: generate("fork-join", {}, 2),
    "in-tree, small disks": lambda: generate("in-tree", {"disk_share": SMALL_DISK}, 2),
    "montage-like": lambda: generate("montage-like", {"images": 12, "cores": 2}, 2),
}
ARRIVALS = ("sipht", "merge_triplets", "chains")
"""Cases that also come as four copies, one after the other."""


def planned(
    problem: ReplicationProblem, actual: Times | None = None
) -> tuple[float, ReplicationPlan]:
    """The best plan of all planners that know the *actual* times, and its makespan with them."""
    if actual is not None:
        problem = problem.model_copy(
            update={
                "tasks": tuple(
                    task.model_copy(update={"compute_seconds": actual[task.id]})
                    for task in problem.tasks
                )
            }
        )
    best: tuple[float, ReplicationPlan] | None = None
    for plan in PLANNERS.values():
        made = plan(problem, SolveRequest(SolveOptions(), Deadline(None))).plan
        assert made is not None
        end = simulate(problem, made).metrics["makespan_seconds"]
        if best is None or end < best[0]:
            best = end, made
    assert best is not None
    return best


def makespans(problem: ReplicationProblem, static: ReplicationPlan, actual: Times) -> list[float]:
    """Of each way to decide, in the order of WAYS."""
    runs = [
        dispatch(problem, decide, prefetch=prefetch, actual=actual)[1]
        for decide, prefetch in (
            (fifo.decide, False), (locality.decide, False), (locality.decide, True),
            (rolling.policy(None), True),
        )
    ]  # fmt: skip
    runs.insert(3, simulate(problem, static, actual=actual))
    return [ran.metrics["makespan_seconds"] for ran in runs]


def interval(values: list[float]) -> str:
    """Mean and half the 95 % interval."""
    from scipy.stats import t

    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
    half = float(t.ppf(0.975, max(1, len(values) - 1))) * math.sqrt(variance / len(values))
    return f"{mean:.3f} ± {half:.3f}"


def row(name: str, sigma: float, arrivals: bool, seeds: range) -> list[str]:
    """One line of the table."""
    ratios: list[list[float]] = [[] for _ in WAYS]
    base = CASES[name]()
    problem = base
    static = planned(problem)[1]
    for seed in seeds:
        if arrivals:
            problem = arriving(base, seed)
            static = planned(problem)[1]
        actual = noisy_seconds(problem, sigma, seed)
        clairvoyant = planned(problem, actual)[0]
        for found, end in zip(ratios, makespans(problem, static, actual), strict=True):
            found.append(end / clairvoyant)
    title = f"4 x {name}" if arrivals else name
    return [title, f"{sigma:g}", *map(interval, ratios)]


def pace(groups: int = 2000) -> list[list[str]]:
    """Task starts a CPU second on 64 nodes: dispatches as a whole, replays of the kernel alone."""
    problem = generate("many-small-groups", {"groups": groups, "nodes": 64}, 1)
    tasks = len(problem.tasks)
    rows = []
    for name, decide, prefetch in (
        ("fifo", fifo.decide, False), ("locality", locality.decide, False),
        ("rolling", rolling.policy(None), True),
    ):  # fmt: skip
        seconds, _ = timed(partial(dispatch, problem, decide, prefetch=prefetch), cpu)
        rows.append(
            [f"dispatch by {name}, {tasks} tasks", f"{seconds:.2f}", f"{tasks / seconds:.0f}"]
        )
    queues = queues_of_run(problem, locality.decide, False, False)
    for engine, fast in (("plain", False), ("compiled", True)):
        inst = instance_arrays(problem, compiled=fast)
        arrays = queue_arrays(queues, "farthest-next-use", compiled=fast)
        state, log = new_state(inst, compiled=fast), new_log(inst, 0, 0, fast)
        entry = kernel.begin_or_advance
        step = compiled(kernel.__name__, entry.__name__) if fast else entry

        def replay(
            step: Any = step, inst: Any = inst, arrays: Any = arrays, state: Any = state,
            log: Any = log,
        ) -> None:  # fmt: skip
            state.counters[BEGUN] = 0
            step(inst, arrays, state, log, 1 << 60, kernel.REPLAY, 0)

        seconds, _ = timed(replay, cpu, 2)
        rows.append([f"replay, {engine}", f"{seconds:.3f}", f"{tasks / seconds:.0f}"])
    return rows


def main(quick: bool = False) -> None:
    """Print the pace, then the table, a line as it is done; with ``quick`` 3 seeds of three workflows."""
    print(render(["what", "CPU seconds", "task starts a second"], pace(200 if quick else 2000)))
    seeds = range(1, 4) if quick else SEEDS
    names = ("chains", "fork-join", "montage-like") if quick else tuple(CASES)
    header = ["workflow", "sigma", *WAYS]
    rows = []
    for arrivals in (False, True):
        for name in ARRIVALS if arrivals and not quick else () if arrivals else names:
            for sigma in SIGMAS:
                rows.append(row(name, sigma, arrivals, seeds))
                print("  ".join(rows[-1]), flush=True)
    print(render(header, rows))
