"""Replication plans on a Dask cluster of processes, beside Dask's own placement of the same graph."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import ioopt
from ioopt.embed.adapters.dask import Worker, execute
from ioopt.problems.replication import ReplicationPlan

SCALE = 1e-3


def _sleeper(seconds: dict[str, float]) -> Worker:
    total = sum(seconds.values())

    def work(task: str, *contents: bytes) -> int:
        time.sleep(3.0 * seconds[task] / total)
        return sum(len(content) for content in contents)

    return work


def dask_rows(quick: bool) -> Iterator[tuple[Any, ...]]:
    """(instance, tasks, placed by, MB moved between workers, workers used, deviations from the plan).

    Tasks sleep for their share of three seconds in all, so that Dask has a reason to spread them.
    """
    from distributed import Client, LocalCluster

    names = ("image-16x3",) if quick else ("image-16x3", "ppa-60x4")
    for name in names:
        problem = ioopt.load(name)
        work = _sleeper({task.id: task.compute_seconds for task in problem.tasks})
        with (
            LocalCluster(n_workers=len(problem.nodes), threads_per_worker=1, silence_logs=50,
                         dashboard_address=None) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):  # fmt: skip
            for solver in ("minmin", "job-data-present", None):
                plan = None
                if solver is not None:
                    plan = ReplicationPlan.model_validate(ioopt.solve(problem, solver).plan)
                done = execute(client, problem, plan, work=work, scale=SCALE)
                yield (name, len(problem.tasks), solver or "Dask itself",
                             done.moved_bytes / 1e6, len(set(done.ran_on.values())),
                             len(done.deviations))  # fmt: skip
