"""Compare what plans promise with what they hold when links are shared unfairly: where
the run decides again by the rules, and where it follows the bound plan.

For each instance the link-aware search makes a plan, of a fixed number of replays. The
columns are multiples of its exact makespan: the mean and the 95 % of noisy replays by
the rules, the exact replay of the bound plan, the mean and the 95 % of its noisy runs,
and their mean without the rule that moves wait for the entries that started before
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import geometric_mean
from time import process_time

import ioopt
from bench.frame import show
from ioopt.generate.replication.generate import generate
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.bind import bind
from ioopt.sim.replication.bound import BoundGraph
from ioopt.sim.replication.build import Noise
from ioopt.sim.replication.follow import Follower
from ioopt.sim.replication.noisy import noisy_makespans, spread_of

CASES: tuple[tuple[str, str, dict[str, object], int], ...] = (
    ("image 350 MB x 60", "image-85", {"tasks": 60, "disk": 350_000_000}, 31),
    ("image 300 MB x 60", "image-85", {"tasks": 60, "disk": 300_000_000}, 32),
    ("image x 100", "image-85", {"tasks": 100}, 33),
    ("image 40 % x 60", "image-40", {"tasks": 60}, 34),
    ("bipartite x 60", "bipartite-85", {"tasks": 60}, 35),
    ("sat 600 MB x 60", "sat-85", {"tasks": 60, "disk": 600_000_000}, 36),
    ("ppa x 100", "ppa", {"tasks": 100}, 37),
    ("groups, disk x 1.3", "many-small-groups", {"disk_share": 1.3}, 38),
    ("groups, disk x 1.1", "many-small-groups", {"disk_share": 1.1}, 39),
    ("in-tree, disk x 1.3", "in-tree", {"disk_share": 1.3}, 40),
    ("montage-like", "montage-like", {}, 41),
)
"""Name, preset, settings and seed of each instance; seeds that no setting of the search
was chosen on.
"""
NOISE = Noise(latency_seconds=0.01, sharing_noise=0.2)
DRAWS = 20
FIRST = 1_001
"""The number of the first draw; the search judges plans by other ones."""
REPLAYS = 20_000


def main(quick: bool) -> None:
    """Print a table for plans selected by their exact replay, and one for plans
    selected under noise. A quick run searches a tenth as long, on four instances.
    """
    for robust in (False, True):
        table(quick, robust)


def table(quick: bool, robust: bool) -> None:
    """Print the table of plans that the search selects with the setting *robust*."""
    rows = []
    ratios: list[Sequence[float]] = []
    replays = REPLAYS // 10 if quick else REPLAYS
    for name, preset, settings, seed in CASES[:8:2] if quick else CASES:
        problem = generate(preset, settings, seed)
        promised, found, cost = held(problem, replays, robust)
        ratios.append(found)
        shares = [f"{ratio:.4f}" for ratio in found]
        rows.append((name, f"{promised:.4g}", *shares, f"{cost * 1e3:.3g}"))
    columns = [*zip(*ratios, strict=True)]
    means = [f"{geometric_mean(column):.4f}" for column in columns]
    rows.append(("geometric mean", "", *means, ""))
    rows.append(("most", "", *[f"{max(column):.4f}" for column in columns], ""))
    select = "under noise" if robust else "by the exact replay"
    show(
        f"held, by promised; selected {select} in {replays} replays; {NOISE}, "
        f"{DRAWS} draws",
        (
            "instance",
            "promised, s",
            "rules, mean",
            "95 %",
            "bound, exact",
            "mean",
            "95 %",
            "mean, no waits",
            "ms a run",
        ),
        rows,
    )


def held(
    problem: ReplicationProblem, replays: int, robust: bool
) -> tuple[float, Sequence[float], float]:
    """Return the promised makespan in seconds, what the plan holds as multiples of it,
    and the CPU seconds of a bound run.
    """
    settings = {"evaluations": replays, "robust": robust}
    result = ioopt.solve(
        problem, "link-aware", settings=settings, time_limit=None, seed=1
    )
    promised = result.metrics["makespan_seconds"]
    plan = ReplicationPlan.model_validate(result.plan)
    rules = spread_of(noisy_makespans(problem, plan, NOISE, DRAWS, first=FIRST))
    follower = Follower(problem, bind(problem, plan), noise=NOISE)
    draws = range(FIRST, FIRST + DRAWS)
    begun = process_time()
    bound = spread_of([follower.run(draw) for draw in draws])
    cost = (process_time() - begun) / DRAWS
    exact = Follower(problem, bind(problem, plan)).run()
    follower.graph = without_waits(follower.graph)
    loose = spread_of([follower.run(draw) for draw in draws])
    found = (
        rules["mean"],
        rules["p95"],
        exact,
        bound["mean"],
        bound["p95"],
        loose["mean"],
    )
    return promised, [seconds / promised for seconds in found], cost


def without_waits(graph: BoundGraph) -> BoundGraph:
    """Return *graph* without the waits of transfers and saves for entries that started
    before them.
    """
    actions = []
    for action in graph.actions:
        kept = action.after_start
        if action.kind in ("transfer", "save"):
            kept = tuple(
                [n for n in kept if graph.actions[n].kind in ("transfer", "save")]
            )
        actions.append(replace(action, after_start=kept))
    return replace(graph, actions=tuple(actions))
