"""Correction of the response surface for several I/O jobs on one loose column (F6).

S_corrected = S_chain * S_shared / S_alone, the ratio measured once on calibration seeds with the
same bursts for both. A job's slowdown is the harmonic mean over the columns of its block.
"""

import math
from functools import lru_cache

from ioopt.compiled import available
from ioopt.measure.io_server import (
    Windows,
    draw_bursts,
    mean_slowdown,
    nanoseconds,
    num_bursts,
    serve,
)
from ioopt.measure.io_surface import Response, Surface
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem, IoBehaviour
from ioopt.problems.flexgang.pattern import Pattern

CALIBRATION_SEED = 50_001
"""Seed of the calibration runs; neither a selection nor a report seed."""
CALIBRATION_RUNS = 16
CALIBRATION_SECONDS = 60.0
WARM_FRACTION = 0.1


def corrected_responses(
    problem: FlexibleGangProblem, pattern: Pattern, plan: FlexibleGangPlan
) -> dict[int, Response]:
    """Response of every loose I/O job of *plan* (by position), its column neighbours counted in."""
    surface = Surface(problem.machine.processors, problem.surface)
    loose = [problem.job_index[name] for name in plan.loose]
    blocks = {j: problem.block(j, plan.home[problem.jobs[j].id]) for j in loose}
    found: dict[int, Response] = {}
    for j in loose:
        job = problem.jobs[j]
        base = surface.at(job, pattern.on_seconds, pattern.off_seconds)
        ratios = []
        for column in blocks[j]:
            others = [_plain(problem.jobs[i]) for i in loose if i != j and column in blocks[i]]
            ratios.append(queueing_ratio(_plain(job), tuple(sorted(others, key=_key)), pattern))
        slowdown = base.slowdown * len(ratios) / math.fsum(1.0 / ratio for ratio in ratios)
        beta = base.beta * base.slowdown / slowdown
        found[j] = Response(slowdown, beta, base.fragmentation)
    return found


def _plain(job: IoBehaviour) -> IoBehaviour:
    """What matters of *job* for its response, so that equal jobs share one calibration."""
    return IoBehaviour(
        burst_seconds=job.burst_seconds, io_seconds=job.io_seconds, burst_shape=job.burst_shape
    )


def _key(io: IoBehaviour) -> tuple[float, float, int]:
    return io.burst_seconds, io.io_seconds, io.burst_shape


@lru_cache(maxsize=4096)
def queueing_ratio(io: IoBehaviour, others: tuple[IoBehaviour, ...], pattern: Pattern) -> float:
    """Slowdown of *io* beside *others* over its slowdown alone, both measured with equal bursts."""
    if not others:
        return 1.0
    import numpy as np

    windows = Windows.of(pattern.frame_seconds, pattern.windows())
    frames = math.ceil(CALIBRATION_SECONDS / pattern.frame_seconds)
    horizon = frames * nanoseconds(pattern.frame_seconds)
    warm = int(horizon * WARM_FRACTION)
    jobs = [io, *others]
    count = num_bursts(jobs, horizon)
    alone, shared = [], []
    for run in range(CALIBRATION_RUNS):
        rows = [draw_bursts(job, CALIBRATION_SEED, j, run, count) for j, job in enumerate(jobs)]
        bursts = np.stack(rows)
        both = serve(windows, jobs, bursts, horizon, fast=available())
        single = serve(windows, jobs[:1], bursts[:1], horizon, fast=available())
        shared.append(mean_slowdown(both, 0, io, warm)[0])
        alone.append(mean_slowdown(single, 0, io, warm)[0])
    return math.fsum(shared) / math.fsum(alone)
