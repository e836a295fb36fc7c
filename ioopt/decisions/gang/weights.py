"""What a matrix is worth: job weights x speeds x rows (docs/gang.md, The mathematics)."""

from collections.abc import Iterable
from typing import Literal

from ioopt.decisions.gang.rules import HDF, LAS, ONE, Number, weight_of
from ioopt.decisions.gang.state import Clock, Gang, State

Weight = Literal["las", "hdf", "one"]
WEIGHTS: dict[Weight, int] = {"las": LAS, "hdf": HDF, "one": ONE}


def weights(kind: Weight, jobs: Iterable[Gang], clock: Clock) -> list[Number]:
    """The weights of *jobs*: ``las``, ``hdf``, or 1 for each (:func:`weight_of`)."""
    code, attained, need = WEIGHTS[kind], clock.attained, clock.need
    return [
        weight_of(code, job.local, attained[job.key], need[job.key], clock.quantum) for job in jobs
    ]


def move_speed(clock: Clock) -> Number:
    """Speed of a job that migrates in this update: 1 - C/(2T)."""
    return 1 - clock.migration / (2 * clock.quantum)


def value_of(state: State, kind: Weight) -> Number:
    """Sum over the jobs of *state* (after an update) of weight x speed x rows."""
    total: Number = 0
    heavy = weights(kind, state.jobs, state.clock)
    for weight, job, columns, span in zip(heavy, state.jobs, state.columns, state.spans):
        if columns != job.files:
            speed: Number = job.local / job.remote
        else:
            speed = move_speed(state.clock) if job.key in state.moved else 1
        total += weight * speed * span.bit_count()
    return total
