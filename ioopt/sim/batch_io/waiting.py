"""Track the waiting jobs in queue order, and which units of the machine are free."""

from ioopt.decisions.ordering import Number, below, close, sort_by
from ioopt.sim.batch_io.boxes import predicted_end
from ioopt.sim.batch_io.state import WAITING, Clock, Job, System


def arrive(run: System, clock: Clock, job: Job) -> None:
    """Append *job* to the waiting jobs."""
    run.line[clock.waiting] = job.number
    clock.waiting += 1


def smallest(run: System, clock: Clock) -> int:
    """Return the number of units of the smallest waiting job."""
    units = run.jobs[run.line[0]].units
    for k in range(1, clock.waiting):
        units = min(units, run.jobs[run.line[k]].units)
    return units


def line_up(run: System, clock: Clock) -> None:
    """Sort the waiting jobs in queue order; ties are broken by (submit, id).

    Job numbers are in that order, so they serve as the tie-break.
    """
    clock.lined_up = clock.waiting
    if not run.rules.wfp:
        if run.rules.short_first:
            line_up_rest(run, clock, 0)
        elif run.rules.short_behind:
            for k in range(clock.waiting):
                run.keys[run.line[k]] = run.line[k]
            sort_by(run.keys, run.line, 0, clock.waiting)
        return
    line_up_scores(run, clock)


def line_up_scores(run: System, clock: Clock) -> None:
    """Sort the waiting jobs by WFP score, highest first.

    The order changes little from one pass to the next, so it is kept and repaired by
    insertion. Keys are rounded only if some are close, and in a second loop. In a
    single loop, compilers would compute the logarithms of the rounding for every key.
    """
    jobs = run.line
    count = clock.waiting
    keys = run.keys
    near = False
    for k in range(count):
        j = jobs[k]
        job = run.jobs[j]
        wait = (clock.now - job.submit) / job.walltime
        key = wait * wait * wait * job.asked_nodes
        at = k
        while at > 0:
            before = keys[at - 1]
            near = near or close(key, before)
            if key < before:
                break
            if key == before and jobs[at - 1] < j:
                break
            jobs[at] = jobs[at - 1]
            keys[at] = before
            at -= 1
        jobs[at] = j
        keys[at] = key
    if near and not run.limits.exact:
        mend_close(jobs, keys, count)


def line_up_rest(run: System, clock: Clock, turn: int) -> None:
    """Sort the jobs in ``line`` from position *turn* on by walltime, then by job number
    (rule 30).
    """
    for k in range(turn, clock.lined_up):
        run.keys[run.line[k]] = run.jobs[run.line[k]].walltime
    sort_by(run.keys, run.line, turn, clock.lined_up)


def mend_close(jobs: list[int], keys: list[Number], count: int) -> None:
    """Sort the first *count* of *jobs* by rounded key, highest first; ties are broken
    by job number.
    """
    for k in range(count):
        j = jobs[k]
        key = keys[k]
        at = k
        while at > 0:
            before = keys[at - 1]
            if below(key, before) or (jobs[at - 1] < j and not below(before, key)):
                break
            jobs[at] = jobs[at - 1]
            keys[at] = before
            at -= 1
        jobs[at] = j
        keys[at] = key


def close_pass(run: System, clock: Clock) -> None:
    """Remove from the queue the jobs that no longer wait."""
    kept = 0
    for k in range(clock.waiting):
        j = run.line[k]
        if run.jobs[j].status == WAITING:
            run.line[kept] = j
            kept += 1
    clock.waiting = kept


def occupy(run: System, clock: Clock, job: Job, place: int) -> None:
    """Give *job* its units; on a machine with partitions these are the units from
    *place* on.
    """
    clock.free -= job.units
    if run.rules.partition:
        job.block = place
        for unit in range(place, place + job.units):
            run.units.busy[unit] = 1
    elif run.rules.numbered:
        units = run.units
        own = job.number * units.words
        for word in range(units.words):
            units.in_use[word] |= units.chosen[own + word]


def vacate(run: System, clock: Clock, job: Job) -> None:
    """Free the units of *job*."""
    clock.free += job.units
    if run.rules.partition:
        for unit in range(job.block, job.block + job.units):
            run.units.busy[unit] = 0
    elif run.rules.numbered:
        units = run.units
        own = job.number * units.words
        for word in range(units.words):
            units.in_use[word] ^= units.chosen[own + word]


def find_place(run: System, clock: Clock, units: int, avoid: int, length: int) -> int:
    """Return the first unit of the lowest free block of *units*; -1 if there is none.

    Blocks that overlap the *length* units from *avoid* on are excluded. Flat machines
    have no blocks: return 0 if enough units are free.
    """
    if units > clock.free:
        return -1
    if not run.rules.partition:
        return 0
    busy = run.units.busy
    for block in range(run.rules.total // units):
        place = block * units
        if place < avoid + length and avoid < place + units:
            continue
        unit = place
        while unit < place + units and not busy[unit]:
            unit += 1
        if unit == place + units:
            return place
    return -1


def line_up_ends(run: System, clock: Clock) -> int:
    """Sort the running jobs by predicted end; return the number of running jobs."""
    count = clock.num_running
    for k in range(count):
        run.keys[k] = predicted_end(run, clock, run.jobs[run.agenda.running[k]])
        run.order[k] = k
    sort_by(run.keys, run.order, 0, count)
    return count


def next_end(run: System, turn: int) -> tuple[Number, int]:
    """Return the predicted end at position *turn* in order of time, and the number of
    the job that ends then.
    """
    place = run.order[turn]
    return run.keys[place], run.agenda.running[place]


def line_up_units(run: System, clock: Clock) -> None:
    """Predict, for each unit, the time from which it is free."""
    free_from = run.units.free_from
    for unit in range(run.rules.total):
        free_from[unit] = clock.now
    for k in range(clock.num_running):
        job = run.jobs[run.agenda.running[k]]
        end = predicted_end(run, clock, job)
        for unit in range(job.block, job.block + job.units):
            free_from[unit] = end


def block_free_from(run: System, clock: Clock, place: int, units: int) -> Number:
    """Return the time in seconds from which all *units* from *place* on are predicted
    to be free.
    """
    free_from = run.units.free_from
    time = free_from[place]
    for unit in range(place + 1, place + units):
        time = max(time, free_from[unit])
    return time
