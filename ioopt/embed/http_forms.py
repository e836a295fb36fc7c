"""What the calls of the HTTP service take and answer: its OpenAPI document is made of these classes."""

from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, create_model

from ioopt.embed.service import KEYS
from ioopt.problems.base import Json
from ioopt.result import Result


def _form(
    name: str, doc: str, extra: Literal["forbid", "ignore"] = "forbid", /, **fields: Any
) -> Any:
    """A class of *fields*: a type, or a type and a default."""
    rows: Any = {key: f if isinstance(f, tuple) else (f, ...) for key, f in fields.items()}
    return create_model(name, __doc__=doc, __config__=ConfigDict(extra=extra), **rows)


_OF_RESULT = ("plan", "status", "stop", "objective", "bound", "gap", "notes")

VERSION = _form("Version", "What serves here.", version=str, protocol=(int, 1))
DECIDED = _form("Decided", "A decision; bound and gap where they are known.",
                  **{name: Result.model_fields[name].annotation for name in _OF_RESULT})  # fmt: skip
OPENED = _form("Opened", "What later messages call the object by.", session=int)
CALLED = _form(
    "Called", "What the method returned, and why it is false.", value=Any, why=(str | None, None)
)
SAVED = _form("Saved", "The state of an object, for a later open.", state=Json)
DONE = _form("Done", "Carried out; there is nothing to tell.")
REFUSED = _form("Refused", "Why a message was refused.", code=str, message=str)
REPLY = _form("Reply", "The result of a message, or its error.", ioopt=Literal[1], id=Any, ok=bool,
                result=(VERSION | DECIDED | OPENED | CALLED | SAVED | DONE, None),
                error=(REFUSED, None))  # fmt: skip
ERROR = _form("Error", "Why a call was refused.", error=str)
MESSAGE = _form("Message", "A message; further keys depend on op.", "ignore", ioopt=Literal[1],
                id=(Any, None), op=Literal[tuple(KEYS)])  # fmt: skip


def schemas(
    forms: dict[str, Any], mode: Literal["validation", "serialization"]
) -> tuple[Json, Json]:
    """By key the JSON Schema of each of *forms*; and the definitions that those refer to."""
    rows = [(key, mode, TypeAdapter(form)) for key, form in forms.items()]
    made, top = TypeAdapter.json_schemas(rows, ref_template="#/components/schemas/{model}")
    return {key: schema for (key, _), schema in made.items()}, top.get("$defs", {})
