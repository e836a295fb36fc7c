"""The storage for policies of which one request of each lane transfers at a time (rule 16)."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ioopt.decisions.batch_io import IoPolicy, Limits, Number, Request
from ioopt.sim.batch_io.storage import GONE, ActiveRequest, PolicyStorage, Usage
from ioopt.sim.batch_io.trace import Run

_KEY = attrgetter("key")


class LaneStorage(PolicyStorage):
    """A storage that asks a policy with lanes, and only when another request leads one of them.

    ``outstanding`` holds the leaders, ``lanes`` everybody.
    """

    def __init__(
        self,
        policy: IoPolicy,
        lane: Callable[[Request], Any],
        limits: Limits,
        run: Run,
        usage: Usage,
    ) -> None:
        super().__init__(policy, limits, run, usage)
        self.lane = lane
        self.lanes: dict[Any, deque[ActiveRequest]] = {}
        self.count = 0
        self.stale = False

    def waiting(self) -> int:
        """Number of outstanding requests."""
        return self.count

    def issue(self, request: ActiveRequest) -> None:
        """Put *request* into its lane, in FCFS order (rule 10)."""
        self.count += 1
        lane = self.lanes.setdefault(self.lane(request), deque())
        if not lane or lane[0].key > request.key:
            self.stale = True
            if lane and lane[0].rate:
                # Both were issued at this very time, so the former leader has moved nothing yet.
                self._set_rate(lane[0], 0, request.requested)
            lane.appendleft(request)
        elif lane[-1].key > request.key:
            insort(lane, request, key=_KEY)
        else:
            lane.append(request)

    def leave(self, request: ActiveRequest, now: Number) -> None:
        """Book the last bytes and forget *request*."""
        self._settle(request, now)
        request.version = GONE
        self.count -= 1
        name = self.lane(request)
        lane = self.lanes[name]
        self.stale |= lane[0] is request
        lane.remove(request)
        if not lane:
            del self.lanes[name]

    def decide(self, now: Number) -> None:
        """While the leaders stay, so do the rates."""
        if self.stale:
            self.stale = False
            self.outstanding = sorted([lane[0] for lane in self.lanes.values()], key=_KEY)
            self._ask(now)
