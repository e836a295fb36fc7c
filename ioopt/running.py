"""Run one solver and return its answer, or say why there is none.

A solver that was named and raises has failed: no other solver answers in its name. Only where none was
named does the kind's fallback take the place of the default solver. Failures go to the logger
``ioopt`` with their whole traceback (``--traceback`` shows it).
"""

import inspect
import logging
import math
import os
import signal
import sysconfig
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from ioopt import errors, registry
from ioopt.formats.native import shown, validate
from ioopt.options import suggest
from ioopt.problems.base import Problem
from ioopt.protocols import Incumbents, Outcome, SolveRequest, SolverFunction
from ioopt.registry import KindSpec, SolverSpec, load_target
from ioopt.result import StopReason
from ioopt.units import is_number

LOG = logging.getLogger("ioopt")
PACKAGE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
"""Folders of code that is not the user's."""
ASKED_AGAIN_SECONDS = 0.5
"""How often an own solver past its limit is ended again, should it have swallowed the exception."""


def plan_of(kind: KindSpec, plan: object, name: str = "plan") -> Any:
    """Return the plan object of a kind from its dictionary (an object is returned as it is)."""
    if plan is None or kind.plan is None or isinstance(plan, load_target(kind.plan)):
        return plan
    found = validate(load_target(kind.plan), plan, name)
    rows = registry.solvers_for(kind.kind)
    known = [row.name for row in rows if row.policy and row.variant_of is None]
    given = getattr(found, "policy", None)
    if known and given is not None and given not in known:
        raise errors.InstanceError(
            f"{name}: policy: there is no {given!r}; {suggest(given, known)}"
        )
    return found


def run(
    kind: KindSpec, spec: SolverSpec, problem: Problem, request: SolveRequest, named: bool
) -> tuple[Outcome, list[str]]:
    """Run the solver and return its outcome with notes.

    Interrupted or out of time, it answers with the best plan that it reported. *named* says that the
    user asked for this solver: if it raises, the outcome has ``failed``; otherwise the kind's fallback
    answers, with a note. Raises UsageError, InstanceError (also for an answer of a wrong form) and
    BackendMissingError.
    """
    best = request.incumbents
    own = is_own(spec)
    try:
        answer = _call(spec, problem, request)
    except KeyboardInterrupt:
        found = " before any plan" if best.plan is None else ": the best plan so far"
        return _best(best, StopReason.INTERRUPTED), ["interrupted" + found]
    except (errors.NotApplicableError, errors.BackendMissingError):
        raise
    except errors.OutOfTime as error:
        note = f"{spec.name}: {error}"
        if own:
            return _best(best, StopReason.TIME), [note]
        return _instead(kind, spec, problem, request, note, StopReason.TIME)
    except BaseException as error:  # sys.exit() too: a solver ends no command
        if isinstance(error, (errors.UsageError, errors.InstanceError)) and not own:
            raise
        note = failure(spec, error)
        if named:
            return replace(_best(best, StopReason.FINISHED), failed=True), [note]
        return _instead(kind, spec, problem, request, note, StopReason.FALLBACK)
    return _outcome(kind, spec, answer)


def is_own(spec: SolverSpec) -> bool:
    """Return whether the solver is a function of the user, which no registry knows."""
    return ":" in spec.name


def failure(spec: SolverSpec, error: BaseException) -> str:
    """Return the line that says how and where the solver failed; log the whole traceback."""
    LOG.debug("%s failed", spec.name, exc_info=error)
    said = " ".join(str(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"{spec.name} failed ({text}) at {_place(spec, error)}"


def _place(spec: SolverSpec, error: BaseException) -> str:
    """Return ``file:line`` of the innermost call in the user's code, else where the solver stands."""
    code = getattr(inspect.unwrap(load_target(spec.target)), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    strange = (*LIBRARIES, PACKAGE, "<") if is_own(spec) else (*LIBRARIES, "<")
    users = [frame for frame in frames if not frame.filename.startswith(strange)]
    beside = [frame for frame in frames if code and frame.filename == code.co_filename]
    if found := users or beside:
        return f"{_short(found[-1].filename)}:{found[-1].lineno}"
    return f"{_short(code.co_filename)}:{code.co_firstlineno}" if code else spec.name


def _short(filename: str) -> str:
    """Return the path from the working folder where it lies in it, else as it is."""
    path = Path(filename)
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else filename


def _instead(
    kind: KindSpec,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    note: str,
    stop: StopReason,
) -> tuple[Outcome, list[str]]:
    """Return the best plan that the solver had reported, else the answer of the kind's fallback."""
    if request.incumbents.plan is not None:
        return _best(request.incumbents, StopReason.FALLBACK), [
            f"{note}; the best plan it had found"
        ]
    failed = stop is StopReason.FALLBACK
    if kind.fallback is None or kind.fallback == spec.name:
        return Outcome(None, stop=StopReason.FINISHED if failed else stop, failed=failed), [note]
    fallback = registry.solver(kind.fallback, kind)
    plain = replace(
        request,
        settings=registry.settings_for(fallback, {}),
        start=None,
        deadline=request.deadline.with_overtime(),
    )
    try:
        answer = _call(fallback, problem, plain)
    except (errors.NotApplicableError, errors.OutOfTime) as second:
        return Outcome(None, stop=stop, failed=failed), [note, f"{fallback.name}: {second}"]
    outcome, notes = _outcome(kind, fallback, answer)
    answered = f"{note}; answered by {fallback.name}"
    return replace(outcome, stop=StopReason.FALLBACK), [answered, *notes]


def _best(found: Incumbents, stop: StopReason) -> Outcome:
    return Outcome(found.plan, found.bound, stop, objective_name=found.objective_name)


def _call(spec: SolverSpec, problem: Problem, request: SolveRequest) -> object:
    """Return what the solver's function returns."""
    policy = load_target(spec.policy)(request.settings) if spec.policy else None
    solve: SolverFunction[Problem, Any, Any] = load_target(spec.target)
    asked = replace(request, policy=policy)
    if not is_own(spec):
        return solve(problem, asked)
    with _ended_in_time(spec, request):
        return solve(problem, asked)


@contextmanager
def _ended_in_time(spec: SolverSpec, request: SolveRequest) -> Iterator[None]:
    """Raise OutOfTime in an own solver that overstays its limit, overtime included.

    Python can only do so in the main thread, and only where nobody else has set an alarm.
    """
    limit = request.options.time_limit_seconds
    free = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if limit is None or not free or signal.getitimer(signal.ITIMER_REAL)[0] > 0:
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise errors.OutOfTime(f"did not return within its time limit of {limit:g} s")

    left = max(request.deadline.with_overtime().remaining(), 1e-3)
    before = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, left, ASKED_AGAIN_SECONDS)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _outcome(kind: KindSpec, spec: SolverSpec, answer: object) -> tuple[Outcome, list[str]]:
    """Return the outcome that *answer* is or holds; InstanceError for one of a wrong form."""
    name = f"the plan of {spec.name}"
    if not isinstance(answer, Outcome):
        notes = [f"{spec.name} returned None, no plan"] if answer is None else []
        return Outcome(plan_of(kind, answer, name)), notes
    if not is_own(spec):
        return answer, []
    for part, value in (("bound", answer.bound), ("build_seconds", answer.build_seconds)):
        if value is not None and not (is_number(value) and math.isfinite(value)):
            raise errors.InstanceError(
                f"{spec.name}: {part}: wanted a finite number or None, not {shown(value)}"
            )
    if not isinstance(answer.stop, StopReason):
        known = ", ".join(StopReason)
        raise errors.InstanceError(
            f"{spec.name}: stop: {shown(answer.stop)} is no StopReason: {known}"
        )
    return replace(answer, plan=plan_of(kind, answer.plan, name)), []
