"""Prepare the jobs of a log for replays in which every job starts at the time in the
log.

No queue is simulated, so waits are not predicted, and the number of nodes is not
enforced: when jobs run longer than in the log, more nodes may be in use than the
machine has. A *draw* is one completion of the data that a log lacks: its I/O is
generated anew by the rule, and its starts are moved by up to :data:`SHIFT_SECONDS`,
because minutes decide whose I/O coincides. Draw 0 has the starts of the log.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ioopt.advice.spread import WEEK
from ioopt.decisions.batch_io import Limits
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.darshan.log import DarshanLog
from ioopt.formats.io_rule import IoRule, MachineRule
from ioopt.formats.swf.io import batch_io_from_swf, matched
from ioopt.formats.swf.log import SwfJob, SwfTrace
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.sim.batch_io.trace import Trace
from ioopt.units import counted, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ioopt.compiled import Floats

    Bools = NDArray[np.bool_]

SHIFT_SECONDS = 900.0
FEWEST_JOBS = 100
SHORTEST_LOG = WEEK
KNOWN_STARTS = 0.9
"""The least share of the jobs that ran whose start must be in the log."""
HIGHEST_STORAGE = 1000.0
"""A storage is refused if it is more than this many times faster than all nodes
together.
"""
ENOUGH_MEASURED = 0.5
"""If the jobs with Darshan logs have this share of all node-seconds, their I/O fraction
is used for the other jobs.
"""
TOP_SHARE = 0.9
"""The quantile of size, or of I/O fraction, above which jobs are called large or
I/O-heavy.
"""
ALL, LARGE, HEAVY = "all jobs", "large jobs", "I/O-heavy jobs"
GROUPS = (ALL, LARGE, HEAVY)

Piece = tuple[float, float, int]
"""A group of equal phases: seconds of computing, bytes, and their number."""


@dataclass(frozen=True)
class Question:
    """The question: the log, the assumptions about it, and how much to compute.

    ``io.fraction`` is used when ``fraction_given``. ``draws`` is the number of draws to
    replay, ``resamples`` the number of bootstrap resamples for intervals.
    """

    trace: SwfTrace
    darshan: tuple[DarshanLog, ...] = ()
    skipped: tuple[str, ...] = ()
    machine: MachineRule = MachineRule()
    io: IoRule = IoRule()
    requested_size: bool = False
    max_jobs: int | None = None
    fraction_given: bool = False
    solvers: tuple[str, ...] = ("fill", "adaptive", "cons-max-util+top")
    draws: int = 5
    resamples: int = 1000


class Point(NamedTuple):
    """One assumption: an I/O fraction (share of run time) and a storage rate."""

    fraction: float
    storage: float


@dataclass(frozen=True)
class Workload:
    """The jobs of a log, in order of their starts, on its machine.

    ``run_seconds`` are the log's. ``measured`` has the phases of jobs with a Darshan
    log, by index; the I/O of all others is generated. ``fraction`` is None when neither
    the user (``fraction_source`` is ``given``) nor Darshan logs supply it (``not
    given``); ``storage_given`` says whether the user stated the rate.
    """

    name: str
    trace: Trace
    io: IoRule
    run_seconds: Sequence[float]
    own_rates: Sequence[float | None]
    measured: dict[int, list[Piece]]
    fraction: float | None
    fraction_source: str
    storage_given: bool
    warnings: tuple[str, ...]

    @property
    def starts(self) -> Floats:
        """Return the start times in seconds from the first start."""
        return np.array(self.trace.submit)

    @property
    def node_rate(self) -> float:
        """Return the I/O rate of a node in bytes per second."""
        return self.trace.machine.node_bytes_per_second

    @property
    def storage(self) -> float:
        """Return the rate of the storage in bytes per second, given or guessed."""
        return self.trace.machine.storage_bytes_per_second

    @property
    def all_nodes_rate(self) -> float:
        """Return the bytes per second that all nodes together can send."""
        return self.node_rate * self.trace.machine.nodes

    def at(self, point: Point, draw: int = 0, scale: float = 1.0) -> Trace:
        """Return the jobs of this draw under the assumption *point*.

        The bytes of generated I/O are multiplied by *scale*.
        """
        machine = self.trace.machine.model_copy(
            update={"storage_bytes_per_second": point.storage}
        )
        limits = Limits.of(machine)
        whole = [float(limits.peak(nodes)) for nodes in self.trace.allocated]
        peaks = [
            peak if own is None else min(peak, own)
            for peak, own in zip(whole, self.own_rates)
        ]
        rule = replace(self.io, fraction=point.fraction, seed=self.io.seed + draw)
        rng = random.Random(rule.seed)
        pieces: list[Piece] = []
        for job, seconds in enumerate(self.run_seconds):
            phase = rule.phases(seconds, peaks[job], rng)[0]
            if job in self.measured:
                pieces += self.measured[job]
                continue
            volume = phase["io_bytes"] * scale
            pieces.append((phase["compute_seconds"], volume, phase["repeat"]))
        return replace(
            self.trace,
            machine=machine,
            limits=limits._replace(own_peaks=peaks != whole),
            submit=self._moved(draw),
            peak=peaks,
            pieces=pieces,
        )

    def _moved(self, draw: int) -> list[float]:
        """Return the start times of the jobs in a draw, in seconds."""
        starts = self.starts
        if draw:
            rng = np.random.default_rng((self.io.seed, draw))
            shifts = rng.uniform(-SHIFT_SECONDS, SHIFT_SECONDS, len(starts))
            starts = np.maximum(0.0, starts + shifts)
        return [float(start) for start in starts]


def workload_of(question: Question) -> Workload:
    """Return the jobs to replay.

    Raises InstanceError for a log that is too short or lacks too many starts,
    UsageError for rates that allow no conclusion.
    """
    log = at_its_starts(question.trace)
    problem = batch_io_from_swf(
        log,
        machine=question.machine,
        io=question.io,
        darshan=question.darshan,
        skipped=question.skipped,
        requested_size=question.requested_size,
        max_jobs=question.max_jobs,
    )
    _require_enough(question.trace.name, problem)
    _require_rates(question.machine, problem)
    logged = log.usable_jobs()[0]
    owned, _ = matched(question.darshan, logged, log.epoch)
    numbers = {own.job_id for own in owned}
    trace = Trace.of(problem)
    jobs = [problem.jobs[place] for place in trace.position]
    ran: dict[int | str, float] = {job.id: job.run_seconds or 0.0 for job in logged}
    measured: dict[int, list[Piece]] = {}
    for place, job in enumerate(jobs):
        if job.id in numbers:
            measured[place] = [
                (phase.compute_seconds, phase.io_bytes, phase.repeat)
                for phase in job.phases
            ]
    fraction, source = known_fraction(question, trace, measured)
    return Workload(
        name=problem.name,
        trace=trace,
        io=question.io,
        run_seconds=[ran[job.id] for job in jobs],
        own_rates=[job.io_bytes_per_second for job in jobs],
        measured=measured,
        fraction=fraction,
        fraction_source=source,
        storage_given=question.machine.storage_bytes_per_second is not None,
        warnings=tuple(
            text.removeprefix(f"{question.trace.name}: ") for text in problem.warnings
        ),
    )


def at_its_starts(log: SwfTrace) -> SwfTrace:
    """Return *log* with the submit time of each job set to its start.

    Jobs without a start are left out, with a warning. Raises InstanceError when they
    are more than a tenth of the jobs that ran.
    """
    started = [job for job in log.jobs if job.wait_seconds is not None]
    ran = [job for job in log.jobs if job.run_seconds is not None]
    missing = sum(job.wait_seconds is None for job in ran)
    if missing > (1 - KNOWN_STARTS) * len(ran):
        raise InstanceError(
            f"{log.name}: {missing} of the {len(ran)} jobs that ran have no start (the "
            "wait is unknown); advice needs a log that says when its jobs started"
        )
    warnings = log.warnings
    if missing:
        warnings = (*warnings, f"{counted(missing, 'job')} left out, without a start")
    return replace(log, jobs=tuple(map(_at_its_start, started)), warnings=warnings)


def _at_its_start(job: SwfJob) -> SwfJob:
    if job.submit_seconds is None or job.wait_seconds is None:
        return job
    start = job.submit_seconds + job.wait_seconds
    return replace(job, submit_seconds=start, wait_seconds=0.0)


def _require_enough(name: str, problem: BatchIoProblem) -> None:
    """Raise InstanceError for a log of too few jobs or too short a time."""
    count = len(problem.jobs)
    if count < FEWEST_JOBS:
        raise InstanceError(
            f"{name}: {counted(count, 'job')} that can be used; advice needs at least "
            f"{FEWEST_JOBS}"
        )
    span = max(job.submit_seconds for job in problem.jobs)
    if span < SHORTEST_LOG:
        raise InstanceError(
            f"{name}: {quantity('seconds', span)} from the first start to the last; "
            f"advice needs at least {quantity('seconds', SHORTEST_LOG)}"
        )


def _require_rates(rule: MachineRule, problem: BatchIoProblem) -> None:
    """Raise UsageError for a storage slower than one node, or absurdly fast."""
    machine = problem.machine
    node = machine.node_bytes_per_second
    storage = machine.storage_bytes_per_second
    what = f"the storage's rate {quantity('bytes_per_second', storage)}"
    if rule.storage_bytes_per_second is None:
        what += " (a guess)"
    if storage < node:
        raise UsageError(
            f"{what} is below the rate of one node, "
            f"{quantity('bytes_per_second', node)}: state both, "
            "--machine node_rate=RATE,storage_rate=RATE"
        )
    together = node * machine.nodes
    if storage > HIGHEST_STORAGE * together:
        sent = quantity("bytes_per_second", together)
        raise UsageError(
            f"{what} is more than {HIGHEST_STORAGE:g} times what all {machine.nodes} "
            f"nodes can send, {sent}: correct --machine storage_rate or node_rate"
        )


def known_fraction(
    question: Question, trace: Trace, measured: dict[int, list[Piece]]
) -> tuple[float | None, str]:
    """Return the known I/O fraction, and its source."""
    if question.fraction_given:
        return question.io.fraction, "given"
    places = list(measured)
    work = np.array(trace.allocated) * np.array(trace.ideal)
    if places and work[places].sum() >= ENOUGH_MEASURED * work.sum():
        return float(io_shares(trace)[places].mean()), "by Darshan"
    return None, "not given"


def io_shares(trace: Trace) -> Floats:
    """Return the I/O fraction of each job in a run without congestion."""
    volume = np.add.reduceat(np.array(trace.volume, float), trace.offset[:-1])
    seconds = volume / np.array(trace.peak)
    ideal = np.array(trace.ideal)
    return np.divide(seconds, ideal, out=np.zeros_like(ideal), where=ideal > 0)


def members(trace: Trace) -> dict[str, Bools]:
    """Return, for each of :data:`GROUPS`, which jobs belong to it."""
    nodes = np.array(trace.allocated)
    shares = io_shares(trace)
    return {
        ALL: np.ones(len(trace), bool),
        LARGE: nodes >= np.quantile(nodes, TOP_SHARE),
        HEAVY: shares >= np.quantile(shares, TOP_SHARE),
    }
