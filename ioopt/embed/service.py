"""Decisions over a pipe or a socket: a line of JSON in, a line of JSON out.

A message is ``{"ioopt": 1, "id": ANY, "op": OP, ...}``; the reply repeats the id and has ``"ok": true``
and a ``result``, or ``"ok": false`` and an ``error`` of ``code`` and ``message``. docs/embedding.md has
the operations. ``object`` names a class of :mod:`ioopt.embed`; with ``state`` instead of ``arguments`` a
saved object goes on. Sessions belong to their connection. Whatever a message does, the service goes on.
"""

import json
import math
import time
from collections.abc import Callable
from typing import Any

from pydantic_core import to_jsonable_python

from ioopt.embed.guard import DEADLINE_SHARE, Guard, Refused
from ioopt.errors import IooptError
from ioopt.formats.native import unique_keys
from ioopt.problems.base import Json
from ioopt.version import __version__

PROTOCOL = 1
MAX_LINE_BYTES = 8 << 20
MAX_SESSIONS, IDLE_SECONDS = 64, 3600.0
"""Where there are so many, one that nobody has called for so long makes room."""
DEFAULT_DEADLINE_SECONDS = 10.0

METHODS = {
    "IoArbiter": ["request", "progress", "finish", "decide"],
    "GangScheduler": ["arrive", "depart", "served", "matrix"],
    "ReplicationPlanner": ["submit", "plan", "next", "staged", "evicted", "completed"],
    "WorkDirectory": ["ready", "expect", "next", "started", "ended", "failed"],
    "WorkflowDispatcher": [
        *("submit", "next", "completed", "failed", "withdraw", "observe", "forget"),
        *("lost", "back", "staged", "evicted"),
    ],
    "GangednessMonitor": ["observe", "ratio", "classify", "evidence"],
}
"""What a client may call; nothing else of an object can be reached."""
KEYS = {
    "ping": [], "decide": ["instance", "solver", "set", "seed", "deadline"],
    "open": ["object", "arguments", "state"], "call": ["session", "method", "arguments"],
    "save": ["session"], "close": ["session"],
}  # fmt: skip
"""What a message of each op may hold beside ``ioopt``, ``id`` and ``op``."""

OF_RESULT = ("plan", "status", "stop", "objective", "bound", "gap", "notes")
"""What of a result answers ``decide``."""


class MessageError(Exception):
    """A message that cannot be served: a code for programs, and a text for people."""


class Service:
    """One connection's state and the handling of its lines. Not thread-safe: one per connection."""

    def __init__(
        self, max_bytes: int = MAX_LINE_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.max_bytes, self._clock = max_bytes, clock
        self._used: dict[int, float] = {}
        self._guard = Guard()
        self._sessions: dict[int, tuple[str, Any]] = {}
        self._next_session = 1

    def handle(self, line: bytes) -> bytes:
        """The reply, newline included, to one line. Never raises."""
        identity: object = None
        try:
            if len(line) > self.max_bytes:
                raise MessageError("oversized", f"a line is at most {self.max_bytes} bytes")
            message = _parsed(line)
            identity = message.get("id")
            reply = {"ioopt": PROTOCOL, "id": identity, "ok": True, "result": self._serve(message)}
            return _ENCODER.encode(reply).encode() + b"\n"
        except MessageError as error:
            return refusal(identity, *error.args)
        except IooptError as error:
            return refusal(identity, "invalid", str(error))
        except RecursionError:
            return refusal(identity, "malformed", "nested too deeply")
        except Exception as error:
            return refusal(identity, "internal", f"{type(error).__name__}: {error}")

    def _serve(self, message: Json) -> object:
        """The result of the message's operation; a wrong version, name or key is refused."""
        if message.get("ioopt") != PROTOCOL:
            raise MessageError("version", f'"ioopt" must be {PROTOCOL}: {message.get("ioopt")!r}')
        operation = message.get("op")
        if not isinstance(operation, str) or operation not in KEYS:
            known = ", ".join(KEYS)
            raise MessageError("unknown", f"no op {operation!r:.60}; known: {known}")
        unknown = sorted(message.keys() - {"ioopt", "id", "op", *KEYS[operation]})
        if unknown:
            known = ", ".join(sorted(KEYS[operation])) or "none"
            raise MessageError(
                "invalid", f"op {operation!r} has no key {unknown[0]!r:.60}; known: {known}"
            )
        return getattr(self, f"_{operation}")(message)

    def _ping(self, message: Json) -> Json:
        return {"version": __version__, "protocol": PROTOCOL}

    def _decide(self, message: Json) -> Json:
        from ioopt.solving import solve

        instance = _wanted(message, "instance", dict)
        deadline = _deadline(message)

        def wanted() -> Any:
            limit = None if deadline is None else deadline * DEADLINE_SHARE
            try:
                return solve(
                    instance, message.get("solver"), time_limit=limit, seed=message.get("seed", 0),
                    settings=message.get("set") or {},
                )  # fmt: skip
            except IooptError as error:
                return error

        result, problem = self._guard.ask(wanted, deadline)
        if problem is not None:
            raise MessageError("solver", problem)
        if isinstance(result, IooptError):
            raise result
        return {name: getattr(result, name) for name in OF_RESULT}

    def _open(self, message: Json) -> Json:
        """Make or restore an object; its number is what later messages call it by."""
        import ioopt.embed as embed

        name = _wanted(message, "object", str)
        if name not in METHODS:
            raise MessageError("unknown", f"no object {name!r}; known: {', '.join(METHODS)}")
        if len(self._sessions) >= MAX_SESSIONS:
            oldest = min(self._sessions, key=self._used.__getitem__)
            if self._clock() - self._used[oldest] < IDLE_SECONDS:
                said = f"there are at most {MAX_SESSIONS} sessions: close one"
                raise MessageError("invalid", said)
            del self._sessions[oldest], self._used[oldest]
        cls = getattr(embed, name)
        if "state" in message and "arguments" in message:
            raise MessageError("invalid", "an object has 'arguments' or 'state', not both")
        if "state" in message:
            made = cls.restore(_wanted(message, "state", dict))
        else:
            made = _applied(cls, message)
        session, self._next_session = self._next_session, self._next_session + 1
        self._sessions[session], self._used[session] = (name, made), self._clock()
        return {"session": session}

    def _session(self, message: Json) -> tuple[str, Any]:
        session = message.get("session")
        if not isinstance(session, int) or session not in self._sessions:
            raise MessageError("unknown", f"no session {session!r} on this connection")
        self._used[session] = self._clock()
        return self._sessions[session]

    def _call(self, message: Json) -> Json:
        name, made = self._session(message)
        method = _wanted(message, "method", str)
        if method not in METHODS[name]:
            known = ", ".join(sorted(METHODS[name]))
            raise MessageError("unknown", f"{name} has no method {method!r}; known: {known}")
        value = _applied(getattr(made, method), message)
        if isinstance(value, Refused):
            return {"value": False, "why": value.why}
        return {"value": value}

    def _save(self, message: Json) -> Json:
        return {"state": self._session(message)[1].state()}

    def _close(self, message: Json) -> Json:
        self._session(message)
        del self._sessions[message["session"]], self._used[message["session"]]
        return {}


def _parsed(line: bytes) -> Json:
    """The message on a line; what is not an object in strict JSON is malformed."""
    try:
        message = _DECODER.decode(line.decode(json.detect_encoding(line), "surrogatepass"))
    except (ValueError, UnicodeDecodeError) as error:
        raise MessageError("malformed", f"not a line of JSON: {error}") from None
    if not isinstance(message, dict):
        raise MessageError("malformed", f"a message is a JSON object, not {type(message).__name__}")
    return message


def finite(text: str) -> float:
    """A number that JSON can also carry back; ``1e999``, NaN and Infinity are malformed."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number {text} is out of range")
    return value


def _deadline(message: Json) -> float | None:
    given = message.get("deadline", DEFAULT_DEADLINE_SECONDS)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not given > 0:
        raise MessageError("invalid", f"'deadline' must be seconds above 0, not {given!r:.60}")
    return float(given)


def _wanted(message: Json, key: str, kind: type) -> Any:
    value = message.get(key)
    if not isinstance(value, kind):
        raise MessageError("invalid", f"{key!r} must be {kind.__name__}, not {value!r:.60}")
    return value


def _applied(function: Callable[..., Any], message: Json) -> Any:
    """Call with the message's keyword arguments; a wrong name or type is the client's mistake."""
    arguments = message.get("arguments", {})
    if not isinstance(arguments, dict):
        raise MessageError("invalid", f"'arguments' must be an object, not {arguments!r:.60}")
    try:
        return function(**arguments)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        raise MessageError("invalid", f"{type(error).__name__}: {error}") from None


def _plain(value: object) -> object:
    """JSON for what decisions hold: dataclasses, sets, models, enumerations."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return to_jsonable_python(value, fallback=str)


_DECODER = json.JSONDecoder(
    parse_float=finite, parse_constant=finite, object_pairs_hook=unique_keys
)
_ENCODER = json.JSONEncoder(allow_nan=False, default=_plain)  # made once: each costs microseconds


def refusal(identity: object, code: str, text: str) -> bytes:
    """The reply, newline included, that says why there is no result."""
    error = {"code": code, "message": " ".join(text.split())}
    reply = {"ioopt": PROTOCOL, "id": identity, "ok": False, "error": error}
    return json.dumps(reply).encode() + b"\n"
