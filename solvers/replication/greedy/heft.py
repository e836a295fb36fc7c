"""HEFT for tasks with files and cores: the largest upward rank first, into the first gap that holds it.

Topcuoglu, Hariri and Wu 2002; several cores, files that stay on the nodes, and releases are ours
(workflow rules 14 and 15). Disks are not tracked: under small ones nearly every plan of this kind
spills (see locality).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.replication.greedy.commits import Ranked, Settings, plan_by_rank

__all__ = ["Gaps", "Settings", "plan_heft", "solve"]

END = float("inf")


class Gaps:
    """The cores of a node: how many are in use when, and, per count asked for, when so many idle.

    ``used[x]`` cores are in use from ``times[x]`` to the next; ``idle[c]`` are the starts and the
    ends of the longest stretches in which at least c cores idle.
    """

    def __init__(self, cores: int, counts: Iterable[int]) -> None:
        self.cores = cores
        self.times = [0]
        self.used = [0]
        self.idle: dict[int, tuple[list[int], list[float]]] = {
            count: ([0], [END]) for count in counts if count <= cores
        }

    def earliest(self, cores: int, ready: int, length: int, limit: float) -> float:
        """First start from *ready* on in a stretch that lasts, or one that ends after *limit*."""
        starts, ends = self.idle[cores]
        at = bisect_right(ends, ready)
        start = max(starts[at], ready)
        while ends[at] < start + length <= limit:
            at += 1
            start = starts[at]
        return start

    def take(self, cores: int, start: int, end: int) -> None:
        """Put *cores* to use from *start* to *end*."""
        if start == end:
            return
        times, used = self.times, self.used
        first, last = self._cut(start), self._cut(end)
        for count, stretches in self.idle.items():
            most = self.cores - count
            x = first
            while x < last:
                y = x
                while y < last and used[y] <= most < used[y] + cores:
                    y += 1
                if y > x:
                    _close(*stretches, times[x], times[y])
                x = max(y, x + 1)
        for x in range(first, last):
            used[x] += cores
        for x in (last, first):
            if x and used[x] == used[x - 1]:
                del times[x], used[x]

    def _cut(self, time: int) -> int:
        """The place at which *time* begins, made where there is none."""
        at = bisect_left(self.times, time)
        if at == len(self.times) or self.times[at] != time:
            self.times.insert(at, time)
            self.used.insert(at, self.used[at - 1])
        return at


def _close(starts: list[int], ends: list[float], start: int, end: int) -> None:
    """Take [start, end) out of the stretch that holds it."""
    at = bisect_right(starts, start) - 1
    left, right = starts[at] < start, end < ends[at]
    if left and right:
        starts.insert(at + 1, end)
        ends.insert(at, start)
    elif left:
        ends[at] = start
    elif right:
        starts[at] = end
    else:
        del starts[at], ends[at]


def plan_heft(problem: ReplicationProblem, deadline: Deadline | None = None) -> Ranked:
    """HEFT's commits and ranks; queues go by (planned start, commit).

    Raises UnsolvableInstanceError for a task that fits no node.
    """
    return plan_by_rank(problem, Gaps, files_in_rank=True, deadline=deadline)


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Plan with HEFT; the planned end of the last task is metric ``planned_makespan_seconds``."""
    settings = request.settings or Settings()
    ranked = plan_heft(problem, request.deadline)
    return ranked.commits.outcome(settings.eviction, options=settings)
