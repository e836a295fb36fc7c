"""Measure the two-job quantum model (Lee et al., Section 3.2; feature F1, rules 1 to 3
of docs/rules/flexgang.md).

Each pair of quanta is measured either by the stationary chain or by an event simulation
whose times are whole nanoseconds.
"""

from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ioopt.errors import InstanceError, OutOfTime, UsageError, require_numbers
from ioopt.measure import Measurement, quantum_chain
from ioopt.measure.io_server import NANOSECONDS
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumMeasures,
    QuantumModelProblem,
    QuantumPoint,
    TwoJobMeasures,
)

Integers = NDArray[np.int64]
WARM_UP_SHARE = 0.1
"""Share of the horizon that passes before the measurement begins."""
REMEDY = (
    "give a shorter horizon_seconds, fewer processors or quanta nearer to the bursts"
)
NUMBERS_PER_BURST = 25.2
"""How many numbers are in memory at most for each burst, while instants are sorted
(measured by tracemalloc).
"""


def nanoseconds(seconds: float) -> int:
    """Return *seconds* as whole nanoseconds, at least 1 for a time above 0."""
    if seconds <= 0:
        return 0
    return max(1, round(seconds * NANOSECONDS))


def simulate_point(
    problem: QuantumModelProblem, point: QuantumPoint, *, seed: int = 0
) -> TwoJobMeasures:
    """Simulate one point, that is, one pair of quanta, over its horizon; measure it
    after a warm-up.
    """
    qi = nanoseconds(point.qi_seconds)
    qc = nanoseconds(point.qc_seconds)
    io = nanoseconds(problem.io_seconds)
    cycle = qi + qc
    cycles = max(1, round(problem.horizon(point) * NANOSECONDS / cycle))
    begin = max(1, int(cycles * WARM_UP_SHARE)) * cycle
    end = (cycles + 1) * cycle
    iteration = problem.slowdown_bound(point) * (
        problem.burst_seconds + problem.io_seconds
    )
    # This is somewhat more than a process needs.
    count = int(end / NANOSECONDS / iteration) + 16
    while True:
        _require_room(problem, point, count, end)
        bursts = draw_bursts(problem, count, seed)
        ready, request = walk(bursts, qi, qc, io, problem.donation == "return")
        if int(request[:, -1].min()) > end:
            break
        count += count // 4
    return _measure(problem, point, bursts, ready, request, (begin, end))


def walk(
    bursts: Integers, qi: int, qc: int, io: int, returns: bool
) -> tuple[Integers, Integers]:
    """Return two arrays in nanoseconds: when each iteration becomes ready, and when it
    makes its I/O request.

    *bursts* and both arrays have the shape (processes, iterations). A burst that ends
    exactly at the end of a slot is complete in that slot; an I/O that ends there waits.
    If not *returns*, a burst can start only at the start of a slot.
    """
    ready = np.empty_like(bursts)
    request = np.empty_like(bursts)
    cycle = qi + qc
    last = 0
    if returns:
        last = qi - 1
    now = np.zeros(len(bursts), np.int64)
    for k, burst in enumerate(bursts.T):
        ready[:, k] = now
        phase = now % cycle
        # A negative phase is minus the time until the next slot begins.
        phase = np.where(phase > last, phase - cycle, phase)
        start = phase.clip(min=0)
        now += start - phase + burst + (start + burst - 1) // qi * qc
        request[:, k] = now
        now += io
    return ready, request


def _require_room(
    problem: QuantumModelProblem, point: QuantumPoint, count: int, end: int
) -> None:
    """Raise InstanceError if the bursts exceed the memory, or if times exceed 64
    bits.
    """
    where = f"the point qi {point.qi_seconds:g} s, qc {point.qc_seconds:g} s"
    bursts = float(count) * problem.processors
    require_numbers(NUMBERS_PER_BURST * bursts, f"simulating {where}", REMEDY)
    # None of 2e6 drawn bursts is nearly that long.
    longest = 60.0 * problem.burst_seconds * NANOSECONDS
    slots = 1.0 + longest / nanoseconds(point.qi_seconds)
    waits = slots * nanoseconds(point.qc_seconds)
    if 2.0 * end + longest + waits + problem.io_seconds * NANOSECONDS > 2.0**62:
        raise InstanceError(
            f"{where}: its times are too long for whole nanoseconds; {REMEDY}"
        )


def draw_bursts(problem: QuantumModelProblem, count: int, seed: int) -> Integers:
    """Draw *count* bursts for each process, in nanoseconds, from a random stream of its
    own.
    """
    require_numbers(
        NUMBERS_PER_BURST * count * problem.processors, "drawing the bursts", REMEDY
    )
    mean = problem.burst_seconds * NANOSECONDS
    shape = problem.burst_shape
    if shape is None:
        return np.full(
            (problem.processors, count), nanoseconds(problem.burst_seconds), np.int64
        )
    streams = np.random.SeedSequence(seed).spawn(problem.processors)
    drawn = np.array(
        [np.random.default_rng(s).gamma(shape, mean / shape, count) for s in streams]
    )
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


def _measure(
    problem: QuantumModelProblem,
    point: QuantumPoint,
    bursts: Integers,
    ready: Integers,
    request: Integers,
    window: tuple[int, int],
) -> TwoJobMeasures:
    """Return the measures of a simulated point.

    *window* is the start and the end, in nanoseconds, of the whole cycles that are
    measured.
    """
    qi = nanoseconds(point.qi_seconds)
    qc = nanoseconds(point.qc_seconds)
    io = nanoseconds(problem.io_seconds)
    begin, end = window
    counted = (request > begin) & (request <= end) & (ready > 0)
    if not counted.any():
        raise UsageError(
            f"horizon_seconds {problem.horizon(point)} is too short: no iteration "
            "ends in the window measured; make it some hundred iterations long"
        )
    response = float((request - ready)[counted].mean())
    used = float(bursts[counted].mean())
    iteration = response + io
    away_until = request + io
    if problem.donation == "irrevocable":
        away_until = -(-away_until // (qi + qc)) * (qi + qc)
    given = _slot_time(away_until.clip(begin, end), qi, qc) - _slot_time(
        request.clip(begin, end), qi, qc
    )
    span = end - begin
    whole_cycles = span // (qi + qc)
    together = _all_away(request.clip(begin, end), away_until.clip(begin, end), qi, qc)
    return TwoJobMeasures(
        slowdown=iteration / (io + problem.burst_seconds * NANOSECONDS),
        beta=used / iteration,
        fragmentation=float(given.sum()) / (problem.processors * span)
        - together / span,
        response_seconds=response / NANOSECONDS,
        useful=(whole_cycles * qc + together) / span,
    )


def _slot_time(times: Integers, qi: int, qc: int) -> Integers:
    """Return how many nanoseconds of I/O slots lie before each of *times*."""
    cycles = times // (qi + qc)
    phase = times % (qi + qc)
    before: Integers = cycles * qi + phase.clip(0, qi)
    return before


def _all_away(starts: Integers, ends: Integers, qi: int, qc: int) -> int:
    """Return how many nanoseconds of I/O slots pass while all processes give their CPU
    away.
    """
    times = np.concatenate([starts.ravel(), ends.ravel()])
    change = np.repeat(np.array([1, -1]), starts.size)
    order = np.argsort(times, kind="stable")
    away = np.cumsum(change[order])[:-1]
    lengths = np.diff(_slot_time(times[order], qi, qc))
    return int(lengths[away == starts.shape[0]].sum())


MEANS = ("slowdown", "response_seconds", "fragmentation", "useful")


class Settings(Record):
    """Settings of the measurement.

    ``engine`` is the stationary chain, or a simulation of events with a random stream
    for each process. ``auto`` is the chain, or the simulation if all bursts are equally
    long.
    """

    engine: Literal["auto", "chain", "event"] = "auto"


def measure(
    problem: QuantumModelProblem,
    settings: Settings | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Measurement[QuantumMeasures]:
    """Measure every point of the instance; after *deadline* use the chain on its
    coarsest grid.

    The rows are :class:`MeasuredPoint`, in the order of the instance; the metrics are
    means over them. Only the simulation of events uses *seed*. Constant bursts have no
    chain: raises NotApplicableError if the chain is requested, and OutOfTime if there
    is no time to simulate all points.

    Examples
    --------
    >>> import ioopt
    >>> from ioopt.measure import quantum_model
    >>> found = quantum_model.measure(ioopt.load("quantum-ties")).found
    >>> [round(point.slowdown, 2) for point in found.points]
    [1.2, 1.5, 1.0, 1.1, 1.6]
    """
    engine = (settings or Settings()).engine
    deadline = deadline or Deadline(None)
    events = engine == "event"
    if engine == "auto":
        events = problem.burst_shape is None
    points: list[MeasuredPoint] = []
    for point in problem.points:
        if deadline.expired():
            break
        if events:
            found = simulate_point(problem, point, seed=seed)
        else:
            found = quantum_chain.measure(problem, point)
        points.append(MeasuredPoint.of(point, found))
    done = len(points)
    cells = quantum_chain.COARSE_CELLS
    notes: tuple[str, ...] = ()
    if done < len(problem.points):
        if problem.burst_shape is None:  # the chain has no answer
            raise OutOfTime(
                f"{done} of {len(problem.points)} points simulated before the time "
                "limit; give more time, fewer points or a shorter horizon_seconds"
            )
        points += [
            MeasuredPoint.of(point, quantum_chain.measure(problem, point, cells))
            for point in problem.points[done:]
        ]
        notes = (
            f"the time limit passed after {done} of {len(problem.points)} points; the "
            f"others were measured on {cells} cells only (to 0.1 % of slowdown and "
            "0.004 of fragmentation)",
        )
    metrics = {name: fmean(getattr(point, name) for point in points) for name in MEANS}
    metrics["max_slowdown"] = max(point.slowdown for point in points)
    rows = tuple(point.model_dump(mode="json") for point in points)
    return Measurement(QuantumMeasures(points=tuple(points)), rows, metrics, notes)
