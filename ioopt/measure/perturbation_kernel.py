"""The applications of the perturbation laboratory over a table of slots, plain Python and compiled alike.

Times are wall-clock instructions. ``runs[s, p]`` says whether processor p runs in slot s; after the
table all run. ``quantum`` is the length of a slot; ``received[s, p]`` counts messages. Each function
returns the wall-clock time at which the last process ends.
"""

from ioopt.compiled import Box

ALL_TO_ALL, RING, PAIRS, SHIFT = 0, 1, 2, 3


def next_running(runs: Box, quantum: int, p: int, now: int) -> int:
    """The first time from *now* on at which processor *p* runs."""
    slot = now // quantum
    while slot < runs.shape[0] and not runs[slot, p]:
        slot += 1
        now = slot * quantum
    return now


def advance(runs: Box, quantum: int, p: int, now: int, work: int) -> int:
    """When processor *p*, from *now* on, has done *work* instructions more."""
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
    """*total* work in units (the last one smaller), each fetched by the first process that is free.

    A unit stays on the processor that fetched it. Ties go to the lowest processor. *start* is
    scratch space, a number for each processor.
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
    """A barrier after every *interval* of work; each arrival is told to all others."""
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
    """The *k*-th processor that *p* asks in *phase*, or -1 when there is none."""
    if pattern == ALL_TO_ALL:
        return (p + 1 + k) % processors if k < processors - 1 else -1
    if k > 0:
        return -1
    if pattern == RING:
        return (p + 1) % processors
    if pattern == PAIRS:
        other = p ^ 1
        return other if other < processors else p - 1
    return (p + 1 + phase % (processors - 1)) % processors


def exchange(
    runs: Box, quantum: int, p: int, now: int, phase: int, pattern: int, received: Box
) -> int:
    """When the last reply is there for the requests of *p* at *now*; who runs answers at once."""
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
    runs: Box, quantum: int, work: int, phase_work: int, rounds: int, pattern: int, received: Box
) -> int:
    """Phases of *phase_work*, each with *rounds* of requests and a barrier at its end."""
    processors = runs.shape[1]
    now, phase = 0, 0
    while work > 0:
        piece = min(phase_work, work)
        work -= piece
        release = now
        for p in range(processors):
            at, replied = now, now
            for r in range(rounds):
                at = next_running(runs, quantum, p, at)
                replied = max(replied, exchange(runs, quantum, p, at, phase, pattern, received))
                at = advance(runs, quantum, p, at, (r + 1) * piece // rounds - r * piece // rounds)
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


def blocking(runs: Box, quantum: int, work: int, gaps: Box, targets: Box, received: Box) -> int:
    """After each of its *gaps* of work (processors, requests) a process asks its target and waits."""
    last = 0
    for p in range(runs.shape[1]):
        now, left, k = 0, work, 0
        while gaps[p, k] < left:
            left -= gaps[p, k]
            now = advance(runs, quantum, p, now, gaps[p, k])
            note(received, quantum, targets[p, k], now)
            answered = next_running(runs, quantum, targets[p, k], now)
            note(received, quantum, p, answered)
            if answered > now:
                now = next_running(runs, quantum, p, answered)
            k += 1
        last = max(last, advance(runs, quantum, p, now, left))
    return last
