"""Prepare the jobs of a log for replays in which every job starts at the time in the
log.

No queue is simulated, so waits are not predicted. The number of nodes is not enforced:
when jobs run longer than in the log, more nodes may be in use than the machine has. A
*draw* is one completion of the data that the log lacks: the I/O of its jobs is
generated anew, and the starts are moved by up to :data:`SHIFT_SECONDS`, because a few
minutes decide whose I/O coincides. Draw 0 has the starts of the log.
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
from ioopt.formats.io_rule import GIVEN, IoRule, MachineRule
from ioopt.formats.swf.io import batch_io_from_swf, matched, nodes_source, unclear_nodes
from ioopt.formats.swf.log import SwfJob, SwfTrace
from ioopt.problems.batch_io import BatchIoProblem, Job, Phase
from ioopt.sim.batch_io.trace import Trace
from ioopt.units import counted, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ioopt.arrays import Floats

    Bools = NDArray[np.bool_]

SHIFT_SECONDS = 900.0
FEWEST_JOBS = 100
SHORTEST_LOG = WEEK
KNOWN_STARTS = 0.9
"""The smallest share of the jobs that ran for which the log must give a start."""
HIGHEST_STORAGE = 1000.0
"""A storage rate is refused if it is more than this many times the rate of all nodes
together.
"""
ENOUGH_MEASURED = 0.5
"""If the jobs with Darshan logs have this share of all node-seconds, their mean I/O
fraction is used for the other jobs.
"""
TOP_SHARE = 0.9
"""The quantile of the number of nodes, or of the I/O fraction, from which on jobs are
called large or I/O-heavy.
"""
ALL, LARGE, HEAVY = "all jobs", "large jobs", "I/O-heavy jobs"
GROUPS = (ALL, LARGE, HEAVY)

BELIEVE = (
    " To switch a setting on, believe advise: it compares run times in several draws; "
    "these figures are of one draw, with such waits. Of the policies, turns alone can "
    "be switched on today."
)
OF_STARTS = (
    "jobs are submitted when the log started them, and wait only if too few nodes are "
    f"free then (not at all with loop=open).{BELIEVE}"
)
OF_QUEUE = (
    "the queue of the instance (order {queue}, backfill {backfill}) starts the jobs, "
    f"not the site's; with another queue a gain can become a loss.{BELIEVE}"
)
"""How the waits of an instance come about, by the submit times that it has."""

Piece = tuple[float, float, int]
"""A group of equal phases: the seconds of computing and the bytes of one phase, and the
number of phases.
"""


@dataclass(frozen=True)
class Question:
    """The question to answer: the log, the assumptions about it, and how much to
    compute.

    ``io.fraction`` is used only if ``fraction_given`` is true; other I/O periods than
    that of ``io`` are tried unless ``period_given`` is true. ``draws`` is the number
    of draws to replay, fewer in a long log unless ``draws_given`` is true, and
    ``resamples`` the number of bootstrap resamples for the intervals.
    """

    trace: SwfTrace
    darshan: tuple[DarshanLog, ...] = ()
    skipped: tuple[str, ...] = ()
    machine: MachineRule = MachineRule()
    io: IoRule = IoRule()
    requested_size: bool = False
    max_jobs: int | None = None
    fraction_given: bool = False
    period_given: bool = False
    solvers: tuple[str, ...] = ("fill", "adaptive", "cons-max-util+top")
    draws: int = 5
    draws_given: bool = False
    resamples: int = 1000


class Point(NamedTuple):
    """The assumptions of a replay: an I/O fraction (share of run time), a storage rate
    (bytes per second), and an I/O period (seconds of run time for each I/O step).
    """

    fraction: float
    storage: float
    period: float


@dataclass(frozen=True)
class Workload:
    """The jobs of a log, in order of their starts, on the machine of the log.

    ``run_seconds`` are the run times in the log. ``measured`` has the phases of the
    jobs with a Darshan log, keyed by index; the I/O of all other jobs is generated.
    ``fraction`` is the I/O fraction that the user or Darshan logs supply, or None, and
    ``fraction_source`` says which. ``storage_source`` says where the storage rate comes
    from, and ``nodes_source`` where the number of nodes. ``node_rate_given`` and
    ``period_given`` say what else the user stated.
    """

    problem: BatchIoProblem
    trace: Trace
    io: IoRule
    run_seconds: Sequence[float]
    own_rates: Sequence[float | None]
    measured: dict[int, list[Piece]]
    fraction: float | None
    fraction_source: str
    storage_source: str
    nodes_source: str
    node_rate_given: bool
    period_given: bool
    warnings: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the name of the log."""
        return self.problem.name

    @property
    def starts(self) -> Floats:
        """Return the start time of each job, in seconds after the first start."""
        return np.array(self.trace.submit)

    @property
    def node_rate(self) -> float:
        """Return the I/O rate of a node in bytes per second."""
        return self.trace.machine.node_bytes_per_second

    @property
    def storage(self) -> float:
        """Return the storage rate in bytes per second, stated by the user or
        guessed.
        """
        return self.trace.machine.storage_bytes_per_second

    @property
    def all_nodes_rate(self) -> float:
        """Return the I/O rate of all nodes together in bytes per second."""
        return self.node_rate * self.trace.machine.nodes

    @property
    def assumed(self) -> Bools:
        """Return whether the I/O of each job is generated, not measured."""
        found = np.ones(len(self.trace), bool)
        found[list(self.measured)] = False
        return found

    def at(self, point: Point, draw: int = 0, scale: float = 1.0) -> Trace:
        """Return the jobs of draw *draw* with the assumptions of *point*.

        The bytes of generated I/O are multiplied by *scale*.
        """
        machine = self.trace.machine.model_copy(
            update={"storage_bytes_per_second": point.storage}
        )
        limits = Limits.of(machine)
        whole = [float(limits.peak(nodes)) for nodes in self.trace.allocated]
        peaks = [
            peak if rate is None else min(peak, rate)
            for peak, rate in zip(whole, self.own_rates)
        ]
        rule = IoRule(point.fraction, point.period, self.io.seed + draw)
        rng = random.Random(rule.seed)
        pieces: list[Piece] = []
        offset = [0]
        for job, seconds in enumerate(self.run_seconds):
            phase = rule.phases(seconds, peaks[job], rng)[0]
            volume = phase["io_bytes"] * scale
            own = [(phase["compute_seconds"], volume, phase["repeat"])]
            own = self.measured.get(job, own)
            pieces += own
            offset.append(offset[-1] + sum(repeat for _, _, repeat in own))
        return replace(
            self.trace,
            machine=machine,
            limits=limits.with_own_peaks() if peaks != whole else limits,
            submit=self._moved(draw),
            peak=peaks,
            offset=offset,
            pieces=pieces,
        )

    def instance(
        self, point: Point, scale: float, log: SwfTrace | None = None
    ) -> BatchIoProblem:
        """Return the jobs of :meth:`at` as an instance, so that other commands judge
        the same jobs.

        Each job is submitted when it starts in the log, or, if the log is given as
        *log*, when it was submitted there.
        """
        trace = self.at(point, scale=scale)
        jobs = list(self.problem.jobs)
        left = iter(trace.pieces)
        for job, place in enumerate(trace.position):
            phases = []
            count = trace.offset[job + 1] - trace.offset[job]
            while count:
                computing, volume, repeat = next(left)
                phases.append(
                    Phase(
                        compute_seconds=computing, io_bytes=round(volume), repeat=repeat
                    )
                )
                count -= repeat
            jobs[place] = jobs[place].model_copy(update={"phases": tuple(phases)})
        rule = IoRule(point.fraction, point.period, self.io.seed).describe()
        scaled = f"{rule}; bytes times {scale:.3g}: sharing, jobs run as in the log"
        meta = dict(self.problem.meta or {})
        meta["warnings"] = [
            text.replace(self.io.describe(), scaled) for text in self.problem.warnings
        ]
        synthetic = dict(meta.get("synthetic", {}))
        if "I/O" in synthetic:
            synthetic = synthetic | {"I/O": scaled}
        waits = OF_STARTS
        if log is not None:
            waits = OF_QUEUE.format(**self.problem.options.model_dump())
            jobs = _submitted(jobs, log)
        meta["synthetic"] = synthetic | {"waits": waits}
        return self.problem.model_copy(
            update={"machine": trace.machine, "jobs": tuple(jobs), "meta": meta}
        )

    def _moved(self, draw: int) -> list[float]:
        """Return the start time of each job in draw *draw*, in seconds."""
        starts = self.starts
        if draw:
            rng = np.random.default_rng((self.io.seed, draw))
            shifts = rng.uniform(-SHIFT_SECONDS, SHIFT_SECONDS, len(starts))
            starts = np.maximum(0.0, starts + shifts)
        return [float(start) for start in starts]


def workload_of(question: Question) -> Workload:
    """Return the jobs to replay.

    Raises InstanceError for a log that is too short or lacks too many starts, and
    UsageError for rates that allow no conclusion.
    """
    log = at_its_starts(question.trace)
    unclear = unclear_nodes(log, question.machine)
    if unclear:
        raise UsageError(f"{log.name}: {unclear}")
    problem = batch_io_from_swf(
        log,
        machine=question.machine,
        io=question.io,
        darshan=question.darshan,
        skipped=question.skipped,
        requested_size=question.requested_size,
        max_jobs=question.max_jobs,
    )
    _require_enough(question, problem)
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
    all_measured = len(measured) == len(jobs)
    warnings = list(problem.warnings)
    if all_measured and (question.fraction_given or question.period_given):
        warnings.append(
            "all jobs have a Darshan log: the stated I/O fraction and period are not "
            "used"
        )
    return Workload(
        problem=problem,
        trace=trace,
        io=question.io,
        run_seconds=[ran[job.id] for job in jobs],
        own_rates=[job.io_bytes_per_second for job in jobs],
        measured=measured,
        fraction=fraction,
        fraction_source=source,
        storage_source=_storage_source(question.machine, problem, owned),
        nodes_source=nodes_source(log, question.machine),
        node_rate_given=question.machine.node_bytes_per_second is not None,
        period_given=question.period_given or all_measured,
        warnings=tuple(
            text.removeprefix(f"{question.trace.name}: ") for text in warnings
        ),
    )


def at_its_starts(log: SwfTrace) -> SwfTrace:
    """Return *log* with the submit time of each job set to its start time.

    Jobs without a start are left out, with a warning. Raises InstanceError if these are
    more than a tenth of the jobs that ran.
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


def _submitted(jobs: Sequence[Job], log: SwfTrace) -> list[Job]:
    """Return *jobs* in the order of their submission in *log*, with its submit times;
    the first one is at 0.
    """
    # The jobs of at_its_starts, so that job numbers given anew are the same.
    started = [job for job in log.jobs if job.wait_seconds is not None]
    usable = replace(log, jobs=tuple(started)).usable_jobs()[0]
    logged: dict[int | str, SwfJob] = {job.id: job for job in usable}
    first = min(logged[job.id].submit_seconds or 0.0 for job in jobs)
    moved = []
    for job in jobs:
        entry = logged[job.id]
        submit = (entry.submit_seconds or 0.0) - first
        times = {"submit_seconds": submit, "wait_seconds": entry.wait_seconds}
        moved.append(job.model_copy(update=times))
    return sorted(moved, key=lambda job: job.submit_seconds)


def _require_enough(question: Question, problem: BatchIoProblem) -> None:
    """Raise InstanceError if the log has too few jobs, or covers too short a time."""
    name = question.trace.name
    more = "" if question.max_jobs is None else "; take a larger --jobs"
    count = len(problem.jobs)
    if count < FEWEST_JOBS:
        raise InstanceError(
            f"{name}: {counted(count, 'job')} that can be used; advice needs at least "
            f"{FEWEST_JOBS}{more}"
        )
    span = max(job.submit_seconds for job in problem.jobs)
    if span < SHORTEST_LOG:
        raise InstanceError(
            f"{name}: {quantity('seconds', span)} from the first start to the last; "
            f"advice needs at least {quantity('seconds', SHORTEST_LOG)}{more}"
        )


def _require_rates(rule: MachineRule, problem: BatchIoProblem) -> None:
    """Raise UsageError if the storage is slower than one node, or absurdly fast."""
    machine = problem.machine
    node = machine.node_bytes_per_second
    storage = machine.storage_bytes_per_second
    what = f"the storage's rate {quantity('bytes_per_second', storage)}"
    if rule.storage_bytes_per_second is None:
        what += " (a guess)"
    if storage < node:
        how = "state both, --machine node_rate=RATE,storage_rate=RATE"
        if rule.node_bytes_per_second and rule.storage_bytes_per_second:
            how = (
                "advice needs a storage not slower than one node; if a node's link is "
                "faster than the storage, state the storage's rate as node_rate too"
            )
        raise UsageError(
            f"{what} is below the rate of one node, "
            f"{quantity('bytes_per_second', node)}: {how}"
        )
    together = node * machine.nodes
    if storage > HIGHEST_STORAGE * together:
        sent = quantity("bytes_per_second", together)
        raise UsageError(
            f"{what} is more than {HIGHEST_STORAGE:g} times what all {machine.nodes} "
            f"nodes can send, {sent}: correct --machine storage_rate or node_rate"
        )


def _storage_source(
    rule: MachineRule, problem: BatchIoProblem, logs: Sequence[DarshanLog]
) -> str:
    """Return the words that say where the storage rate comes from."""
    if rule.storage_bytes_per_second is not None:
        return "given"
    achieved = [log.rate for log in logs if log.rate is not None]
    if problem.machine.storage_bytes_per_second in achieved:
        return "a guess: the most in a Darshan log"
    return "a guess"


def known_fraction(
    question: Question, trace: Trace, measured: dict[int, list[Piece]]
) -> tuple[float | None, str]:
    """Return the I/O fraction if it is known, otherwise None, and the words that name
    its source. A stated fraction is that of the jobs without a Darshan log.
    """
    places = list(measured)
    if question.fraction_given and len(places) < len(trace):
        return question.io.fraction, GIVEN
    work = np.array(trace.allocated) * np.array(trace.ideal)
    if places and work[places].sum() >= ENOUGH_MEASURED * work.sum():
        return float(io_shares(trace)[places].mean()), "by Darshan"
    return None, "not given"


def io_seconds(trace: Trace) -> Floats:
    """Return the I/O time of each job without congestion, in seconds."""
    volume = np.add.reduceat(np.array(trace.volume, float), trace.offset[:-1])
    return volume / np.array(trace.peak)


def io_shares(trace: Trace) -> Floats:
    """Return, for each job, the share of its run time without congestion that is
    I/O.
    """
    seconds = io_seconds(trace)
    ideal = np.array(trace.ideal)
    return np.divide(seconds, ideal, out=np.zeros_like(ideal), where=ideal > 0)


def members(trace: Trace) -> dict[str, Bools]:
    """Return, for each of :data:`GROUPS`, an array that says of each job whether it
    belongs to the group.
    """
    nodes = np.array(trace.allocated)
    shares = io_shares(trace)
    return {
        ALL: np.ones(len(trace), bool),
        LARGE: nodes >= np.quantile(nodes, TOP_SHARE),
        HEAVY: shares >= np.quantile(shares, TOP_SHARE),
    }
