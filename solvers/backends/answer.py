"""Define the limits that every backend gets and the answer that it returns."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ioopt.errors import BackendFailureError
from ioopt.models.program import Program
from ioopt.protocols import SolveRequest
from ioopt.result import TINY, Status, StopReason

ResultT = TypeVar("ResultT")

GLANCE_SECONDS = 0.2
"""Seconds between two checks of the main thread for Ctrl-C."""
CANCEL_GLANCE_SECONDS = 0.05
"""Seconds between two checks whether the run was cancelled."""
LEAVING_SECONDS = 5.0
"""Seconds that an interrupted backend has to end."""
LEAST_SECONDS = 0.001
"""Least time limit given to a backend, in seconds; some backends take 0 as "no
limit".
"""
FEASIBILITY = 1e-5
"""Relative violation of a limit that a floating-point backend is allowed.

It is relative to the largest number of the row.
"""


def proven(objective: float | None, bound: float | None) -> bool:
    """Return whether an answer that a backend calls optimal is proven: *bound* is
    *objective*.

    Some backends call an answer optimal as soon as the requested gap is reached.
    """
    if objective is None or bound is None:
        return True
    return abs(objective - bound) <= 1e-9 * max(abs(objective), TINY)


@dataclass(frozen=True)
class BackendLimits:
    """Limits and configuration of one run of a backend; None means the backend's
    default.

    ``seconds`` limits wall-clock time. ``gap`` is the relative gap at which to stop;
    with None only a proof ends the run. ``work`` limits the deterministic time of
    CP-SAT, in seconds. ``log`` is a file to which the backend's own log is appended.
    """

    seconds: float | None = None
    gap: float | None = None
    threads: int = 1
    seed: int = 0
    log: str | None = None
    work: float | None = None

    @property
    def small_seed(self) -> int:
        """Return the seed as backends take it: in 31 bits, also increased by 1."""
        return self.seed % (2**31 - 1)

    @classmethod
    def of(cls, request: SolveRequest, seconds: float | None = None) -> BackendLimits:
        """Return the limits of a solver's *request*.

        The run gets the time left, but at most *seconds*.
        """
        asked = request.options
        left: float | None = request.deadline.remaining()
        if seconds is not None:
            left = min(request.deadline.remaining(), seconds)
        if left == math.inf:
            left = None
        return cls(left, asked.gap, asked.threads, asked.seed, asked.log)

    def note(self, text: str) -> None:
        """Append *text* to the log file, if there is one."""
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as stream:
                stream.write(text)

    def after(self, seconds: float) -> BackendLimits:
        """Return the same limits with *seconds* less time."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(LEAST_SECONDS, self.seconds - seconds))


@dataclass(frozen=True)
class BackendAnswer:
    """The answer of one run of a backend, with the status that it proves.

    ``values`` are keyed by the position of the variable, and empty without a solution.
    ``bound`` limits the objective, from below when minimising; it is None if the
    backend gives none. ``status`` is optimal only with a proof. A run that stopped at a
    gap, at its time limit or at a count is feasible, and ``stop`` says why it stopped.
    ``prices`` are the dual prices of rows, keyed by name.
    """

    status: Status
    stop: StopReason
    values: Mapping[int, float] = field(default_factory=dict)
    objective: float | None = None
    bound: float | None = None
    seconds: float = 0.0
    backend: str = ""
    version: str = ""
    prices: Mapping[str, float] = field(default_factory=dict)

    @property
    def found(self) -> bool:
        """Return whether a solution was found."""
        return self.status in (Status.OPTIMAL, Status.FEASIBLE)


def judged(program: Program, answer: BackendAnswer) -> BackendAnswer:
    """Return *answer* with the status that its values and its bound prove.

    Values count only if they satisfy every limit. The status is optimal only if the
    bound equals the objective. Raise BackendFailureError if a backend calls values
    optimal that violate a constraint.
    """
    if not answer.found:
        return replace(answer, values={}, objective=None)
    worst = _worst_miss(program, answer.values)
    if worst > FEASIBILITY:
        if answer.status is Status.OPTIMAL:
            raise BackendFailureError(
                f"{answer.backend} calls a solution optimal that breaks a "
                f"constraint by {worst:g}"
            )
        return replace(answer, status=Status.UNKNOWN, values={})
    objective = math.fsum(
        factor * answer.values[at] for at, factor in program.objective.items()
    )
    answer = replace(answer, objective=objective)
    if answer.status is not Status.OPTIMAL:
        return answer
    if answer.stop is StopReason.GAP and not proven(objective, answer.bound):
        return replace(answer, status=Status.FEASIBLE)
    return replace(answer, stop=StopReason.FINISHED, bound=objective)


def _worst_miss(program: Program, values: Mapping[int, float]) -> float:
    """Return the largest violation of a row, of a limit or of integrality.

    Violations of rows and limits are relative to the largest number of the row.
    """
    worst = 0.0
    for at, item in enumerate(program.variables):
        value = values.get(at, math.nan)
        if not math.isfinite(value):
            return math.inf
        if item.nature == "whole":
            worst = max(worst, abs(value - round(value)))
    for _, amount, largest in program.misses(values):
        worst = max(worst, float(amount) / float(largest))
    return worst


def run_interruptibly(
    work: Callable[[], ResultT],
    stop: Callable[[], None] | None,
    cancel: threading.Event | None = None,
) -> ResultT:
    """Run blocking native *work* in a thread, so that the main thread can react to
    Ctrl-C.

    *stop* asks the work to end; it is also called once *cancel* is set. On Ctrl-C,
    raise KeyboardInterrupt after the work has ended, or at once if nothing can stop it.
    An exception of the work is raised too.
    """
    answer: list[ResultT] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            answer.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="backend", daemon=True)
    glance = GLANCE_SECONDS if cancel is None else CANCEL_GLANCE_SECONDS
    try:
        thread.start()
        while thread.is_alive():
            thread.join(glance)
            if stop is not None and cancel is not None and cancel.is_set():
                stop()
    except KeyboardInterrupt:
        if stop is not None:
            stop()
            thread.join(LEAVING_SECONDS)
        raise
    if failure:
        raise failure[0]
    return answer[0]
