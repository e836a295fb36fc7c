"""Job selection: a greedy selection first, then a proven bound and an integer program in the time left."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ioopt.errors import BackendMissingError
from ioopt.models.job_selection import CapacityModel, JobClass, Question, ReadyJob, SelectionModel
from ioopt.options import Deadline
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_backend import load_cp_model
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.backends.linprog_backend import solve_by_linprog

MAX_MODEL_CLASSES = 3000
"""Of more classes of equal jobs than this, the integer program gets the most promising ones."""
MODEL_SHARE = 0.6
"""Part of the time left that the solver may use; the rest is for the answer's way back."""
RELAXED_SHARE = 0.4
"""Part of the time that the linear relaxation may use."""
GAP = 1e-6
"""Relative loss at which a selection is as good as the best."""
SEED = 1
"""CP-SAT's own default."""


@dataclass(frozen=True)
class Selection:
    """Positions of the chosen jobs in ascending order, their value, a proven bound of any value."""

    chosen: tuple[int, ...]
    value: float
    bound: float
    notes: tuple[str, ...] = ()

    @property
    def loss(self) -> float:
        """At most this part of the best value is lost: (bound - value) / bound."""
        return max(0.0, self.bound - self.value) / self.bound if self.bound > 0 else 0.0


def select(
    jobs: Sequence[ReadyJob],
    capacities: Sequence[int],
    temp_bytes: Mapping[str, int] | None = None,
    readers: Mapping[str, int] | None = None,
    deadline: float = 2.0,
) -> Selection:
    """Choose among *jobs* so that their resources stay within *capacities*.

    ``temp_bytes`` gives the size of every temporary file and ``readers`` how many jobs that have
    not run yet read it (default: those among *jobs*). *deadline* in seconds counts everything.
    Without a solver, or past its time, the greedy selection is the answer and a note says so.
    """
    if readers is None:
        counted: dict[str, int] = {}
        for job in jobs:
            for name in job.temp:
                counted[name] = counted.get(name, 0) + 1
        readers = counted
    return answer(Question(jobs, capacities, temp_bytes or {}, readers), Deadline(deadline))


def answer(question: Question, until: Deadline) -> Selection:
    """The selection of :func:`select` for a question."""
    classes = question.classes()
    chosen = _first_fit(question, sorted(classes, key=_by_cores(question)))
    value = question.value(chosen)
    bound, scores = relaxed(question, classes, until)
    order = [classes[k] for k in sorted(range(len(classes)), key=lambda k: -scores[k])]
    other = _first_fit(question, order)
    if question.value(other) > value:
        chosen, value = other, question.value(other)
    if value >= bound * (1 - GAP):
        return Selection(chosen, value, max(bound, value))
    part = order[:MAX_MODEL_CLASSES]
    notes = (
        () if len(part) == len(order) else (f"the best {len(part)} of {len(order)} kinds of jobs",)
    )
    try:
        better, proven = _modelled(question, part, chosen, until)
    except Exception as error:
        note = f"greedy: the solver failed ({type(error).__name__}: {error})"
        return Selection(chosen, value, bound, (*notes, note))
    if not notes:
        bound = min(bound, proven)
    if question.value(better) > value:
        chosen, value = better, question.value(better)
    return Selection(chosen, value, max(bound, value), notes)


def load_solver() -> None:
    """Load the solver's library ahead of the first decision; a missing one is no error here."""
    import scipy.optimize  # noqa: F401

    with contextlib.suppress(BackendMissingError):
        load_cp_model()


def _by_cores(question: Question) -> Callable[[JobClass], tuple[float, ...]]:
    """Priority, cores, bytes of temporary files, input bytes, position: the plain greedy order."""

    def rank(item: JobClass) -> tuple[float, ...]:
        job = question.jobs[item.positions[0]]
        temp = sum(question.giga[name] for name in job.temp)
        return (-job.priority, -max(job.cores, 1), -temp, -job.input_bytes, item.positions[0])

    return rank


def _first_fit(question: Question, order: Sequence[JobClass]) -> tuple[int, ...]:
    """As many of each class in turn as still fit."""
    left = list(question.capacities)
    chosen: list[int] = []
    for item in order:
        if item.own < 0:
            continue
        count = len(item.positions)
        for need, have in zip(item.resources, left):
            if need * count > have:
                count = have // need
        if count > 0:
            chosen += item.positions[:count]
            left = [have - count * need for need, have in zip(item.resources, left)]
    return tuple(sorted(chosen))


def relaxed(
    question: Question, classes: Sequence[JobClass], until: Deadline
) -> tuple[float, list[float]]:
    """A bound of any value, and the worth of each class for what it needs at the best prices.

    From the linear relaxation; without time for it, all that is worth something.
    """
    model = CapacityModel(question, classes)
    if model.program.rows:
        answer = solve_by_linprog(model.program, RELAXED_SHARE * until.remaining())
        if answer.found and answer.bound is not None:
            return answer.bound * model.unit, model.scores(answer.prices)
    counts = (len(item.positions) for item in classes)
    return sum(max(worth, 0.0) * n for worth, n in zip(model.worths, counts)), model.worths


def _modelled(
    question: Question, classes: Sequence[JobClass], start: Sequence[int], until: Deadline
) -> tuple[tuple[int, ...], float]:
    """The integer program on *classes*, begun from *start*; (selection, bound)."""
    model = SelectionModel(question, classes)
    limits = BackendLimits(seconds=MODEL_SHARE * until.remaining(), gap=GAP, seed=SEED)
    found = solve_by_cpsat(model.program, limits, model.start(start))
    if not found.found:
        return tuple(start), float("inf")
    bound = float("inf") if found.bound is None else model.bound(found.bound)
    return model.chosen(found.values), bound
