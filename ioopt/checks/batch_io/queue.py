"""Check the batch queue: which jobs start at each scheduling pass.

The check is used for schedules without a plan to replay. It supports flat machines
without node numbers, the queue orders ``fcfs``, ``sjf`` and ``wfp``, and either EASY
backfilling or none (rules 19, 20, 30).
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ioopt.checks.batch_io.table import Table
from ioopt.checks.batch_io.terms import SLACK_SECONDS, Terms
from ioopt.problems.base import JobId
from ioopt.result import Violation, violation

OVERDUE_SECONDS = 300.0
"""Seconds that a job past its walltime is predicted to run on (rule 20)."""
SAME_SCORE = 1e-9
"""Relative difference below which scores are equal (rule 2)."""


class Begun(NamedTuple):
    """A job with its times in seconds: those of the instance, and those in the
    schedule. ``nodes`` is its legal allocation for the ``asked_nodes``.
    """

    id: JobId
    submit: float
    walltime: float
    asked_nodes: int
    nodes: int
    start: float
    end: float


def states_queue(terms: Terms) -> bool:
    """Return whether :func:`queue_violations` supports the queue options of the
    instance.
    """
    options = terms.problem.options
    return (
        terms.closed
        and terms.problem.machine.allocation == "flat"
        and options.backfill in ("none", "easy")
        and options.reservation == "count"
        and options.pass_ == "instant"
        and options.estimate == "walltime"
    )


def queue_violations(terms: Terms, table: Table) -> Iterator[Violation]:
    """Yield a violation for each scheduling pass that does not start exactly the jobs
    it should start.
    """
    columns = (
        table.submit,
        table.walltime,
        table.asked_nodes,
        table.nodes,
        table.rows.start,
        table.rows.end,
    )
    times = zip(table.ids, *(column.tolist() for column in columns))
    views = [Begun(*found) for found in times]
    line = sorted(views, key=lambda view: (view.submit, view.id))
    running: list[Begun] = []
    waiting: list[Begun] = []
    arrived = 0
    for now in _instants(views):
        until = now + _slack(now)
        running = [view for view in running if view.end > until]
        while arrived < len(line) and line[arrived].submit <= until:
            waiting.append(line[arrived])
            arrived += 1
        begun = [view for view in waiting if view.start <= until]
        # A job that ends at the instant of its start makes the pass run again (rule 1),
        # which is not checked.
        if all(view.end > until for view in begun):
            expected = _starting(terms, waiting, running, now)
            yield from _differences(expected, begun, now)
        running += begun
        waiting = [view for view in waiting if view.start > until]


def _differences(
    expected: Sequence[Begun], begun: Sequence[Begun], now: float
) -> Iterator[Violation]:
    """Yield at most one violation for the pass at *now*.

    The violation names the first job that started out of turn. If there is no such job,
    it names the first job that should have started but did not.
    """
    early = f"starts at {now!r}, when it is not its turn by the rules of the queue"
    late = f"does not start at {now!r}, although it is its turn and nodes are free"
    for views, right, text in ((begun, expected, early), (expected, begun, late)):
        for view in views:
            if view not in right:
                yield violation("queue", str(view.id), text)
                return


def _slack(now: float) -> float:
    return SLACK_SECONDS + 64 * math.ulp(now)


def _instants(views: Sequence[Begun]) -> Iterator[float]:
    """Yield the times of the scheduling passes, which are the arrivals and ends of
    jobs, without repetitions.
    """
    times = [view.submit for view in views]
    times += [view.end for view in views]
    times.sort()
    until = -math.inf
    for time in times:
        if time > until:
            yield time
            until = time + _slack(time)


def _starting(
    terms: Terms, waiting: Sequence[Begun], running: Sequence[Begun], now: float
) -> list[Begun]:
    """Return the *waiting* jobs that a pass at *now* starts, while the *running* jobs
    hold their nodes.
    """
    free = terms.problem.machine.nodes - sum(view.nodes for view in running)
    line = _in_order(terms, waiting, now)
    begun: list[Begun] = []
    while line and line[0].nodes <= free:
        begun.append(line[0])
        free -= line[0].nodes
        line = line[1:]
    if len(line) < 2 or terms.problem.options.backfill == "none":
        return begun
    head = line[0]
    behind = line[1:]
    if terms.problem.options.backfill_order == "sjf":
        behind.sort(key=_shortest_first)
    until, beside = _reservation(head.nodes, free, [*running, *begun], now)
    for view in behind:
        if view.nodes > free:
            continue
        short = now + view.walltime <= until + 1e-9 + 4 * math.ulp(until)
        if not short and view.nodes > beside:
            continue
        begun.append(view)
        free -= view.nodes
        if not short:
            beside -= view.nodes
    return begun


def _reservation(
    nodes: int, free: int, running: Sequence[Begun], now: float
) -> tuple[float, int]:
    """Return the time when *nodes* nodes are predicted to be free, and the number of
    further nodes that are free then.

    *free* is the number of nodes free now.
    """
    time = now
    ends = sorted((_predicted_end(view, now), view.nodes) for view in running)
    for end, returned in ends:
        if free >= nodes and end > time + 1e-9 + 4 * math.ulp(time):
            break
        if free < nodes:
            time = max(time, end)
        free += returned
    return time, free - nodes


def _predicted_end(view: Begun, now: float) -> float:
    """Predict the end of a running job, in seconds (rule 20)."""
    end = view.start + view.walltime
    if end > now + 1e-9 + 4 * math.ulp(now):
        return end
    return now + OVERDUE_SECONDS


def _in_order(terms: Terms, waiting: Sequence[Begun], now: float) -> list[Begun]:
    """Return the waiting jobs in the order of the queue.

    *waiting* must be sorted by (submission, id).
    """
    order = terms.problem.options.queue
    if order == "fcfs":
        return list(waiting)
    if order == "sjf":
        return sorted(waiting, key=_shortest_first)
    scores = [_score(view, now) for view in waiting]
    places = sorted(range(len(waiting)), key=lambda k: -scores[k])
    # Jobs next to each other in this order that have equal scores are sorted by
    # submission and id.
    groups: list[list[int]] = []
    for k in places:
        if groups and scores[groups[-1][-1]] - scores[k] <= SAME_SCORE * scores[k]:
            groups[-1].append(k)
        else:
            groups.append([k])
    line: list[Begun] = []
    for group in groups:
        line += [waiting[k] for k in sorted(group)]
    return line


def _shortest_first(view: Begun) -> float:
    return view.walltime


def _score(view: Begun, now: float) -> float:
    """Return the WFP score of a job: (wait / walltime)^3 times the number of requested
    nodes (rules 4, 19).
    """
    waited = max(0.0, now - view.submit)
    return float((waited / view.walltime) ** 3 * view.asked_nodes)
