"""Event-driven simulator of jobs with I/O phases, generic over floats and Fractions (rules 1 to 9).

The engine owns time and feasibility, the policy decides who transfers. The next instant comes from
heaps, and progress is lazy (see :mod:`ioopt.sim.batch_io.storage`), so the cost of an instant depends
on what is outstanding and waiting then, not on the length of the trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush

from ioopt.decisions.batch_io import (
    TIME_TOLERANCE_SECONDS,
    TIME_TOLERANCE_ULPS,
    IoPolicy,
    Limits,
    Number,
    time_tolerance,
)
from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.sim.batch_io.lanes import LaneStorage
from ioopt.sim.batch_io.queue import BatchQueue
from ioopt.sim.batch_io.storage import (
    GONE,
    ActiveRequest,
    PolicyStorage,
    SharedStorage,
    Storage,
    Usage,
)
from ioopt.sim.batch_io.trace import Run, Trace
from ioopt.sim.relay import Relay

_INSTANTS_PER_LOOK = 64
"""Instants between two looks at the deadline."""


def simulate_trace(
    trace: Trace,
    policy: IoPolicy,
    *,
    record_rates: bool = False,
    starts: tuple[Sequence[Number], Sequence[int]] | None = None,
    deadline: Deadline | None = None,
    relay: Relay | None = None,
) -> Run:
    """Run *trace* under *policy*.

    *starts* fixes the start and the first unit of every job (open loop): the batch queue is not
    asked and nodes are not counted. Raises SimulationError when the policy leaves every request
    without bandwidth for good, OutOfTime when the *deadline* passes. *relay*, which has a deadline of
    its own, may end the run too.
    """
    return _Engine(trace, policy, record_rates, starts, relay).run(deadline)


def _storage(policy: IoPolicy, limits: Limits, run: Run, usage: Usage) -> Storage:
    """The storage that plays *policy*."""
    if policy.shares_by_nodes:
        return SharedStorage(limits, run, usage)
    if policy.lane is not None:
        return LaneStorage(policy, policy.lane, limits, run, usage)
    return PolicyStorage(policy, limits, run, usage)


class _Engine:
    def __init__(
        self,
        trace: Trace,
        policy: IoPolicy,
        record_rates: bool,
        starts: tuple[Sequence[Number], Sequence[int]] | None,
        relay: Relay | None = None,
    ) -> None:
        self.trace = trace
        self.relay = relay
        self.policy = policy
        self.limits: Limits = trace.limits
        self.result = Run.empty(trace, record_rates)
        self.starts = starts
        self.queue = BatchQueue(trace, self._start)
        self.now: Number = self.limits.number(0)
        self.jobs = range(len(trace))
        if starts is not None:
            self.jobs = sorted(self.jobs, key=lambda j: (starts[0][j], j))  # type: ignore[assignment]
        self.arrivals = [(trace.submit if starts is None else starts[0])[j] for j in self.jobs]
        self.arrivals.append(math.inf)
        self.arrived = 0
        self.computing: list[tuple[Number, int, ActiveRequest]] = []
        self.kills: list[tuple[Number, int, ActiveRequest]] = []
        self.usage = Usage(self.result, trace.window)
        self.storage = _storage(policy, self.limits, self.result, self.usage)
        self.compute, self.volume = trace.compute, trace.volume
        self.ended = bytearray(len(trace))
        self.num_ended = 0
        self.changed = False
        self.queue_changed = False

    def run(self, deadline: Deadline | None) -> Run:
        """Step from instant to instant until every job has ended."""
        result, storage, computing, arrivals, ended = (
            self.result, self.storage, self.computing, self.arrivals, self.ended,
        )  # fmt: skip
        use_exact, kill = self.limits.exact, self.trace.options.kill
        shared = self.policy.shares_by_nodes
        next_finish, decide = storage.next_finish, storage.decide
        instants_per_look = 1 if self.policy.slow else _INSTANTS_PER_LOOK
        # Hot: the tolerance is written out instead of called.
        absolute, ulps, ulp = TIME_TOLERANCE_SECONDS, TIME_TOLERANCE_ULPS, math.ulp
        while True:
            if kill:
                self._forget_ended()
            finish = instant = next_finish()
            if computing and computing[0][0] < instant:
                instant = computing[0][0]
            if kill and self.kills and self.kills[0][0] < instant:
                instant = self.kills[0][0]
            arrival = arrivals[self.arrived]
            if arrival < instant:
                instant = arrival
            if instant == math.inf:
                break
            until = instant if use_exact else instant + (absolute + ulps * ulp(instant))
            if arrival <= until:
                instant = self._last_arrival(instant, until)
                until = instant if use_exact else instant + time_tolerance(instant)
            self.now = instant
            if shared or finish <= until:
                for request in storage.due(instant, until):
                    self._finish(request)
            while computing and computing[0][0] <= until:
                request = heappop(computing)[2]
                if not ended[request.job]:
                    self._issue_or_go_on(request)
            if kill:
                self._kill_overdue(until)
            if arrival <= instant:
                self._arrive()
            result.events += 1
            if not result.events % instants_per_look:
                self._look(deadline)
            if self.queue_changed:
                self.queue_changed = False
                if self.starts is None:
                    self.queue.run(instant)
            if self.changed:
                self.changed = False
                result.decisions += 1
                decide(instant)
        if storage.waiting():
            raise SimulationError(
                f"{self.policy.name}: {storage.waiting()} request(s) never get bandwidth"
            )
        return result

    def _look(self, deadline: Deadline | None) -> None:
        """End the run where its time is over, or where compiled code will be done sooner."""
        jobs = len(self.ended)
        if self.relay:
            self.relay.look(self.arrived, self.num_ended, jobs)
        elif deadline and deadline.expired():
            raise OutOfTime(f"out of time with {self.num_ended} of {jobs} jobs finished")

    def _forget_ended(self) -> None:
        """Drop what killed jobs would still have done."""
        for heap in (self.computing, self.kills):
            while heap and self.ended[heap[0][2].job]:
                heappop(heap)

    def _last_arrival(self, instant: Number, until: Number) -> Number:
        """*instant*, or the last arrival that is one instant with it: arrivals are exact inputs."""
        k = self.arrived
        while self.arrivals[k] <= until:
            instant = max(instant, self.arrivals[k])
            k += 1
        return instant

    def _kill_overdue(self, until: Number) -> None:
        """End the jobs whose walltime is over (rule 21)."""
        kills = self.kills
        while kills and kills[0][0] <= until:
            request = heappop(kills)[2]
            if not self.ended[request.job]:
                self._kill(request)

    def _arrive(self) -> None:
        """Put the jobs of this instant into the queue; in open loop, start them."""
        while self.arrivals[self.arrived] <= self.now:
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
        request = ActiveRequest(trace.rank[job], trace.allocated[job], self.limits, self.now)
        request.job, request.last_place = job, trace.offset[job + 1]
        request.iteration = trace.iteration[job]
        if trace.options.kill:
            heappush(self.kills, (self.now + trace.walltime[job], request.id, request))
        self._begin_phase(request, trace.offset[job])
        return bool(self.ended[job])

    def _begin_phase(self, request: ActiveRequest, place: int) -> None:
        """Go to the next compute or request of a job, from *place* on, or end it (rule 3)."""
        now, last = self.now, request.last_place
        while place < last:
            seconds = self.compute[place]
            if seconds > 0:
                request.compute_so_far += seconds
                request.began = now
                request.place = place
                heappush(self.computing, (now + seconds, request.id, request))
                return
            if self.volume[place] > 0:
                self._issue(request, place)
                return
            place += 1
        self._end(request.job)

    def _issue_or_go_on(self, request: ActiveRequest) -> None:
        """The compute of a phase ended."""
        place = request.place
        self.usage.add(request.began, self.now, request.nodes)
        if self.volume[place] > 0:
            self._issue(request, place)
        else:
            self._begin_phase(request, place + 1)

    def _issue(self, request: ActiveRequest, place: int) -> None:
        now = self.now
        request.issue(now, self.volume[place], place)
        self.result.request[place] = now
        self.changed = True
        self.storage.issue(request)

    def _finish(self, request: ActiveRequest) -> None:
        now, place = self.now, request.place
        self.storage.leave(request, now)
        self.changed = True
        self.result.finish[place] = now
        request.ideal_so_far += request.volume / request.peak
        self._begin_phase(request, place + 1)

    def _kill(self, request: ActiveRequest) -> None:
        if request.version != GONE:
            self.storage.leave(request, self.now)
            self.changed = True
        else:
            self.usage.add(request.began, self.now, request.nodes)
        self.result.killed[request.job] = 1
        self._end(request.job)

    def _end(self, job: int) -> None:
        self.result.end[job] = self.now
        self.ended[job] = 1
        self.num_ended += 1
        self.queue_changed = True
        if self.starts is None:
            self.queue.release(job)
