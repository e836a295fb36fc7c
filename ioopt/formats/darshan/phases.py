"""I/O phases of a job from the times of its reads and writes.

A rule of ours: accesses of one kind that overlap, or lie less than a gap apart, are one phase, so
that reads and writes stay apart. An access is a segment of a DXT trace, a bin of a heatmap, or,
where a log has neither, a file's span from first to last read or write. The smallest accesses,
together at most a thousandth of the bytes (log files and the like, often open all the time), make
no phase of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

MINOR_SHARE = 1e-3

Kind = Literal["read", "write"]
Span = tuple[float, float]


class Access(NamedTuple):
    """Bytes read or written, and when (seconds since the job's start; None: unknown)."""

    kind: Kind
    moved: int
    span: Span | None


@dataclass(slots=True)
class DarshanPhase:
    """A stretch of time in which a job read or wrote, seconds since its start."""

    start_seconds: float
    end_seconds: float
    bytes_read: int = 0
    bytes_written: int = 0

    @property
    def total_bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    def add(self, kind: Kind, count: int) -> None:
        """Count more bytes."""
        if kind == "read":
            self.bytes_read += count
        else:
            self.bytes_written += count


def find_phases(
    accesses: Sequence[Access], run_seconds: float, gap_seconds: float
) -> tuple[tuple[DarshanPhase, ...], list[str]]:
    """Phases in order of time, holding all bytes, and remarks for the user.

    Bytes of the smallest accesses, and those whose time is unknown, join the largest phase of
    their kind (of any kind where there is none), or make one at the end of the run.

    >>> found = find_phases([Access("read", 10, (1, 2)), Access("write", 5, (1.5, 4))], 9.0, 1.0)[0]
    >>> [(phase.start_seconds, phase.bytes_read, phase.bytes_written) for phase in found]
    [(1, 10, 0), (1.5, 0, 5)]
    """
    total = sum(access.moved for access in accesses)
    allowance = MINOR_SHARE * total
    placed: list[tuple[Span, Access]] = []
    rest: list[Access] = []
    for access in sorted(accesses, key=lambda access: access.moved):
        if access.span is not None:
            allowance -= access.moved
        if access.span is None or allowance >= 0:
            rest.append(access)
        else:
            placed.append((access.span, access))
    phases: list[DarshanPhase] = []
    latest: dict[Kind, DarshanPhase] = {}
    for (start, end), access in sorted(placed):
        phase = latest.get(access.kind)
        if phase is None or start - phase.end_seconds >= gap_seconds:
            phase = latest[access.kind] = DarshanPhase(start, end)
            phases.append(phase)
        phase.end_seconds = max(phase.end_seconds, end)
        phase.add(access.kind, access.moved)
    unknown = sum(access.moved for access in rest if access.span is None)
    remarks = []
    if unknown > MINOR_SHARE * total:
        where = "the largest phase" if phases else "one phase at the end of the run"
        remarks.append(f"{unknown} bytes without usable times are put in {where}")
    if rest and not phases:
        phases.append(DarshanPhase(run_seconds, run_seconds))
    largest = {kind: max(phases, key=lambda phase: _bytes(phase, kind)) for kind in latest}
    widest = max(phases, key=lambda phase: phase.total_bytes, default=None)
    for access in rest:
        into = largest.get(access.kind, widest)
        if into is not None:
            into.add(access.kind, access.moved)
    return tuple(phases), remarks


def _bytes(phase: DarshanPhase, kind: Kind) -> int:
    return phase.bytes_read if kind == "read" else phase.bytes_written
