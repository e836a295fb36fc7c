"""Compute how an I/O job responds to a slot of ``on`` seconds in every ``on + off``
seconds.

The module is a second implementation of Lee et al., Section 3.2, for the checkers. It
uses plain sums over the cells into which a slot is divided. The number of cells is part
of the definition of the objectives (F4, F5) and equals that of the solvers. No other
part is shared with the solvers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ioopt.errors import InstanceError, require_numbers
from ioopt.problems.flexgang.flexible_gang import IoBehaviour, SurfaceEntry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CELLS_PER_DEVIATION = 16
"""Number of cells of a slot for each standard deviation of the length of bursts."""
FEWEST_CELLS = 96
MOST_CELLS = 640
POINTS_PER_CELL = 4
"""Number of trapezoids in each cell, in the integral over the time at which CPUs are
given away.
"""
CLOCK = 1e-9
"""Largest difference in seconds of two times that count as the same."""
DIGITS = 12
"""Number of decimals to which the seconds of slots are rounded."""


class Response(NamedTuple):
    """The response of an I/O job to its slots.

    ``beta`` is the share of CPU time that one process uses. ``waste`` is the share that
    is wasted (None if the instance's table does not give it).
    """

    slowdown: float
    beta: float
    waste: float | None


def respond(
    job: IoBehaviour,
    on: float,
    off: float,
    processors: int,
    table: tuple[SurfaceEntry, ...] | None,
) -> Response:
    """Return the response of *job* to slots of *on* seconds with *off* seconds between
    them.

    The response is taken from the instance's own *table* of responses if there is one.
    """
    for entry in table or ():
        if abs(entry.on_seconds - on) < CLOCK and abs(entry.off_seconds - off) < CLOCK:
            return Response(entry.slowdown, entry.beta, entry.fragmentation)
    on = round(on, DIGITS)
    off = round(off, DIGITS)
    no_gap = 0.0
    if table is not None:
        no_gap = CLOCK
    if off <= no_gap:
        blocked = job.io_seconds / job.dedicated_seconds
        return Response(1.0, 1.0 - blocked, blocked - blocked**processors)
    if table is not None:
        raise InstanceError(
            f"surface: no entry for on_seconds {on:g}, off_seconds {off:g}"
        )
    return _stationary(
        on, off, job.burst_seconds, job.io_seconds, job.burst_shape, processors
    )


@lru_cache(maxsize=4096)
def _stationary(
    on: float, off: float, burst: float, io: float, shape: int, processors: int
) -> Response:
    import numpy as np

    cells = math.ceil(CELLS_PER_DEVIATION * on / (burst / math.sqrt(shape)))
    cells = min(MOST_CELLS, max(FEWEST_CELLS, cells))
    width = on / cells
    cycle = on + off
    left = np.arange(cells) * width

    # The I/O after a burst that ends in cell i ends within [ends, ends + width).
    ends = (left + io) % cycle
    inside = np.zeros((cells, cells))
    waits = np.zeros(cells)
    for turn in (0.0, cycle):
        low = np.maximum(left[:, None] + turn, ends[None, :])
        high = np.minimum(left[:, None] + turn + width, ends[None, :] + width)
        inside += np.maximum(high - low, 0.0) / width
        low = np.maximum(ends, on + turn)
        high = np.minimum(ends + width, cycle + turn)
        waits += np.maximum(high - low, 0.0) / width * (cycle + turn - (low + high) / 2)

    fresh, onward = _lands(burst, shape, width, cells)
    shift = (np.arange(cells)[:, None] - np.arange(cells)[None, :]) % cells
    step = onward[shift] @ inside + np.outer(fresh, 1.0 - inside.sum(axis=0))
    equations = np.vstack([(step - np.eye(cells))[:-1], np.ones(cells)])
    try:
        law = np.clip(np.linalg.solve(equations, np.eye(cells)[-1]), 0.0, None)
    except np.linalg.LinAlgError:
        raise InstanceError(
            f"slots of {on:g} s in {cycle:g} s differ too much from bursts of "
            f"{burst:g} s and I/O of {io:g} s to be computed"
        ) from None
    law /= law.sum()

    middle = left + width / 2
    missed = (middle @ (inside @ law) + burst - middle @ law) / on
    iteration = float(burst + off * missed + io + waits @ law)

    phase = np.linspace(0.0, on, POINTS_PER_CELL * cells + 1)
    edges = np.append(left, on)
    so_far = np.append(0.0, np.cumsum(law))

    def ended(time: Array) -> Array:
        """Return the mean number of I/O completions up to each of *time*, scaled to one
        completion in each cycle.
        """
        turns = np.floor(time / cycle)
        counted: Array = turns + np.interp(time - turns * cycle, edges, so_far)
        return counted

    blocked = np.clip(cycle / iteration * (ended(phase) - ended(phase - io)), 0.0, 1.0)
    given = blocked - blocked**processors
    wasted = float(np.sum((given[1:] + given[:-1]) / 2) * (phase[1] - phase[0]) / cycle)
    return Response(iteration / (burst + io), burst / iteration, wasted)


def _lands(burst: float, shape: int, width: float, cells: int) -> tuple[Array, Array]:
    """Return two lists: for each d, the probability that a burst ends d cells after its
    start, modulo the number of cells of a slot.

    The first list is for bursts that begin at the edge of the slot, the second for
    bursts that begin within a cell.
    """
    import numpy as np
    from scipy.special import gammainc

    scale = burst / shape
    longest = (shape + 12 * math.sqrt(shape) + 40) * scale
    turns = math.ceil(longest / (cells * width)) + 1
    what = f"bursts of {burst:g} s in slots of {cells * width:g} s"
    require_numbers(12.5 * turns * cells, what, "use longer slots or shorter bursts")
    edge = np.arange(turns * cells + 1) * width
    # The mean over bursts of the time from their end to x (0 for bursts that end
    # later): the integral of the distribution function.
    past = edge * gammainc(shape, edge / scale) - burst * gammainc(
        shape + 1, edge / scale
    )
    fresh = np.diff(gammainc(shape, edge / scale)).reshape(turns, cells).sum(axis=0)
    onward = np.diff(past, 2, prepend=0.0).reshape(turns, cells).sum(axis=0)
    return fresh / fresh.sum(), onward / onward.sum()
