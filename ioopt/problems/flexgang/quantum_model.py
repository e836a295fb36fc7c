"""The two-job quantum model (Lee et al., Figures 2 and 3): instance and measures.

An I/O-bound gang and a compute-bound gang share P processors in cycles of length Q = qi
+ qc. In cycle k, the I/O gang has the slot [kQ, kQ + qi), and the compute gang has the
rest. Times are in seconds.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from ioopt.problems import base

Donation = Literal["return", "irrevocable"]
DEFAULT_ITERATIONS = 2400
"""Number of iterations of each process that the event engine simulates by default."""


class TwoJobMeasures(NamedTuple):
    """The measures of both jobs for one pair of quanta.

    ``slowdown`` is the mean wall time of an iteration divided by that on a dedicated
    machine. ``beta`` is the fraction of a CPU that one I/O process uses.
    ``fragmentation`` and ``useful`` are fractions of all P CPUs over whole cycles.
    ``response_seconds`` is the time from a process being ready to its next request.
    """

    slowdown: float
    beta: float
    fragmentation: float
    response_seconds: float
    useful: float


class QuantumPoint(base.Record):
    """A pair of quanta, ``qi_seconds`` of the I/O job and ``qc_seconds`` of the other
    job.

    If ``qc_seconds`` is 0, the I/O job has a dedicated machine.
    """

    qi_seconds: base.PositiveSeconds
    qc_seconds: base.Seconds


class QuantumModelProblem(base.Problem):
    """A workload of two jobs, and the pairs of quanta at which to measure it.

    An I/O process alternates CPU bursts with I/O that takes ``io_seconds`` of
    wall-clock time. The length of a burst is Erlang distributed, with ``burst_shape``
    phases and mean ``burst_seconds``; if ``burst_shape`` is null, every burst has the
    mean length. ``donation`` says when the CPU of a blocked process comes back to it:
    when its I/O completes (``return``), or not before the slot ends (``irrevocable``).
    ``horizon_seconds`` is the time that the event engine simulates for each pair. If it
    is null, 2400 iterations are simulated, with lengths from the slowdown's lower
    bound.
    """

    format: Literal["ioopt/quantum-model"] = "ioopt/quantum-model"
    processors: base.PositiveCount = 32
    burst_seconds: base.PositiveSeconds = 0.005
    burst_shape: base.PositiveCount | None = 5
    io_seconds: base.PositiveSeconds = 0.020
    donation: Donation = "return"
    horizon_seconds: base.PositiveSeconds | None = None
    points: tuple[QuantumPoint, ...] = Field(min_length=1)

    def slowdown_bound(self, point: QuantumPoint) -> float:
        """Return a lower bound of the slowdown for a pair of quanta.

        The bound is ``max(1, (c / (c + io)) (1 + qc / qi))``. c is the mean CPU burst
        and io the time of an I/O.
        """
        share = self.burst_seconds / (self.burst_seconds + self.io_seconds)
        return max(1.0, share * (1.0 + point.qc_seconds / point.qi_seconds))

    def horizon(self, point: QuantumPoint) -> float:
        """Return the seconds that the event engine simulates for the pair *point*."""
        if self.horizon_seconds is not None:
            return self.horizon_seconds
        dedicated = self.burst_seconds + self.io_seconds
        return DEFAULT_ITERATIONS * self.slowdown_bound(point) * dedicated


class MeasuredPoint(QuantumPoint):
    """A pair of quanta with its measures (see :class:`TwoJobMeasures`)."""

    slowdown: base.Positive
    response_seconds: base.Amount
    fragmentation: float
    useful: float

    @classmethod
    def of(cls, point: QuantumPoint, found: TwoJobMeasures) -> MeasuredPoint:
        """Join a pair of quanta with its measures *found*, except ``beta``."""
        measures = found._asdict()
        del measures["beta"]
        return cls(**dict(point), **measures)


class QuantumMeasures(base.Record):
    """The measures of every pair of quanta of the instance, in its order."""

    points: tuple[MeasuredPoint, ...]
