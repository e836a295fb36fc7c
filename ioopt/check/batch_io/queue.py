"""Checker of the batch queue: who starts at each pass, by the order and
backfilling of the instance.

For schedules without a plan that a replay could repeat. Flat machines that count
nodes, with the orders ``fcfs``, ``sjf`` and ``wfp``, without backfilling or with EASY
(rules 19, 20 and 30).
"""

import math
from collections.abc import Iterator, Sequence

from ioopt.check.batch_io.terms import SLACK_SECONDS, JobView, Terms
from ioopt.result import Violation, violation

OVERDUE_SECONDS = 300.0
"""A job that has outlived its walltime is predicted to end so
long from now (rule 20).
"""
SAME_SCORE = 1e-9
"""Scores that differ by a smaller share are one (rule 2)."""


def states_queue(terms: Terms) -> bool:
    """Whether the instance's queue is one that :func:`queue_violations` judges."""
    options, machine = terms.problem.options, terms.problem.machine
    usual = options.reservation == "count" and options.pass_ == "instant"
    usual = usual and options.estimate == "walltime"
    simple = options.queue in ("fcfs", "sjf", "wfp") and options.backfill in (
        "none",
        "easy",
    )
    return usual and simple and machine.allocation == "flat" and terms.closed


def queue_violations(terms: Terms, views: Sequence[JobView]) -> Iterator[Violation]:
    """Yield a violation for each pass in which other jobs start than the
    rules of the queue say.
    """
    line = sorted(views, key=lambda view: (view.job.submit_seconds, view.job.id))
    running: list[JobView] = []
    waiting: list[JobView] = []
    arrived = 0
    for now in _instants(views):
        until = now + _slack(now)
        running = [view for view in running if view.end > until]
        while arrived < len(line) and line[arrived].job.submit_seconds <= until:
            waiting.append(line[arrived])
            arrived += 1
        begun = [view for view in waiting if view.start <= until]
        if all(
            view.end > until for view in begun
        ):  # else the pass is run once more (rule 1)
            expected = _starting(terms, waiting, running, now)
            yield from _differences(expected, begun, now)
        running += begun
        waiting = [view for view in waiting if view.start > until]


def _differences(
    expected: Sequence[JobView], begun: Sequence[JobView], now: float
) -> Iterator[Violation]:
    """Yield who starts out of turn at a pass, else who has to start and does not."""
    for view in begun:
        if view not in expected:
            text = (
                f"starts at {now!r}, when it is not its turn by the rules of the queue"
            )
            yield violation("queue", str(view.job.id), text)
            return
    for view in expected:
        if view not in begun:
            text = f"does not start at {now!r}, when the queue has its nodes for it"
            yield violation("queue", str(view.job.id), text)
            return


def _slack(now: float) -> float:
    return SLACK_SECONDS + 64 * math.ulp(now)


def _instants(views: Sequence[JobView]) -> Iterator[float]:
    """Yield the times of the passes: arrivals and ends, those of one instant once."""
    times = sorted(
        time for view in views for time in (view.job.submit_seconds, view.end)
    )
    before = -math.inf
    for time in times:
        if time > before + _slack(before if math.isfinite(before) else 0.0):
            yield time
            before = time


def _starting(
    terms: Terms, waiting: Sequence[JobView], running: Sequence[JobView], now: float
) -> list[JobView]:
    """Return the waiting jobs that one pass at *now* starts beside the running ones."""
    free = terms.problem.machine.nodes - sum(view.nodes for view in running)
    line = _in_order(terms, waiting, now)
    begun: list[JobView] = []
    while line and line[0].nodes <= free:
        begun.append(line[0])
        free -= line[0].nodes
        line = line[1:]
    if len(line) < 2 or terms.problem.options.backfill == "none":
        return begun
    head, behind = line[0], line[1:]
    if terms.problem.options.backfill_order == "sjf":
        behind.sort(key=_shortest_first)
    until, beside = _reservation(head.nodes, free, [*running, *begun], now)
    for view in behind:
        if view.nodes > free:
            continue
        short = now + view.job.walltime_seconds <= until + 1e-9 + 4 * math.ulp(until)
        if not short and view.nodes > beside:
            continue
        begun.append(view)
        free -= view.nodes
        beside -= 0 if short else view.nodes
    return begun


def _reservation(
    nodes: int, free: int, running: Sequence[JobView], now: float
) -> tuple[float, int]:
    """Return when *nodes* are predicted to be free, and how many are
    free beside them then.
    """
    time = now
    for end, released in sorted(
        (_predicted_end(view, now), view.nodes) for view in running
    ):
        if free >= nodes and end > time + 1e-9 + 4 * math.ulp(time):
            break
        if free < nodes:
            time = max(time, end)
        free += released
    return time, free - nodes


def _predicted_end(view: JobView, now: float) -> float:
    end = view.start + view.job.walltime_seconds
    return end if end > now + 1e-9 + 4 * math.ulp(now) else now + OVERDUE_SECONDS


def _in_order(terms: Terms, waiting: Sequence[JobView], now: float) -> list[JobView]:
    """Return the waiting jobs, which stand by submission and id, in
    the order of the queue.
    """
    order = terms.problem.options.queue
    if order == "fcfs":
        return list(waiting)
    if order == "sjf":
        return sorted(waiting, key=_shortest_first)
    scores = [_score(view, now) for view in waiting]
    places = sorted(range(len(waiting)), key=lambda k: -scores[k])
    # Neighbours whose scores are one stand by submission and id.
    groups: list[list[int]] = []
    for k in places:
        if groups and scores[groups[-1][-1]] - scores[k] <= SAME_SCORE * scores[k]:
            groups[-1].append(k)
        else:
            groups.append([k])
    return [waiting[k] for group in groups for k in sorted(group)]


def _shortest_first(view: JobView) -> float:
    return view.job.walltime_seconds


def _score(view: JobView, now: float) -> float:
    """Return the WFP score: (wait / walltime)^3 times the nodes asked
    for (rules 4 and 19).
    """
    waited = max(0.0, now - view.job.submit_seconds)
    return float((waited / view.job.walltime_seconds) ** 3 * view.job.nodes)
