"""Planners of workflows and auto on the shared records and graphs, with ample and with small disks.

Makespan over the lower bound, and spills. The files that parameters of ``link-aware`` were chosen on,
or that were looked at meanwhile, are averaged apart.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator

from bench.frame import shared_data, show

import ioopt
from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine
from ioopt.formats.estee.instance import read_estee
from ioopt.formats.wfformat.instance import read_wfformat
from ioopt.problems.replication import ReplicationProblem

PLANNERS = ("heft", "b-level", "ready-min-min", "locality", "fifo")
MACHINES = {
    "4 x 4, 16 MB/s": Machine(nodes=4, cores=4, remote_rate=16e6, replica_rate=128e6),
    "8 x 4, 32 MB/s": Machine(nodes=8, cores=4, remote_rate=32e6, replica_rate=128e6),
}
DISK_SHARE = 1.5
"""A small disk holds so many times the largest task."""
CHOSEN_ON = {
    *("fork1", "merge_triplets", "conflux", "splitters"),
    *("merge_neighbours", "cybershake", "montage", "sipht"),
}
"""Parameters were chosen on the first four; the others were looked at while sizing the search."""
QUICK_FILES, QUICK_SECONDS, SECONDS = 2, 2.0, 12.0


def graphs(machine: Machine) -> Iterator[tuple[ReplicationProblem, dict[str, float]]]:
    """Estee's graphs of the shared data, planned with expected durations, and the actual ones."""
    for file in sorted(shared_data("workflows").glob("*.zip")):
        for place in itertools.count():
            try:
                yield read_estee(str(file), str(place), machine)
            except UsageError:
                break


def workflows(machine: Machine) -> Iterator[tuple[str, ReplicationProblem]]:
    """Every graph and record of the shared data, whole, by name."""
    for file in sorted(shared_data("workflows").glob("*-0*.json")):
        yield file.stem, read_wfformat(str(file), machine=machine)
    for problem, _ in graphs(machine):
        yield problem.name, problem


def with_small_disks(problem: ReplicationProblem) -> ReplicationProblem:
    """The same with disks of DISK_SHARE times the largest task on every node."""
    most = max(map(problem.task_bytes, range(len(problem.tasks))))
    data = problem.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    for node in data["nodes"]:
        node["disk_bytes"] = int(DISK_SHARE * most)
    return ReplicationProblem.model_validate(data)


def main(quick: bool) -> None:
    """Print a table a machine and disk, means apart by CHOSEN_ON, and auto's losses."""
    above = 0
    for title, machine in list(MACHINES.items())[: 1 if quick else None]:
        ample = sorted(workflows(machine), key=lambda pair: pair[0])
        if quick:
            ample = sorted(ample, key=lambda pair: len(pair[1].tasks))[:QUICK_FILES]
        for disk in ("ample", f"{DISK_SHARE} x the largest task"):
            cases = [(n, p if disk == "ample" else with_small_disks(p)) for n, p in ample]
            seconds = QUICK_SECONDS if quick else SECONDS
            above += _table(f"{title}, disks: {disk}", cases, seconds)
    print(f"\nauto above any baseline: {above}")


def _table(title: str, cases: list[tuple[str, ReplicationProblem]], seconds: float) -> int:
    """Print one table; returns on how many cases auto is above a planner."""
    rows, above = [], 0
    ratios: dict[str, list[float]] = {}
    for name, problem in cases:
        found = []
        for solver in (*PLANNERS, "auto"):
            result = ioopt.solve(problem, solver, time_limit=seconds)
            metrics = result.metrics
            bound = metrics["lower_bound_seconds"] or 1.0
            found.append((metrics["makespan_seconds"] / bound, int(metrics["spills"])))
        ratios[name] = [ratio for ratio, _ in found]
        above += found[-1][0] > min(ratios[name]) * (1 + 1e-9)
        gap = f"{result.gap or 0:.1%}"
        raised = f"{metrics['transfer_bound_seconds'] / bound:.3f}"
        rows.append((name, *(f"{ratio:.2f} ({spills})" for ratio, spills in found), gap, raised))
    for words, chosen in (("chosen on", True), ("others", False)):
        part = [found for name, found in ratios.items() if (name in CHOSEN_ON) == chosen]
        if not part:
            continue
        means = [statistics.geometric_mean(column) for column in zip(*part, strict=True)]
        of_best = statistics.geometric_mean([row[-1] / min(row[:-1]) for row in part])
        rows.append((f"geometric mean, {words}", *(f"{mean:.3f}" for mean in means), "", ""))
        rows.append(
            (f"auto / best planner, {words}", *[""] * len(PLANNERS), f"{of_best:.3f}", "", "")
        )
    show(
        f"{title}: makespan / bound (spills); gap of auto; transfer bound / bound",
        ("workflow", *PLANNERS, "auto", "gap", "transfer"),
        rows,
    )
    return above
