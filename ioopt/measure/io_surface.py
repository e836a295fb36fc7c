"""The response surface of an I/O job at (on, off) seconds: the instance's table, else the chain of F1."""

from dataclasses import dataclass
from typing import NamedTuple

from ioopt.errors import InstanceError
from ioopt.problems.flexgang.flexible_gang import IoBehaviour, SurfaceEntry

_DIGITS = 12
"""Decimals (of a second) to which on and off are compared: far below any clock, above rounding."""


class Response(NamedTuple):
    """Slowdown S, CPU fraction beta of one process, fragmentation (None where a table omits it)."""

    slowdown: float
    beta: float
    fragmentation: float | None


@dataclass(frozen=True)
class Surface:
    """Responses of I/O jobs on a machine of ``processors``; ``table`` replaces the chain."""

    processors: int
    table: tuple[SurfaceEntry, ...] | None = None

    def covers(self, on_seconds: float, off_seconds: float) -> bool:
        """Whether :meth:`at` has an answer: always for the chain and for off = 0."""
        if self.table is None or _same(off_seconds, 0.0):
            return True
        return self._entry(on_seconds, off_seconds) is not None

    def at(self, io: IoBehaviour, on_seconds: float, off_seconds: float) -> Response:
        """The response of *io* when it may run *on* seconds, then not for *off*, and so on.

        With off = 0 a table may stay silent: the job then runs as on a machine of its own.
        Raises InstanceError where the instance's table has no entry.
        """
        entry = self._entry(on_seconds, off_seconds)
        if entry is not None:
            return Response(entry.slowdown, entry.beta, entry.fragmentation)
        if self.table is not None and _same(off_seconds, 0.0):
            blocked = io.io_seconds / io.dedicated_seconds
            return Response(1.0, 1.0 - blocked, blocked - blocked**self.processors)
        if self.table is not None:
            raise InstanceError(
                f"surface: no entry for on_seconds {on_seconds:g}, off_seconds {off_seconds:g}; "
                "add it, or leave the surface out to use the stationary chain"
            )
        from ioopt.measure.quantum_chain import surface

        found = surface(
            round(on_seconds, _DIGITS), round(off_seconds, _DIGITS), io.burst_seconds,
            io.io_seconds, shape=io.burst_shape, processors=self.processors,
        )  # fmt: skip
        return Response(found.slowdown, found.beta, found.fragmentation)

    def waste(self, io: IoBehaviour, on_seconds: float, off_seconds: float) -> float:
        """The fragmentation at (on, off); InstanceError where a table leaves it out."""
        found = self.at(io, on_seconds, off_seconds).fragmentation
        if found is None:
            raise InstanceError(
                f"surface: the entry for on_seconds {on_seconds:g}, off_seconds {off_seconds:g} "
                "needs fragmentation, because mu is more than 0"
            )
        return found

    def _entry(self, on: float, off: float) -> SurfaceEntry | None:
        for entry in self.table or ():
            if _same(entry.on_seconds, on) and _same(entry.off_seconds, off):
                return entry
        return None


def _same(first: float, second: float) -> bool:
    return round(first - second, _DIGITS - 3) == 0
