"""Check batch I/O schedules against the problem alone; rule numbers refer to
docs/rules/batch-io.md.

Partitions are checked if jobs state ``first_node``, and bytes are checked if requests
state ``rates``.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from operator import mul, sub

import numpy as np

from ioopt.checks.batch_io.queue import queue_violations, states_queue
from ioopt.checks.batch_io.rates import (
    RELATIVE,
    Spans,
    check_capacity,
    check_grants,
    check_rates,
    check_totals,
)
from ioopt.checks.batch_io.terms import JobView, RequestView, Terms
from ioopt.problems.base import JobId, Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation

UNREADABLE = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


def check(
    problem: BatchIoProblem, plan: BatchIoPlan | Json | None, schedule: Json | None
) -> CheckReport:
    """Return the violations of *schedule* and its metrics (rule 22), recomputed.

    *plan* (a BatchIoPlan, its dictionary, or None) states the policy, the expansion
    factor, and whether the loop is open or closed. Without a plan the loop is taken as
    closed, and checks of the policy are left out. The order of the queue is then
    checked here, because there is no plan to replay.
    """
    if isinstance(plan, Mapping):
        plan = BatchIoPlan.model_validate(dict(plan))
    terms = Terms.of(problem, plan)
    if not schedule or not isinstance(schedule.get("jobs"), list):
        missing = violation(
            "schedule", problem.name, "there is no schedule.jobs to check"
        )
        return CheckReport((missing,))
    rows = schedule["jobs"]
    views, found = _matched(terms, rows)
    stated = schedule.get("storage_bytes_per_second")
    if stated not in (None, terms.storage):  # shown in pictures of the schedule
        text = f"the schedule states {stated} B/s, the instance {terms.storage:g} B/s"
        found.append(violation("storage-rate", problem.name, text))
    spans = Spans.of(views)
    found += _check_jobs(terms, views)
    found += check_rates(terms, spans)
    if not found:
        found += check_totals(terms, spans)
        found += check_capacity(terms, views)
    judged = plan is not None or states_queue(terms)
    if not found and plan is None and judged:
        found += queue_violations(terms, views)
    if found or len(rows) < len(problem.jobs):
        return CheckReport(tuple(found))
    excused: list[Violation] = []
    if not terms.limited:
        held = replace(terms, policy=None)
        excused = [*check_totals(held, spans), *check_capacity(held, views)]
    metrics = metrics_of(terms, views)
    ranges = {}
    if isinstance(metrics["useful_utilisation"], tuple):
        ranges["useful_utilisation"] = metrics.pop("useful_utilisation")
    objectives = {"mean_response_seconds": metrics["mean_response_seconds"]}
    rounding = 1e-14 * max((view.end for view in views), default=0.0)
    limits = limits_of(terms, views)
    unjudged = () if judged else ("queue order",)
    return CheckReport(
        (), objectives, metrics, ranges, rounding, limits, tuple(excused), unjudged
    )


def _check_jobs(terms: Terms, views: list[JobView]) -> Iterator[Violation]:
    """Check each job by itself.

    In a closed loop, also check for all jobs together that nodes suffice and that jobs
    start at permitted times.
    """
    for view in views:
        for one in JOB_CHECKS:
            yield from one(terms, view)
    if terms.closed:
        yield from _check_nodes(terms, views)
        yield from _check_starts(views)


def _matched(terms: Terms, rows: list[Json]) -> tuple[list[JobView], list[Violation]]:
    """Pair each row of the schedule with its job; return the pairs and the violations
    found.

    Rows that cannot be read, and rows whose job does not exist, are violations.
    """
    found: list[Violation] = []
    by_id = {job.id: job for job in terms.problem.jobs}
    views: dict[JobId, JobView] = {}
    for k, row in enumerate(rows):
        try:
            name = row["id"]
            job = by_id.get(name)
            view = None
            if job is not None:
                view = JobView.of(terms, job, row)
        except UNREADABLE as error:
            text = f"cannot be read ({type(error).__name__}: {error})"
            found.append(violation("schedule", f"jobs[{k}]", text))
            continue
        if view is None:
            found.append(
                violation("unknown-job", str(name), "the instance has no such job")
            )
        elif name in views:
            found.append(
                violation("job-twice", str(name), "stands twice in the schedule")
            )
        else:
            views[name] = view
    for name in by_id:
        if name not in views:
            found.append(violation("job-missing", str(name), "is not in the schedule"))
    return [views[name] for name in by_id if name in views], found


def _times(terms: Terms, view: JobView) -> Iterator[Violation]:
    job = view.job
    if view.start < job.submit_seconds - view.slack:
        text = (
            f"starts at {view.start!r}, before its submission at {job.submit_seconds!r}"
        )
        yield violation("start", job.id, text, job.submit_seconds - view.start)
    if view.end < view.start:
        text = f"ends at {view.end!r}, before its start at {view.start!r}"
        yield violation("end", job.id, text, view.start - view.end)


def _walltime(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Check walltimes (rule 21): with ``kill`` on, killed jobs end exactly at their
    walltime and no other job ends later.
    """
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
    """Check that the job has the smallest legal allocation, and that its block is
    aligned (rule 18).
    """
    machine = terms.problem.machine
    row = view.row
    name = view.job.id
    stated = row.get("allocated_nodes", view.nodes)
    if stated != view.nodes:
        text = (
            f"is given {stated!r} nodes, its smallest legal allocation is {view.nodes}"
        )
        yield violation("allocation", name, text)
    first = row.get("first_node")
    if first is None:
        return
    if machine.allocation == "flat":
        yield violation(
            "partition", name, "names a first node, but the machine is flat"
        )
    elif not 0 <= first <= machine.nodes - view.nodes:
        yield violation(
            "partition", name, f"its nodes from {first} on exceed the machine"
        )
    elif first % view.nodes:
        text = f"first node {first} is not a multiple of the block's {view.nodes} nodes"
        yield violation("partition", name, text)


def _numbered(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Check the numbers of a job's nodes: they are all different, and as many as are
    allocated (rule 32).
    """
    numbers = view.row.get("nodes")
    if numbers is None:
        return
    most = terms.problem.machine.nodes
    known = all(0 <= node < most for node in numbers)
    if not known or not len(set(numbers)) == len(numbers) == view.nodes:
        text = f"lists nodes {numbers!r}, needs {view.nodes} different ones of {most}"
        yield violation("allocation", view.job.id, text)


def _phases(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Check the phases of a job in order: each request begins when the compute of its
    phase ends (rules 3 and 9).
    """
    records = iter(view.requests)
    now = view.start
    name = view.job.id
    record = next(records, None)
    for k, (seconds, volume) in enumerate(view.phases):
        now += seconds
        if volume <= 0:
            continue
        if record is None or record.phase != k:
            if view.killed and now >= view.end - view.slack:
                break
            given = "nothing" if record is None else f"phase {record.phase}"
            text = f"needs a request of phase {k} next, but has {given}"
            yield violation("phases", name, text)
            return
        if abs(record.request - now) > view.slack:
            text = (
                f"phase {k} is requested at {record.request!r}, its compute ends at "
                f"{now!r}"
            )
            yield violation("request", name, text, abs(record.request - now))
        now = record.last
        finish = record.finish
        least = volume / view.peak
        if finish is None:
            if not view.killed:
                yield violation("finish", name, f"phase {k} never finishes")
            record = next(records, None)
            break
        if finish < record.request + least - view.slack - RELATIVE * least:
            fastest = record.request + least
            text = (
                f"phase {k} finishes at {finish!r}; at its peak rate not before "
                f"{fastest!r}"
            )
            yield violation("peak", name, text, fastest - finish)
        record = next(records, None)
    if record is not None:
        yield violation(
            "phases", name, f"has a request of phase {record.phase} out of place"
        )
    elif not view.killed and abs(view.end - now) > view.slack:
        text = f"ends at {view.end!r}, its last phase at {now!r}"
        yield violation("end", name, text, abs(view.end - now))


JOB_CHECKS: tuple[Callable[[Terms, JobView], Iterator[Violation]], ...] = (
    _times,
    _walltime,
    _partition,
    _numbered,
    _phases,
    check_grants,
)
"""Checks that look at one job at a time."""


def _check_nodes(terms: Terms, views: list[JobView]) -> Iterator[Violation]:
    """Check that no node is used by two jobs at once (rules 18 and 32).

    The nodes in use are counted at every instant. If jobs list their nodes, no two
    running jobs may share one.
    """
    machine = terms.problem.machine
    held = [view for view in views if view.end - view.start > view.slack]
    begins = [view.start + view.slack for view in held]
    order = np.argsort([view.end for view in held] + begins, kind="stable")
    used = 0
    owner: dict[int, JobView] = {}
    for at in order.tolist():  # at one instant, jobs end before other jobs begin
        starting, k = divmod(at, len(held))
        view = held[k]
        used += view.nodes if starting else -view.nodes
        if starting and used > machine.nodes:
            text = (
                f"starts at {view.start!r} when {used} of {machine.nodes} nodes are "
                "in use"
            )
            yield violation("nodes", view.job.id, text, float(used - machine.nodes))
        for node in _place(view, machine.unit_nodes):
            if not starting:
                if owner.get(node) is view:
                    del owner[node]
            elif node in owner:
                text = (
                    f"uses node {node} at {begins[k]!r}, as does job "
                    f"{owner[node].job.id}"
                )
                yield violation("overlap", view.job.id, text)
                break
            else:
                owner[node] = view


def _place(view: JobView, unit: int) -> Iterable[int]:
    """Return the nodes that a job lists; for a partition, the first node of each unit.

    *unit* is the number of nodes in a unit.
    """
    first = view.row.get("first_node")
    if first is None:
        return view.row.get("nodes") or ()
    return range(first, first + view.nodes, unit)


def _check_starts(views: list[JobView]) -> Iterator[Violation]:
    """Check that each job starts when some job arrives or ends (rule 1)."""
    times = sorted(
        [view.job.submit_seconds for view in views] + [view.end for view in views]
    )
    for view in views:
        near = bisect_left(times, view.start - view.slack)
        if near == len(times) or times[near] > view.start + view.slack:
            text = f"starts at {view.start!r}, when no job arrives or ends"
            yield violation("start", view.job.id, text)


def metrics_of(terms: Terms, views: Sequence[JobView]) -> Json:
    """Return all metrics of the jobs in *views*.

    If requests state no rates, ``useful_utilisation`` is a pair: its least and its
    largest possible value. A mean over no values is 0. Utilisation is None if all jobs
    are submitted at one instant.
    """
    count = max(1, len(views))
    nodes = [view.nodes for view in views]
    submits = [view.job.submit_seconds for view in views]
    starts = [view.start for view in views]
    ends = [view.end for view in views]
    runtimes = [*map(sub, ends, starts)]
    ideals = [view.ideal for view in views]
    delays = [_delay(view) for view in views]
    slowdowns = []
    for run, ideal in zip(runtimes, ideals):
        slowdowns.append(run / ideal if ideal > 0 else 1.0)
    first_submit = min(submits, default=0.0)
    last = max(submits, default=0.0)
    metrics: Json = {
        "mean_wait_seconds": fsum(map(sub, starts, submits)) / count,
        "mean_response_seconds": fsum(map(sub, ends, submits)) / count,
        "mean_runtime_seconds": fsum(runtimes) / count,
        "mean_slowdown": fsum(slowdowns) / count,
        "max_slowdown": max(slowdowns, default=0.0),
        "makespan_seconds": max(ends, default=first_submit) - first_submit,
        "io_delay_seconds": fsum(delays) / count,
        "node_weighted_io_delay": fsum(map(mul, nodes, delays)) / max(1, sum(nodes)),
        "utilisation": None,
    }
    begin = first_submit + (last - first_submit) / 10
    capacity = terms.problem.machine.nodes * (last - begin)
    metrics["useful_utilisation"] = None
    if capacity <= 0:
        return metrics
    held = ((v.nodes, min(v.end, last) - max(v.start, begin)) for v in views)
    metrics["utilisation"] = fsum(n * span for n, span in held if span > 0) / capacity
    useful = [_useful(view, begin, last) for view in views]
    least, most = (fsum(map(mul, nodes, side)) / capacity for side in zip(*useful))
    metrics["useful_utilisation"] = (least, most)
    if all(_records_rates(view) for view in views):
        metrics["useful_utilisation"] = least
    return metrics


def _records_rates(view: JobView) -> bool:
    """Return whether all requests of a job state their rates."""
    return all(record.rates is not None for record in view.requests)


def limits_of(terms: Terms, views: Sequence[JobView]) -> dict[str, float]:
    """Return bounds on metrics that hold for every schedule of these jobs.

    The bounds on times are reached if no job waits and every request gets its peak
    rate.
    """
    least = [view.ideal for view in views]
    if terms.problem.options.kill:
        walltimes = (view.job.walltime_seconds for view in views)
        least = [min(pair) for pair in zip(least, walltimes, strict=True)]
    runtime = fsum(least) / max(1, len(views))
    limits = dict.fromkeys(LEAST_ZERO, 0.0)
    limits |= {"utilisation": 1.0, "useful_utilisation": 1.0}
    return limits | {"mean_response_seconds": runtime, "mean_runtime_seconds": runtime}


LEAST_ZERO = (
    "mean_wait_seconds",
    "mean_slowdown",
    "max_slowdown",
    "io_delay_seconds",
    "node_weighted_io_delay",
)
"""Metrics that are at least 0 in every schedule."""


def _delay(view: JobView) -> float:
    """Return the I/O delay of a job: the seconds of its I/O beyond those at the peak
    rate.
    """
    return fsum(
        record.finish - record.request - view.phases[record.phase][1] / view.peak
        for record in view.requests
        if record.finish is not None
    )


def _overlap(since: float, until: float, begin: float, end: float) -> float:
    return max(0.0, min(until, end) - max(since, begin))


def _useful(view: JobView, begin: float, end: float) -> tuple[float, float]:
    """Return the least and the largest possible useful work of a job between *begin*
    and *end*, in seconds.

    Useful work is the time that the same work takes without congestion (rule 22).
    """
    if begin <= view.start and view.end <= end and not view.killed:
        return view.ideal, view.ideal
    moved = [_moved(record, begin, end) for record in view.requests]
    ends = {record.phase: record.last for record in view.requests}
    computing = []
    now = view.start
    for k, (seconds, _) in enumerate(view.phases):
        computing.append(_overlap(now, min(now + seconds, view.end), begin, end))
        now = ends.get(k, now + seconds)
    compute = fsum(computing)
    least = compute + fsum(least for least, _ in moved)
    most = compute + fsum(most for _, most in moved)
    return least, most


def _moved(record: RequestView, begin: float, end: float) -> tuple[float, float]:
    """Return the least and the largest number of bytes that a request can have moved
    between *begin* and *end*.

    Both numbers of bytes are expressed as seconds at the request's peak rate.
    """
    if record.rates is not None:
        done = fsum(_overlap(a, b, begin, end) * rate for a, b, rate in record.rates)
        return done / record.peak, done / record.peak
    inside = _overlap(record.request, record.last, begin, end)
    work = (record.volume or 0.0) / record.peak
    sure = 0.0  # the least that the request moves in total
    if record.finish is not None:
        sure = work
    return max(0.0, sure - (record.last - record.request - inside)), min(work, inside)
