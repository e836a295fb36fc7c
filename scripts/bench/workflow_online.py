"""Workflows whose estimates are wrong: what each way to decide costs beside knowing all in advance.

Makespan / clairvoyant plan, the best of the static planners' plans made with the actual times and
replayed with them (which is no bound: other plans may be shorter). Actual seconds are planned ones x
lognormal(0, sigma); with arrivals, four copies of a workflow come at exponential distances of a
quarter of its bound, and the dispatchers see only those that have come. Mean over 20 seeds, with
half the 95 % interval of Student's t. ``static`` is the best plan made with the estimates (and all
arrivals), replayed with the actual times. ``rolling`` and ``locality+`` prefetch, ``fifo`` and
``locality`` do not.

The parameters of ``rolling`` were chosen on seeds 100 to 102 of montage, cybershake, ligo,
merge_neighbours, triplets, splitters (Estee) and many-small-groups; such graphs come in a table apart.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from bench.frame import cpu, shared_data, show, timed
from bench.workflow import DISK_SHARE, MACHINES, graphs, with_small_disks

from ioopt.compiled import compiled
from ioopt.formats.estee.instance import read_estee
from ioopt.generate.replication.generate import generate
from ioopt.metrics import mean_interval
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
POOR, AIM = 1.15, 1.05
"""Where ``locality`` has the one or more, ``rolling`` is to have the other or less."""
MACHINE = MACHINES["4 x 4, 16 MB/s"]
WAYS: tuple[str, ...] = ("fifo", "locality", "locality+", "static", "rolling")
Times = Mapping[str, float]


def estee(file: str, graph: str, small: bool = False) -> ReplicationProblem:
    """A graph of the shared data on 4 nodes of 4 cores, 16 MB/s shared, 128 MB/s between nodes."""
    problem, _ = read_estee(str(shared_data("workflows") / f"{file}.zip"), graph, MACHINE)
    return with_small_disks(problem) if small else problem


def arriving(problem: ReplicationProblem, seed: int, copies: int = 4) -> ReplicationProblem:
    """*copies* of a workflow in one instance, arriving one after the other."""
    draw = random.Random(seed)
    distance = makespan_bound_seconds(problem) / copies
    data = problem.model_dump(mode="json", by_alias=True)
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


def _graphs(file: str, ample: str, small: str) -> dict[str, Callable[[], ReplicationProblem]]:
    """Graphs of a file by name, those of *small* on small disks too."""
    cases: dict[str, Callable[[], ReplicationProblem]] = {}
    for graph in ample.split():
        cases[graph] = partial(estee, file, graph)
        if graph in small.split():
            cases[f"{graph}, small disks"] = partial(estee, file, graph, True)
    return cases


CHOSEN_ON = _graphs("pegasus", "montage cybershake ligo", "cybershake") | _graphs(
    "elementary", "merge_neighbours triplets splitters", "merge_neighbours triplets splitters"
)
"""Cases that the parameters of ``rolling`` were chosen on, with other seeds."""
CASES: dict[str, Callable[[], ReplicationProblem]] = {
    **_graphs("pegasus", "epigenomics sipht", ""),
    **_graphs(
        "elementary", "merge_triplets conflux grid fork1 fork2", "merge_triplets conflux grid fork2"
    ),
    "chains": lambda: generate("chains", {}, 2),
    "fork-join": lambda: generate("fork-join", {}, 2),
    "in-tree, small disks": lambda: generate("in-tree", {"disk_share": DISK_SHARE}, 2),
    "montage-like": lambda: generate("montage-like", {"images": 12, "cores": 2}, 2),
}
ARRIVALS = ("sipht", "merge_triplets", "chains")
"""Cases that also come as four copies, one after the other."""


def knowing(problem: ReplicationProblem, seconds: Times) -> ReplicationProblem:
    """The workflow with other planned compute times where *seconds* has them."""
    tasks = tuple(
        task.model_copy(update={"compute_seconds": seconds.get(task.id, task.compute_seconds)})
        for task in problem.tasks
    )
    return problem.model_copy(update={"tasks": tasks})


def planned(
    problem: ReplicationProblem, actual: Times | None = None
) -> tuple[float, ReplicationPlan]:
    """The best plan of all planners that know the *actual* times, and its makespan with them."""
    if actual is not None:
        problem = knowing(problem, actual)
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
    mean, low, _ = mean_interval(values)
    return f"{mean:.3f} ± {mean - low:.3f}"


def row(base: ReplicationProblem, sigma: float, arrivals: bool, seeds: range) -> list[list[float]]:
    """Per way to decide, its makespan over the clairvoyant plan's by seed."""
    ratios: list[list[float]] = []
    problem = base
    static = planned(problem)[1]
    for seed in seeds:
        if arrivals:
            problem = arriving(base, seed)
            static = planned(problem)[1]
        actual = noisy_seconds(problem, sigma, seed)
        clairvoyant = planned(problem, actual)[0]
        ratios.append([end / clairvoyant for end in makespans(problem, static, actual)])
    return list(map(list, zip(*ratios, strict=True)))


def table(cases: Iterable[str], arrivals: bool, seeds: range) -> None:
    """Print the rows of *cases* as they are done, and geometric means."""
    found = []
    for name in cases:
        base = (CASES | CHOSEN_ON)[name]()
        for sigma in SIGMAS:
            ratios = row(base, sigma, arrivals, seeds)
            found.append([math.fsum(values) / len(values) for values in ratios])
            title = f"4 x {name}" if arrivals else name
            print("  ".join([title, f"{sigma:g}", *map(interval, ratios)]), flush=True)
    means = [statistics.geometric_mean(column) for column in zip(*found, strict=True)]
    print("  ".join(["geometric mean", "", *(f"{mean:.3f}" for mean in means)]), flush=True)
    poor = [means for means in found if means[1] >= POOR]
    met = sum(means[-1] <= AIM for means in poor)
    print(
        f"locality at {POOR} or more in {len(poor)} rows, rolling at {AIM} or less in {met} of them"
    )


def estee_estimates() -> None:
    """Graphs planned with their own expected durations (e_d) and run with the others (d)."""
    rows = []
    for problem, differing in graphs(MACHINE):
        if differing:
            actual = {task.id: task.compute_seconds for task in problem.tasks} | differing
            clairvoyant = planned(problem, actual)[0]
            ends = makespans(problem, planned(problem)[1], actual)
            rows.append([problem.name, *(f"{end / clairvoyant:.3f}" for end in ends)])
    show("planned with e_d, run with d", ("graph", *WAYS), rows)


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
    """Print the pace, then the tables, a line as it is done; with ``quick`` 3 seeds of three workflows."""
    print(render(["what", "CPU seconds", "task starts a second"], pace(200 if quick else 2000)))
    if quick:
        return table(("chains", "fork-join", "montage-like"), False, range(1, 4))
    estee_estimates()
    for title, cases, arrivals in (
        ("nothing was chosen on these", tuple(CASES), False),
        ("with arrivals", ARRIVALS, True),
        ("parameters were chosen on these", tuple(CHOSEN_ON), False),
    ):
        print("\n" + "  ".join([title, "sigma", *WAYS]))
        table(cases, arrivals, SEEDS)
    return None
