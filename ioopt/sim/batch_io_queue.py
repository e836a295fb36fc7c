"""The batch queue and the allocation of nodes: rules 18 to 20."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ioopt.sim.batch_io_trace import Trace
from ioopt.sim.batch_io_view import Number, ascending, time_tolerance

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
    """

    def __init__(self, trace: Trace, start: Callable[[int], bool]) -> None:
        self.trace = trace
        self.start = start
        self.partition = trace.machine.allocation == "partition"
        self.total = trace.machine.units
        self.free = self.total
        self.busy = 0
        self.waiting: list[int] = []
        self.block: dict[int, int] = {}
        self.ends: dict[int, Number] = {}

    def arrive(self, job: int) -> None:
        """Put *job* into the queue."""
        self.waiting.append(job)

    def release(self, job: int) -> None:
        """Give back the nodes of a job that ended."""
        units = self.trace.units[job]
        self.free += units
        del self.ends[job]
        if self.partition:
            self.busy &= ~(((1 << units) - 1) << self.block.pop(job))

    def run(self, now: Number) -> None:
        """One batch pass, repeated while a job started by it ended at once (rule 1)."""
        while self.waiting and self._pass(now):
            pass

    def _pass(self, now: Number) -> bool:
        """One pass; True when a job that it started ended at once.

        The reservation is made when somebody asks, and what cannot start is not asked.
        """
        sizes, walltime = self.trace.units, self.trace.walltime
        least = min([sizes[job] for job in self.waiting])
        if self._place(least, 0) is None:
            return False
        promised = 0
        reservation: Reservation | None = None
        full: set[tuple[int, bool]] = set()
        started: list[int] = []
        again = False
        for job in self._order(now):
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
            started.append(job)
            again |= self._start(job, units, place, now)
        if started:
            gone = set(started)
            self.waiting = [job for job in self.waiting if job not in gone]
        return again

    def _start(self, job: int, units: int, place: int, now: Number) -> bool:
        self.free -= units
        self.ends[job] = now + self.trace.walltime[job]
        if self.partition:
            self.block[job] = place
            self.busy |= ((1 << units) - 1) << place
        return self.start(job)

    def _order(self, now: Number) -> list[int]:
        """Waiting jobs by WFP score, or by (submit, id), which is how they stand (rule 19)."""
        if self.trace.options.queue == "fcfs":
            return self.waiting
        submit, walltime, nodes = self.trace.submit, self.trace.walltime, self.trace.nodes
        keys = []
        for job in self.waiting:
            wait = (now - submit[job]) / walltime[job]
            keys.append(-(wait * wait * wait * nodes[job]))
        waiting = self.waiting
        return [waiting[k] for k in ascending(keys, self.trace.limits.exact)]

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
