"""The cores of a node in a plan: when so many are free for so long."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

END = float("inf")


class Behind:
    """The cores of a node by the times at which they are free for good: (time, cores), ascending."""

    def __init__(self, cores: int) -> None:
        self.times = [(0, cores)]

    def earliest(self, cores: int, ready: int = 0, length: int = 0, limit: float = 0.0) -> int:
        """When *cores* are free and the task is *ready*."""
        for at, count in self.times:
            cores -= count
            if cores <= 0:
                return max(ready, at)
        raise ValueError("more cores are asked for than the node has")

    def take(self, cores: int, start: int, end: int) -> None:
        """Put those that are free first to use until *end*."""
        left = cores
        while left:
            time, count = self.times.pop(0)
            if count > left:
                self.times.insert(0, (time, count - left))
            left -= min(count, left)
        insort(self.times, (end, cores))


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

    def earliest(self, cores: int, ready: int = 0, length: int = 0, limit: float = 0.0) -> float:
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
