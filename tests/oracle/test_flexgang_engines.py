"""Tick-by-tick references for the quantum walk and the applications of the laboratory.

They share no code with the kernels: time goes by in single ticks, and each running
process does one tick of work.
"""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ioopt.compiled.memory import Plain
from ioopt.measure import perturbation_kernel as kernel
from ioopt.measure.laboratory import program_of, table_of
from ioopt.measure.quantum_model import _all_away, _slot_time, walk


def reference_process(
    bursts: list[int], qi: int, qc: int, io: int, returns: bool, ticks: int
) -> Any:
    """Requests of one I/O process, and the ticks of I/O slot in which
    its CPU is given away.
    """
    requests, away = [], []
    k, left, io_left, parked = 0, bursts[0], 0, False
    for tick in range(ticks):
        phase = tick % (qi + qc)
        if phase == 0:
            parked = not returns and io_left > 0
        if io_left > 0 or (parked and phase < qi):
            if phase < qi:
                away.append(tick)
            io_left = max(0, io_left - 1)
            continue
        if phase >= qi:
            continue
        left -= 1
        if left == 0:
            requests.append(tick + 1)
            k += 1
            if k == len(bursts):
                break
            left, io_left, parked = bursts[k], io, not returns
    return requests, away


@settings(max_examples=100, deadline=None)
@given(
    qi=st.integers(1, 9),
    qc=st.integers(0, 9),
    io=st.integers(1, 20),
    bursts=st.lists(
        st.lists(st.integers(1, 12), min_size=6, max_size=6), min_size=1, max_size=3
    ),
    returns=st.booleans(),
)
def test_walk_equals_ticks(
    qi: int, qc: int, io: int, bursts: list[list[int]], returns: bool
) -> None:
    drawn = np.array(bursts, np.int64)
    _, request = walk(drawn, qi, qc, io, returns)
    references = [reference_process(row, qi, qc, io, returns, 4000) for row in bursts]
    assert request.tolist() == [requests for requests, _ in references]
    end = int(request.min(axis=0)[-1]) // (qi + qc) * (qi + qc)
    until = request + io
    if not returns:
        until = -(-until // (qi + qc)) * (qi + qc)
    together = set(range(end)).intersection(*(away for _, away in references))
    clipped = request.clip(0, end), until.clip(0, end)
    assert _all_away(*clipped, qi, qc) == len(together)
    given_away = int(
        (_slot_time(clipped[1], qi, qc) - _slot_time(clipped[0], qi, qc)).sum()
    )
    assert given_away == sum(tick < end for _, away in references for tick in away)


class Ticks:
    """A table of slots looked at tick by tick; after its end all run."""

    def __init__(self, runs: np.ndarray, quantum: int) -> None:
        self.runs, self.quantum = runs, quantum

    def running(self, p: int, tick: int) -> bool:
        """Whether *p* runs in *tick*."""
        slot = tick // self.quantum
        return slot >= len(self.runs) or bool(self.runs[slot, p])

    def answer(self, p: int, tick: int) -> int:
        """The first tick from *tick* on in which *p* runs."""
        while not self.running(p, tick):
            tick += 1
        return tick


def slow_barrier(table: Ticks, processors: int, work: int, interval: int) -> int:
    done, goal, tick = [0] * processors, min(interval, work), 0
    while True:
        for p in range(processors):
            if table.running(p, tick) and done[p] < goal:
                done[p] += 1
        tick += 1
        if min(done) == goal:
            if goal == work:
                return tick
            goal = min(goal + interval, work)


def slow_workpile(table: Ticks, processors: int, total: int, unit: int) -> int:
    left, tick = [0] * processors, 0
    while True:
        for p in range(processors):
            if table.running(p, tick) and left[p] == 0 and total > 0:
                left[p] = min(unit, total)
                total -= left[p]
        for p in range(processors):
            left[p] -= table.running(p, tick) and left[p] > 0
        tick += 1
        if total == 0 and not any(left):
            return tick


def slow_msg(
    table: Ticks, processors: int, work: int, phase_work: int, pattern: int
) -> int:
    """One round of requests at each phase's start, written out for all patterns."""
    tick = phase = 0
    while work > 0:
        piece, work = min(phase_work, work), work - min(phase_work, work)
        done, replied, arrived = [0] * processors, [-1] * processors, [-1] * processors
        while min(arrived) < 0:
            for p in range(processors):
                if not table.running(p, tick):
                    continue
                if replied[p] < 0:
                    asked = {
                        kernel.ALL_TO_ALL: [q for q in range(processors) if q != p],
                        kernel.RING: [(p + 1) % processors],
                        kernel.PAIRS: [
                            p + 1 if p % 2 == 0 and p + 1 < processors else p - 1
                        ],
                        kernel.SHIFT: [(p + 1 + phase % (processors - 1)) % processors],
                    }[pattern]
                    replied[p] = max(table.answer(q, tick) for q in asked)
                if done[p] < piece:
                    done[p] += 1
                    if done[p] == piece and replied[p] <= tick + 1:
                        arrived[p] = tick + 1
                elif arrived[p] < 0 and replied[p] <= tick:
                    arrived[p] = tick
            tick += 1
        tick = max(arrived)
        phase += 1
    return tick


def slow_program(table: Ticks, program: Any, heard: Any, progress: Any) -> int:
    """As the kernel's: who stops in a tick, in the order of processors,
    sends a message or meets.
    """
    ends, sends, targets, blocking, cost = program
    everyone = range(len(sends))
    done, owed, sent, resume = ([0] * len(sends) for _ in range(4))
    now = 0

    def deliver(q: int, at: int) -> None:
        if at // table.quantum < len(heard):
            heard[at // table.quantum, q] += 1
        owed[q] += 0 if table.running(q, at) else cost

    for goals in ends:
        waiting: set[int] = set()
        while len(waiting) < len(sends):
            stopped = []
            for p in everyone:
                if p in waiting or now < resume[p] or not table.running(p, now):
                    continue
                if now // table.quantum < len(progress):
                    progress[now // table.quantum, p] += 1
                if owed[p]:
                    owed[p] -= 1
                    continue
                done[p] += 1
                if done[p] in (goals[p], sends[p][sent[p]]):
                    stopped.append(p)
            now += 1
            for p in stopped:
                if done[p] == goals[p]:
                    waiting.add(p)
                    for q in everyone:
                        if q != p:
                            deliver(q, now)
                    continue
                other = targets[p][sent[p]]
                sent[p] += 1
                deliver(other, now)
                if blocking:
                    answered = table.answer(other, now)
                    deliver(p, answered)
                    resume[p] = table.answer(p, answered) if answered > now else now
    return now


tables = st.integers(2, 4).flatmap(
    lambda processors: st.lists(
        st.lists(st.booleans(), min_size=processors, max_size=processors),
        min_size=1,
        max_size=6,
    )
)


@settings(max_examples=100, deadline=None)
@given(
    rows=tables,
    quantum=st.integers(2, 7),
    work=st.integers(1, 30),
    piece=st.integers(1, 9),
)
def test_applications_equal_ticks(
    rows: Any, quantum: int, work: int, piece: int
) -> None:
    runs = np.array(rows, np.bool_)
    table, processors = Ticks(runs, quantum), runs.shape[1]
    make = Plain()
    slots = table_of(make, runs, quantum, np.zeros(runs.shape, np.int64))
    for interval in (piece, work):
        wall = kernel.barrier(slots, work, interval)
        assert wall == slow_barrier(table, processors, work, interval)
    pile = make.table(kernel.Pile, start=make.ints([0] * processors))
    wall = kernel.workpile(slots, pile, work * processors, piece)
    assert wall == slow_workpile(table, processors, work * processors, piece)
    for pattern in range(4):
        wall = kernel.msg(slots, work, piece, 1, pattern)
        assert wall == slow_msg(table, processors, work, piece, pattern)


@settings(max_examples=75, deadline=None)
@given(rows=tables, quantum=st.integers(2, 7), blocking=st.booleans(), data=st.data())
def test_programs_equal_ticks(
    rows: Any, quantum: int, blocking: bool, data: Any
) -> None:
    runs = np.array(rows, np.bool_)
    processors, many = runs.shape[1], data.draw(st.integers(1, 3))
    work = st.lists(st.integers(2, 12), min_size=processors, max_size=processors)
    ends = np.array([data.draw(work) for _ in range(many)]).cumsum(axis=0)
    last = int(ends.max()) + 1
    sends = np.full((processors, last), last)
    targets = np.zeros((processors, last), np.int64)
    for p in range(processors):
        inside = sorted(set(range(1, int(ends[-1, p]))) - set(ends[:, p].tolist()))
        chosen = sorted(data.draw(st.sets(st.sampled_from(inside))))
        sends[p, : len(chosen)] = chosen
        others = st.sampled_from([q for q in range(processors) if q != p])
        targets[p] = data.draw(st.lists(others, min_size=last, max_size=last))
    cost = data.draw(st.integers(0, 3))
    program = (ends, sends, targets, blocking, cost)
    wanted = [np.zeros(runs.shape, np.int64) for _ in range(2)]
    slots = table_of(Plain(), runs, quantum, *wanted)
    wall = kernel.run_program(slots, program_of(Plain(), *program))
    assert wall == slow_program(Ticks(runs, quantum), program, *wanted)
    assert slots.received == wanted[0].ravel().tolist()
    assert slots.progress == wanted[1].ravel().tolist()


def test_a_message_without_cost_delays_nobody() -> None:
    """Slots of 2: processor 0 works in slot 0 and tells 1 at 2; 1 works in slot 2,
    to 6; slot 3 is free.
    """
    runs = np.array(
        [[True, False], [False, False], [False, True], [False, False]], np.bool_
    )
    ends, sends = np.array([[2, 2]]), np.full((2, 3), 3)
    targets = np.array([[1] * 3, [0] * 3])
    program = program_of(Plain(), ends, sends, targets, False, 0)
    assert kernel.run_program(table_of(Plain(), runs, 2), program) == 6
