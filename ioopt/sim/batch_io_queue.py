"""The batch queue and the allocation of nodes: rules 18 to 20."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from ioopt.sim.batch_io_trace import Trace
from ioopt.sim.batch_io_view import CLOSE, Number, ascending, rounded, time_tolerance

OVERDUE_SECONDS = 300
"""A job past its walltime is predicted to run this much longer (rule 20)."""

FREE = -math.inf
"""Until when a free unit is taken."""


@dataclass
class Reservation:
    """Where and when the first job that did not fit is promised to start.

    What ends at ``until`` or before counts as ended by ``time`` (rule 2). ``extra`` are the units
    free beside the job then (flat); ``mask`` the units of its block (partition).
    """

    time: Number
    until: Number
    extra: int = 0
    mask: int = 0


class Waiting(NamedTuple):
    """A job in the queue; ``arrival`` counts arrivals."""

    arrival: int
    job: int
    submit: Number
    walltime: Number
    nodes: int


Group = deque[Waiting]


class BatchQueue:
    """Waiting and running jobs of one simulation; ``start`` is called for each job that starts.

    ``start(job)`` returns True when the job ended at once (all its phases are zero). Units in use
    are bits of ``busy`` (partition; ``until`` says how long by the walltimes) or counted (flat).

    Waiting jobs stand in groups of equal walltime and equal nodes, each in the order of arrival. In
    a group that order is also the order of the queue, and when the first cannot start in a pass
    neither can the others: a pass looks at the first of every group, not at every job. ``groups``
    go by units, then by (walltime, nodes).
    """

    def __init__(self, trace: Trace, start: Callable[[int], bool]) -> None:
        self.trace = trace
        self.start = start
        self.partition = trace.machine.allocation == "partition"
        self.total = trace.machine.units
        self.free = self.total
        self.busy = 0
        self.groups: dict[int, dict[tuple[Number, int], Group]] = {}
        self.arrivals = 0
        self.block: dict[int, int] = {}
        self.until: list[Number] = [FREE] * (self.total if self.partition else 0)
        self.starts: dict[int, int] = {}
        self.ends: dict[int, Number] = {}

    def __len__(self) -> int:
        return sum(len(group) for groups in self.groups.values() for group in groups.values())

    def arrive(self, job: int) -> None:
        """Put *job* into the queue; nobody arrives at an earlier time than those before."""
        self.arrivals += 1
        trace = self.trace
        walltime, nodes = trace.walltime[job], trace.nodes[job]
        group = self.groups.setdefault(trace.units[job], {}).setdefault((walltime, nodes), deque())
        group.append(Waiting(self.arrivals, job, trace.submit[job], walltime, nodes))

    def withdraw(self, job: int) -> None:
        """Take *job*, which waits, out of the queue."""
        trace = self.trace
        group = self.groups[trace.units[job]][trace.walltime[job], trace.nodes[job]]
        self._forget(group, next(k for k, waiting in enumerate(group) if waiting.job == job))

    def _forget(self, group: Group, place: int) -> None:
        waiting = group[place]
        del group[place]
        if not group:
            units = self.trace.units[waiting.job]
            del self.groups[units][waiting.walltime, waiting.nodes]
            if not self.groups[units]:
                del self.groups[units]

    def release(self, job: int) -> None:
        """Give back the nodes of a job that ended."""
        units = self.trace.units[job]
        self.free += units
        del self.ends[job]
        if self.partition:
            place = self.block.pop(job)
            self.busy &= ~(((1 << units) - 1) << place)
            self.until[place : place + units] = [FREE] * units

    def run(self, now: Number) -> None:
        """One batch pass, repeated while a job started by it ended at once (rule 1)."""
        while self.groups and self._pass(now):
            pass

    def _pass(self, now: Number) -> bool:
        """One pass; True when a job that it started ended at once.

        The reservation is made when somebody asks, and what cannot start is not asked.
        """
        sizes, walltime = self.trace.units, self.trace.walltime
        least = min(self.groups)
        most = self._largest()
        if most < least:
            return False
        promised = 0
        reservation: Reservation | None = None
        full: set[tuple[int, bool]] = set()
        again = False
        order = self._order(now, most)
        for turn, group in enumerate(order, 1):
            job = group[0].job
            units = sizes[job]
            if self.free < least:
                break
            if not promised:
                place = self._place(units, 0)
                if place is None:
                    if self.trace.options.backfill == "none":
                        break
                    promised = units
                    continue
            else:
                if units > self.free:
                    continue
                if reservation is None:
                    reservation = self._reserve(promised, now)
                short = bool(now + walltime[job] <= reservation.until)
                if (units, short) in full:
                    continue
                place = self._backfill(units, short, reservation)
                if place is None:
                    full.add((units, short))
                    continue
            self._forget(group, 0)
            again |= self._start(job, units, place, now)
            if group:
                # The next of the group, whose turn is still to come.
                insort(order, group, lo=turn, key=lambda group: self._rank(group[0], now))
        return again

    def _start(self, job: int, units: int, place: int, now: Number) -> bool:
        self.free -= units
        end = self.ends[job] = now + self.trace.walltime[job]
        if self.partition:
            self.block[job] = place
            self.until[place : place + units] = [end] * units
            self.busy |= ((1 << units) - 1) << place
        return self.start(job)

    def _largest(self) -> int:
        """Units of the largest waiting job that could start now; blocks nest, so all below could."""
        most = 0
        for units in sorted(self.groups):
            if self._place(units, 0) is None:
                break
            most = units
        return most

    def _order(self, now: Number, most: int) -> list[Group]:
        """Groups in the order of the queue (rule 19): those of at most *most* units.

        Of the others, which cannot start in this pass, the first alone: nodes may be promised to it.
        """
        order: list[Group] = []
        others: list[Group] = []
        for units, groups in self.groups.items():
            (order if units <= most else others).extend(groups.values())
        if others:
            keys = self._keys([group[0] for group in others], now)
            best = min(keys)
            slack = 0 if self.trace.limits.exact else CLOSE * abs(best)
            ties = [group for key, group in zip(keys, others) if not key - best > slack]
            if len(ties) > 1:
                ties.sort(key=lambda group: self._rank(group[0], now))
            order.append(ties[0])
        if len(order) < 2:
            return order
        order.sort(key=itemgetter(0))
        keys = self._keys([group[0] for group in order], now)
        return [order[k] for k in ascending(keys, self.trace.limits.exact)]

    def _rank(self, waiting: Waiting, now: Number) -> tuple[Number, int]:
        """What the queue is ordered by."""
        (key,) = self._keys([waiting], now)
        return (key if self.trace.limits.exact else rounded(key)), waiting.arrival

    def _keys(self, jobs: list[Waiting], now: Number) -> list[Number]:
        """WFP scores, the highest being the least; ``fcfs``: all equal, as ties go by arrival."""
        if self.trace.options.queue == "fcfs":
            return [0] * len(jobs)
        return [
            -((wait := (now - submit) / walltime) * wait * wait * nodes)
            for _, _, submit, walltime, nodes in jobs
        ]

    def _place(self, units: int, avoid: int) -> int | None:
        """Lowest free block of *units* that is not in the mask *avoid*; 0 when flat; None: none."""
        if units > self.free:
            return None
        if not self.partition:
            return 0
        taken = self.busy | avoid
        if units == self.total:
            return None if taken else 0
        # Bit p of free: the units from p on, as many as the doublings have reached, are all free.
        free, reached = ~taken, 1
        while reached < units:
            free &= free >> reached
            reached *= 2
        free &= self._aligned(units)
        return (free & -free).bit_length() - 1 if free else None

    def _aligned(self, units: int) -> int:
        """The bits at which a block of *units* may begin."""
        if units not in self.starts:
            places = range(0, self.total - units + 1, units)
            self.starts[units] = sum(1 << place for place in places)
        return self.starts[units]

    def _tolerance(self, time: Number) -> Number:
        return 0 if self.trace.limits.exact else time_tolerance(time)

    def _predicted(self, now: Number) -> list[tuple[Number, int]]:
        """(predicted end, job) of every running job (rule 20)."""
        passed = now + self._tolerance(now)
        return [
            (end if end > passed else now + OVERDUE_SECONDS, job) for job, end in self.ends.items()
        ]

    def _reserve(self, units: int, now: Number) -> Reservation:
        if self.partition:
            return self._reserve_block(units, now)
        free, time = self.free, now
        ends = sorted(self._predicted(now))
        for end, job in ends:
            if free >= units and end > time + self._tolerance(time):
                break
            free += self.trace.units[job]
            if free - self.trace.units[job] < units:
                time = end
        return Reservation(time, time + self._tolerance(time), extra=free - units)

    def _reserve_block(self, units: int, now: Number) -> Reservation:
        until, passed = self.until, now + self._tolerance(now)
        if min(self.ends.values()) <= passed:
            late = now + OVERDUE_SECONDS
            until = [late if FREE < end <= passed else end for end in until]
        best, best_place, sooner = now, 0, math.inf
        for place in range(0, self.total - units + 1, units):
            time = max(now, max(until[place : place + units]))
            if time < sooner:
                best, best_place, sooner = time, place, time - self._tolerance(time)
        return Reservation(
            best, best + self._tolerance(best), mask=((1 << units) - 1) << best_place
        )

    def _backfill(self, units: int, short: bool, reservation: Reservation) -> int | None:
        if self.partition:
            return self._place(units, 0 if short else reservation.mask)
        if short:
            return 0
        if units > reservation.extra:
            return None
        reservation.extra -= units
        return 0
