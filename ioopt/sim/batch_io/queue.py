"""The batch queue and the allocation of nodes: rules 18 to 20."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ioopt.decisions.batch_io import CLOSE, Number, ascending, rounded, time_tolerance
from ioopt.sim.batch_io.trace import Trace

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


Waiting = tuple[int, int, Number, Number, int, int]
"""A job in the queue: which arrival it was, its number, submit time, walltime, nodes and units."""
FEW = 40
"""Up to here all groups are ordered; more are looked through first."""


class BatchQueue:
    """Waiting and running jobs of one simulation; ``start`` is called for each job that starts.

    ``start(job)`` returns True when the job ended at once (all its phases are zero). Units in use
    are bits of ``busy`` (partition; ``until`` says how long by the walltimes) or counted (flat).

    Waiting jobs stand in groups of equal walltime and equal nodes, each in the order of arrival. In
    a group that order is also the order of the queue, and when the first cannot start in a pass
    neither can the others: a pass looks at the first of every group, not at every job. ``groups``
    go by (walltime, nodes).
    """

    def __init__(self, trace: Trace, start: Callable[[int], bool]) -> None:
        self.trace = trace
        self.start = start
        self.partition = trace.machine.allocation == "partition"
        self.total = trace.machine.units
        self.free = self.total
        self.busy = 0
        self.groups: dict[tuple[Number, int], deque[Waiting]] = {}
        self.arrivals = 0
        self.block: dict[int, int] = {}
        self.until: list[Number] = [FREE] * (self.total if self.partition else 0)
        self.starts: dict[int, int] = {}
        self.ends: dict[int, Number] = {}

    def __len__(self) -> int:
        return sum(len(group) for group in self.groups.values())

    def arrive(self, job: int) -> None:
        """Put *job* into the queue; nobody arrives at an earlier time than those before."""
        self.arrivals += 1
        trace = self.trace
        kind = trace.walltime[job], trace.nodes[job]
        waiting = (self.arrivals, job, trace.submit[job], *kind, trace.units[job])
        if kind in self.groups:
            self.groups[kind].append(waiting)
        else:
            self.groups[kind] = deque([waiting])

    def withdraw(self, job: int) -> None:
        """Take *job*, which waits, out of the queue."""
        kind = self.trace.walltime[job], self.trace.nodes[job]
        group = self.groups[kind]
        del group[next(k for k, waiting in enumerate(group) if waiting[1] == job)]
        if not group:
            del self.groups[kind]

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
        heads = [group[0] for group in self.groups.values()]
        sizes = [units for _, _, _, _, _, units in heads]
        least = min(sizes)
        if self._place(least, 0) is None:
            return False
        promised = 0
        reservation: Reservation | None = None
        full: set[tuple[int, bool]] = set()
        again = False
        if len(heads) > FEW:
            heads = self._candidates(heads, self._largest(sizes), now)
        order = self._order(heads, now)
        for turn, (_, job, _, walltime, nodes, units) in enumerate(order, 1):
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
                short = bool(now + walltime <= reservation.until)
                if (units, short) in full:
                    continue
                place = self._backfill(units, short, reservation)
                if place is None:
                    full.add((units, short))
                    continue
            group = self.groups[walltime, nodes]
            group.popleft()
            again |= self._start(job, units, place, now)
            if group:
                # The next of the group, whose turn is still to come.
                insort(order, group[0], lo=turn, key=lambda head: self._rank(head, now))
            else:
                del self.groups[walltime, nodes]
        return again

    def _start(self, job: int, units: int, place: int, now: Number) -> bool:
        self.free -= units
        end = self.ends[job] = now + self.trace.walltime[job]
        if self.partition:
            self.block[job] = place
            self.until[place : place + units] = [end] * units
            self.busy |= ((1 << units) - 1) << place
        return self.start(job)

    def _largest(self, sizes: list[int]) -> int:
        """Units that a job may have to start now, of *sizes*: blocks nest, so smaller ones could too."""
        if not self.partition:
            return self.free
        most = 0
        for units in sorted(set(sizes)):
            if self._place(units, 0) is None:
                break
            most = units
        return most

    def _candidates(self, heads: list[Waiting], most: int, now: Number) -> list[Waiting]:
        """Those of the *heads* of groups that a pass has to look at: with at most *most* units.

        Of the others, which cannot start in this pass, the first alone: nodes may be promised to it.
        """
        found = [head for head in heads if head[5] <= most]
        if len(found) < len(heads):
            others = [head for head in heads if head[5] > most]
            keys = self._keys(others, now)
            best = min(keys)
            slack = 0 if self.trace.limits.exact else CLOSE * abs(best)
            ties = [head for key, head in zip(keys, others) if not key - best > slack]
            found.append(min(ties, key=lambda head: self._rank(head, now)))
        return found

    def _order(self, heads: list[Waiting], now: Number) -> list[Waiting]:
        """*heads* by WFP score, ties (or all of them) by arrival, which stands first (rule 19)."""
        heads.sort()
        return [heads[k] for k in ascending(self._keys(heads, now), self.trace.limits.exact)]

    def _rank(self, head: Waiting, now: Number) -> tuple[Number, int]:
        """What the queue is ordered by."""
        (key,) = self._keys([head], now)
        return (key if self.trace.limits.exact else rounded(key)), head[0]

    def _keys(self, heads: list[Waiting], now: Number) -> list[Number]:
        """WFP scores, the highest being the least; ``fcfs``: all equal, as ties go by arrival."""
        if self.trace.options.queue == "fcfs":
            return [0] * len(heads)
        return [
            -((wait := (now - submit) / walltime) * wait * wait * nodes)
            for _, _, submit, walltime, nodes, _ in heads
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
            count = self.total // units
            starts, reached = 1, 1
            while reached < count:  # by doubling: bit by bit takes the square of a large machine
                starts |= starts << reached * units
                reached *= 2
            self.starts[units] = starts & (1 << count * units) - 1
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
