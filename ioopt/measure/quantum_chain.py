"""Solve the Markov chain of the two-job quantum model (Lee et al., Section 3.2; rules 1
and 3 of docs/rules/flexgang.md).

The state of the chain is the phase in (0, qi] at which a CPU burst completes, where qi
is the length of an I/O slot. The slot is divided into N cells, with the probability
spread evenly in each. The only error is therefore of order (qi/N)^2; see
docs/flexgang.md, Mathematics.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ioopt.errors import InstanceError, NotApplicableError, UsageError, require_numbers
from ioopt.problems.base import LARGEST
from ioopt.problems.flexgang.flexible_gang import IoBehaviour, SurfaceEntry
from ioopt.problems.flexgang.quantum_model import (
    Donation,
    QuantumModelProblem,
    QuantumPoint,
    TwoJobMeasures,
)

Array = NDArray[np.float64]
CELLS_PER_DEVIATION = 16
"""Number of cells for each standard deviation of the burst.

This number gives the slowdown to 1e-5 and the fragmentation to 1e-4.
"""
COARSE_CELLS = 48
"""Number of cells when no time is left; the computation takes 0.4 ms for each point.

This number gives the slowdown to 0.1 % and the fragmentation to 0.004.
"""
MIN_CELLS = 96
MAX_CELLS = 640
"""Largest number of cells; the computation takes 0.15 s for each point.

Slots of 130 standard deviations (0.3 s for 5 ms bursts) are then accurate to 0.1 %.
"""


@lru_cache(maxsize=65536)
def surface(
    on_seconds: float,
    off_seconds: float,
    burst_seconds: float = 0.005,
    io_seconds: float = 0.020,
    *,
    shape: int | None = 5,
    processors: int = 32,
    donation: Donation = "return",
    cells: int | None = None,
) -> TwoJobMeasures:
    """Measure an I/O job that gets the CPU for *on_seconds* of every *on_seconds* +
    *off_seconds* seconds.

    The parameters are those of :class:`QuantumModelProblem`; *cells* overrides the
    number of cells. If *off_seconds* is 0, the job has a machine of its own, with
    slowdown 1. With irrevocable donation, however, a process still waits for the next
    slot. Raises NotApplicableError for a deterministic burst: the processes then move
    in lock-step and have no stationary law.
    """
    if on_seconds <= 0 or off_seconds < 0:
        raise UsageError(
            f"quanta must be on > 0 and off >= 0 seconds, not {on_seconds} and "
            f"{off_seconds}"
        )
    dedicated = burst_seconds + io_seconds
    if off_seconds == 0 and donation == "return":
        blocked = io_seconds / dedicated
        useful = blocked**processors
        return TwoJobMeasures(
            1.0, burst_seconds / dedicated, blocked - useful, burst_seconds, useful
        )
    if shape is None:
        raise NotApplicableError(
            "the chain needs a random burst; with burst_shape null use engine=event"
        )
    try:
        law = _Law(
            on_seconds, off_seconds, burst_seconds, io_seconds, shape, donation, cells
        )
        iteration = law.iteration_seconds()
        blocked_slot, all_blocked = law.blocked_seconds(iteration, processors)
    except np.linalg.LinAlgError:
        iteration = blocked_slot = all_blocked = math.nan
    cycle = on_seconds + off_seconds
    found = TwoJobMeasures(
        slowdown=iteration / dedicated,
        beta=burst_seconds / iteration,
        fragmentation=(blocked_slot - all_blocked) / cycle,
        response_seconds=iteration - io_seconds,
        useful=(off_seconds + all_blocked) / cycle,
    )
    if not all(
        0 <= value <= LARGEST for value in (found.slowdown, found.response_seconds)
    ):
        raise InstanceError(
            f"quanta of {on_seconds:g} and {off_seconds:g} s with bursts of "
            f"{burst_seconds:g} s and I/O of {io_seconds:g} s are too far apart to "
            "compute with"
        )
    return found


def measure(
    problem: QuantumModelProblem, point: QuantumPoint, cells: int | None = None
) -> TwoJobMeasures:
    """Measure one point of an instance by the chain; *cells* is as in
    :func:`surface`.
    """
    return surface(
        point.qi_seconds,
        point.qc_seconds,
        problem.burst_seconds,
        problem.io_seconds,
        shape=problem.burst_shape,
        processors=problem.processors,
        donation=problem.donation,
        cells=cells,
    )


class _Law:
    """Hold the stationary law of the phase at which bursts complete.

    ``mass`` is its probability in each cell, and ``width`` the length of a cell in
    seconds.
    """

    def __init__(
        self,
        on: float,
        off: float,
        burst: float,
        io: float,
        shape: int,
        donation: Donation,
        cells: int | None,
    ) -> None:
        deviation = burst / math.sqrt(shape)
        wanted = math.ceil(CELLS_PER_DEVIATION * on / deviation)
        self.cells = cells or min(MAX_CELLS, max(MIN_CELLS, wanted))
        self.on = on
        self.off = off
        self.burst = burst
        self.io = io
        self.cycle = on + off
        self.width = on / self.cells
        self.returns = donation == "return"
        self.edges: Array = np.linspace(0.0, on, self.cells + 1)
        from_start, from_cell = self._wrapped_burst(shape)
        self.start: Array = np.zeros(self.cells)
        if self.returns:
            self.mass = self._solve(from_start, from_cell)
            self.start = np.diff(self._cumulative(self.edges - io) @ self.mass)
        else:
            self.mass = from_start

    def _wrapped_burst(self, shape: int) -> tuple[Array, Array]:
        """Return two laws of the phase at which a burst ends, as probabilities of the
        cells.

        The first law is for a burst that begins at phase 0, the second for one that
        begins at a uniform point of a cell. The length of a burst is taken modulo the
        length ``on`` of a slot. The second law is a second difference of H(x) = x
        F_k(x) - mean F_{k+1}(x). H is the integral of F_k, the distribution function of
        a burst of shape k.
        """
        from scipy.special import gammainc

        scale = self.burst / shape
        longest = scale * (shape + 12.0 * math.sqrt(shape) + 40.0)
        turns = math.ceil(longest / self.on) + 1
        what = f"bursts of {self.burst:g} s in slots of {self.on:g} s"
        require_numbers(
            12.5 * turns * self.cells, what, "use longer slots or shorter bursts"
        )
        x = np.arange(-1, turns * self.cells + 1) * self.width
        z = np.maximum(x, 0.0) / scale
        cdf = gammainc(shape, z)
        area = np.maximum(x, 0.0) * cdf - self.burst * gammainc(shape + 1, z)
        from_start = np.diff(cdf)[1:].reshape(turns, self.cells).sum(axis=0)
        from_cell = np.diff(area, 2).reshape(turns, self.cells).sum(axis=0) / self.width
        return from_start / from_start.sum(), from_cell / from_cell.sum()

    def _cumulative(self, times: Array) -> Array:
        """Return a matrix that, applied to the mass, gives at each of *times* the
        cumulative distribution G of completions.
        """
        turns, phase = np.divmod(times, self.cycle)
        inside = np.clip(
            phase[:, None] / self.width - np.arange(self.cells)[None, :], 0.0, 1.0
        )
        rows: Array = inside + turns[:, None]
        return rows

    def _solve(self, from_start: Array, from_cell: Array) -> Array:
        """Solve for the law of the phase at completion that one iteration leaves
        unchanged.
        """
        to_start = np.diff(self._cumulative(self.edges - self.io), axis=0)
        waits = 1.0 - to_start.sum(axis=0)
        spectrum = np.fft.rfft(from_cell)[:, None] * np.fft.rfft(to_start, axis=0)
        step = np.fft.irfft(spectrum, n=self.cells, axis=0) + np.outer(
            from_start, waits
        )
        system = np.eye(self.cells) - step
        system[-1, :] = 1.0
        right = np.zeros(self.cells)
        right[-1] = 1.0
        mass: Array = np.maximum(np.linalg.solve(system, right), 0.0)
        return mass / mass.sum()

    def iteration_seconds(self) -> float:
        """Return the mean wall-clock time from one request to the next, in seconds.

        The time is the sum of the burst, the time between slots during the burst, the
        I/O, and the wait for a slot.
        """
        middle = (self.edges[:-1] + self.edges[1:]) / 2
        crossed = (self.start @ middle + self.burst - self.mass @ middle) / self.on
        return float(
            self.burst + self.off * crossed + self.io + self.mass @ self._waits()
        )

    def _waits(self) -> Array:
        """Return the mean wait for the next burst in seconds, for each cell in which an
        I/O can start.
        """
        first = np.mod(self.edges[:-1] + self.io, self.cycle)
        last = first + self.width
        waits_from = 0.0
        if self.returns:
            waits_from = self.on
        total = np.zeros(self.cells)
        for end in (self.cycle, 2 * self.cycle):
            low = np.maximum(first, end - self.cycle + waits_from)
            high = np.minimum(last, end)
            total += np.maximum(high - low, 0.0) * (end - (low + high) / 2)
        waits: Array = total / self.width
        return waits

    def blocked_seconds(self, iteration: float, processors: int) -> tuple[float, float]:
        """Return the seconds of a cycle in which one given CPU is given away, and those
        in which all CPUs are.
        """
        x = np.linspace(0.0, self.on, 4 * self.cells + 1)
        if self.returns:
            since = x - self.io
        else:
            since = np.full_like(x, -self.io)
        requests = (self._cumulative(x) - self._cumulative(since)) @ self.mass
        # G ends at phase qi: at x = on it contains all requests of the slot.
        given = np.clip(self.cycle / iteration * requests, 0.0, 1.0)
        return _integral(x, given), _integral(x, given**processors)


def _integral(x: Array, y: Array) -> float:
    """Return the integral of *y* over *x* by the trapezoidal rule."""
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2.0).sum())


_DIGITS = 12
"""Number of decimals of a second to which on and off times are compared; coarser than
rounding errors.
"""


class Response(NamedTuple):
    """The response of an I/O job to its slots.

    ``beta`` is the share of CPU time that one process uses. ``fragmentation`` is None
    if a table does not give it.
    """

    slowdown: float
    beta: float
    fragmentation: float | None


@dataclass(frozen=True)
class Surface:
    """Give the responses of I/O jobs on ``processors`` processors.

    The responses are computed by the chain, or taken from a ``table`` if there is one.
    """

    processors: int
    table: tuple[SurfaceEntry, ...] | None = None

    def covers(self, on_seconds: float, off_seconds: float) -> bool:
        """Return whether :meth:`at` has an answer: always without a table or if
        *off_seconds* is 0, else if the table has an entry.
        """
        known = self.table is None or _same(off_seconds, 0.0)
        return known or self._entry(on_seconds, off_seconds) is not None

    def at(self, io: IoBehaviour, on_seconds: float, off_seconds: float) -> Response:
        """Return the response of *io* to *on_seconds* of CPU in every *on_seconds* +
        *off_seconds* seconds.

        A table needs no entry for *off_seconds* = 0: the job then runs as on a machine
        of its own. Raises InstanceError for any other missing entry.
        """
        entry = self._entry(on_seconds, off_seconds)
        if entry is not None:
            return Response(entry.slowdown, entry.beta, entry.fragmentation)
        if self.table is not None and _same(off_seconds, 0.0):
            blocked = io.io_seconds / io.dedicated_seconds
            return Response(1.0, 1.0 - blocked, blocked - blocked**self.processors)
        if self.table is not None:
            raise InstanceError(
                f"surface: no entry for on_seconds {on_seconds:g}, off_seconds "
                f"{off_seconds:g}; add it, or leave the surface out to use the "
                "stationary chain"
            )
        found = surface(
            round(on_seconds, _DIGITS),
            round(off_seconds, _DIGITS),
            io.burst_seconds,
            io.io_seconds,
            shape=io.burst_shape,
            processors=self.processors,
        )
        return Response(found.slowdown, found.beta, found.fragmentation)

    def waste(self, io: IoBehaviour, on_seconds: float, off_seconds: float) -> float:
        """Return the fragmentation for the given on and off times; raise InstanceError
        if the table does not give it.
        """
        found = self.at(io, on_seconds, off_seconds).fragmentation
        if found is None:
            raise InstanceError(
                f"surface: the entry for on_seconds {on_seconds:g}, off_seconds "
                f"{off_seconds:g} needs fragmentation, because mu is more than 0"
            )
        return found

    def _entry(self, on: float, off: float) -> SurfaceEntry | None:
        for entry in self.table or ():
            if _same(entry.on_seconds, on) and _same(entry.off_seconds, off):
                return entry
        return None


def _same(first: float, second: float) -> bool:
    return round(first - second, _DIGITS - 3) == 0
