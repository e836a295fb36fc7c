"""Work directories for CP-SAT (rule B12): an interval for each task and for each
product that is held.

Whole ticks and bytes, both divided by what divides them all. Tasks of 0 seconds take no
room in it, and times and bytes that are too many to be added are rounded down: each
makes it a relaxation.
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
"""Of all times together. Rounded down, those of a thousand tasks lose less than
the 1e-9 of a proof.
"""
MOST_UNITS = 1 << 60
"""Units of bytes, or of cores, of all tasks together: CP-SAT adds
64-bit whole numbers.
"""


@dataclass(frozen=True)
class Scale:
    """Times in units of a program: how many make a second, and
    whether they are exact.
    """

    per_second: Fraction
    exact: bool
    seconds: list[int]
    releases: list[int]

    @classmethod
    def of(cls, problem: WorkDirectoryProblem) -> Scale:
        """Return ticks where there are not too many, else times rounded down."""
        ticks, tasks = problem.ticks, problem.tasks
        seconds = ticks.all_of(task.compute_seconds for task in tasks)
        releases = ticks.all_of(task.release_seconds for task in tasks)
        whole = sum(seconds) + max(releases, default=0)
        if whole <= MOST_TICKS:
            return cls(Fraction(ticks.per_second), True, seconds, releases)
        rounded = [
            [value * MOST_TICKS // whole for value in row]
            for row in (seconds, releases)
        ]
        return cls(Fraction(ticks.per_second * MOST_TICKS, whole), False, *rounded)

    @classmethod
    def of_steps(cls, count: int) -> Scale:
        """Return one unit for each of *count* tasks."""
        return cls(Fraction(1), True, [1] * count, [0] * count)


@dataclass(frozen=True)
class Sizes:
    """Bytes, and cores, in units of a program: those of each product and of each task.

    ``unit`` bytes are one; where not ``exact`` they are rounded down, and so is the
    quota. What keeps a quota keeps it rounded: the program stays a relaxation.
    """

    unit: int
    exact: bool
    products: list[int]
    loose: list[int]
    cores: list[int]
    most_cores: int

    @classmethod
    def of(cls, problem: WorkDirectoryProblem) -> Sizes:
        """Return the least number of units that is exact, or few enough to be added."""
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

    With *most* it is that of the least peak between *bound* and so many bytes. *bound*
    is proven of the objective, *hint* the start of each task. The starts come first.
    """
    model: CpModel = load_cp_model().CpModel()
    s, releases = scale.seconds, scale.releases
    horizon = sum(s) + max(releases, default=0)
    # What is kept is held until the horizon: all tasks end by then.
    rows = zip(s, releases, strict=True)
    starts = [model.new_int_var(release, horizon - long, "") for long, release in rows]
    spans = [
        model.new_fixed_size_interval_var(at, long, "")
        for at, long in zip(starts, s, strict=True)
    ]
    busy = [k for k in range(len(s)) if s[k] and sizes.cores[k]]
    model.add_cumulative(
        [spans[k] for k in busy], [sizes.cores[k] for k in busy], sizes.most_cores
    )
    intervals: list[IntervalVar] = []
    amounts: list[int] = []
    hints = dict(enumerate(hint.values())) if hint else {}
    for k in range(len(s)):
        for p in problem.predecessors[k]:
            model.add(starts[k] >= starts[p] + s[p])
        for f in problem.outputs[k]:
            if not sizes.products[f]:
                continue
            keep = problem.products[f].keep
            end = model.new_int_var(horizon if keep else 0, horizon, "")
            holders = (k, *problem.readers[f])
            for j in holders:
                model.add(end >= starts[j] + s[j])
            size = model.new_int_var(0, horizon, "")
            intervals.append(model.new_interval_var(starts[k], size, end, ""))
            amounts.append(sizes.products[f])
            if hint:
                last = horizon if keep else max(hint[j] + s[j] for j in holders)
                hints |= {end.index: last, size.index: last - hint[k]}
        if sizes.loose[k] and s[k]:
            intervals.append(spans[k])
            amounts.append(sizes.loose[k])
    if most is not None:
        least = bound // sizes.unit if not sizes.exact else -(-bound // sizes.unit)
        goal = model.new_int_var(least, most // sizes.unit, "")
        model.add_cumulative(intervals, amounts, goal)
        hints[goal.index] = most // sizes.unit
    else:
        goal = model.new_int_var(bound, horizon, "")
        ends = [at + long for at, long in zip(starts, s, strict=True)]
        model.add_max_equality(goal, ends or [0])
        if quota is not None:
            model.add_cumulative(intervals, amounts, quota // sizes.unit)
        if hint:
            hints[goal.index] = max((hint[k] + s[k] for k in hint), default=0)
    model.minimize(goal)
    for index, value in hints.items():
        model.add_hint(model.get_int_var_from_proto_index(index), value)
    return model


def in_order(starts: Sequence[int], topological: Sequence[int]) -> list[int]:
    """The tasks by start, ties each after its predecessors."""
    return sorted(topological, key=lambda k: starts[k])
