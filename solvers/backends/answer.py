"""What every backend is given and what it gives back, whichever library runs it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ioopt.protocols import SolveRequest
from ioopt.result import TINY, Status, StopReason

ResultT = TypeVar("ResultT")

GLANCE_SECONDS, CANCEL_GLANCE_SECONDS = 0.2, 0.05
"""How often the main thread looks for Ctrl-C, and for another engine's proof."""
LEAVING_SECONDS = 5.0
"""How long an interrupted backend may take to end."""
LEAST_SECONDS = 0.001
"""No backend is given less: some take 0 for no limit."""


def proven(objective: float | None, bound: float | None) -> bool:
    """Whether what a backend calls optimal is: at the gap asked for some call an answer so."""
    if objective is None or bound is None:
        return True
    return abs(objective - bound) <= 1e-9 * max(abs(objective), TINY)


@dataclass(frozen=True)
class BackendLimits:
    """Limits and options of one run of a backend; None is the backend's default.

    ``seconds`` of wall clock; relative ``gap`` at which to stop (None: only a proof ends the run);
    ``work``, deterministic seconds of CP-SAT; ``log`` a file to which the backend's own log is
    appended.
    """

    seconds: float | None = None
    gap: float | None = None
    threads: int = 1
    seed: int = 0
    log: str | None = None
    work: float | None = None

    @classmethod
    def of(cls, request: SolveRequest, seconds: float | None = None) -> BackendLimits:
        """The limits of a solver's request: what is left of its deadline, at most *seconds*."""
        asked = request.options
        left = min(request.deadline.remaining(), math.inf if seconds is None else seconds)
        least = None if math.isinf(left) else left
        return cls(least, asked.gap, asked.threads, asked.seed, asked.log)

    def after(self, seconds: float) -> BackendLimits:
        """The limits once *seconds* have gone by."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(LEAST_SECONDS, self.seconds - seconds))


@dataclass(frozen=True)
class BackendAnswer:
    """The answer of one run, with the status it has really earned.

    ``values`` are by position for programs and CP-SAT models, by variable name for PuLP models, and
    empty when no solution was found. ``bound`` limits the objective (lower when minimising), None where the
    backend gives none. ``status`` is optimal only with a proof: a run that stopped at a gap, a
    clock or a count is feasible, and ``stop`` says which.
    """

    status: Status
    stop: StopReason
    values: Mapping[Any, float] = field(default_factory=dict)
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


def run_interruptibly(
    work: Callable[[], ResultT],
    stop: Callable[[], None],
    cancel: threading.Event | None = None,
) -> ResultT:
    """Run blocking native *work* in a thread so that Ctrl-C is seen; *stop* asks the work to end.

    *cancel*, once set, does so too (another engine has the proof). Raises KeyboardInterrupt once
    the work has ended, and whatever the work raised.
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
            if cancel is not None and cancel.is_set():
                stop()
    except KeyboardInterrupt:
        stop()
        thread.join(LEAVING_SECONDS)
        raise
    if failure:
        raise failure[0]
    return answer[0]
