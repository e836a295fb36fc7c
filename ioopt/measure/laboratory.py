"""Run the perturbation laboratory (Lee et al., Section 4; feature F2, rules 4 and 5 of
docs/rules/flexgang.md).

The laboratory measures slopes: the change of run time per perturbation. The run time T
counts gang quanta only, not the extra quanta of the Add environments; it may be
fractional. The slopes of all applications are measured first. Characteristic plots take
the time that is left.
"""

import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ioopt.compiled import compiled
from ioopt.compiled.choice import use_machine_code
from ioopt.measure import Measurement, perturbation_kernel
from ioopt.options import Deadline
from ioopt.problems.base import Json, Record
from ioopt.problems.flexgang.message_counts import Quanta
from ioopt.problems.flexgang.perturbation import (
    PATTERNS,
    Application,
    ApplicationSlopes,
    Barrier,
    Blocking,
    Curve,
    Emp,
    Environment,
    Msg,
    PerturbationProblem,
    PerturbationSlopes,
    Program,
    Workpile,
    events_per_quantum,
)

SECONDS_PER_EVENT = 3e-6
"""Seconds that plain Python takes for each synchronisation."""


@dataclass(frozen=True)
class Slots:
    """Describe for each time slot which processors run, and whether it is a gang
    quantum.

    A slot that is not a gang quantum is an extra quantum of an Add environment.
    """

    runs: NDArray[np.bool_]
    gang: NDArray[np.bool_]

    def elapsed(self, wall: int, quantum: int) -> float:
        """Return the number of gang quanta, with a fraction, that have passed at the
        time *wall*.

        *wall* and *quantum*, the length of a slot, are in instructions.
        """
        slot, part = divmod(wall, quantum)
        whole = int(self.gang[:slot].sum()) + max(0, slot - len(self.gang))
        if slot >= len(self.gang) or self.gang[slot]:
            return whole + part / quantum
        return float(whole)


def batch_starts(
    problem: PerturbationProblem, rng: np.random.Generator, batches: int
) -> list[int]:
    """Draw the first quanta of *batches* batches, uniformly over all placements without
    overlap.
    """
    reserved = problem.reserved_quanta
    free = problem.window_quanta - batches * (reserved - 1)
    drawn = sorted(rng.choice(free, size=batches, replace=False).tolist())
    return [int(start) + k * (reserved - 1) for k, start in enumerate(drawn)]


def hits(
    problem: PerturbationProblem,
    environment: Environment,
    rng: np.random.Generator,
    count: int,
) -> list[tuple[int, int]]:
    """Draw *count* perturbations as pairs (gang quantum, processor), in order of
    time.
    """
    batches = -(-count // problem.batch)
    starts = batch_starts(problem, rng, batches)
    found = []
    for k in range(count):
        batch, place = divmod(k, problem.batch)
        turn = place % problem.processors
        if environment.endswith("FX"):
            processor = problem.fixed_processor
        else:
            processor = turn
        found.append((starts[batch] + place * problem.spacing_quanta, processor))
    return found


def slots_of(
    problem: PerturbationProblem,
    environment: Environment,
    perturbed: list[tuple[int, int]],
) -> Slots:
    """Return the time slots of one run, from the first quantum to the last perturbed
    one.

    *perturbed* lists the perturbations as (gang quantum, processor).
    """
    by_quantum = dict(perturbed)
    rows = []
    gang = []
    for quantum in range(max(by_quantum, default=-1) + 1):
        everyone = np.ones(problem.processors, np.bool_)
        hit = by_quantum.get(quantum)
        if hit is not None:
            only = np.zeros(problem.processors, np.bool_)
            only[hit] = True
            if environment.startswith("Add"):
                rows.append(only)
                gang.append(False)
            else:
                everyone = ~only
        rows.append(everyone)
        gang.append(True)
    table = np.array(rows, np.bool_).reshape(len(rows), problem.processors)
    return Slots(table, np.array(gang, np.bool_))


def run(
    problem: PerturbationProblem,
    app: Application,
    slots: Slots,
    rng: np.random.Generator,
    received: NDArray[np.int64] | None = None,
    fast: bool = False,
    progress: NDArray[np.int64] | None = None,
) -> float:
    """Return the run time T of *app* in the time slots *slots*, in gang quanta.

    *received*, if given, is filled with message counts. *rng* draws the messages of
    blocking applications and of programs; other applications are not random.
    *progress*, if given, is filled with the instructions that blocking applications and
    programs run.
    """
    none = np.zeros((0, problem.processors), np.int64)
    if received is None:
        received = none
    if progress is None:
        progress = none
    quantum = problem.quantum_instructions
    work = problem.work_quanta * problem.quantum_instructions

    def size(quanta: float) -> int:
        return max(1, round(quanta * quantum))

    arguments: tuple[Any, ...]
    if isinstance(app, Emp):  # These processes meet only at the end, without messages.
        name = "barrier"
        arguments = (work, work, received[:0])
    elif isinstance(app, Barrier):
        name = "barrier"
        arguments = (work, size(app.interval_quanta), received)
    elif isinstance(app, Workpile):
        scratch = np.zeros(problem.processors, np.int64)
        name = "workpile"
        arguments = (problem.processors * work, size(app.unit_quanta), scratch)
    elif isinstance(app, Msg):
        pattern = PATTERNS.index(app.pattern)
        rounds = app.requests_per_phase
        name = "msg"
        arguments = (work, size(app.phase_quanta), rounds, pattern, received)
    else:
        if isinstance(app, Program):
            sent = _messages(problem, app, rng)
            waits = app.blocking
            cost = app.buffer_instructions
        else:
            sent = _requests(problem, app, rng)
            waits = True
            cost = 0
        state = np.zeros((5, problem.processors), np.int64)
        name = "program"
        arguments = (*sent, waits, cost, state, received, progress)
    kernel = perturbation_kernel
    if fast:
        function = compiled(kernel.__name__, name)
    else:
        function = getattr(kernel, name)
    return slots.elapsed(int(function(slots.runs, quantum, *arguments)), quantum)


def _requests(
    problem: PerturbationProblem, app: Blocking, rng: np.random.Generator
) -> tuple[NDArray[np.int64], ...]:
    """Draw the requests of a blocking application, in the form of a program with one
    interval.

    The gaps between requests are exponentially distributed.
    """
    work = problem.work_quanta * problem.quantum_instructions
    mean = problem.quantum_instructions / app.requests_per_quantum
    count = int(1.2 * work / mean + 8 * (work / mean) ** 0.5) + 16
    gaps = np.maximum(1, np.rint(rng.exponential(mean, (problem.processors, count))))
    sends = gaps.cumsum(axis=1).astype(np.int64)
    sends[sends >= work] = work + 1
    sends[:, -1] = work + 1
    return np.full((1, problem.processors), work), sends, _targets(sends, rng)


def _targets(sends: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw for each message the process that receives it, which differs from the
    sender.
    """
    others = rng.integers(0, len(sends) - 1, sends.shape)
    return others + (others >= np.arange(len(sends))[:, None])


def _messages(
    problem: PerturbationProblem, app: Program, rng: np.random.Generator
) -> tuple[NDArray[np.int64], ...]:
    """Draw the messages that each process of a program sends.

    Return three arrays: the work done at the end of each interval, the work done at
    each message, and the target of each message.
    """
    processors = problem.processors
    quantum = problem.quantum_instructions
    length = app.interval_quanta
    whole = problem.work_quanta
    count = math.ceil(whole / length)
    loads = np.resize(app.loads or np.ones((1, processors)), (count, processors))
    lengths = np.minimum(length, whole - length * np.arange(count))[:, None]
    work = np.maximum(2, np.rint(loads * lengths * quantum)).astype(np.int64)
    ends = work.cumsum(axis=0)
    rate = app.messages_per_quantum
    if app.blocking:  # half of the messages are replies
        rate *= 0.5
    many = int(1.2 * rate * whole + 8 * (rate * whole) ** 0.5) + 16
    at = rng.exponential(1 / rate, (processors, many)).cumsum(axis=1)  # quanta of work
    k = np.minimum(at // length, count - 1).astype(np.int64)
    p = np.arange(processors)[:, None]
    part = app.active_share * (at - k * length) / lengths[k, 0] * work[k, p]
    sends = ends[k, p] - work[k, p] + np.clip(part, 1, work[k, p] - 1).astype(np.int64)
    sends[at >= whole] = ends[-1].max() + 1
    sends[:, -1] = ends[-1].max() + 1
    return ends, sends, _targets(sends, rng)


@dataclass(frozen=True)
class Recording:
    """Record what each processor did in each quantum, until a process ended.

    ``runs``, ``received`` (messages) and ``progress`` (instructions, only of programs
    and blocking applications) are indexed by quantum and processor.
    """

    runs: NDArray[np.bool_]
    received: NDArray[np.int64]
    progress: NDArray[np.int64]

    def pairs(self, quanta: Quanta) -> NDArray[np.int64]:
        """Return pairs (messages received, progress of all other processes) for one
        kind of quanta of Section 5.2.
        """
        others = self.progress.sum(axis=1, keepdims=True) - self.progress
        ganged = self.runs.all(axis=1, keepdims=True)
        sets = {
            "gang": self.runs & ganged,
            "running": self.runs & ~ganged,
            "nonrunning": ~self.runs,
        }
        return np.stack([self.received, others], axis=-1)[sets[quanta]]


def record(
    problem: PerturbationProblem,
    app: Application,
    environment: Environment,
    seed: int = 0,
    count: int | None = None,
) -> Recording:
    """Record one run of *app*, quantum by quantum.

    *count* is the number of perturbations; None stands for that of the *problem*. In a
    disturbed quantum of a Sub environment exactly one process is absent. In an extra
    quantum of an Add environment all processes but one are absent.
    """
    placing = np.random.default_rng([seed, 0])
    if count is None:
        count = problem.perturbations
    perturbed = hits(problem, environment, placing, count)
    slots = slots_of(problem, environment, perturbed)
    # A process needs at least as many slots as its work has quanta.
    left = problem.work_quanta - int(slots.runs.sum(axis=0).max())
    rest = np.ones((left, problem.processors), bool)
    slots = Slots(np.vstack([slots.runs, rest]), np.append(slots.gang, rest[:, 0]))
    received = np.zeros(slots.runs.shape, np.int64)
    progress = np.zeros(slots.runs.shape, np.int64)
    requests = np.random.default_rng([seed, 1])
    run(problem, app, slots, requests, received, use_compiled(problem), progress)
    return Recording(slots.runs, received, progress)


def use_compiled(
    problem: PerturbationProblem, deadline: Deadline | None = None
) -> bool:
    """Return whether the runs of all applications are long enough for machine code to
    pay off before *deadline*.
    """
    runs = problem.runs * len(problem.environments)
    events = sum(map(events_per_quantum, problem.applications)) * runs
    seconds = SECONDS_PER_EVENT * events * problem.work_quanta * problem.processors
    return use_machine_code("laboratory", deadline or Deadline(None), seconds)


class Laboratory:
    """Run the applications of *problem* with perturbations drawn from *seed*.

    If *fast*, use machine code, which gives the same numbers. With one seed, all
    applications have the same perturbations.
    """

    def __init__(
        self, problem: PerturbationProblem, seed: int = 0, fast: bool = False
    ) -> None:
        self.problem = problem
        self.seed = seed
        self.fast = fast
        self._alone: dict[tuple[str, int], float] = {}

    def times(
        self, app: Application, environment: Environment, count: int, k: int
    ) -> tuple[float, float]:
        """Return the run times of run number *k* with *count* perturbations and without
        any, in gang quanta.
        """
        problem = self.problem
        place = problem.environments.index(environment)
        placing = np.random.default_rng([self.seed, 0, place, k])
        perturbed = hits(problem, environment, placing, count)
        # The draws are the same in every environment.
        if (app.id, k) not in self._alone:
            undisturbed = slots_of(problem, environment, [])
            self._alone[app.id, k] = self._run(app, undisturbed, k)
        time = self._run(app, slots_of(problem, environment, perturbed), k)
        return time, self._alone[app.id, k]

    def _run(self, app: Application, slots: Slots, k: int) -> float:
        place = self.problem.applications.index(app)
        requests = np.random.default_rng([self.seed, 1, place, k])
        return run(self.problem, app, slots, requests, fast=self.fast)

    def slopes(
        self, app: Application, deadline: Deadline | None = None
    ) -> ApplicationSlopes:
        """Measure the slopes of one application, and gamma_sub and gamma_add, which
        follow from them (rule 5).

        Use the runs that end before *deadline*, at least one.
        """
        problem = self.problem
        count = problem.perturbations
        losses: dict[Environment, list[float]] = {
            environment: [] for environment in problem.environments
        }
        gang_times = []
        for k in range(problem.runs):
            if k and deadline is not None and deadline.expired():
                break
            for environment, found in losses.items():
                time, gang_time = self.times(app, environment, count, k)
                found.append((time - gang_time) / count)
            gang_times.append(gang_time)
        slopes = {name: fmean(found) for name, found in losses.items()}
        deviations = {name: _deviation(found) for name, found in losses.items()}
        gamma_sub = None
        if "Sub_RR" in slopes:
            share = 1 / problem.processors
            gamma_sub = (slopes["Sub_RR"] - share) / (1 - share)
        gamma_add = None
        if "Add_RR" in slopes:
            gamma_add = 1 + problem.processors * slopes["Add_RR"]
        return ApplicationSlopes(
            id=app.id,
            gang_quanta=fmean(gang_times),
            slopes=slopes,
            deviations=deviations,
            gamma_sub=gamma_sub,
            gamma_add=gamma_add,
        )

    def curves(
        self, app: Application, points: int, deadline: Deadline
    ) -> dict[Environment, Curve] | None:
        """Measure the change of run time at *points* different numbers of perturbations
        (Figure 5).

        The numbers rise evenly up to the number of perturbations of the problem. Return
        None if *deadline* passes.
        """
        most = self.problem.perturbations
        counts = sorted({round(most * (k + 1) / points) for k in range(points)} - {0})
        found: dict[Environment, Curve] = {}
        for environment in self.problem.environments:
            drawn = [(0, 0.0)]
            for count in counts:
                if deadline.expired():
                    return None
                runs = [
                    self.times(app, environment, count, k)
                    for k in range(self.problem.runs)
                ]
                drawn.append((count, fmean(t - t_gang for t, t_gang in runs)))
            found[environment] = tuple(drawn)
        return found


def _deviation(values: list[float]) -> float:
    """Return the standard deviation of *values*; 0 for a single value."""
    if len(values) > 1:
        return stdev(values)
    return 0.0


class Settings(Record):
    """Settings of the laboratory.

    ``points`` is the number of points of each characteristic plot besides the origin;
    with 0 only slopes are measured.
    """

    points: Annotated[int, Field(ge=0)] = 5


def measure(
    problem: PerturbationProblem,
    settings: Settings | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Measurement[PerturbationSlopes]:
    """Measure the slope of every application in every environment of the instance.

    Slopes are in quanta per perturbation. If *deadline* passes, slopes are means over
    fewer runs (at least one), and plots are left out.

    Examples
    --------
    >>> from ioopt.measure import laboratory
    >>> from ioopt.problems.flexgang.perturbation import Emp, PerturbationProblem
    >>> problem = PerturbationProblem(applications=(Emp(),), runs=2)
    >>> laboratory.measure(problem).found.applications[0].slopes["Sub_FX"]
    1.0
    """
    points = (settings or Settings()).points
    deadline = deadline or Deadline(None)
    runs = Laboratory(problem, seed, use_compiled(problem, deadline))
    found: list[ApplicationSlopes] = []
    notes: list[str] = []
    for app in problem.applications:
        found.append(runs.slopes(app, deadline))
        if deadline.expired() and not notes:
            rest = ", ".join(item.id for item in problem.applications[len(found) - 1 :])
            notes.append(
                f"the time limit reduced the {problem.runs} runs (to 1 at least): "
                f"{rest}"
            )
    drawn = 0
    if points:
        for at, app in enumerate(problem.applications):
            curves = runs.curves(app, points, deadline)
            if curves:
                found[at] = found[at].model_copy(update={"curves": curves})
                drawn += 1
    if points and drawn < len(found):
        notes.append(
            f"characteristic plots of {drawn} of {len(found)} applications: no time "
            "was left for the others; give more time, fewer runs or points=0"
        )
    slopes = PerturbationSlopes(
        processors=problem.processors, applications=tuple(found)
    )
    known = [item.gamma_sub for item in found if item.gamma_sub is not None]
    metrics: Json = {"mean_gamma_sub": None}
    if known:
        metrics["mean_gamma_sub"] = fmean(known)
    rows = tuple(
        {
            "application": item.id,
            **item.slopes,
            "gamma_sub": item.gamma_sub,
            "gamma_add": item.gamma_add,
        }
        for item in found
    )
    return Measurement(slopes, rows, metrics, tuple(notes))
