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

from ioopt.compiled import boxes, compiled
from ioopt.compiled.choice import use_machine_code
from ioopt.errors import require_numbers
from ioopt.measure import io_kernel
from ioopt.options import Deadline
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


def use_compiled(bursts: float, deadline: Deadline | None) -> bool:
    """Return whether a run of about *bursts* bursts is long enough for machine code to
    pay off before *deadline*.
    """
    return use_machine_code(
        "I/O server", deadline or Deadline(None), SECONDS_PER_BURST * bursts
    )


def serve(
    windows: Windows,
    processes: Sequence[IoBehaviour],
    bursts: np.ndarray,
    horizon: int,
    fast: bool = False,
) -> Served:
    """Serve *processes* from time 0 to *horizon* (nanoseconds), first come, first
    served.

    *bursts* (int64, shape (processes, n), each at least 1) are CPU bursts in
    nanoseconds. Serving ends early if a process has used all its bursts (see
    :func:`num_bursts`). If *fast*, use machine code.
    """
    io = [nanoseconds(process.io_seconds) for process in processes]
    box = boxes(fast)
    drawn: Sequence[int] | np.ndarray
    out: list[int] | np.ndarray
    if fast:
        run = compiled(io_kernel.__name__, "serve")
        drawn = bursts.ravel()
        out = np.zeros(5 * bursts.size, np.int64)
    else:
        run = io_kernel.serve
        drawn = bursts.ravel().tolist()
        out = [0] * (5 * bursts.size)
    count = run(
        windows.cycle,
        box(windows.starts),
        box(windows.lengths),
        drawn,
        box(io),
        horizon,
        box([0] * (2 * len(io))),
        out,
    )
    return Served(*np.array(out, dtype=np.int64).reshape(5, -1)[:, :count])


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
