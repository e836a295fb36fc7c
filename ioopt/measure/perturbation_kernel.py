"""Run the laboratory's applications over a table of time slots.

The code runs in plain Python and compiled. Times are instructions on the wall clock.
Each application returns the wall-clock time at which its last process ends.
"""

from dataclasses import dataclass

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


@dataclass(slots=True)
class Table:
    """The time slots of one run, and what is recorded in them.

    ``runs`` tells at ``slot * processors + p`` whether processor p runs in a slot;
    after the last of the ``num_slots`` slots, at the time ``end``, all processors run.
    ``quantum`` is the length of a slot. ``received`` counts messages at the same
    places, up to the time ``noted_end``; ``progress`` counts instructions, in the first
    ``counted_slots`` slots.
    """

    processors: int
    num_slots: int
    quantum: int
    end: int
    noted_end: int
    counted_slots: int
    runs: list[bool]
    received: list[int]
    progress: list[int]


@dataclass(slots=True)
class Process:
    """The state of a process of a program.

    ``at``: when its work reaches the next message or barrier, -1 if not known yet.
    ``since``: from when it works, -1 while it waits at the barrier. ``owed``: further
    instructions, of messages that it buffered. ``done``: its work so far. ``sent``: the
    number of its messages so far.
    """

    at: int
    since: int
    owed: int
    done: int
    sent: int


@dataclass(slots=True)
class Program:
    """A program: intervals of work with a barrier at the end of each.

    Interval k of process p ends when its work, counted from the start of the run,
    reaches ``ends[k * processors + p]``. When its work reaches ``sends[p * width +
    j]``, process p sends its message number j to the processor ``targets[p * width +
    j]``; if ``blocking``, it waits for the reply. ``cost``: instructions that a message
    adds to the work of a process that does not run when it arrives.
    """

    num_intervals: int
    width: int
    blocking: bool
    cost: int
    ends: list[int]
    sends: list[int]
    targets: list[int]
    processes: list[Process]


@dataclass(slots=True)
class Pile:
    """When each processor can take the next unit of a workpile."""

    start: list[int]


def next_running(table: Table, p: int, now: int) -> int:
    """Return the first time, *now* or later, at which processor *p* runs."""
    if now >= table.end:
        return now
    slot = now // table.quantum
    while slot < table.num_slots and not table.runs[slot * table.processors + p]:
        slot += 1
        now = slot * table.quantum
    return now


def advance(table: Table, p: int, now: int, work: int) -> int:
    """Return the time at which processor *p*, which starts at *now*, has run *work*
    more instructions.
    """
    if now >= table.end:
        return now + work
    slot = now // table.quantum
    while slot < table.num_slots:
        if table.runs[slot * table.processors + p]:
            room = (slot + 1) * table.quantum - now
            if work <= room:
                return now + work
            work -= room
        slot += 1
        now = slot * table.quantum
    return now + work


def note(table: Table, p: int, now: int) -> None:
    """Count a message that reaches processor *p* at *now*."""
    if now < table.noted_end:
        table.received[now // table.quantum * table.processors + p] += 1


def workpile(table: Table, pile: Pile, total: int, unit: int) -> int:
    """Run *total* instructions in units, each by the first free process."""
    processors = table.processors
    for p in range(processors):
        pile.start[p] = next_running(table, p, 0)
    last = 0
    while total > 0:
        first = 0
        for p in range(1, processors):
            if pile.start[p] < pile.start[first]:
                first = p
        piece = min(unit, total)
        total -= piece
        end = advance(table, first, pile.start[first], piece)
        last = max(last, end)
        pile.start[first] = next_running(table, first, end)
    return last


def barrier(table: Table, work: int, interval: int) -> int:
    """Run *work* instructions on each processor, with a barrier after every *interval*.

    Each arrival at a barrier is a message to all other processors.
    """
    processors = table.processors
    now = 0
    while work > 0:
        piece = min(interval, work)
        work -= piece
        release = now
        for p in range(processors):
            arrival = advance(table, p, now, piece)
            release = max(release, arrival)
            for q in range(processors):
                if q != p:
                    note(table, q, arrival - 1)
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


def exchange(table: Table, p: int, now: int, phase: int, pattern: int) -> int:
    """Return the time at which *p* has received the last reply to the requests that it
    sends at *now*.

    A running processor replies at once.
    """
    replied = now
    k = 0
    while True:
        other = partner(pattern, table.processors, p, phase, k)
        if other < 0:
            return replied
        note(table, other, now)
        answered = next_running(table, other, now)
        note(table, p, answered)
        replied = max(replied, answered)
        k += 1


def msg(table: Table, work: int, phase_work: int, rounds: int, pattern: int) -> int:
    """Run phases of *phase_work* instructions, each with *rounds* rounds of requests
    and a barrier at its end.
    """
    processors = table.processors
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
                at = next_running(table, p, at)
                replied = max(replied, exchange(table, p, at, phase, pattern))
                part = (r + 1) * piece // rounds - r * piece // rounds
                at = advance(table, p, at, part)
            told = at - 1
            if replied > at:
                at = told = next_running(table, p, replied)
            release = max(release, at)
            for q in range(processors):
                if q != p:
                    note(table, q, told)
        now = release
        phase += 1
    return now


def deliver(table: Table, program: Program, q: int, now: int) -> None:
    """Deliver a message to processor *q* at *now*; if *q* does not run then, the cost
    is added to its work.
    """
    note(table, q, now)
    if program.cost > 0 and next_running(table, q, now) > now:
        process = program.processes[q]
        if process.at > now:
            process.at = advance(table, q, process.at, program.cost)
        else:
            process.owed += program.cost


def note_progress(table: Table, p: int, since: int, until: int) -> None:
    """Add to each slot the instructions that processor *p* ran in it, from time *since*
    to *until*.
    """
    slot = since // table.quantum
    while slot < table.counted_slots and slot * table.quantum < until:
        if table.runs[slot * table.processors + p]:
            begin = max(since, slot * table.quantum)
            end = min(until, (slot + 1) * table.quantum)
            table.progress[slot * table.processors + p] += end - begin
        slot += 1


def plan_next(table: Table, program: Program, interval: int, q: int) -> None:
    """Compute when process *q*, working from ``since``, reaches its next message or the
    end of *interval*.
    """
    process = program.processes[q]
    message = program.sends[q * program.width + process.sent]
    goal = min(message, program.ends[interval * table.processors + q])
    work = goal - process.done + process.owed
    process.at = advance(table, q, process.since, work)
    process.done = goal
    process.owed = 0


def run_program(table: Table, program: Program) -> int:
    """Run *program*.

    The process with the earliest time advances first; of equals, the one with the
    lowest number.
    """
    processors = table.processors
    now = 0
    for k in range(program.num_intervals):
        for process in program.processes:
            process.since = now
            process.at = -1
        waiting = 0
        while waiting < processors:
            p = -1
            for q in range(processors):
                if program.processes[q].at < 0:
                    plan_next(table, program, k, q)
                works = program.processes[q].since >= 0
                if works and (
                    p < 0 or program.processes[q].at < program.processes[p].at
                ):
                    p = q
            first = program.processes[p]
            now = first.at
            note_progress(table, p, first.since, now)
            if first.done < program.sends[p * program.width + first.sent]:
                first.since = -1  # The process waits at the barrier.
                waiting += 1
                for q in range(processors):
                    if q != p:
                        deliver(table, program, q, now)
                continue
            other = program.targets[p * program.width + first.sent]
            first.sent += 1
            deliver(table, program, other, now)
            if program.blocking:
                answered = next_running(table, other, now)
                deliver(table, program, p, answered)
                if answered > now:
                    now = next_running(table, p, answered)
            first.since = now
            first.at = -1
    return now
