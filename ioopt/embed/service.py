"""Answer requests over a pipe or a socket; each request and each reply is one line of
JSON.

A message is ``{"ioopt": 1, "id": ANY, "op": OP, ...}``. The reply repeats the id and
has ``"ok": true`` and a ``result``, or ``"ok": false`` and an ``error`` with ``code``
and ``message``. The page docs/embedding.md describes the operations. ``object`` names a
class of :mod:`ioopt.embed`; with ``state`` instead of ``arguments``, a saved object is
restored. A session can be used only on the connection that opened it. No message ends
the service.
"""

import inspect
import json
import time
from collections.abc import Callable
from typing import Any

from pydantic_core import to_jsonable_python

from ioopt.arguments import SHORTEST_SECONDS
from ioopt.embed.guard import DEADLINE_SHARE, Guard, Notes, Refused
from ioopt.embed.messages import (
    METHODS,
    PROTOCOL,
    Call,
    Close,
    Decide,
    MessageError,
    Open,
    Ping,
    Save,
    Sessions,
    checked,
    parsed,
    refusal,
    versions,
)
from ioopt.errors import IooptError, StateError
from ioopt.options import limit_before
from ioopt.problems.base import Json

MAX_LINE_BYTES = 8 << 20
MAX_SESSIONS = 64
"""The largest number of open sessions on a connection."""
IDLE_SECONDS = 3600.0
"""The number of seconds without a call after which a new session may replace the
session.
"""

OF_RESULT = ("plan", "status", "stop", "objective", "bound", "gap", "notes")
"""The fields of a result that the reply to ``decide`` contains."""


class Service:
    """Answer the messages of one connection, and keep its sessions. Not thread-safe."""

    def __init__(
        self,
        max_bytes: int = MAX_LINE_BYTES,
        clock: Callable[[], float] = time.monotonic,
        first_session: int = 1,
        guard: Guard | None = None,
    ) -> None:
        """Begin without sessions; they are numbered from *first_session* on. *guard*
        runs the solvers.
        """
        self.max_bytes = max_bytes
        self._clock = clock
        self._used: dict[int, float] = {}
        self._guard = guard or Guard()
        self._identity: object = None
        self._sessions: dict[int, tuple[str, Any]] = {}
        self._next_session = first_session
        self._operations: dict[str, Callable[[Any], object]] = {
            "ping": self._ping,
            "decide": self._decide,
            "open": self._open,
            "call": self._call,
            "save": self._save,
            "close": self._close,
            "sessions": self._list,
        }

    def handle(self, line: bytes) -> bytes:
        """Return the reply to the message in *line*, as a line with its newline. Errors
        become replies; the method never raises.
        """
        identity: object = None
        try:
            given = parsed(line, self.max_bytes)
            identity = self._identity = given.get("id")
            message = checked(given, self._sessions)
            result = self._operations[message.op](message)
            reply = {"ioopt": PROTOCOL, "id": identity, "ok": True, "result": result}
            return _ENCODER.encode(reply).encode() + b"\n"
        except MessageError as error:
            return refusal(identity, error.code, error.text)
        except StateError as error:
            return refusal(identity, "state", str(error))
        except IooptError as error:
            return refusal(identity, "invalid", str(error))
        except RecursionError:
            return refusal(identity, "malformed", "nested too deeply")
        except Exception as error:
            return refusal(identity, "internal", f"{type(error).__name__}: {error}")

    def unanswered(self, why: str) -> bytes:
        """Return the reply to the message whose solver has not answered in time."""
        return refusal(self._identity, "solver", why)

    def _ping(self, message: Ping) -> Json:
        return versions()

    def _decide(self, message: Decide) -> Json:
        from ioopt.loading import load
        from ioopt.solving import import_solver, solve

        deadline = message.deadline
        begun = time.monotonic()
        problem = load(message.instance)
        loading = time.monotonic() - begun
        is_own = message.solver is not None and ":" in message.solver
        if not is_own:  # its import may hang
            import_solver(problem, message.solver)
        left = None
        limit = None
        if deadline is not None:
            left = max(0.0, deadline - loading)
            limit = limit_before(max(left, SHORTEST_SECONDS), DEADLINE_SHARE)

        def wanted() -> Any:
            try:
                return solve(
                    problem,
                    message.solver,
                    time_limit=limit,
                    seed=message.seed,
                    settings=message.set or {},
                )
            except IooptError as error:
                return error

        result, why = self._guard.ask(wanted, left, deadline)
        if why is not None:
            raise MessageError("solver", why)
        if isinstance(result, IooptError):
            raise result
        return {name: getattr(result, name) for name in OF_RESULT}

    def _open(self, message: Open) -> Json:
        """Make or restore an object. Return the session number by which later messages
        name the object.
        """
        import ioopt.embed as embed

        name = message.object
        if name not in METHODS:
            raise MessageError(
                "unknown", f"no object {name!r}; known: {', '.join(METHODS)}"
            )
        if len(self._sessions) >= MAX_SESSIONS:
            oldest = min(self._sessions, key=self._used.__getitem__)
            if self._clock() - self._used[oldest] < IDLE_SECONDS:
                said = (
                    f"there are {MAX_SESSIONS} sessions, the most: close one; session "
                    f"{oldest} was not called for the longest time, and one not called "
                    f"for {IDLE_SECONDS:g} s gives way by itself"
                )
                raise MessageError("busy", said)
            del self._sessions[oldest], self._used[oldest]
        cls = getattr(embed, name)
        if {"state", "arguments"} <= message.model_fields_set:
            raise MessageError(
                "invalid", "an object has 'arguments' or 'state', not both"
            )
        if "state" in message.model_fields_set:
            made = cls.restore(message.state)
        else:
            made = _applied(cls, message.arguments)
        session = self._next_session
        self._next_session += 1
        self._sessions[session] = name, made
        self._used[session] = self._clock()
        return {"session": session}

    def _session(self, session: int) -> tuple[str, Any]:
        """Return the class name and the object of a session, and record that the
        session is in use. The session must exist.
        """
        self._used[session] = self._clock()
        return self._sessions[session]

    def _call(self, message: Call) -> Json:
        name, made = self._session(message.session)
        method = message.method
        if method not in METHODS[name]:
            known = ", ".join(sorted(METHODS[name]))
            raise MessageError(
                "unknown", f"{name} has no method {method!r}; known: {known}"
            )
        before = getattr(made, "notes", ())
        if isinstance(before, Notes):
            before.new()  # of calls that were refused
        value = _applied(getattr(made, method), message.arguments)
        if isinstance(value, Refused):
            return {"value": False, "why": value.why}
        after = getattr(made, "notes", ())
        # A tuple belongs to one decision, other notes to the life of the object.
        if isinstance(after, Notes):
            after = after.new()
        elif after is before:
            after = ()
        return {"value": value, "notes": after} if after else {"value": value}

    def _save(self, message: Save) -> Json:
        return {"state": self._session(message.session)[1].state()}

    def _list(self, message: Sessions) -> Json:
        rows = [
            {"session": session, "object": name}
            for session, (name, _) in self._sessions.items()
        ]
        return {"sessions": rows}

    def _close(self, message: Close) -> Json:
        self._session(message.session)
        del self._sessions[message.session], self._used[message.session]
        return {}


def _applied(function: Callable[..., Any], arguments: Json) -> Any:
    """Call *function* with named *arguments*, and return its value. An argument with a
    wrong name or type is reported as the client's error.
    """
    try:
        return function(**arguments)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        said = _misfit(function, arguments) or f"{type(error).__name__}: {error}"
        raise MessageError("invalid", said) from None


def _misfit(function: Callable[..., Any], arguments: Json) -> str | None:
    """Return what is wrong with the names of *arguments*; None if they fit
    *function*.
    """
    parameters = inspect.signature(function).parameters
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:  # "missing a required argument: 'now'"
        names = ", ".join(parameters) or "none"
        return f"{function.__name__}: {error}; its arguments: {names}"
    return None


def _plain(value: object) -> object:
    """Return *value* in JSON form; it may be a dataclass, a set, a model or an
    enumeration, which occur in decisions.
    """
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return to_jsonable_python(value, fallback=str)


_ENCODER = json.JSONEncoder(allow_nan=False, default=_plain)
"""The encoder of all replies. It is made once, because making an encoder takes
microseconds.
"""
