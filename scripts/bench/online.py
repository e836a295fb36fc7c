"""Workflows whose estimates are wrong: what each way to decide costs beside
knowing all in advance.

Makespan / clairvoyant plan, the best of the static planners' plans made with the actual
times and replayed with them (which is no bound: other plans may be shorter). Actual
seconds are planned ones x lognormal(0, sigma); with arrivals, four copies of a workflow
come at exponential distances of a quarter of its bound, and the dispatchers see only
those that have come. Mean over 20 seeds, with half the 95 % interval of Student's t.
``static`` is the best plan made with the estimates (and all arrivals), replayed with
the actual times. ``rolling`` and ``locality+`` prefetch, ``fifo`` and ``locality`` do
not. The parameters of ``rolling`` were chosen on other graphs (montage, cybershake,
ligo, merge_neighbours, triplets, splitters, many-small-groups) and seeds.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Iterator, Mapping

from bench.frame import shared_data, show
from bench.made import MACHINES, with_small_disks
from ioopt.formats.estee.instance import read_estee
from ioopt.generate.replication.generate import generate
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
from ioopt.solving import load

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
"""File and graph of the shared data (Estee), or a preset."""
ARRIVALS = ("pegasus sipht", "elementary merge_triplets", "chains")
"""Cases that also come as four copies, one after the other."""
PRESETS = {"in-tree": {"disk_share": 1.5}, "montage-like": {"images": 12, "cores": 2}}
Times = Mapping[str, float]


def made(name: str) -> ReplicationProblem:
    """A case: graphs on 4 nodes of 4 cores, 16 MB/s shared, 128 MB/s between nodes."""
    case, small, _ = name.partition(SMALL)
    file, apart, graph = case.partition(" ")
    if not apart:
        return generate(case, PRESETS.get(case, {}), 2)
    path = shared_data("workflows") / f"{file}.zip"
    problem, _ = read_estee(str(path), graph, MACHINES["4 x 4, 16 MB/s"])
    return with_small_disks(problem) if small else problem


def arriving(problem: ReplicationProblem, seed: int) -> ReplicationProblem:
    """Four copies of a workflow in one instance, arriving one after the other."""
    draw = random.Random(seed)
    distance = makespan_bound_seconds(problem) / 4
    data = problem.model_dump(mode="json", by_alias=True)
    files, tasks, release = [], [], 0.0
    for copy in range(4):
        files += [{**row, "id": f"{copy}.{row['id']}"} for row in data["files"]]
        for row in data["tasks"]:
            own = {
                key: [f"{copy}.{name}" for name in row[key]]
                for key in ("inputs", "outputs")
            }
            tasks.append(
                {**row, "id": f"{copy}.{row['id']}", "release_seconds": release, **own}
            )
        release += draw.expovariate(1.0 / distance)
    found: ReplicationProblem = load({**data, "files": files, "tasks": tasks})
    return found


def planned(
    problem: ReplicationProblem, seconds: Times | None = None
) -> tuple[float, ReplicationPlan]:
    """The makespan of the best plan of all planners, and the plan; they know
    the actual *seconds*.
    """
    times = seconds or {}
    tasks = tuple(
        task.model_copy(
            update={"compute_seconds": times.get(task.id, task.compute_seconds)}
        )
        for task in problem.tasks
    )
    problem = problem.model_copy(update={"tasks": tasks})
    request = SolveRequest(SolveOptions(), Deadline(None))
    plans = [plan(problem, request).plan for plan in PLANNERS.values()]
    ends = [
        (simulate(problem, made).metrics["makespan_seconds"], made)
        for made in plans
        if made
    ]
    return min(ends, key=lambda pair: pair[0])


def makespans(
    problem: ReplicationProblem, static: ReplicationPlan, actual: Times
) -> list[float]:
    """Of each way to decide, in the order of WAYS."""
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
    """Makespans over the clairvoyant plan's, and geometric means."""
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
            cells = (f"{mean:.3f} ± {mean - low:.3f}" for mean, low, _ in found)
            yield [f"4 x {name}" if arrivals else name, f"{sigma:g}", *cells]
    overall = map(statistics.geometric_mean, zip(*means, strict=True))
    yield ["geometric mean", "", *(f"{mean:.3f}" for mean in overall)]


def main(quick: bool = False) -> None:
    """Print the tables; with ``quick`` one, 3 seeds of three workflows."""
    head, seeds = ("workflow", "sigma", *WAYS), range(1, 4 if quick else 21)
    few = ("chains", "fork-join", "montage-like")
    show(
        "Makespan over the clairvoyant plan's",
        head,
        rows(few if quick else CASES, False, seeds),
    )
    if not quick:
        show("The same with arrivals", head, rows(ARRIVALS, True, seeds))
