"""A program of whole numbers (:mod:`ioopt.models.program`) on CP-SAT, as it is."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from ioopt.models.program import Number, Program, collector_paused
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.cpsat_backend import load_cp_model, solve_cpsat


@collector_paused()
def to_cpsat(
    program: Program, start: Mapping[int, Number] | None = None, *, objective: bool = True
) -> Any:
    """The program as a ``CpModel`` with the same positions, hinted with *start* in its order.

    Without *objective* any point will do. Names of rows cost memory there and are not given.
    """
    cp_model = load_cp_model()
    total = cp_model.LinearExpr.weighted_sum
    model = cp_model.CpModel()
    made = [model.new_int_var(low, high, name) for name, low, high, _ in program.variables]
    for _, columns, factors, least, most, _ in program.rows:
        left = total([made[at] for at in columns], factors)
        if least is not None and least == most:
            model.add(left == least)
            continue
        if most is not None:
            model.add(left <= most)
        if least is not None:
            model.add(left >= least)
    for name, intervals, demands, most in program.capacities:
        rows = [
            model.new_optional_fixed_size_interval_var(
                made[item.start], item.length, made[item.presence], f"{name}[{n}]"
            )
            for n, item in enumerate(intervals)
        ]
        model.add_cumulative(rows, demands, most)
    if objective:
        goal = total([made[at] for at in program.objective], list(program.objective.values()))
        (model.maximize if program.maximise else model.minimize)(goal)
    for at, value in (start or {}).items():
        model.add_hint(made[at], int(value))
    return model


def solve_by_cpsat(
    program: Program,
    limits: BackendLimits,
    start: Mapping[int, Number] | None = None,
    *,
    objective: bool = True,
    parameters: Mapping[str, Any] | None = None,
    on_solution: Callable[[Any], None] | None = None,
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """Write *program* for CP-SAT and solve it, both within *limits*; see :func:`solve_cpsat`."""
    begun = time.monotonic()
    model = to_cpsat(program, start, objective=objective)
    limits = limits.after(time.monotonic() - begun)
    return solve_cpsat(model, limits, parameters=parameters, on_solution=on_solution, cancel=cancel)
