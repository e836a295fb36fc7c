"""Gantt charts of job schedules: a row a job, from its start to its end, and what it does meanwhile."""

from collections.abc import Iterator, Mapping
from typing import Any

from ioopt.errors import UsageError
from ioopt.plot.gantt import MOST_ROWS, plot_timeline
from ioopt.plot.layout import headline
from ioopt.result import Result
from ioopt.timeline import Interval, Timeline


def jobs_timeline(jobs: list[Mapping[str, Any]]) -> Timeline:
    """The timeline of ``schedule.jobs`` of a batch I/O or gang result, a resource a job."""
    intervals: list[Interval] = []
    for job in jobs:
        intervals += _spans(job, str(job["id"]))
    return Timeline.of(intervals, [str(job["id"]) for job in jobs])


def _spans(job: Mapping[str, Any], name: str) -> Iterator[Interval]:
    """Computing, waiting for the first grant, and I/O (rates may pause within it), in turn."""
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
        grant = phase["first_grant_seconds"]
        grant = finish if grant is None else grant
        for kind, until in (("compute", request), ("waiting", grant), ("io", finish)):
            if until > now:
                yield Interval(now, until, name, kind, name)
                now = until
    if end > now:
        yield Interval(now, end, name, "compute", name)


def plot_jobs(result: Result, axes: Any = None, until: float = 0.0) -> Any:
    """Gantt chart of a batch I/O or gang result, the first 60 jobs by start; returns the axes.

    Raises UsageError for a result without a schedule.
    """
    if not result.schedule:
        raise UsageError("the result holds no schedule to draw; run `ioopt simulate` on its plan")
    jobs = sorted(result.schedule["jobs"], key=lambda job: (job["start_seconds"], str(job["id"])))
    title = headline(result)
    if len(jobs) > MOST_ROWS:
        title += f", the first {MOST_ROWS} of {len(jobs)} jobs"
    timeline = jobs_timeline(jobs[:MOST_ROWS])
    return plot_timeline(timeline, axes, title, "job", idle=False, until=until)
