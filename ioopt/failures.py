"""Call solvers written by the user, and describe how and where a solver failed.

Failures go to the logger ``ioopt`` with their whole traceback (``--traceback`` shows
it).
"""

import inspect
import logging
import math
import os
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path

from ioopt import errors
from ioopt.families import SolverSpec
from ioopt.formats.native import shown
from ioopt.problems.base import Problem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.units import is_number

LOG = logging.getLogger("ioopt")
PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
LIBRARIES = tuple(
    os.path.join(sysconfig.get_path(name), "")
    for name in ("stdlib", "purelib", "platlib")
)
"""Folders of code that was not written by the user."""


def failure(spec: SolverSpec, error: BaseException) -> str:
    """Return one line that describes how and where the solver failed; log the whole
    traceback.
    """
    LOG.debug("%s failed", spec.name, exc_info=error)
    if isinstance(error, errors.OwnSolverError) and error.__cause__ is not None:
        error = error.__cause__
    said = " ".join(_said(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"{spec.name} failed ({text}) at {_place(spec, error)}"


def _said(error: BaseException) -> str:
    """Return the text of an exception; empty when the exception's class cannot produce
    one.
    """
    try:
        return str(error)
    except Exception:
        return ""


def _place(spec: SolverSpec, error: BaseException) -> str:
    """Return ``file:line`` of the innermost call in the user's code; if there is none,
    the place where the solver is defined.
    """
    code = getattr(inspect.unwrap(spec.solve_function()), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    strange = (*LIBRARIES, PACKAGE, "<") if spec.own else (*LIBRARIES, "<")
    users = [frame for frame in frames if not frame.filename.startswith(strange)]
    beside = [frame for frame in frames if code and frame.filename == code.co_filename]
    if found := users or beside:
        return f"{_short(found[-1].filename)}:{found[-1].lineno}"
    return f"{_short(code.co_filename)}:{code.co_firstlineno}" if code else spec.name


def _short(filename: str) -> str:
    """Return *filename* relative to the working folder if the file lies inside it, else
    *filename* unchanged.
    """
    path = Path(filename)
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else filename


def call_own(
    spec: SolverSpec,
    run: Callable[..., object],
    problem: Problem,
    request: SolveRequest,
) -> object:
    """Call the user's solver and return its answer as an Outcome.

    Raises InstanceError for an answer of a wrong form, and OwnSolverError for
    exceptions that would otherwise be reported as faults of the command or the
    instance.
    """
    try:
        answer = run(problem, request)
    except (errors.NotApplicableError, errors.BackendMissingError):
        raise
    except (errors.UsageError, errors.InstanceError) as error:
        raise errors.OwnSolverError(str(error)) from error
    if isinstance(answer, Outcome):
        _require_form(spec, answer)
    return answer


def _require_form(spec: SolverSpec, answer: Outcome) -> None:
    """Raise InstanceError when the bound or the build time of an outcome is not a
    finite number or None, or when its stop is not a StopReason.
    """
    for part, value in (
        ("bound", answer.bound),
        ("build_seconds", answer.build_seconds),
    ):
        if value is not None and not (is_number(value) and math.isfinite(value)):
            raise errors.InstanceError(
                f"{spec.name}: {part}: wanted a finite number or None, not "
                f"{shown(value)}"
            )
    if not isinstance(answer.stop, StopReason):
        known = ", ".join(StopReason)
        raise errors.InstanceError(
            f"{spec.name}: stop: {shown(answer.stop)} is no StopReason: {known}"
        )
