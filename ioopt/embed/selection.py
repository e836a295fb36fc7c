"""Select the ready jobs that a workflow engine starts now, under resource limits.

A greedy selection is made first, and then an upper bound of the value of any selection.
In the time left, the integer program of :mod:`ioopt.models.job_selection` is solved.
Jobs are plain tuples, not instance objects, because an engine asks about thousands of
them.
"""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ioopt import arguments
from ioopt.errors import BackendMissingError, UsageError
from ioopt.models.job_selection import (
    CapacityModel,
    JobClass,
    Question,
    ReadyJob,
    SelectionModel,
)
from ioopt.options import Deadline, shown
from ioopt.problems.base import LARGEST
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import load_cp_model, solve_by_cpsat
from ioopt.solvers.backends.linprog_backend import solve_by_linprog

__all__ = ["ReadyJob", "Selection", "load_solver", "select"]

MAX_MODEL_CLASSES = 3000
"""The largest number of classes (sets of equal jobs) in the integer program. If there
are more, the program has the most valuable classes only.
"""
MODEL_SHARE = 0.6
"""The share of the time left that the solver may use; the remainder is for decoding its
answer.
"""
RELAXED_SHARE = 0.4
"""The share of the time left that may be used for the linear relaxation."""
GAP = 1e-6
"""The largest relative loss of value at which a selection counts as optimal."""
SEED = 1
"""The seed for CP-SAT; 1 is also the default of CP-SAT itself."""


@dataclass(frozen=True)
class Selection:
    """The selected jobs as ascending positions, their total value, and an upper bound
    of the value of any selection.
    """

    chosen: tuple[int, ...]
    value: float
    bound: float
    notes: tuple[str, ...] = ()

    @property
    def loss(self) -> float:
        """Return an upper bound of the relative loss against the best selection: (bound
        - value) / bound.
        """
        if self.bound > 0:
            return max(0.0, self.bound - self.value) / self.bound
        return 0.0


def select(
    jobs: Sequence[ReadyJob],
    capacities: Sequence[int],
    temp_bytes: Mapping[str, int] | None = None,
    readers: Mapping[str, int] | None = None,
    deadline: float = 2.0,
) -> Selection:
    """Select *jobs* of the greatest total value whose resources stay within
    *capacities*.

    ``temp_bytes`` gives the bytes of every temporary file. ``readers`` gives, for each
    temporary file, the number of jobs that read it and have not run yet (default: those
    among *jobs*). *deadline*, in seconds, is for the whole call. If there is no solver,
    or it finds nothing in time, the greedy selection is returned with a note. If a
    priority is negative, the smallest priority among *jobs* is subtracted from every
    priority. Raises UsageError for invalid numbers, such as NaN or half a core.
    """
    until = Deadline(arguments.deadline(deadline))
    _check(jobs, capacities)
    read = Counter[str]()
    for job in jobs:
        read.update(job.temp)
    if readers is None:
        readers = read
    sizes = temp_bytes or {}
    for name in set(read):
        arguments.number(sizes.get(name), f"bytes of temporary file {name!r}")
        arguments.whole(
            readers.get(name), f"readers of temporary file {name!r}", 1, LARGEST
        )
    question = Question(jobs, capacities, sizes, readers)
    classes = question.classes()
    chosen = question.first_fit(sorted(classes, key=question.plain_rank))
    bound, scores = _relaxed(question, classes, until)
    order = [classes[k] for k in sorted(range(len(classes)), key=lambda k: -scores[k])]
    chosen = max(chosen, question.first_fit(order), key=question.value)
    value = question.value(chosen)
    if value >= bound * (1 - GAP):
        return Selection(chosen, value, max(bound, value))
    part = order[:MAX_MODEL_CLASSES]
    notes = list[str]()
    if len(part) < len(order):
        notes.append(f"solved for the best {len(part)} of {len(order)} kinds of jobs")
    try:
        other, proven = _modelled(question, part, chosen, until)
    except Exception as error:
        notes.append(f"greedy: the solver failed ({type(error).__name__}: {error})")
        return Selection(chosen, value, bound, tuple(notes))
    if not notes:
        bound = min(bound, proven)
    chosen = max(chosen, other, key=question.value)
    value = question.value(chosen)
    return Selection(chosen, value, max(bound, value), tuple(notes))


def _check(jobs: Sequence[ReadyJob], capacities: Sequence[int]) -> None:
    """Raise UsageError for the first capacity or job that has invalid numbers."""
    for capacity in capacities:
        arguments.whole(capacity, "capacity", -LARGEST, LARGEST)
    for position, job in enumerate(jobs):
        what = f"job {position}"
        if not arguments.is_real(job.priority) or abs(job.priority) > LARGEST:
            raise UsageError(
                f"{what}: priority: wanted a number, not {shown(job.priority)}"
            )
        if len(job.resources) != len(capacities):
            raise UsageError(
                f"{what}: {len(job.resources)} resources, but there are "
                f"{len(capacities)} capacities"
            )
        for need in (job.cores, job.input_bytes, *job.resources):
            if type(need) is not int or need < 0:
                arguments.whole(need, f"{what}: resources", 0, LARGEST)


def load_solver() -> None:
    """Import the solvers' libraries, so that the first decision is not delayed. CP-SAT
    may be missing.
    """
    import scipy.optimize  # noqa: F401

    with contextlib.suppress(BackendMissingError):
        load_cp_model()


def _relaxed(
    question: Question, classes: Sequence[JobClass], until: Deadline
) -> tuple[float, list[float]]:
    """Solve the linear relaxation; return an upper bound of the value of any selection,
    and a score for each class.

    A higher score means that jobs of the class are taken first. If the relaxation has
    no answer, the bound is the sum of the values of all jobs.
    """
    model = CapacityModel(question, classes)
    if model.program.rows:
        with contextlib.suppress(
            Exception
        ):  # a failing library must not stop the decision
            answer = solve_by_linprog(model.program, RELAXED_SHARE * until.remaining())
            if answer.found and answer.bound is not None:
                return answer.bound * model.unit, model.scores(answer.prices)
    bound = sum(
        max(worth, 0.0) * len(item.positions)
        for worth, item in zip(model.worths, classes)
    )
    return bound, model.worths


def _modelled(
    question: Question,
    classes: Sequence[JobClass],
    start: Sequence[int],
    until: Deadline,
) -> tuple[tuple[int, ...], float]:
    """Solve the integer program on *classes*, beginning with the selection *start*.

    Returns the selection that was found, and an upper bound of the value.
    """
    model = SelectionModel(question, classes)
    limits = BackendLimits(seconds=MODEL_SHARE * until.remaining(), gap=GAP, seed=SEED)
    found = solve_by_cpsat(model.program, limits, model.start(start))
    if not found.found:
        return tuple(start), float("inf")
    bound = float("inf")
    if found.bound is not None:
        bound = model.bound(found.bound)
    return model.chosen(found.values), bound
