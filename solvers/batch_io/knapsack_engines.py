"""The 0-1 knapsack through other libraries: cross-checks of our own.

Every engine takes (weights, values, capacity, deadline) and returns a
:class:`ioopt.solvers.batch_io.knapsack.KnapsackAnswer` whose choice fits, exactly, and whose bound
holds. An engine that computes in floating point is believed no further than that reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ioopt.errors import BackendFailureError, BackendMissingError, UsageError
from ioopt.options import Deadline
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.batch_io.knapsack import KnapsackAnswer, check_numbers, solve_knapsack

Engine = Callable[[Sequence[int], Sequence[int], int, Deadline | None], KnapsackAnswer]

FLOAT_ACCURACY = 1e-9


def solve_by_pulp(
    weights: Sequence[int],
    values: Sequence[int],
    capacity: int,
    deadline: Deadline | None = None,
    backend: str | None = "CBC",
) -> KnapsackAnswer:
    """The PuLP model on *backend* (CBC, HiGHS, SCIP or GLPK)."""
    from ioopt.models.batch_io.max_util import MaxUtilModel
    from ioopt.solvers.backends.pulp_program import solve_by_pulp as run

    check_numbers(weights, values, capacity)
    deadline = deadline or Deadline(None)
    if not weights:
        return KnapsackAnswer((), 0, 0)
    model = MaxUtilModel(weights, values, capacity)
    answer = run(model.program, backend, _limits(deadline))
    bound = None
    if answer.bound is not None:
        bound = math.floor(answer.bound + FLOAT_ACCURACY * abs(answer.bound) + 1e-6)
    chosen = model.chosen(answer.values) if answer.found else ()
    return _verified(chosen, bound, weights, values, capacity, str(answer.backend))


def solve_by_cpsat(
    weights: Sequence[int],
    values: Sequence[int],
    capacity: int,
    deadline: Deadline | None = None,
) -> KnapsackAnswer:
    """The CP-SAT model, one worker."""
    from ioopt.models.batch_io.max_util import MaxUtilModel
    from ioopt.solvers.backends.cpsat_program import solve_by_cpsat as run

    check_numbers(weights, values, capacity)
    deadline = deadline or Deadline(None)
    if not weights:
        return KnapsackAnswer((), 0, 0)
    model = MaxUtilModel(weights, values, capacity)
    answer = run(model.program, _limits(deadline))
    bound = None if answer.bound is None else math.floor(answer.bound + 1e-6)
    chosen = model.chosen(answer.values) if answer.found else ()
    return _verified(chosen, bound, weights, values, capacity, "CP-SAT")


def solve_by_ortools(
    weights: Sequence[int],
    values: Sequence[int],
    capacity: int,
    deadline: Deadline | None = None,
) -> KnapsackAnswer:
    """OR-Tools' knapsack solver (branch and bound); it gives no bound unless it proves the optimum."""
    try:
        from ortools.algorithms.python import knapsack_solver
    except ImportError as error:
        raise BackendMissingError(
            f"engine or-tools needs the package ortools ({error}); pip install ortools"
        ) from None
    check_numbers(weights, values, capacity)
    deadline = deadline or Deadline(None)
    useful = [k for k, value in enumerate(values) if value > 0]
    if not useful:
        return KnapsackAnswer((), 0, 0)
    solver = knapsack_solver.KnapsackSolver(
        knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER, "max_util"
    )
    solver.init([values[k] for k in useful], [[weights[k] for k in useful]], [capacity])
    if deadline.remaining() < math.inf:
        solver.set_time_limit(max(deadline.remaining(), 1e-3))
    value = solver.solve()
    chosen = tuple(k for place, k in enumerate(useful) if solver.best_solution_contains(place))
    bound = value if solver.is_solution_optimal() else None
    return _verified(chosen, bound, weights, values, capacity, "OR-Tools knapsack")


ENGINES: dict[str, Engine] = {
    "core": solve_knapsack,
    "or-tools": solve_by_ortools,
    "cp-sat": solve_by_cpsat,
    "pulp": solve_by_pulp,
}


def engine(name: str) -> Engine:
    """The engine called *name*; UsageError with the known ones when there is none."""
    if name not in ENGINES:
        raise UsageError(f"no knapsack engine {name!r}; known: {', '.join(ENGINES)}")
    return ENGINES[name]


def subset_by(name: str) -> Callable[[Sequence[int], int], list[int]]:
    """Cons-MaxUtil's subset-sum through the engine called *name* (ties as the engine breaks them)."""
    solve = engine(name)
    return lambda weights, capacity: list(solve(weights, weights, capacity, None).chosen)


def _limits(deadline: Deadline) -> BackendLimits:
    left = deadline.remaining()
    return BackendLimits(seconds=None if left == math.inf else left)


def _verified(
    chosen: Sequence[int],
    bound: int | None,
    weights: Sequence[int],
    values: Sequence[int],
    capacity: int,
    name: str,
) -> KnapsackAnswer:
    """The answer as whole numbers, or BackendFailureError for a choice that does not fit."""
    weight = sum(weights[k] for k in chosen)
    value = sum(values[k] for k in chosen)
    if weight > capacity:
        raise BackendFailureError(f"{name} chose a weight of {weight}, capacity is {capacity}")
    trivial = sum(v for w, v in zip(weights, values) if v > 0 and w <= capacity)
    limit = trivial if bound is None else min(bound, trivial)
    return KnapsackAnswer(tuple(sorted(chosen)), value, max(limit, value))
