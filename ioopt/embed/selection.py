"""Which ready jobs to start now, under resource limits: the question a workflow engine
asks.

A greedy selection comes first, then a proven bound, and the integer program of
:mod:`ioopt.models.job_selection` in the time left. No instance objects: an engine asks
with thousands of jobs.
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
"""Of more classes of equal jobs than this, the integer program gets the most promising
ones.
"""
MODEL_SHARE = 0.6
"""Part of the time left that the solver may use; the rest is for the answer's way back.
"""
RELAXED_SHARE = 0.4
"""Part of the time that the linear relaxation may use."""
GAP = 1e-6
"""Relative loss at which a selection is as good as the best."""
SEED = 1
"""CP-SAT's own default."""


@dataclass(frozen=True)
class Selection:
    """Positions of the chosen jobs in ascending order, their value, a proven bound of
    any value.
    """

    chosen: tuple[int, ...]
    value: float
    bound: float
    notes: tuple[str, ...] = ()

    @property
    def loss(self) -> float:
        """At most this part of the best value is lost: (bound - value) / bound."""
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
    """Choose among *jobs* so that their resources stay within *capacities*.

    ``temp_bytes`` gives the size of every temporary file and ``readers`` how many jobs
    that have not run yet read it (default: those among *jobs*). *deadline* in seconds
    counts everything. Without a solver, or past its time, the greedy selection is the
    answer and a note says so. Where a priority is negative, the least of *jobs* counts
    as 0 and the others as much above it. Raises UsageError for numbers that cannot be,
    such as NaN or half a core.
    """
    until = Deadline(arguments.deadline(deadline))
    _check(jobs, capacities)
    if readers is None:
        readers = Counter(name for job in jobs for name in job.temp)
    sizes = temp_bytes or {}
    for name in {name for job in jobs for name in job.temp}:
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
        notes.append(f"the best {len(part)} of {len(order)} kinds of jobs")
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
    """Raise UsageError for the first job, or capacity, whose numbers cannot be."""
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
    """Load the solver's library ahead of the first decision; a missing one is no error
    here.
    """
    import scipy.optimize  # noqa: F401

    with contextlib.suppress(BackendMissingError):
        load_cp_model()


def _relaxed(
    question: Question, classes: Sequence[JobClass], until: Deadline
) -> tuple[float, list[float]]:
    """A bound of any value, and the worth of each class at the best prices, by the
    linear relaxation.
    """
    model = CapacityModel(question, classes)
    if model.program.rows:
        with contextlib.suppress(
            Exception
        ):  # a decision goes on where the library fails
            answer = solve_by_linprog(model.program, RELAXED_SHARE * until.remaining())
            if answer.found and answer.bound is not None:
                return answer.bound * model.unit, model.scores(answer.prices)
    counts = (len(item.positions) for item in classes)
    return sum(
        max(worth, 0.0) * n for worth, n in zip(model.worths, counts)
    ), model.worths


def _modelled(
    question: Question,
    classes: Sequence[JobClass],
    start: Sequence[int],
    until: Deadline,
) -> tuple[tuple[int, ...], float]:
    """The integer program on *classes*, begun from *start*; (selection, bound)."""
    model = SelectionModel(question, classes)
    limits = BackendLimits(seconds=MODEL_SHARE * until.remaining(), gap=GAP, seed=SEED)
    found = solve_by_cpsat(model.program, limits, model.start(start))
    if not found.found:
        return tuple(start), float("inf")
    if found.bound is None:
        bound = float("inf")
    else:
        bound = model.bound(found.bound)
    return model.chosen(found.values), bound
