"""What the options beyond the rules of workflows bring, on the shared records and graphs.

Makespan with the option over that without: the same queues replayed, or the same dispatcher.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from bench.frame import show
from bench.workflow import DISK_SHARE, MACHINES, QUICK_FILES, with_small_disks, workflows

import ioopt
from ioopt.problems.replay_options import DispatchOptions
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo, locality

PLANNERS = ("heft", "b-level", "locality")
DISPATCHERS = {"fifo": fifo.decide, "locality": locality.decide}
REPLAYS: dict[str, tuple[dict[str, Any], int]] = {
    "sources=least-loaded": ({"sources": "least-loaded"}, 1),
    "staging 2": ({}, 2),
    "staging 4": ({}, 4),
    "evacuate": ({"evacuate": True}, 1),
    "saves=deferred": ({"saves": "deferred"}, 1),
    "all, staging 4": ({"sources": "least-loaded", "evacuate": True, "saves": "deferred"}, 4),
}


def main(quick: bool) -> None:
    """Print one table: a row an option and planner, a column a machine and disk."""
    ratios: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for title, machine in list(MACHINES.items())[: 1 if quick else None]:
        ample = sorted(workflows(machine), key=lambda pair: len(pair[1].tasks))
        for _, problem in ample[: QUICK_FILES if quick else None]:
            for disk, case in (("ample", problem), ("small", with_small_disks(problem))):
                for row, ratio in _ratios(case).items():
                    ratios[row][f"{title}, {disk}"].append(ratio)
    columns = list(next(iter(ratios.values())))
    show(
        f"makespan with / without: geometric mean [least, most]; small: {DISK_SHARE} x the largest task",
        ("option", "planner", *columns),
        [(*row, *(_mean(found[column]) for column in columns)) for row, found in ratios.items()],
    )


def _ratios(problem: ReplicationProblem) -> dict[tuple[str, str], float]:
    found = {}
    staged = {s: with_staging(problem, s) for _, s in REPLAYS.values()}
    for planner in PLANNERS:
        plan = ReplicationPlan.model_validate(ioopt.solve(problem, planner, time_limit=None).plan)
        base = _seconds(simulate(problem, plan, engine="compiled"))
        for name, (options, staging) in REPLAYS.items():
            changed = plan.model_copy(update=options)
            ran = simulate(staged[staging], changed, engine="compiled")
            found[name, planner] = _seconds(ran) / base
    for name, decide in DISPATCHERS.items():
        for prefetch in (False, True):
            ends = [
                _seconds(dispatch(problem, decide, prefetch=prefetch, options=options)[1])
                for options in (DispatchOptions(), DispatchOptions(overtake=True))
            ]
            found["overtake", f"{name}, prefetch" if prefetch else name] = ends[1] / ends[0]
    return found


def with_staging(problem: ReplicationProblem, staging: int) -> ReplicationProblem:
    """The same with nodes that receive so many files at once."""
    data = problem.model_dump(mode="json", by_alias=True)
    for node in data["nodes"]:
        node["staging"] = staging
    return ReplicationProblem.model_validate(data)


def _seconds(ran: Any) -> float:
    """A makespan; 1 for 0, so that two of them have the ratio 1."""
    return ran.metrics["makespan_seconds"] or 1.0


def _mean(values: list[float]) -> str:
    mean = statistics.geometric_mean(values)
    return f"{mean:.3f} [{min(values):.2f}, {max(values):.2f}]"
