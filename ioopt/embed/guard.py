"""A decision that always comes back: the wanted solver within its deadline, else the greedy.

A scheduler's loop must never be broken by a solver. :func:`guarded` runs one in a thread of its own
and gives up waiting at the deadline; a solver that raises, hangs or returns nonsense is answered
by the fallback, and a note says so. A hung thread is abandoned (Python cannot stop it); after
``MAX_ABANDONED`` of them the wanted solver is not asked again, so that threads cannot pile up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MAX_ABANDONED = 4


@dataclass(frozen=True)
class Decision(Generic[T]):
    """A decision and what is known about it: notes say when and why a fallback answered."""

    value: T
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    notes: tuple[str, ...] = ()


class Guard:
    """Runs decisions under deadlines and remembers how many solver threads were abandoned."""

    def __init__(self) -> None:
        self._abandoned: list[threading.Thread] = []

    def run(
        self,
        wanted: Callable[[], T],
        fallback: Callable[[], T],
        sound: Callable[[T], str | None],
        deadline: float | None,
    ) -> tuple[T, tuple[str, ...]]:
        """The value of *wanted*, or of *fallback* with the reason.

        *sound* returns what is wrong with a value, None when it is good. *deadline* is in seconds;
        None waits for ever and runs in the calling thread. *fallback* must be quick and trusted.
        """
        value, problem = self.ask(wanted, deadline)
        if problem is None:
            problem = _judged(sound, value)
        if problem is None:
            return value, ()
        return fallback(), (f"{problem}; answered by the greedy",)

    def ask(self, wanted: Callable[[], T], deadline: float | None) -> tuple[Any, str | None]:
        """The value of *wanted* and None, or None and why there is no value."""
        if deadline is None:
            return _called(wanted)
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        if len(self._abandoned) >= MAX_ABANDONED:
            return None, f"the solver hung {MAX_ABANDONED} times and is not asked again"
        answer: list[tuple[Any, str | None]] = []
        thread = threading.Thread(target=lambda: answer.append(_called(wanted)), daemon=True)
        thread.start()
        thread.join(min(max(deadline, 0.0), threading.TIMEOUT_MAX))
        if answer:
            return answer[0]
        self._abandoned.append(thread)
        return None, f"no answer within {deadline:.3g} s"


def _called(wanted: Callable[[], T]) -> tuple[Any, str | None]:
    try:
        return wanted(), None
    except Exception as error:
        return None, f"the solver failed ({type(error).__name__}: {error})"


def _judged(sound: Callable[[T], str | None], value: T) -> str | None:
    """What is wrong with a value; a value that cannot even be judged is nonsense."""
    try:
        problem = sound(value)
    except Exception as error:
        return f"the solver's answer is nonsense ({type(error).__name__}: {error})"
    return None if problem is None else f"the solver's answer is wrong ({problem})"
