"""Exact times of a plan: whole numbers of one unit, so that ties are ties."""

from fractions import Fraction
from math import lcm

from ioopt.problems.replication import ReplicationProblem

MOST_BITS = 4096
"""Ticks a second of more bits are rounded: exact, but slower than they are worth."""
ROUNDED_TICKS = 10**30


def exact(value: float) -> Fraction:
    """The decimal that *value* is written as."""
    return Fraction(repr(value))


class Ticks:
    """All times of a problem as whole numbers of one unit, so that ties are ties.

    ``second`` is the ticks of a second, ``fetch`` and ``copy`` those of a byte from remote storage
    and from another node.
    """

    def __init__(self, problem: ReplicationProblem) -> None:
        nodes, tasks, network = problem.nodes, problem.tasks, problem.network
        rates = [
            exact(rate)
            for rate in (network.remote_bytes_per_second, network.replica_bytes_per_second)
        ]
        speeds = {node.speed: exact(node.speed) for node in nodes}
        compute = [exact(task.compute_seconds) for task in tasks]
        release = [exact(task.release_seconds) for task in tasks]
        dividers = lcm(*(rate.numerator for rate in (*rates, *speeds.values())))
        whole = dividers * len(nodes) * lcm(*(time.denominator for time in (*compute, *release)))
        self.second = whole if whole.bit_length() <= MOST_BITS else ROUNDED_TICKS
        self.fetch, self.copy = (self._of(1 / rate) for rate in rates)
        self.release = [self._of(time) for time in release]
        pace = sum((1 / speeds[node.speed] for node in nodes), Fraction()) / len(nodes)
        self.mean = [self._of(time * pace) for time in compute]
        """Per task, its computing at the mean of 1/speed."""
        self._kinds = {
            speed: [self._of(time / value) for time in compute] for speed, value in speeds.items()
        }
        self.work = [self._kinds[node.speed] for node in nodes]
        """``work[i][k]`` is the computing of task k on node i."""

    def _of(self, seconds: Fraction) -> int:
        ticks = seconds * self.second
        return ticks.numerator if ticks.denominator == 1 else round(ticks)
