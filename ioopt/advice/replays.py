"""Replay the jobs of a log under each option, and sum up their run times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress, count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ioopt.advice.knobs import SHARING, Option
from ioopt.advice.spread import DAY, WEEK, Blocks
from ioopt.advice.workload import (
    ALL,
    GROUPS,
    HEAVY,
    LARGE,
    Point,
    Workload,
    io_seconds,
    members,
)
from ioopt.formats.job_log import in_use
from ioopt.plot.bandwidth import mean_rates, steps
from ioopt.sim.batch_io.trace import Run, Trace
from ioopt.solvers.batch_io.run import run_trace

if TYPE_CHECKING:
    from ioopt.arrays import Floats, Ints

SCALE_ERROR = 0.01
SCALE_REPLAYS = 6
"""About so many replays find a scale."""
BIN_SECONDS = 3600.0
"""The length in seconds of one interval in the picture of the busiest week."""
FULL = 1 - 1e-6
"""The share of the storage rate from which on the storage counts as fully used."""
OTHERS = "other jobs"
FLAT = -1
"""The number that stands for the first allocation unit of a job whose nodes are not
recorded.
"""


class Cell(NamedTuple):
    """The replays of one draw at one point, under each of ``options``. ``scale`` is the
    result of :func:`scale_of`, or None if it is not yet computed.
    """

    point: Point
    draw: int
    options: tuple[Option, ...]
    scale: float | None = None

    @property
    def replays(self) -> int:
        """Return the number of replays, about so many if the scale is to be found."""
        return len(self.options) + (SCALE_REPLAYS if self.scale is None else 0)


class Totals(NamedTuple):
    """The sums of one replay.

    ``run_seconds`` has a row for each of :data:`~ioopt.advice.workload.GROUPS` and a
    column for each block (week or day). ``above_machine`` is the number of node-seconds
    that jobs use beyond the nodes of the machine. ``io_seconds`` is the I/O time of all
    jobs if none delays another.
    """

    run_seconds: Floats
    above_machine: float
    io_seconds: float


@dataclass(frozen=True)
class Replayer:
    """Replay the cells of a workload. The object can be sent to another process."""

    workload: Workload
    blocks: Blocks

    def run(
        self, cell: Cell, done: Callable[[Cell, float], None] = lambda cell, share: None
    ) -> tuple[float, list[Totals]]:
        """Replay *cell*. Return its scale, and the totals of each of its options;
        *done* is called with the share of the cell that is finished.
        """
        before = cell.replays - len(cell.options)
        scale = cell.scale
        if scale is None:
            tried = count(1)

            def show() -> None:
                done(cell, min(before, next(tried)) / cell.replays)

            scale = scale_of(self.workload, cell.point, show)
        trace = self.workload.at(cell.point, cell.draw, scale)
        groups = members(trace)
        moving = float(io_seconds(trace).sum())
        totals = []
        for number, option in enumerate(cell.options, before + 1):
            found = replay(trace, option)
            start = np.array(found.start)
            end = np.array(found.end)
            sums = [self.blocks.sums((end - start) * groups[name]) for name in GROUPS]
            above = _above_machine(trace, start, end)
            totals.append(Totals(np.array(sums), above, moving))
            done(cell, number / cell.replays)
        return scale, totals


def replay(trace: Trace, option: Option, record_rates: bool = False) -> Run:
    """Simulate the jobs of *trace* under *option*; each job starts at its submit
    time.
    """
    if option.job_rate is not None:
        limit = option.job_rate
        peaks = [min(peak, limit) for peak in trace.peak]
        limits = trace.limits.with_own_peaks()
        trace = replace(trace, peak=peaks, limits=limits)
    starts = (trace.submit, [FLAT] * len(trace))
    return run_trace(
        trace,
        option.policy(),
        record_rates=record_rates,
        starts=starts,
    )


def _above_machine(trace: Trace, start: Floats, end: Floats) -> float:
    """Return the number of node-seconds that jobs use beyond the nodes of the
    machine.
    """
    times, busy = in_use(start, end, np.array(trace.allocated))
    above = np.maximum(busy - trace.machine.nodes, 0)
    return float(above[:-1] @ np.diff(times))


def scale_of(
    workload: Workload, point: Point, done: Callable[[], None] = lambda: None
) -> float:
    """Return the factor for the bytes of assumed I/O at which the run times under
    sharing, of the jobs with such I/O, equal those in the log.

    The run times in the log, and the I/O fraction of a site, were measured while jobs
    delayed each other. Without the factor, the congestion in the log would be counted
    twice. The factor is computed with an error of at most 0.01; it is 1 if no job is
    delayed. *done* is called after each replay. Measured bytes are not scaled: fewer
    assumed ones cannot make up for the delays of jobs with measured I/O.
    """
    from scipy.optimize import brentq

    assumed = workload.assumed
    alone = sum(compress(workload.at(point).ideal, assumed))
    without = sum(compress(workload.at(point, scale=0.0).ideal, assumed))
    seconds = alone - without

    @cache
    def excess(scale: float) -> float:
        if not scale:
            return -seconds
        run = replay(workload.at(point, scale=scale), SHARING)
        done()
        begun, ended = np.array(run.start)[assumed], np.array(run.end)[assumed]
        return float(np.sum(ended) - np.sum(begun)) - alone

    if not seconds or excess(1.0) <= SCALE_ERROR * seconds:
        return 1.0
    return float(brentq(excess, 0.0, 1.0, xtol=SCALE_ERROR))


class Traffic(NamedTuple):
    """Mean rates (bytes per second) in each hour of the busiest week, for each class of
    jobs.

    ``day`` is the first day of the week, counted from the first start in the log.
    ``full`` is the share of the week in which the storage is at its limit.
    """

    option: str
    day: int
    full: float
    classes: dict[str, list[float]]


def busiest_week(trace: Trace, option: Option) -> Traffic:
    """Simulate *trace* under *option*; return the traffic of the week whose jobs
    transfer the most bytes.

    A job that is both large and I/O-heavy is counted as large.
    """
    volume = np.add.reduceat(np.array(trace.volume, float), trace.offset[:-1])
    days = (np.array(trace.submit) // DAY).astype(int)
    weeks = np.convolve(np.bincount(days, volume), np.ones(7))[6:]
    day = int(np.argmax(weeks)) if len(weeks) else 0
    hours = np.arange(int(WEEK / BIN_SECONDS) + 1)
    edges = day * DAY + BIN_SECONDS * hours
    groups = members(trace)
    classes = {LARGE: groups[LARGE], HEAVY: groups[HEAVY], OTHERS: groups[ALL]}
    first = np.argmax(list(classes.values()), axis=0)
    if option == SHARING and not trace.limits.own_peaks:
        spans = _shared_spans(trace, first, len(classes))
    else:
        run = replay(trace, option, record_rates=True)
        spans = np.array(run.rates, float).reshape(-1, 4)
        job = np.searchsorted(trace.offset, spans[:, 0], side="right") - 1
        spans[:, 0] = first[job]
    times, total = steps(spans[:, 1:])
    full = total[:-1] >= trace.machine.storage_bytes_per_second * FULL
    inside = np.diff(np.clip(times, edges[0], edges[-1]))
    rates = {}
    for number, name in enumerate(classes):
        rates[name] = mean_rates(spans[spans[:, 0] == number, 1:], edges).tolist()
    return Traffic(option.name, day, float(inside[full].sum() / WEEK), rates)


def _shared_spans(trace: Trace, kind: Ints, kinds: int) -> Floats:
    """Return rows (kind, from, until, bytes per second): the rates of all jobs of a
    kind together where all share the storage. *kind* has the kind of each job.

    Recorded rates would take gigabytes where hundreds of jobs transfer at once. All
    transferring nodes have the same rate, so the number of them suffices.
    """
    run = replay(trace, SHARING)
    since, until = np.array(run.grant), np.array(run.finish)
    phases = np.flatnonzero(until > since)
    job = np.searchsorted(trace.offset, phases, side="right") - 1
    nodes = np.array(trace.allocated)[job]
    times, place = np.unique([since[phases], until[phases]], return_inverse=True)
    begin, end = place.reshape(2, -1)
    busy = np.zeros((kinds, len(times)))
    for number in range(kinds):
        own = nodes * (kind[job] == number)
        begun = np.bincount(begin, own, len(times))
        busy[number] = np.cumsum(begun - np.bincount(end, own, len(times)))
    machine = trace.machine
    share = machine.storage_bytes_per_second / np.maximum(busy.sum(axis=0), 1)
    rate = busy * np.minimum(machine.node_bytes_per_second, share)
    which, step = np.nonzero(rate[:, :-1])
    rows = (which, times[step], times[step + 1], rate[which, step])
    return np.column_stack(rows).astype(float)
