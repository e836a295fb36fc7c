"""Ask a dispatcher under a deadline. Where it gives no usable answer, ``locality``
answers, and the dispatcher is asked again later.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from threading import Event

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair
from ioopt.embed.guard import Guard
from ioopt.problems.base import Json
from ioopt.solvers.replication.dispatch import locality
from ioopt.units import counted

GREEDY = "locality"
"""The name of the dispatcher that answers for another one."""
MOST_SKIPPED = 63
"""The largest number of calls in a row for which a dispatcher that failed is not asked.
"""


@dataclass(frozen=True)
class Answer:
    """A task and its node, or None; the name of the dispatcher that ``decided``; and a
    note if it is not the one that was asked for.
    """

    pair: Pair | None
    decided: str
    note: str | None = None


class GuardedDispatcher:
    """A dispatcher, by *name*, that *make* makes, and ``locality`` in its place.

    After *n* failures in a row the dispatcher is not asked for 2^(n-1) - 1 calls, at
    most :data:`MOST_SKIPPED`; a call without a failure ends the row. A dispatcher that
    is late goes on in its thread. It is asked again once it has ended, is told so
    (``came_late``), and then has the plan that it made.
    """

    def __init__(self, name: str, make: Callable[[], Dispatcher]) -> None:
        self.name = name
        self.make = make
        self._dispatcher = make()
        self._guard = Guard()
        self._failures = 0
        self._to_skip = 0
        # Set while a dispatcher that was late still runs in its thread.
        self._late: Event | None = None
        self._is_asked = True
        # Whether tasks were placed of which the dispatcher does not know.
        self._is_behind = False
        self._has_said_why = False

    def begin_call(self, given: Collection[int]) -> None:
        """Begin a call, in which :meth:`ask` may be called several times. The tasks
        *given* have been placed so far.
        """
        if self._is_asked:  # the last call had no failure
            self._failures = 0
        self._is_asked = self._to_skip == 0 and not self._is_late()
        self._to_skip = max(0, self._to_skip - 1)
        if self._is_asked and self._is_behind:
            self._resume(given)

    def _is_late(self) -> bool:
        """Return whether a dispatcher that was late still runs; once it has ended, tell
        it that it was late.
        """
        if self._late is None:
            return False
        if self._late.is_set():
            return True
        self._late = None
        getattr(self._dispatcher, "came_late", lambda: None)()
        return False

    def ask(
        self,
        view: DispatchView,
        wrong: Callable[[Pair | None], str | None],
        left: float | None,
        deadline: float | None,
    ) -> Answer:
        """Return the answer to the state *view*, within *left* of *deadline* (seconds).

        *wrong* says what is wrong with a pair, or returns None.
        """
        if not self._is_asked or (left is not None and left <= 0):
            self._is_behind = True
            return Answer(locality(view), GREEDY)
        runs = Event()
        runs.set()  # here, because on a busy machine its thread may begin late
        dispatcher = self._dispatcher

        def wanted() -> Pair | None:
            try:
                return dispatcher(view)
            finally:
                runs.clear()

        pair, notes = self._guard.run(
            wanted, lambda: locality(view), wrong, left, deadline
        )
        if not notes:
            if getattr(dispatcher, "by_greedy", False):
                return Answer(pair, GREEDY, self._why_greedy(dispatcher))
            return Answer(pair, self.name)
        return Answer(pair, GREEDY, f"{notes[0]}; {self._fails(runs)}")

    def _why_greedy(self, dispatcher: Dispatcher) -> str | None:
        """Return a note if *dispatcher* has too many tasks to decide itself, once."""
        why = getattr(dispatcher, "too_many", "")
        if not why or self._has_said_why:
            return None
        self._has_said_why = True
        return f"{why}; {GREEDY} answers for {self.name} meanwhile (not said again)"

    def _fails(self, runs: Event) -> str:
        """Put off the next question; return when that will be. *runs* is set if the
        dispatcher is late and goes on.
        """
        self._is_asked = False
        self._is_behind = True
        self._failures += 1
        self._to_skip = min(2 ** min(self._failures - 1, 10) - 1, MOST_SKIPPED)
        when = "in the next call"
        if self._to_skip:
            when = f"after {counted(self._to_skip, 'more call')}"
        if runs.is_set():
            self._late = runs
            return f"{self.name} plans on, and is asked again {when} if it has ended"
        self._dispatcher = self.make()
        return f"{self.name} is asked again {when}"

    def must_look(self) -> None:
        """Let the dispatcher be told anew which tasks were placed or withdrawn."""
        self._is_behind = True

    def state(self, given: Collection[int], places: Mapping[int, int]) -> Json:
        """Return the count of failures and the plan, if the dispatcher makes one, as
        plain JSON values; *places* has the indices that the tasks will have.

        A dispatcher that is late has no plan yet, and makes a new one.
        """
        is_late = self._is_late()
        plan = getattr(self._dispatcher, "plan", None)
        if plan is not None and not is_late:
            self._resume(given)
        return {
            "failures": self._failures,
            "to_skip": self._to_skip,
            "is_asked": self._is_asked,
            "plan": None if plan is None or is_late else plan(places),
        }

    def restore(self, state: Json, given: Collection[int]) -> None:
        """Go on with a new dispatcher from *state*, which :meth:`state` returned; {}
        begins anew. The tasks *given* have been placed so far.
        """
        self._dispatcher = self.make()
        self._late = None
        self._failures = int(state.get("failures", 0))
        self._to_skip = int(state.get("to_skip", 0))
        self._is_asked = bool(state.get("is_asked", True))
        self._resume(given)
        resume = getattr(self._dispatcher, "resume", None)
        if resume is not None and state.get("plan") is not None:
            resume(given, state["plan"])

    def _resume(self, given: Collection[int]) -> None:
        """Tell the dispatcher that the tasks *given*, and no others, were placed."""
        self._is_behind = False
        getattr(self._dispatcher, "resume", lambda given: None)(given)
