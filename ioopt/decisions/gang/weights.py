"""What a matrix is worth: job weights x speeds x rows (docs/gang.md, The mathematics)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ioopt.decisions.gang.state import Clock, Gang, Number, State

Weight = Literal["las", "hdf", "one"]


def weights(kind: Weight, jobs: Iterable[Gang], clock: Clock) -> list[Number]:
    """The weights of *jobs* (docs/gang.md, The mathematics), per second squared; 1 for ``one``."""
    if kind == "las":
        attained, quantum = clock.attained, clock.quantum
        since = [attained[job.key] + quantum for job in jobs]
        return [1 / (seconds * seconds) for seconds in since]
    if kind == "hdf":
        need, quantum = clock.need, clock.quantum
        return [1 / (max(job.local, quantum) * max(need[job.key], 50)) for job in jobs]
    return [1 for _ in jobs]


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
