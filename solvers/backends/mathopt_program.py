"""Programs of :mod:`ioopt.models.program` on HiGHS and SCIP by MathOpt of OR-Tools.

HiGHS cannot be asked to stop there, and looks at its clock only between certain steps, on large
models seconds apart: where it must end on time, or may be cancelled, it has a process of its own.
"""

from __future__ import annotations

import math
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ioopt.errors import BackendFailureError, BackendMissingError
from ioopt.models.program import Program, collector_paused
from ioopt.result import Status, StopReason
from ioopt.solvers.backends import mathopt_run
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits, run_interruptibly
from ioopt.solvers.backends.child import run_child

if TYPE_CHECKING:
    from ortools.math_opt.model_pb2 import ModelProto

APART_TERMS = 30_000
"""Coefficients from which a run has a process of its own, where a time limit is set."""

_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "INFEASIBLE": Status.INFEASIBLE,
    "FEASIBLE": Status.FEASIBLE,
    "NO_SOLUTION_FOUND": Status.UNKNOWN,
}
"""By MathOpt's reason of termination."""
_STOP = {"": StopReason.FINISHED, "TIME": StopReason.TIME, "INTERRUPTED": StopReason.INTERRUPTED}
"""By the limit that was met; any other is one of counts."""


def solve_by_mathopt(
    program: Program,
    solver: str,
    limits: BackendLimits,
    start: Mapping[int, float],
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """What ``HiGHS`` or ``SCIP`` says of *program*, which is in seconds; *cancel*, once set, ends HiGHS."""
    begun = time.monotonic()
    model = to_mathopt(program).SerializeToString()
    left = limits.after(time.monotonic() - begun)
    until = None if left.seconds is None else time.time() + left.seconds
    job: mathopt_run.Job = {
        "model": model, "solver": solver, "start": dict(start), "until": until,
        "gap": limits.gap, "threads": limits.threads, "seed": limits.seed, "log": limits.log,
    }  # fmt: skip
    large = limits.seconds is not None and program.size > APART_TERMS
    if solver == "HiGHS" and (large or cancel is not None):
        found = _apart(job, left, cancel)
    else:
        found = _here(job)
    import ortools

    version = f"OR-Tools {ortools.__version__}"
    if found is None:
        return BackendAnswer(Status.UNKNOWN, StopReason.TIME, backend=solver, version=version)
    status, stop = mathopt_status(solver, found)
    if stop is StopReason.FINISHED and limits.gap is not None:
        stop = StopReason.GAP
    integer = any(variable.nature == "whole" for variable in program.variables)
    bound = found.bound if integer and math.isfinite(found.bound) else None
    return BackendAnswer(status, stop, found.values, bound=bound, backend=solver, version=version)


@collector_paused()
def to_mathopt(program: Program) -> ModelProto:
    """The program as MathOpt's message, with the same positions and without names."""
    try:
        from ortools.math_opt import model_pb2
    except ImportError as error:
        raise BackendMissingError(
            f"backends HiGHS and SCIP need the package ortools ({error}); "
            "pip install 'ortools>=9.12,<9.16'"
        ) from None
    model = model_pb2.ModelProto()
    columns, rows, matrix = (
        model.variables,
        model.linear_constraints,
        model.linear_constraint_matrix,
    )
    columns.ids.extend(range(len(program.variables)))
    columns.lower_bounds.extend(float(item.least) for item in program.variables)
    columns.upper_bounds.extend(_or(item.most, math.inf) for item in program.variables)
    columns.integers.extend(item.nature == "whole" for item in program.variables)
    rows.ids.extend(range(len(program.rows)))
    rows.lower_bounds.extend(_or(row.least, -math.inf) for row in program.rows)
    rows.upper_bounds.extend(_or(row.most, math.inf) for row in program.rows)
    for at, row in enumerate(program.rows):
        terms = sorted((column, float(factor)) for column, factor in row.terms if factor)
        matrix.row_ids.extend([at] * len(terms))
        matrix.column_ids.extend(column for column, _ in terms)
        matrix.coefficients.extend(factor for _, factor in terms)
    model.objective.maximize = program.maximise
    goal = sorted((at, factor) for at, factor in program.objective.items() if factor)
    model.objective.linear_coefficients.ids.extend(at for at, _ in goal)
    model.objective.linear_coefficients.values.extend(float(factor) for _, factor in goal)
    return model


def _or(limit: float | None, none: float) -> float:
    return none if limit is None else float(limit)


def _here(job: mathopt_run.Job) -> mathopt_run.Found:
    try:
        return run_interruptibly(lambda: mathopt_run.run(job), None)
    except Exception as error:
        # MathOpt 9.15 fails while it words a refusal, which then is what this one came from.
        raise BackendFailureError(f"{job['solver']}: {error.__context__ or error}") from None


def _apart(
    job: mathopt_run.Job, limits: BackendLimits, cancel: threading.Event | None
) -> mathopt_run.Found | None:
    """The same in a process of its own; None where it had to be ended."""
    with tempfile.TemporaryDirectory(prefix="ioopt-mathopt-") as folder:
        asked, answer = Path(folder, "job"), Path(folder, "answer")
        asked.write_bytes(pickle.dumps(job))
        command = [sys.executable, mathopt_run.__file__, str(asked), str(answer)]
        run_child(command, replace(limits, log=None), cancel)
        if not answer.exists():
            return None
        return mathopt_run.Found(*pickle.loads(answer.read_bytes()))


def mathopt_status(solver: str, found: mathopt_run.Found) -> tuple[Status, StopReason]:
    """Status and stop reason for how a run ended; errors and endings that no table knows raise."""
    if found.reason not in _STATUS:
        raise BackendFailureError(f"{solver} answered {found.reason}: {found.detail}")
    return _STATUS[found.reason], _STOP.get(found.limit, StopReason.ITERATIONS)
