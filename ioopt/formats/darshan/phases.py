"""I/O phases of a job from the first and last access times that Darshan keeps for each file.

A rule of ours: Darshan's counters do not tell phases apart, so every file's span from first to
last read (and from first to last write) is one activity, and activities that overlap, or lie less
than a gap apart, are one phase. The smallest activities, together at most a thousandth of the
bytes (log files and the like, often open all the time), make no phase of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

MINOR_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class Activity:
    """Bytes that one record read or wrote, and when (seconds since the job's start; None: unknown)."""

    span: tuple[float, float] | None
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True, slots=True)
class DarshanPhase:
    """A stretch of time in which a job did I/O, seconds since its start."""

    start_seconds: float
    end_seconds: float
    bytes_read: int
    bytes_written: int

    @property
    def total_bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


def find_phases(
    activities: Sequence[Activity], run_seconds: float, gap_seconds: float
) -> tuple[tuple[DarshanPhase, ...], list[str]]:
    """Phases in order of time, holding all bytes, and remarks for the user.

    Bytes of minor activities join the phase nearest to their end. Bytes whose time is unknown join
    the last phase, or make one at the end of the run.

    >>> find_phases([Activity((1.0, 2.0), 10, 0), Activity((1.5, 4.0), 0, 5)], 9.0, 1.0)[0]
    (DarshanPhase(start_seconds=1.0, end_seconds=4.0, bytes_read=10, bytes_written=5),)
    """
    phases: list[DarshanPhase] = []
    timed = [(item.span, item) for item in activities if item.span is not None]
    major, minor = _split(timed)
    for (start, end), item in sorted(major, key=lambda pair: pair[0]):
        if phases and start - phases[-1].end_seconds < gap_seconds:
            wider = replace(phases[-1], end_seconds=max(phases[-1].end_seconds, end))
            phases[-1] = _joined(wider, item.bytes_read, item.bytes_written)
        else:
            phases.append(DarshanPhase(start, end, item.bytes_read, item.bytes_written))
    for (_, end), item in minor:
        near = min(range(len(phases)), key=lambda k: _distance(phases[k], end))
        phases[near] = _joined(phases[near], item.bytes_read, item.bytes_written)
    unknown = [item for item in activities if item.span is None]
    remarks = []
    if unknown:
        read = sum(item.bytes_read for item in unknown)
        written = sum(item.bytes_written for item in unknown)
        where = "the last phase" if phases else "one phase at the end of the run"
        remarks.append(f"{read + written} bytes without usable times are put in {where}")
        last = phases.pop() if phases else DarshanPhase(run_seconds, run_seconds, 0, 0)
        phases.append(_joined(last, read, written))
    return tuple(phases), remarks


_Timed = tuple[tuple[float, float], Activity]


def _split(timed: Sequence[_Timed]) -> tuple[list[_Timed], list[_Timed]]:
    """Major and minor activities (module docstring)."""
    sizes = [item.bytes_read + item.bytes_written for _, item in timed]
    allowance = MINOR_SHARE * sum(sizes)
    minor = set()
    for k in sorted(range(len(timed)), key=lambda k: (sizes[k], k)):
        allowance -= sizes[k]
        if allowance < 0:
            break
        minor.add(k)
    return (
        [pair for k, pair in enumerate(timed) if k not in minor],
        [pair for k, pair in enumerate(timed) if k in minor],
    )


def _distance(phase: DarshanPhase, seconds: float) -> float:
    return max(phase.start_seconds - seconds, seconds - phase.end_seconds, 0.0)


def _joined(phase: DarshanPhase, read: int, written: int) -> DarshanPhase:
    return replace(
        phase, bytes_read=phase.bytes_read + read, bytes_written=phase.bytes_written + written
    )
