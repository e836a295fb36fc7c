"""Compute bounds that hold for every plan of a work directory, from the instance
alone.
"""

from collections.abc import Mapping
from graphlib import TopologicalSorter

from ioopt.problems.work_directory import WorkDirectoryProblem


def least_of(
    problem: WorkDirectoryProblem, actual: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the least possible value of each measure, keyed by the name of the
    measure.

    The makespan is bounded by the longest path and by the number of cores, the peak by
    the largest task. *actual* gives the compute seconds of tasks that take longer or
    shorter than planned, keyed by task id.
    """
    times = actual or {}
    seconds = [times.get(task.id, task.compute_seconds) for task in problem.tasks]
    ends = [0.0] * len(problem.tasks)
    for k in TopologicalSorter(dict(enumerate(problem.predecessors))).static_order():
        ready = [
            problem.tasks[k].release_seconds,
            *(ends[p] for p in problem.predecessors[k]),
        ]
        ends[k] = max(ready) + seconds[k]
    work = sum(task.cores * s for task, s in zip(problem.tasks, seconds, strict=True))
    return {
        "makespan_seconds": max([*ends, work / problem.cores]),
        "peak_bytes": max(problem.own_bytes, default=0),
        "mean_bytes": 0.0,
        "cores_busy": 1.0,
    }
