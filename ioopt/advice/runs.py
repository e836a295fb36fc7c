"""Runs that advice rests on: the jobs of a log under one option, I/O fraction
and drawing of luck.

A drawing has its own invented I/O, and each submission is moved by up to
:data:`SHIFT_SECONDS`: small changes of when jobs come decide for days what a queue
starts, and no advice should rest on that. Drawing 0 is the log as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ioopt.comparing import parse_solver
from ioopt.decisions.batch_io import IoPolicy
from ioopt.errors import UsageError
from ioopt.formats.darshan.log import DarshanLog
from ioopt.formats.io_rule import IoRule, MachineRule
from ioopt.formats.swf.io import batch_io_from_swf, matched
from ioopt.formats.swf.log import SwfTrace
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Run, Trace
from ioopt.solvers.batch_io.run import run_trace
from ioopt.solvers.batch_io.settings import Settings

if TYPE_CHECKING:
    from ioopt.advice.fit import Fit
    from ioopt.compiled import Floats

BASELINE, IDEAL = "base-line", "no-congestion"
SHIFT_SECONDS = 900.0
TOP_SHARE = 0.9
"""Large jobs, I/O-heavy jobs and those that need a licence: from this quantile on."""
TRIALS = 20
"""Machine code is loaded where so many runs in plain Python would take longer."""
SCALE_ERROR = 0.01
ROUNDS = 3
"""Times that starts of a queue and the run times that follow from them
are computed in turn.
"""


class Option(NamedTuple):
    """What a site could do: an I/O policy (``NAME:KEY=VALUE,...``), or a
    setting beside its own.

    ``job_rate``: no job transfers faster (bytes per second); ``queue``: changed
    keys of the queue's options. ``words`` say what is switched on, ``how`` are
    lines of configuration.
    """

    name: str
    solver: str = BASELINE
    job_rate: float | None = None
    queue: tuple[tuple[str, str], ...] = ()
    words: str = ""
    how: tuple[str, ...] = ()

    def policy(self) -> IoPolicy:
        """The I/O policy; raises UsageError for an unknown one, and for settings
        that are not its own.
        """
        name, settings = parse_solver(self.solver)
        for key in settings:
            if key in Settings.model_fields:
                raise UsageError(
                    f"{self.solver}: {key} is no setting of the policy {name}"
                )
        return io_policy(name, settings)


class Cell(NamedTuple):
    """Runs on one instance: an I/O fraction and a drawing; ``scale`` as of
    :func:`scale_of`, if known.
    """

    fraction: float
    draw: int
    options: tuple[Option, ...]
    scale: float | None = None


class Times(NamedTuple):
    """Seconds from submission to end, and from start to end, of each job."""

    response: Floats
    run: Floats


@dataclass(frozen=True)
class Question:
    """What is asked: the log, what is assumed of it, and how much is to be computed.

    ``io.fraction`` counts where ``fraction_given``. ``fit`` says whether the
    ``options`` of the queue stand for the log's own. ``draws`` is how many
    drawings of luck are run, ``resamples`` how often weeks and drawings are drawn
    again for the intervals.
    """

    trace: SwfTrace
    darshan: tuple[DarshanLog, ...] = ()
    skipped: tuple[str, ...] = ()
    machine: MachineRule = MachineRule()
    options: Json = field(default_factory=dict)
    io: IoRule = IoRule()
    requested_size: bool = False
    max_jobs: int | None = None
    fraction_given: bool = False
    fit: Fit | None = None
    solvers: tuple[str, ...] = ("fill", "adaptive", "cons-max-util+top")
    draws: int = 5
    resamples: int = 1000

    @property
    def yours(self) -> bool:
        """Whether the simulated queue reproduces the waits of the log."""
        return self.fit is not None and self.fit.status == "passed"

    @cached_property
    def measured(self) -> frozenset[int]:
        """Jobs with a Darshan log of their own."""
        own, _ = matched(self.darshan, self.trace.usable_jobs()[0], self.trace.epoch)
        return frozenset(log.job_id for log in own)

    @property
    def player(self) -> Fit | None:
        """The fit where the log's queue has rules that only it can play: it
        says when jobs start.
        """
        return (
            self.fit
            if self.fit is not None and self.yours and not self.fit.exact
            else None
        )

    def problem(self, fraction: float, draw: int = 0) -> BatchIoProblem:
        """The instance with this I/O fraction in this drawing."""
        io = replace(self.io, fraction=fraction, seed=self.io.seed + draw)
        problem = batch_io_from_swf(
            self.trace,
            machine=self.machine,
            io=io,
            darshan=self.darshan,
            skipped=self.skipped,
            requested_size=self.requested_size,
            max_jobs=self.max_jobs,
            options=self.options,
        )
        if not draw or self.player:
            return problem
        rng = np.random.default_rng((self.io.seed, draw))
        shifts = rng.uniform(-SHIFT_SECONDS, SHIFT_SECONDS, len(problem.jobs)).tolist()
        moved = [
            max(0.0, job.submit_seconds + by) for job, by in zip(problem.jobs, shifts)
        ]
        return _changed(problem, [{"submit_seconds": seconds} for seconds in moved])

    def scaled(self, problem: BatchIoProblem, scale: float) -> BatchIoProblem:
        """*problem* with the bytes of invented I/O times *scale*."""
        updates: list[Json] = [
            {}
            if job.id in self.measured
            else {
                "phases": tuple(
                    phase.model_copy(update={"io_bytes": phase.io_bytes * scale})
                    for phase in job.phases
                )
            }
            for job in problem.jobs
        ]
        return problem if scale == 1.0 else _changed(problem, updates)


def _changed(problem: BatchIoProblem, updates: Iterable[Json]) -> BatchIoProblem:
    """*problem* with other values of its jobs, which are not checked again."""
    jobs = tuple(job.model_copy(update=new) for job, new in zip(problem.jobs, updates))
    return problem.model_copy(update={"jobs": jobs})


def loads(problem: BatchIoProblem) -> Floats:
    """A row a job: submit seconds, nodes, bytes, seconds of I/O and of the whole
    run without congestion.
    """
    machine, rows = problem.machine, []
    for job in problem.jobs:
        nodes = machine.allocated_nodes(job.nodes)
        compute = sum(phase.compute_seconds * phase.repeat for phase in job.phases)
        volume = sum(phase.io_bytes * phase.repeat for phase in job.phases)
        seconds = volume / machine.peak(nodes, job.io_bytes_per_second)
        rows.append((job.submit_seconds, nodes, volume, seconds, compute + seconds))
    return np.array(rows, float)


def scale_of(question: Question, problem: BatchIoProblem) -> float:
    """By how much the bytes of invented I/O are to be scaled, so that run times are the
    log's under sharing.

    What a log says of run times, and a site of the share of I/O in them, was measured
    while jobs delayed each other. Unscaled, the log's congestion would be counted
    twice. To .01; 1 where nobody is delayed.
    """
    from scipy.optimize import brentq

    invented = [job.id not in question.measured for job in problem.jobs]
    rows = loads(problem)
    seconds, alone = float(rows[invented, 3].sum()), float(rows[:, 4].sum())

    @cache
    def over(scale: float) -> float:
        if not scale:
            return -seconds
        times = run_option(question, question.scaled(problem, scale), Option(BASELINE))
        return float(times.run.sum()) - alone

    if not seconds or over(1.0) <= SCALE_ERROR * seconds:
        return 1.0
    return float(brentq(over, 0.0, 1.0, xtol=SCALE_ERROR))


def run_option(question: Question, problem: BatchIoProblem, option: Option) -> Times:
    """The jobs of *problem*, in its order, under *option*."""
    trace, run = replay(question, problem, option)
    place, submit = np.argsort(trace.position), np.array(trace.submit)
    start, end = np.array(run.start), np.array(run.end)
    return Times((end - submit)[place], (end - start)[place])


def run_cell(
    question: Question, cell: Cell, done: Callable[[], None] = lambda: None
) -> tuple[float, list[Times]]:
    """The scale of a cell, and the times of its options; *done* is
    called after each of them.
    """
    problem = question.problem(cell.fraction, cell.draw)
    scale = scale_of(question, problem) if cell.scale is None else cell.scale
    problem = question.scaled(problem, scale)
    times = []
    for option in cell.options:
        times.append(run_option(question, problem, option))
        done()
    return scale, times


def replay(
    question: Question, problem: BatchIoProblem, option: Option, record: bool = False
) -> tuple[Trace, Run]:
    """The trace of *problem* and its run under *option*; *record* keeps the
    rates of its transfers.
    """
    if option.job_rate is not None:  # of a log no job has a rate of its own
        problem = _changed(
            problem, [{"io_bytes_per_second": option.job_rate}] * len(problem.jobs)
        )
    if option.queue:
        queue = problem.options.model_copy(update=dict(option.queue))
        problem = problem.model_copy(update={"options": queue})
    trace, policy = Trace.of(problem), option.policy()
    if question.player is None:
        return trace, run_trace(trace, policy, record_rates=record, trials=TRIALS)
    return trace, _started_by(question.player, question, trace, policy, record)


def _started_by(
    fit: Fit, question: Question, trace: Trace, policy: IoPolicy, record: bool
) -> Run:
    """Starts by the fit's queue for the run times of each round, and a
    run with these starts.
    """
    logged = {job.id: job for job in question.trace.usable_jobs()[0]}
    zero = min(logged[name].submit_seconds or 0.0 for name in trace.ids)
    lengths = {name: logged[name].run_seconds or 0.0 for name in fit.job_ids}
    lengths |= dict(zip(trace.ids, trace.ideal))
    for _ in range(ROUNDS):
        found = dict(
            zip(fit.job_ids, fit.starts([lengths[name] for name in fit.job_ids]))
        )
        starts = [
            max(submit, found.get(name, submit + zero) - zero)
            for name, submit in zip(trace.ids, trace.submit)
        ]
        fixed = starts, [-1] * len(trace)
        run = run_trace(trace, policy, record_rates=record, trials=TRIALS, starts=fixed)
        lengths |= {
            name: end - start for name, start, end in zip(trace.ids, run.start, run.end)
        }
    return run
