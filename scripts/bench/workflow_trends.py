"""Trends that Beránek et al. publish of schedulers of workflows, looked for under our rules.

Trends, not figures: their workers, transfers and schedulers are others. Here: the shared graphs (their
data sets elementary and pegasus; irw is not there), actual durations, ample disks, four files at once.
``random`` is the mean of five seeds.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator
from itertools import product
from math import exp, log
from typing import Any, NamedTuple

from bench.frame import show
from bench.workflow import graphs
from bench.workflow_online import knowing
from bench.workflow_options import with_staging

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair
from ioopt.formats.cluster import Machine
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch.ready_min_min import expected_end
from ioopt.solvers.replication.greedy.b_level import plan_b_level
from ioopt.solvers.replication.greedy.commits import Commits, ranks
from ioopt.solvers.replication.workflows import PLANNERS

CLUSTERS, RATES = (8, 32), (32, 2048)
"""Nodes of 4 cores; MiB/s between nodes."""
PEGASUS = ("montage", "cybershake", "epigenomics", "ligo", "sipht")


class Case(NamedTuple):
    """Makespans by scheduler on a graph, a number of nodes and a rate."""

    graph: str
    nodes: int
    rate: int
    ends: dict[str, float]

    @property
    def pegasus(self) -> bool:
        """Whether it is of that data set."""
        return self.graph in PEGASUS


Select = Callable[[DispatchView, int, list[int]], int | None]


def by(ranking: list[int], select: Select) -> Dispatcher:
    """The ready task of largest rank for which *select* names a node that takes it."""

    def decide(view: DispatchView) -> Pair | None:
        nodes = view.open_nodes()
        for k in sorted(view.ready, key=lambda k: (-ranking[k], k)) if nodes else ():
            i = select(view, k, nodes)
            if i in nodes and view.takes(k, i):
                return k, i
        return None

    return decide


def earliest(view: DispatchView, k: int, nodes: list[int]) -> int:
    """Where the task is expected to end first, also on busy cores; links are taken as uncontended."""
    return min(nodes, key=lambda i: expected_end(view, k, i))


def least_bytes(view: DispatchView, k: int, nodes: list[int]) -> int | None:
    """ "Greedy transfer": of the nodes with idle cores the one that lacks the fewest bytes."""
    idle = [i for i in nodes if view.idle_cores(i) >= view.task(k).cores]
    lacks = {i: sum(view.size(f) for f in view.inputs(k) if not view.holds(i, f)) for i in idle}
    return min(idle, key=lambda i: lacks[i], default=None)


def at_random(seed: int) -> Select:
    """A node for each task, drawn once."""
    draw, where = random.Random(seed), dict[int, int]()
    return lambda view, k, _: where.setdefault(k, draw.randrange(len(view.nodes)))


def ends(problem: ReplicationProblem) -> dict[str, float]:
    """Makespans; ``planned`` is what the planner b-level itself expects, links uncontended."""
    commits = Commits(problem)
    levels, files = ranks(commits, 0), ranks(commits, commits.ticks.copy)
    ways = {"earliest": by(levels, earliest), "greedy": by(levels, least_bytes)}
    ways["files first"] = by(files, least_bytes)
    ways |= {f"random {x}": by([0] * len(levels), at_random(x)) for x in range(5)}
    found = {
        name: dispatch(problem, decide, prefetch=True)[1].metrics["makespan_seconds"]
        for name, decide in ways.items()
    }
    found["random"] = statistics.fmean(found.pop(f"random {x}") for x in range(5))
    made = plan_b_level(problem).commits
    return {
        **found,
        "planned": max(made.end) / made.ticks.second,
        "b-level": b_level(problem, problem),
    }


def b_level(known: ReplicationProblem, problem: ReplicationProblem) -> float:
    """The makespan of the planner's plan, made with what is *known*."""
    plan = PLANNERS["b-level"](known, SolveRequest(SolveOptions(), Deadline(None))).plan
    assert plan is not None
    makespan: float = simulate(problem, plan).metrics["makespan_seconds"]
    return makespan


def main(quick: bool) -> None:
    """Print what is published, the rule of the verdict, ours, and the verdict."""
    cases: list[Case] = []
    modes: list[float] = []
    for nodes, rate in product(CLUSTERS[: 1 if quick else None], RATES):
        for problem, actual in graphs(Machine(nodes=nodes, cores=4, replica_rate=rate * 2**20)):
            expected = with_staging(problem, 4)
            exact = knowing(expected, actual)
            cases.append(Case(problem.name, nodes, rate, ends(exact)))
            if actual:
                modes.append(b_level(expected, exact) / cases[-1].ends["b-level"])
    show("trends", ("published", "reproduced if", "ours", "reproduced"), list(trends(cases, modes)))


def trends(cases: list[Case], modes: list[float]) -> Iterator[tuple[str, str, str, str]]:
    """Rows of the table."""

    def mean(over: str, under: str, **only: Any) -> float:
        chosen = [c for c in cases if all(getattr(c, key) == only[key] for key in only)]
        return statistics.geometric_mean(c.ends[over] / c.ends[under] for c in chosen)

    def spread(over: str, under: str) -> float:
        return exp(statistics.fmean(abs(log(c.ends[over] / c.ends[under])) for c in cases))

    def row(published: str, rule: str, ours: str, holds: bool) -> tuple[str, str, str, str]:
        return published, rule, ours, "yes" if holds else "no"

    ratios = [c.ends["random"] / c.ends["greedy"] for c in cases]
    near, better = sum(r <= 1.25 for r in ratios), sum(r < 1 for r in ratios)
    yield row(
        "random is mostly similar, sometimes better", "<= 1.25 x greedy b-level in most cases, < 1 in some",
        f"{near} and {better} of {len(ratios)}", 2 * near > len(ratios) and better > 0,
    )  # fmt: skip
    slow, fast = (mean("random", "greedy", rate=rate) for rate in RATES)
    yield row(
        "random gains from fast networks", "ratio falls", f"{slow:.2f} to {fast:.2f}", fast < slow
    )
    few, many = (mean("random", "greedy", nodes=nodes) for nodes in CLUSTERS)
    yield row(
        "random gains from more workers", "ratio falls", f"{few:.2f} to {many:.2f}", many < few
    )
    worker, task = spread("earliest", "greedy"), spread("files first", "greedy")
    yield row("choice of worker matters more than of task", "mean factor larger",
              f"{worker:.3f} against {task:.3f}", worker > task)  # fmt: skip
    slow, fast = (mean("b-level", "planned", rate=rate) for rate in RATES)
    yield row("no contention: makespans too short, mostly on slow networks", "replay / expected > 1, falls",
              f"{slow:.2f} to {fast:.2f}", slow > max(1, fast))  # fmt: skip
    most = max(c.ends["b-level"] / c.ends["planned"] for c in cases)
    yield row("... by up to an order of magnitude", "most >= 10", f"{most:.2f}", most >= 10)
    inside, outside = (mean("b-level", "planned", rate=RATES[0], pegasus=p) for p in (True, False))
    yield row("... by much less on Pegasus", "half the excess", f"{inside:.2f}, others {outside:.2f}",
              inside - 1 < (outside - 1) / 2)  # fmt: skip
    yield row("estimates: up to 25 % longer, also shorter", "most > 1.05, least < 1",
              f"{min(modes):.2f} to {max(modes):.2f}", max(modes) > 1.05 and min(modes) < 1)  # fmt: skip
