"""Work directories for CP-SAT (rule B12): an interval for each task and for each product that is held.

Whole ticks and bytes, both divided by what divides them all. Tasks of 0 seconds take no room in it, and
times that have too many ticks are rounded down: both make it a relaxation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.solvers.backends.cpsat_program import load_cp_model

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel

MOST_TICKS = 10**12
"""Of all times together. Rounded down, those of a thousand tasks lose less than the 1e-9 of a proof."""


@dataclass(frozen=True)
class Scale:
    """Times in units of a program: ``per_second``, and whether they are exact."""

    per_second: float
    exact: bool
    seconds: list[int]
    releases: list[int]

    @classmethod
    def of(cls, problem: WorkDirectoryProblem) -> Scale:
        """Ticks where there are not too many, else times rounded down."""
        ticks, tasks = problem.ticks, problem.tasks
        rows = [
            ticks.all_of(task.compute_seconds for task in tasks),
            ticks.all_of(task.release_seconds for task in tasks),
        ]
        whole = sum(rows[0]) + max(rows[1], default=0)
        if whole <= MOST_TICKS:
            return cls(ticks.per_second, True, *rows)
        rounded = [[value * MOST_TICKS // whole for value in row] for row in rows]
        return cls(ticks.per_second * MOST_TICKS / whole, False, *rounded)


def program(
    problem: WorkDirectoryProblem,
    scale: Scale,
    quota: int | None,
    bound: int,
    hint: Mapping[int, int] | None,
    most: int | None = None,
) -> CpModel:
    """The least makespan under *quota*; with *most*, the least peak between *bound* and that many bytes.

    *bound* is proven of the objective, *hint* the start of each task. The starts come first.
    """
    model: CpModel = load_cp_model().CpModel()
    s, releases = scale.seconds, scale.releases
    horizon = sum(s) + max(releases, default=0)
    starts = [model.new_int_var(r, horizon, "") for r in releases]
    spans = [model.new_fixed_size_interval_var(at, long, "") for at, long in zip(starts, s)]
    cores = [(spans[k], task.cores) for k, task in enumerate(problem.tasks) if s[k]]
    model.add_cumulative([row[0] for row in cores], [row[1] for row in cores], problem.cores)
    held, hints = [], dict(enumerate(hint.values())) if hint else {}
    for k, task in enumerate(problem.tasks):
        loose = task.scratch_bytes
        for p in problem.predecessors[k]:
            model.add(starts[k] >= starts[p] + s[p])
        for f in problem.outputs[k]:
            file, read = problem.products[f], problem.readers[f]
            if not read and not file.keep:
                loose += file.bytes
            elif file.bytes:
                end = model.new_int_var(horizon if file.keep else 0, horizon, "")
                for j in (k, *read):
                    model.add(end >= starts[j] + s[j])
                size = model.new_int_var(0, horizon, "")
                span = model.new_interval_var(starts[k], size, end, "")
                held.append((span, file.bytes))
                if hint:
                    last = horizon if file.keep else max(hint[j] + s[j] for j in (k, *read))
                    hints |= {end.index: last, size.index: last - hint[k]}
        if loose and s[k]:
            held.append((spans[k], loose))
    unit = gcd(*(size for _, size in held)) or 1
    intervals, sizes = [row[0] for row in held], [size // unit for _, size in held]
    if most is not None:
        goal = model.new_int_var(-(-bound // unit), most // unit, "")
        model.add_cumulative(intervals, sizes, goal)
        hints[goal.index] = most // unit
    else:
        goal = model.new_int_var(bound, horizon, "")
        model.add_max_equality(goal, [at + long for at, long in zip(starts, s)] or [0])
        if quota is not None:
            model.add_cumulative(intervals, sizes, quota // unit)
        if hint:
            hints[goal.index] = max((hint[k] + s[k] for k in hint), default=0)
    model.minimize(goal)
    for index, value in hints.items():
        model.add_hint(model.get_int_var_from_proto_index(index), value)
    return model


def in_order(starts: Sequence[int], topological: Sequence[int]) -> list[int]:
    """The tasks by start, ties each after its predecessors."""
    return sorted(topological, key=lambda k: starts[k])
