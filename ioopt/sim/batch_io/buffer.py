"""The burst buffer of a run: what jobs hold of it and keep in it (rules 38, 42, 44 and 49).

Job j of n has a second record, ``jobs[n + j]``: its stream, the request by which the buffer moves
bytes of j to or from the storage (rule 41). Streams have places of their own behind those of all
phases: stage-in, a drain a phase, stage-out.

One text for plain Python and for numba: see :mod:`ioopt.sim.batch_io.state`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ioopt.compiled import Box
from ioopt.decisions.batch_io import FIT_TOLERANCE, Number
from ioopt.problems.batch_io import BurstBuffer
from ioopt.sim.batch_io.state import ENDED, ActiveRequest, Moment, World
from ioopt.sim.batch_io.trace import Buffered, Trace, stages_early

NONE, AHEAD, STARTED = 0, 1, 2
"""A job holds no bytes, some while it waits (rule 45), or some since its start."""
NOT_STAGED, STAGING_IN, STAGED, STAGING_OUT = 0, 1, 2, 3


class Buffer(NamedTuple):
    """Terms of the burst buffer, and what is kept of each job; lists, or arrays under numba.

    ``jobs`` and ``phases`` are how many there are. ``capacity``, ``rate`` and ``drain`` are C, Bb and D
    of rule 39, ``slack`` the tolerance of rule 49. ``alone``: no write slows another; ``keeps``:
    nodes are held to the release. ``size``, ``load_in`` and ``load_out`` are B, I and O.
    ``undrained`` bytes are written and not drained, of phases from the place ``drained`` to
    ``written``. ``stage`` says how far staging is; ``held`` who holds
    bytes. ``writing``, ``tails`` (ended, not released) and ``ahead`` (waiting, holding) list jobs.
    """

    jobs: int
    phases: int
    shared: bool
    early: bool
    keeps: bool
    alone: bool
    capacity: Number
    rate: Number
    drain: Number
    slack: Number
    size: Any
    load_in: Any
    load_out: Any
    undrained: Any
    drained: Any
    written: Any
    stage: Any
    held: Any
    released: Any
    writing: Any
    tails: Any
    ahead: Any
    order: Any
    levels: Any


NO_BUFFER = BurstBuffer(
    bytes=1, bytes_per_second=1, drain_bytes_per_second=1, placement="shared"
)  # fmt: skip
"""What stands for the buffer of a machine without one: nobody asks for it."""


def buffer_of(trace: Trace, ignores_limit: bool, box: Callable[..., Box]) -> Buffer:
    """The buffer at time 0; *box* is one of :func:`ioopt.compiled.boxes`."""
    machine, number = trace.machine, trace.limits.number
    terms = machine.burst_buffer or NO_BUFFER
    asked = trace.buffered or Buffered((), (), (), (), ())
    jobs, per_node = len(asked.size), terms.placement == "per-node"
    zeros, none, places = [number(0)] * jobs, [0] * jobs, trace.offset[:jobs]
    return Buffer(
        jobs=jobs, phases=trace.num_phases, shared=not per_node,
        early=stages_early(machine, trace.options), keeps=trace.keeps_nodes,
        alone=per_node or ignores_limit, capacity=number(terms.bytes),
        rate=number(terms.bytes_per_second), drain=number(terms.drain_bytes_per_second),
        slack=1 if trace.limits.exact else 1 + FIT_TOLERANCE, size=box(asked.size, real=True),
        load_in=box(asked.load_in, real=True), load_out=box(asked.load_out, real=True),
        undrained=box(zeros, real=True), drained=box(places), written=box(places),
        stage=box(none), held=box(none), released=box(zeros, real=True), writing=box(none),
        tails=box(none), ahead=box(none), order=box(none), levels=box(zeros, real=True),
    )  # fmt: skip


def has_room(w: World, m: Moment, job: int) -> bool:
    """Whether the buffer has the bytes of *job* beside those of started ones (rules 44 and 45)."""
    b = w.buffer
    return not b.shared or m.held + b.size[job] <= b.capacity * b.slack


def units_held(w: World, r: ActiveRequest) -> int:
    """Units that *r* holds until it ends or, where ended jobs keep their nodes, is released (rule 44)."""
    if w.buffered and r.status == ENDED and not w.buffer.keeps:
        return 0
    return int(r.units)


def release_time(w: World, m: Moment, job: int) -> Number:
    """When *job*, which has ended, is predicted to release its bytes (rule 44)."""
    b, s = w.buffer, w.jobs[job + w.buffer.jobs]
    left = s.base
    if s.rate > 0:
        left = max(s.base - s.rate * (m.now - s.anchor), s.base * 0)
    if b.stage[job] != STAGING_OUT:
        left += b.undrained[job] - s.volume
        if not w.jobs[job].killed:
            left += b.load_out[job]
    return m.now + left / s.peak


def limit_streams(w: World, count: int) -> None:
    """Rates of the first *count* of ``out``: streams together have D at most (rule 42)."""
    b, rates, total = w.buffer, w.rates, w.storage * 0
    for k in range(count):
        if w.out[k] >= b.jobs:
            total += rates[k]
    if total > b.drain:
        part = b.drain / total
        for k in range(count):
            if w.out[k] >= b.jobs:
                rates[k] *= part


def date_streams(w: World, m: Moment) -> None:
    """Bring what the aggregate slowdown of streams is told to now: it is their instant one (rule 42)."""
    for k in range(m.outstanding):
        s = w.jobs[w.out[k]]
        if s.job >= w.buffer.jobs:
            s.ideal_so_far = s.moved / s.peak


def add(jobs: Any, count: int, job: int) -> int:
    """Put *job* behind the *count* of *jobs*; how many there are."""
    jobs[count] = job
    return count + 1


def drop(jobs: Any, count: int, job: int) -> int:
    """Take *job* out of the *count* of *jobs*, whose order stays; how many are left."""
    kept = 0
    for k in range(count):
        if jobs[k] != job:
            jobs[kept] = jobs[k]
            kept += 1
    return kept
