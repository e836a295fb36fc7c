"""Containers of the compiled engine: for each of :mod:`ioopt.sim.batch_io.plain` its namesake in arrays.

What is due next is found by reading the times of all running jobs in one piece, which at the sizes of
real machines is cheaper than a heap. Times and targets stand by the ``slot`` of a job in ``running``.
Kernels allocate nothing: what they work in stands in ``w``.
"""

import math
from typing import Any

from ioopt.compiled import tuned
from ioopt.compiled.by_reference import by_reference
from ioopt.decisions.batch_io import KernelView
from ioopt.sim.batch_io.jobs import start
from ioopt.sim.batch_io.state import COMPUTING


def set_compute(w: Any, m: Any, r: Any, time: float) -> None:
    """The compute of *r* will end."""
    r.due = time
    w.times[r.slot] = time


def set_finish(w: Any, m: Any, r: Any) -> None:
    """The request of *r* will finish when it is ``due``."""
    w.times[r.slot] = r.due


def set_finishes(w: Any, m: Any, moved: int, count: int) -> None:
    """:func:`set_finish` for the first of ``moved``."""
    for k in range(moved):
        set_finish(w, m, w.jobs[w.moved[k]])


def set_target(w: Any, m: Any, r: Any, target: float) -> None:
    """The request of *r* will finish when the clock of shared storage comes to *target*."""
    w.targets[r.slot] = target


def next_time(w: Any, m: Any) -> float:
    """The earliest time of those set, or at which a walltime is over; infinity: there is none."""
    time = least(w.times, m.num_running)
    if m.num_streams:
        time = min(time, least(w.times[w.buffer.jobs :], m.num_streams))
    if w.kill:
        for k in range(m.num_running):
            r = w.jobs[w.running[k]]
            time = min(time, r.start + r.walltime)
    return time


def next_target(w: Any, m: Any) -> float:
    """The least target that the clock has to reach."""
    return least(w.targets, m.num_running)


@tuned(fastmath={"nnan", "nsz"})
def least(values: Any, count: int) -> float:
    """The least of the first *count* values: without NaN and signs of zero, several at once."""
    result = math.inf
    for k in range(count):
        result = min(result, values[k])
    return result


def collect(w: Any, m: Any, slack: float) -> int:
    """Put the jobs that are due into ``due``: requests by job id, then computes by time; how many."""
    times, targets, until, found = w.times, w.targets, m.until, 0
    for k in range(m.num_running):
        if times[k] <= until or (w.shared and targets[k] - m.clock <= slack):
            put_due(w, found, w.running[k])
            times[k] = targets[k] = math.inf
            found += 1
    if w.buffered:
        first = w.buffer.jobs
        for k in range(first, first + m.num_streams):
            if times[k] <= until:
                put_due(w, found, w.running[k])
                times[k] = math.inf
                found += 1
        for k in range(m.num_writing):
            r = w.jobs[w.buffer.writing[k]]
            if r.due <= until:
                put_due(w, found, r.job)
                found += 1
    return found


def put_due(w: Any, count: int, job: int) -> None:
    """Put *job* among the *count* jobs of ``due``."""
    while count > 0 and comes_before(w.jobs[job], w.jobs[w.due[count - 1]]):
        w.due[count] = w.due[count - 1]
        count -= 1
    w.due[count] = job


def comes_before(one: Any, other: Any) -> bool:
    """Whether *one* has its turn before *other*, which is due at the same instant."""
    if one.status != other.status:
        return one.status > other.status
    if one.status == COMPUTING and one.due != other.due:
        return one.due < other.due
    return one.id < other.id


def overdue(w: Any, m: Any) -> int:
    """Put the jobs whose walltime is over into ``due``, by time; how many."""
    found = 0
    for k in range(m.num_running):
        r = w.jobs[w.running[k]]
        end = r.start + r.walltime
        if end <= m.until:
            at = found
            while at > 0:
                other = w.jobs[w.due[at - 1]]
                time = other.start + other.walltime
                if time < end or (time == end and other.id < r.id):
                    break
                w.due[at] = w.due[at - 1]
                at -= 1
            w.due[at] = r.job
            found += 1
    return found


def enter_machine(w: Any, m: Any, r: Any) -> None:
    """*r* starts, in the next slot."""
    r.slot = m.num_running
    w.running[r.slot] = r.job
    m.num_running += 1


def launch(w: Any, m: Any, r: Any) -> None:
    """The queue has *r* start."""
    start(w, m, r)


def leave_machine(w: Any, m: Any, r: Any) -> None:
    """*r* has ended; the last running job takes its slot."""
    m.num_running -= 1
    slot, last = r.slot, m.num_running
    w.running[slot] = w.running[last]
    w.jobs[w.running[slot]].slot = slot
    w.times[slot], w.targets[slot] = w.times[last], w.targets[last]
    w.times[last] = w.targets[last] = math.inf


def open_stream(w: Any, m: Any, s: Any) -> None:
    """The stream *s* takes the next slot behind those of jobs."""
    s.slot = w.buffer.jobs + m.num_streams
    w.running[s.slot] = s.job
    m.num_streams += 1


def close_stream(w: Any, m: Any, s: Any) -> None:
    """The stream *s* is over; the last one takes its slot."""
    m.num_streams -= 1
    slot, last = s.slot, w.buffer.jobs + m.num_streams
    w.running[slot] = w.running[last]
    w.jobs[w.running[slot]].slot = slot
    w.times[slot] = w.times[last]
    w.times[last] = math.inf


def forget(w: Any, place: int) -> None:
    """Nothing is known of the request at *place*."""
    w.asked[place] = w.grant[place] = w.finish[place] = math.nan


def enter(w: Any, count: int, r: Any) -> None:
    """Put *r* among the *count* jobs of ``out``, in FCFS order (rule 10)."""
    while count > 0:
        other = w.jobs[w.out[count - 1]]
        if other.requested < r.requested or (other.requested == r.requested and other.id < r.id):
            break
        w.out[count] = other.job
        count -= 1
    w.out[count] = r.job


def remove(w: Any, count: int, r: Any) -> None:
    """Take *r* out of the *count* jobs of ``out``."""
    k = 0
    while w.out[k] != r.job:
        k += 1
    for place in range(k, count - 1):
        w.out[place] = w.out[place + 1]


def clear(w: Any) -> None:
    """Empty ``out``, whose length its user knows."""


def ask(w: Any, m: Any, decide: Any, count: int) -> None:
    """Put the rates of the *count* jobs of ``out`` under the policy into ``rates``."""
    for k in range(count):
        w.rates[k] = 0.0
    view = KernelView(
        w.jobs, w.out, count, m.now, w.storage, w.node_rate, w.capacity_units, w.saturating_units,
        w.own_peaks, w.top, w.keys, w.order, w.depths, w.sizes, w.finishes, w.bits, w.loads,
        w.values, w.rows,
    )  # fmt: skip
    decide(by_reference(view), w.rates)


def note_span(w: Any, m: Any, place: int, since: float, until: float, rate: float) -> None:
    """Record a span at a constant rate; place -1: rho from *since* on."""
    span = w.spans[m.num_spans]
    span.place, span.since, span.until, span.rate = place, since, until, rate
    m.num_spans += 1
