"""Draw jobs from the workload model of Lublin and Feitelson (1999; JPDC 63, 2003).

The parameters are the published ones. A job is serial, or its size is 2^x. The exponent
x has a two-stage uniform distribution; it is rounded for jobs whose size is a power of
two. The run time is exp of a hyper-gamma variable, whose mixing probability is linear
in the size. Arrivals: a gap between jobs is exp(gamma) points long. The number of
points in a half hour follows the daily cycle of 48 half hours. For a machine that has
not 128 nodes, the upper end of x is log2(nodes), and the middle moves with it.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ioopt.generate import Array, Sample

MAX_LN_RUNTIME = 12.0
MAX_LN_GAP = 13.0
BUCKETS = 48
BUCKET_SECONDS = 1800.0
DAY_START_BUCKET = 11
"""Number of the half hour of the day with which the cycle begins."""


@dataclass(frozen=True)
class Parameters:
    """The 17 parameters of a job class, named as in the program of the authors.

    As in that program, ``pow2_prob`` is a share of all jobs, not of the parallel ones.
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
        serial_prob=0.2927,
        pow2_prob=0.6686,
        ulow=1.2,
        umed=5.0,
        uhi=7.0,
        uprob=0.875,
        a1=6.57,
        b1=0.823,
        a2=639.1,
        b2=0.0156,
        pa=-0.003,
        pb=0.6986,
        aarr=6.0415,
        barr=0.8531,
        anum=6.1271,
        bnum=5.274,
        arar=1.0519,
    ),
    "interactive": Parameters(
        serial_prob=0.1541,
        pow2_prob=0.625,
        ulow=1.0,
        umed=3.0,
        uhi=5.5,
        uprob=0.705,
        a1=3.8351,
        b1=0.6605,
        a2=7.073,
        b2=0.6856,
        pa=-0.0118,
        pb=0.9156,
        aarr=6.551,
        barr=0.6621,
        anum=8.9186,
        bnum=3.668,
        arar=0.9797,
    ),
    "combined": Parameters(
        serial_prob=0.244,
        pow2_prob=0.576,
        ulow=0.8,
        umed=4.5,
        uhi=7.0,
        uprob=0.86,
        a1=4.2,
        b1=0.94,
        a2=312.0,
        b2=0.03,
        pa=-0.0054,
        pb=0.78,
        aarr=10.2303,
        barr=0.4871,
        anum=8.1737,
        bnum=3.9631,
        arar=1.0225,
    ),
}


def sample(model: str, jobs: int, nodes: int, random: Generator) -> Sample:
    """Draw the sizes, run times and arrival times of *jobs* jobs on *nodes* nodes.

    Times are in seconds.
    """
    parameters = PARAMETERS[model]
    size = sample_sizes(parameters, jobs, nodes, random)
    length = sample_runtimes(parameters, size, random)
    return size, length, sample_arrivals(parameters, jobs, random)


def sample_sizes(model: Parameters, count: int, nodes: int, random: Generator) -> Array:
    """Draw the sizes of *count* jobs, from 1 to *nodes* nodes."""
    shift = math.log2(nodes) - 7.0
    high = model.uhi + shift
    middle = model.umed + shift
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
    """Draw the run times in seconds of jobs with the sizes *size*.

    A run time above e^12 is drawn again.
    """
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
    """Draw *count* arrival times, in seconds since midnight of the first day.

    A gap above e^13 is drawn again.
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
    """Return the number of points in each half hour of the day, scaled to mean 1.

    The numbers are increments of the gamma(anum, bnum) distribution function.
    """
    from scipy.special import gammainc

    at = np.arange(DAY_START_BUCKET, BUCKETS + DAY_START_BUCKET)
    step = gammainc(model.anum, (at + 0.5) / model.bnum) - gammainc(
        model.anum, (at - 0.5) / model.bnum
    )
    weights = np.zeros(BUCKETS)
    weights[(at - 1) % BUCKETS] = step
    return weights / weights.mean()
