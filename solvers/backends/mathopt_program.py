"""Run programs of :mod:`ioopt.models.program` on HiGHS and SCIP by MathOpt of OR-Tools.

HiGHS runs in a process of its own, ``python -m
ioopt.solvers.backends.mathopt_program JOB ANSWER`` with pickled files, in two cases.
MathOpt cannot stop HiGHS, which looks at its clock only every few seconds on large
models: so a large model with a time limit runs there. And a process that has loaded a
newer HiGHS through highspy, as PuLP does, ends with a segmentation fault in MathOpt's.
"""

from __future__ import annotations

import datetime
import math
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioopt.errors import BackendFailureError, BackendMissingError
from ioopt.models.program import Program
from ioopt.problems.base import collector_paused
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import (
    LEAST_SECONDS,
    BackendAnswer,
    BackendLimits,
    run_interruptibly,
)
from ioopt.solvers.backends.child import run_child

if TYPE_CHECKING:
    from ortools.math_opt.python.mathopt import (
        Model,
        SolveParameters,
        SolveResult,
        Variable,
    )

APART_TERMS = 30_000
"""Largest number of coefficients of a program that HiGHS solves in this process when
there is a time limit.
"""

LAST_FIT_HIGHS = (1, 12)
"""Last version (major, minor) of highspy that can share a process with the HiGHS of
OR-Tools 9.12 to 9.15.
"""

_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "INFEASIBLE": Status.INFEASIBLE,
    "FEASIBLE": Status.FEASIBLE,
    "NO_SOLUTION_FOUND": Status.UNKNOWN,
}
"""Status for each reason of termination that MathOpt gives."""
_STOP = {
    None: StopReason.FINISHED,
    "TIME": StopReason.TIME,
    "INTERRUPTED": StopReason.INTERRUPTED,
}
"""Stop reason for each limit that a run met; every other limit is a count."""


def solve_by_mathopt(
    program: Program,
    solver: str,
    limits: BackendLimits,
    start: Mapping[int, float],
) -> BackendAnswer:
    """Solve *program*, which must be in seconds, by ``HiGHS`` or ``SCIP``."""
    large = limits.seconds is not None and program.size > APART_TERMS
    if solver == "HiGHS" and (large or unfit_highs_loaded()):
        return _apart(program, solver, limits, start)
    return run_interruptibly(lambda: run(program, solver, limits, start), None)


def unfit_highs_loaded() -> bool:
    """Return whether this process has loaded a highspy whose HiGHS crashes MathOpt's.

    Versions that are newer than the last one tried, or that cannot be told, count.
    """
    loaded = sys.modules.get("highspy")
    if loaded is None:
        return False
    names = ("HIGHS_VERSION_MAJOR", "HIGHS_VERSION_MINOR")
    version = tuple(getattr(loaded, name, math.inf) for name in names)
    return version > LAST_FIT_HIGHS


def _apart(
    program: Program,
    solver: str,
    limits: BackendLimits,
    start: Mapping[int, float],
) -> BackendAnswer:
    """Call :func:`run` in another process, which imports modules from the same
    places.
    """
    begun = time.time()
    with tempfile.TemporaryDirectory(prefix="ioopt-mathopt-") as folder:
        asked = Path(folder, "job")
        answer = Path(folder, "answer")
        asked.write_bytes(pickle.dumps((begun, program, solver, limits, dict(start))))
        left = replace(limits.after(time.time() - begun), log=None)
        command = [sys.executable, "-m", __name__, str(asked), str(answer)]
        run_child(
            command, left, {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        )
        if answer.exists():
            found: BackendAnswer = pickle.loads(answer.read_bytes())
            return found
        return BackendAnswer(Status.UNKNOWN, StopReason.TIME, backend=solver)


def main(job: str, answer: str) -> None:
    """Read a job from file *job*, solve it, and write the answer to file *answer*.

    The answer file appears only when it is complete.
    """
    begun, program, solver, limits, start = pickle.loads(Path(job).read_bytes())
    found = run(program, solver, limits.after(time.time() - begun), start)
    Path(f"{answer}.part").write_bytes(pickle.dumps(found))
    os.replace(f"{answer}.part", answer)


def load_mathopt() -> None:
    """Import MathOpt; raise BackendMissingError if OR-Tools is not installed."""
    try:
        import ortools.math_opt.python.mathopt  # noqa: F401
    except ImportError as error:
        raise BackendMissingError(
            f"backends HiGHS and SCIP need the package ortools ({error}); "
            "pip install 'ortools>=9.12,<9.16'"
        ) from None


def run(
    program: Program, solver: str, limits: BackendLimits, start: Mapping[int, float]
) -> BackendAnswer:
    """Solve *program* in this process; building the model counts against the time
    limit.
    """
    begun = time.monotonic()
    load_mathopt()
    import ortools
    from ortools.math_opt.python import mathopt

    model, columns = to_mathopt(program)
    given = mathopt.ModelSolveParameters()
    if start:
        hint = {columns[at]: value for at, value in start.items()}
        given.solution_hints.append(mathopt.SolutionHint(variable_values=hint))
    parameters = _parameters(solver, limits.after(time.monotonic() - begun))
    lines: list[str] = []
    try:
        result = _solved(
            model,
            solver,
            params=parameters,
            model_params=given,
            msg_cb=lines.extend if limits.log is not None else None,
        )
    except Exception as error:
        # MathOpt 9.15 fails while formatting an error; the real error is then the
        # context.
        raise BackendFailureError(f"{solver}: {error.__context__ or error}") from None
    limits.note("".join(f"{line}\n" for line in lines))
    end = result.termination
    status, stop = mathopt_status(
        solver, end.reason.name, end.limit and end.limit.name, end.detail
    )
    if stop is StopReason.FINISHED and limits.gap is not None:
        stop = StopReason.GAP
    values: dict[int, float] = {}
    if result.has_primal_feasible_solution():
        values = dict(enumerate(map(float, result.variable_values(columns))))
    return BackendAnswer(
        status,
        stop,
        values,
        bound=_bound(program, result),
        backend=solver,
        version=f"OR-Tools {ortools.__version__}",
    )


def _bound(program: Program, result: SolveResult) -> float | None:
    """Return the bound that a run proved.

    Return None if it is not finite or if the program has no whole numbers.
    """
    bound = float(result.termination.objective_bounds.dual_bound)
    if not math.isfinite(bound):
        return None
    if all(variable.nature != "whole" for variable in program.variables):
        return None
    return bound


def _solved(
    model: Model, solver: str, *, params: SolveParameters, **more: Any
) -> SolveResult:
    """Run *solver* on *model*.

    If the run cannot say whether the model is infeasible or unbounded, run again
    without presolve.
    """
    from ortools.math_opt.python import mathopt

    kind = mathopt.SolverType.GSCIP
    if solver == "HiGHS":
        kind = mathopt.SolverType.HIGHS
    result = mathopt.solve(model, kind, params=params, **more)
    unclear = mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED
    if result.termination.reason is not unclear:
        return result
    # Presolve found that there is no optimum; the simplex method tells whether the
    # model is infeasible or unbounded.
    params.presolve = mathopt.Emphasis.OFF
    return mathopt.solve(model, kind, params=params, **more)


def _parameters(solver: str, limits: BackendLimits) -> SolveParameters:
    """Return the parameters of a run; without a gap only a proof or a limit ends it."""
    from ortools.math_opt.python import mathopt
    from ortools.math_opt.solvers import highs_pb2

    how = mathopt.SolveParameters(relative_gap_tolerance=limits.gap)
    if limits.seconds is not None:
        how.time_limit = datetime.timedelta(seconds=max(LEAST_SECONDS, limits.seconds))
    if solver == "HiGHS":
        # MathOpt does not pass the number of threads to HiGHS; its own options do.
        how.highs = highs_pb2.HighsOptionsProto(
            int_options={"threads": limits.threads, "random_seed": limits.small_seed},
            double_options={"mip_rel_gap": limits.gap or 0.0, "mip_abs_gap": 0.0},
        )
    elif limits.small_seed:
        how.random_seed = limits.small_seed
    return how


@collector_paused()
def to_mathopt(program: Program) -> tuple[Model, list[Variable]]:
    """Return *program* as a MathOpt model without names, and its variables by
    position.
    """
    from ortools.math_opt.python import mathopt

    model: Model = mathopt.Model()
    columns = [
        model.add_variable(
            lb=float(item.least),
            ub=_or(item.most, math.inf),
            is_integer=item.nature == "whole",
        )
        for item in program.variables
    ]
    for row in program.rows:
        made = model.add_linear_constraint(
            lb=_or(row.least, -math.inf), ub=_or(row.most, math.inf)
        )
        for at, factor in row.terms:
            made.set_coefficient(columns[at], float(factor))
    model.objective.is_maximize = program.maximise
    for at, factor in program.objective.items():
        model.objective.set_linear_coefficient(columns[at], float(factor))
    return model, columns


def _or(limit: float | None, none: float) -> float:
    """Return *limit* as a float, or *none* if there is no limit."""
    if limit is None:
        return none
    return float(limit)


def mathopt_status(
    solver: str, reason: str, limit: str | None, detail: str
) -> tuple[Status, StopReason]:
    """Translate how a run ended into a status and a stop reason.

    Raise BackendFailureError for an error or an unknown reason.
    """
    if reason not in _STATUS:
        raise BackendFailureError(f"{solver} answered {reason}: {detail}")
    return _STATUS[reason], _STOP.get(limit, StopReason.ITERATIONS)


if __name__ == "__main__":
    main(*sys.argv[1:3])
