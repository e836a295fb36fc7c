"""What the calls of the HTTP service take and answer: its OpenAPI document is made of these classes."""

from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, create_model

from ioopt.embed.service import KEYS
from ioopt.problems.base import Json
from ioopt.result import Result


def _form(name: str, doc: str, extra: Literal["forbid", "ignore"], /, **fields: Any) -> Any:
    """A class of *fields*: a type, or a type and a default."""
    rows: Any = {key: f if isinstance(f, tuple) else (f, ...) for key, f in fields.items()}
    return create_model(name, __doc__=doc, __config__=ConfigDict(extra=extra), **rows)


def _answer(name: str, doc: str, /, **fields: Any) -> Any:
    return _form(name, doc, "forbid", **fields)


def _body(name: str, doc: str, /, **fields: Any) -> Any:
    """These keys are read; engines send more."""
    return _form(name, doc, "ignore", **fields)


_OF_RESULT = ("plan", "status", "stop", "objective", "bound", "gap", "notes")
_TEXT, _NUMBER = (str | None, None), (float | None, None)

VERSION = _answer("Version", "What serves here.", version=str, protocol=(int, 1))
DECIDED = _answer("Decided", "A decision; bound and gap where they are known.",
                  **{name: Result.model_fields[name].annotation for name in _OF_RESULT})  # fmt: skip
OPENED = _answer("Opened", "What later messages call the object by.", session=int)
CALLED = _answer("Called", "What the method returned, and why it is false.", value=Any, why=_TEXT)
SAVED = _answer("Saved", "The state of an object, for a later open.", state=Json)
DONE = _answer("Done", "Carried out; there is nothing to tell.")
REFUSED = _answer("Refused", "Why a message was refused.", code=str, message=str)
REPLY = _answer("Reply", "The result of a message, or its error.", ioopt=Literal[1], id=Any, ok=bool,
                result=(VERSION | DECIDED | OPENED | CALLED | SAVED | DONE, None),
                error=(REFUSED, None))  # fmt: skip
ERROR = _answer("Error", "Why a call was refused.", error=str)
REGISTERED = _answer("Registered", "The dispatcher that decides.", policy=str)
STATE = Literal["RECEIVED_CONFIG", "UNSCHEDULED", "SCHEDULED", "PREPARED", "FINISHED",
                "FINISHED_WITH_ERROR", "DELETED", "ERROR"]  # fmt: skip
TASK_STATE = _answer("TaskState", "Where a task stands; error says why it can never run.",
                     state=STATE, node=str | None, error=str | None)  # fmt: skip
LOCATION = _answer("Location", "Where a file is; on no node: the engine has it.", path=str,
                   sameAsEngine=bool, node=str | None, daemon=str | None, symlinks=list[Json],
                   notInContext=bool, locationWrapperID=int)  # fmt: skip
START = _answer("Start", "A task that starts now; [file, node or null for the storage] to stage first.",
                task=int, node=str, stage=list[tuple[str, str | None]])  # fmt: skip

MESSAGE = _body("Message", "A message; further keys depend on op.", ioopt=Literal[1], id=(Any, None),
                op=Literal[tuple(KEYS)])  # fmt: skip
REGISTRATION = _body("Registration", "An execution; strategy: a dispatcher.",
                     strategy=(str | None, "rolling"))  # fmt: skip
VERTEX = _body("Vertex", "A process of the workflow.", uid=int, label=_TEXT)
EDGE = _body("Edge", "Data from one process to another; null: from outside, or to nowhere.",
             uid=int, **{"from": (int | None, None), "to": (int | None, None)})  # fmt: skip
_FILE: Any = _body(
    "InputFile", "A file that a task reads.", value=_body("Stored", "", storePath=str)
)
_INPUTS = _body("Inputs", "Inputs that are files.", fileInputs=(list[_FILE], []))
TASK = _body("Task", "A task; inputSize: bytes of all its files.", task=(str, ""), runName=_TEXT,
             cpus=(float | None, 1), inputs=(_INPUTS, {}), inputSize=_NUMBER)  # fmt: skip
TAKEN = _body("Taken", "What a task took, in milliseconds.", realtime=_NUMBER)
PLACED = _body("Placed", "A file, and the number the engine knows its place by.", path=str,
               size=(int | None, None), locationWrapperID=(int | None, None))  # fmt: skip
NOW = _body("Now", "The scheduler's time (default: the service's), and seconds to decide in.",
            now=(float, None), deadline=_NUMBER)  # fmt: skip
ENDED = _body("Ended", "When a task ended; one that failed runs again or not.", now=(float, None),
              failed=(bool, False), again=(bool, True))  # fmt: skip


def schemas(
    forms: dict[str, Any], mode: Literal["validation", "serialization"]
) -> tuple[Json, Json]:
    """By key the JSON Schema of each of *forms*; and the definitions that those refer to."""
    rows = [(key, mode, TypeAdapter(form)) for key, form in forms.items()]
    made, top = TypeAdapter.json_schemas(rows, ref_template="#/components/schemas/{model}")
    return {key: schema for (key, _), schema in made.items()}, top.get("$defs", {})
