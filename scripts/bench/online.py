"""Measure how much longer workflows take when decisions are made under wrong estimates.

The tables show the makespan divided by the makespan of a clairvoyant plan: the best
plan of the static planners, made with the actual times and replayed with them. The
clairvoyant plan is no lower bound; other plans may be shorter. Actual seconds are the
planned ones times a factor from lognormal(0, sigma). With arrivals, four copies of a
workflow arrive one after the other. The times between arrivals are exponential, with a
mean of a quarter of the workflow's lower bound, and the dispatchers see only the copies
that have arrived. Figures are means over 20 seeds, with half the width of the 95 %
interval of Student's t. ``static`` is the best plan made with the estimates (and with
all arrivals known), replayed with the actual times. ``rolling`` and ``locality+``
prefetch; ``fifo`` and ``locality`` do not. The parameters of ``rolling`` were chosen on
other graphs (montage, cybershake, ligo, merge_neighbours, triplets, splitters,
many-small-groups) and on other seeds.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Iterator, Mapping

from bench.frame import shared_data, show
from bench.made import MACHINES, with_small_disks
from ioopt.formats.estee.instance import read_estee
from ioopt.generate.replication.generate import generate
from ioopt.loading import load
from ioopt.metrics import mean_interval
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import noisy_seconds, simulate
from ioopt.solvers.replication.dispatch import fifo, locality
from ioopt.solvers.replication.online import rolling
from ioopt.solvers.replication.workflows import PLANNERS

SIGMAS = (0.3, 0.8)
WAYS = ("fifo", "locality", "locality+", "static", "rolling")
SMALL = ", small disks"
CASES = (
    "pegasus epigenomics",
    "pegasus sipht",
    "elementary merge_triplets",
    f"elementary merge_triplets{SMALL}",
    "elementary conflux",
    f"elementary conflux{SMALL}",
    "elementary grid",
    f"elementary grid{SMALL}",
    "elementary fork1",
    "elementary fork2",
    f"elementary fork2{SMALL}",
    "chains",
    "fork-join",
    f"in-tree{SMALL}",
    "montage-like",
)
"""The workflows: a file and a graph of the shared data (Estee), or a preset."""
ARRIVALS = ("pegasus sipht", "elementary merge_triplets", "chains")
"""The workflows that are also run as four copies that arrive one after the other."""
QUICK_CASES = ("chains", "fork-join", "montage-like")
PRESETS = {"in-tree": {"disk_share": 1.5}, "montage-like": {"images": 12, "cores": 2}}
Times = Mapping[str, float]


def made(name: str) -> ReplicationProblem:
    """Return the workflow *name*: a preset, or a graph on the first machine of
    MACHINES.
    """
    case, small, _ = name.partition(SMALL)
    file, apart, graph = case.partition(" ")
    if not apart:
        return generate(case, PRESETS.get(case, {}), 2)
    path = shared_data("workflows") / f"{file}.zip"
    problem, _ = read_estee(str(path), graph, MACHINES["4 x 4, 16 MB/s"])
    if small:
        return with_small_disks(problem)
    return problem


def arriving(problem: ReplicationProblem, seed: int) -> ReplicationProblem:
    """Return an instance with four copies of a workflow that arrive one after the
    other.
    """
    draw = random.Random(seed)
    distance = makespan_bound_seconds(problem) / 4
    data = problem.model_dump(mode="json", by_alias=True)
    files = []
    tasks = []
    release = 0.0
    for copy in range(4):
        for row in data["files"]:
            files.append({**row, "id": f"{copy}.{row['id']}"})
        for row in data["tasks"]:
            own = {
                "id": f"{copy}.{row['id']}",
                "release_seconds": release,
                "inputs": [f"{copy}.{name}" for name in row["inputs"]],
                "outputs": [f"{copy}.{name}" for name in row["outputs"]],
            }
            tasks.append({**row, **own})
        release += draw.expovariate(1.0 / distance)
    found: ReplicationProblem = load({**data, "files": files, "tasks": tasks})
    return found


def planned(
    problem: ReplicationProblem, seconds: Times | None = None
) -> tuple[float, ReplicationPlan]:
    """Return the makespan of the best plan of all planners, and the plan.

    For the tasks in *seconds*, the planners know these actual times.
    """
    times = seconds or {}
    tasks = []
    for task in problem.tasks:
        actual = times.get(task.id, task.compute_seconds)
        tasks.append(task.model_copy(update={"compute_seconds": actual}))
    problem = problem.model_copy(update={"tasks": tuple(tasks)})
    request = SolveRequest(SolveOptions(), Deadline(None))
    ends = []
    for planner in PLANNERS.values():
        plan = planner(problem, request).plan
        if plan:
            ends.append((simulate(problem, plan).metrics["makespan_seconds"], plan))
    return min(ends, key=lambda pair: pair[0])


def makespans(
    problem: ReplicationProblem, static: ReplicationPlan, actual: Times
) -> list[float]:
    """Return the makespan of a run with each of WAYS, in the same order."""
    online = (
        (fifo, False),
        (locality, False),
        (locality, True),
        (rolling.policy(None), True),
    )
    runs = [
        dispatch(problem, how, prefetch=early, actual=actual)[1]
        for how, early in online
    ]
    runs.insert(3, simulate(problem, static, actual=actual))
    return [ran.metrics["makespan_seconds"] for ran in runs]


def rows(cases: Iterable[str], arrivals: bool, seeds: range) -> Iterator[list[str]]:
    """Yield the rows of a table: makespans divided by those of clairvoyant plans, and
    at the end their geometric means.
    """
    means = []
    for name in cases:
        base = problem = made(name)
        static = planned(problem)[1]
        for sigma in SIGMAS:
            ratios = []
            for seed in seeds:
                if arrivals:
                    problem = arriving(base, seed)
                    static = planned(problem)[1]
                actual = noisy_seconds(problem, sigma, seed)
                best = planned(problem, actual)[0]
                ratios.append(
                    [end / best for end in makespans(problem, static, actual)]
                )
            found = [mean_interval(values) for values in zip(*ratios, strict=True)]
            means.append([mean for mean, *_ in found])
            cells = [f"{mean:.3f} ± {mean - low:.3f}" for mean, low, _ in found]
            title = f"4 x {name}" if arrivals else name
            yield [title, f"{sigma:g}", *cells]
    overall = map(statistics.geometric_mean, zip(*means, strict=True))
    yield ["geometric mean", "", *(f"{mean:.3f}" for mean in overall)]


def main(quick: bool = False) -> None:
    """Print the tables. A quick run has three workflows with 3 seeds each, and no
    arrivals.
    """
    head = ("workflow", "sigma", *WAYS)
    title = "Makespan over the clairvoyant plan's"
    if quick:
        show(title, head, rows(QUICK_CASES, False, range(1, 4)))
        return
    seeds = range(1, 21)
    show(title, head, rows(CASES, False, seeds))
    show("The same with arrivals", head, rows(ARRIVALS, True, seeds))
