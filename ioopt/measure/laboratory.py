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
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ioopt.compiled.library import maker
from ioopt.compiled.memory import Maker, array_of
from ioopt.measure import Measurement
from ioopt.measure import perturbation_kernel as kernel
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
)


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
    progress: NDArray[np.int64] | None = None,
    make: Maker | None = None,
) -> float:
    """Return the run time T of *app* in the time slots *slots*, in gang quanta.

    *received*, if given, is filled with message counts. *rng* draws the messages of
    blocking applications and of programs; other applications are not random.
    *progress*, if given, is filled with the instructions that blocking applications and
    programs run.
    """
    make = make or maker()
    quantum = problem.quantum_instructions
    table = table_of(make, slots.runs, quantum, received, progress)
    work = problem.work_quanta * problem.quantum_instructions

    def size(quanta: float) -> int:
        return max(1, round(quanta * quantum))

    if isinstance(app, Emp):  # These processes meet only at the end, without messages.
        table.noted_end = 0
        wall = make.function(kernel.barrier)(table, work, work)
    elif isinstance(app, Barrier):
        interval = size(app.interval_quanta)
        wall = make.function(kernel.barrier)(table, work, interval)
    elif isinstance(app, Workpile):
        pile = make.table(kernel.Pile, start=make.ints([0] * problem.processors))
        total = problem.processors * work
        unit = size(app.unit_quanta)
        wall = make.function(kernel.workpile)(table, pile, total, unit)
    elif isinstance(app, Msg):
        pattern = PATTERNS.index(app.pattern)
        rounds = app.requests_per_phase
        length = size(app.phase_quanta)
        wall = make.function(kernel.msg)(table, work, length, rounds, pattern)
    else:
        program = _program(problem, app, rng, make)
        wall = make.function(kernel.run_program)(table, program)
    for given, noted in ((received, table.received), (progress, table.progress)):
        if given is not None:
            given[...] = array_of(noted, given.size).reshape(given.shape)
    return slots.elapsed(wall, quantum)


def table_of(
    make: Maker,
    runs: NDArray[np.bool_],
    quantum: int,
    received: NDArray[np.int64] | None = None,
    progress: NDArray[np.int64] | None = None,
) -> kernel.Table:
    """Return the kernel's table of the slots *runs*, each of *quantum* instructions.

    It has room for as many slots of messages and of instructions as *received* and
    *progress* have rows.
    """
    num_slots, processors = runs.shape
    none = np.zeros((0, processors), np.int64)
    if received is None:
        received = none
    if progress is None:
        progress = none
    return make.table(
        kernel.Table,
        processors=processors,
        num_slots=num_slots,
        quantum=quantum,
        end=num_slots * quantum,
        noted_end=len(received) * quantum,
        counted_slots=len(progress),
        runs=make.flags(runs),
        received=make.ints(received),
        progress=make.ints(progress),
    )


def program_of(
    make: Maker,
    ends: NDArray[np.int64],
    sends: NDArray[np.int64],
    targets: NDArray[np.int64],
    blocking: bool,
    cost: int,
) -> kernel.Program:
    """Return a program for the kernel; rows of *ends* are intervals, rows of *sends*
    and *targets* are processes.
    """
    return make.table(
        kernel.Program,
        num_intervals=len(ends),
        width=sends.shape[1],
        blocking=blocking,
        cost=cost,
        ends=make.ints(ends),
        sends=make.ints(sends),
        targets=make.ints(targets),
        processes=make.records(kernel.Process, len(sends)),
    )


def _program(
    problem: PerturbationProblem,
    app: Blocking | Program,
    rng: np.random.Generator,
    make: Maker,
) -> kernel.Program:
    """Draw the messages of *app*, and return it as a program of the kernel."""
    if isinstance(app, Program):
        drawn = _messages(problem, app, rng)
        return program_of(make, *drawn, app.blocking, app.buffer_instructions)
    return program_of(make, *_requests(problem, app, rng), True, 0)


def _requests(
    problem: PerturbationProblem, app: Blocking, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
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
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
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
    run(problem, app, slots, requests, received, progress)
    return Recording(slots.runs, received, progress)


class Laboratory:
    """Run the applications of *problem* with perturbations drawn from *seed*.

    With one seed, all applications have the same perturbations. *make* makes the data
    of the kernel; None stands for compiled ones if there are any.
    """

    def __init__(
        self, problem: PerturbationProblem, seed: int = 0, make: Maker | None = None
    ) -> None:
        self.problem = problem
        self.seed = seed
        self.make = make
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
        return run(self.problem, app, slots, requests, make=self.make)

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
    runs = Laboratory(problem, seed)
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
    if points:
        drawn = 0
        for at, app in enumerate(problem.applications):
            curves = runs.curves(app, points, deadline)
            if curves:
                found[at] = found[at].model_copy(update={"curves": curves})
                drawn += 1
        if drawn < len(found):
            notes.append(
                f"characteristic plots of {drawn} of {len(found)} applications: no "
                "time was left for the others; give more time, fewer runs or points=0"
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
