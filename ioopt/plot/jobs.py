"""Gantt charts of job schedules: a row a job, from its start to its end, and what it does meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ioopt.errors import UsageError
from ioopt.plot.gantt import plot_timeline
from ioopt.result import Result
from ioopt.timeline import Interval, Timeline

MOST_JOBS = 60
"""Jobs drawn, in order of their start; more rows cannot be read."""


def jobs_timeline(jobs: list[Mapping[str, Any]]) -> Timeline:
    """The timeline of ``schedule.jobs`` of a batch I/O or gang result, a resource a job."""
    intervals: list[Interval] = []
    for job in jobs:
        intervals += _spans(job, str(job["id"]))
    return Timeline.of(intervals, [str(job["id"]) for job in jobs])


def _spans(job: Mapping[str, Any], name: str) -> Iterator[Interval]:
    start = job["start_seconds"]
    if "io" not in job:
        kind = "local" if job["local"] else "remote start"
        yield Interval(start, job["finish_seconds"], name, kind, name)
        return
    now, end = start, job["end_seconds"]
    for phase in job["io"]:
        request = phase["request_seconds"]
        if request is None:
            continue
        finish = end if phase["finish_seconds"] is None else phase["finish_seconds"]
        if request > now:
            yield Interval(now, request, name, "compute", name)
        yield Interval(request, finish, name, "io", name)
        now = finish
    if end > now:
        yield Interval(now, end, name, "compute", name)


def plot_jobs(result: Result, axes: Any = None) -> Any:
    """Gantt chart of a batch I/O or gang result, the first 60 jobs by start; returns the axes.

    Raises UsageError for a result without a schedule.
    """
    if not result.schedule:
        raise UsageError("the result holds no schedule to draw; run `ioopt simulate` on its plan")
    jobs = sorted(result.schedule["jobs"], key=lambda job: (job["start_seconds"], str(job["id"])))
    title = f"{result.instance}: {result.solver}"
    if len(jobs) > MOST_JOBS:
        title += f", the first {MOST_JOBS} of {len(jobs)} jobs"
    axes = plot_timeline(jobs_timeline(jobs[:MOST_JOBS]), axes, title)
    axes.set_ylabel("job")
    return axes
