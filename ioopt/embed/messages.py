"""Define the messages of ``ioopt serve``, and check them.

A message is ``{"ioopt": 1, "id": ANY, "op": OP, ...}`` and its reply repeats the id.
The classes below define the further keys of each op and the contents of its reply. The
service checks messages with these classes, and the HTTP service publishes them as its
OpenAPI schema.
"""

import json
import math
from collections.abc import Container, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ioopt.formats.native import unique_keys
from ioopt.problems.base import Json
from ioopt.version import __version__

PROTOCOL = 1
DEFAULT_DEADLINE_SECONDS = 10.0

METHODS = {
    "IoArbiter": ["request", "progress", "finish", "decide"],
    "GangScheduler": ["arrive", "depart", "served", "matrix"],
    "ReplicationPlanner": [
        "submit",
        "plan",
        "next",
        "staged",
        "evicted",
        "completed",
        "failed",
        "joined",
        "lost",
        "acts",
        "started",
        "ended",
    ],
    "WorkDirectory": ["ready", "expect", "next", "started", "ended", "failed"],
    "WorkflowDispatcher": [
        "submit",
        "next",
        "completed",
        "failed",
        "staging",
        "running",
        "waiting",
        "evictable",
        "withdraw",
        "observe",
        "forget",
        "lost",
        "back",
        "joined",
        "staged",
        "evicted",
    ],
    "GangednessMonitor": ["observe", "ratio", "classify", "evidence"],
}
"""For each class that a client may open, the methods that it may call; all other
methods are refused.
"""
Code = Literal[
    "malformed",
    "version",
    "unknown",
    "invalid",
    "state",
    "oversized",
    "solver",
    "internal",
    "busy",
]


class MessageError(Exception):
    """A message that cannot be served: ``code`` is for programs, ``text`` for
    people.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text


class Message(BaseModel):
    """The keys that every message has."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ioopt: Literal[1]
    id: Any = Field(default=None, description="Repeated by the reply.")


class Ping(Message):
    """Ask for the version of ioopt and the version of the protocol."""

    op: Literal["ping"]


class Decide(Message):
    """Solve one instance; the service does not store the instance."""

    op: Literal["decide"]
    instance: dict[str, Any] = Field(description="An instance of any family.")
    solver: str | None = Field(default=None, description="Null: the default one.")
    set: dict[str, Any] | None = Field(default=None, description="Settings.")
    seed: int = 0
    deadline: Annotated[float, Field(gt=0)] | None = Field(
        default=DEFAULT_DEADLINE_SECONDS, description="Seconds; null: none."
    )


class Open(Message):
    """Make an object from ``arguments``, or restore a saved object from ``state``."""

    op: Literal["open"]
    object: str = Field(json_schema_extra={"enum": [*METHODS]})
    arguments: dict[str, Any] = Field(
        default={}, description="Its constructor's arguments: the schema OBJECT."
    )
    state: dict[str, Any] = Field(default={}, description="What save answered.")


class Call(Message):
    """Call a method of an object that was opened."""

    op: Literal["call"]
    session: int
    method: str
    arguments: dict[str, Any] = Field(
        default={}, description="By name: the schema OBJECT_METHOD."
    )


class Save(Message):
    """Ask for the state of an object, from which ``open`` can restore the object
    later.
    """

    op: Literal["save"]
    session: int


class Close(Message):
    """Remove an object from the service."""

    op: Literal["close"]
    session: int


class Sessions(Message):
    """List the open sessions, which a client that was started again may go on with."""

    op: Literal["sessions"]


AnyMessage = Ping | Decide | Open | Call | Save | Close | Sessions
MESSAGES: Mapping[str, type[AnyMessage]] = {
    "ping": Ping,
    "decide": Decide,
    "open": Open,
    "call": Call,
    "save": Save,
    "close": Close,
    "sessions": Sessions,
}
"""For each op, the class of its messages."""

WANTED = {
    "instance": "an object",
    "state": "an object",
    "object": "text",
    "method": "text",
    "solver": "a name or null",
    "set": "an object",
    "seed": "a whole number",
    "arguments": "an object",
    "deadline": "seconds above 0",
}
"""For each key, a description of its valid values, for error messages."""


class Versions(BaseModel):
    """The result of ``ping``."""

    version: str
    protocol: int


class Decision(BaseModel):
    """The result of ``decide``."""

    plan: dict[str, Any] | None
    status: str
    stop: str
    objective: float | None
    bound: float | None
    gap: float | None
    notes: list[str]


class Opened(BaseModel):
    """The result of ``open``."""

    session: int


class Value(BaseModel):
    """The result of ``call``. When the method refused the call, the value is false and
    ``why`` gives the reason. ``notes`` say what went wrong in the call, such as a
    solver that was late and was replaced by a greedy choice.
    """

    value: Any = Field(description="The schema OBJECT_METHOD_value.")
    why: str | None = None
    notes: list[str] = []


class Saved(BaseModel):
    """The result of ``save``."""

    state: dict[str, Any]


class Closed(BaseModel):
    """The result of ``close``, which is empty."""

    model_config = ConfigDict(extra="forbid")


class Session(BaseModel):
    """An open session, and the class of its object."""

    session: int
    object: str


class Listed(BaseModel):
    """The result of ``sessions``."""

    sessions: list[Session]


class Failure(BaseModel):
    """The reason why a message has no result."""

    code: Code
    message: str


class Answered(BaseModel):
    """A reply to a message that was carried out, with the result."""

    ioopt: Literal[1]
    id: Any
    ok: Literal[True]
    result: Versions | Decision | Opened | Value | Saved | Listed | Closed


class Refusal(BaseModel):
    """A reply to a message that could not be carried out, with the reason."""

    ioopt: Literal[1]
    id: Any
    ok: Literal[False]
    error: Failure


def finite(text: str) -> float:
    """Return the number that *text* states; raise ValueError for ``1e999``, NaN and
    Infinity.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number {text} is out of range")
    return value


_DECODER = json.JSONDecoder(
    parse_float=finite, parse_constant=finite, object_pairs_hook=unique_keys
)


def parsed(line: bytes, max_bytes: int) -> Json:
    """Return the JSON object that *line* contains.

    Raises MessageError when the line has more than *max_bytes* bytes, or is not an
    object in strict JSON.
    """
    if len(line) > max_bytes:
        raise MessageError("oversized", f"the line has more than {max_bytes} bytes")
    try:
        text = line.decode(json.detect_encoding(line), "surrogatepass")
        message = _DECODER.decode(text)
    except RecursionError:
        raise MessageError("malformed", "nested too deeply") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise MessageError("malformed", f"not a line of JSON: {error}") from None
    if not isinstance(message, dict):
        name = type(message).__name__
        raise MessageError("malformed", f"a message is a JSON object, not {name}")
    return message


def checked(message: Json, sessions: Container[int] | None = None) -> AnyMessage:
    """Return *message* as an object of the class of its op.

    Raises MessageError, which names the first error. If *sessions* is given, a session
    number outside *sessions* is an error too.
    """
    if "ioopt" not in message:
        raise MessageError("version", f'"ioopt" is missing: add "ioopt": {PROTOCOL}')
    if message["ioopt"] != PROTOCOL:
        said = f'"ioopt" must be {PROTOCOL}: {message["ioopt"]!r}'
        raise MessageError("version", said)
    operation = message.get("op")
    if not isinstance(operation, str) or operation not in MESSAGES:
        known = ", ".join(MESSAGES)
        raise MessageError("unknown", f"no op {operation!r:.60}; known: {known}")
    model = MESSAGES[operation]
    keys = model.model_fields.keys()
    unknown = sorted(message.keys() - keys)
    if unknown:
        may = ", ".join(sorted(keys - {"ioopt", "id", "op"})) or "none"
        said = f"op {operation!r} has no key {unknown[0]!r:.60}; known: {may}"
        raise MessageError("invalid", said)
    session = message.get("session")
    is_there = type(session) is int and (sessions is None or session in sessions)
    if "session" in keys and not is_there:
        raise no_session(session)
    try:
        return model.model_validate(message)
    except ValidationError as error:
        key = str(error.errors(include_url=False)[0]["loc"][0])
    if key == "ioopt":  # the value is 1.0 or true, which equal 1
        raise MessageError("version", f'"ioopt" must be {PROTOCOL}: {message[key]!r}')
    value = message.get(key)
    raise MessageError("invalid", f"{key!r} must be {WANTED[key]}, not {value!r:.60}")


def no_session(session: object) -> MessageError:
    """Return the error for a session number that is unknown."""
    return MessageError("unknown", f"there is no session {session!r:.60}: open one")


def refusal(identity: object, code: str, text: str) -> bytes:
    """Return the line, with its newline, that refuses the message with id *identity*
    and gives the reason.
    """
    error = {"code": code, "message": " ".join(text.split())}
    reply = {"ioopt": PROTOCOL, "id": identity, "ok": False, "error": error}
    return json.dumps(reply).encode() + b"\n"


def versions() -> Json:
    """Return the result of ``ping``."""
    return {"version": __version__, "protocol": PROTOCOL}
