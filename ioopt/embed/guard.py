"""A decision that always comes back: the wanted solver within its deadline, else the
greedy.

A scheduler's loop must never be broken by a solver. :class:`Guard` runs one in a thread
beside the caller's and gives up waiting at the deadline; a solver that raises, hangs or
returns nonsense is answered by the fallback, and a note says so. A hung thread is
abandoned (Python cannot stop it); after ``MAX_ABANDONED`` of them the wanted solver is
not asked again, so that threads cannot pile up.
"""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from ioopt.errors import InstanceError

T = TypeVar("T")

MAX_ABANDONED, MAX_NOTES = 4, 100
DEADLINE_SHARE = 0.8
"""Part of a call's deadline that the solver is told; the rest is for building,
checking, the fallback.
"""
MAX_WAIT_SECONDS = 1e8
"""Longer deadlines (three years) are cut to this; the clock takes no more than 292
years.
"""


@dataclass(frozen=True)
class Decision(Generic[T]):
    """A decision and what is known about it: notes say when and why a fallback
    answered.
    """

    value: T
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """The false answer of a call that changed nothing, and why."""

    why: str

    def __bool__(self) -> bool:
        return False


def note(notes: list[str], text: str) -> None:
    """Add *text* to the *notes* of an object that lives long; the oldest go."""
    notes.append(text)
    del notes[:-MAX_NOTES]


@contextmanager
def restoring(what: str) -> Iterator[None]:
    """InstanceError for whatever a state that is not one of *what* makes fail."""
    try:
        yield
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
    ) as error:
        raise InstanceError(
            f"not a saved {what} ({type(error).__name__}: {error})"
        ) from None


class _Worker:
    """A thread that runs one thing after the other: starting one for each would cost
    0.5 ms.

    It ends with its owner, to which it therefore keeps no reference between two things.
    """

    def __init__(self) -> None:
        self.wanted: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self.answers: SimpleQueue[tuple[Any, str | None]] = SimpleQueue()
        self.thread = threading.Thread(
            target=_work,
            args=(self.wanted, self.answers),
            daemon=True,
            name="ioopt-guard",
        )
        self.thread.start()
        weakref.finalize(self, self.wanted.put, None)


def _work(
    wanted: SimpleQueue[Callable[[], Any] | None],
    answers: SimpleQueue[tuple[Any, str | None]],
) -> None:
    """The loop of a worker; None ends it."""
    while (function := wanted.get()) is not None:
        answers.put(_called(function))
        del function


class Guard:
    """Runs decisions under deadlines and remembers how many solver threads were
    abandoned.
    """

    def __init__(self) -> None:
        self._abandoned: list[threading.Thread] = []
        self._worker: _Worker | None = None

    def run(
        self,
        wanted: Callable[[], T],
        fallback: Callable[[], T],
        sound: Callable[[T], str | None],
        deadline: float | None,
        given: float | None = None,
    ) -> tuple[T, tuple[str, ...]]:
        """The value of *wanted*, or of *fallback* with the reason.

        *sound* returns what is wrong with a value, None when it is good. *deadline*
        is what is left in seconds; None waits for ever and runs in the calling
        thread. *given* is the caller's own deadline, which the note names. *fallback*
        must be quick and trusted.
        """
        value, problem = self.ask(wanted, deadline, given)
        if problem is None:
            try:
                wrong = sound(value)
            except Exception as error:
                problem = (
                    f"the solver's answer is nonsense ({type(error).__name__}: {error})"
                )
            else:
                if wrong is None:
                    return value, ()
                problem = f"the solver's answer is wrong ({wrong})"
        return fallback(), (f"{problem}; answered by the greedy",)

    def ask(
        self,
        wanted: Callable[[], T],
        deadline: float | None,
        given: float | None = None,
    ) -> tuple[Any, str | None]:
        """The value of *wanted* and None, or None and why there is no value."""
        if deadline is None:
            return _called(wanted)
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        if len(self._abandoned) >= MAX_ABANDONED:
            return None, f"the solver hung {MAX_ABANDONED} times and is not asked again"
        worker = self._worker
        if (
            worker is None or not worker.thread.is_alive()
        ):  # it does not live on in a forked child
            worker = self._worker = _Worker()
        worker.wanted.put(wanted)
        try:
            return worker.answers.get(timeout=min(max(deadline, 0.0), MAX_WAIT_SECONDS))
        except Empty:
            self._abandoned.append(worker.thread)
            worker.wanted.put(None)
            self._worker = None
            return None, f"no answer within {deadline if given is None else given:g} s"


def _called(wanted: Callable[[], T]) -> tuple[Any, str | None]:
    """The value of the call and None, or None and why it failed."""
    try:
        return wanted(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() too: a solver ends no scheduler
        return None, f"the solver failed ({type(error).__name__}: {error})"
