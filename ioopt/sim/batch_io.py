"""Event-driven simulator of jobs with I/O phases, generic over floats and Fractions (rules 1 to 9).

The engine owns time and feasibility, the policy decides who transfers. The next instant comes from
heaps, and progress is lazy (see :mod:`ioopt.sim.batch_io_storage`), so the cost of an instant depends
on what is outstanding and waiting then, not on the length of the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from ioopt.errors import SimulationError
from ioopt.options import Deadline
from ioopt.sim.batch_io_queue import BatchQueue
from ioopt.sim.batch_io_storage import (
    ActiveRequest,
    PolicyStorage,
    SharedStorage,
    Storage,
    Usage,
)
from ioopt.sim.batch_io_trace import Run, Trace
from ioopt.sim.batch_io_view import IoPolicy, Limits, Number, time_tolerance

_INSTANTS_PER_LOOK = 4096
"""Instants between two looks at the deadline."""


class OutOfTime(SimulationError):
    """The deadline passed before every job had ended."""


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
        self.usage = Usage(self.result, trace.window)
        self.storage: Storage = (
            SharedStorage(self.limits, self.result, self.usage)
            if policy.shares_by_nodes
            else PolicyStorage(policy, self.limits, self.result, self.usage)
        )
        self.phase = list(trace.offset)
        self.active: list[ActiveRequest | None] = [None] * len(trace)
        self.so_far: list[list[Number]] = [[]] * len(trace)
        self.began: list[Number] = [self.zero] * len(trace)
        self.ended = bytearray(len(trace))
        self.changed = False
        self.queue_changed = False

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
                self.storage.decide(self.now)
        if self.storage.waiting():
            raise SimulationError(
                f"{self.policy.name}: {self.storage.waiting()} request(s) never get bandwidth"
            )
        return result

    def _next(self) -> Number | None:
        for heap in (self.computing, self.kills):
            while heap and self.ended[heap[0][2]]:
                heappop(heap)
        tops = [heap[0][0] for heap in (self.computing, self.kills) if heap]
        finish = self.storage.next_finish()
        if finish is not None:
            tops.append(finish)
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
        computing, kills = self.computing, self.kills
        for request in self.storage.due(self.now, until):
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
        """Go to the next compute or request of *job*, or end it (rule 3)."""
        trace, place = self.trace, self.phase[job]
        last = trace.offset[job + 1]
        while place < last:
            seconds = trace.compute[place]
            if seconds > 0:
                self.so_far[job][0] += seconds
                self.began[job] = self.now
                self.phase[job] = place
                heappush(self.computing, (self.now + seconds, trace.rank[job], job))
                return
            if trace.volume[place] > 0:
                self.phase[job] = place
                self._issue(job, place)
                return
            place += 1
        self.phase[job] = place
        self._end(job)

    def _issue_or_go_on(self, job: int) -> None:
        """The compute of a phase ended."""
        place = self.phase[job]
        self.usage.add(self.began[job], self.now, self.trace.allocated[job])
        if self.trace.volume[place] > 0:
            self._issue(job, place)
        else:
            self.phase[job] += 1
            self._begin_phase(job)

    def _issue(self, job: int, place: int) -> None:
        trace = self.trace
        request = ActiveRequest(
            trace.rank[job], trace.allocated[job], self.limits, self.now, trace.volume[place], place
        )
        request.job = job
        request.start = self.result.start[job]
        request.compute_so_far, request.ideal_so_far = self.so_far[job]
        request.iteration = trace.iteration[job]
        self.result.request[place] = self.now
        self.active[job] = request
        self.changed = True
        self.storage.issue(request)

    def _leave(self, request: ActiveRequest) -> None:
        """Take *request* out of the outstanding ones."""
        self.storage.leave(request, self.now)
        self.active[request.job] = None
        self.changed = True

    def _finish(self, request: ActiveRequest) -> None:
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
            self.usage.add(self.began[job], self.now, self.trace.allocated[job])
        self.result.killed[job] = 1
        self._end(job)

    def _end(self, job: int) -> None:
        self.result.end[job] = self.now
        self.ended[job] = 1
        self.queue_changed = True
        if self.starts is None:
            self.queue.release(job)
