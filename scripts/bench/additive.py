"""Additive batch time of Khanna et al.: where proof ends, without the node-cut bound and with it.

Unlimited disks, seed 0. ``before`` is ``ip`` without that bound and its rows in the models, all else alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from unittest import mock

from bench.frame import cpu, show, timed

import ioopt
from ioopt.generate.replication.generate import generate
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Result, Status
from ioopt.solvers.replication.exact import enumeration, ip
from ioopt.solvers.replication.search import anneal

PRESETS = ("image-85", "sat-85", "ppa")
AIMS = {"image-85": (100, 0.005), "sat-85": (100, 0.003), "ppa": (500, 0.0)}
"""Tasks, and the gap wanted on four nodes."""


def main(quick: bool = False) -> None:
    """Print both tables (at most 25 minutes); *quick* takes 4 s a run and the smallest sizes."""
    anneal.compile_kernel()
    ioopt.solve("two-pairs", "ip", time_limit=5)
    if enumeration.machine_code.available():
        enumeration.machine_code.compiled(enumeration.kernel.__name__, "search")
    aims(4.0 if quick else 30.0)
    sizes(*(((16, 24), (2, 3), 4.0) if quick else ((16, 24, 32, 48, 64, 100), (2, 3, 4), 12.0)))


def aims(limit: float) -> None:
    """The gap wanted beside the gaps reached."""
    rows = []
    for preset, (tasks, wanted) in AIMS.items():
        for how, spent, found in _both(preset, tasks, 4, limit):
            gap = found.gap or 0.0
            holds = "yes" if gap <= wanted else "NO"
            values = (f"{found.objective:.3f}", f"{found.bound:.3f}", f"{gap:.3%}")
            rows.append(
                (f"{preset} {tasks} x 4", how, *values, f"{spent:.1f}", f"{wanted:.1%}", holds)
            )
    head = ("instance", "ip", "plan s", "bound s", "gap", "CPU s", "wanted", "holds")
    show(f"Additive time, {limit:g} s", head, rows)


def sizes(tasks: Sequence[int], nodes: Sequence[int], limit: float) -> None:
    """Gap (proven where it is 0) and CPU seconds by size."""
    rows = [
        (
            f"{many} x {count}",
            *(
                f"{'proven' if found.status is Status.OPTIMAL else f'{found.gap or 0.0:.3%}'} {spent:.1f} s"
                for preset in PRESETS
                for _, spent, found in _both(preset, many, count, limit)
            ),
        )
        for many in tasks
        for count in nodes
    ]
    head = ("tasks x nodes", *(f"{name}, {how}" for name in PRESETS for how in ("before", "after")))
    show(f"Additive time by size, {limit:g} s", head, rows)


def _both(preset: str, tasks: int, nodes: int, limit: float) -> Iterator[tuple[str, float, Result]]:
    problem: ReplicationProblem = generate(
        preset, {"disk": "unlimited", "tasks": tasks, "nodes": nodes}, 0
    )
    solve = partial(ioopt.solve, problem, "ip", time_limit=limit)
    with mock.patch.object(ip, "node_cut"):
        yield "before", *timed(solve, cpu)
    yield "after", *timed(solve, cpu)
