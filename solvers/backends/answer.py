"""Define what every backend gets and returns, whichever library runs it."""

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
"""Seconds between two checks whether another engine has the proof."""
LEAVING_SECONDS = 5.0
"""Seconds that an interrupted backend may take to end."""
LEAST_SECONDS = 0.001
"""Least time limit in seconds given to a backend; some take 0 as "no limit"."""
FEASIBILITY = 1e-5
"""Share of a row's largest number by which a floating-point backend may miss a
limit.
"""


def proven(objective: float | None, bound: float | None) -> bool:
    """Return whether an answer that a backend calls optimal is proven optimal.

    Some backends say optimal once the requested gap is reached.
    """
    if objective is None or bound is None:
        return True
    return abs(objective - bound) <= 1e-9 * max(abs(objective), TINY)


@dataclass(frozen=True)
class BackendLimits:
    """Limit and configure one run of a backend; None means the backend's default.

    ``seconds`` of wall clock; relative ``gap`` at which to stop (None: only a proof
    ends the run); ``work``, deterministic seconds of CP-SAT; ``log`` a file to which
    the backend's own log is appended.
    """

    seconds: float | None = None
    gap: float | None = None
    threads: int = 1
    seed: int = 0
    log: str | None = None
    work: float | None = None

    @classmethod
    def of(cls, request: SolveRequest, seconds: float | None = None) -> BackendLimits:
        """Return the limits of a solver's *request*: at most *seconds* of its time
        left.
        """
        asked = request.options
        left: float | None = request.deadline.remaining()
        if seconds is not None:
            left = min(request.deadline.remaining(), seconds)
        if left == math.inf:
            left = None
        return cls(left, asked.gap, asked.threads, asked.seed, asked.log)

    def note(self, text: str) -> None:
        """Append *text* to the log if there is one."""
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as stream:
                stream.write(text)

    def after(self, seconds: float) -> BackendLimits:
        """Return the limits left after *seconds* have passed."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(LEAST_SECONDS, self.seconds - seconds))


@dataclass(frozen=True)
class BackendAnswer:
    """Represent the answer of one run, with the status that it proves.

    ``values`` are by position, and empty when no solution was found. ``bound`` limits
    the objective (lower when minimising), None if the backend gives none. ``status`` is
    optimal only with a proof: a run that stopped at a gap, a clock or a count is
    feasible, and ``stop`` says which.
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

    Values count only if they satisfy every limit, and the status is "optimal" only
    without a gap.
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
    """Return the largest violation of a row, a limit or integrality.

    Violations of rows and limits are relative to the row's largest number.
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
    """Run blocking native *work* in a thread, so that Ctrl-C is seen.

    *stop* asks the work to end. Once *cancel* is set, it is stopped too (another engine
    has the proof). Raises KeyboardInterrupt once the work has ended, or at once if
    nothing can stop it, and any exception of the work.
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
