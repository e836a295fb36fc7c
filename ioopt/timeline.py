"""The common form of all schedules: intervals on resources, in seconds.

Every family's simulator produces a :class:`Timeline`; plots, CSV and Trace Event
export read nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from operator import attrgetter
from typing import Any, Self


def slack_of(seconds: float) -> float:
    """Return by how many seconds a time near *seconds* may differ and still be the same
    instant.

    >>> slack_of(0.5), slack_of(4e6)
    (1e-09, 0.004)
    """
    return 1e-9 * max(1.0, seconds)


@dataclass(frozen=True, order=True)
class Interval:
    """One use of a resource, from ``start`` to ``end`` in seconds.

    ``kind`` is one of the family's words (``compute``, ``remote``, ``copy``, ``io``,
    ...). ``label`` names the task, file or job. ``rate`` is in bytes per second; None
    for kinds that have no rate.
    """

    start: float
    end: float
    resource: str
    kind: str
    label: str
    rate: float | None = None
    info: Mapping[str, str | float | int | None] = field(
        default_factory=dict, compare=False
    )

    @property
    def duration(self) -> float:
        """Return the length in seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """Intervals sorted by (start, end, resource, kind, label), and instants such as
    evictions.

    ``resources`` fixes the order in which rows are drawn. ``marks`` are intervals of
    length 0. ``flows`` are pairs of intervals of which the second needs the output of
    the first. ``counters`` are step functions keyed by name; each is a list of (time,
    value), one for every change.
    """

    intervals: tuple[Interval, ...]
    resources: tuple[str, ...]
    marks: tuple[Interval, ...] = ()
    flows: tuple[tuple[Interval, Interval], ...] = ()
    counters: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        intervals: Iterable[Interval],
        resources: Iterable[str] = (),
        marks: Iterable[Interval] = (),
    ) -> Self:
        """Build a timeline from unsorted *intervals* and *marks*; resources that are
        not listed are appended in order of appearance.
        """
        ordered = tuple(sorted(intervals, key=_interval_key))
        instants = tuple(sorted(marks, key=_interval_key))
        names = dict.fromkeys(resources)
        names.update(dict.fromkeys(item.resource for item in ordered + instants))
        return cls(ordered, tuple(names), instants)

    @property
    def makespan(self) -> float:
        """Return the end of the last interval in seconds; 0 when there is none."""
        return max((item.end for item in self.intervals), default=0.0)


_interval_key = attrgetter("start", "end", "resource", "kind", "label")


JUST_AFTER = 1e-9
"""Intervals overlap if they have more than so many seconds in common."""


def lanes_of(items: Iterable[Interval], most: float = inf) -> dict[int, int]:
    """Return the lane of each of *items*, by the identity of the interval.

    Items of one resource that overlap get different lanes, as far as there are *most*;
    the others share the last.
    """
    ends: dict[str, list[float]] = {}
    lanes: dict[int, int] = {}
    for item in sorted(items, key=lambda item: (item.start, item.end)):
        row = ends.setdefault(item.resource, [])
        free = [lane for lane, end in enumerate(row) if end <= item.start + JUST_AFTER]
        if free:
            lane = free[0]
        elif len(row) < most:
            lane = len(row)
            row.append(item.end)
        else:
            lane = len(row) - 1
        row[lane] = max(row[lane], item.end)
        lanes[id(item)] = lane
    return lanes


def steps_of(changes: Mapping[float, float]) -> list[list[float]]:
    """Return the running total of *changes* (time -> amount) as pairs [time, total],
    one for each finite time.
    """
    times = sorted(time for time in changes if time < inf)
    totals = accumulate(changes[time] for time in times)
    return [[time, total] for time, total in zip(times, totals, strict=True)]


def covered_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """Return how many seconds are covered by at least one of the *spans* (start, end).

    >>> covered_seconds([(0, 2), (5, 6), (1, 3)])
    4.0
    """
    total = 0.0
    reached = float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def replication_timeline(
    schedule: Mapping[str, Any],
    nodes: Iterable[str] = (),
    sizes: Mapping[str, int] | None = None,
) -> Timeline:
    """Return the timeline of the ``schedule`` of a replication result: computing,
    transfers and evictions. Each node is a resource.

    A save, which is a transfer to no node, is drawn in the row of the node that sends
    it. If *sizes* (bytes of each file) are given, each core of a task gets its own
    interval, and transfers get rates. Otherwise a task has one interval, whose ``info``
    has the number of its ``cores``, and critical tasks and transfers are marked.
    """
    found: list[Interval] = []
    for row in schedule["tasks"]:
        found += _computing(row, sizes is None)
    for row in schedule["transfers"]:
        found.append(_transfer(row, sizes))
    marks = [
        Interval(row["seconds"], row["seconds"], row["node"], "eviction", row["file"])
        for row in schedule["evictions"]
    ]
    names = {item.resource for item in [*found, *marks]}
    return Timeline.of(
        found, nodes or sorted(names, key=lambda name: (len(name), name)), marks
    )


def _critical(row: Mapping[str, object]) -> dict[str, Any]:
    """Return the field that marks a critical task or transfer; an empty dictionary for
    others.
    """
    if row.get("critical"):
        return {"critical": 1}
    return {}


def _computing(row: Mapping[str, Any], together: bool) -> list[Interval]:
    """Return the intervals of a task: one, or one for each core if *together* is
    false.
    """
    cores = row.get("cores", ())
    infos: list[dict[str, Any]] = [{"core": core} for core in cores] or [{}]
    if together:
        infos = [_critical(row)]
        if cores:
            infos[0]["cores"] = len(cores)
    start, end = row["start_seconds"], row["end_seconds"]
    return [
        Interval(start, end, row["node"], "compute", row["id"], info=info)
        for info in infos
    ]


def _transfer(row: Mapping[str, Any], sizes: Mapping[str, int] | None) -> Interval:
    """Return the interval of a transfer; it has a rate if *sizes* are given."""
    start, end = row["start_seconds"], row["end_seconds"]
    source, target = row["source"], row["destination"]
    file = row["file"]
    if target is None:
        kind = "save"
    elif source is None:
        kind = "remote"
    else:
        kind = "copy"
    rate = None
    if sizes is None:
        info = _critical(row)
    else:
        info = {"bytes": sizes[file]}
        if end > start:
            rate = sizes[file] / (end - start)
    info["source"] = source
    return Interval(start, end, target or source, kind, file, rate, info)


def jobs_timeline(
    jobs: Iterable[Mapping[str, Any]], submits: Mapping[Any, float] | None = None
) -> Timeline:
    """Return the timeline of ``schedule.jobs``, in which each job is a resource. If
    *submits* (submit time of each job in seconds) are given, the timeline also has the
    time in the queue, phases and changes of rates.
    """
    rows = {f"{'' if submits is None else 'job '}{job['id']}": job for job in jobs}
    found: list[Interval] = []
    for name, job in rows.items():
        submit = None if submits is None else submits[job["id"]]
        if submit is not None and submit < job["start_seconds"]:
            found.append(Interval(submit, job["start_seconds"], name, "queue", name))
        found += _spans(job, name, submit is not None)
    return Timeline.of(found, rows)


def _spans(job: Mapping[str, Any], name: str, closely: bool) -> Iterator[Interval]:
    """Yield the phases of a job in turn: computing, waiting for the storage, I/O.

    Each I/O is one span that includes its pauses or, if *closely* is true, one span for
    each rate.
    """
    now, paused = job["start_seconds"], "suspended" if closely else "waiting"
    if "io" not in job:
        kind = "local" if job["local"] else "remote start"
        yield Interval(now, job["finish_seconds"], name, kind, name)
        return
    for phase in job["io"]:
        if phase["request_seconds"] is None:
            continue
        label = f"{name} phase {phase['phase']}" if closely else name
        finish = phase["finish_seconds"]
        if finish is None:
            finish = job["end_seconds"]
        grant = phase["first_grant_seconds"]
        if grant is None:
            grant = finish
        spans = (closely and phase.get("rates")) or [(grant, finish, None)]
        parts = [(phase["request_seconds"], "compute", None)]
        for since, until, rate in spans:
            parts += [(since, paused, None), (until, "io", rate)]
        for until, kind, rate in (*parts, (finish, paused, None)):
            if until > now:
                yield Interval(now, until, name, kind, label, rate)
                now = until
    if job["end_seconds"] > now:
        yield Interval(now, job["end_seconds"], name, "compute", name)
