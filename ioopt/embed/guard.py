"""Guarantee a decision: that of a solver if it comes in time, otherwise that of a
greedy fallback.

A solver must never stop a scheduler's loop. :class:`Guard` runs the solver in a second
thread and stops waiting at the deadline. When the solver raises, hangs or returns
something invalid, the fallback decides, and a note says so. A hung thread is abandoned
(Python cannot stop it). After ``MAX_ABANDONED`` of them the solver is not called again,
so that threads do not accumulate.
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

MAX_ABANDONED = 4
"""The number of hung threads after which a solver is not called again."""
MAX_NOTES = 100
"""The number of notes that a long-lived object keeps."""
DEADLINE_SHARE = 0.8
"""The share of a call's deadline that the solver gets.

The rest is for building the model, checking the answer and the fallback.
"""
MAX_WAIT_SECONDS = 1e8
"""The longest wait, in seconds (three years); the system's clock allows at most 292
years.
"""


@dataclass(frozen=True)
class Decision(Generic[T]):
    """A decision, and notes that say why a fallback decided, if one did."""

    value: T
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """The return value of a call that changed nothing, with the reason; it is false."""

    why: str

    def __bool__(self) -> bool:
        return False


def note(notes: list[str], text: str) -> None:
    """Add *text* to the *notes* of a long-lived object, and drop the oldest."""
    notes.append(text)
    del notes[:-MAX_NOTES]


@contextmanager
def restoring(what: str) -> Iterator[None]:
    """Raise InstanceError for any failure to restore a saved *what*."""
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
    """A thread that runs one function after another; starting a thread takes 0.5 ms.

    The thread ends with its owner: between two functions it has no reference to the
    owner.
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
    """Run the functions that a worker gets; None ends the loop."""
    while (function := wanted.get()) is not None:
        answers.put(_called(function))
        del function


class Guard:
    """Run decisions under deadlines, and count the solver threads abandoned."""

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
        """Return the value of *wanted*; if there is none in time, that of *fallback*,
        with the reason.

        *sound* returns the fault of a value, None when it is valid. *deadline* is the
        time left in seconds; None waits without limit and runs in the calling thread.
        *given* is the caller's own deadline, for the note. *fallback* must be quick and
        correct.
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
        """Return the value of *wanted* and None, or None and the reason why there is no
        value.
        """
        if deadline is None:
            return _called(wanted)
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        if len(self._abandoned) >= MAX_ABANDONED:
            return None, f"the solver hung {MAX_ABANDONED} times and is not asked again"
        worker = self._worker
        # A thread is not alive in a forked child.
        if worker is None or not worker.thread.is_alive():
            worker = self._worker = _Worker()
        worker.wanted.put(wanted)
        try:
            return worker.answers.get(timeout=min(max(deadline, 0.0), MAX_WAIT_SECONDS))
        except Empty:
            self._abandoned.append(worker.thread)
            worker.wanted.put(None)
            self._worker = None
            if given is None:
                given = deadline
            return None, f"no answer within {given:g} s"


def _called(wanted: Callable[[], T]) -> tuple[Any, str | None]:
    """Call *wanted*; return its value and None, or None and the reason why it
    failed.
    """
    try:
        return wanted(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() of a solver must not end a scheduler
        return None, f"the solver failed ({type(error).__name__}: {error})"
