"""Checker of batch I/O schedules: everything is re-derived from the schedule alone.

Where a job says ``first_node`` its partition is checked too, and where requests say ``rates`` every byte.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from math import fsum
from operator import mul, sub

import numpy as np

from ioopt.check.batch_io.columns import Columns, JobView, Mask, Reals, Terms
from ioopt.check.batch_io.rates import (
    check_capacity,
    check_grants,
    check_holding,
    check_rates,
    check_space,
    check_streams,
    check_totals,
    check_writes,
)
from ioopt.problems.base import JobId, Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation

UNREADABLE = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


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
    columns, found = _read(terms, rows)
    views = columns.views
    found += _check_storage(terms, schedule.get("storage_bytes_per_second"))
    for view in views:
        for one in (_times, _walltime, _partition, _numbered):
            found += one(terms, view)
    found += _phases(columns)
    for part in (columns.io, columns.streams):
        found += [*check_rates(columns, part), *check_grants(columns, part)]
    late = np.array([view.released != view.end for view in views], dtype=bool)
    buffered = np.flatnonzero(columns.buffered | (columns.streams.held > 0) | late).tolist()
    requests = {k: columns.io.views(k) for k in buffered}
    streams = {k: columns.streams.views(k) for k in buffered}
    for k in buffered:
        found += check_streams(terms, views[k], requests[k], streams[k])
        found += check_space(terms, views[k], requests[k], streams[k])
    if terms.closed:
        found += _check_nodes(terms, views)
        found += _check_starts(views)
    if not found:
        found += check_totals(columns)
        found += check_capacity(columns)
        found += check_writes(terms, [(views[k], requests[k]) for k in buffered])
        found += check_holding(terms, [(views[k], streams[k]) for k in buffered])
    if found or len(rows) < len(problem.jobs):
        return CheckReport(tuple(found))
    metrics = metrics_of(columns)
    ranges = {name: metrics.pop(name) for name in list(metrics) if isinstance(metrics[name], tuple)}
    objectives = {"mean_response_seconds": metrics["mean_response_seconds"]}
    rounding = 1e-14 * max((view.end for view in views), default=0.0)
    return CheckReport((), objectives, metrics, ranges, rounding)


def _check_storage(terms: Terms, stated: object) -> list[Violation]:
    """The storage's rate that a schedule states (for its picture) is the instance's."""
    if stated is None or stated == terms.storage:
        return []
    text = f"the schedule states {stated} B/s, the instance {terms.storage:g} B/s"
    return [violation("storage-rate", terms.problem.name, text)]


def _read(terms: Terms, rows: list[Json]) -> tuple[Columns, list[Violation]]:
    """The *rows* as arrays; at once where they are the instance's jobs in their order."""
    jobs = terms.problem.jobs
    try:
        if [row["id"] for row in rows] == [job.id for job in jobs]:
            return Columns(terms, [JobView.of(terms, *pair) for pair in zip(jobs, rows)]), []
    except UNREADABLE:  # one by one, to say which
        pass
    views, found = _matched(terms, rows)
    return Columns(terms, views), found


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
            if view is not None:
                Columns(terms, [view])
        except UNREADABLE as error:
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


def _phases(columns: Columns) -> Iterator[Violation]:
    """Rules 3 and 9: each request follows its phase's compute, each phase the one before it."""
    io, views, due, first = columns.io, columns.views, columns.due, columns.first
    slack, job = columns.slack[io.owner], io.owner
    place = first[job] + io.phase
    inner = np.arange(len(job)) > io.head[job]
    wrong = (columns.expected != place) | (columns.expected < 0)
    wrong |= inner & ~np.append(True, io.ended[:-1])[: len(job)]  # the one before never finished
    broken = np.zeros(len(views), dtype=bool)
    for k in np.flatnonzero(wrong).tolist():
        if broken[job[k]]:
            continue
        broken[job[k]] = True
        next_, given = columns.expected[k] - first[job[k]], f"phase {io.phase[k]}"
        text = f"has a request of {given} out of place"
        if columns.expected[k] >= 0 and columns.expected[k] != place[k]:
            text = f"wants a request of phase {next_} next, finds {given}"
        yield violation("phases", views[job[k]].job.id, text)
    told = ~wrong & ~broken[job]
    ready = due[np.where(wrong, 0, place)] if len(due) else slack
    fastest = io.request + io.volume / io.peak
    early = io.finish < fastest - slack - io.volume / io.peak * 1e-9
    late = np.abs(io.request - ready) > slack
    unfinished = ~io.ended & ~columns.killed[job]
    for k in np.flatnonzero(told & (early | late | unfinished)).tolist():
        name, phase = views[job[k]].job.id, f"phase {io.phase[k]}"
        asked, wanted, done = float(io.request[k]), float(ready[k]), float(io.finish[k])
        if late[k]:
            text = f"{phase} is requested at {asked!r}, its compute ends at {wanted!r}"
            yield violation("request", name, text, abs(asked - wanted))
        if unfinished[k]:
            yield violation("finish", name, f"{phase} never finishes")
        if early[k]:
            least = float(fastest[k])
            text = f"{phase} finishes at {done!r}; at its peak rate not before {least!r}"
            yield violation("peak", name, text, least - done)
    yield from _ends(columns, broken)


def _ends(columns: Columns, broken: Mask) -> Iterator[Violation]:
    """Of jobs whose requests are those of their phases: none is missing, and they end with the last."""
    io, due, first, last = columns.io, columns.due, columns.first, columns.first[1:] - 1
    places, before = columns.asking
    through = np.append(io.ended, True)[np.where(io.held > 0, io.head + io.held - 1, -1)]
    missing = (io.held < np.diff(before)) & through & ~broken
    final = np.append(io.finish, np.nan)[np.where(io.held > 0, io.head + io.held - 1, -1)]
    ends = np.where(columns.volume[last] > 0, final, due[last])
    off = np.abs(columns.end - ends) > columns.slack
    off &= ~columns.killed & through & ~broken & ~missing
    for k in np.flatnonzero(missing | off).tolist():
        view, now = columns.views[k], float(ends[k])
        if off[k]:
            text = f"ends at {view.end!r}, its last phase at {now!r}"
            yield violation("end", view.job.id, text, abs(view.end - now))
            continue
        place = int(places[before[k] + io.held[k]])
        if not (view.killed and due[place] >= view.end - view.slack):
            text = f"wants a request of phase {place - first[k]} next, finds nothing"
            yield violation("phases", view.job.id, text)


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


def metrics_of(columns: Columns) -> Json:
    """All metrics; ``useful_utilisation`` as limits (least, most) where requests say no rates.

    The mean of nothing is 0. Utilisation is None when all jobs are submitted at one instant.
    """
    terms, views = columns.terms, columns.views
    count = max(1, len(views))
    nodes, submits = [view.nodes for view in views], [view.job.submit_seconds for view in views]
    starts, ends = [view.start for view in views], [view.end for view in views]
    runtimes = [*map(sub, ends, starts)]
    ideals, delays = _ideals(columns), _delays(columns)
    slowdowns = [run / ideal if ideal > 0 else 1.0 for run, ideal in zip(runtimes, ideals)]
    first_submit, last = min(submits, default=0.0), max(submits, default=0.0)
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
    if terms.problem.machine.burst_buffer is not None:
        tails = [view.released - view.end for view in views]
        metrics["mean_release_seconds"] = fsum(tails) / count
        metrics["max_release_seconds"] = max(tails, default=0.0)
    begin = first_submit + (last - first_submit) / 10
    capacity = terms.problem.machine.nodes * (last - begin)
    metrics["useful_utilisation"] = None
    if capacity <= 0:
        return metrics
    held = ((v.nodes, min(v.freed, last) - max(v.start, begin)) for v in views)
    metrics["utilisation"] = fsum(n * span for n, span in held if span > 0) / capacity
    least, most = (
        fsum(map(mul, nodes, side.tolist())) / capacity for side in columns.useful(begin, last)
    )
    metrics["useful_utilisation"] = least if columns.io.recorded.all() else (least, most)
    return metrics


def _ideals(columns: Columns) -> list[float]:
    """Uncongested seconds of each job, with a stage-in that it waits for on its nodes (rule 48)."""
    work = (columns.compute + columns.volume / columns.peak[columns.job_of]).tolist()
    found = [fsum(work[a:b]) for a, b in pairwise(columns.first.tolist())]
    for j, view in enumerate(columns.views):
        staged = view.job.stage_in_bytes
        if staged and not columns.terms.ahead:
            found[j] += staged / view.stream_peak
    return found


def _delays(columns: Columns) -> list[float]:
    """Seconds by which the finished requests of each job took longer than at their peak."""
    io = columns.io
    late: Reals = io.finish - io.request - io.volume / io.peak
    delays = np.where(io.ended, late, 0.0).tolist()
    bounds = zip(io.head.tolist(), (io.head + io.held).tolist())
    return [fsum(delays[a:b]) for a, b in bounds]
