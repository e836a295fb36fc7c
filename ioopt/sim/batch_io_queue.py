"""The batch queue and the allocation of nodes: rules 18 to 20."""

from __future__ import annotations

from bisect import insort
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

from ioopt.sim.batch_io_trace import Trace
from ioopt.sim.batch_io_view import Number, ascending, rounded, time_tolerance

OVERDUE_SECONDS = 300
"""A job past its walltime is predicted to run this much longer (rule 20)."""


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


class BatchQueue:
    """Waiting and running jobs of one simulation; ``start`` is called for each job that starts.

    ``start(job)`` returns True when the job ended at once (all its phases are zero). Units in use
    are bits of ``busy`` (partition) or counted (flat).

    Waiting jobs stand in groups of equal walltime and equal nodes, each in the order of arrival. In
    a group that order is also the order of the queue, and when the first cannot start in a pass
    neither can the others: a pass looks at the first of every group, not at every job.
    """

    def __init__(self, trace: Trace, start: Callable[[int], bool]) -> None:
        self.trace = trace
        self.start = start
        self.partition = trace.machine.allocation == "partition"
        self.total = trace.machine.units
        self.free = self.total
        self.busy = 0
        self.groups: dict[tuple[Number, int], deque[tuple[int, int]]] = {}
        self.sizes: Counter[int] = Counter()
        self.arrivals = 0
        self.block: dict[int, int] = {}
        self.ends: dict[int, Number] = {}

    def __len__(self) -> int:
        return self.sizes.total()

    def arrive(self, job: int) -> None:
        """Put *job* into the queue; nobody arrives at an earlier time than those before."""
        self.arrivals += 1
        self._group(job).append((self.arrivals, job))
        self.sizes[self.trace.units[job]] += 1

    def withdraw(self, job: int) -> None:
        """Take *job*, which waits, out of the queue."""
        group = self._group(job)
        self._forget(group, next(k for k, (_, other) in enumerate(group) if other == job))

    def _group(self, job: int) -> deque[tuple[int, int]]:
        """The (arrival, job) of the waiting jobs that are like *job*."""
        kind = self.trace.walltime[job], self.trace.nodes[job]
        return self.groups.setdefault(kind, deque())

    def _forget(self, group: deque[tuple[int, int]], place: int) -> None:
        job = group[place][1]
        del group[place]
        units = self.trace.units[job]
        self.sizes[units] -= 1
        if not self.sizes[units]:
            del self.sizes[units]
        if not group:
            del self.groups[self.trace.walltime[job], self.trace.nodes[job]]

    def release(self, job: int) -> None:
        """Give back the nodes of a job that ended."""
        units = self.trace.units[job]
        self.free += units
        del self.ends[job]
        if self.partition:
            self.busy &= ~(((1 << units) - 1) << self.block.pop(job))

    def run(self, now: Number) -> None:
        """One batch pass, repeated while a job started by it ended at once (rule 1)."""
        while self.sizes and self._pass(now):
            pass

    def _pass(self, now: Number) -> bool:
        """One pass; True when a job that it started ended at once.

        The reservation is made when somebody asks, and what cannot start is not asked.
        """
        sizes, walltime = self.trace.units, self.trace.walltime
        least = min(self.sizes)
        if self._place(least, 0) is None:
            return False
        promised = 0
        reservation: Reservation | None = None
        full: set[tuple[int, bool]] = set()
        again = False
        order = self._order(now)
        for turn, group in enumerate(order, 1):
            job = group[0][1]
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
                insort(order, group, lo=turn, key=lambda group: self._rank(group, now))
        return again

    def _start(self, job: int, units: int, place: int, now: Number) -> bool:
        self.free -= units
        self.ends[job] = now + self.trace.walltime[job]
        if self.partition:
            self.block[job] = place
            self.busy |= ((1 << units) - 1) << place
        return self.start(job)

    def _order(self, now: Number) -> list[deque[tuple[int, int]]]:
        """Groups by the WFP score of their first, ties (or all of them) by arrival (rule 19)."""
        groups = sorted(self.groups.values(), key=itemgetter(0))
        if self.trace.options.queue == "fcfs":
            return groups
        keys = [self._key(group[0][1], now) for group in groups]
        return [groups[k] for k in ascending(keys, self.trace.limits.exact)]

    def _rank(self, group: deque[tuple[int, int]], now: Number) -> tuple[Number, int]:
        """What :meth:`_order` orders *group* by."""
        arrival, job = group[0]
        if self.trace.options.queue == "fcfs":
            return 0, arrival
        key = self._key(job, now)
        return (key if self.trace.limits.exact else rounded(key)), arrival

    def _key(self, job: int, now: Number) -> Number:
        """The WFP score of *job*, the highest being the least."""
        trace = self.trace
        wait = (now - trace.submit[job]) / trace.walltime[job]
        return -(wait * wait * wait * trace.nodes[job])

    def _place(self, units: int, avoid: int) -> int | None:
        """Lowest free block of *units* that is not in the mask *avoid*; 0 when flat; None: none."""
        if units > self.free:
            return None
        if not self.partition:
            return 0
        if units == self.total:
            return None if self.busy | avoid else 0
        taken = self.busy | avoid
        mask = (1 << units) - 1
        for place in range(0, self.total - units + 1, units):
            if not taken >> place & mask:
                return place
        return None

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
        until = [now] * self.total
        for end, job in self._predicted(now):
            place, size = self.block[job], self.trace.units[job]
            until[place : place + size] = [end] * size
        best, best_place = max(until[:units]), 0
        sooner = best - self._tolerance(best)
        for place in range(units, self.total - units + 1, units):
            time = max(until[place : place + units])
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
