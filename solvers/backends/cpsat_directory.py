"""Write work directories as programs of CP-SAT (rule B12).

There is an interval for each task and for the time that each product is held. Times are
whole ticks, sizes whole bytes, both divided by their greatest common divisor. Tasks of
0 seconds take no room in the program, and times and bytes whose sums would be too large
are rounded down: each of these makes it a relaxation.
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
    from ortools.sat.python.cp_model import CpModel, IntervalVar, IntVar

MOST_TICKS = 10**12
"""Most ticks of all times together. When the times of a thousand tasks are rounded
down to this, they lose less than the 1e-9 of a proof.
"""
MOST_UNITS = 1 << 60
"""Most units of bytes, or of cores, of all tasks together: CP-SAT adds 64-bit numbers.
"""


@dataclass(frozen=True)
class Scale:
    """Times in units of a program: how many make a second, and whether they are
    exact.
    """

    per_second: Fraction
    exact: bool
    seconds: list[int]
    releases: list[int]

    @classmethod
    def of(cls, problem: WorkDirectoryProblem) -> Scale:
        """Return ticks where there are few enough, else times rounded down."""
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
        """Return a scale on which each of *count* tasks takes one unit."""
        return cls(Fraction(1), True, [1] * count, [0] * count)


@dataclass(frozen=True)
class Sizes:
    """Bytes and cores in units of a program, of each product and of each task.

    ``loose`` are bytes that a task takes only while it runs. A unit has ``unit`` bytes;
    where not ``exact``, sizes are rounded down, and so is the quota. A plan that keeps
    the quota keeps the rounded one: the program stays a relaxation.
    """

    unit: int
    exact: bool
    products: list[int]
    loose: list[int]
    cores: list[int]
    most_cores: int

    @classmethod
    def of(cls, problem: WorkDirectoryProblem) -> Sizes:
        """Return the fewest units that are exact, else few enough to be added."""
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
    """Return the program of the least makespan under *quota*.

    With *most* it is that of the least peak between *bound* and *most* bytes. *bound*
    is a proven bound of the objective, *hint* the start of each task. The first
    variables are the starts.
    """
    model: CpModel = load_cp_model().CpModel()
    seconds = scale.seconds
    horizon = sum(seconds) + max(scale.releases, default=0)
    starts = [
        model.new_int_var(release, horizon - long, "")
        for long, release in zip(seconds, scale.releases, strict=True)
    ]
    spans = [
        model.new_fixed_size_interval_var(at, long, "")
        for at, long in zip(starts, seconds, strict=True)
    ]
    busy = [k for k in range(len(seconds)) if seconds[k] and sizes.cores[k]]
    model.add_cumulative(
        [spans[k] for k in busy], [sizes.cores[k] for k in busy], sizes.most_cores
    )
    intervals: list[IntervalVar] = []
    amounts: list[int] = []
    hints: dict[int, int] = {}
    if hint:
        hints = dict(enumerate(hint.values()))
    for k in range(len(seconds)):
        for p in problem.predecessors[k]:
            model.add(starts[k] >= starts[p] + seconds[p])
        for f in problem.outputs[k]:
            if sizes.products[f]:
                held = _held(model, problem, scale, starts, k, f, hint, hints)
                intervals.append(held)
                amounts.append(sizes.products[f])
        if sizes.loose[k] and seconds[k]:
            intervals.append(spans[k])
            amounts.append(sizes.loose[k])
    if most is not None:
        goal = _peak(model, sizes, intervals, amounts, bound, most)
        hints[goal.index] = most // sizes.unit
    else:
        goal = model.new_int_var(bound, horizon, "")
        ends = [at + long for at, long in zip(starts, seconds, strict=True)]
        model.add_max_equality(goal, ends or [0])
        if quota is not None:
            model.add_cumulative(intervals, amounts, quota // sizes.unit)
        if hint:
            hints[goal.index] = max((hint[k] + seconds[k] for k in hint), default=0)
    model.minimize(goal)
    for index, value in hints.items():
        model.add_hint(model.get_int_var_from_proto_index(index), value)
    return model


def _peak(
    model: CpModel,
    sizes: Sizes,
    intervals: Sequence[IntervalVar],
    amounts: Sequence[int],
    bound: int,
    most: int,
) -> IntVar:
    """Return the peak of *amounts* over *intervals*: from *bound* to *most* bytes."""
    least = bound // sizes.unit
    if sizes.exact:
        least = -(-bound // sizes.unit)
    peak = model.new_int_var(least, most // sizes.unit, "")
    model.add_cumulative(intervals, amounts, peak)
    return peak


def _held(
    model: CpModel,
    problem: WorkDirectoryProblem,
    scale: Scale,
    starts: Sequence[IntVar],
    writer: int,
    product: int,
    hint: Mapping[int, int] | None,
    hints: dict[int, int],
) -> IntervalVar:
    """Return the interval in which *product*, which *writer* writes, takes room.

    It ends no earlier than the writer and all readers; for a product that is kept, at
    the horizon, by which all tasks end. Values of its variables are added to *hints*.
    """
    seconds = scale.seconds
    horizon = sum(seconds) + max(scale.releases, default=0)
    kept = problem.products[product].keep
    end = model.new_int_var(horizon if kept else 0, horizon, "")
    holders = (writer, *problem.readers[product])
    for k in holders:
        model.add(end >= starts[k] + seconds[k])
    size = model.new_int_var(0, horizon, "")
    if hint:
        last = horizon
        if not kept:
            last = max(hint[k] + seconds[k] for k in holders)
        hints[end.index] = last
        hints[size.index] = last - hint[writer]
    return model.new_interval_var(starts[writer], size, end, "")


def in_order(starts: Sequence[int], topological: Sequence[int]) -> list[int]:
    """Return the tasks by start; of equal starts each after its predecessors."""
    return sorted(topological, key=lambda k: starts[k])
