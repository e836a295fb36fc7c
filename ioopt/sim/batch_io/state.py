"""What changes in a run: its jobs and its clock.

The rules (:mod:`~ioopt.sim.batch_io.engine`, :mod:`~ioopt.sim.batch_io.storage`,
:mod:`~ioopt.sim.batch_io.queue`) are one text. Plain Python runs it on these objects and on lists, of
floats or Fractions; numba on records and arrays of the same names. It allocates nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from ioopt.compiled import Box
from ioopt.decisions.batch_io import IoPolicy, Request
from ioopt.decisions.ordering import Number
from ioopt.sim.batch_io.trace import Trace

# Of what is due at one instant, the higher has its turn first (rules 1 and 43).
WAITING, COMPUTING, WRITING, TRANSFERRING, ENDED, STAGING = 0, 1, 2, 3, 4, 5
NOBODY = -1
JOB_NUMBERS = (
    "job", "id", "status", "place", "last_place", "granted", "lane", "before", "behind", "units",
    "nodes", "asked_nodes", "block", "killed", "slot",
)  # fmt: skip
"""Whole numbers of a job."""
JOB_AMOUNTS = (
    "base", "belief", "rate", "anchor", "peak", "left", "moved", "volume", "due", "requested", "began",
    "compute_so_far", "ideal_so_far", "start", "weight", "submit", "walltime", "end", "iteration",
    "length", "box_start", "box_end",
)  # fmt: skip
"""Times, bytes and rates of a job."""
CLOCK_NUMBERS = (
    "arrived", "ended", "waiting", "free", "outstanding", "load", "num_fresh", "nodes", "changed",
    "queue_changed", "crowded", "stale", "more", "events", "decisions", "num_running", "num_spans",
    "lined_up", "freed", "steps", "num_writing", "writes_changed", "num_streams", "num_tails",
    "num_ahead", "holders",
)  # fmt: skip
CLOCK_AMOUNTS = (
    "now", "until", "useful", "turned", "since", "rho", "weight", "held", "held_ahead",
)  # fmt: skip
BEGINNING = {
    "block": NOBODY, "before": NOBODY, "behind": NOBODY, "start": math.nan, "end": math.nan,
    "requested": math.nan, "anchor": math.nan, "began": math.nan, "due": math.nan,
    "box_start": -math.inf, "box_end": -math.inf,
}  # fmt: skip
"""What does not begin at 0."""


class Job(Request):
    """A job of the run, and the request that it has outstanding while it is TRANSFERRING.

    ``base`` bytes were left at ``anchor``, and its ``rate`` held since: it is ``due`` then.
    ``place`` is that of the job's phase in the trace, ``last_place`` where its phases end,
    ``began`` when it last began to compute. ``before`` and ``behind`` are its neighbours in its
    ``lane``; ``slot`` is its place in ``running``; ``asked_nodes`` are those that the user asked for;
    ``block`` is the first unit (-1: flat). Its box of ``length`` seconds is from ``box_start`` to
    ``box_end`` (:mod:`~ioopt.sim.batch_io.boxes`).
    """

    __slots__ = tuple(
        name for name in (*JOB_NUMBERS, *JOB_AMOUNTS) if name not in Request.__slots__
    )

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Number: ...
        def __setattr__(self, name: str, value: Number) -> None: ...

    def __init__(self, **values: Number) -> None:
        for name in (*JOB_NUMBERS, *JOB_AMOUNTS):
            setattr(self, name, values.get(name, BEGINNING.get(name, 0)))


class Clock:
    """What changes from instant to instant; all begins at 0.

    ``until`` ends what is one instant with ``now``. ``turned`` (bytes a node), ``since``, ``rho``,
    ``weight`` and ``nodes`` are those of shared storage. ``outstanding`` requests of ``load`` units are
    counted. ``freed``: a job ended since the last pass. ``held`` bytes of the burst buffer belong to
    ``holders``, ``held_ahead`` to waiting jobs.
    """

    __slots__ = (*CLOCK_NUMBERS, *CLOCK_AMOUNTS)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Number: ...
        def __setattr__(self, name: str, value: Number) -> None: ...

    def __init__(self, zero: Number = 0.0) -> None:
        for name in CLOCK_NUMBERS:
            setattr(self, name, 0)
        for name in CLOCK_AMOUNTS:
            setattr(self, name, zero)


Starts = tuple[Sequence[Number], Sequence[int]]
"""The start and the first unit of every job."""


def jobs_of(trace: Trace, policy: IoPolicy, starts: Starts | None = None) -> list[Job]:
    """The jobs of a run at time 0; behind them, where there is a burst buffer, their streams."""
    zero = trace.limits.number(0)
    jobs = [
        Job(
            job=j, id=trace.rank[j], units=trace.units[j], nodes=trace.allocated[j],
            asked_nodes=trace.nodes[j], peak=trace.peak[j], submit=trace.submit[j],
            walltime=trace.walltime[j], iteration=trace.iteration[j], length=trace.length[j],
            place=trace.offset[j], last_place=trace.offset[j + 1],
            block=NOBODY if starts is None else starts[1][j], rate=zero, base=zero, volume=zero,
        )
        for j in range(len(trace))
    ]  # fmt: skip
    if trace.buffered:
        for j in range(len(trace)):
            stream = copy(jobs[j])
            stream.job, stream.peak = len(trace) + j, trace.buffered.stream[j]
            stream.iteration = trace.buffered.iteration[j]
            jobs.append(stream)
    if policy.weigh:
        for job in jobs:
            job.weight = policy.weigh(job.nodes, job.iteration)
    return jobs


def records_of(jobs: Sequence[Job]) -> Box:
    """*jobs* as records of one array."""
    import numpy as np

    kinds = [(JOB_NUMBERS, np.int64), (JOB_AMOUNTS, np.float64)]
    fields = [(name, kind) for names, kind in kinds for name in names]
    records = np.zeros(len(jobs), np.dtype(fields, align=True))
    for name, _ in fields:
        records[name] = [getattr(job, name) for job in jobs]
    return records


def clock_record() -> Clock:
    """A clock at 0 as a record."""
    import numpy as np

    kinds = [(CLOCK_NUMBERS, np.int64), (CLOCK_AMOUNTS, np.float64)]
    kind = np.dtype([(name, kind) for names, kind in kinds for name in names], align=True)
    return np.zeros(1, kind).view(np.recarray)[0]
