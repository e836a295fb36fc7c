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

from ioopt.decisions.batch_io import GrantFunction, slow_down
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.state import NOBODY, TRANSFERRING, Clock, Job, System


def use(run: System, clock: Clock, since: Number, until: Number, nodes: Number) -> None:
    """Add to the metrics the useful work of *nodes* nodes from *since* to *until*, in
    node-seconds (rule 22).

    During slowed I/O, *nodes* is the matching fraction of the job's nodes.
    """
    first = run.rules.window_first
    last = run.rules.window_last
    if until > last:
        until = last
    if since < first:
        since = first
    span = until - since
    if span > 0:
        clock.useful += span * nodes


def issue(run: System, clock: Clock, job: Job, place: int) -> None:
    """Issue the request of the phase *place* of *job*."""
    now = clock.now
    volume = run.volume[place]
    job.status = TRANSFERRING
    job.volume = volume
    job.place = place
    run.asked[place] = now
    run.fresh[clock.num_fresh] = job.number
    clock.num_fresh += 1
    clock.outstanding += 1
    clock.changed = True
    if run.rules.shared:
        nodes = job.nodes
        clock.nodes += nodes
        clock.weight += nodes * nodes / job.peak
        run.agenda.targets[job.slot] = clock.turned + volume / nodes
        return
    job.anchor = now
    job.base = volume
    job.rate = 0
    job.granted = False
    request = run.requests[job.number]
    request.requested = now
    request.left = volume
    request.moved = 0
    clock.load += job.units
    enter(run, clock.outstanding - 1, job)


def leave(run: System, clock: Clock, job: Job) -> None:
    """Remove the request of *job* from the outstanding ones: it has finished or the job
    was killed.

    When the storage becomes idle, reset its sums to exactly 0.
    """
    clock.changed = True
    if run.rules.shared:
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


def apply_decision(run: System, clock: Clock, decide: GrantFunction) -> None:
    """Make one decision: set the rates of the outstanding requests (rule 9)."""
    if run.rules.shared:
        set_rho(run, clock)
    elif run.rules.ignores_limit or (run.rules.full_when_fits and all_fit(run, clock)):
        grant_peaks(run, clock)
    else:
        clock.crowded = True
        update_progress(run, clock)
        ask_and_set(run, clock, decide)
    clock.num_fresh = 0


def all_fit(run: System, clock: Clock) -> bool:
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
        total += run.jobs[run.view.out[k]].peak
    return total <= run.limits.storage * run.limits.slack


def grant_peaks(run: System, clock: Clock) -> None:
    """Give every request its peak rate without calling the policy."""
    jobs = run.jobs
    out = run.view.out
    now = clock.now
    if clock.crowded:
        clock.crowded = False
        for k in range(clock.outstanding):
            job = jobs[out[k]]
            if job.rate != job.peak:
                change(run, clock, job, job.peak)
        return
    for k in range(clock.num_fresh):
        job = jobs[run.fresh[k]]
        if job.status == TRANSFERRING:
            # A request issued at this instant has moved nothing yet.
            job.rate = job.peak
            job.granted = True
            job.due = now + job.base / job.peak
            run.grant[job.place] = now
            run.agenda.times[job.slot] = job.due


def update_progress(run: System, clock: Clock) -> None:
    """Update, for every outstanding request, the bytes left and moved, which the policy
    may read.
    """
    out = run.view.out
    now = clock.now
    for k in range(clock.outstanding):
        job = run.jobs[out[k]]
        if job.rate > 0:
            request = run.requests[job.number]
            left = job.base - job.rate * (now - job.anchor)
            request.left = left if left > 0 else 0
            request.moved = job.volume - request.left


def ask_and_set(run: System, clock: Clock, decide: GrantFunction) -> None:
    """Ask the policy for the rates of all requests, lower them by interference (rule
    29), and set them.
    """
    jobs = run.jobs
    view = run.view
    out = view.out
    rates = run.rates
    count = clock.outstanding
    for k in range(count):
        rates[k] = run.limits.zero
    view.size = count
    view.now = clock.now
    decide(view, rates)
    if run.limits.interference > 0:
        slow_down(rates, count, run.limits.storage, run.limits.interference)
    for k in range(count):
        job = jobs[out[k]]
        if job.rate != rates[k]:
            change(run, clock, job, rates[k])


def change(run: System, clock: Clock, job: Job, rate: Number) -> None:
    """Let *job* transfer at *rate* bytes/s from now on, and set the time ``due`` at
    which its request ends.
    """
    settle(run, clock, job)
    job.rate = rate
    if rate > 0:
        job.due = clock.now + job.base / rate
        if not job.granted:
            job.granted = True
            run.grant[job.place] = clock.now
    else:
        job.due = math.inf
    run.agenda.times[job.slot] = job.due


def settle(run: System, clock: Clock, job: Job) -> None:
    """Account for the bytes that *job* has moved since its rate last changed."""
    rate = job.rate
    since = job.anchor
    now = clock.now
    if rate > 0 and now > since:
        left = job.base - rate * (now - since)
        job.base = left if left > 0 else 0
        request = run.requests[job.number]
        request.left = job.base
        request.moved = job.volume - job.base
        if run.rules.record:
            note_span(run, clock, job.place, since, now, rate)
        use(run, clock, since, now, rate / job.peak * job.nodes)
    job.anchor = now


def set_clock(run: System, clock: Clock) -> None:
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


def set_rho(run: System, clock: Clock) -> None:
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
        if run.rules.record:
            note_span(run, clock, NOBODY, now, now, rho)


def enter(run: System, count: int, job: Job) -> None:
    """Insert *job* into the list ``out`` of *count* outstanding requests, in FCFS order
    (rule 10).
    """
    out = run.view.out
    asked = run.requests[job.number].requested
    while count > 0:
        j = out[count - 1]
        requested = run.requests[j].requested
        if requested < asked:
            break
        if requested == asked and run.jobs[j].id < job.id:
            break
        out[count] = j
        count -= 1
    out[count] = job.number


def remove(run: System, count: int, job: Job) -> None:
    """Remove *job* from the list ``out`` of *count* outstanding requests."""
    out = run.view.out
    k = 0
    while out[k] != job.number:
        k += 1
    for place in range(k, count - 1):
        out[place] = out[place + 1]


def note_span(
    run: System, clock: Clock, place: int, since: Number, until: Number, rate: Number
) -> None:
    """Record that request *place* moved at *rate* from *since* to *until*.

    If *place* is -1, record instead that the rate of every node is *rate* from *since*
    on.
    """
    spans = run.spans
    k = clock.num_spans
    spans.place[k] = place
    spans.since[k] = since
    spans.until[k] = until
    spans.rate[k] = rate
    clock.num_spans += 1
