"""Check batch I/O schedules against the problem alone; rule numbers refer to
docs/rules/batch-io.md.

Partitions are checked if jobs state ``first_node``, and bytes are checked if requests
state ``rates``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import fsum
from typing import NamedTuple

import numpy as np

from ioopt.arrays import Flags, Floats, Ints
from ioopt.checks.batch_io.queue import queue_violations, states_queue
from ioopt.checks.batch_io.rates import (
    RELATIVE,
    check_capacity,
    check_grants,
    check_rates,
    check_totals,
    check_turns,
)
from ioopt.checks.batch_io.table import Table, marked, parts_of, read_rows, sums
from ioopt.checks.batch_io.terms import Terms
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem
from ioopt.problems.job_columns import NO_NODE, JobColumns, offsets
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation


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
    rows = (schedule or {}).get("jobs")
    if schedule is None or not isinstance(rows, (list, JobColumns)):
        missing = violation(
            "schedule", problem.name, "there is no schedule.jobs to check"
        )
        return CheckReport((missing,))
    found: list[Violation] = []
    if isinstance(rows, list):
        rows, found = read_rows(rows)
    stated_jobs = len(rows)
    table, wrong = Table.of(terms, rows)
    found += wrong
    stated = schedule.get("storage_bytes_per_second")
    if stated not in (None, terms.storage):  # shown in pictures of the schedule
        text = f"the schedule states {stated} B/s, the instance {terms.storage:g} B/s"
        found.append(violation("storage-rate", problem.name, text))
    found += _check_jobs(terms, table)
    found += check_rates(terms, table)
    if not found:
        found += check_totals(terms, table)
        found += check_turns(terms, table)
        found += check_capacity(terms, table)
    judged = plan is not None or states_queue(terms)
    if not found and plan is None and judged:
        found += queue_violations(terms, table)
    if found or stated_jobs < len(problem.jobs):
        return CheckReport(tuple(found))
    return _report(terms, table, judged)


def _report(terms: Terms, table: Table, judged: bool) -> CheckReport:
    """Return the report of a schedule without violations. *judged* says whether the
    order of the queue was checked.
    """
    excused: list[Violation] = []
    if not terms.limited:
        held = replace(terms, policy=None)
        excused = [*check_totals(held, table), *check_capacity(held, table)]
    metrics = metrics_of(terms, table)
    ranges = {}
    if isinstance(metrics["useful_utilisation"], tuple):
        ranges["useful_utilisation"] = metrics.pop("useful_utilisation")
    return CheckReport(
        (),
        objectives={"mean_response_seconds": metrics["mean_response_seconds"]},
        metrics=metrics,
        ranges=ranges,
        rounding=1e-14 * float(table.rows.end.max(initial=0.0)),
        limits=limits_of(terms, table),
        excused=tuple(excused),
        unjudged=() if judged else ("queue order",),
    )


def _check_jobs(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check each job by itself.

    In a closed loop, also check for all jobs together that nodes suffice and that jobs
    start at permitted times.
    """
    # Blocks of jobs need little memory; violations are listed rule by rule.
    if any(_check_single(terms, part) for part in table.blocks()):
        yield from _check_single(terms, table)
    if terms.closed:
        yield from _check_nodes(terms, table)
        yield from _check_starts(table)


def _check_single(terms: Terms, table: Table) -> list[Violation]:
    """Return the violations of jobs that are looked at one at a time."""
    found = [item for one in JOB_CHECKS for item in one(terms, table)]
    return [*found, *check_grants(table)]


def _times(terms: Terms, table: Table) -> Iterator[Violation]:
    start, end = table.rows.start, table.rows.end
    for k in marked(start < table.submit - table.slack):
        begun, submit = float(start[k]), float(table.submit[k])
        text = f"starts at {begun!r}, before its submission at {submit!r}"
        yield violation("start", table.name(k), text, submit - begun)
    for k in marked(end < start):
        begun, over = float(start[k]), float(end[k])
        text = f"ends at {over!r}, before its start at {begun!r}"
        yield violation("end", table.name(k), text, begun - over)


def _walltime(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check walltimes (rule 21): with ``kill`` on, killed jobs end exactly at their
    walltime and no other job ends later.
    """
    killed = table.rows.killed
    if not terms.problem.options.kill:
        for k in marked(killed):
            text = "is killed, but options.kill is off"
            yield violation("kill", table.name(k), text)
        return
    limit = table.rows.start + table.walltime
    over = table.rows.end - limit
    for k in marked(killed & (np.abs(over) > table.slack)):
        text = (
            f"is killed at {float(table.rows.end[k])!r}, its walltime ends at "
            f"{float(limit[k])!r}"
        )
        yield violation("kill", table.name(k), text, abs(float(over[k])))
    for k in marked(~killed & (over > table.slack)):
        text = (
            f"ends at {float(table.rows.end[k])!r}, after its walltime at "
            f"{float(limit[k])!r}"
        )
        yield violation("kill", table.name(k), text, float(over[k]))


def _partition(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check that each job has the smallest legal allocation, and that its block is
    aligned (rule 18).
    """
    machine = terms.problem.machine
    for k, (stated, legal) in enumerate(
        zip(table.rows.allocated, table.nodes.tolist())
    ):
        if stated != legal and stated is not None:
            text = (
                f"is given {stated!r} nodes, its smallest legal allocation is {legal}"
            )
            yield violation("allocation", table.name(k), text)
    first = table.rows.first_node
    placed = first != NO_NODE
    if machine.allocation == "flat":
        for k in marked(placed):
            text = "names a first node, but the machine is flat"
            yield violation("partition", table.name(k), text)
        return
    beyond = (first < 0) | (first > machine.nodes - table.nodes)
    for k in marked(placed & beyond):
        text = f"its nodes from {first[k]} on exceed the machine"
        yield violation("partition", table.name(k), text)
    for k in marked(placed & ~beyond & (first % table.nodes != 0)):
        text = (
            f"first node {first[k]} is not a multiple of the block's {table.nodes[k]} "
            "nodes"
        )
        yield violation("partition", table.name(k), text)


def _numbered(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check the numbers of a job's nodes: they are all different, and as many as are
    allocated (rule 32).
    """
    most = terms.problem.machine.nodes
    for k, numbers in enumerate(table.rows.nodes or ()):
        if numbers is None:
            continue
        known = all(0 <= node < most for node in numbers)
        wanted = int(table.nodes[k])
        if not known or not len(set(numbers)) == len(numbers) == wanted:
            text = f"lists nodes {numbers!r}, needs {wanted} different ones of {most}"
            yield violation("allocation", table.name(k), text)


def _phases(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check the phases of a job in order: each request begins when the compute of its
    phase ends (rules 3 and 9).
    """
    rows = table.rows
    owner = table.owner
    steps = Steps.of(table)
    # The place of each request among those of its job, and the step that it should be.
    place = np.arange(len(owner)) - rows.offset[owner]
    count = np.diff(steps.offset)
    exists = place < count[owner]
    step = np.where(exists, steps.offset[owner] + place, 0)
    wanted = np.zeros(len(owner), np.int64)
    if len(steps.phase):
        wanted = steps.phase[step]
    unfinished = np.isnan(rows.finish)
    last_of_job = place == np.diff(rows.offset)[owner] - 1
    misplaced = ~exists | (rows.phase != wanted) | (unfinished & ~last_of_job)
    wrong_job = np.zeros(len(table), bool)
    for k in marked(misplaced):
        name = table.name(owner[k])
        if wrong_job[owner[k]]:
            continue
        wrong_job[owner[k]] = True
        text = f"has a request of phase {rows.phase[k]} out of place"
        if exists[k] and rows.phase[k] != wanted[k]:
            text = f"needs a request of phase {wanted[k]} next, but has phase "
            text += f"{rows.phase[k]}"
        elif unfinished[k]:
            text = f"has a request after that of phase {rows.phase[k]}, which does not "
            text += "finish"
        yield violation("phases", name, text)
    for k in marked(unfinished & ~rows.killed[owner]):
        text = f"phase {rows.phase[k]} never finishes"
        yield violation("finish", table.name(owner[k]), text)
    right = ~wrong_job[owner]
    before = rows.start[owner]
    before[1:] = np.where(place[1:] > 0, table.last[:-1], before[1:])
    due = before + (steps.seconds[step] if len(steps.seconds) else 0.0)
    off = np.abs(rows.request - due)
    for k in marked(right & (off > table.slack[owner])):
        text = (
            f"phase {rows.phase[k]} is requested at {float(rows.request[k])!r}, its "
            f"compute ends at {float(due[k])!r}"
        )
        yield violation("request", table.name(owner[k]), text, float(off[k]))
    yield from _too_soon(table, right)
    yield from _ends(table, steps, wrong_job)


def _too_soon(table: Table, right: Flags) -> Iterator[Violation]:
    """Check that no request of those that are *right* ends sooner than at its peak
    rate.
    """
    rows = table.rows
    owner = table.owner
    least = table.asked / table.peak[owner]
    fastest = rows.request + least
    early = rows.finish < fastest - table.slack[owner] - RELATIVE * least
    for k in marked(right & early):
        text = (
            f"phase {rows.phase[k]} finishes at {float(rows.finish[k])!r}; at its peak "
            f"rate not before {float(fastest[k])!r}"
        )
        over = float(fastest[k] - rows.finish[k])
        yield violation("peak", table.name(owner[k]), text, over)


def _ends(table: Table, steps: "Steps", wrong: Flags) -> Iterator[Violation]:
    """Check that each job has all its requests and ends after its last phase, unless it
    was killed before.
    """
    rows = table.rows
    given = np.diff(rows.offset)
    lacks = given < np.diff(steps.offset)
    now = rows.start.copy()
    open_end = np.zeros(len(table), bool)
    some = given > 0
    final = rows.offset[1:][some] - 1
    now[some] = table.last[final]
    open_end[some] = np.isnan(rows.finish[final])
    following = np.where(lacks, steps.offset[:-1] + given, 0)
    seconds = steps.tail.copy()
    if len(steps.seconds):
        seconds = np.where(lacks, steps.seconds[following], steps.tail)
    now += seconds
    late = now >= rows.end - table.slack
    missing = lacks & ~open_end & ~wrong & ~(rows.killed & late)
    for k in marked(missing):
        text = f"needs a request of phase {steps.phase[following[k]]} next, but has "
        yield violation("phases", table.name(k), text + "nothing")
    ended = ~rows.killed & ~lacks & ~open_end & ~wrong
    for k in marked(ended & (np.abs(rows.end - now) > table.slack)):
        text = f"ends at {float(rows.end[k])!r}, its last phase at {float(now[k])!r}"
        yield violation("end", table.name(k), text, abs(float(rows.end[k] - now[k])))


JOB_CHECKS: tuple[Callable[[Terms, Table], Iterator[Violation]], ...] = (
    _times,
    _walltime,
    _partition,
    _numbered,
    _phases,
)
"""Checks that look at one job at a time."""


class Steps(NamedTuple):
    """The phases with I/O, which each have a request, as columns.

    Those of job k are the items from ``offset[k]`` to ``offset[k + 1] - 1``. ``phase``
    is the number of the phase in its job. ``seconds`` is the compute time from the end
    of the request before it, or from the start of the job. ``tail`` is the compute time
    of each job after its last request.
    """

    offset: Ints
    phase: Ints
    seconds: Floats
    tail: Floats

    @classmethod
    def of(cls, table: Table) -> "Steps":
        """Return the steps of all jobs."""
        first = table.first_phase
        places = np.flatnonzero(table.volume > 0)
        part, begins = parts_of(table)
        seconds = sums(table.compute, begins)
        offset = np.searchsorted(places, first)
        job = np.searchsorted(first, places, side="right") - 1
        last = first[1:] - 1
        tail = np.where(table.volume[last] > 0, 0.0, seconds[part[last]])
        return cls(offset, places - first[job], seconds[part[places]], tail)


def _check_nodes(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check that no node is used by two jobs at once (rules 18 and 32).

    The nodes in use are counted at every instant. If jobs list their nodes, no two
    running jobs may share one.
    """
    rows = table.rows
    most = terms.problem.machine.nodes
    held = np.flatnonzero(rows.end - rows.start > table.slack)
    begin = (rows.start + table.slack)[held]
    end = rows.end[held]
    # At one instant, jobs end before other jobs begin.
    order = np.argsort(np.concatenate([end, begin]), kind="stable")
    nodes = table.nodes[held]
    used = np.cumsum(np.concatenate([-nodes, nodes])[order])
    for at in marked((order >= len(held)) & (used > most)):
        k = held[order[at] - len(held)]
        text = (
            f"starts at {float(rows.start[k])!r} when {used[at]} of {most} nodes are "
            "in use"
        )
        yield violation("nodes", table.name(k), text, float(used[at] - most))
    yield from _overlaps(terms, table, held)


def _overlaps(terms: Terms, table: Table, held: Ints) -> Iterator[Violation]:
    """Yield a violation for each of the jobs *held* that uses a node before another job
    has left it.
    """
    owner, node = _places(terms, table, held)
    if not len(node):
        return
    begin = (table.rows.start + table.slack)[owner]
    order = np.lexsort((begin, node))
    owner, node, begin = owner[order], node[order], begin[order]
    end = table.rows.end[owner]
    shared = (node[1:] == node[:-1]) & (end[:-1] > begin[1:])
    told: set[int] = set()
    for at in marked(shared):
        k, other = int(owner[at + 1]), int(owner[at])
        if k not in told:
            told.add(k)
            text = (
                f"uses node {node[at + 1]} at {float(begin[at + 1])!r}, as does job "
                f"{table.name(other)}"
            )
            yield violation("overlap", table.name(k), text)


def _places(terms: Terms, table: Table, held: Ints) -> tuple[Ints, Ints]:
    """Return, for each node that one of the jobs *held* names, the job and the node; of
    a partition, the first node of each unit.
    """
    unit = terms.problem.machine.unit_nodes
    first = table.rows.first_node[held]
    placed = held[first != NO_NODE]
    counts = -(-table.nodes[placed] // unit)
    offset = offsets(counts)
    owner = np.repeat(placed, counts)
    inside = np.arange(offset[-1]) - np.repeat(offset[:-1], counts)
    node = table.rows.first_node[owner] + unit * inside
    if table.rows.nodes is None:
        return owner, node
    free = held[first == NO_NODE].tolist()
    lists = [table.rows.nodes[k] or () for k in free]
    numbers = np.array([node for listed in lists for node in listed], np.int64)
    jobs = np.repeat(np.array(free, np.int64), [*map(len, lists)])
    return np.concatenate([owner, jobs]), np.concatenate([node, numbers])


def _check_starts(table: Table) -> Iterator[Violation]:
    """Check that each job starts when some job arrives or ends (rule 1)."""
    times = np.sort(np.concatenate([table.submit, table.rows.end]))
    start = table.rows.start
    near = np.searchsorted(times, start - table.slack)
    reached = np.append(times, np.inf)[near]
    for k in marked(reached > start + table.slack):
        text = f"starts at {float(start[k])!r}, when no job arrives or ends"
        yield violation("start", table.name(k), text)


def metrics_of(terms: Terms, table: Table) -> Json:
    """Return all metrics of the jobs.

    If requests state no rates, ``useful_utilisation`` is a pair: its least and its
    largest possible value. A mean over no values is 0. Utilisation is None if all jobs
    are submitted at one instant.
    """
    rows = table.rows
    count = max(1, len(table))
    runtimes = rows.end - rows.start
    delays = np.concatenate([_delays(part) for part in table.blocks()])
    ideal = table.ideal
    alone = np.where(ideal > 0, ideal, 1.0)
    slowdowns = np.where(ideal > 0, runtimes / alone, 1.0)
    first_submit = float(table.submit.min(initial=np.inf)) if len(table) else 0.0
    last = float(table.submit.max(initial=0.0))
    metrics: Json = {
        "mean_wait_seconds": fsum(rows.start - table.submit) / count,
        "mean_response_seconds": fsum(rows.end - table.submit) / count,
        "mean_runtime_seconds": fsum(runtimes) / count,
        "mean_slowdown": fsum(slowdowns) / count,
        "max_slowdown": float(slowdowns.max(initial=0.0)),
        "makespan_seconds": float(rows.end.max(initial=first_submit)) - first_submit,
        "io_delay_seconds": fsum(delays) / count,
        "node_weighted_io_delay": fsum(table.nodes * delays)
        / max(1, int(table.nodes.sum())),
        "utilisation": None,
    }
    begin = first_submit + (last - first_submit) / 10
    capacity = terms.problem.machine.nodes * (last - begin)
    metrics["useful_utilisation"] = None
    if capacity <= 0:
        return metrics
    inside = np.maximum(0.0, np.minimum(rows.end, last) - np.maximum(rows.start, begin))
    metrics["utilisation"] = fsum(table.nodes * inside) / capacity
    parts = [_useful(part, begin, last) for part in table.blocks()]
    useful = np.concatenate(parts, axis=1)
    least, most = (fsum(table.nodes * side) / capacity for side in useful)
    metrics["useful_utilisation"] = (least, most)
    if rows.timed.all():
        metrics["useful_utilisation"] = least
    return metrics


def limits_of(terms: Terms, table: Table) -> dict[str, float]:
    """Return bounds on metrics that hold for every schedule of these jobs.

    The bounds on times are reached if no job waits and every request gets its peak
    rate.
    """
    least = table.ideal
    if terms.problem.options.kill:
        least = np.minimum(least, table.walltime)
    runtime = fsum(least) / max(1, len(table))
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


def _delays(table: Table) -> Floats:
    """Return the I/O delay of each job: the seconds of its I/O beyond those at the peak
    rate.
    """
    rows = table.rows
    took = rows.finish - rows.request - table.asked / table.peak[table.owner]
    done = ~np.isnan(rows.finish)
    return np.asarray(np.bincount(table.owner[done], took[done], len(table)), float)


def _overlap(since: Floats, until: Floats, begin: float, end: float) -> Floats:
    """Return the seconds of each span from *since* to *until* that lie between *begin*
    and *end*.
    """
    inside: Floats = np.minimum(until, end) - np.maximum(since, begin)
    return np.maximum(inside, 0.0)


def _useful(table: Table, begin: float, end: float) -> tuple[Floats, Floats]:
    """Return the least and the largest possible useful work of each job between *begin*
    and *end*, in seconds.

    Useful work is the time that the same work takes without congestion (rule 22).
    """
    rows = table.rows
    whole = (begin <= rows.start) & (rows.end <= end) & ~rows.killed
    compute = _computing(table, begin, end)
    found = []
    for moved in _moved(table, begin, end):
        inside = compute + np.bincount(table.owner, moved, len(table))
        found.append(np.where(whole, table.ideal, inside))
    least, most = found
    return least, most


def _computing(table: Table, begin: float, end: float) -> Floats:
    """Return the seconds between *begin* and *end* that each job computes."""
    rows = table.rows
    first = table.first_phase[:-1]
    if not len(first):
        return np.zeros(0)
    part, begins = parts_of(table)
    # The parts of a job follow each other with a request between two.
    job = np.searchsorted(first, begins, side="right") - 1
    number = np.arange(len(begins)) - part[first][job]
    given = number <= np.diff(rows.offset)[job]
    before = np.where(given & (number > 0), rows.offset[job] + number - 1, 0)
    base = np.where(given, rows.start[job], np.inf)
    if len(table.last):
        base = np.where(given & (number > 0), table.last[before], base)
    earlier = np.cumsum(table.compute) - table.compute
    now = base[part] + (earlier - earlier[begins][part])
    last = rows.end[job][part]
    inside = _overlap(now, np.minimum(now + table.compute, last), begin, end)
    return sums(inside, first)


def _moved(table: Table, begin: float, end: float) -> tuple[Floats, Floats]:
    """Return the least and the largest number of bytes that each request can have moved
    between *begin* and *end*.

    Both numbers of bytes are expressed as seconds at the request's peak rate.
    """
    rows = table.rows
    peak = table.peak[table.owner]
    moved = _overlap(rows.since, rows.until, begin, end) * rows.rate
    done = np.bincount(table.share, moved, len(peak)) / peak
    inside = _overlap(rows.request, table.last, begin, end)
    work = np.nan_to_num(table.asked) / peak
    sure = np.where(np.isnan(rows.finish), 0.0, work)  # the least that it moves in all
    least = np.maximum(0.0, sure - (table.last - rows.request - inside))
    most = np.minimum(work, inside)
    return np.where(rows.timed, done, least), np.where(rows.timed, done, most)
