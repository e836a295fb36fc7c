"""Guarantee that a decision is made: by a solver if it answers in time, otherwise by a
greedy fallback.

A solver must never stop a scheduler's loop. :class:`Guard` runs the solver in a second
thread and stops waiting at the deadline. When the solver raises, hangs or returns
something invalid, the fallback decides, and a note says so. A hung thread is abandoned,
because Python cannot stop it. After ``MAX_ABANDONED`` hung threads the solver is not
called again, so that threads do not accumulate.

:class:`Watch` is the guard of a process that only serves decisions. It replaces the
thread of the service at the deadline, so that no decision is handed to another thread.
"""

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from ioopt.errors import InstanceError

T = TypeVar("T")

MAX_ABANDONED = 4
"""The number of hung threads after which a solver is not called again."""
MAX_NOTES = 100
"""The largest number of notes that a long-lived object keeps."""
DEADLINE_SHARE = 0.8
"""The share of a call's deadline that the solver gets.

The remainder is for building the model, checking the answer and running the fallback.
"""
MAX_WAIT_SECONDS = 1e8
"""The longest wait in seconds (three years). The system's clock would allow 292 years
at most.
"""


@dataclass(frozen=True)
class Decision(Generic[T]):
    """A decision with its objective, bound and gap. If a fallback made it, ``notes``
    say why.
    """

    value: T
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """The return value of a call that changed nothing; it is false, and ``why`` gives
    the reason.
    """

    why: str

    def __bool__(self) -> bool:
        return False


class Notes(list[str]):
    """The last notes of a long-lived object, at most :data:`MAX_NOTES`."""

    def __init__(self) -> None:
        super().__init__()
        self._unread = 0

    def add(self, text: str) -> None:
        """Add *text*; drop the oldest notes beyond :data:`MAX_NOTES`."""
        self.append(text)
        del self[:-MAX_NOTES]
        self._unread = min(self._unread + 1, MAX_NOTES)

    def new(self) -> list[str]:
        """Return the notes that were added since this method was last called."""
        found = self[len(self) - self._unread :]
        self._unread = 0
        return found


@contextmanager
def restoring(what: str) -> Iterator[None]:
    """Turn every error that occurs while a saved state is read into InstanceError.
    *what* names the saved object in the message.
    """
    try:
        yield
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
    ) as error:
        said = f"{type(error).__name__}: {error}"
        if isinstance(error, KeyError):
            said = (
                f"it has no key {error}; give what state() of the same class returned"
            )
        raise InstanceError(f"not a saved {what} ({said})") from None


class _Worker:
    """A thread that runs one function after another. It is reused, because starting a
    thread takes 0.5 ms.

    The thread ends when its owner is garbage-collected: between two functions it has no
    reference to the owner.
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
    """Run the functions that arrive in *wanted* and put their results into *answers*,
    until None arrives.
    """
    while (function := wanted.get()) is not None:
        answers.put(_called(function))
        del function


class Guard:
    """Run decisions under deadlines, and count the threads that were abandoned."""

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
        """Return the value of *wanted* and no notes; if there is no valid value in
        time, return the value of *fallback* and a note with the reason.

        *sound* returns what is wrong with a value, or None when the value is valid.
        *deadline* is the time left in seconds; None means no limit, and *wanted* then
        runs in the calling thread. *given* is the deadline that the caller was given,
        for the note. *fallback* must be quick and correct.
        """
        value, problem = self.ask(wanted, deadline, given)
        if problem is None:
            try:
                wrong = sound(value)
            except Exception as error:
                problem = (
                    f"the solver's answer is unusable ({type(error).__name__}: {error})"
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
        """Return the value of *wanted* and None; if there is no value in time, return
        None and the reason.

        Without a *deadline*, *wanted* runs in the calling thread.
        """
        if deadline is None:
            return _called(wanted)
        if self._abandoned and (why := self._exhausted()):
            return None, why
        return self._ask(wanted, deadline, _late(deadline, given))

    def _ask(
        self, wanted: Callable[[], T], deadline: float, late: str
    ) -> tuple[Any, str | None]:
        """Return the value of *wanted* and None; after *deadline* seconds, return None
        and the reason *late*.
        """
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
            return None, late

    def _exhausted(self) -> str | None:
        """Return why the solver is not called again; None if it still is."""
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        if len(self._abandoned) < MAX_ABANDONED:
            return None
        return f"the solver hung {MAX_ABANDONED} times and is not asked again"


class _Replaced(BaseException):
    """Ends a thread whose decision was late: another thread serves in its place."""


class Watch(Guard):
    """Guard the decisions of a service that runs in a thread of its own.

    The thread of the service decides. The thread that calls :meth:`serve` only looks at
    the clock. When a decision is late, it starts another thread, which refuses this
    decision and continues the service. The late thread is abandoned, and ends when its
    solver returns. A hand-over to another thread would cost more than a small decision.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition(threading.Lock())
        """Its lock guards the fields below."""
        self._thread: threading.Thread | None = None
        self._ended = False
        self._error: BaseException | None = None
        self._due = float("inf")
        self._why = ""
        self._next_look = float("inf")

    def _ask(
        self, wanted: Callable[[], T], deadline: float, late: str
    ) -> tuple[Any, str | None]:
        """Do what :meth:`Guard._ask` does in this thread, and end the thread if another
        one has taken its place.
        """
        due = time.monotonic() + min(deadline, MAX_WAIT_SECONDS)
        with self._changed:
            self._due = due
            self._why = late
            # Most decisions end before the next look, and wake no other thread.
            if due < self._next_look:
                self._changed.notify()
        answer = _called(wanted)
        with self._changed:
            if self._thread is not threading.current_thread():
                raise _Replaced
            self._due = float("inf")
        if time.monotonic() >= due:
            return None, late
        return answer

    def serve(
        self, begin: Callable[[], object], resume: Callable[[str], object]
    ) -> None:
        """Run *begin* in another thread until the service ends; raise what it raises.

        *begin* serves and calls :meth:`ask` for each decision. *resume* gets the reason
        why the current decision has no answer, refuses this decision, and serves on.
        """
        self._start(begin)
        with self._changed:
            while not self._ended:
                left = self._due - time.monotonic()
                if left <= 0:
                    assert self._thread is not None
                    self._abandoned.append(self._thread)
                    self._due = float("inf")
                    self._start(partial(resume, self._why))
                    continue
                self._next_look = self._due
                self._changed.wait(None if left == float("inf") else left)
        if self._error is not None:
            raise self._error

    def _start(self, serve: Callable[[], object]) -> None:
        """Start the thread that serves from now on."""
        self._thread = threading.Thread(
            target=self._run, args=(serve,), daemon=True, name="ioopt-service"
        )
        self._thread.start()

    def _run(self, serve: Callable[[], object]) -> None:
        error: BaseException | None = None
        try:
            serve()
        except _Replaced:
            return
        except BaseException as raised:
            error = raised
        with self._changed:
            self._error = error
            self._ended = True
            self._changed.notify()


def _late(deadline: float, given: float | None) -> str:
    """Return the note of a decision that missed its *deadline*; *given* is the deadline
    that the caller was given.
    """
    return f"no answer within {deadline if given is None else given:g} s"


def _called(wanted: Callable[[], T]) -> tuple[Any, str | None]:
    """Call *wanted*. Return its value and None; if it raises, return None and the
    reason.
    """
    try:
        return wanted(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() of a solver must not end a scheduler
        return None, f"the solver failed ({type(error).__name__}: {error})"
