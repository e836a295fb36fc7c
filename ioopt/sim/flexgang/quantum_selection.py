"""Simulate a quantum selection: the time slots of its jobs, cycle after cycle, with I/O
bursts (rule 9 of docs/rules/flexgang.md).

The waste of an I/O job is the part of its donated CPU time that a strict compute job
cannot use, because not all processors are free at once. It is the fragmentation of
problem F1, taken over the whole cycle.
"""

from __future__ import annotations

import math

import numpy as np

from ioopt.measure.io_server import (
    NANOSECONDS,
    Served,
    Windows,
    draw_bursts,
    nanoseconds,
    num_bursts,
    serve,
)
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.flexgang.quantum_selection import (
    QuantumJob,
    QuantumPlan,
    QuantumSelectionProblem,
    Slot,
    slot_sequence,
)
from ioopt.protocols import Simulation
from ioopt.timeline import Interval, Timeline

DEFAULT_SECONDS = 100.0
MIN_CYCLES = 200
WARM_FRACTION = 0.05
"""Share of the simulated time that is left out at the start, when all processes ask at
once.
"""
SIMULATION_SEED = 90_001
"""Default seed of replays, which no test and no selection of plans uses."""


def simulate(
    problem: QuantumSelectionProblem,
    plan: QuantumPlan,
    seed: int = SIMULATION_SEED,
    seconds: float = DEFAULT_SECONDS,
    deadline: Deadline | None = None,
) -> Simulation:
    """Simulate the slots of *plan* for about *seconds*, at least for 200 whole cycles.

    The metrics hold ``realised``, the objective sum w (S - 1) + mu waste with measured
    values: w is the weight of a job, S its slowdown, and mu the price of waste. They
    also hold ``slowdown``, ``response_seconds`` and ``waste`` for each I/O job. If
    *deadline* expires before all jobs are measured, there are no metrics and a note
    says so.
    """
    plan.require_options_of(problem)
    slots = slot_sequence(problem, plan)
    cycle = plan.cycle_seconds
    horizon = nanoseconds(cycle) * max(MIN_CYCLES, math.ceil(seconds / cycle))
    io = [
        (k, job)
        for k, job in enumerate(problem.jobs)
        if job.is_io and job.id in plan.options
    ]
    jobs: dict[str, dict[str, float]] = {}
    realised = 0.0
    schedule = _schedule(problem, plan, slots)
    timeline = _timeline(problem, slots)
    for at, job in io:
        if deadline is not None and deadline.expired():
            note = (
                "not simulated: no time was left; raise the time limit, or run "
                "ioopt simulate on the result"
            )
            return Simulation(schedule, {}, timeline, (note,))
        windows = Windows.of(
            cycle, [(start, length) for j, start, length in slots if j == at]
        )
        processors = problem.machine.processors
        measured = _measure(job, at, windows, processors, seed, horizon)
        jobs[job.id] = measured
        realised += (
            job.weight * (measured["slowdown"] - 1.0) + problem.mu * measured["waste"]
        )
    metrics: Json = {
        "realised": realised,
        "cycle_seconds": cycle,
        "options": {
            name: [item.quantum_seconds, item.visits]
            for name, item in plan.options.items()
        },
    }
    for key in ("slowdown", "response_seconds", "waste"):
        metrics[key] = {name: measured[key] for name, measured in jobs.items()}
    schedule["measured"] = {"seed": seed, "seconds": seconds}
    return Simulation(schedule, metrics, timeline)


def _measure(
    job: QuantumJob,
    at: int,
    windows: Windows,
    processors: int,
    seed: int,
    horizon: int,
) -> dict[str, float]:
    """Measure the slowdown, the response time in seconds and the waste of one I/O job,
    over all processors.
    """
    warm = int(horizon * WARM_FRACTION)
    count = num_bursts([job], horizon, processors)
    runs = []
    for processor in range(processors):
        bursts = draw_bursts(job, seed, at, processor, count)[None, :]
        runs.append(serve(windows, [job], bursts, horizon))
    response = np.concatenate(
        [(run.finish - run.ready)[run.ready >= warm] for run in runs]
    )
    mean = float(response.mean()) / NANOSECONDS
    return {
        "slowdown": (mean + job.io_seconds) / job.dedicated_seconds,
        "response_seconds": mean,
        "waste": _waste(runs, windows, warm, horizon),
    }


def _waste(runs: list[Served], windows: Windows, warm: int, horizon: int) -> float:
    """Return the CPU time donated minus the part that a strict compute job can use, as
    a share of all CPU time.
    """
    first = warm // windows.cycle * windows.open_per_cycle
    last = horizon // windows.cycle * windows.open_per_cycle
    begins = np.concatenate([run.begin for run in runs])
    ends = begins + np.concatenate([run.burst for run in runs])
    begins = np.clip(begins, first, last)
    ends = np.clip(ends, first, last)
    donated = (last - first) - float((ends - begins).sum()) / len(runs)
    useful = (last - first) - _union(begins, ends)
    cycles = (last - first) / windows.open_per_cycle
    return (donated - useful) / (cycles * windows.cycle)


def _union(begins: np.ndarray, ends: np.ndarray) -> int:
    """Return the total length that at least one of the intervals covers."""
    order = np.argsort(begins, kind="stable")
    starts = begins[order]
    reach = np.maximum.accumulate(ends[order])
    before = np.concatenate([starts[:1], reach[:-1]])
    return int(np.maximum(0, reach - np.maximum(starts, before)).sum())


def _schedule(
    problem: QuantumSelectionProblem, plan: QuantumPlan, slots: tuple[Slot, ...]
) -> Json:
    """Return the slots of one cycle in order of time, each with its job, in seconds."""
    return {
        "cycle_seconds": plan.cycle_seconds,
        "slots": [
            {
                "job": problem.jobs[job].id,
                "kind": problem.jobs[job].kind,
                "start_seconds": start,
                "end_seconds": start + length,
            }
            for job, start, length in slots
        ],
    }


def _timeline(problem: QuantumSelectionProblem, slots: tuple[Slot, ...]) -> Timeline:
    return Timeline.of(
        Interval(
            start,
            start + length,
            "machine",
            problem.jobs[job].kind,
            problem.jobs[job].id,
        )
        for job, start, length in slots
    )
