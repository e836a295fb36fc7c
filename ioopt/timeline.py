"""The common form of every schedule: intervals on resources, in seconds.

Every family's simulator produces a :class:`Timeline`; plots, CSV and Trace Event export read
nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, order=True)
class Interval:
    """Something that holds a resource from ``start`` to ``end`` seconds.

    ``kind`` is one of the family's words (``compute``, ``remote``, ``copy``, ``io``, ...);
    ``label`` names the task, file or job; ``rate`` is bytes per second where that has a meaning.
    """

    start: float
    end: float
    resource: str
    kind: str
    label: str
    rate: float | None = None
    info: Mapping[str, str | float | int | None] = field(default_factory=dict, compare=False)

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    """Intervals sorted by (start, end, resource, kind, label), and instants such as evictions.

    ``resources`` fixes the order in which rows are drawn. ``marks`` are intervals of no length.
    ``flows`` are pairs of intervals, the second of which needs what the first made; ``counters``
    are step functions, (time, value) at each change, by name.
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
        """Sort *intervals* and *marks*; resources not named are appended in order of appearance."""
        ordered = tuple(sorted(intervals, key=_interval_key))
        instants = tuple(sorted(marks, key=_interval_key))
        names = dict.fromkeys(resources)
        names.update(dict.fromkeys(item.resource for item in ordered + instants))
        return cls(ordered, tuple(names), instants)

    @property
    def makespan(self) -> float:
        """End of the last interval in seconds; 0 when there is none."""
        return max((item.end for item in self.intervals), default=0.0)

    def on(self, resource: str) -> tuple[Interval, ...]:
        """The intervals of one resource in time order."""
        return tuple(item for item in self.intervals if item.resource == resource)


def _interval_key(item: Interval) -> tuple[float, float, str, str, str]:
    return item.start, item.end, item.resource, item.kind, item.label


def covered_seconds(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of the *spans* (start, end) lasted.

    >>> covered_seconds([(0, 2), (5, 6), (1, 3)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def jobs_timeline(
    jobs: Iterable[Mapping[str, Any]], submits: Mapping[Any, float] | None = None
) -> Timeline:
    """Of ``schedule.jobs`` of a batch I/O or gang result, a resource a job.

    With *submits* (by id) also what pictures leave out: waiting in the queue, phases by their number,
    and within I/O every change of the rate.
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
    """Computing, waiting for the storage, I/O (in which rates may pause where not *closely*), in turn."""
    now, paused = job["start_seconds"], "suspended" if closely else "waiting"
    if "io" not in job:
        kind = "local" if job["local"] else "remote start"
        yield Interval(now, job["finish_seconds"], name, kind, name)
        return
    for phase in (phase for phase in job["io"] if phase["request_seconds"] is not None):
        label = f"{name} phase {phase['phase']}" if closely else name
        finish = job["end_seconds"] if phase["finish_seconds"] is None else phase["finish_seconds"]
        grant = finish if phase["first_grant_seconds"] is None else phase["first_grant_seconds"]
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
