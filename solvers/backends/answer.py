"""What every backend is given and what it gives back, whichever library runs it."""

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

GLANCE_SECONDS, CANCEL_GLANCE_SECONDS = 0.2, 0.05
"""How often the main thread looks for Ctrl-C, and for another engine's proof."""
LEAVING_SECONDS = 5.0
"""How long an interrupted backend may take to end."""
LEAST_SECONDS = 0.001
"""No backend is given less: some take 0 for no limit."""
FEASIBILITY = 1e-5
"""Of a row's largest number: what a floating-point backend may miss a limit by."""


def proven(objective: float | None, bound: float | None) -> bool:
    """Whether what a backend calls optimal is: at the gap asked for
    some call an answer so.
    """
    if objective is None or bound is None:
        return True
    return abs(objective - bound) <= 1e-9 * max(abs(objective), TINY)


@dataclass(frozen=True)
class BackendLimits:
    """Limits and options of one run of a backend; None is the backend's default.

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
        """The limits of a solver's request: what is left of its
        deadline, at most *seconds*.
        """
        asked = request.options
        left = min(
            request.deadline.remaining(), math.inf if seconds is None else seconds
        )
        least = None if math.isinf(left) else left
        return cls(least, asked.gap, asked.threads, asked.seed, asked.log)

    def note(self, text: str) -> None:
        """Append *text* to the log, where there is one."""
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as stream:
                stream.write(text)

    def after(self, seconds: float) -> BackendLimits:
        """The limits once *seconds* have gone by."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(LEAST_SECONDS, self.seconds - seconds))


@dataclass(frozen=True)
class BackendAnswer:
    """The answer of one run, with the status it has really earned.

    ``values`` are by position, and empty when no solution was found. ``bound`` limits
    the objective (lower when minimising), None where the backend gives none. ``status``
    is optimal only with a proof: a run that stopped at a gap, a clock or a count is
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
        """Whether there is a solution."""
        return self.status in (Status.OPTIMAL, Status.FEASIBLE)


def judged(program: Program, answer: BackendAnswer) -> BackendAnswer:
    """Believe values only where they keep every limit, and
    "optimal" only without a gap.
    """
    if not answer.found:
        return replace(answer, values={}, objective=None)
    worst = _worst_miss(program, answer.values)
    if worst > FEASIBILITY:
        if answer.status is Status.OPTIMAL:
            raise BackendFailureError(
                f"{answer.backend} calls optimal what breaks a constraint by {worst:g}"
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
    """The largest part of its largest number by which a row, a limit or a
    whole number is missed.
    """
    if not all(
        math.isfinite(values.get(at, math.nan)) for at in range(len(program.variables))
    ):
        return math.inf
    whole = [at for at, item in enumerate(program.variables) if item.nature == "whole"]
    broken = (
        float(amount) / float(largest) for _, amount, largest in program.misses(values)
    )
    return max(
        max(broken, default=0.0),
        max((abs(values[at] - round(values[at])) for at in whole), default=0.0),
    )


def run_interruptibly(
    work: Callable[[], ResultT],
    stop: Callable[[], None] | None,
    cancel: threading.Event | None = None,
) -> ResultT:
    """Run blocking native *work* in a thread so that Ctrl-C is seen; *stop*
    asks the work to end.

    *cancel*, once set, does so too (another engine has the proof). Raises
    KeyboardInterrupt once the work has ended, at once where nothing can ask it to, and
    whatever the work raised.
    """
    answer: list[ResultT] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            answer.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="backend", daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(GLANCE_SECONDS if cancel is None else CANCEL_GLANCE_SECONDS)
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
