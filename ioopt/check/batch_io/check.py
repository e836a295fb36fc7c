"""Checker of batch I/O schedules: everything is re-derived from the schedule alone.

Where a job says ``first_node`` its partition is checked too, and where requests say ``rates`` every byte.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from ioopt.check.batch_io.buffer import check_holding, check_space, check_streams, check_writes
from ioopt.check.batch_io.columns import plain_columns
from ioopt.check.batch_io.metrics import figures_of, metrics_of
from ioopt.check.batch_io.rates import (
    check_capacity,
    check_grants,
    check_rates,
    check_totals,
    loads_of,
    spans_of,
)
from ioopt.check.batch_io.terms import JobView, Terms
from ioopt.problems.base import JobId, Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation


def check(
    problem: BatchIoProblem, plan: BatchIoPlan | Json | None, schedule: Json | None
) -> CheckReport:
    """Violations of *schedule*, and its metrics recomputed (rule 22).

    *plan* (a BatchIoPlan, its dictionary, or None) says which policy decided, the expansion factor
    and the loop; without one the checks that need the policy are left out and the loop is closed.
    """
    if isinstance(plan, Mapping):
        plan = BatchIoPlan.model_validate(dict(plan))
    terms = Terms.of(problem, plan)
    if not schedule or not isinstance(schedule.get("jobs"), list):
        missing = violation("schedule", problem.name, "there is no schedule.jobs to check")
        return CheckReport((missing,))
    rows = schedule["jobs"]
    columns = plain_columns(terms, rows)
    if columns is None:
        views, found = _matched(terms, rows)
    else:
        views, found = [_view(terms, rows, k) for k in np.flatnonzero(~columns.plain).tolist()], []
    found += _check_storage(terms, schedule.get("storage_bytes_per_second"))
    for view in views:
        found += _check_job(terms, view)
    if columns is None:
        everyone = views
    elif found or (terms.closed and (columns.crowded() or columns.unprompted())):
        everyone = [_view(terms, rows, k) for k in range(len(rows))]
    else:
        everyone = []
    if terms.closed:
        found += _check_nodes(terms, everyone)
        found += _check_starts(everyone)
    if not found:
        found += check_totals(terms, columns.spans() if columns else spans_of(everyone))
        found += check_capacity(terms, columns.loads() if columns else loads_of(everyone))
        found += check_writes(terms, everyone)
        found += check_holding(terms, everyone)
    if found or len(rows) < len(problem.jobs):
        return CheckReport(tuple(found))
    figures = figures_of(terms, everyone)
    if columns:
        bent = np.flatnonzero(~columns.plain).tolist()
        figures = columns.figures(dict(zip(bent, views)))
    metrics = metrics_of(terms, figures)
    ranges = {name: metrics.pop(name) for name in list(metrics) if isinstance(metrics[name], tuple)}
    objectives = {"mean_response_seconds": metrics["mean_response_seconds"]}
    rounding = 1e-14 * max(figures.ends, default=0.0)
    return CheckReport((), objectives, metrics, ranges, rounding)


def _view(terms: Terms, rows: list[Json], k: int) -> JobView:
    return JobView.of(terms, terms.problem.jobs[k], rows[k])


def _check_storage(terms: Terms, stated: object) -> list[Violation]:
    """The storage's rate that a schedule states (for its picture) is the instance's."""
    if stated is None or stated == terms.storage:
        return []
    text = f"the schedule states {stated} B/s, the instance {terms.storage:g} B/s"
    return [violation("storage-rate", terms.problem.name, text)]


def _matched(terms: Terms, rows: list[Json]) -> tuple[list[JobView], list[Violation]]:
    """Rows of the schedule with their jobs; rows that cannot be read or matched are violations."""
    found: list[Violation] = []
    by_id = {job.id: job for job in terms.problem.jobs}
    views: dict[JobId, JobView] = {}
    for k, row in enumerate(rows):
        try:
            name = row["id"]
            job = by_id.get(name)
            view = JobView.of(terms, job, row) if job is not None else None
        except (KeyError, TypeError, ValueError) as error:
            text = f"cannot be read ({type(error).__name__}: {error})"
            found.append(violation("schedule", f"jobs[{k}]", text))
            continue
        if view is None:
            found.append(violation("unknown-job", str(name), "the instance has no such job"))
        elif name in views:
            found.append(violation("job-twice", str(name), "stands twice in the schedule"))
        else:
            views[name] = view
    for name in by_id:
        if name not in views:
            found.append(violation("job-missing", str(name), "is not in the schedule"))
    return [views[name] for name in by_id if name in views], found


def _check_job(terms: Terms, view: JobView) -> list[Violation]:
    checks: tuple[Callable[[Terms, JobView], Iterator[Violation]], ...] = (
        _times, _walltime, _partition, _numbered, _phases, check_rates, check_grants, check_streams,
        check_space,
    )  # fmt: skip
    return [item for one in checks for item in one(terms, view)]


def _times(terms: Terms, view: JobView) -> Iterator[Violation]:
    job = view.job
    if view.start < job.submit_seconds - view.slack:
        text = f"starts at {view.start!r}, before its submission at {job.submit_seconds!r}"
        yield violation("start", job.id, text, job.submit_seconds - view.start)
    if view.end < view.start:
        text = f"ends at {view.end!r}, before its start at {view.start!r}"
        yield violation("end", job.id, text, view.start - view.end)


def _walltime(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Rule 21: with ``kill`` no job outlives its walltime, and a killed one ends exactly then."""
    limit = view.start + view.job.walltime_seconds
    kill = terms.problem.options.kill
    if view.killed and not kill:
        yield violation("kill", view.job.id, "is killed, but options.kill is off")
    elif view.killed and abs(view.end - limit) > view.slack:
        text = f"is killed at {view.end!r}, its walltime ends at {limit!r}"
        yield violation("kill", view.job.id, text, abs(view.end - limit))
    elif kill and view.end > limit + view.slack:
        text = f"ends at {view.end!r}, after its walltime at {limit!r}"
        yield violation("kill", view.job.id, text, view.end - limit)


def _partition(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Rule 18: the smallest legal size, at an aligned place inside the machine."""
    machine, row, name = terms.problem.machine, view.row, view.job.id
    stated = row.get("allocated_nodes", view.nodes)
    if stated != view.nodes:
        text = f"is given {stated!r} nodes, its smallest legal allocation is {view.nodes}"
        yield violation("allocation", name, text)
    first = row.get("first_node")
    if first is None:
        return
    if machine.allocation == "flat":
        yield violation("partition", name, "names a first node, but the machine is flat")
    elif not 0 <= first <= machine.nodes - view.nodes:
        yield violation("partition", name, f"nodes {first} and on leave the machine")
    elif first % view.nodes:
        text = f"first node {first} is no multiple of the block's {view.nodes} nodes"
        yield violation("partition", name, text)


def _numbered(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Rule 32: as many numbered nodes as are allocated, each once and on the machine."""
    numbers = view.row.get("nodes")
    if numbers is None:
        return
    right = len(set(numbers)) == len(numbers) == view.nodes
    if not right or not all(0 <= node < terms.problem.machine.nodes for node in numbers):
        text = f"names nodes {numbers!r}, wants {view.nodes} of {terms.problem.machine.nodes}"
        yield violation("allocation", view.job.id, text)


def _phases(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Rules 3 and 9: each request follows its phase's compute, each phase the one before it."""
    records = iter(view.requests)
    record = next(records, None)
    now, name = view.began, view.job.id
    for k, (seconds, volume) in enumerate(view.phases):
        now += seconds
        if volume <= 0:
            continue
        if record is None or record.phase != k:
            if view.killed and now >= view.end - view.slack:
                break
            given = "nothing" if record is None else f"phase {record.phase}"
            yield violation("phases", name, f"wants a request of phase {k} next, finds {given}")
            return
        if abs(record.request - now) > view.slack:
            text = f"phase {k} is requested at {record.request!r}, its compute ends at {now!r}"
            yield violation("request", name, text, abs(record.request - now))
        if record.finish is None:
            now = view.end
            if not view.killed:
                yield violation("finish", name, f"phase {k} never finishes")
            record = next(records, None)
            break
        fastest = record.request + volume / view.peak
        if record.finish < fastest - view.slack - volume / view.peak * 1e-9:
            text = (
                f"phase {k} finishes at {record.finish!r}; at its peak rate not before {fastest!r}"
            )
            yield violation("peak", name, text, fastest - record.finish)
        now = record.finish
        record = next(records, None)
    if record is not None:
        yield violation("phases", name, f"has a request of phase {record.phase} out of place")
    elif not view.killed and abs(view.end - now) > view.slack:
        text = f"ends at {view.end!r}, its last phase at {now!r}"
        yield violation("end", name, text, abs(view.end - now))


def _check_nodes(terms: Terms, views: list[JobView]) -> list[Violation]:
    """No node twice: the count at every instant, and places that overlap in time (rules 18, 32, 44)."""
    machine = terms.problem.machine
    events: list[tuple[float, int, int, JobView]] = []
    for k, view in enumerate(views):
        if view.freed - view.start > view.slack:
            events.append((view.start + view.slack, 1, k, view))
            events.append((view.freed, 0, k, view))
    events.sort(key=lambda event: event[:3])
    used = 0
    owner: dict[int, JobView] = {}
    found: list[Violation] = []
    for time, starting, _, view in events:
        used += view.nodes if starting else -view.nodes
        if starting and used > machine.nodes:
            text = f"starts at {view.start!r} when {used} of {machine.nodes} nodes are in use"
            found.append(violation("nodes", view.job.id, text, float(used - machine.nodes)))
        for node in _place(view, machine.unit_nodes):
            if not starting:
                if owner.get(node) is view:
                    del owner[node]
            elif node in owner:
                text = f"uses node {node} at {time!r}, as does job {owner[node].job.id}"
                found.append(violation("overlap", view.job.id, text))
                break
            else:
                owner[node] = view
    return found


def _place(view: JobView, unit: int) -> Iterable[int]:
    """The numbered nodes of a job, of a partition the first of each unit; empty where it says none."""
    first = view.row.get("first_node")
    if first is None:
        return view.row.get("nodes") or ()
    return range(first, first + view.nodes, unit)


def _check_starts(views: list[JobView]) -> list[Violation]:
    """Rules 1 and 43: jobs start in passes, which follow an arrival, an end or a release."""
    times = sorted(t for v in views for t in (v.job.submit_seconds, v.end, v.released))
    found = []
    for view in views:
        near = bisect_left(times, view.start - view.slack)
        if near == len(times) or times[near] > view.start + view.slack:
            text = f"starts at {view.start!r}, when no job arrives or ends"
            found.append(violation("start", view.job.id, text))
    return found
