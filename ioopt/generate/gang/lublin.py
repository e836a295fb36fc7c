"""The workload model of Lublin and Feitelson (1999; JPDC 63, 2003), with its
published parameters.

Sizes: serial, or 2^x with x two-stage uniform, x rounded for jobs whose size is a power
of two. Run times: exp of a hyper-gamma whose mixing probability is linear in the size.
Arrivals: gaps exp(gamma) in points, spent at a rate that follows the daily cycle (48
half-hour buckets). For a machine of other than 128 nodes the upper end of x is
log2(nodes), and the middle moves with it.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ioopt.generate import Array, Sample

MAX_LN_RUNTIME, MAX_LN_GAP = 12.0, 13.0
BUCKETS, BUCKET_SECONDS = 48, 1800.0
DAY_START_BUCKET = 11


@dataclass(frozen=True)
class Parameters:
    """The 17 parameters of a job class, named as in the authors' program.

    ``pow2_prob`` is the share of all jobs (not of the parallel ones), as
    that program uses it.
    """

    serial_prob: float
    pow2_prob: float
    ulow: float
    umed: float
    uhi: float
    uprob: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float


PARAMETERS = {
    "batch": Parameters(
        0.2927,
        0.6686,
        1.2,
        5.0,
        7.0,
        0.875,
        6.57,
        0.823,
        639.1,
        0.0156,
        -0.003,
        0.6986,
        6.0415,
        0.8531,
        6.1271,
        5.274,
        1.0519,
    ),
    "interactive": Parameters(
        0.1541,
        0.625,
        1.0,
        3.0,
        5.5,
        0.705,
        3.8351,
        0.6605,
        7.073,
        0.6856,
        -0.0118,
        0.9156,
        6.551,
        0.6621,
        8.9186,
        3.668,
        0.9797,
    ),
    "combined": Parameters(
        0.244,
        0.576,
        0.8,
        4.5,
        7.0,
        0.86,
        4.2,
        0.94,
        312.0,
        0.03,
        -0.0054,
        0.78,
        10.2303,
        0.4871,
        8.1737,
        3.9631,
        1.0225,
    ),
}


def sample(model: str, jobs: int, nodes: int, random: Generator) -> Sample:
    """(sizes, run times in seconds, arrival times in seconds) of *jobs*
    jobs on *nodes* nodes.
    """
    parameters = PARAMETERS[model]
    size = sample_sizes(parameters, jobs, nodes, random)
    length = sample_runtimes(parameters, size, random)
    return size, length, sample_arrivals(parameters, jobs, random)


def sample_sizes(model: Parameters, count: int, nodes: int, random: Generator) -> Array:
    """Numbers of nodes (count,), 1 .. nodes."""
    shift = math.log2(nodes) - 7.0
    high, middle = model.uhi + shift, model.umed + shift
    low = min(model.ulow, middle)
    kind = random.random(count)
    first = random.random(count) <= model.uprob
    exponent = np.where(
        first, random.uniform(low, middle, count), random.uniform(middle, high, count)
    )
    power = kind <= model.serial_prob + model.pow2_prob
    exponent = np.where(power, np.floor(exponent + 0.5), exponent)
    size = np.floor(2.0**exponent + 0.5).astype(np.int64)
    return np.clip(np.where(kind <= model.serial_prob, 1, size), 1, nodes)


def sample_runtimes(model: Parameters, size: Array, random: Generator) -> Array:
    """Run times in seconds, those beyond e^12 drawn again."""
    share = np.clip(model.pa * size + model.pb, 0.0, 1.0)
    log = np.full(len(size), np.inf)
    while (again := np.flatnonzero(log > MAX_LN_RUNTIME)).size:
        first = random.random(again.size) <= share[again]
        log[again] = np.where(
            first,
            random.gamma(model.a1, model.b1, again.size),
            random.gamma(model.a2, model.b2, again.size),
        )
    return np.exp(log)


def sample_arrivals(model: Parameters, count: int, random: Generator) -> Array:
    """Arrival times in seconds from midnight, gaps beyond e^13 seconds
    of points drawn again.
    """
    log = np.full(count, np.inf)
    while (again := np.flatnonzero(log > MAX_LN_GAP)).size:
        log[again] = random.gamma(model.aarr * model.arar, model.barr, again.size)
    points = np.cumsum(np.exp(log) / BUCKET_SECONDS)
    spent = np.concatenate([[0.0], np.cumsum(daily_weights(model))])
    day, rest = np.divmod(points, spent[-1])
    within = np.interp(rest, spent, np.arange(BUCKETS + 1) * BUCKET_SECONDS)
    return day * BUCKETS * BUCKET_SECONDS + within


def daily_weights(model: Parameters) -> Array:
    """Points of each half hour of the day, mean 1: increments of the
    gamma(anum, bnum) cdf.
    """
    from scipy.special import gammainc

    at = np.arange(DAY_START_BUCKET, BUCKETS + DAY_START_BUCKET)
    step = gammainc(model.anum, (at + 0.5) / model.bnum) - gammainc(
        model.anum, (at - 0.5) / model.bnum
    )
    weights = np.zeros(BUCKETS)
    weights[(at - 1) % BUCKETS] = step
    return weights / weights.mean()
