"""Simulator of a time-sliced machine under a gang-scheduling policy.

The row that runs at time t is floor(t/T) mod M (rule 1). Arrivals and departures within the
tolerance are one event (rule 3): departures, which cost nothing (rule 5), arrivals, one matrix
update. The same code runs on floats and on Fractions.
:mod:`ioopt.sim.gang.compiled` is its compiled twin and does the same operations in the same order.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ioopt.decisions.gang.state import Clock, Gang, GangPolicy, Number, State, Timing
from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.sim.relay import Relay

STEPS_PER_LOOK = 64
"""Steps between two looks at the deadline."""

Observer = Callable[[Number, int, State, "tuple[int, ...]"], None]
"""Called after each update with (time, slice index, new state, keys of the jobs that left)."""


@dataclass
class Trajectory:
    """What a simulation yields, by job key (FCFS position); times in seconds.

    ``occupied`` is the integral of occupied node slots, replicas included, over time.
    """

    start: list[Any]
    finish: list[Any]
    local: list[bool]
    tasks_moved: int = 0
    occupied: Number = 0.0
    updates: int = 0


@dataclass
class _Running:
    """Running jobs in start order (rule 10): what the clock needs of the state."""

    keys: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    homes: list[int] = field(default_factory=list)
    spans: list[int] = field(default_factory=list)


class GangSimulation:
    """One run: jobs in FCFS order on a machine under a policy."""

    def __init__(
        self,
        gangs: Sequence[Gang],
        timing: Timing,
        policy: GangPolicy,
        recompute: str = "event",
        observer: Observer | None = None,
    ) -> None:
        self.gangs, self.timing, self.policy = gangs, timing, policy
        self.at_boundary = recompute == "boundary"
        self.observer = observer
        zero = timing.quantum * 0
        self.zero = zero
        self.result = Trajectory(
            [None] * len(gangs), [None] * len(gangs), [False] * len(gangs), occupied=zero
        )
        self.now: Number = zero
        self.slice = 0
        self.arrived = 0
        self.queue: deque[Gang] = deque()
        self.running = _Running()
        self.population = 0
        self.need: list[Number] = [zero] * len(gangs)
        self.attained: list[Number] = [zero] * len(gangs)
        self.budget_slice, self.budget = -1, timing.budget

    def run(self, deadline: Deadline | None = None, relay: Relay | None = None) -> Trajectory:
        """Simulate to the last finish.

        Raises SimulationError when the queue can never proceed, OutOfTime when the *deadline* passes.
        *relay*, which has a deadline of its own, may end the run too.
        """
        total, finished, gone = len(self.gangs), 0, []
        for step in count(1):
            if finished == total:
                break
            if not step % STEPS_PER_LOOK:
                if relay:
                    relay.look(self.arrived, finished, total)
                elif deadline and deadline.expired():
                    raise OutOfTime(f"out of time with {finished} of {total} jobs finished")
            if not self.running.keys:
                self._jump()
            else:
                self._skip_cycles()
            left = self._advance()
            finished += len(left)
            gone += left
            fresh = self._arrivals()
            due = not self.at_boundary or self.now == self.slice * self.timing.quantum
            if due and (gone or fresh):
                self._update(tuple(gone))
                gone = []
            if not self.running.keys and self.queue and self.arrived == total and not gone:
                head = self.queue[0]
                raise SimulationError(
                    f"{self.policy.name}: the job at FCFS position {head.key} with {head.size} "
                    "tasks fits no row of an empty matrix"
                )
        return self.result

    def _jump(self) -> None:
        """With nothing running, go to the slice of the next arrival (or stay, if one is due)."""
        if self.arrived == len(self.gangs) or self.queue:
            return
        timing, arrival = self.timing, self.gangs[self.arrived].arrival
        if arrival <= self.now + timing.tolerance:
            return
        index = math.floor(arrival / timing.quantum)
        if (index + 1) * timing.quantum - arrival <= timing.tolerance:
            index += 1
        if index > self.slice:
            self.slice, self.now = index, index * timing.quantum

    def _skip_cycles(self) -> None:
        """Pass over whole cycles in which nothing can happen."""
        timing = self.timing
        if self.now != self.slice * timing.quantum:
            return
        cycle = timing.levels * timing.quantum
        if self.arrived < len(self.gangs):
            gap = self.gangs[self.arrived].arrival - self.now
            if gap < 3 * cycle:
                return
            cycles = math.floor(gap / cycle) - 1
        else:
            cycles = 1 << 60
        need, running = self.need, self.running
        for key, span in zip(running.keys, running.spans):
            cycles = min(cycles, math.floor(need[key] / (span.bit_count() * timing.quantum)) - 1)
            if cycles < 1:
                return
        for key, span in zip(running.keys, running.spans):
            passed = (cycles * span.bit_count()) * timing.quantum
            need[key] -= passed
            self.attained[key] += passed
        self.result.occupied += self.population * (cycles * cycle)
        self.slice += cycles * timing.levels
        self.now = self.slice * timing.quantum

    def _advance(self) -> list[int]:
        """Run the current row to the next instant at which anything can change."""
        timing, need, now = self.timing, self.need, self.now
        tolerance = timing.tolerance
        slice_end = (self.slice + 1) * timing.quantum
        until: Number = slice_end
        bit = 1 << (self.slice % timing.levels)
        running = self.running
        active = [key for key, span in zip(running.keys, running.spans) if span & bit]
        if self.arrived < len(self.gangs):
            arrival = self.gangs[self.arrived].arrival
            if arrival <= now + tolerance:
                return []
            if arrival < until - tolerance:
                until = arrival
        if self.at_boundary:
            return self._run_slice(active, slice_end)
        if active:
            first = now + min([need[key] for key in active])
            if first < until - tolerance:
                until = first
        passed = until - now
        left = []
        for key in active:
            remaining = need[key] - passed
            need[key] = remaining
            self.attained[key] += passed
            if remaining <= tolerance:
                left.append(key)
        self.result.occupied += self.population * passed
        self.now = until
        if until == slice_end:
            self.slice += 1
        for key in left:
            self.result.finish[key] = until
        return left

    def _run_slice(self, active: list[int], slice_end: Number) -> list[int]:
        """A whole slice under ``recompute="boundary"``: jobs end inside it, the matrix stands."""
        need, passed, now = self.need, slice_end - self.now, self.now
        left = []
        self.result.occupied += self.population * passed
        for key in active:
            if need[key] <= self.zero:
                continue
            self.attained[key] += passed
            if need[key] - passed <= self.timing.tolerance:
                self.result.finish[key] = min(now + need[key], slice_end)
                need[key] = self.zero
                left.append(key)
            else:
                need[key] -= passed
        self.now = slice_end
        self.slice += 1
        return left

    def _arrivals(self) -> bool:
        """Move the jobs that have arrived by now to the queue; True if there were any."""
        horizon = self.now + self.timing.tolerance
        gangs, before = self.gangs, self.arrived
        while self.arrived < len(gangs) and gangs[self.arrived].arrival <= horizon:
            gang = gangs[self.arrived]
            self.queue.append(gang)
            self.need[gang.key] = gang.local
            self.arrived += 1
        return self.arrived > before

    def _update(self, gone: tuple[int, ...]) -> None:
        """One scheduling event: departures leave, the policy runs, what it did takes effect."""
        running, gangs = self.running, self.gangs
        for key in gone:
            at = running.keys.index(key)
            self.result.local[key] = running.columns[at] == gangs[key].files  # rule 8
            for column in (running.keys, running.columns, running.homes, running.spans):
                del column[at]
        if self.budget_slice != self.slice:
            self.budget_slice, self.budget = self.slice, self.timing.budget
        before = self._state()
        after = self.policy.update(before)
        self.budget -= after.tasks_moved
        self.result.tasks_moved += after.tasks_moved
        self.result.updates += 1
        for key in after.moved:  # the fraction of work that is left stays (rule 7)
            gang = gangs[key]
            self.need[key] = self.timing.migration + self.need[key] * gang.local / gang.remote
        self._start(after)
        self.running = _Running(
            [job.key for job in after.jobs], list(after.columns), list(after.homes),
            list(after.spans),
        )  # fmt: skip
        self.population = sum(row.bit_count() for row in after.rows)
        if self.observer is not None:
            self.observer(self.now, self.slice, after, gone)

    def _state(self) -> State:
        running, timing = self.running, self.timing
        rows = [0] * timing.levels
        clock = Clock(self.now, timing.quantum, self.attained, self.need, timing.migration)
        return State(
            timing.nodes, [self.gangs[key] for key in running.keys], running.columns,
            running.homes, running.spans, rows, self.queue, clock, self.budget,
        )  # fmt: skip

    def _start(self, after: State) -> None:
        for job in after.admitted:
            self.result.start[job.key] = max(self.now, job.arrival)
        for i in range(len(after.jobs) - len(after.admitted), len(after.jobs)):
            job = after.jobs[i]
            self.need[job.key] = job.local if after.columns[i] == job.files else job.remote
        if not after.admitted:
            return
        if all(queued is job for queued, job in zip(self.queue, after.admitted)):
            for _ in after.admitted:
                self.queue.popleft()
        else:
            started = {job.key for job in after.admitted}
            self.queue = deque(job for job in self.queue if job.key not in started)
