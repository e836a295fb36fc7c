"""Compiled twin of :mod:`ioopt.sim.gang.simulate` for the paper's policies, the guard and the index.

Every floating-point operation is that of the Python engine, in the same order, so the finish
times agree bit for bit. Nodes are 64-bit words, at most 62 rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ioopt.decisions.gang.state import BEST_FIT, UNLIMITED, Timing, Twin, guard_slots
from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.sim.gang.board import MAX_LEVELS, Board, Jobs, entry, kernel, make_board, make_jobs
from ioopt.sim.gang.index import (
    IndexRules,
    Service,
    fill_weighted,
    migrate_weighted,
    schedule_weighted,
)
from ioopt.sim.gang.kernels import clean, compact, fill, migrate, schedule
from ioopt.sim.gang.simulate import Trajectory
from ioopt.sim.gang.table import JobTable

STEPS_PER_CALL = 2_000
"""Steps between two looks at the deadline."""
_NEVER = 1 << 60


class _Machine(NamedTuple):
    nodes: int
    quantum: float
    migration: float
    budget: int
    tolerance: float
    at_boundary: bool


class _Rules(NamedTuple):
    place: int
    migrate: bool
    local_first: bool
    limit: int
    weighted: IndexRules


class _Scratch(NamedTuple):
    need: Any
    order: Any
    gone: Any


class _Progress(NamedTuple):
    """Where a run stands between two calls; ``occupied`` is the integral of occupied slots."""

    now: float = 0.0
    slice: int = 0
    arrived: int = 0
    queued: int = 0
    running: int = 0
    done: int = 0
    num_gone: int = 0
    budget_slice: int = -1
    budget: int = 0
    population: int = 0
    occupied: float = 0.0
    tasks: int = 0
    updates: int = 0


class _Times(NamedTuple):
    arrival: Any
    local: Any
    remote: Any
    start: Any
    finish: Any
    attained: Any


def fits(timing: Timing) -> bool:
    """Can the compiled engine hold this machine?"""
    return timing.levels <= MAX_LEVELS


def run(
    table: JobTable,
    timing: Timing,
    twin: Twin,
    recompute: str = "event",
    deadline: Deadline | None = None,
) -> Trajectory:
    """Simulate in compiled code; the same answer as :class:`ioopt.sim.gang.simulate.GangSimulation`.

    Raises OutOfTime when the *deadline* passes.
    """
    jobs = make_jobs(table.size, table.files)
    board = make_board(len(table.size), timing.nodes, timing.levels)
    start, finish = np.full(len(table.size), np.nan), np.full(len(table.size), np.nan)
    limit = UNLIMITED
    if twin.share is not None:
        limit = guard_slots(twin.share, timing.nodes, timing.levels)
    machine = _Machine(
        timing.nodes, float(timing.quantum), float(timing.migration), timing.budget,
        float(timing.tolerance), recompute == "boundary",
    )  # fmt: skip
    rules = _Rules(twin.place, twin.migrate, twin.local_first, limit, _index_rules(twin))
    num = len(table.size)
    times = _Times(table.arrival, table.local, table.remote, start, finish, np.zeros(num))
    service = Service(
        table.local, table.remote, table.arrival, times.attained, np.zeros(num, np.int64),
        np.zeros(2, np.int64), np.zeros(len(board.run)),
    )  # fmt: skip
    scratch = _Scratch(
        np.zeros(len(table.size)), np.zeros((2, timing.levels), np.int64),
        np.zeros(len(board.run), np.uint32),
    )  # fmt: skip
    at = _Progress()
    while at.done < num:
        at = _Progress(
            *_simulate(board, jobs, times, machine, rules, scratch, service, at, STEPS_PER_CALL)
        )
        if at.done < num and deadline and deadline.expired():
            raise OutOfTime(f"out of time with {at.done} of {num} jobs finished")
    return Trajectory(
        start.tolist(), finish.tolist(), jobs.local.tolist(), at.tasks, at.occupied, at.updates
    )


def compile_kernels() -> None:
    """Compile the kernel, or load it, by a run of one job."""
    one = np.ones(1)
    table = JobTable(0 * one, one.astype(np.int64), np.ones((1, 1), np.uint64), one, one)
    run(table, Timing(1, 1, 1.0, 0.0, 0, 1e-7), Twin(BEST_FIT, False, False))


def _index_rules(twin: Twin) -> IndexRules:
    index = twin.weighted
    if index is None:
        return IndexRules(False, False, False, 0.0, 0, 1)
    ratio = index.pack_ratio
    return IndexRules(
        True, index.las, index.fcfs, float(index.age), ratio.numerator, ratio.denominator
    )


@kernel
def _remove(board: Board, jobs: Jobs, count: int, gone: Any, num_gone: int) -> int:
    """Departures: take the keys ``gone[:num_gone]`` out of the matrix and the start order."""
    for g in range(num_gone):
        j = gone[g]
        for w in range(jobs.low[j], jobs.high[j]):
            board.homes[jobs.home[j], w] &= ~jobs.columns[j, w]
        board.occupied[jobs.home[j]] -= jobs.size[j]
        at = 0
        while board.run[at] != j:
            at += 1
        count -= 1
        for i in range(at, count):
            board.run[i] = board.run[i + 1]
    return count


@kernel
def _skippable(board: Board, jobs: Jobs, count: int, need: Any, quantum: float, gap: float) -> int:
    """Whole cycles that pass before anything can happen; *gap* is the time to the next arrival."""
    levels = board.occupied.shape[0]
    cycle = levels * quantum
    cycles = _NEVER
    if gap < math.inf:
        if gap < 3 * cycle:
            return 0
        cycles = math.floor(gap / cycle) - 1
    for i in range(count):
        j = board.run[i]
        replicas = _rows_of(jobs.span[j])
        cycles = min(cycles, math.floor(need[j] / (replicas * quantum)) - 1)
        if cycles < 1:
            return 0
    return cycles


@kernel
def _rows_of(span: int) -> int:
    rows = 0
    while span:
        span &= span - 1
        rows += 1
    return rows


@kernel
def _slice_after_gap(arrival: float, index: int, machine: _Machine) -> int:
    """The slice in which the next arrival falls, one on a boundary belonging to the later one."""
    jump = math.floor(arrival / machine.quantum)
    if (jump + 1) * machine.quantum - arrival <= machine.tolerance:
        jump += 1
    return max(jump, index)


@kernel
def _advance(
    board: Board,
    jobs: Jobs,
    count: int,
    times: _Times,
    machine: _Machine,
    need: Any,
    now: float,
    index: int,
    following: float,
    gone: Any,
    num_gone: int,
) -> tuple[float, int]:
    """Run the current row to the next instant at which anything can change.

    Returns (time, number of finished jobs in *gone*).
    """
    end = (index + 1) * machine.quantum
    until = end
    row = index % board.occupied.shape[0]
    active = board.group
    num = 0
    first = math.inf
    for i in range(count):
        j = board.run[i]
        if (jobs.span[j] >> row) & 1:
            active[num] = j
            num += 1
            if need[j] < first:
                first = need[j]
    if not machine.at_boundary:
        if following < until - machine.tolerance:
            until = following
        if now + first < until - machine.tolerance:
            until = now + first
    passed = until - now
    for a in range(num):
        j = active[a]
        if machine.at_boundary and need[j] <= 0.0:
            continue
        times.attained[j] += passed
        remaining = need[j] - passed
        if remaining <= machine.tolerance:
            times.finish[j] = min(now + need[j], end) if machine.at_boundary else until
            remaining = 0.0
            gone[num_gone] = j
            num_gone += 1
        need[j] = remaining
    return until, num_gone


@kernel
def _skip(
    board: Board, jobs: Jobs, count: int, need: Any, attained: Any, quantum: float, cycles: int
) -> None:
    """Let *cycles* whole cycles pass."""
    for i in range(count):
        j = board.run[i]
        passed = (cycles * _rows_of(jobs.span[j])) * quantum
        need[j] -= passed
        attained[j] += passed


@kernel
def _update(
    board: Board, jobs: Jobs, count: int, times: _Times, machine: _Machine, rules: _Rules,
    scratch: _Scratch, service: Service, now: float, queued: int, arrived: int, budget: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """One matrix update; returns (running jobs, arrived less waiting, budget left, slots)."""
    nodes, quantum, index = machine.nodes, machine.quantum, rules.weighted
    need, order, num_moved = scratch.need, scratch.order, 0
    clean(board, jobs, count)
    if index.used:
        num_moved, budget = migrate_weighted(
            board, jobs, service, index, count, nodes, quantum, budget
        )
    elif rules.migrate:
        num_moved, budget = migrate(board, jobs, count, nodes, budget)
    for m in range(num_moved):
        j = board.moved[m]
        need[j] = machine.migration + need[j] * times.local[j] / times.remote[j]
    compact(board, jobs, count, nodes, order[0], order[1])
    before = count
    if index.used:
        count, queued = schedule_weighted(
            board, jobs, service, index, count, nodes, rules.limit, now, arrived
        )
    else:
        count, queued = schedule(
            board, jobs, count, nodes, rules.place, rules.limit, queued, arrived
        )
    for i in range(before, count):
        j = board.run[i]
        times.start[j] = max(now, times.arrival[j])
        need[j] = times.local[j] if jobs.local[j] else times.remote[j]
    if index.used:
        return (
            count,
            queued,
            budget,
            fill_weighted(board, jobs, service, index, count, nodes, quantum),
        )
    return count, queued, budget, fill(board, jobs, count, nodes, rules.local_first)


@entry
def _simulate(
    board: Board, jobs: Jobs, times: _Times, machine: _Machine, rules: _Rules, scratch: _Scratch,
    service: Service, at: _Progress, steps: int,
) -> _Progress:  # fmt: skip
    """At most *steps* steps of the event loop, from where the run stands to where it stands then."""
    total, levels = times.arrival.shape[0], board.occupied.shape[0]
    quantum, tolerance = machine.quantum, machine.tolerance
    need, gone = scratch.need, scratch.gone
    now, index, arrived, queued, count, done, num_gone = at[:7]
    budget_slice, budget, population, occupied, tasks, updates = at[7:]
    while done < total and steps > 0:
        steps -= 1
        following = times.arrival[arrived] if arrived < total else math.inf
        if count > 0 and now == index * quantum:
            cycles = _skippable(board, jobs, count, need, quantum, following - now)
            _skip(board, jobs, count, need, times.attained, quantum, cycles)
            occupied += population * (cycles * (levels * quantum))
            index += cycles * levels
            now = index * quantum
        elif count == 0 and queued == arrived and now + tolerance < following < math.inf:
            jump = _slice_after_gap(following, index, machine)
            now = now if jump == index else jump * quantum
            index = jump
        if following > now + tolerance:
            before = num_gone
            until, num_gone = _advance(
                board, jobs, count, times, machine, need, now, index, following, gone, num_gone
            )
            done += num_gone - before
            occupied += population * (until - now)
            now = until
            if until == (index + 1) * quantum:
                index += 1
        fresh = arrived
        while arrived < total and times.arrival[arrived] <= now + tolerance:
            arrived += 1
        held = machine.at_boundary and now != index * quantum
        if held or (num_gone == 0 and fresh == arrived):
            continue
        count = _remove(board, jobs, count, gone, num_gone)
        num_gone = 0
        if budget_slice != index:
            budget_slice, budget = index, machine.budget
        left = budget
        count, queued, budget, population = _update(
            board, jobs, count, times, machine, rules, scratch, service, now, queued, arrived, budget
        )  # fmt: skip
        tasks += left - budget
        updates += 1
    return _Progress(
        now, index, arrived, queued, count, done, num_gone, budget_slice, budget, population,
        occupied, tasks, updates,
    )  # fmt: skip
