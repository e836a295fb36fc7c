"""Which ready jobs to start now, under resource limits: the question a workflow engine asks.

The value of a selection is, lexicographically by weight, priority, then cores put to work, then
temporary files that can be deleted (all their remaining readers selected), then progress towards
deleting them: the value that Snakemake's integer program maximises. Here a greedy selection is there first,
jobs that differ in nothing that counts are one integer variable, of jobs that need the same only as
many are looked at as can run together, and the deadline holds whatever the size; the loss against a
proven bound (the Lagrangean dual, or the solver's) is stated.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ioopt.options import Deadline

MAX_MODEL_CLASSES = 3000
"""Of more classes of equal jobs than this, the integer program gets the most promising ones."""
MODEL_SHARE = 0.6
"""Part of the time left that the solver may use; the rest is for the answer's way back."""
SCALE = 10**6
"""Steps of the value per unit in the integer program."""
DUAL_STEPS = 100
"""Steps on the dual; a few dozen suffice for as many resources as jobs have."""
GAP = 1e-6
"""Relative loss at which a selection is as good as the best."""


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


@dataclass(frozen=True)
class JobClass:
    """Jobs that are alike in all that counts, larger inputs first.

    ``own`` is what each adds to the value whatever else is chosen, ``shared`` the temporary files
    that others read as well.
    """

    own: float
    resources: tuple[int, ...]
    shared: frozenset[str]
    positions: tuple[int, ...]


class Question:
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
        self.by_priority, self.by_core, self.by_deletion = (
            4.0 * max(cores, 1) * total,
            2 * total,
            total,
        )

    def value(self, chosen: Sequence[int]) -> float:
        """The value of a selection, from its definition."""
        counts: dict[str, int] = {}
        value = 0.0
        for position in chosen:
            job = self.jobs[position]
            value += self.by_priority * job.priority + self.by_core * max(job.cores, 1)
            for name in job.temp:
                counts[name] = counts.get(name, 0) + 1
                value += self.giga[name] / self.readers[name]
        deleted = sum(self.giga[name] for name, n in counts.items() if n >= self.readers[name])
        return value + self.by_deletion * deleted

    def classes(self) -> list[JobClass]:
        """The jobs in classes, without those that no best selection needs.

        Of jobs that hold the same resources and read the same shared files, only the most worthy
        can matter, as many as fit together.
        """
        groups: dict[Any, list[tuple[float, int, int]]] = {}
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
            groups.setdefault((job.resources, shared), []).append(
                (-own, -job.input_bytes, position)
            )
        found = []
        for (resources, shared), members in groups.items():
            room = [have // need for need, have in zip(resources, self.capacities) if need > 0]
            most = min(room, default=len(members))
            if most <= 0:
                continue
            members.sort()
            for worth, alike in groupby(members[:most], key=itemgetter(0)):
                positions = tuple(position for _, _, position in alike)
                found.append(JobClass(-worth, resources, shared, positions))
        return found

    def most(self, item: JobClass) -> float:
        """The most that one of a class can add: a shared deletion counts by its part of the readers."""
        share = sum(self.giga[name] / self.readers[name] for name in item.shared)
        return item.own + self.by_deletion * share


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
        counted: dict[str, int] = {}
        for job in jobs:
            for name in job.temp:
                counted[name] = counted.get(name, 0) + 1
        readers = counted
    question = Question(jobs, capacities, temp_bytes or {}, readers)
    classes = question.classes()
    chosen = _first_fit(question, sorted(classes, key=_by_cores(question)))
    value = question.value(chosen)
    bound, scores = dual(question, classes, value, until)
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
    with contextlib.suppress(ImportError):
        importlib.import_module("ortools.sat.python.cp_model")


def value_of(
    jobs: Sequence[ReadyJob],
    chosen: Sequence[int],
    temp_bytes: Mapping[str, int],
    readers: Mapping[str, int],
) -> float:
    """The value of any selection of *jobs* (positions), for comparing schedulers."""
    return Question(jobs, (), temp_bytes, readers).value(chosen)


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


def dual(
    question: Question, classes: Sequence[JobClass], least: float, until: Deadline
) -> tuple[float, list[float]]:
    """A bound of any value, and the worth of each class for what it needs at the dual's prices.

    Subgradient steps on the Lagrangean dual of the capacities (Polyak's length, from the value
    *least* of a selection), begun from the best price of a single resource. Shared deletions are
    relaxed as in :meth:`Question.most`.
    """
    import numpy as np

    if not classes:
        return 0.0, []
    worth = np.array([question.most(item) for item in classes])
    count = np.array([float(len(item.positions)) for item in classes])
    limits = np.array(question.capacities, dtype=float)
    needs = np.array([item.resources for item in classes], dtype=float).reshape(len(classes), -1)
    tight = (count @ needs > limits) & (limits > 0)
    # a resource of which there is none is not needed by any class that is left
    needs, limits = needs[:, tight] / limits[tight], limits[tight]
    size = len(limits)
    if size == 0:
        return float(count @ np.maximum(worth, 0.0)), [1.0] * len(classes)

    def at(prices: Any) -> tuple[float, Any]:
        reduced = worth - needs @ prices
        taken = np.where(reduced > 0, count, 0.0)
        return float(prices.sum() + taken @ reduced), 1.0 - taken @ needs

    starts = [_single_price(worth, count, needs[:, k]) * np.eye(size)[k] for k in range(size)]
    best, prices = min(((at(start)[0], start) for start in starts), key=itemgetter(0))
    here, pace = prices, 1.0
    for _ in range(DUAL_STEPS):
        if until.elapsed() > 0.4 * (until.elapsed() + until.remaining()):
            break
        bound, slope = at(here)
        if bound < best:
            best, prices = bound, here
        else:
            pace *= 0.9
        square = float(slope @ slope)
        if square < 1e-18 or best <= least * (1 + GAP):
            break
        here = np.maximum(0.0, here - pace * (bound - least) / square * slope)
    cost = needs @ prices
    scores = worth / np.maximum(cost, 1e-12 * max(best, 1.0))
    return best, [float(score) for score in scores]


def _single_price(worth: Any, count: Any, need: Any) -> float:
    """The price at which one resource alone would be used up: the break item of its knapsack."""
    import numpy as np

    wanted = np.flatnonzero((need > 0) & (worth > 0))
    if len(wanted) == 0:
        return 0.0
    ratio = worth[wanted] / need[wanted]
    order = np.argsort(-ratio, kind="stable")
    used = np.cumsum(need[wanted][order] * count[wanted][order])
    place = int(np.searchsorted(used, 1.0))
    return float(ratio[order[place]]) if place < len(order) else 0.0


def _modelled(
    question: Question, classes: Sequence[JobClass], start: Sequence[int], until: Deadline
) -> tuple[tuple[int, ...], float]:
    """The integer program on *classes*, begun from *start*; (selection, bound)."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    counts = [model.new_int_var(0, len(item.positions), f"x{k}")
              for k, item in enumerate(classes)]  # fmt: skip
    for r, capacity in enumerate(question.capacities):
        needs = [item.resources[r] for item in classes]
        if sum(need * len(item.positions) for need, item in zip(needs, classes)) > capacity:
            model.add(cp_model.LinearExpr.weighted_sum(counts, needs) <= capacity)
    users: dict[str, list[int]] = {}
    for k, item in enumerate(classes):
        for name in item.shared:
            users.setdefault(name, []).append(k)
    step = SCALE / max(question.by_core, 1.0)
    variables = list(counts)
    weights = [round(step * item.own) for item in classes]
    for name, which in users.items():
        deleted = model.new_bool_var(f"deleted_{name}")
        model.add(sum(counts[k] for k in which) >= question.readers[name] * deleted)
        variables.append(deleted)
        weights.append(round(step * question.by_deletion * question.giga[name]))
    model.maximize(cp_model.LinearExpr.weighted_sum(variables, weights))
    chosen = set(start)
    for k, item in enumerate(classes):
        model.add_hint(counts[k], sum(position in chosen for position in item.positions))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.relative_gap_limit = GAP
    solver.parameters.max_time_in_seconds = MODEL_SHARE * until.remaining()
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return tuple(start), float("inf")
    better = [
        position
        for k, item in enumerate(classes)
        for position in item.positions[: solver.value(counts[k])]
    ]
    # rounding moves every term by at most half a step
    slack = 0.5 * (sum(len(item.positions) for item in classes) + len(users)) / step
    return tuple(sorted(better)), solver.best_objective_bound / step + slack
