"""The two-job quantum model (Lee et al., Figures 2 and 3): instance and measures.

An I/O-bound gang and a compute-bound gang share P processors in a cycle Q = qi + qc:
the I/O slot [kQ, kQ + qi), then the compute slot. Times in seconds.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from ioopt.problems import base

Donation = Literal["return", "irrevocable"]
DEFAULT_ITERATIONS = 2400
"""Iterations of each process that the event engine simulates by default."""


class TwoJobMeasures(NamedTuple):
    """The measures of one pair of quanta.

    ``slowdown`` is the mean wall time of an iteration over that on a dedicated machine;
    ``beta`` the fraction of a CPU that one I/O process uses; ``fragmentation`` and
    ``useful`` are fractions of all P CPUs over whole cycles; ``response_seconds`` is
    the time from ready to the next request.
    """

    slowdown: float
    beta: float
    fragmentation: float
    response_seconds: float
    useful: float


class QuantumPoint(base.Record):
    """State one pair of quanta, of the I/O job and the compute job; ``qc`` 0 is a
    dedicated machine.
    """

    qi_seconds: base.PositiveSeconds
    qc_seconds: base.Seconds


class QuantumModelProblem(base.Problem):
    """A workload of two jobs and the pairs of quanta at which to measure it.

    The CPU burst of an I/O process is Erlang with ``burst_shape`` phases and mean
    ``burst_seconds`` (``burst_shape`` null: every burst lasts exactly the mean),
    followed by an I/O of ``io_seconds`` on the wall clock. ``donation`` says
    whether the CPU of a blocked process comes back when its I/O completes
    (``return``) or not before the slot ends (``irrevocable``). ``horizon_seconds``
    is the simulated time of the event engine at each point (null: 2400 iterations
    at the slowdown's lower bound).
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
        """Return a lower bound of the slowdown, ``max(1, (c / (c + io)) (1 + qc /
        qi))``.
        """
        share = self.burst_seconds / (self.burst_seconds + self.io_seconds)
        return max(1.0, share * (1.0 + point.qc_seconds / point.qi_seconds))

    def horizon(self, point: QuantumPoint) -> float:
        """Return the seconds that the event engine simulates at *point*."""
        if self.horizon_seconds is not None:
            return self.horizon_seconds
        dedicated = self.burst_seconds + self.io_seconds
        return DEFAULT_ITERATIONS * self.slowdown_bound(point) * dedicated


class MeasuredPoint(QuantumPoint):
    """Hold a pair of quanta with its measures (see :class:`TwoJobMeasures`)."""

    slowdown: base.Positive
    response_seconds: base.Amount
    fragmentation: float
    useful: float

    @classmethod
    def of(cls, point: QuantumPoint, found: TwoJobMeasures) -> MeasuredPoint:
        """Join a pair of quanta with its measures."""
        measures = found._asdict()
        del measures["beta"]
        return cls(**dict(point), **measures)


class QuantumMeasures(base.Record):
    """The measures of every point of the instance, in its order."""

    points: tuple[MeasuredPoint, ...]
