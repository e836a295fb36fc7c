"""Containers of the plain engine: what is due, and who has a request.

For each function here numba takes its namesake of :mod:`ioopt.sim.batch_io.arrays`, which does the
same with arrays. Nothing here decides anything: the rules stand in the modules that call it.
"""

import math
from bisect import insort
from heapq import heapify, heappop, heappush

from ioopt.decisions.batch_io import DecideFunction, Number, View
from ioopt.sim.batch_io.state import (
    COMPUTING,
    ENDED,
    ActiveRequest,
    Moment,
    World,
)

COMPILED_AS = "ioopt.sim.batch_io.arrays"

# Times at which something is due.


def set_compute(w: World, m: Moment, r: ActiveRequest, time: Number) -> None:
    """The compute of *r* will end."""
    heappush(w.computing, (time, r.id, r.job))


def set_finish(w: World, m: Moment, r: ActiveRequest) -> None:
    """The request of *r* will finish when it is ``due``; where its rate is 0, never."""
    stamp = r.stamp = r.stamp + 1
    if r.rate:
        heappush(w.finishing, (r.due, r.id, stamp, r.job))


def set_finishes(w: World, m: Moment, moved: int, count: int) -> None:
    """:func:`set_finish` for the first of ``moved``, all being among the first *count* of ``out``."""
    jobs = w.jobs
    if 2 * moved > count:
        w.finishing[:] = [
            (r.due, r.id, r.stamp, r.job) for r in map(jobs.__getitem__, w.out) if r.rate
        ]
        heapify(w.finishing)
        return
    for k in range(moved):
        set_finish(w, m, jobs[w.moved[k]])


def set_target(w: World, m: Moment, r: ActiveRequest, target: Number) -> None:
    """The request of *r* will finish when the clock of shared storage comes to *target*."""
    heappush(w.finishing, (target, r.id, r.stamp, r.job))


def next_time(w: World, m: Moment) -> Number:
    """The earliest time of those set, or at which a walltime is over; infinity: there is none."""
    computing, jobs, time = w.computing, w.jobs, math.inf
    if not w.shared:
        # Hot: next_target, written out.
        finishing = w.finishing
        while finishing and finishing[0][2] != jobs[finishing[0][3]].stamp:
            heappop(finishing)
        if finishing:
            time = finishing[0][0]
    if w.kill:
        for heap in (computing, w.kills):
            while heap and jobs[heap[0][2]].status == ENDED:
                heappop(heap)
        if w.kills and w.kills[0][0] < time:
            time = w.kills[0][0]
    if computing and computing[0][0] < time:
        return computing[0][0]
    return time


def next_target(w: World, m: Moment) -> Number:
    """The least target that the clock has to reach."""
    finishing, jobs = w.finishing, w.jobs
    while finishing:
        target, _, stamp, job = finishing[0]
        if stamp == jobs[job].stamp:
            return target
        heappop(finishing)
    return math.inf


def collect(w: World, m: Moment, slack: Number) -> int:
    """Put the jobs that are due into ``due``: requests by job id, then computes by time; how many.

    Due is what was set for ``m.until`` or before, and targets up to *slack* beyond the clock.
    """
    jobs, finishing, computing, until = w.jobs, w.finishing, w.computing, m.until
    due, base, latest = w.due, 0, until
    due.clear()
    if w.shared:
        base, latest = m.clock, slack
    while finishing and finishing[0][0] - base <= latest:
        _, _, stamp, job = heappop(finishing)
        if stamp == jobs[job].stamp:
            due.append(job)
    if len(due) > 1:
        due.sort(key=lambda job: jobs[job].id)
    if w.buffered:
        writing = w.buffer.writing[: m.num_writing]
        due += sorted((j for j in writing if jobs[j].due <= until), key=lambda j: jobs[j].id)
    while computing and computing[0][0] <= until:
        job = heappop(computing)[2]
        if jobs[job].status == COMPUTING:
            due.append(job)
    return len(due)


def overdue(w: World, m: Moment) -> int:
    """Put the jobs whose walltime is over into ``due``, by time; how many."""
    w.due.clear()
    while w.kills and w.kills[0][0] <= m.until:
        w.due.append(heappop(w.kills)[2])
    return len(w.due)


def enter_machine(w: World, m: Moment, r: ActiveRequest) -> None:
    """*r* starts."""
    if w.kill:
        heappush(w.kills, (m.now + r.walltime, r.id, r.job))


def launch(w: World, m: Moment, r: ActiveRequest) -> None:
    """The queue has *r* start: whoever owns the queue says how."""
    w.launch(w, m, r)


def leave_machine(w: World, m: Moment, r: ActiveRequest) -> None:
    """*r* has ended: nothing of it is due any more."""
    r.stamp += 1


def open_stream(w: World, m: Moment, s: ActiveRequest) -> None:
    """The stream *s* is about to be issued."""


def close_stream(w: World, m: Moment, s: ActiveRequest) -> None:
    """The stream *s* is over."""
    s.stamp += 1


def forget(w: World, place: int) -> None:
    """Nothing is known of the request at *place*."""
    w.asked[place] = w.grant[place] = w.finish[place] = None if w.exact else math.nan


# Outstanding requests.


def enter(w: World, count: int, r: ActiveRequest) -> None:
    """Put *r* among the *count* jobs of ``out``, in FCFS order (rule 10)."""
    out = w.out
    if count:
        last = w.jobs[out[-1]]
        if last.requested > r.requested or (last.requested == r.requested and last.id > r.id):
            insort(out, r.job, key=lambda job: w.jobs[job].key)
            return
    out.append(r.job)


def remove(w: World, count: int, r: ActiveRequest) -> None:
    """Take *r* out of the *count* jobs of ``out``."""
    w.out.remove(r.job)


def clear(w: World) -> None:
    """Empty ``out``."""
    w.out.clear()


def ask(w: World, m: Moment, decide: DecideFunction, count: int) -> None:
    """Put the rates of the *count* jobs of ``out`` under the policy into ``rates``."""
    w.rates = decide(View(w.limits, m.now, [*map(w.jobs.__getitem__, w.out)]))


def note_span(w: World, m: Moment, place: int, since: Number, until: Number, rate: Number) -> None:
    """Record a span at a constant rate; place -1: rho from *since* on."""
    w.spans.append((place, since, until, rate))
