"""Replay of a quantum-model plan: every point simulated with fresh seeds, and a picture in time."""

from statistics import fmean

from ioopt.measure import io_kernel
from ioopt.measure.quantum_event import draw_bursts, engine_for, nanoseconds, simulate_point
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumModelPlan,
    QuantumModelProblem,
    QuantumPoint,
)
from ioopt.protocols import Simulation
from ioopt.timeline import Interval, Timeline

FRESH_SEED = 1_000_003
"""Seed of replays, which no solver uses unless told to."""
SHOWN_CYCLES, SHOWN_PROCESSORS = 8, 8


def simulate(
    problem: QuantumModelProblem,
    plan: QuantumModelPlan | None = None,
    seed: int = FRESH_SEED,
    deadline: Deadline | None = None,
) -> Simulation:
    """Simulate every point with *seed*; metrics are means over the points, prefixed ``simulated_``.

    The timeline shows the first cycles of the first point on at most eight processors. Points that
    *deadline* leaves no time for are left out of schedule and metrics, and a note says how many.
    """
    found: list[MeasuredPoint] = []
    engine = engine_for(problem, problem.points, deadline)
    for point in problem.points:
        if deadline is not None and deadline.expired():
            break
        measured = simulate_point(problem, point, seed=seed, engine=engine)
        found.append(MeasuredPoint.of(point, measured))
    names = ("slowdown", "response_seconds", "fragmentation", "useful")
    metrics: Json = {
        f"simulated_{name}": fmean(getattr(point, name) for point in found)
        for name in names
        if found
    }
    if plan is not None and found and len(plan.points) == len(problem.points):
        metrics["worst_slowdown_difference"] = max(
            abs(mine.slowdown / theirs.slowdown - 1) for mine, theirs in zip(found, plan.points)
        )
        metrics["worst_fragmentation_difference"] = max(
            abs(mine.fragmentation - theirs.fragmentation)
            for mine, theirs in zip(found, plan.points)
        )
    schedule = {"points": [point.model_dump(mode="json") for point in found]}
    short = f"{len(found)} of {len(problem.points)} points replayed before the time limit"
    notes = (short,) if len(found) < len(problem.points) else ()
    return Simulation(schedule, metrics, _timeline(problem, problem.points[0], seed), notes)


def _timeline(problem: QuantumModelProblem, point: QuantumPoint, seed: int) -> Timeline:
    """Bursts, I/O and given-away CPUs of the first cycles; slots are drawn on a row of their own."""
    qi, qc = nanoseconds(point.qi_seconds), nanoseconds(point.qc_seconds)
    io, end = nanoseconds(problem.io_seconds), SHOWN_CYCLES * (qi + qc)
    # An iteration takes no less than its I/O.
    bursts = draw_bursts(problem, end // io + 2, seed)
    ready, request = bursts.copy(), bursts.copy()
    io_kernel.walk(bursts, qi, qc, io, problem.donation == "return", ready, request)
    slots = [
        item
        for k in range(SHOWN_CYCLES)
        for item in (
            _interval(k * (qi + qc), k * (qi + qc) + qi, "slots", "io-slot", f"cycle {k}"),
            _interval(k * (qi + qc) + qi, (k + 1) * (qi + qc), "slots", "compute-slot", "compute"),
        )
        if item.duration > 0
    ]
    shown = min(problem.processors, SHOWN_PROCESSORS)
    steps = [
        item
        for p in range(shown)
        for k in range(bursts.shape[1])
        for item in (
            _interval(int(ready[p, k]), int(request[p, k]), f"cpu{p}", "burst", f"burst {k}"),
            _interval(int(request[p, k]), int(request[p, k]) + io, f"cpu{p}", "io", f"I/O {k}"),
        )
        if ready[p, k] < end
    ]
    return Timeline.of([*slots, *steps], ["slots", *(f"cpu{p}" for p in range(shown))])


def _interval(start: int, end: int, resource: str, kind: str, label: str) -> Interval:
    return Interval(start / 1e9, end / 1e9, resource, kind, label)
