"""Event-driven simulator of jobs with I/O phases, generic over floats and Fractions (rules 1 to 9).

The engine owns time and feasibility, the policy decides who transfers. Progress is lazy: a request
keeps its bytes left at the last change of its own rate and the instant at which it will finish, so
an event costs a heap operation, and a decision touches the outstanding requests only while they
do not all fit.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter

from ioopt.errors import SimulationError
from ioopt.options import Deadline
from ioopt.sim.batch_io_queue import BatchQueue
from ioopt.sim.batch_io_trace import Run, Trace
from ioopt.sim.batch_io_view import IoPolicy, Limits, Number, Request, View, time_tolerance

_KEY = attrgetter("key")
_INSTANTS_PER_LOOK = 4096
"""Instants between two looks at the deadline."""


class OutOfTime(SimulationError):
    """The deadline passed before every job had ended."""


class _Active(Request):
    """A request inside the engine: ``base`` bytes were left at ``anchor``; ``rate`` since then.

    ``version`` stamps the newest entry in the finish heap; older ones are dropped when met. It is
    0 before the first grant and -1 after the finish.
    """

    __slots__ = ("anchor", "base", "job", "place", "rate", "version", "volume")

    job: int
    place: int
    version: int
    anchor: Number
    base: Number
    rate: Number
    volume: Number


def simulate_trace(
    trace: Trace,
    policy: IoPolicy,
    *,
    record_rates: bool = False,
    starts: tuple[Sequence[Number], Sequence[int]] | None = None,
    deadline: Deadline | None = None,
) -> Run:
    """Run *trace* under *policy*.

    *starts* fixes the start and the first unit of every job (open loop): the batch queue is not
    asked and nodes are not counted. Raises SimulationError when the policy leaves every request
    without bandwidth for good, OutOfTime when the *deadline* passes.
    """
    return _Engine(trace, policy, record_rates, starts).run(deadline)


class _Engine:
    def __init__(
        self,
        trace: Trace,
        policy: IoPolicy,
        record_rates: bool,
        starts: tuple[Sequence[Number], Sequence[int]] | None,
    ) -> None:
        self.trace = trace
        self.policy = policy
        self.limits: Limits = trace.limits
        self.zero = self.limits.number(0)
        self.result = Run.empty(trace, record_rates)
        self.starts = starts
        self.queue = BatchQueue(trace, self._start)
        self.now: Number = self.zero
        self.jobs = range(len(trace))
        if starts is not None:
            self.jobs = sorted(self.jobs, key=lambda j: (starts[0][j], j))  # type: ignore[assignment]
        self.arrivals = [(trace.submit if starts is None else starts[0])[j] for j in self.jobs]
        self.arrived = 0
        self.computing: list[tuple[Number, int, int]] = []
        self.kills: list[tuple[Number, int, int]] = []
        self.finishing: list[tuple[Number, int, int, _Active]] = []
        self.outstanding: list[_Active] = []
        self.load = 0
        self.stamp = 0
        self.crowded = False
        self.phase = list(trace.offset)
        self.active: list[_Active | None] = [None] * len(trace)
        self.so_far: list[list[Number]] = [[]] * len(trace)
        self.began: list[Number] = [self.zero] * len(trace)
        self.ended = bytearray(len(trace))
        self.fresh: list[_Active] = []
        self.changed = False
        self.queue_changed = False
        self.window = trace.window

    def run(self, deadline: Deadline | None) -> Run:
        """Step from instant to instant until every job has ended."""
        result, limits = self.result, self.limits
        while True:
            instant = self._next()
            if instant is None:
                break
            until = instant if limits.exact else instant + time_tolerance(instant)
            self.now = self._last_arrival(instant, until)
            if not limits.exact and self.now != instant:
                until = self.now + time_tolerance(self.now)
            self._apply(until)
            result.events += 1
            if deadline and not result.events % _INSTANTS_PER_LOOK and deadline.expired():
                ended = sum(self.ended)
                raise OutOfTime(f"out of time with {ended} of {len(self.ended)} jobs ended")
            if self.queue_changed and self.starts is None:
                self.queue.run(self.now)
            self.queue_changed = False
            if self.changed:
                self.changed = False
                result.decisions += 1
                self._decide()
        if self.outstanding:
            raise SimulationError(
                f"{self.policy.name}: {len(self.outstanding)} request(s) never get bandwidth"
            )
        return result

    def _next(self) -> Number | None:
        finishing, kills = self.finishing, self.kills
        while finishing and finishing[0][2] != finishing[0][3].version:
            heappop(finishing)
        for heap in (self.computing, kills):
            while heap and self.ended[heap[0][2]]:
                heappop(heap)
        tops = [heap[0][0] for heap in (finishing, self.computing, kills) if heap]
        if self.arrived < len(self.arrivals):
            tops.append(self.arrivals[self.arrived])
        return min(tops) if tops else None

    def _last_arrival(self, instant: Number, until: Number) -> Number:
        """*instant*, or the last arrival that is one instant with it: arrivals are exact inputs."""
        k = self.arrived
        while k < len(self.arrivals) and self.arrivals[k] <= until:
            instant = max(instant, self.arrivals[k])
            k += 1
        return instant

    def _apply(self, until: Number) -> None:
        """Everything of one instant before the batch pass, in the order of rule 1."""
        finishing, computing, kills = self.finishing, self.computing, self.kills
        done: list[_Active] = []
        while finishing and finishing[0][0] <= until:
            _, _, version, request = heappop(finishing)
            if version == request.version:
                done.append(request)
        if len(done) > 1:
            done.sort(key=lambda request: request.id)
        for request in done:
            self._finish(request)
        while computing and computing[0][0] <= until:
            _, _, job = heappop(computing)
            if not self.ended[job]:
                self._issue_or_go_on(job)
        while kills and kills[0][0] <= until:
            _, _, job = heappop(kills)
            if not self.ended[job]:
                self._kill(job)
        while self.arrived < len(self.arrivals) and self.arrivals[self.arrived] <= self.now:
            job = self.jobs[self.arrived]
            self.arrived += 1
            self.queue_changed = True
            if self.starts is None:
                self.queue.arrive(job)
            else:
                self._start(job)

    def _start(self, job: int) -> bool:
        """Start *job* now; True when it ended at once."""
        trace = self.trace
        self.result.start[job] = self.now
        if self.starts is None:
            if self.queue.partition:
                self.result.block[job] = self.queue.block[job]
        else:
            self.result.block[job] = self.starts[1][job]
        self.so_far[job] = [self.zero, self.zero]
        if trace.options.kill:
            heappush(self.kills, (self.now + trace.walltime[job], trace.rank[job], job))
        self._begin_phase(job)
        return bool(self.ended[job])

    def _begin_phase(self, job: int) -> None:
        """Compute of the phase at ``phase[job]``, or what follows when there is none (rule 3)."""
        trace, place = self.trace, self.phase[job]
        if place == trace.offset[job + 1]:
            self._end(job)
            return
        seconds = trace.compute[place]
        if seconds > 0:
            self.so_far[job][0] += seconds
            self.began[job] = self.now
            heappush(self.computing, (self.now + seconds, trace.rank[job], job))
        else:
            self._issue_or_go_on(job)

    def _issue_or_go_on(self, job: int) -> None:
        place = self.phase[job]
        if self.trace.compute[place] > 0:
            self._useful(job, self.began[job], self.now, 1)
        if self.trace.volume[place] > 0:
            self._issue(job, place)
        else:
            self.phase[job] += 1
            self._begin_phase(job)

    def _issue(self, job: int, place: int) -> None:
        trace = self.trace
        volume = trace.volume[place]
        request = _Active(trace.rank[job], trace.allocated[job], self.limits, self.now, volume)
        request.job, request.place, request.version = job, place, 0
        request.volume = request.base = volume
        request.anchor, request.rate = self.now, self.zero
        request.start = self.result.start[job]
        request.compute_so_far, request.ideal_so_far = self.so_far[job]
        request.iteration = trace.iteration[job]
        self.result.request[place] = self.now
        self.active[job] = request
        self.load += request.units
        self.changed = True
        self.fresh.append(request)
        if self.outstanding and self.outstanding[-1].key > request.key:
            insort(self.outstanding, request, key=_KEY)
        else:
            self.outstanding.append(request)

    def _leave(self, request: _Active) -> None:
        """Take *request* out of the outstanding ones."""
        self._settle(request, self.now)
        request.version = -1
        self.active[request.job] = None
        self.load -= request.units
        self.outstanding.remove(request)
        self.changed = True

    def _finish(self, request: _Active) -> None:
        job, place = request.job, request.place
        self._leave(request)
        self.result.finish[place] = self.now
        self.so_far[job][1] += request.volume / request.peak
        self.phase[job] += 1
        self._begin_phase(job)

    def _kill(self, job: int) -> None:
        request = self.active[job]
        if request is not None:
            self._leave(request)
        else:
            self._useful(job, self.began[job], self.now, 1)
        self.result.killed[job] = 1
        self._end(job)

    def _end(self, job: int) -> None:
        self.result.end[job] = self.now
        self.ended[job] = 1
        self.queue_changed = True
        if self.starts is None:
            self.queue.release(job)

    def _decide(self) -> None:
        """One decision (rule 9). While all peaks fit, policies that then grant them are not asked."""
        outstanding, limits = self.outstanding, self.limits
        fresh, self.fresh = self.fresh, []
        policy = self.policy
        fits = self.load <= limits.capacity_units or len(outstanding) <= 1
        if policy.ignores_limit or (fits and policy.full_when_fits):
            for request in outstanding if self.crowded else fresh:
                if request.version >= 0 and request.rate != request.peak:
                    self._set_rate(request, request.peak)
            self.crowded = False
            return
        self.crowded = True
        now = self.now
        for request in outstanding:
            if request.rate:
                left = request.base - request.rate * (now - request.anchor)
                request.left = left if left > 0 else self.zero
                request.moved = request.volume - request.left
        rates = policy.decide(View(limits, now, outstanding))
        moved = [(r, rate) for r, rate in zip(outstanding, rates) if r.rate != rate]
        if 2 * len(moved) > len(outstanding):
            self._set_all(moved)
        else:
            for request, rate in moved:
                self._set_rate(request, rate)

    def _set_rate(self, request: _Active, rate: Number) -> None:
        self._change(request, rate)
        if rate:
            finish = self.now + request.base / rate
            heappush(self.finishing, (finish, request.id, request.version, request))

    def _set_all(self, moved: list[tuple[_Active, Number]]) -> None:
        """Change most of the rates: the finish heap is built anew rather than pushed into."""
        for request, rate in moved:
            self._change(request, rate)
        self.finishing[:] = [
            (request.anchor + request.base / request.rate, request.id, request.version, request)
            for request in self.outstanding
            if request.rate
        ]
        heapify(self.finishing)

    def _change(self, request: _Active, rate: Number) -> None:
        self._settle(request, self.now)
        request.rate = rate
        self.stamp += 1
        if rate and not request.version:
            self.result.grant[request.place] = self.now
        request.version = self.stamp

    def _settle(self, request: _Active, now: Number) -> None:
        """Book what *request* moved since its rate last changed."""
        rate, since = request.rate, request.anchor
        if rate and now > since:
            left = request.base - rate * (now - since)
            request.base = request.left = left if left > 0 else self.zero
            request.moved = request.volume - request.base
            if self.result.rates is not None:
                self.result.rates.append((request.place, since, now, rate))  # type: ignore[attr-defined]
            self._useful(request.job, since, now, rate / request.peak)
        request.anchor = now

    def _useful(self, job: int, since: Number, until: Number, part: Number) -> None:
        """Count uncongested work of *job*: *part* of the time from *since* to *until* (rule 22)."""
        first, last = self.window
        span = (until if until < last else last) - (since if since > first else first)
        if span > 0:
            self.result.useful += span * part * self.trace.allocated[job]
