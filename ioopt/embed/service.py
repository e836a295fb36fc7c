"""Answer requests over a pipe or a socket: a line of JSON in, a line of JSON out.

A message is ``{"ioopt": 1, "id": ANY, "op": OP, ...}``; the reply repeats the id and
has ``"ok": true`` and a ``result``, or ``"ok": false`` and an ``error`` of ``code`` and
``message``. docs/embedding.md has the operations. ``object`` names a class of
:mod:`ioopt.embed`; with ``state`` instead of ``arguments`` a saved object is restored.
Sessions belong to their connection. No message ends the service.
"""

import json
import time
from collections.abc import Callable
from typing import Any

from pydantic_core import to_jsonable_python

from ioopt.embed.guard import DEADLINE_SHARE, Guard, Refused
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
    checked,
    parsed,
    refusal,
    versions,
)
from ioopt.errors import IooptError
from ioopt.problems.base import Json

MAX_LINE_BYTES = 8 << 20
MAX_SESSIONS = 64
"""The largest number of sessions of a connection."""
IDLE_SECONDS = 3600.0
"""The seconds without a call after which a session may be replaced by a new one."""

OF_RESULT = ("plan", "status", "stop", "objective", "bound", "gap", "notes")
"""The fields of a result that the reply to ``decide`` contains."""


class Service:
    """Answer the lines of one connection, and store its sessions. Not thread-safe."""

    def __init__(
        self,
        max_bytes: int = MAX_LINE_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_bytes = max_bytes
        self._clock = clock
        self._used: dict[int, float] = {}
        self._guard = Guard()
        self._sessions: dict[int, tuple[str, Any]] = {}
        self._next_session = 1
        self._operations: dict[str, Callable[[Any], object]] = {
            "ping": self._ping,
            "decide": self._decide,
            "open": self._open,
            "call": self._call,
            "save": self._save,
            "close": self._close,
        }

    def handle(self, line: bytes) -> bytes:
        """Return the reply to one line, with its newline; never raise."""
        identity: object = None
        try:
            given = parsed(line, self.max_bytes)
            identity = given.get("id")
            message = checked(given, self._sessions)
            result = self._operations[message.op](message)
            reply = {"ioopt": PROTOCOL, "id": identity, "ok": True, "result": result}
            return _ENCODER.encode(reply).encode() + b"\n"
        except MessageError as error:
            return refusal(identity, error.code, error.text)
        except IooptError as error:
            return refusal(identity, "invalid", str(error))
        except RecursionError:
            return refusal(identity, "malformed", "nested too deeply")
        except Exception as error:
            return refusal(identity, "internal", f"{type(error).__name__}: {error}")

    def _ping(self, message: Ping) -> Json:
        return versions()

    def _decide(self, message: Decide) -> Json:
        from ioopt.solving import solve

        deadline = message.deadline

        def wanted() -> Any:
            limit = None
            if deadline is not None:
                limit = deadline * DEADLINE_SHARE
            try:
                return solve(
                    message.instance,
                    message.solver,
                    time_limit=limit,
                    seed=message.seed,
                    settings=message.set or {},
                )
            except IooptError as error:
                return error

        result, problem = self._guard.ask(wanted, deadline)
        if problem is not None:
            raise MessageError("solver", problem)
        if isinstance(result, IooptError):
            raise result
        return {name: getattr(result, name) for name in OF_RESULT}

    def _open(self, message: Open) -> Json:
        """Make or restore an object; return the session number by which messages refer
        to it.
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
                said = f"there are at most {MAX_SESSIONS} sessions: close one"
                raise MessageError("invalid", said)
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
        """Return the class and the object of a session that is known to exist."""
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
        value = _applied(getattr(made, method), message.arguments)
        if isinstance(value, Refused):
            return {"value": False, "why": value.why}
        return {"value": value}

    def _save(self, message: Save) -> Json:
        return {"state": self._session(message.session)[1].state()}

    def _close(self, message: Close) -> Json:
        self._session(message.session)
        del self._sessions[message.session], self._used[message.session]
        return {}


def _applied(function: Callable[..., Any], arguments: Json) -> Any:
    """Call *method* with named arguments; a wrong name or type is reported as the
    client's error.
    """
    try:
        return function(**arguments)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        raise MessageError("invalid", f"{type(error).__name__}: {error}") from None


def _plain(value: object) -> object:
    """Return the JSON form of what decisions contain: dataclasses, sets, models,
    enumerations.
    """
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return to_jsonable_python(value, fallback=str)


_ENCODER = json.JSONEncoder(allow_nan=False, default=_plain)
"""Cached, because making one takes microseconds."""
