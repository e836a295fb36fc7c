"""Which ready jobs to start now, under resource limits: the question a workflow engine asks (ours).

The value of a selection is, lexicographically by weight, priority, then cores put to work, then
temporary files that can be deleted (all their remaining readers selected), then progress towards
deleting them: the value that Snakemake's integer program maximises. Jobs that differ in nothing
that counts are one class k. Variables: x_k jobs of class k that start; d_f file f can be deleted.

(1) sum over k of resource r of k times x_k <= capacity of r;  (2) sum of x_k over the readers of f
>= readers of f times d_f. Objective: sum of own_k x_k plus the weight of a deletion times its
gigabytes, in whole steps.

A greedy selection comes first, then a proven bound, and the integer program in the time left. No
instance objects: an engine asks with thousands of jobs.
"""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from ioopt.errors import BackendMissingError
from ioopt.models.program import Program, Term
from ioopt.options import Deadline
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import load_cp_model, solve_by_cpsat
from ioopt.solvers.backends.linprog_backend import solve_by_linprog

__all__ = ["ReadyJob", "Selection", "load_solver", "select"]

SCALE = 10**6
"""Steps of the value per unit in the integer program."""
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


class ReadyJob(NamedTuple):
    """A job that could start: priority, resources it would hold, temporary inputs, input bytes."""

    priority: int = 0
    cores: int = 1
    resources: tuple[int, ...] = ()
    temp: frozenset[str] = frozenset()
    input_bytes: int = 0


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
    until = Deadline(deadline)
    if readers is None:
        readers = Counter(name for job in jobs for name in job.temp)
    question = _Question(jobs, capacities, temp_bytes or {}, readers)
    classes = question.classes()
    bound, scores = _relaxed(question, classes, until)
    order = [classes[k] for k in sorted(range(len(classes)), key=lambda k: -scores[k])]
    greedy = [
        question.first_fit(sorted(classes, key=question.plain_rank)),
        question.first_fit(order),
    ]
    chosen = max(greedy, key=question.value)
    value = question.value(chosen)
    if value >= bound * (1 - GAP):
        return Selection(chosen, value, max(bound, value))
    part, notes = order[:MAX_MODEL_CLASSES], list[str]()
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


def load_solver() -> None:
    """Load the solver's library ahead of the first decision; a missing one is no error here."""
    import scipy.optimize  # noqa: F401

    with contextlib.suppress(BackendMissingError):
        load_cp_model()


class _Class(NamedTuple):
    """Jobs that are alike in all that counts, larger inputs first.

    ``own`` is what each adds to the value whatever else is chosen, ``shared`` the temporary files
    that others read as well.
    """

    own: float
    resources: tuple[int, ...]
    shared: frozenset[str]
    positions: tuple[int, ...]


class _Question:
    """Ready jobs under capacities, and what a selection of them is worth."""

    def __init__(
        self,
        jobs: Sequence[ReadyJob],
        capacities: Sequence[int],
        temp_bytes: Mapping[str, int],
        readers: Mapping[str, int],
    ) -> None:
        self.jobs, self.capacities, self.readers = jobs, capacities, readers
        self.giga = {name: size / 1e9 for name, size in temp_bytes.items()}
        total = max(sum(self.giga.values()), 1.0)
        cores = sum(max(job.cores, 1) for job in jobs)
        self.by_priority = 4.0 * max(cores, 1) * total
        self.by_core, self.by_deletion = 2 * total, total

    def value(self, chosen: Sequence[int]) -> float:
        """The value of a selection, from its definition."""
        counts: Counter[str] = Counter()
        value = 0.0
        for position in chosen:
            job = self.jobs[position]
            value += self.by_priority * job.priority + self.by_core * max(job.cores, 1)
            for name in job.temp:
                counts[name] += 1
                value += self.giga[name] / self.readers[name]
        deleted = sum(self.giga[name] for name, n in counts.items() if n >= self.readers[name])
        return value + self.by_deletion * deleted

    def classes(self) -> list[_Class]:
        """The jobs in classes, without those that no best selection needs.

        Of jobs that hold the same resources and read the same shared files, only the most worthy
        can matter, as many as fit together.
        """
        groups: dict[tuple[tuple[int, ...], frozenset[str]], list[tuple[float, int, int]]] = {}
        giga, readers = self.giga, self.readers
        by_priority, by_core = self.by_priority, self.by_core
        for position, job in enumerate(self.jobs):
            own = by_priority * job.priority + by_core * max(job.cores, 1)
            shared = job.temp
            if shared:
                alone = [name for name in shared if readers[name] <= 1]
                own += sum(giga[name] / readers[name] for name in shared)
                if alone:
                    own += self.by_deletion * sum(giga[name] for name in alone)
                    shared = shared.difference(alone)
            row = (-own, -job.input_bytes, position)
            groups.setdefault((job.resources, shared), []).append(row)
        found = []
        for (resources, shared), members in groups.items():
            room = [have // need for need, have in zip(resources, self.capacities) if need > 0]
            members.sort()
            best = members[: max(0, min(room, default=len(members)))]
            for worth, alike in groupby(best, key=itemgetter(0)):
                positions = tuple(position for _, _, position in alike)
                found.append(_Class(-worth, resources, shared, positions))
        return found

    def plain_rank(self, item: _Class) -> tuple[float, ...]:
        """Priority, cores, bytes of temporary files, input bytes, position: the plain greedy order."""
        job = self.jobs[item.positions[0]]
        temp = sum(self.giga[name] for name in job.temp)
        return (-job.priority, -max(job.cores, 1), -temp, -job.input_bytes, item.positions[0])

    def first_fit(self, order: Sequence[_Class]) -> tuple[int, ...]:
        """As many of each class in turn as still fit."""
        left = list(self.capacities)
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


def _relaxed(
    question: _Question, classes: Sequence[_Class], until: Deadline
) -> tuple[float, list[float]]:
    """A bound of any value, and the worth of each class for what it needs at the best prices.

    From the linear relaxation over the capacities alone, where a shared deletion counts by a job's
    part of the readers; without time for it, all that is worth something. Worths are in units of
    the largest, needs in capacities, so that tolerances fit.
    """
    by, giga, readers = question.by_deletion, question.giga, question.readers
    sizes = [len(item.positions) for item in classes]
    worths = [
        item.own + by * sum(giga[name] / readers[name] for name in item.shared) for item in classes
    ]
    unit = max(map(abs, worths), default=0.0) or 1.0
    program = Program("job_capacities", maximise=True)
    counts = [program.real(f"x{k}", 0, size) for k, size in enumerate(sizes)]
    program.objective = dict(zip(counts, (worth / unit for worth in worths)))
    for r, capacity in enumerate(question.capacities):
        total = sum(item.resources[r] * size for item, size in zip(classes, sizes))
        # a resource of which there is none is not needed by any class that is left
        if 0 < capacity < total:
            needs = [item.resources[r] / capacity for item in classes]
            program.add(f"capacity_{r}", list(zip(counts, needs)), most=1)
    if program.rows:
        answer = solve_by_linprog(program, RELAXED_SHARE * until.remaining())
        if answer.found and answer.bound is not None:
            prices = [1e-9] * len(worths)
            for row in program.rows:
                for at, need in row.terms:
                    prices[at] += answer.prices[row.name] * need
            return answer.bound * unit, [w / unit / p for w, p in zip(worths, prices)]
    return sum(max(worth, 0.0) * size for worth, size in zip(worths, sizes)), worths


def _modelled(
    question: _Question, classes: Sequence[_Class], start: Sequence[int], until: Deadline
) -> tuple[tuple[int, ...], float]:
    """The integer program on *classes*, begun from *start*; (selection, bound)."""
    step = SCALE / max(question.by_core, 1.0)
    program = Program("job_selection", maximise=True)
    counts = [program.whole(f"x{k}", 0, len(item.positions)) for k, item in enumerate(classes)]
    for r, capacity in enumerate(question.capacities):
        if sum(item.resources[r] * len(item.positions) for item in classes) > capacity:
            terms = [(at, item.resources[r]) for at, item in zip(counts, classes)]
            program.add(f"capacity_{r}", terms, most=capacity)
    users: dict[str, list[Term]] = {}
    for count, item in zip(counts, classes):
        program.objective[count] = round(step * item.own)
        for name in item.shared:
            users.setdefault(name, []).append((count, 1))
    for name, which in users.items():
        deleted = program.binary(f"deleted_{name}")
        program.add(f"last_{name}", [*which, (deleted, -question.readers[name])], least=0)
        program.objective[deleted] = round(step * question.by_deletion * question.giga[name])
    wanted = set(start)
    hint = {at: len(wanted.intersection(item.positions)) for at, item in zip(counts, classes)}
    limits = BackendLimits(seconds=MODEL_SHARE * until.remaining(), gap=GAP, seed=SEED)
    found = solve_by_cpsat(program, limits, hint)
    if not found.found:
        return tuple(start), float("inf")
    taken = [item.positions[: round(found.values[at])] for at, item in zip(counts, classes)]
    chosen = tuple(sorted(position for positions in taken for position in positions))
    if found.bound is None:
        return chosen, float("inf")
    # Rounding moves every term by at most half a step.
    moved = sum(len(item.positions) for item in classes) + len(users)
    return chosen, (found.bound + 0.5 * moved) / step
