"""Check gang schedules from the problem and the schedule alone; rule numbers refer to
docs/rules/gang.md.

``jobs`` are checked against bounds that hold for any policy. If the schedule has its
history (``updates``, the changes of each matrix update), the matrix is rebuilt and
checked against the rules.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ioopt.arrays import Floats, Ints
from ioopt.problems.base import JobId, Json
from ioopt.problems.gang import GangPlan, GangProblem, Job, mask_of
from ioopt.problems.gang_jobs import workload_of
from ioopt.problems.gang_rows import GangRows
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation

SAME_INSTANT_SECONDS = 1e-7
"""Difference in seconds below which two events count as one. A job with less work left
is done at the end of its slice (rules 3 and 4).
"""
IS_LOCAL = "is local if and only if its columns are its file nodes"
"""What the key ``local`` of an entry must satisfy."""
RELATIVE = 1e-9
"""Tolerance for the rounding errors that add up over the updates of a job, relative to
the job's work.
"""


def _slack(seconds: float) -> float:
    """Return the tolerance in seconds of an interval that ends at *seconds*.

    The tolerance is that of rule 3 at both ends, plus the rounding of sums.
    """
    return 2 * SAME_INSTANT_SECONDS + 64 * math.ulp(seconds)


def check(
    problem: GangProblem, plan: GangPlan | Json | None, schedule: Json | None
) -> CheckReport:
    """Return the violations and the metrics of *schedule*.

    Without a schedule there are no violations and no metrics, because a plan only names
    a policy.
    """
    if schedule is None:
        return CheckReport(())
    found = _Report()
    rows = schedule.get("jobs", ())
    if not isinstance(rows, GangRows):
        rows = read_rows(rows)
    jobs, entries = _entries(problem, rows, found)
    _check_times(problem, jobs, entries, found)
    updates = schedule.get("updates")
    metrics: Json = {"matrix_checked": updates is not None}
    if not problem.jobs or len(entries) < len(problem.jobs):
        return CheckReport(tuple(found.violations), {}, metrics)
    metrics |= times_metrics(problem, entries)
    makespan = metrics["makespan_seconds"]
    told: Mapping[str, tuple[float, float]] = {}
    if updates is None:
        told = ranges(problem, entries, makespan)
    elif not found.violations:
        metrics |= _Replay(problem, entries, found).run(updates)
    objectives = {"mean_slowdown": metrics["mean_slowdown"]}
    unjudged: tuple[str, ...] = ()
    if plan is None:  # the order depends on the policy
        unjudged = ("queue order",)
    return CheckReport(
        tuple(found.violations),
        objectives,
        metrics,
        told,
        rounding=1e-14 * makespan,
        limits=limits_of(problem),
        unjudged=unjudged,
    )


class _Report:
    def __init__(self) -> None:
        self.violations: list[Violation] = []

    def add(
        self, rule: str, item: object, message: str, amount: float | None = None
    ) -> None:
        self.violations.append(violation(rule, str(item), message, amount))


def read_rows(entries: Iterable[Json]) -> GangRows:
    """Return the columns of *entries*. A time that is no number is NaN."""
    listed = list(entries)
    return GangRows(
        ids=[entry.get("id") for entry in listed],
        start=_times(listed, "start_seconds"),
        finish=_times(listed, "finish_seconds"),
        local=np.array([bool(entry.get("local")) for entry in listed], bool),
    )


def _times(entries: Sequence[Json], key: str) -> Floats:
    """Return the times under *key*; NaN where there is no number."""
    times = [entry.get(key) for entry in entries]
    numbers = [time if isinstance(time, (int, float)) else math.nan for time in times]
    return np.array(numbers, float)


def _entries(
    problem: GangProblem, rows: GangRows, found: _Report
) -> tuple[Ints, GangRows]:
    """Return the positions of the jobs that have a valid entry, and these entries, both
    in the order of the instance; record invalid entries in *found*.
    """
    names = workload_of(problem).ids
    timed = np.isfinite(rows.start) & np.isfinite(rows.finish)
    if rows.ids == names and timed.all():
        return np.arange(len(rows)), rows
    index: dict[JobId | None, int] = {name: k for k, name in enumerate(names)}
    place = np.full(len(index), -1)
    for row, name in enumerate(rows.ids):
        k = index.get(name)
        if k is None:
            found.add("unknown-job", name, "the workload has no such job")
        elif place[k] >= 0:
            found.add("job-twice", name, "is scheduled twice")
        elif not timed[row]:
            found.add("times", name, "needs finite start_seconds and finish_seconds")
        else:
            place[k] = row
    jobs = np.flatnonzero(place >= 0)
    if len(jobs) < len(index) and not found.violations:
        missing = names[int(np.argmin(place))]
        found.add("job-missing", missing, "is not in the schedule")
    return jobs, rows.taken(place[jobs])


def _check_times(
    problem: GangProblem, jobs: Ints, entries: GangRows, found: _Report
) -> None:
    """Check start and finish of each entry against the arrival and the run times of its
    job; *jobs* are the positions of the jobs in the workload.
    """
    workload = workload_of(problem)
    arrival = workload.arrival[jobs]
    early = arrival - entries.start
    # A job that ended remote never ran local. A job that ended local may have begun
    # remote, which did not make it faster.
    least = np.where(entries.local, workload.local[jobs], workload.remote[jobs])
    run = entries.finish - entries.start
    short = least - run
    too_early = early > _slacks(entries.start)
    too_short = short > _slacks(entries.finish) + RELATIVE * least
    for k in np.flatnonzero(too_early | too_short).tolist():
        name = entries.ids[k]
        if too_early[k]:
            text = f"starts at {entries.start[k]:g} s but arrives at {arrival[k]:g} s"
            found.add("start-before-arrival", name, text, float(early[k]))
        if too_short[k]:
            text = f"runs {run[k]:g} s but needs at least {least[k]:g} s"
            found.add("too-short", name, text, float(short[k]))


def _slacks(seconds: Floats) -> Floats:
    """Return :func:`_slack` of each of *seconds*."""
    return 2 * SAME_INSTANT_SECONDS + 64 * np.spacing(np.abs(seconds))


@dataclass
class _Place:
    """The place of a job in the matrix, and its remaining work at the time ``since``.

    ``columns`` is a mask of nodes. ``fraction`` is the remaining share of the job's
    work. ``stall`` is the number of seconds that its migration still takes.
    """

    columns: int
    rows: tuple[int, ...]
    fraction: float
    stall: float
    since: float


class _Replay:
    """Rebuild the matrix update by update, and reduce the remaining work of every job
    as time passes.
    """

    def __init__(self, problem: GangProblem, entries: GangRows, found: _Report) -> None:
        self.problem = problem
        self.entries = {row["id"]: row for row in entries}
        self.found = found
        self.jobs = {job.id: job for job in problem.jobs}
        self.times = {job.id: times for job, times in zip(problem.jobs, problem.times)}
        self.files = {job.id: mask_of(job.file_nodes) for job in problem.jobs}
        self.places: dict[JobId, _Place] = {}
        self.started: set[JobId] = set()
        self.budget_slice = -1
        self.used = 0
        self.moved = 0

    def run(self, updates: list[Json]) -> Json:
        """Check every update, and at the end that every job has left the matrix.

        Return the metrics that only the history of updates determines.
        """
        before = 0.0
        occupied = 0.0
        for update in updates:
            now = update["seconds"]
            if now < before - _slack(now):
                self.found.add(
                    "order", f"update at {now:g} s", "is earlier than the one before"
                )
            cells = sum(
                place.columns.bit_count() * len(place.rows)
                for place in self.places.values()
            )
            occupied += cells * (now - before)
            before = now
            for job_id in update["left"]:
                self._leave(job_id, now)
            for placed in update["placed"]:
                self._place(placed, now)
            self._check_cells(now)
        for job_id in self.jobs:
            if job_id not in self.started or job_id in self.places:
                self.found.add(
                    "unfinished", job_id, "never starts or never leaves the matrix"
                )
        machine = self.problem.machine
        last = max(entry["finish_seconds"] for entry in self.entries.values())
        slots = machine.nodes * machine.levels * span_seconds(self.problem, last)
        return {
            "matrix_utilisation": occupied / slots,
            "migrated_tasks": self.moved,
            "matrix_updates": len(updates),
        }

    def _leave(self, job_id: JobId, now: float) -> None:
        place = self.places.pop(job_id, None)
        if place is None:
            self.found.add(
                "leaves", job_id, f"leaves at {now:g} s but is not in the matrix"
            )
            return
        finish = self.entries[job_id]["finish_seconds"]
        if finish > now + _slack(now):
            text = f"leaves at {now:g} s, before its finish at {finish:g} s"
            self.found.add("finish", job_id, text)
        self._advance(job_id, place, min(finish, now))
        left = place.stall + place.fraction * self._length(job_id, place)
        tolerance = _slack(finish) + RELATIVE * self.times[job_id][1]
        if abs(left) > tolerance:
            text = f"finishes at {finish:g} s with {left:g} s of scheduled time left"
            self.found.add("work-conserved", job_id, text, abs(left))
        says_local = bool(self.entries[job_id].get("local"))
        if says_local != (place.columns == self.files[job_id]):
            self.found.add("local", job_id, IS_LOCAL)

    def _length(self, job_id: JobId, place: _Place) -> float:
        """Return the seconds that the whole work of a job would take at *place*."""
        local, remote = self.times[job_id]
        if place.columns == self.files[job_id]:
            return local
        return remote

    def _advance(self, job_id: JobId, place: _Place, now: float) -> None:
        """Subtract the time that the job was scheduled since the last update, first
        from its stall, then from its work.
        """
        quantum = self.problem.machine.quantum_seconds
        levels = self.problem.machine.levels
        received = sum(
            _row_time(now, row, quantum, levels)
            - _row_time(place.since, row, quantum, levels)
            for row in place.rows
        )
        stalled = min(place.stall, received)
        place.stall -= stalled
        place.fraction -= (received - stalled) / self._length(job_id, place)
        place.since = now

    def _place(self, placed: Json, now: float) -> None:
        job_id = placed["id"]
        columns = mask_of(placed["columns"])
        rows = tuple(placed["rows"])
        job = self.jobs.get(job_id)
        if job is None:
            self.found.add("unknown-job", job_id, "is placed but not in the workload")
            return
        self._check_shape(job, placed, columns, rows)
        place = self.places.get(job_id)
        if place is None:
            self._start(job, columns, rows, now)
            return
        self._advance(job_id, place, now)
        if columns != place.columns:
            self._migrate(job, place, columns, now)
        place.columns = columns
        place.rows = rows

    def _check_shape(
        self, job: Job, placed: Json, columns: int, rows: tuple[int, ...]
    ) -> None:
        machine = self.problem.machine
        if columns.bit_count() != job.size or len(placed["columns"]) != job.size:
            self.found.add(
                "columns", job.id, f"has {job.size} tasks on {placed['columns']}"
            )
        inside = all(0 <= row < machine.levels for row in rows)
        if columns >> machine.nodes or not inside:
            self.found.add("outside", job.id, "is placed outside the matrix")
        if bool(placed.get("local")) != (columns == self.files[job.id]):
            self.found.add("local", job.id, IS_LOCAL)
        if placed["home_row"] not in rows or len(set(rows)) != len(rows):
            text = f"home row {placed['home_row']} must be one of its rows {rows}"
            self.found.add("home-row", job.id, text)

    def _start(self, job: Job, columns: int, rows: tuple[int, ...], now: float) -> None:
        if job.id in self.started:
            self.found.add("starts-twice", job.id, f"is placed again at {now:g} s")
        start = self.entries[job.id]["start_seconds"]
        if abs(start - now) > _slack(now):
            text = f"is placed at {now:g} s but says it starts at {start:g} s"
            self.found.add("start", job.id, text)
        self.started.add(job.id)
        self.places[job.id] = _Place(columns, rows, 1.0, 0.0, now)

    def _migrate(self, job: Job, place: _Place, columns: int, now: float) -> None:
        machine = self.problem.machine
        files = self.files[job.id]
        if columns != files:
            self.found.add(
                "migration", job.id, f"moves at {now:g} s, but not to its file nodes"
            )
        index = math.floor((now + _slack(now)) / machine.quantum_seconds)
        if index != self.budget_slice:
            self.budget_slice = index
            self.used = 0
        tasks = (columns & ~place.columns).bit_count()
        self.used += tasks
        self.moved += tasks
        limit = machine.migration_tasks_per_quantum
        if limit is not None and self.used > limit:
            text = (
                f"brings the tasks moved in the slice at {now:g} s to {self.used}, "
                f"more than {limit}"
            )
            self.found.add("migration-budget", job.id, text, self.used - limit)
        place.stall += machine.migration_seconds

    def _check_cells(self, now: float) -> None:
        rows = [0] * self.problem.machine.levels
        for job_id, place in self.places.items():
            for row in place.rows:
                if 0 <= row < len(rows):
                    if rows[row] & place.columns:
                        text = f"shares a node of row {row} at {now:g} s"
                        self.found.add("cell-twice", job_id, text)
                    rows[row] |= place.columns


def _row_time(now: float, row: int, quantum: float, levels: int) -> float:
    """Return for how many of the first *now* seconds *row* was scheduled."""
    cycles = math.floor(now / (quantum * levels))
    within = now - cycles * quantum * levels - row * quantum
    return cycles * quantum + min(max(within, 0.0), quantum)


BIG_JOB_TASKS = 64
"""Least number of tasks of a job that counts in ``big_job_slowdown``."""


def times_metrics(
    problem: GangProblem, entries: GangRows
) -> dict[str, float | int | None]:
    """Return the metrics that follow from starts, finishes and ``local`` (rules 16 and
    17). *entries* are those of all jobs, in their order.

    A mean over no jobs is None.
    """
    workload = workload_of(problem)
    arrival = workload.arrival
    start = entries.start
    finish = entries.finish
    quantum = problem.machine.quantum_seconds
    shortest = np.maximum(workload.local, quantum)
    slowdown = np.maximum(finish - arrival, quantum) / shortest
    big = slowdown[workload.sizes >= BIG_JOB_TASKS]
    big_job_slowdown = None
    if len(big):
        big_job_slowdown = float(big.mean())
    return {
        "mean_slowdown": float(slowdown.mean()),
        "mean_slowdown_from_start": float(
            (np.maximum(finish - start, quantum) / shortest).mean()
        ),
        "p99_slowdown": float(np.percentile(slowdown, 99)),
        "big_job_slowdown": big_job_slowdown,
        "mean_wait_seconds": float((start - arrival).mean()),
        "max_wait_seconds": float((start - arrival).max()),
        "makespan_seconds": float(finish.max()),
        "local_jobs": int(np.count_nonzero(entries.local)),
    }


def limits_of(problem: GangProblem) -> dict[str, float]:
    """Return bounds on the metrics: their values if no job waits and each job runs
    where it is fastest (rule 16), and ends within the tolerance of late times.
    """
    workload = workload_of(problem)
    quantum = problem.machine.quantum_seconds
    fastest = np.minimum(workload.local, workload.remote)
    if len(workload):
        all_remote = problem.machine.levels * float(workload.remote.sum())
        rounding = 64 * math.ulp(float(workload.arrival.max()) + all_remote)
        if rounding > SAME_INSTANT_SECONDS:
            fastest = fastest - rounding
    least = np.maximum(fastest, quantum) / np.maximum(workload.local, quantum)
    mean = math.fsum(least.tolist()) / max(1, len(least))
    return {
        "mean_slowdown": mean,
        "mean_wait_seconds": 0.0,
        "max_wait_seconds": 0.0,
        "local_jobs": len(problem.jobs),
    }


def span_seconds(problem: GangProblem, makespan: float) -> float:
    """Return the seconds from the first arrival to the last finish."""
    return makespan - float(workload_of(problem).arrival.min())


def ranges(
    problem: GangProblem, entries: GangRows, makespan: float
) -> dict[str, tuple[float, float]]:
    """Return the range of each metric that cannot be computed without the history of
    the matrix.

    A job occupies its nodes in at least one row while it is in the matrix. The last
    update may come at the next slice boundary after the last finish. A job migrates at
    most once. Every update is at an arrival or at an end.
    """
    machine = problem.machine
    sizes = workload_of(problem).sizes
    rounding = 64 * math.ulp(makespan)
    lasted = np.maximum(0.0, entries.finish - entries.start - rounding)
    least = float(np.cumsum(sizes * lasted)[-1])  # job after job
    span = span_seconds(problem, makespan)
    told: dict[str, tuple[float, float]] = {
        "migrated_tasks": (0, int(sizes.sum())),
        "matrix_updates": (1, 2 * len(problem.jobs)),
    }
    if span > 0:
        told["matrix_utilisation"] = (
            least / (machine.nodes * machine.levels * (span + rounding)),
            (span + machine.quantum_seconds + rounding) / span,
        )
    return told
