"""Select the ready jobs to start now under resource limits (ours).

An integer program over classes of jobs. The value of a selection is a lexicographic sum
of: priorities (raised so that none is negative); cores in use; bytes of temporary files
that can be deleted because all their remaining readers are selected; progress towards
deleting others. Snakemake's integer program maximises the same value. Jobs with equal
terms form one class k. Variables: x_k jobs of class k that start; d_f 0/1, file f can
be deleted.

(1) sum over k of (resource r of k) x_k <= capacity of r
(2) sum of x_k over the readers of f >= (number of readers of f) d_f

Objective: the sum of own_k x_k, and the gigabytes of each deletion times its weight, in
whole steps.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from ioopt.models.program import Number, Program, Term

SCALE = 10**6
"""Steps of the value per unit in the integer program."""


class ReadyJob(NamedTuple):
    """Describe a job that could start: priority, resources, temporary files, input."""

    priority: int = 0
    cores: int = 1
    resources: tuple[int, ...] = ()
    temp: frozenset[str] = frozenset()
    input_bytes: int = 0


class JobClass(NamedTuple):
    """Group jobs with equal terms of the value, larger inputs first.

    ``own`` is what each job of the class adds to the value independently of other jobs;
    ``shared`` are the temporary files that it and other jobs read.
    """

    own: float
    resources: tuple[int, ...]
    shared: frozenset[str]
    positions: tuple[int, ...]


class Question:
    """Combine ready jobs and capacities, and define the value of a selection.

    If a priority is negative, all priorities are raised by the same amount, *lift*, so
    that the least is 0: no job is then worth less than an idle core.
    """

    def __init__(
        self,
        jobs: Sequence[ReadyJob],
        capacities: Sequence[int],
        temp_bytes: Mapping[str, int],
        readers: Mapping[str, int],
    ) -> None:
        self.jobs = jobs
        self.capacities = capacities
        self.readers = readers
        self.lift = -min((job.priority for job in jobs if job.priority < 0), default=0)
        self.giga = {name: size / 1e9 for name, size in temp_bytes.items()}
        total = max(sum(self.giga.values()), 1.0)
        cores = sum(max(job.cores, 1) for job in jobs)
        self.by_priority = 4.0 * max(cores, 1) * total
        self.by_core = 2 * total
        self.by_deletion = total

    def value(self, chosen: Sequence[int]) -> float:
        """Return the value of a selection, from its definition."""
        counts: Counter[str] = Counter()
        value = 0.0
        for position in chosen:
            job = self.jobs[position]
            value += self.by_priority * (job.priority + self.lift)
            value += self.by_core * max(job.cores, 1)
            for name in job.temp:
                counts[name] += 1
                value += self.giga[name] / self.readers[name]
        deleted = sum(
            self.giga[name] for name, n in counts.items() if n >= self.readers[name]
        )
        return value + self.by_deletion * deleted

    def classes(self) -> list[JobClass]:
        """Group the jobs into classes; a class has no more jobs than fit together."""
        groups: dict[
            tuple[tuple[int, ...], frozenset[str]], list[tuple[float, int, int]]
        ] = {}
        giga = self.giga
        readers = self.readers
        by_priority = self.by_priority
        by_core = self.by_core
        for position, job in enumerate(self.jobs):
            own = by_priority * (job.priority + self.lift) + by_core * max(job.cores, 1)
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
            room = [
                have // need
                for need, have in zip(resources, self.capacities)
                if need > 0
            ]
            members.sort()
            best = members[: max(0, min(room, default=len(members)))]
            for worth, alike in groupby(best, key=itemgetter(0)):
                positions = tuple(position for _, _, position in alike)
                found.append(JobClass(-worth, resources, shared, positions))
        return found

    def plain_rank(self, item: JobClass) -> tuple[float, ...]:
        """Return the sort key of a job in the greedy order.

        Priority, cores, bytes of temporary files, input bytes, then position.
        """
        job = self.jobs[item.positions[0]]
        temp = sum(self.giga[name] for name in job.temp)
        return (
            -job.priority,
            -max(job.cores, 1),
            -temp,
            -job.input_bytes,
            item.positions[0],
        )

    def first_fit(self, order: Sequence[JobClass]) -> tuple[int, ...]:
        """Select from each class, in this *order*, as many jobs as still fit."""
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


class SelectionModel:
    """Build the program of *classes*; it maximises the value in steps of ``1 /
    step``.
    """

    def __init__(self, question: Question, classes: Sequence[JobClass]) -> None:
        self.classes = classes
        self.step = step = SCALE / max(question.by_core, 1.0)
        self.program = program = Program("job_selection", maximise=True)
        self.counts = counts = [
            program.whole(f"x{k}", 0, len(item.positions))
            for k, item in enumerate(classes)
        ]
        for r, capacity in enumerate(question.capacities):
            if (
                sum(item.resources[r] * len(item.positions) for item in classes)
                > capacity
            ):
                terms = [(at, item.resources[r]) for at, item in zip(counts, classes)]
                program.add(f"capacity_{r}", terms, most=capacity)
        users: dict[str, list[Term]] = {}
        for count, item in zip(counts, classes):
            program.objective[count] = round(step * item.own)
            for name in item.shared:
                users.setdefault(name, []).append((count, 1))
        for name, which in users.items():
            deleted = program.binary(f"deleted_{name}")
            program.add(
                f"last_{name}", [*which, (deleted, -question.readers[name])], least=0
            )
            worth = question.by_deletion * question.giga[name]
            program.objective[deleted] = round(step * worth)
        # Rounding changes every term by at most half a step.
        terms_moved = sum(len(item.positions) for item in classes) + len(users)
        self.slack = 0.5 * terms_moved / step

    def start(self, chosen: Sequence[int]) -> dict[int, int]:
        """Return how many jobs of each class a selection of positions has."""
        wanted = set(chosen)
        rows = zip(self.counts, self.classes)
        return {count: len(wanted.intersection(item.positions)) for count, item in rows}

    def chosen(self, values: Mapping[int, Number]) -> tuple[int, ...]:
        """Return the selected positions of a solution, in ascending order."""
        taken: list[int] = []
        for count, item in zip(self.counts, self.classes):
            taken += item.positions[: round(values[count])]
        return tuple(sorted(taken))

    def bound(self, steps: float) -> float:
        """Turn a bound of the objective, in steps, into a bound of the value."""
        return steps / self.step + self.slack


class CapacityModel:
    """Build the linear relaxation over the capacities alone.

    Each reader of a shared file gets an equal part of the value of its deletion. Values
    are divided by the largest one, needs by capacities, to suit the tolerances of
    solvers.
    """

    def __init__(self, question: Question, classes: Sequence[JobClass]) -> None:
        by = question.by_deletion
        giga = question.giga
        readers = question.readers
        self.worths = [
            item.own + by * sum(giga[name] / readers[name] for name in item.shared)
            for item in classes
        ]
        self.unit = max(map(abs, self.worths), default=0.0) or 1.0
        self.program = program = Program("job_capacities", maximise=True)
        counts = [
            program.real(f"x{k}", 0, len(item.positions))
            for k, item in enumerate(classes)
        ]
        program.objective = dict(
            zip(counts, (worth / self.unit for worth in self.worths))
        )
        for r, capacity in enumerate(question.capacities):
            total = sum(item.resources[r] * len(item.positions) for item in classes)
            # No remaining class needs a resource whose capacity is 0.
            if 0 < capacity < total:
                needs = [item.resources[r] / capacity for item in classes]
                program.add(f"capacity_{r}", list(zip(counts, needs)), most=1)

    def scores(self, prices: Mapping[str, float]) -> list[float]:
        """Return the value of each class divided by the cost of its needs at
        *prices*.
        """
        cost = [1e-9] * len(self.worths)
        for row in self.program.rows:
            for at, need in row.terms:
                cost[at] += prices[row.name] * need
        return [worth / self.unit / price for worth, price in zip(self.worths, cost)]
