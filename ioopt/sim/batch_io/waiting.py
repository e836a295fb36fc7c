"""The jobs that wait, in the order of the queue, and the units of the machine."""

from ioopt.compiled import Box, apart
from ioopt.decisions.ordering import Number, below, close, sort_by
from ioopt.sim.batch_io.boxes import predicted_end
from ioopt.sim.batch_io.buffer import release_time
from ioopt.sim.batch_io.state import WAITING, Clock, Job, Tables


def arrive(run: Tables, clock: Clock, job: Job) -> None:
    """Put *job* into the queue."""
    run.line[clock.waiting] = job.job
    clock.waiting += 1


def smallest(run: Tables, clock: Clock) -> int:
    """Units of the smallest waiting job."""
    units = run.jobs[run.line[0]].units
    for k in range(1, clock.waiting):
        units = min(units, run.jobs[run.line[k]].units)
    return units


@apart
def line_up(run: Tables, clock: Clock) -> None:
    """Waiting jobs in the order of the queue, ties by (submit, id),
    which is that of jobs.
    """
    clock.lined_up = clock.waiting
    if not run.wfp:
        if run.short_first:
            line_up_rest(run, clock, 0)
        elif run.short_behind:
            for k in range(clock.waiting):
                run.room.keys[run.line[k]] = run.line[k]
            sort_by(run.room.keys, run.line, 0, clock.waiting)
        return
    line_up_scores(run, clock, run.line, clock.waiting)


@apart
def line_up_scores(run: Tables, clock: Clock, jobs: Box, count: int) -> None:
    """The first *count* of *jobs* by WFP score.

    The order changes little from one pass to the next, so it is kept and mended by
    insertion. Keys are rounded only where some are close: compilers take logarithms out
    of loops, and so for every key.
    """
    keys, near = run.room.keys, False
    for k in range(count):
        j = jobs[k]
        job = run.jobs[j]
        wait = (clock.now - job.submit) / job.walltime
        key = wait * wait * wait * job.asked_nodes
        at = k
        while at > 0:
            before = keys[at - 1]
            near |= close(key, before)
            if key < before or (key == before and jobs[at - 1] < j):
                break
            jobs[at], keys[at] = jobs[at - 1], before
            at -= 1
        jobs[at], keys[at] = j, key
    if near and not run.limits.exact:
        mend_close(jobs, keys, count)


@apart
def line_up_rest(run: Tables, clock: Clock, turn: int) -> None:
    """Order those in ``line`` from *turn* on by (walltime, job): rule 30."""
    for k in range(turn, clock.lined_up):
        run.room.keys[run.line[k]] = run.jobs[run.line[k]].walltime
    sort_by(run.room.keys, run.line, turn, clock.lined_up)


def line_up_all(run: Tables, clock: Clock) -> int:
    """Put all waiting jobs into ``line_all`` in the order of the queue; how many."""
    count, jobs = 0, run.line_all
    for k in range(clock.waiting):
        j = run.line[k]
        if run.jobs[j].status == WAITING:
            jobs[count] = j
            run.room.keys[j] = run.jobs[j].walltime if run.short_first else j
            count += 1
    sort_by(run.room.keys, jobs, 0, count)
    if run.wfp:
        line_up_scores(run, clock, jobs, count)
    return count


def mend_close(jobs: Box, keys: Box, count: int) -> None:
    """Order jobs by rounded key, descending, ties by job."""
    for k in range(count):
        j, key, at = jobs[k], keys[k], k
        while at > 0:
            before = keys[at - 1]
            if below(key, before) or (jobs[at - 1] < j and not below(before, key)):
                break
            jobs[at], keys[at] = jobs[at - 1], before
            at -= 1
        jobs[at], keys[at] = j, key


def close_pass(run: Tables, clock: Clock) -> None:
    """Take the jobs that no longer wait out of the queue."""
    kept = 0
    for k in range(clock.waiting):
        j = run.line[k]
        if run.jobs[j].status == WAITING:
            run.line[kept] = j
            kept += 1
    clock.waiting = kept


def occupy(run: Tables, clock: Clock, job: Job, place: int) -> None:
    """Give *job* its units, from *place* on where there are partitions."""
    clock.free -= job.units
    if run.buffer.licensed:
        clock.held += run.buffer.size[job.job]
    if run.partition:
        job.block = place
        for unit in range(place, place + job.units):
            run.busy[unit] = 1
    elif run.numbered:
        for word in range(len(run.in_use)):
            run.in_use[word] |= run.chosen[job.job][word]


def vacate(run: Tables, clock: Clock, job: Job) -> None:
    """Take the units of *job* back."""
    clock.free += job.units
    if run.buffer.licensed:
        clock.held -= run.buffer.size[job.job]
    if run.numbered and not run.partition:
        for word in range(len(run.in_use)):
            run.in_use[word] ^= run.chosen[job.job][word]
    if run.partition:
        for unit in range(job.block, job.block + job.units):
            run.busy[unit] = 0


def find_place(run: Tables, clock: Clock, units: int, avoid: int, length: int) -> int:
    """Lowest free block of *units* outside the *length* units from
    *avoid*; -1: none; flat: 0.
    """
    if units > clock.free:
        return -1
    if not run.partition:
        return 0
    for place in range(0, run.total - units + 1, units):
        if place < avoid + length and avoid < place + units:
            continue
        unit = place
        while unit < place + units and not run.busy[unit]:
            unit += 1
        if unit == place + units:
            return place
    return -1


def line_up_ends(run: Tables, clock: Clock) -> int:
    """Order the running jobs by their predicted ends, and those
    not released; how many.
    """
    count = clock.num_running + clock.num_tails
    for k in range(clock.num_running):
        run.room.keys[k] = predicted_end(run, clock, run.jobs[run.running[k]])
        run.room.order[k] = k
    for k in range(clock.num_running, count):
        run.room.keys[k] = release_time(
            run, clock, run.buffer.tails[k - clock.num_running]
        )
        run.room.order[k] = k
    sort_by(run.room.keys, run.room.order, 0, count)
    return count


def next_end(run: Tables, clock: Clock, turn: int) -> tuple[Number, int]:
    """The predicted end whose *turn* it is, and the job."""
    place = run.room.order[turn]
    tail = place - clock.num_running
    return run.room.keys[place], run.buffer.tails[tail] if tail >= 0 else run.running[
        place
    ]


def line_up_units(run: Tables, clock: Clock) -> None:
    """Predict from when on each unit is free."""
    for unit in range(run.total):
        run.free_from[unit] = clock.now
    for k in range(clock.num_running):
        job = run.jobs[run.running[k]]
        end = predicted_end(run, clock, job)
        for unit in range(job.block, job.block + job.units):
            run.free_from[unit] = end
    for k in range(clock.num_tails if run.buffer.keeps else 0):
        job = run.jobs[run.buffer.tails[k]]
        for unit in range(job.block, job.block + job.units):
            run.free_from[unit] = release_time(run, clock, job.job)


def block_free_from(run: Tables, clock: Clock, place: int, units: int) -> Number:
    """From when on the *units* from *place* on are all predicted to be free."""
    time = run.free_from[place]
    for unit in range(place + 1, place + units):
        time = max(time, run.free_from[unit])
    return time
