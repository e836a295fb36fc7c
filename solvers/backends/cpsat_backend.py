"""CP-SAT of OR-Tools: one way to run a model, one table of statuses, bounds and interrupts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ioopt.errors import BackendFailureError, BackendMissingError
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits, proven, run_interruptibly

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolverSolutionCallback

NAME = "CP-SAT"
CLOCK_SHARE = 0.95
"""A run that took this part of its seconds was ended by the clock (CP-SAT does not say)."""

_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "FEASIBLE": Status.FEASIBLE,
    "INFEASIBLE": Status.INFEASIBLE,
    "UNKNOWN": Status.UNKNOWN,
}


def load_cp_model() -> Any:
    """The module ``ortools.sat.python.cp_model``; BackendMissingError where it is not installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise BackendMissingError(
            f"backend CP-SAT needs the package ortools ({error}); pip install 'ortools>=9.12,<9.16'"
        ) from None
    return cp_model


def solve_cpsat(
    model: CpModel,
    limits: BackendLimits,
    *,
    parameters: Mapping[str, Any] | None = None,
    on_solution: Callable[[CpSolverSolutionCallback], None] | None = None,
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """Run CP-SAT on *model* and say what it earned.

    ``parameters`` are further SatParameters by name (such as ``symmetry_level``). ``on_solution``
    is called with the solution callback at every improvement. Values are by variable index.
    ``cancel``, once set, ends the run early.
    Raises BackendFailureError for an invalid model and KeyboardInterrupt after stopping the run.
    """
    cp_model = load_cp_model()
    import ortools

    solver = cp_model.CpSolver()
    _configure(solver.parameters, limits, parameters or {})
    logs: list[str] = []
    if limits.log is not None:
        solver.parameters.log_search_progress = True
        solver.parameters.log_to_stdout = False
        solver.log_callback = logs.append
    watcher = _watcher(cp_model, on_solution)
    begun = time.monotonic()
    try:
        code = run_interruptibly(lambda: solver.solve(model, watcher), solver.stop_search, cancel)
    finally:
        if limits.log is not None:
            with open(limits.log, "a", encoding="utf-8") as stream:
                stream.write("\n".join(logs) + "\n")
    seconds = time.monotonic() - begun
    name = solver.status_name(code)
    if name not in _STATUS:
        detail = model.validate() if name == "MODEL_INVALID" else "unknown status"
        raise BackendFailureError(f"CP-SAT answered {name}: {detail}")
    status = _STATUS[name]
    found = status in (Status.OPTIMAL, Status.FEASIBLE)
    objective = solver.objective_value if found and model.has_objective() else None
    bound = solver.best_objective_bound if model.has_objective() else None
    if status is Status.INFEASIBLE or (status is not Status.OPTIMAL and _in_presolve(solver)):
        bound = None
    values = dict(enumerate(solver.response_proto.solution)) if found else {}
    status, stop = _earned(status, objective, bound, limits, seconds)
    return BackendAnswer(status, stop, values, objective, bound, seconds, NAME, ortools.__version__)


def _in_presolve(solver: Any) -> bool:
    """Whether the run ended before the search began: the bound then stands at 0, unproven."""
    return solver.best_objective_bound == 0.0 and solver.num_branches == solver.num_conflicts == 0


def _earned(
    status: Status,
    objective: float | None,
    bound: float | None,
    limits: BackendLimits,
    seconds: float,
) -> tuple[Status, StopReason]:
    """CP-SAT says OPTIMAL when the gap asked for is reached: that alone is no proof."""
    if status is Status.INFEASIBLE:
        return status, StopReason.FINISHED
    if status is Status.OPTIMAL:
        if proven(objective, bound):
            return status, StopReason.FINISHED
        return Status.FEASIBLE, StopReason.GAP
    if limits.seconds is not None and seconds >= CLOCK_SHARE * limits.seconds:
        return status, StopReason.TIME
    return status, StopReason.ITERATIONS


def _configure(parameters: Any, limits: BackendLimits, more: Mapping[str, Any]) -> None:
    parameters.num_workers = limits.threads
    parameters.random_seed = limits.seed
    # Ctrl-C is handled by run_interruptibly, so that the caller learns of it.
    parameters.catch_sigint_signal = False
    if limits.seconds is not None:
        parameters.max_time_in_seconds = max(limits.seconds, 0.001)
    if limits.gap is not None:
        parameters.relative_gap_limit = limits.gap
    if limits.work is not None:
        parameters.max_deterministic_time = limits.work
    if limits.nodes is not None:
        parameters.max_number_of_conflicts = limits.nodes
    if limits.solutions == 1:
        parameters.stop_after_first_solution = True
    elif limits.solutions is not None:
        raise BackendFailureError("CP-SAT can stop after the first solution, not after a later one")
    for name, value in more.items():
        setattr(parameters, name, value)


def _watcher(cp_model: Any, on_solution: Callable[[Any], None] | None) -> Any:
    if on_solution is None:
        return None
    notify = on_solution

    class Watcher(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            notify(self)

    return Watcher()
