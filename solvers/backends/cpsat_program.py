"""Run programs of whole numbers on CP-SAT of OR-Tools, and decide what a run proves."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ioopt.errors import BackendFailureError, BackendMissingError
from ioopt.models.program import Number, Program
from ioopt.problems.base import collector_paused
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import (
    LEAST_SECONDS,
    BackendAnswer,
    BackendLimits,
    proven,
    run_interruptibly,
)

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolverSolutionCallback

    Notify = Callable[[CpSolverSolutionCallback], None]

NAME = "CP-SAT"
CLOCK_SHARE = 0.95
"""Share of the time limit after which a run counts as ended by the limit.

CP-SAT itself does not say why it ended.
"""


CP_MODEL = "ortools.sat.python.cp_model"


def load_cp_model() -> Any:
    """Import and return ``ortools.sat.python.cp_model``.

    Raise BackendMissingError if OR-Tools is not installed.
    """
    try:
        known = "pandas" in sys.modules or CP_MODEL in sys.modules
        # Another thread could meet the stand-in for pandas.
        if known or threading.active_count() > 1:
            return import_module(CP_MODEL)
        return _import_without_pandas()
    except ImportError as error:
        raise BackendMissingError(
            f"backend CP-SAT needs the package ortools ({error}); pip install "
            "'ortools>=9.12,<9.16'"
        ) from None


class LaterPandas(ModuleType):
    """A stand-in for the module pandas, which it imports on first use.

    While ``cp_model`` is imported, ``Index`` and ``Series`` are placeholders, because
    ``cp_model`` names them in annotations.
    """

    def __init__(self) -> None:
        super().__init__("pandas")
        self.__dict__.update(Index=object, Series=object)

    def forget_placeholders(self) -> None:
        """Let ``Index`` and ``Series`` be those of pandas from now on."""
        del self.__dict__["Index"]
        del self.__dict__["Series"]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of pandas."""
        return getattr(import_module("pandas"), name)


def _import_without_pandas() -> ModuleType:
    """Import ``cp_model`` while a stand-in takes the place of pandas.

    Importing pandas takes longer than all the rest of CP-SAT, and ``cp_model`` uses it
    only for series of variables, which ioopt does not make.
    """
    later = LaterPandas()
    sys.modules["pandas"] = later
    try:
        return import_module(CP_MODEL)
    finally:
        del sys.modules["pandas"]
        later.forget_placeholders()


def solve_by_cpsat(
    program: Program,
    limits: BackendLimits,
    start: Mapping[int, Number] | None = None,
    *,
    objective: bool = True,
    parameters: Mapping[str, object] | None = None,
    on_solution: Notify | None = None,
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """Write *program* for CP-SAT and solve it with :func:`solve_cpsat`.

    The time for both together is limited by *limits*.
    """
    begun = time.monotonic()
    model = to_cpsat(program, start, objective=objective)
    limits = limits.after(time.monotonic() - begun)
    return solve_cpsat(
        model, limits, parameters=parameters, on_solution=on_solution, cancel=cancel
    )


@collector_paused()
def to_cpsat(
    program: Program,
    start: Mapping[int, Number] | None = None,
    *,
    objective: bool = True,
) -> CpModel:
    """Return *program* as a ``CpModel`` whose variables have the same positions.

    *start* becomes the hint; it is keyed by position.
    """
    cp_model = load_cp_model()
    total = cp_model.LinearExpr.weighted_sum
    model: CpModel = cp_model.CpModel()
    made = [
        model.new_int_var(low, high, name) for name, low, high, _ in program.variables
    ]
    for _, columns, factors, least, most, _ in program.rows:
        left = total([made[at] for at in columns], factors)
        if least is not None and least == most:
            model.add(left == least)
            continue
        if most is not None:
            model.add(left <= most)
        if least is not None:
            model.add(left >= least)
    if objective:
        goal = total(
            [made[at] for at in program.objective], list(program.objective.values())
        )
        if program.maximise:
            model.maximize(goal)
        else:
            model.minimize(goal)
    for at, value in (start or {}).items():
        model.add_hint(made[at], int(value))
    return model


def solve_cpsat(
    model: CpModel,
    limits: BackendLimits,
    *,
    parameters: Mapping[str, object] | None = None,
    on_solution: Notify | None = None,
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """Run CP-SAT on *model* and return what the run proves.

    *parameters* are further SatParameters, keyed by name (such as ``symmetry_level``).
    *on_solution* is called with the solution callback at every improvement. Once
    *cancel* is set, the run ends early. Values of the answer are keyed by the index of
    the variable. Raise BackendFailureError for an invalid model, and KeyboardInterrupt
    after stopping the run.
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
    watcher = None
    if on_solution is not None:
        watcher = _watcher(cp_model, on_solution)
    begun = time.monotonic()
    try:
        code = run_interruptibly(
            lambda: solver.solve(model, watcher), solver.stop_search, cancel
        )
    finally:
        limits.note("\n".join(logs) + "\n")
    seconds = time.monotonic() - begun
    name = solver.status_name(code)
    if name == "MODEL_INVALID":
        raise BackendFailureError(f"CP-SAT answered {name}: {model.validate()}")
    status = Status[name]
    stop = StopReason.FINISHED
    objective = None
    values: dict[int, float] = {}
    if status in (Status.OPTIMAL, Status.FEASIBLE):
        values = dict(enumerate(solver.response_proto.solution))
        if model.has_objective():
            objective = solver.objective_value
    bound = None
    if model.has_objective() and _has_bound(solver, status):
        bound = solver.best_objective_bound
    if status is Status.OPTIMAL and not proven(objective, bound):
        # CP-SAT says OPTIMAL once the requested gap is reached: that alone is no proof.
        status = Status.FEASIBLE
        stop = StopReason.GAP
    elif status in (Status.FEASIBLE, Status.UNKNOWN):
        stop = _limit_met(limits, seconds)
    return BackendAnswer(
        status, stop, values, objective, bound, seconds, NAME, ortools.__version__
    )


def _limit_met(limits: BackendLimits, seconds: float) -> StopReason:
    """Return the reason why a run ended that took *seconds* and has no proof."""
    if limits.seconds is not None and seconds >= CLOCK_SHARE * limits.seconds:
        return StopReason.TIME
    return StopReason.ITERATIONS


def _has_bound(solver: Any, status: Status) -> bool:
    """Return whether the bound that *solver* reports is proven, given the *status* of
    its run.
    """
    if status is Status.INFEASIBLE:
        return False
    if status is Status.OPTIMAL or solver.best_objective_bound != 0.0:
        return True
    # A run that ended before its search began reports a bound of 0, which is not
    # proven.
    return bool(solver.num_branches or solver.num_conflicts)


def _watcher(cp_model: Any, notify: Notify) -> CpSolverSolutionCallback:
    """Return a callback for CP-SAT that calls *notify* at every solution."""

    class Watcher(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            notify(self)

    return Watcher()


def _configure(
    parameters: Any, limits: BackendLimits, more: Mapping[str, object]
) -> None:
    """Set the parameters of a run from its *limits*, then those in *more*."""
    parameters.num_workers = limits.threads
    parameters.random_seed = limits.small_seed
    # run_interruptibly handles Ctrl-C, so that the caller learns of it.
    parameters.catch_sigint_signal = False
    if limits.seconds is not None:
        parameters.max_time_in_seconds = max(limits.seconds, LEAST_SECONDS)
    if limits.gap is not None:
        parameters.relative_gap_limit = limits.gap
    if limits.work is not None:
        parameters.max_deterministic_time = limits.work
    for name, value in more.items():
        setattr(parameters, name, value)
