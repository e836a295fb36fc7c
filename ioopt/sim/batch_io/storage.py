"""Share the storage of the batch I/O simulator: decide which job transfers at what
rate.

Rules 5 to 10 apply. The progress of requests is updated lazily. A request keeps the
number of bytes that were left when its own rate last changed, and the time at which it
will finish. A decision reads or changes all outstanding requests only if their peak
rates together exceed the rate of the storage.

If all requests share the storage in proportion to their nodes (rule 7), every node
moves the same number of bytes. A virtual clock then counts the bytes that a node has
moved since the storage was last idle. An event or a decision changes only the request
concerned.
"""

import math

from ioopt.compiled import Box, by_reference
from ioopt.decisions.batch_io import GrantFunction, KernelView, slow_down
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.state import NOBODY, TRANSFERRING, Clock, Job, Tables


def use(run: Tables, clock: Clock, since: Number, until: Number, nodes: Number) -> None:
    """Add to the metrics the useful work of *nodes* nodes from *since* to *until*, in
    node-seconds (rule 22).

    During slowed I/O, *nodes* is the matching fraction of the job's nodes.
    """
    first = run.window_first
    last = run.window_last
    if until > last:
        until = last
    if since < first:
        since = first
    span = until - since
    if span > 0:
        clock.useful += span * nodes


def issue(run: Tables, clock: Clock, job: Job, place: int) -> None:
    """Issue the request of the phase *place* of *job*."""
    now = clock.now
    volume = run.volume[place]
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
    """Remove the request of *job* from the outstanding ones: it has finished or the job
    was killed.

    When the storage becomes idle, reset its sums to exactly 0.
    """
    clock.changed = 1
    if run.shared:
        clock.outstanding -= 1
        nodes = job.nodes
        clock.nodes -= nodes
        clock.weight -= nodes * nodes / job.peak
        if clock.outstanding == 0:
            clock.turned = run.limits.zero
            clock.weight = run.limits.zero
        return
    settle(run, clock, job)
    clock.load -= job.units
    remove(run, clock.outstanding, job)
    clock.outstanding -= 1


def apply_decision(run: Tables, clock: Clock, decide: GrantFunction) -> None:
    """Make one decision: set the rates of the outstanding requests (rule 9)."""
    if run.shared:
        set_rho(run, clock)
    elif run.ignores_limit or (run.full_when_fits and all_fit(run, clock)):
        grant_peaks(run, clock)
    else:
        clock.crowded = 1
        update_progress(run, clock)
        ask_and_set(run, clock, decide)
    clock.num_fresh = 0


def all_fit(run: Tables, clock: Clock) -> bool:
    """Return whether the storage can serve all outstanding requests at their peak
    rates.
    """
    if clock.outstanding <= 1:
        return True
    if run.limits.interference > 0:
        return False
    if not run.limits.own_peaks:
        return clock.load <= run.limits.capacity_units
    total = run.limits.zero
    for k in range(clock.outstanding):
        total += run.jobs[run.out[k]].peak
    return total <= run.limits.storage * run.limits.slack


def grant_peaks(run: Tables, clock: Clock) -> None:
    """Give every request its peak rate without calling the policy."""
    jobs = run.jobs
    now = clock.now
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
            # A request issued at this instant has moved nothing yet.
            job.rate = job.peak
            job.granted = 1
            run.grant[job.place] = now
            job.due = run.times[job.slot] = now + job.base / job.peak


def update_progress(run: Tables, clock: Clock) -> None:
    """Update, for every outstanding request, the bytes left and moved, which the policy
    may read.
    """
    jobs = run.jobs
    now = clock.now
    for k in range(clock.outstanding):
        job = jobs[run.out[k]]
        if job.rate > 0:
            left = job.base - job.rate * (now - job.anchor)
            job.left = left if left > 0 else 0
            job.moved = job.volume - job.left


def ask_and_set(run: Tables, clock: Clock, decide: GrantFunction) -> None:
    """Ask the policy for the rates of all requests, lower them by interference (rule
    29), and set them.
    """
    jobs = run.jobs
    out = run.out
    rates = run.rates
    count = clock.outstanding
    for k in range(count):
        rates[k] = run.limits.zero
    decide(by_reference(view_of(run, clock, out, count)), rates)
    if run.limits.interference > 0:
        slow_down(rates, count, run.limits.storage, run.limits.interference)
    for k in range(count):
        job = jobs[out[k]]
        if job.rate != rates[k]:
            change(run, clock, job, rates[k])


def change(run: Tables, clock: Clock, job: Job, rate: Number) -> None:
    """Let *job* transfer at *rate* bytes/s from now on, and set the time ``due`` at
    which its request ends.
    """
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
    """Account for the bytes that *job* has moved since its rate last changed."""
    rate = job.rate
    since = job.anchor
    now = clock.now
    if rate > 0 and now > since:
        left = job.base - rate * (now - since)
        job.base = job.left = left if left > 0 else 0
        job.moved = job.volume - job.base
        if run.record:
            note_span(run, clock, job.place, since, now, rate)
        use(run, clock, since, now, rate / job.peak * job.nodes)
    job.anchor = now


def set_clock(run: Tables, clock: Clock) -> None:
    """Advance the virtual clock of shared storage to the present time.

    The virtual clock counts the bytes that each node has moved. ``weight`` is the sum
    of N_i^2 / r_i over the outstanding requests, where N_i is the number of nodes of a
    request and r_i its peak rate. rho times ``weight`` is the number of nodes at useful
    work.
    """
    now = clock.now
    since = clock.since
    rho = clock.rho
    if rho > 0 and now > since:
        use(run, clock, since, now, rho * clock.weight)
        clock.turned += rho * (now - since)
    clock.since = now


def set_rho(run: Tables, clock: Clock) -> None:
    """Set the rate per node and record first grants (rule 7).

    The rate per node is rho = min(b, BW_max / N_S): b is the rate of one node, BW_max
    the rate of the storage, and N_S the number of nodes of all outstanding requests.
    """
    now = clock.now
    before = clock.rho
    for k in range(clock.num_fresh):
        job = run.jobs[run.fresh[k]]
        if job.status == TRANSFERRING:
            run.grant[job.place] = now
    rho = run.limits.zero
    if clock.outstanding:
        rho = run.limits.node_rate
        nodes = clock.nodes
        if rho * nodes > run.limits.storage:
            rho = run.limits.storage / nodes
    if rho != before:
        clock.rho = rho
        if run.record:
            note_span(run, clock, NOBODY, now, now, rho)


def enter(run: Tables, count: int, job: Job) -> None:
    """Insert *job* into the list ``out`` of *count* outstanding requests, in FCFS order
    (rule 10).
    """
    while count > 0:
        other = run.jobs[run.out[count - 1]]
        if other.requested < job.requested:
            break
        if other.requested == job.requested and other.id < job.id:
            break
        run.out[count] = other.job
        count -= 1
    run.out[count] = job.job


def remove(run: Tables, count: int, job: Job) -> None:
    """Remove *job* from the list ``out`` of *count* outstanding requests."""
    k = 0
    while run.out[k] != job.job:
        k += 1
    for place in range(k, count - 1):
        run.out[place] = run.out[place + 1]


def view_of(run: Tables, clock: Clock, out: Box, count: int) -> KernelView:
    """Return the policy's view of the first *count* requests of *out*, together with
    its work space.
    """
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
    """Record that request *place* moved at *rate* from *since* to *until*.

    If *place* is -1, record instead that the rate of every node is *rate* from *since*
    on.
    """
    spans = run.spans
    k = clock.num_spans
    spans[0][k] = place
    spans[1][k] = since
    spans[2][k] = until
    spans[3][k] = rate
    clock.num_spans += 1
