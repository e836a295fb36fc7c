"""Fit the constants of a storage so that recorded placements end as they were recorded.

The search is deterministic: points of a Sobol sequence fill the ranges of the constants
evenly, and a descent (Nelder-Mead) starts from the best of them. The effort is counted
in replays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import fmean

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from ioopt.arrays import Floats
from ioopt.errors import OutOfTime
from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.report import Replay
from ioopt.sim.replication.simulate import replayed
from ioopt.validation.record import Record
from ioopt.validation.storage import (
    Constants,
    Storage,
    compute_seconds,
    known_constants,
    placement_of,
    with_constants,
)

POINTS = 256
"""Number of points of the Sobol sequence, each of which costs a replay of each
record.
"""
STEPS = 120
"""Largest number of points of the descent."""
UNDECIDED: Mapping[Storage, float] = {"nfs": 0.002, "ceph": 0.002, "node": 0.005}
"""Weight of the distance of rates from their usual values: it decides where the record
does not. Records with products on nodes decide less.
"""
NEAR = 1.3
"""Factor by which constants may differ from those near which they are searched."""
SLOW_LINKS = 100
"""How many times slower than the mean rate of a run with products on nodes a link may
be.
"""
MOST_WRITTEN = 3.0
"""Largest number of bytes that move for each byte written."""
LATE_SECONDS = 3.0
"""Seconds by which an engine usually starts the next task late, at most."""
FITTED: Mapping[Storage, tuple[str, ...]] = {
    "nfs": (
        "overhead_seconds",
        "remote_bytes_per_second",
        "node_bytes_per_second",
        "cache_bytes",
    ),
    "ceph": (
        "overhead_seconds",
        "remote_bytes_per_second",
        "node_bytes_per_second",
        "cache_bytes",
        "write_factor",
    ),
    "node": (
        "overhead_seconds",
        "remote_bytes_per_second",
        "node_bytes_per_second",
        "disk_bytes_per_second",
    ),
}
"""The constants that are fitted for each kind of storage."""


@dataclass(frozen=True)
class Sample:
    """A record to fit, as a problem without constants, with its recorded placement.

    ``judged`` are the positions of the tasks whose ends shall be as recorded. If it is
    empty, the end of the whole run shall be.
    """

    record: Record
    frame: ReplicationProblem
    plan: ReplicationPlan
    judged: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, record: Record, frame: ReplicationProblem, judged: Sequence[int] = ()
    ) -> Sample:
        """Return the sample of *record*, whose problem is *frame*."""
        return cls(record, frame, placement_of(record, frame), tuple(judged))

    def replay(self, constants: Constants) -> Replay:
        """Replay the recorded placement with *constants*."""
        return replayed(with_constants(self.frame, constants), self.plan)

    def error(self, constants: Constants) -> float:
        """Return how far the replay with *constants* is from the record.

        It is the error of the makespan. For judged tasks, it is the mean of two errors:
        that of the last of their ends, and the mean error of all of them as a share of
        the recorded makespan.
        """
        replay = self.replay(constants)
        if not self.judged:
            return abs(log(replay.makespan_seconds / self.record.makespan))
        ends = [replay.world.entries[k].end for k in self.judged]
        recorded = [self.record.tasks[k].end for k in self.judged]
        late = [abs(end - other) for end, other in zip(ends, recorded)]
        last = abs(max(ends) - max(recorded))
        return (fmean(late) + last) / (2 * self.record.makespan)


@dataclass(frozen=True)
class Fit:
    """Fitted constants, the loss of the search there, and whether time ended it."""

    constants: Constants
    loss: float
    ended_early: bool = False


def third_of(record: Record) -> tuple[int, ...]:
    """Return the positions of every third task, in the order of the recorded ends.

    The task that ends last is not among them unless it is the only one, so that the
    makespan of the replay is not fitted.
    """
    tasks = record.tasks
    in_order = sorted(range(len(tasks)), key=lambda k: (tasks[k].end, k))
    return tuple(sorted(in_order[:-1][::3] or in_order))


def fit(
    samples: Sequence[Sample],
    storage: Storage,
    seed: int = 0,
    fixed: Mapping[str, float] | None = None,
    deadline: Deadline | None = None,
    near: Constants | None = None,
) -> Fit:
    """Return the constants of *storage* with which the replays of *samples* are
    nearest to the records.

    *fixed* are constants that are known. If *deadline* passes, the best constants so
    far are returned. The search is within a factor of ``NEAR`` of the constants *near*,
    if they are given.
    """
    known = dict(fixed or {})
    ranges = {
        name: bounds
        for name, bounds in _ranges(samples, storage, near).items()
        if name not in known
    }
    low = np.log([least for least, _ in ranges.values()])
    high = np.log([most for _, most in ranges.values()])

    def constants_at(point: Floats) -> Constants:
        """Return the constants at *point*, whose coordinates are from 0 to 1."""
        inside = np.clip(point, 0.0, 1.0)
        values = dict(zip(ranges, np.exp(low + inside * (high - low)).tolist()))
        values |= known
        if "cache_bytes" in values:
            values["cache_bytes"] = round(values["cache_bytes"])
        return Constants.model_validate(values)

    best: list[Fit] = []

    def loss(point: Floats) -> float:
        """Return the mean error of the replays at *point*, and keep the best."""
        if best and deadline is not None and deadline.expired():
            raise OutOfTime("the fit ended early")
        constants = constants_at(point)
        errors = [sample.error(constants) for sample in samples]
        outside = float(np.abs(point - np.clip(point, 0.0, 1.0)).sum())
        total = (
            fmean(errors) + UNDECIDED[storage] * _unusual(constants, storage) + outside
        )
        if not best or total < best[0].loss:
            best[:] = [Fit(constants, total)]
        return total

    usual = near or known_constants()[storage]
    told = np.log([getattr(usual, name) for name in ranges])
    start = np.clip((told - low) / (high - low), 0.0, 1.0)
    try:
        _search(loss, start, seed)
    except OutOfTime:
        return replace(best[0], ended_early=True)
    return best[0]


def _search(loss: Callable[[Floats], float], start: Floats, seed: int) -> None:
    """Try points of the unit cube, *start* among them, to find the least *loss*."""
    dimensions = len(start)
    if not dimensions:
        loss(start)
        return
    points = qmc.Sobol(dimensions, seed=seed).random(POINTS)
    first = min([start, *points], key=loss)
    minimize(
        loss,
        first,
        method="Nelder-Mead",
        options={
            "maxfev": STEPS,
            "initial_simplex": np.vstack([first, first + 0.1 * np.eye(dimensions)]),
            "xatol": 1e-3,
            "fatol": 1e-5,
        },
    )


def _unusual(constants: Constants, storage: Storage) -> float:
    """Return how far the rates of *constants* are from the usual ones, as the sum of
    the logarithms of their ratios.

    A record of a busy server does not show what a node alone could move: that is
    usually as much as the server. A record with products on nodes need not show what
    links could move: that is usually what other records showed.
    """
    remote = constants.remote_bytes_per_second
    node = constants.node_bytes_per_second
    if storage != "node":
        return abs(log(node / remote))
    usual = known_constants()[storage]
    return abs(log(node / usual.node_bytes_per_second)) + abs(
        log(remote / usual.remote_bytes_per_second)
    )


def _ranges(
    samples: Sequence[Sample], storage: Storage, near: Constants | None
) -> dict[str, tuple[float, float]]:
    """Return the least and the largest value that the search tries, for each constant.

    The rate of the server is from half of the mean rate of the slowest record on. With
    products on nodes, that mean says little of links, and they may be far slower. The
    rates of a node may be those of the whole, shared by all nodes. All rates are at
    most sixteen times the mean rate of the fastest record. No task can have had more
    overhead than it took beside computing; some more is tried, as an engine may start
    the next task late.
    """
    rates = []
    waits = []
    total = 1
    nodes = 1
    for sample in samples:
        record = sample.record
        moved = 0
        for names in (*record.inputs.values(), *record.outputs.values()):
            moved += sum(record.files[name] for name in names)
        rates.append(max(moved, 1) / record.makespan)
        total = max(total, moved)
        nodes = max(nodes, len(sample.frame.nodes))
        for task in record.tasks:
            waits.append(task.end - task.start - compute_seconds(task))
    least = min(rates) / 2
    most = max(rates) * 16
    slowest = least
    if storage == "node":
        slowest = least / SLOW_LINKS
    found = {
        "overhead_seconds": (0.01, LATE_SECONDS + 2 * max(0.0, min(waits))),
        "remote_bytes_per_second": (slowest, most),
        "node_bytes_per_second": (min(slowest, least / nodes), most),
        "cache_bytes": (total / 100, 2.0 * total),
        "disk_bytes_per_second": (least / nodes, most),
        "write_factor": (1.0, MOST_WRITTEN),
    }
    if near is not None:
        for name in FITTED[storage]:
            value = getattr(near, name)
            found[name] = (value / NEAR, value * NEAR)
        smallest, largest = found["write_factor"]
        found["write_factor"] = (max(1.0, smallest), largest)
    return {name: found[name] for name in FITTED[storage]}
