"""The storage of the batch I/O simulator: who transfers at what rate (rules 5 to 10).

Progress is lazy. A request keeps its bytes left at the last change of its own rate and
the instant at which it will finish, and a decision touches the outstanding requests
only while they do not all fit. Where everybody shares by nodes (rule 7), every node
moves the same number of bytes: one virtual clock counts them since the storage was last
idle, and neither an event nor a decision touches any request but its own.
"""

import math

from ioopt.compiled import Box, by_reference
from ioopt.decisions.batch_io import GrantFunction, KernelView, slow_down
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.buffer import date_streams, limit_streams
from ioopt.sim.batch_io.state import NOBODY, STAGING, TRANSFERRING, Clock, Job, Tables


def use(run: Tables, clock: Clock, since: Number, until: Number, nodes: Number) -> None:
    """*nodes* (a fraction of them where I/O is slowed) do useful work:
    rule 22, node-seconds.
    """
    first, last = run.window_first, run.window_last
    span = (until if until < last else last) - (since if since > first else first)
    if span > 0:
        clock.useful += span * nodes


def issue(run: Tables, clock: Clock, job: Job, place: int) -> None:
    """The request of the phase at *place* becomes outstanding."""
    now, volume = clock.now, run.volume[place]
    job.status = TRANSFERRING
    job.volume = volume
    job.place = place
    run.asked[place] = now
    run.fresh[clock.num_fresh] = job.job
    clock.num_fresh += 1
    clock.outstanding += 1
    clock.changed = 1
    if run.shared:
        nodes = job.nodes
        clock.nodes += nodes
        clock.weight += nodes * nodes / job.peak
        run.targets[job.slot] = clock.turned + volume / nodes
        return
    job.requested = job.anchor = now
    job.base = job.left = volume
    job.moved = job.rate = 0
    job.granted = 0
    clock.load += job.units
    enter(run, clock.outstanding - 1, job)


def leave(run: Tables, clock: Clock, job: Job) -> None:
    """The request of *job* finished or was killed; an idle storage sets its
    sums back to exactly 0.
    """
    clock.changed = 1
    if run.shared:
        clock.outstanding -= 1
        nodes = job.nodes
        clock.nodes -= nodes
        clock.weight -= nodes * nodes / job.peak
        if clock.outstanding == 0:
            clock.turned = clock.weight = clock.turned * 0
        return
    settle(run, clock, job)
    clock.load -= job.units
    remove(run, clock.outstanding, job)
    clock.outstanding -= 1


def apply_decision(run: Tables, clock: Clock, decide: GrantFunction) -> None:
    """One decision (rule 9)."""
    if run.shared:
        set_rho(run, clock)
    elif run.ignores_limit or (run.full_when_fits and all_fit(run, clock)):
        grant_peaks(run, clock)
    else:
        clock.crowded = 1
        update_progress(run, clock)
        if run.buffered:
            date_streams(run, clock)
        ask_and_set(run, clock, decide)
    clock.num_fresh = 0


def all_fit(run: Tables, clock: Clock) -> bool:
    """Whether the storage gives all outstanding requests their peaks at once."""
    if clock.outstanding <= 1:
        return True
    if run.limits.interference > 0 or (run.buffered and run.buffer.shared):
        return False
    if not run.limits.own_peaks:
        return clock.load <= run.limits.capacity_units
    total = run.limits.storage * 0
    for k in range(clock.outstanding):
        total += run.jobs[run.out[k]].peak
    return total <= run.limits.storage * run.limits.slack


def grant_peaks(run: Tables, clock: Clock) -> None:
    """While all peaks fit, a policy that then grants them all is not asked."""
    jobs, now = run.jobs, clock.now
    if clock.crowded:
        clock.crowded = 0
        for k in range(clock.outstanding):
            job = jobs[run.out[k]]
            if job.rate != job.peak:
                change(run, clock, job, job.peak)
        return
    for k in range(clock.num_fresh):
        job = jobs[run.fresh[k]]
        if job.status == TRANSFERRING:
            # Issued now, it has nothing to book.
            job.rate = job.peak
            job.granted = 1
            run.grant[job.place] = now
            job.due = run.times[job.slot] = now + job.base / job.peak


def update_progress(run: Tables, clock: Clock) -> None:
    """Bring what the policy may look at, bytes left and moved, to now."""
    jobs, now = run.jobs, clock.now
    for k in range(clock.outstanding):
        job = jobs[run.out[k]]
        if job.rate > 0:
            left = job.base - job.rate * (now - job.anchor)
            job.left = left if left > 0 else 0
            job.moved = job.volume - job.left


def ask_and_set(run: Tables, clock: Clock, decide: GrantFunction) -> None:
    """Let the policy decide, and set what it changes, less what the storage
    keeps (rules 29 and 42).
    """
    jobs, out, rates, count = run.jobs, run.out, run.rates, clock.outstanding
    for k in range(count):
        rates[k] = run.limits.storage * 0
    decide(by_reference(view_of(run, clock, out, count)), rates)
    if run.buffered and run.buffer.shared:
        limit_streams(run, count)
    if run.limits.interference > 0:
        slow_down(rates, count, run.limits.storage, run.limits.interference)
    for k in range(count):
        job = jobs[out[k]]
        if job.rate != rates[k]:
            change(run, clock, job, rates[k])


def change(run: Tables, clock: Clock, job: Job, rate: Number) -> None:
    """From now on *job* transfers at *rate*, and so will be ``due``."""
    settle(run, clock, job)
    job.rate = rate
    if rate > 0:
        job.due = clock.now + job.base / rate
        if not job.granted:
            job.granted = 1
            run.grant[job.place] = clock.now
    else:
        job.due = math.inf
    run.times[job.slot] = job.due


def settle(run: Tables, clock: Clock, job: Job) -> None:
    """Book what *job* moved since its rate last changed."""
    rate, since, now = job.rate, job.anchor, clock.now
    if rate > 0 and now > since:
        left = job.base - rate * (now - since)
        job.base = job.left = left if left > 0 else 0
        job.moved = job.volume - job.base
        if run.record:
            note_span(run, clock, job.place, since, now, rate)
        # The nodes work on what they move (rule 48): of streams they
        # wait for stage-ins.
        buffer = run.buffer
        if (
            not run.buffered
            or job.job < buffer.jobs
            or (not buffer.early and run.jobs[job.job - buffer.jobs].status == STAGING)
        ):
            use(run, clock, since, now, rate / job.peak * job.nodes)
    job.anchor = now


def set_clock(run: Tables, clock: Clock) -> None:
    """Bring the clock of shared storage, in bytes a node, to now.

    ``weight`` is the sum of N_i^2 / r_i, which turns rho into nodes at useful work.
    """
    now, since, rho = clock.now, clock.since, clock.rho
    if rho > 0 and now > since:
        use(run, clock, since, now, rho * clock.weight)
        clock.turned += rho * (now - since)
    clock.since = now


def set_rho(run: Tables, clock: Clock) -> None:
    """rho = min(b, BW_max / N_S) (rule 7); new requests have their first grant."""
    now, before = clock.now, clock.rho
    for k in range(clock.num_fresh):
        job = run.jobs[run.fresh[k]]
        if job.status == TRANSFERRING:
            run.grant[job.place] = now
    rho = before * 0
    if clock.outstanding:
        rho, nodes = run.limits.node_rate, clock.nodes
        if rho * nodes > run.limits.storage:
            rho = run.limits.storage / nodes
    if rho != before:
        clock.rho = rho
        if run.record:
            note_span(run, clock, NOBODY, now, now, rho)


def forget(run: Tables, place: int) -> None:
    """Nothing is known of the request at *place*."""
    run.asked[place] = run.grant[place] = run.finish[place] = math.nan


def enter(run: Tables, count: int, job: Job) -> None:
    """Put *job* among the *count* jobs of ``out``, in FCFS order (rule 10)."""
    while count > 0:
        other = run.jobs[run.out[count - 1]]
        if other.requested < job.requested or (
            other.requested == job.requested and other.id < job.id
        ):
            break
        run.out[count] = other.job
        count -= 1
    run.out[count] = job.job


def remove(run: Tables, count: int, job: Job) -> None:
    """Take *job* out of the *count* jobs of ``out``."""
    k = 0
    while run.out[k] != job.job:
        k += 1
    for place in range(k, count - 1):
        run.out[place] = run.out[place + 1]


def view_of(run: Tables, clock: Clock, out: Box, count: int) -> KernelView:
    """What a policy sees of the first *count* of *out*, and its room to work in."""
    room = run.room
    return KernelView(
        run.jobs,
        out,
        count,
        clock.now,
        run.limits,
        room.top,
        room.power,
        room.keys,
        room.order,
        room.depths,
        room.sizes,
        room.finishes,
        room.bits,
        room.width,
        room.loads,
        room.values,
        room.rows,
    )


def note_span(
    run: Tables, clock: Clock, place: int, since: Number, until: Number, rate: Number
) -> None:
    """Record a span at a constant rate; place -1: rho from *since* on."""
    spans, k = run.spans, clock.num_spans
    spans[0][k], spans[1][k], spans[2][k], spans[3][k] = place, since, until, rate
    clock.num_spans += 1
