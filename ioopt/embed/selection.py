"""Which ready jobs to start now, under resource limits: the question a workflow engine asks.

The value of a selection is, lexicographically by weight, priority, then cores put to work, then
temporary files that can be deleted (all their remaining readers selected), then progress towards
deleting them: the value that Snakemake's integer program maximises. Here equal jobs are one integer
variable, a greedy selection is there first, and the deadline holds whatever the size; the loss
against a proven bound is stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ioopt.options import Deadline

MAX_MODEL_CLASSES = 4000
"""More classes of equal jobs than this, and the greedy selection is not improved by a model."""
MODEL_SHARE = 0.6
"""Part of the time left that the solver may use; the rest is for the answer's way back."""
SCALE = 10**6
"""Steps of the value per unit in the integer program."""


@dataclass(frozen=True)
class ReadyJob:
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
class _Weights:
    priority: float
    core: float
    deleted: float


class _Question:
    """Jobs in classes of equals, with the weights of the value."""

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
        self.weights = _Weights(4.0 * max(cores, 1) * total, 2.0 * total, total)
        classes: dict[ReadyJob, list[int]] = {}
        for position, job in enumerate(jobs):
            classes.setdefault(job, []).append(position)
        # at most so many of a class can ever run together
        self.classes = list(classes.items())

    def gain(self, job: ReadyJob) -> float:
        """What one job adds, deletions aside."""
        weights = self.weights
        progress = sum(self.giga[name] / self.readers[name] for name in job.temp)
        return weights.priority * job.priority + weights.core * max(job.cores, 1) + progress

    def most(self, job: ReadyJob) -> float:
        """The most that one job can add: deletions count in proportion to its share of the readers."""
        share = sum(self.giga[name] / self.readers[name] for name in job.temp)
        return self.gain(job) + self.weights.deleted * share

    def value(self, chosen: Sequence[int]) -> float:
        """The value of a selection."""
        counts: dict[str, int] = {}
        for position in chosen:
            for name in self.jobs[position].temp:
                counts[name] = counts.get(name, 0) + 1
        deleted = sum(self.giga[name] for name, n in counts.items() if n >= self.readers[name])
        return sum(self.gain(self.jobs[position]) for position in chosen) + (
            self.weights.deleted * deleted
        )

    def fits(self, job: ReadyJob, left: Sequence[int]) -> bool:
        """Whether the resources left suffice for one more."""
        return all(need <= have for need, have in zip(job.resources, left))


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
        readers = {}
        for job in jobs:
            readers |= {name: readers.get(name, 0) + 1 for name in job.temp}
    question = _Question(jobs, capacities, temp_bytes or {}, readers)
    greedy = _greedy(question)
    value, bound = question.value(greedy), _relaxed(question)
    if value >= bound * (1 - 1e-12):
        return Selection(greedy, value, bound)
    if len(question.classes) > MAX_MODEL_CLASSES:
        note = f"greedy: {len(question.classes)} different jobs are more than {MAX_MODEL_CLASSES}"
        return Selection(greedy, value, bound, (note,))
    try:
        better, proven = _modelled(question, greedy, until)
    except Exception as error:
        note = f"greedy: the solver failed ({type(error).__name__}: {error})"
        return Selection(greedy, value, bound, (note,))
    bound = min(bound, proven)
    if question.value(better) > value:
        return Selection(better, question.value(better), max(bound, question.value(better)))
    return Selection(greedy, value, max(bound, value))


def _greedy(question: _Question) -> tuple[int, ...]:
    """First fit by priority, cores, bytes of temporary files, input bytes, position."""
    left = list(question.capacities)
    chosen: list[int] = []

    def rank(entry: tuple[ReadyJob, list[int]]) -> tuple[float, float, float, float, int]:
        job, positions = entry
        temp = sum(question.giga[name] for name in job.temp)
        return -job.priority, -max(job.cores, 1), -temp, -job.input_bytes, positions[0]

    for job, positions in sorted(question.classes, key=rank):
        if question.gain(job) < 0:
            continue
        limits = [have // need for need, have in zip(job.resources, left) if need > 0]
        count = min([len(positions), *limits])
        if count > 0:
            chosen += positions[:count]
            left = [have - count * need for need, have in zip(job.resources, left)]
    return tuple(sorted(chosen))


def _relaxed(question: _Question) -> float:
    """Least over the resources of the fractional knapsack with the most every job can add."""
    best = float("inf")
    items = [(question.most(job), job.resources, len(positions))
             for job, positions in question.classes]  # fmt: skip
    if not question.capacities:
        return sum(count * max(worth, 0.0) for worth, _, count in items)
    for k, capacity in enumerate(question.capacities):
        total, left = 0.0, float(capacity)
        ranked = sorted(
            ((worth, needs[k], count) for worth, needs, count in items if worth > 0),
            key=lambda item: item[0] / item[1] if item[1] else float("inf"),
            reverse=True,
        )
        for worth, need, count in ranked:
            taken = float(count) if need == 0 else min(float(count), left / need)
            total += taken * worth
            left -= taken * need
            if left <= 0 and need:
                break
        best = min(best, total)
    return best


def _modelled(
    question: _Question, start: Sequence[int], until: Deadline
) -> tuple[tuple[int, ...], float]:
    """The integer program on classes of equal jobs, begun from *start*; (selection, bound)."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    counts = [model.new_int_var(0, len(positions), f"x{k}")
              for k, (_, positions) in enumerate(question.classes)]  # fmt: skip
    for r, capacity in enumerate(question.capacities):
        model.add(sum(job.resources[r] * counts[k]
                      for k, (job, _) in enumerate(question.classes)) <= capacity)  # fmt: skip
    deleted = {}
    for name, readers in question.readers.items():
        users = [counts[k] for k, (job, _) in enumerate(question.classes) if name in job.temp]
        if users and name in question.giga:
            deleted[name] = model.new_bool_var(f"deleted_{name}")
            model.add(sum(users) >= readers * deleted[name])
    step = SCALE / max(question.weights.core, 1.0)
    terms = [round(step * question.gain(job)) * counts[k]
             for k, (job, _) in enumerate(question.classes)]  # fmt: skip
    terms += [round(step * question.weights.deleted * question.giga[name]) * variable
              for name, variable in deleted.items()]  # fmt: skip
    model.maximize(sum(terms))
    chosen = set(start)
    for k, (_, positions) in enumerate(question.classes):
        model.add_hint(counts[k], sum(position in chosen for position in positions))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = MODEL_SHARE * until.remaining()
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return tuple(start), float("inf")
    better = [
        position
        for k, (_, positions) in enumerate(question.classes)
        for position in positions[: solver.value(counts[k])]
    ]
    # rounding moves every term by at most half a step
    slack = 0.5 * (len(question.jobs) + len(deleted)) / step
    return tuple(sorted(better)), solver.best_objective_bound / step + slack
