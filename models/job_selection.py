"""Select the ready jobs that start now under resource limits (ours).

The value of a selection is a lexicographic sum of four terms. First come the
priorities, raised so that none is negative, then the number of cores in use. Third are
the bytes of temporary files that can be deleted because all their remaining readers are
selected. Last is the progress towards deleting other temporary files. Snakemake's
integer program maximises the same value.

Jobs whose terms are equal form one class k. Variables: x_k is the number of jobs of
class k that start; d_f is 1 if file f can be deleted, else 0. own_k is the value that a
job of class k adds on its own; weight_f is the value of deleting file f.

Objective: maximise sum over k of own_k x_k + sum over f of weight_f d_f, with weights
rounded to whole steps. Constraints:

(1) sum over k of (amount of resource r that a job of k needs) x_k <= capacity of r
(2) sum of x_k over the classes that read f >= (number of readers of f) d_f
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from ioopt.models.program import Number, Program, Term

SCALE = 10**6
"""Number of steps of the objective for the value of one core in use."""


class ReadyJob(NamedTuple):
    """Describe a job that could start: priority, resources, temporary files, input
    bytes.

    ``resources`` are the amounts needed, in the order of the capacities; ``temp`` are
    the temporary files that it reads.
    """

    priority: int = 0
    cores: int = 1
    resources: tuple[int, ...] = ()
    temp: frozenset[str] = frozenset()
    input_bytes: int = 0


class JobClass(NamedTuple):
    """Represent jobs that add equal terms to the value.

    ``own`` is what each of them adds independently of other jobs. ``shared`` are the
    temporary files that they and other jobs read. ``positions`` are the jobs, those
    with larger inputs first.
    """

    own: float
    resources: tuple[int, ...]
    shared: frozenset[str]
    positions: tuple[int, ...]


class Question:
    """Combine ready jobs and capacities, and define the value of a selection.

    *temp_bytes* and *readers* hold the size and the number of remaining readers of each
    temporary file. If a priority is negative, *lift* is added to all priorities so that
    the least is 0. Otherwise an idle core would be worth more than a job.
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
        """Return the value of the jobs at the positions *chosen*, computed from its
        definition.
        """
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
        """Return the jobs grouped into classes.

        A class keeps only its best jobs, and no more of them than the capacities allow.
        """
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
        """Return the sort key of the first job of a class in the greedy order.

        Jobs are ordered by priority, cores, bytes of temporary files and input bytes,
        largest first, then by position.
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
        """Return the positions selected by a greedy rule.

        From each class in *order*, it takes as many jobs as still fit.
        """
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
    """Build the program of *classes*.

    :attr:`program` is to be maximised. Its objective is the value in steps of ``1 /
    step``. ``slack`` is the most that rounding to steps can change the value.
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
        """Return the number of jobs of each class in a selection, keyed by variable.

        *chosen* are the positions of the selected jobs.
        """
        wanted = set(chosen)
        rows = zip(self.counts, self.classes)
        return {count: len(wanted.intersection(item.positions)) for count, item in rows}

    def chosen(self, values: Mapping[int, Number]) -> tuple[int, ...]:
        """Return the positions of the jobs that a solution selects, in ascending
        order.
        """
        taken: list[int] = []
        for count, item in zip(self.counts, self.classes):
            taken += item.positions[: round(values[count])]
        return tuple(sorted(taken))

    def bound(self, steps: float) -> float:
        """Convert an upper bound of the objective, in steps, to an upper bound of the
        value.
        """
        return steps / self.step + self.slack


class CapacityModel:
    """Build the linear relaxation that has only the capacities as constraints.

    Each reader of a shared file gets an equal part of the value of its deletion. Values
    are divided by the largest one, and amounts by the capacities, to suit the
    tolerances of solvers.
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
        """Return, for each class, the value of a job divided by the cost of its
        resources.

        *prices* holds the price of each capacity, keyed by the name of its row.
        """
        cost = [1e-9] * len(self.worths)
        for row in self.program.rows:
            for at, need in row.terms:
                cost[at] += prices[row.name] * need
        return [worth / self.unit / price for worth, price in zip(self.worths, cost)]
