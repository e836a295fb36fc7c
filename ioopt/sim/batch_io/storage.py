"""The storage of the batch I/O simulator: who transfers at what rate, and who finishes next.

Progress is lazy. :class:`PolicyStorage` asks a policy: a request keeps its bytes left at the last
change of its own rate and the instant at which it will finish, and a decision touches the
outstanding requests only while they do not all fit. :class:`SharedStorage` is for sharing by nodes
(rule 7), where every node moves the same number of bytes: one virtual clock counts them, and
neither an event nor a decision touches any request but its own.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Protocol

from ioopt.decisions.batch_io import IoPolicy, Limits, Number, Request, View
from ioopt.sim.batch_io.trace import Run

_KEY = attrgetter("key")
GONE = -1


class ActiveRequest(Request):
    """The request of a job inside the engine: ``base`` bytes were left at ``anchor``; ``rate`` since.

    ``place`` is that of the job's phase in the trace, ``last_place`` where its phases end, ``began``
    when it last began to compute. One object serves all requests of a job, one after the other.
    ``version`` stamps the newest entry in the finish heap; older ones are dropped when met. It is 0
    before the first grant of a request and GONE while there is none.
    """

    __slots__ = (
        "anchor", "base", "began", "job", "last_place", "place", "rate", "version", "volume",
    )  # fmt: skip

    def __init__(self, rank: int, nodes: int, limits: Limits, start: Number) -> None:
        super().__init__(rank, nodes, limits, start, limits.number(0))
        self.job = self.place = self.last_place = 0
        self.began = start
        self.version = GONE

    def issue(self, now: Number, volume: Number, place: int) -> None:
        """Become the request for *volume* bytes of the phase at *place*."""
        self.requested = self.anchor = now
        self.key = (now, self.id)
        self.volume = self.base = self.left = volume
        self.place = place
        self.moved = self.rate = self.version = 0


class Storage(Protocol):
    """What the engine needs of a storage; times never run backward."""

    def next_finish(self) -> Number:
        """When the next request finishes if nothing else happens; infinity: none ever does."""

    def due(self, now: Number, until: Number) -> list[ActiveRequest]:
        """Requests that finish by *until*, which is one instant with *now*; they have not left."""

    def issue(self, request: ActiveRequest) -> None:
        """A request becomes outstanding."""

    def leave(self, request: ActiveRequest, now: Number) -> None:
        """A request finished or was killed."""

    def decide(self, now: Number) -> None:
        """Take one decision (rule 9)."""

    def waiting(self) -> int:
        """Number of outstanding requests."""


class Usage:
    """Counts uncongested work inside the window of rule 22, in node-seconds."""

    def __init__(self, run: Run, window: tuple[Number, Number]) -> None:
        self.run = run
        self.first, self.last = window

    def add(self, since: Number, until: Number, nodes: Number) -> None:
        """*nodes* (a fraction of them where I/O is slowed) at work from *since* to *until*."""
        first, last = self.first, self.last
        span = (until if until < last else last) - (since if since > first else first)
        if span > 0:
            self.run.useful += span * nodes


class PolicyStorage:
    """A storage that asks a policy."""

    def __init__(self, policy: IoPolicy, limits: Limits, run: Run, usage: Usage) -> None:
        self.policy = policy
        self.limits = limits
        self.run = run
        self.usage = usage
        self.finishing: list[tuple[Number, int, int, ActiveRequest]] = []
        self.outstanding: list[ActiveRequest] = []
        self.fresh: list[ActiveRequest] = []
        self.load = 0
        self.stamp = 0
        self.crowded = False

    def waiting(self) -> int:
        """Number of outstanding requests."""
        return len(self.outstanding)

    def next_finish(self) -> Number:
        """The earliest finish at the present rates."""
        finishing = self.finishing
        while finishing and finishing[0][2] != finishing[0][3].version:
            heappop(finishing)
        return finishing[0][0] if finishing else math.inf

    def due(self, now: Number, until: Number) -> list[ActiveRequest]:
        """Requests that finish by *until*, by job id."""
        finishing = self.finishing
        done: list[ActiveRequest] = []
        while finishing and finishing[0][0] <= until:
            _, _, version, request = heappop(finishing)
            if version == request.version:
                done.append(request)
        if len(done) > 1:
            done.sort(key=lambda request: request.id)
        return done

    def issue(self, request: ActiveRequest) -> None:
        """Keep the outstanding requests in FCFS order (rule 10)."""
        self.load += request.units
        self.fresh.append(request)
        if self.outstanding and self.outstanding[-1].key > request.key:
            insort(self.outstanding, request, key=_KEY)
        else:
            self.outstanding.append(request)

    def leave(self, request: ActiveRequest, now: Number) -> None:
        """Book the last bytes and forget *request*."""
        self._settle(request, now)
        request.version = GONE
        self.load -= request.units
        self.outstanding.remove(request)

    def decide(self, now: Number) -> None:
        """While all peaks fit, policies that then grant them all are not asked."""
        outstanding, policy, limits = self.outstanding, self.policy, self.limits
        fresh = self.fresh
        fits = self.load <= limits.capacity_units or len(outstanding) <= 1
        if policy.ignores_limit or (fits and policy.full_when_fits):
            if self.crowded:
                self.crowded = False
                for request in outstanding:
                    if request.rate != request.peak:
                        self._set_rate(request, request.peak, now)
            else:
                for request in fresh:
                    if request.version != GONE:
                        self._grant_first(request, now)
            fresh.clear()
            return
        fresh.clear()
        self.crowded = True
        if policy.reads_progress:
            for request in outstanding:
                if request.rate:
                    left = request.base - request.rate * (now - request.anchor)
                    request.left = left if left > 0 else 0
                    request.moved = request.volume - request.left
        self._ask(now)

    def _ask(self, now: Number) -> None:
        """Let the policy decide about the outstanding requests."""
        outstanding = self.outstanding
        rates = self.policy.decide(View(self.limits, now, outstanding))
        moved = [(r, rate) for r, rate in zip(outstanding, rates) if r.rate != rate]
        if 2 * len(moved) > len(outstanding):
            self._set_all(moved, now)
        else:
            for request, rate in moved:
                self._set_rate(request, rate, now)

    def _grant_first(self, request: ActiveRequest, now: Number) -> None:
        """:meth:`_set_rate` to the peak of a request issued now."""
        peak = request.rate = request.peak
        stamp = request.version = self.stamp = self.stamp + 1
        self.run.grant[request.place] = now
        heappush(self.finishing, (now + request.base / peak, request.id, stamp, request))

    def _set_rate(self, request: ActiveRequest, rate: Number, now: Number) -> None:
        self._change(request, rate, now)
        if rate:
            finish = now + request.base / rate
            heappush(self.finishing, (finish, request.id, request.version, request))

    def _set_all(self, moved: list[tuple[ActiveRequest, Number]], now: Number) -> None:
        """Change most of the rates: the finish heap is built anew rather than pushed into."""
        for request, rate in moved:
            self._change(request, rate, now)
        self.finishing[:] = [
            (request.anchor + request.base / request.rate, request.id, request.version, request)
            for request in self.outstanding
            if request.rate
        ]
        heapify(self.finishing)

    def _change(self, request: ActiveRequest, rate: Number, now: Number) -> None:
        self._settle(request, now)
        request.rate = rate
        self.stamp += 1
        if rate and not request.version:
            self.run.grant[request.place] = now
        request.version = self.stamp

    def _settle(self, request: ActiveRequest, now: Number) -> None:
        """Book what *request* moved since its rate last changed."""
        rate, since = request.rate, request.anchor
        if rate and now > since:
            left = request.base - rate * (now - since)
            request.base = request.left = left if left > 0 else 0
            request.moved = request.volume - request.base
            if self.run.rates is not None:
                self.run.rates.append((request.place, since, now, rate))
            self.usage.add(since, now, rate / request.peak * request.nodes)
        request.anchor = now


class SharedStorage:
    """Everybody at rho N_i (rule 7): a request finishes when the clock has grown by volume / N_i.

    The clock counts bytes a node since the storage was last idle. ``weight`` is the sum of
    N_i^2 / r_i, which turns rho into nodes at useful work.
    """

    def __init__(self, limits: Limits, run: Run, usage: Usage) -> None:
        self.limits = limits
        self.run = run
        self.usage = usage
        self.zero = limits.number(0)
        self.clock: Number = self.zero
        self.since: Number = self.zero
        self.rho: Number = self.zero
        self.nodes = 0
        self.weight: Number = self.zero
        self.count = 0
        self.finishing: list[tuple[Number, int, int, ActiveRequest]] = []
        self.fresh: list[ActiveRequest] = []
        self.times: list[Number] = []
        self.rhos: list[Number] = []

    def waiting(self) -> int:
        """Number of outstanding requests."""
        return self.count

    def next_finish(self) -> Number:
        """When the clock reaches the next finish."""
        finishing = self.finishing
        while finishing and finishing[0][3].version == GONE:
            heappop(finishing)
        if not finishing:
            return math.inf
        return self.since + (finishing[0][0] - self.clock) / self.rho

    def due(self, now: Number, until: Number) -> list[ActiveRequest]:
        """Requests that finish by *until*, by job id; sets the clock."""
        if self.rho and now > self.since:
            self.usage.add(self.since, now, self.rho * self.weight)
            self.clock += self.rho * (now - self.since)
        self.since = now
        slack, clock = self.rho * (until - now), self.clock
        finishing = self.finishing
        done: list[ActiveRequest] = []
        while finishing and finishing[0][0] - clock <= slack:
            request = heappop(finishing)[3]
            if request.version != GONE:
                done.append(request)
        if len(done) > 1:
            done.sort(key=lambda request: request.id)
        return done

    def issue(self, request: ActiveRequest) -> None:
        """Add the nodes of *request*."""
        self.count += 1
        self.nodes += request.nodes
        self.weight += request.nodes * request.nodes / request.peak
        self.fresh.append(request)
        finish = self.clock + request.volume / request.nodes
        heappush(self.finishing, (finish, request.id, request.place, request))

    def leave(self, request: ActiveRequest, now: Number) -> None:
        """Take the nodes of *request* away; an idle storage sets its sums back to exactly 0."""
        granted = request.version != 0
        request.version = GONE
        self.count -= 1
        self.nodes -= request.nodes
        self.weight -= request.nodes * request.nodes / request.peak
        if granted and self.run.rates is not None:
            self.run.rates.extend(
                (request.place, since, until, rho * request.nodes)
                for since, until, rho in history(self.times, self.rhos, request.anchor, now)
            )
        if not self.count:
            self.clock, self.weight = self.zero, self.zero
            self.finishing.clear()

    def decide(self, now: Number) -> None:
        """rho = min(b, BW_max / N_S)."""
        limits = self.limits
        for request in self.fresh:
            if request.version != GONE:
                request.version = 1
                request.anchor = now
                self.run.grant[request.place] = now
        self.fresh.clear()
        rho = self.zero
        if self.count:
            fits = limits.node_rate * self.nodes <= limits.storage
            rho = limits.node_rate if fits else limits.storage / self.nodes
        if rho != self.rho:
            self.rho = rho
            if self.run.rates is not None:
                self.times.append(now)
                self.rhos.append(rho)


def history(
    times: list[Number], values: list[Number], since: Number, until: Number
) -> Iterator[tuple[Number, Number, Number]]:
    """Spans of a step function between two instants: ``values[k]`` holds from ``times[k]`` on."""
    k = bisect_right(times, since)
    while since < until:
        end = times[k] if k < len(times) and times[k] < until else until
        if end > since:
            yield since, end, values[k - 1]
        since = end
        k += 1
