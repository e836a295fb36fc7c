"""A batch queue by itself: run times are given, no I/O. One text, plain and
compiled (:mod:`ioopt.compiled`).

The engine beside it simulates I/O, which changes run times. This loop replays
20,000 jobs in tens of milliseconds, so that a queue can be fitted to a log, and
knows what the engine does not: closed times of classes of jobs, and limits of
users. Times are seconds.
"""

from typing import NamedTuple

from ioopt.compiled import Box

NEVER, FAR = -1.0, 1e300


class Line(NamedTuple):
    """Jobs in order of submission, the spans in which a class of them may
    not start, and scratch.

    ``key`` orders those that wait. ``closes`` and ``opens`` hold the spans of class 0,
    then those of class 1 ..., by ``closes``; where ``drains``, jobs that would be
    running then do not start before either. ``at`` is the first span that each class
    has not behind it, ``last`` where its spans end; ``wakes`` are all of ``opens`` in
    order. ``running`` is in order of ``due``, the latest end. ``most_jobs`` and
    ``most_units`` are what the job's user may have running with it.
    """

    submit: Box
    run: Box
    length: Box
    units: Box
    kind: Box
    user: Box
    most_jobs: Box
    most_units: Box
    closes: Box
    opens: Box
    drains: Box
    at: Box
    last: Box
    wakes: Box
    start: Box
    end: Box
    key: Box
    waiting: Box
    running: Box
    due: Box
    times: Box
    free: Box
    user_jobs: Box
    user_units: Box


def replay(q: Line, total: int, depth: int, aging: bool) -> int:
    """Give the jobs their ``start`` on *total* units; how many never start.

    The first *depth* jobs that have to wait get a reservation that others leave alone
    (1: EASY); with 0 nobody overtakes. Jobs that may not start now are passed over.
    With *aging* keys are WFP's.
    """
    arrived, waiting, running, woken, free = 0, 0, 0, 0, total
    while True:
        now = q.submit[arrived] if arrived < len(q.submit) else FAR
        for k in range(running):
            now = min(now, q.end[q.running[k]])
        if waiting and woken < len(q.wakes):
            now = min(now, q.wakes[woken])
        if now == FAR:
            return waiting
        while woken < len(q.wakes) and q.wakes[woken] <= now:
            woken += 1
        running, free = leave(q, now, running, free)
        while arrived < len(q.submit) and q.submit[arrived] <= now:
            line_up(q.waiting, q.key, waiting, arrived)
            arrived, waiting = arrived + 1, waiting + 1
        if waiting:
            left, free = look(q, now, waiting, running, free, depth, aging)
            waiting, running = left, running + waiting - left


def line_up(row: Box, key: Box, k: int, j: int) -> None:
    """Put job *j* behind the first *k* of *row*, before those of a larger *key*."""
    while k > 0 and key[row[k - 1]] > key[j]:
        row[k] = row[k - 1]
        k -= 1
    row[k] = j


def look(
    q: Line, now: float, waiting: int, running: int, free: int, depth: int, aging: bool
) -> tuple[int, int]:
    """One pass over the queue: (jobs left in it, units free)."""
    least = q.units[q.waiting[0]]
    if depth == 0 and least > free and not (aging or barred(q, q.waiting[0], now)):
        return waiting, free
    for k in range(waiting):
        j = q.waiting[k]
        least = min(least, q.units[j])
        if aging:
            q.key[j] = -(((now - q.submit[j]) / q.length[j]) ** 3) * q.units[j]
            line_up(q.waiting, q.key, k, j)
    if least > free:
        return waiting, free
    steps, kept, reserved, looking = lay_out(q, now, running, free), 0, 0, True
    for k in range(waiting):
        j = q.waiting[k]
        looking = looking and least <= free
        if not looking and kept == k:
            return waiting, free  # nobody has begun
        may = looking and not barred(q, j, now)
        if may and q.units[j] <= free and has_room(q, steps, 0, j):
            steps = take(q, steps, 0, j)
            begin(q, j, now, running + k - kept)
            free -= q.units[j]
            continue
        q.waiting[kept] = j
        kept += 1
        if may and depth == 0:
            looking = False
        elif may and reserved < depth:
            step = 1
            while not has_room(q, steps, step, j):
                step += 1
            steps = take(q, steps, step, j)
            reserved += 1
    return kept, free


def barred(q: Line, j: int, now: float) -> bool:
    """Whether job *j* may not start now, however much is free."""
    c, user = q.kind[j], q.user[j]
    while q.at[c] < q.last[c] and q.opens[q.at[c]] <= now:
        q.at[c] += 1
    k = q.at[c]
    while k < q.last[c] and q.closes[k] < now + q.length[j]:
        if q.opens[k] > now and (q.drains[k] or q.closes[k] <= now):
            return True
        k += 1
    over: bool = q.user_jobs[user] >= q.most_jobs[j]
    return over or q.user_units[user] + q.units[j] > q.most_units[j]


def lay_out(q: Line, now: float, running: int, free: int) -> int:
    """Write the units predicted to be free from each time on (overdue jobs:
    soon); how many steps.
    """
    q.times[0], q.free[0], steps = now, free, 1
    for k in range(running):
        j = q.running[k]
        time = max(q.due[j], now + 1.0)
        if time > q.times[steps - 1]:
            q.times[steps], q.free[steps] = time, q.free[steps - 1]
            steps += 1
        q.free[steps - 1] += q.units[j]
    return steps


def has_room(q: Line, steps: int, step: int, j: int) -> bool:
    """Whether job *j* fits for its whole length from *step* on."""
    until = q.times[step] + q.length[j]
    while step < steps and q.times[step] < until:
        if q.free[step] < q.units[j]:
            return False
        step += 1
    return True


def take(q: Line, steps: int, step: int, j: int) -> int:
    """Take the units of job *j* away for its length from *step* on; how many
    steps there are then.
    """
    until, end = q.times[step] + q.length[j], step
    while end < steps and q.times[end] < until:
        end += 1
    if end == steps or q.times[end] > until:
        for k in range(steps, end, -1):
            q.times[k], q.free[k] = q.times[k - 1], q.free[k - 1]
        q.times[end], q.free[end] = until, q.free[end - 1]
        steps += 1
    for k in range(step, end):
        q.free[k] -= q.units[j]
    return steps


def begin(q: Line, j: int, now: float, running: int) -> None:
    """Start job *j* beside the *running* ones."""
    q.start[j], q.end[j], q.due[j] = now, now + q.run[j], now + q.length[j]
    line_up(q.running, q.due, running, j)
    q.user_jobs[q.user[j]] += 1
    q.user_units[q.user[j]] += q.units[j]


def leave(q: Line, now: float, running: int, free: int) -> tuple[int, int]:
    """Take those that have ended out of ``running``: (jobs left in it, units free)."""
    kept = 0
    for k in range(running):
        j = q.running[k]
        if q.end[j] > now:
            q.running[kept] = j
            kept += 1
            continue
        free += q.units[j]
        q.user_jobs[q.user[j]] -= 1
        q.user_units[q.user[j]] -= q.units[j]
    return kept, free
