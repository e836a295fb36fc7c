"""Serve I/O processes that have the CPU only in recurring windows (rules 1 and 2 of
docs/rules/flexgang.md).

The processes are served first come, first served, with priority over everything else.
Times are whole nanoseconds. One process in one window is the model F1, one process in
several windows a quantum selection (F4), and several processes a loose column (F6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ioopt.compiled.library import maker
from ioopt.compiled.memory import Maker, array_of
from ioopt.errors import require_numbers
from ioopt.measure import io_kernel
from ioopt.problems.flexgang.flexible_gang import IoBehaviour

NANOSECONDS = 1_000_000_000
SECONDS_PER_BURST = 7e-7
"""Seconds that plain Python takes for each burst drawn, whether it is served or not."""


def nanoseconds(seconds: float) -> int:
    """Return *seconds* as the nearest whole number of nanoseconds."""
    return round(seconds * NANOSECONDS)


@dataclass(frozen=True)
class Windows:
    """Disjoint time windows that recur in every cycle, in order of time, in whole
    nanoseconds.
    """

    cycle: int
    starts: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, cycle_seconds: float, windows: Sequence[tuple[float, float]]) -> Self:
        """Return the windows given as (start, length) pairs in seconds; windows that
        touch become one.
        """
        merged: list[list[int]] = []
        rounded = [(nanoseconds(s), nanoseconds(n)) for s, n in windows]
        for start, length in sorted(rounded):
            if merged and merged[-1][0] + merged[-1][1] == start:
                merged[-1][1] += length
            else:
                merged.append([start, length])
        starts, lengths = zip(*merged)
        return cls(nanoseconds(cycle_seconds), starts, lengths)

    @property
    def open_per_cycle(self) -> int:
        """Return the total length of the windows of one cycle, in nanoseconds."""
        return sum(self.lengths)


@dataclass(frozen=True)
class Served:
    """The completed bursts of one processor in order of service; times are in
    nanoseconds.

    ``process`` is the number of the process, and ``ready`` the time at which it asked
    for the CPU. ``begin`` is the time at which its service begins, in window time,
    which passes only inside windows. ``burst`` is its CPU time, and ``finish`` its end
    on the wall clock.
    """

    process: np.ndarray
    ready: np.ndarray
    begin: np.ndarray
    burst: np.ndarray
    finish: np.ndarray


def serving_seconds(bursts: float) -> float:
    """Return about the seconds in which *bursts* bursts are drawn and served here."""
    return SECONDS_PER_BURST * bursts / maker().times


def serve(
    windows: Windows,
    processes: Sequence[IoBehaviour],
    bursts: np.ndarray,
    horizon: int,
    make: Maker | None = None,
) -> Served:
    """Serve *processes* from time 0 to *horizon* (nanoseconds), first come, first
    served.

    *bursts* (int64, shape (processes, n), each at least 1) are CPU bursts in
    nanoseconds. Serving ends early if a process has used all its bursts (see
    :func:`num_bursts`). *make* makes the data of the kernel; None stands for compiled
    ones if there are any.
    """
    make = make or maker()
    columns = {
        name: make.ints(np.zeros(bursts.size, np.int64))
        for name in ("process", "asked", "begin", "burst", "finish")
    }
    server = make.table(
        io_kernel.Server,
        cycle=windows.cycle,
        horizon=horizon,
        per_process=bursts.shape[1],
        windows=make.records(
            io_kernel.Window,
            len(windows.starts),
            start=windows.starts,
            length=windows.lengths,
        ),
        processes=make.records(
            io_kernel.Process,
            len(processes),
            io=[nanoseconds(process.io_seconds) for process in processes],
        ),
        bursts=make.ints(bursts),
        **columns,
    )
    count = make.function(io_kernel.serve)(server)
    return Served(*(array_of(column, count) for column in columns.values()))


def num_bursts(
    processes: Sequence[IoBehaviour], horizon: int, processors: int = 1
) -> int:
    """Return an upper bound on the number of bursts that one process completes before
    *horizon*.

    Raises InstanceError if all bursts would not fit into memory.
    """
    shortest = min(max(1, nanoseconds(process.io_seconds)) for process in processes)
    count = horizon // shortest + 2
    require_numbers(
        12.5 * count * len(processes) * processors,
        f"a replay of {horizon / NANOSECONDS:g} s",
        f"an I/O takes {shortest / NANOSECONDS:g} s: use shorter quanta or a "
        "longer io_seconds",
    )
    return count


def draw_bursts(
    process: IoBehaviour, seed: int, job: int, processor: int, count: int
) -> np.ndarray:
    """Draw the first *count* CPU bursts of one process, in nanoseconds.

    The bursts depend on *seed*, *job* and *processor*, and on the distribution of the
    process.
    """
    stream = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([seed, job, processor]))
    )
    scale = process.burst_seconds * NANOSECONDS / process.burst_shape
    drawn = stream.gamma(process.burst_shape, scale, count)
    return np.maximum(1, np.rint(drawn)).astype(np.int64)
