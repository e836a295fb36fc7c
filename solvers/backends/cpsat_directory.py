"""Write work directories as programs of CP-SAT (rule B12).

Each task has an interval, and each product has an interval in which it is held. Times
are whole ticks and sizes are whole bytes, divided by the greatest common divisor of the
times and of the sizes. Times and sizes whose sums would be too large are rounded down.
A task of 0 seconds takes no space. Both make the program a relaxation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING

from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.solvers.backends.cpsat_program import load_cp_model

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar

MOST_TICKS = 10**12
"""Largest number of ticks of all times together.

Rounding the times of a thousand tasks down to such ticks loses less than 1e-9 of the
makespan, within which a bound proves a plan.
"""
MOST_UNITS = 1 << 60
"""Largest number of units of all bytes together, or of all cores; CP-SAT adds 64-bit
numbers.
"""


@dataclass(frozen=True)
class Scale:
    """The times of a work directory in whole units of a program.

    ``per_second`` is the number of units in a second; ``exact`` says that no time was
    rounded. ``seconds`` and ``releases`` are the compute time and the release of each
    task, in units.
    """

    per_second: Fraction
    exact: bool
    seconds: list[int]
    releases: list[int]

    @classmethod
    def of(cls, problem: WorkDirectoryProblem) -> Scale:
        """Return exact ticks if there are few enough of them, otherwise coarser
        units.
        """
        ticks = problem.ticks
        tasks = problem.tasks
        seconds = ticks.all_of(task.compute_seconds for task in tasks)
        releases = ticks.all_of(task.release_seconds for task in tasks)
        whole = sum(seconds) + max(releases, default=0)
        if whole <= MOST_TICKS:
            return cls(Fraction(ticks.per_second), True, seconds, releases)
        return cls(
            Fraction(ticks.per_second * MOST_TICKS, whole),
            False,
            [value * MOST_TICKS // whole for value in seconds],
            [value * MOST_TICKS // whole for value in releases],
        )

    @classmethod
    def of_steps(cls, count: int) -> Scale:
        """Return a scale on which each of *count* tasks takes one unit of time."""
        return cls(Fraction(1), True, [1] * count, [0] * count)


@dataclass(frozen=True)
class Sizes:
    """The bytes and cores of a work directory in whole units of a program.

    ``unit`` is the number of bytes in a unit. ``products`` has the size of each
    product, and ``loose`` what each task takes only while it runs. ``cores`` has the
    cores of each task, ``most_cores`` those of the machine. If not ``exact``, sizes are
    rounded down, and so is the quota. The program then is a relaxation: a plan that
    respects the quota also respects the rounded one.
    """

    unit: int
    exact: bool
    products: list[int]
    loose: list[int]
    cores: list[int]
    most_cores: int

    @classmethod
    def of(cls, problem: WorkDirectoryProblem) -> Sizes:
        """Return the sizes in exact units if their sums are small enough, otherwise in
        coarser ones.
        """
        loose = [task.scratch_bytes for task in problem.tasks]
        products = [0] * len(problem.products)
        for k, files in enumerate(problem.outputs):
            for f in files:
                file = problem.products[f]
                if file.keep or problem.readers[f]:
                    products[f] = file.bytes
                else:
                    loose[k] += file.bytes
        shared = gcd(*products, *loose) or 1
        total = sum(products) + sum(loose)
        unit = shared * -(-total // (shared * MOST_UNITS)) or 1
        taken = sum(task.cores for task in problem.tasks)
        cores = -(-taken // MOST_UNITS) or 1
        return cls(
            unit,
            unit == shared,
            [size // unit for size in products],
            [size // unit for size in loose],
            [task.cores // cores for task in problem.tasks],
            problem.cores // cores,
        )


def program(
    problem: WorkDirectoryProblem,
    scale: Scale,
    sizes: Sizes,
    quota: int | None,
    bound: int,
    hint: Mapping[int, int] | None,
    most: int | None = None,
) -> CpModel:
    """Return the program that minimises the makespan under *quota*, in bytes.

    With *most* it minimises the peak instead, between *bound* and *most* bytes. *bound*
    is a proven lower bound of the objective. *hint* is the start of each task. The
    first variables of the program are the starts.
    """
    draft = _Draft(problem, scale, sizes, hint)
    if most is None:
        draft.minimise_makespan(bound, quota)
    else:
        draft.minimise_peak(bound, most)
    for index, value in draft.hints.items():
        variable = draft.model.get_int_var_from_proto_index(index)
        draft.model.add_hint(variable, value)
    return draft.model


class _Draft:
    """Build a program without its objective: tasks, cores, and use of space over time.

    ``intervals`` and ``amounts`` say when and how much space is taken, by products and
    by running tasks. ``hints`` holds start values, keyed by the index of the variable.
    """

    def __init__(
        self,
        problem: WorkDirectoryProblem,
        scale: Scale,
        sizes: Sizes,
        hint: Mapping[int, int] | None,
    ) -> None:
        self.model: CpModel = load_cp_model().CpModel()
        self.intervals: list[IntervalVar] = []
        self.amounts: list[int] = []
        self.hints: dict[int, int] = {}
        self._problem = problem
        self._sizes = sizes
        self._hint = hint
        self._seconds = scale.seconds
        self._horizon = sum(scale.seconds) + max(scale.releases, default=0)
        if hint:
            self.hints = dict(enumerate(hint.values()))
        self._starts = [
            self.model.new_int_var(release, self._horizon - long, "")
            for long, release in zip(scale.seconds, scale.releases, strict=True)
        ]
        spans = self._spans()
        for k in range(len(spans)):
            self._task(k, spans[k])

    def _spans(self) -> list[IntervalVar]:
        """Return the interval of each task, and limit the cores that running tasks
        use.
        """
        spans = [
            self.model.new_fixed_size_interval_var(at, long, "")
            for at, long in zip(self._starts, self._seconds, strict=True)
        ]
        cores = self._sizes.cores
        busy = [k for k in range(len(spans)) if self._seconds[k] and cores[k]]
        self.model.add_cumulative(
            [spans[k] for k in busy],
            [cores[k] for k in busy],
            self._sizes.most_cores,
        )
        return spans

    def _task(self, k: int, span: IntervalVar) -> None:
        """Let task *k* start after its predecessors, and add the space of its scratch
        and outputs.
        """
        for p in self._problem.predecessors[k]:
            self.model.add(self._starts[k] >= self._starts[p] + self._seconds[p])
        for f in self._problem.outputs[k]:
            if self._sizes.products[f]:
                self.intervals.append(self._held(k, f))
                self.amounts.append(self._sizes.products[f])
        if self._sizes.loose[k] and self._seconds[k]:
            self.intervals.append(span)
            self.amounts.append(self._sizes.loose[k])

    def _held(self, writer: int, product: int) -> IntervalVar:
        """Return the interval in which *product*, an output of task *writer*, takes
        space.

        It ends no earlier than the writer and all readers. A product that is kept stays
        until the horizon, by which all tasks end.
        """
        kept = self._problem.products[product].keep
        end = self.model.new_int_var(self._horizon if kept else 0, self._horizon, "")
        holders = (writer, *self._problem.readers[product])
        for k in holders:
            self.model.add(end >= self._starts[k] + self._seconds[k])
        size = self.model.new_int_var(0, self._horizon, "")
        if self._hint:
            last = self._horizon
            if not kept:
                last = max(self._hint[k] + self._seconds[k] for k in holders)
            self.hints[end.index] = last
            self.hints[size.index] = last - self._hint[writer]
        return self.model.new_interval_var(self._starts[writer], size, end, "")

    def minimise_peak(self, bound: int, most: int) -> None:
        """Minimise the largest number of bytes in use at once, between *bound* and
        *most*.
        """
        unit = self._sizes.unit
        least = bound // unit
        if self._sizes.exact:
            least = -(-bound // unit)
        peak = self.model.new_int_var(least, most // unit, "")
        self.model.add_cumulative(self.intervals, self.amounts, peak)
        self.hints[peak.index] = most // unit
        self.model.minimize(peak)

    def minimise_makespan(self, bound: int, quota: int | None) -> None:
        """Minimise the end of the last task under *quota*; the end is *bound* or
        later.
        """
        makespan = self.model.new_int_var(bound, self._horizon, "")
        ends = [at + long for at, long in zip(self._starts, self._seconds, strict=True)]
        self.model.add_max_equality(makespan, ends or [0])
        if quota is not None:
            self.model.add_cumulative(
                self.intervals, self.amounts, quota // self._sizes.unit
            )
        if self._hint:
            hinted = (self._hint[k] + self._seconds[k] for k in self._hint)
            self.hints[makespan.index] = max(hinted)
        self.model.minimize(makespan)


def in_order(starts: Sequence[int], topological: Sequence[int]) -> list[int]:
    """Return the tasks in order of their *starts*; of equal starts, predecessors come
    first.
    """
    return sorted(topological, key=lambda k: starts[k])
