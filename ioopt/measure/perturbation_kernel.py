"""Run the laboratory's applications over a table of time slots.

Plain Python and machine code run the same code. Times are instructions on the wall
clock. ``runs[s, p]`` tells whether processor p runs in slot s; after the end of the
table all processors run. ``quantum`` is the length of a slot. ``received[s, p]`` counts
messages. Each application returns the wall-clock time at which its last process ends.
"""

from ioopt.compiled import Box

ALL_TO_ALL = 0
"""Pattern of requests: each processor sends requests to all others."""
RING = 1
"""Pattern of requests: each processor sends requests to the next one."""
PAIRS = 2
"""Pattern of requests: processors in pairs send requests to each other."""
SHIFT = 3
"""Pattern of requests: each processor sends requests to one partner, which changes with
every phase.
"""


def next_running(runs: Box, quantum: int, p: int, now: int) -> int:
    """Return the first time, *now* or later, at which processor *p* runs."""
    slot = now // quantum
    while slot < runs.shape[0] and not runs[slot, p]:
        slot += 1
        now = slot * quantum
    return now


def advance(runs: Box, quantum: int, p: int, now: int, work: int) -> int:
    """Return the time at which processor *p*, which starts at *now*, has run *work*
    more instructions.
    """
    slot = now // quantum
    while slot < runs.shape[0]:
        if runs[slot, p]:
            room = (slot + 1) * quantum - now
            if work <= room:
                return now + work
            work -= room
        slot += 1
        now = slot * quantum
    return now + work


def note(received: Box, quantum: int, p: int, now: int) -> None:
    """Count a message that reaches processor *p* at *now*."""
    slot = now // quantum
    if slot < received.shape[0]:
        received[slot, p] += 1


def workpile(runs: Box, quantum: int, total: int, unit: int, start: Box) -> int:
    """Run *total* instructions in units, each by the first free process; *start* is
    scratch space.
    """
    processors = runs.shape[1]
    for p in range(processors):
        start[p] = next_running(runs, quantum, p, 0)
    last = 0
    while total > 0:
        first = 0
        for p in range(1, processors):
            if start[p] < start[first]:
                first = p
        piece = min(unit, total)
        total -= piece
        end = advance(runs, quantum, first, start[first], piece)
        last = max(last, end)
        start[first] = next_running(runs, quantum, first, end)
    return last


def barrier(runs: Box, quantum: int, work: int, interval: int, received: Box) -> int:
    """Run *work* instructions on each processor, with a barrier after every *interval*.

    Each arrival at a barrier is a message to all other processors.
    """
    processors = runs.shape[1]
    now = 0
    while work > 0:
        piece = min(interval, work)
        work -= piece
        release = now
        for p in range(processors):
            arrival = advance(runs, quantum, p, now, piece)
            release = max(release, arrival)
            for q in range(processors):
                if q != p:
                    note(received, quantum, q, arrival - 1)
        now = release
    return now


def partner(pattern: int, processors: int, p: int, phase: int, k: int) -> int:
    """Return the *k*-th processor to which *p* sends requests in *phase*; -1 if there
    is none.
    """
    if pattern == ALL_TO_ALL:
        if k < processors - 1:
            return (p + 1 + k) % processors
        return -1
    if k > 0:
        return -1
    if pattern == RING:
        return (p + 1) % processors
    if pattern == PAIRS:
        other = p ^ 1
        if other < processors:
            return other
        return p - 1
    return (p + 1 + phase % (processors - 1)) % processors


def exchange(
    runs: Box, quantum: int, p: int, now: int, phase: int, pattern: int, received: Box
) -> int:
    """Return the time at which *p* has received the last reply to the requests that it
    sends at *now*.

    A running processor replies at once.
    """
    replied = now
    k = 0
    while True:
        other = partner(pattern, runs.shape[1], p, phase, k)
        if other < 0:
            return replied
        note(received, quantum, other, now)
        answered = next_running(runs, quantum, other, now)
        note(received, quantum, p, answered)
        replied = max(replied, answered)
        k += 1


def msg(
    runs: Box,
    quantum: int,
    work: int,
    phase_work: int,
    rounds: int,
    pattern: int,
    received: Box,
) -> int:
    """Run phases of *phase_work* instructions, each with *rounds* rounds of requests
    and a barrier at its end.
    """
    processors = runs.shape[1]
    now = 0
    phase = 0
    while work > 0:
        piece = min(phase_work, work)
        work -= piece
        release = now
        for p in range(processors):
            at = now
            replied = now
            for r in range(rounds):
                at = next_running(runs, quantum, p, at)
                replied = max(
                    replied, exchange(runs, quantum, p, at, phase, pattern, received)
                )
                at = advance(
                    runs,
                    quantum,
                    p,
                    at,
                    (r + 1) * piece // rounds - r * piece // rounds,
                )
            told = at - 1
            if replied > at:
                at = told = next_running(runs, quantum, p, replied)
            release = max(release, at)
            for q in range(processors):
                if q != p:
                    note(received, quantum, q, told)
        now = release
        phase += 1
    return now


def deliver(
    runs: Box,
    quantum: int,
    q: int,
    now: int,
    cost: int,
    at: Box,
    owed: Box,
    received: Box,
) -> None:
    """Deliver a message to processor *q* at *now*; if *q* does not run then, add *cost*
    instructions to its work.
    """
    note(received, quantum, q, now)
    if cost > 0 and next_running(runs, quantum, q, now) > now:
        if at[q] > now:
            at[q] = advance(runs, quantum, q, at[q], cost)
        else:
            owed[q] += cost


def note_progress(
    runs: Box, quantum: int, p: int, since: int, until: int, progress: Box
) -> None:
    """Add to each slot the instructions that processor *p* ran in it, from time *since*
    to *until*.
    """
    slot = since // quantum
    while slot < progress.shape[0] and slot * quantum < until:
        if runs[slot, p]:
            progress[slot, p] += min(until, (slot + 1) * quantum) - max(
                since, slot * quantum
            )
        slot += 1


def program(
    runs: Box,
    quantum: int,
    ends: Box,
    sends: Box,
    targets: Box,
    blocking: bool,
    cost: int,
    state: Box,
    received: Box,
    progress: Box,
) -> int:
    """Run a program in intervals of work, each with a barrier at its end.

    Work is counted from the start of the run. Interval k of process p ends when its
    work reaches ``ends[k, p]``. Whenever its work reaches an entry of ``sends[p]``,
    process p sends a message to the target of that entry; if *blocking*, it waits for
    the reply. The process with the earliest time advances first; of equals, the one
    with the lowest number. *state* is scratch space of five zeros for each processor.
    """
    processors = runs.shape[1]
    at = state[0]
    since = state[1]
    owed = state[2]
    done = state[3]
    sent = state[4]
    now = 0
    for k in range(ends.shape[0]):
        for p in range(processors):
            since[p] = now
            at[p] = -1
        waiting = 0
        while waiting < processors:
            p = -1
            for q in range(processors):
                if at[q] < 0:
                    # The process works from since[q] until its next message or the
                    # barrier.
                    goal = min(sends[q, sent[q]], ends[k, q])
                    work = goal - done[q] + owed[q]
                    at[q] = advance(runs, quantum, q, since[q], work)
                    done[q] = goal
                    owed[q] = 0
                if since[q] >= 0 and (p < 0 or at[q] < at[p]):
                    p = q
            now = at[p]
            note_progress(runs, quantum, p, since[p], now, progress)
            if done[p] < sends[p, sent[p]]:
                since[p] = -1  # The process waits at the barrier.
                waiting += 1
                for q in range(processors):
                    if q != p:
                        deliver(runs, quantum, q, now, cost, at, owed, received)
                continue
            other = targets[p, sent[p]]
            sent[p] += 1
            deliver(runs, quantum, other, now, cost, at, owed, received)
            if blocking:
                answered = next_running(runs, quantum, other, now)
                deliver(runs, quantum, p, answered, cost, at, owed, received)
                if answered > now:
                    now = next_running(runs, quantum, p, answered)
            since[p] = now
            at[p] = -1
    return now
