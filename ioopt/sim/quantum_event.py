"""Event simulator of the two-job quantum model (Lee et al., Section 3.2), in integer nanoseconds.

Floats would make ties at slot ends a matter of luck. Every process has its own random stream: with
a shared one all move in lock-step and fragmentation is 0. The walk of the processes is compiled
for long runs; the same function runs uncompiled for short ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ioopt.errors import UsageError
from ioopt.problems.quantum_model import QuantumModelProblem, QuantumPoint, TwoJobMeasures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

NANOSECONDS = 1_000_000_000
WARM_UP_SHARE = 0.1
"""Part of the horizon that is not measured."""
COMPILE_FROM = 20_000
"""Iterations from which compiling the walk pays."""


def nanoseconds(seconds: float) -> int:
    """Seconds as whole nanoseconds, at least 1 for a time above 0."""
    return max(1, round(seconds * NANOSECONDS)) if seconds > 0 else 0


def walk(
    bursts: Integers, qi: int, qc: int, io: int, returns: bool, ready: Integers, request: Integers
) -> None:
    """Fill in when each iteration of each process is ready and when it makes its request.

    *bursts*, *ready* and *request* have shape (processes, iterations), in nanoseconds. A burst that
    ends exactly at a slot end is complete in that slot; an I/O that completes there waits. Without
    *returns* a burst starts at a slot start only.
    """
    cycle = qi + qc
    for process in range(bursts.shape[0]):
        now = 0
        for k in range(bursts.shape[1]):
            ready[process, k] = now
            phase = now % cycle
            waits = phase >= qi if returns else phase > 0
            if waits:
                now += cycle - phase
                phase = 0
            burst = bursts[process, k]
            now += burst + (phase + burst - 1) // qi * qc
            request[process, k] = now
            now += io


@cache
def _compiled() -> Callable[..., None]:
    from numba import njit

    compiled: Callable[..., None] = njit(cache=True)(walk)
    return compiled


def simulate_point(
    problem: QuantumModelProblem,
    point: QuantumPoint,
    *,
    seed: int = 0,
    compiled: bool | None = None,
) -> TwoJobMeasures:
    """Simulate one point of an instance over its horizon and measure it after a warm-up.

    *compiled* None compiles long runs only; both ways give the same numbers.
    """
    qi, qc = nanoseconds(point.qi_seconds), nanoseconds(point.qc_seconds)
    io, cycle = nanoseconds(problem.io_seconds), qi + qc
    cycles = max(1, round(problem.horizon * NANOSECONDS / cycle))
    begin, end = max(1, int(cycles * WARM_UP_SHARE)) * cycle, (cycles + 1) * cycle
    bursts = _bursts(problem, end, io, seed)
    ready, request = bursts.copy(), bursts.copy()
    run = _compiled() if compiled or (compiled is None and bursts.size >= COMPILE_FROM) else walk
    run(bursts, qi, qc, io, problem.donation == "return", ready, request)
    return _measure(problem, bursts, ready, request, (qi, qc, io), (begin, end))


def _bursts(problem: QuantumModelProblem, end: int, io: int, seed: int) -> Integers:
    """Enough bursts for every process to pass *end*, whatever the schedule; one stream a process."""
    import numpy as np

    mean = problem.burst_seconds * NANOSECONDS
    count = int(end / (mean + io) * 1.02) + 64
    shape = problem.burst_shape
    if shape is None:
        return np.full((problem.processors, count), nanoseconds(problem.burst_seconds), np.int64)
    while True:
        streams = np.random.SeedSequence(seed).spawn(problem.processors)
        drawn = np.array(
            [np.random.default_rng(s).gamma(shape, mean / shape, count) for s in streams]
        )
        bursts: Integers = np.maximum(1, np.rint(drawn)).astype(np.int64)
        if int((bursts + io).sum(axis=1).min()) > end:
            return bursts
        count = int(count * 1.3)


def _measure(
    problem: QuantumModelProblem,
    bursts: Integers,
    ready: Integers,
    request: Integers,
    times: tuple[int, int, int],
    window: tuple[int, int],
) -> TwoJobMeasures:
    qi, qc, io = times
    begin, end = window
    counted = (request > begin) & (request <= end) & (ready > 0)
    if not counted.any():
        raise UsageError(
            f"horizon_seconds {problem.horizon} is too short: no iteration ends in the window "
            "measured; make it some hundred iterations long"
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
        fragmentation=float(given.sum()) / (problem.processors * span) - together / span,
        response_seconds=response / NANOSECONDS,
        useful=(whole_cycles * qc + together) / span,
    )


def _slot_time(times: Any, qi: int, qc: int) -> Any:
    """Nanoseconds of I/O slot before each of *times*."""
    cycles, phase = times // (qi + qc), times % (qi + qc)
    return cycles * qi + phase.clip(0, qi)


def _all_away(starts: Integers, ends: Integers, qi: int, qc: int) -> int:
    """Nanoseconds of I/O slot in which every process has given its CPU away."""
    import numpy as np

    times = np.concatenate([starts.ravel(), ends.ravel()])
    change = np.repeat(np.array([1, -1]), starts.size)
    order = np.argsort(times, kind="stable")
    away = np.cumsum(change[order])[:-1]
    lengths = np.diff(_slot_time(times[order], qi, qc))
    return int(lengths[away == starts.shape[0]].sum())
