"""Describe the calls of every object that ``ioopt serve`` opens, as JSON Schemas made
from the signatures and the docstrings of the methods.

A schema is named ``OBJECT`` (the arguments with which it is opened), ``OBJECT_METHOD``
(the arguments of a call) or ``OBJECT_METHOD_value`` (what the reply's ``value`` holds).
"""

import inspect
import json
import operator
import re
import textwrap
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import reduce
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.json_schema import JsonSchemaMode

import ioopt.embed
from ioopt.embed.guard import Refused
from ioopt.embed.messages import METHODS
from ioopt.problems.base import Json

LISTS = (list, tuple, Sequence, Iterable, Collection)
TYPE_WORDS = {"string": "text", "integer": "whole number", "boolean": "true or false"}
WIDTH = 80
ARGUMENTS = {
    "act": "an act that `acts` returned",
    "deadline": "the time for the answer, in seconds",
    "file": "the id of a file",
    "files": "the files that the run does not know yet",
    "id": "the id of a request",
    "job": "the id of a job",
    "node": "the id of a node",
    "nodes": "the nodes of the machine",
    "now": "the time of the event or the question, in seconds",
    "size": "the bytes of the request",
    "task": "the id of a task",
    "tasks": "the tasks to add",
}
"""What an argument is, where the docstring says it only in the sentence that says what
the whole call does.
"""
NAMES = {
    "Act-Input": "GivenAct",
    "Act-Output": "Act",
    "Decision_int_": "Planned",
    "ioopt__problems__batch_io__Machine": "IoMachine",
    "ioopt__problems__gang__Machine": "GangMachine",
}
"""The names of records in the schema, where pydantic would make up another one."""
OPENED = "opened"
"""The name under which the constructor stands among the methods of an object."""


class Described(NamedTuple):
    """A call: the object, the method, what it does, the model of its arguments (with
    the name of their schema), and the type of its value.
    """

    object: str
    method: str
    words: str
    arguments: type[BaseModel]
    value: Any


def described_calls() -> Iterator[Described]:
    """Yield how each object is opened, followed by its methods."""
    for name, methods in METHODS.items():
        opened = getattr(ioopt.embed, name)
        yield _described(name, OPENED, opened, opened.__init__)
        for method in methods:
            function = getattr(opened, method)
            yield _described(name, method, function, function)


def _described(
    name: str, method: str, documented: object, function: Callable[..., Any]
) -> Described:
    signature = inspect.signature(function, eval_str=True)
    text = inspect.getdoc(documented) or ""
    fields: dict[str, Any] = {}
    for parameter in list(signature.parameters.values())[1:]:  # without self
        default = parameter.default
        if default is parameter.empty:
            default = ...
        told = Field(default, description=said_of(parameter.name, text))
        fields[parameter.name] = (_json_type(parameter.annotation), told)
    full_name = name if method == OPENED else f"{name}_{method}"
    prose, *_ = re.split(r"\n\n(?:Examples\n|>>>)", text)
    paragraphs = [plain(part) for part in prose.split("\n\n")]
    model = create_model(
        full_name,
        __config__=ConfigDict(extra="forbid"),
        __doc__="\n\n".join(paragraphs),
        **fields,
    )
    value = signature.return_annotation
    return Described(name, method, paragraphs[0], model, value)


def said_of(argument: str, text: str) -> str:
    """Return the sentences of a docstring that name *argument*, which is between stars
    there, after its first sentence, which is about the whole call. If there are none,
    say what such an argument is, or return the first sentence.

    >>> said_of("b", "Add *a*. The sum is more than *b*, in bytes. It is returned.")
    'The sum is more than `b`, in bytes.'
    >>> said_of("now", "Record that something ended at time *now*.")
    '`now` is the time of the event or the question, in seconds.'
    """
    first, *others = re.split(r"(?<=\.)\s+", " ".join(text.split()))
    found = []
    for told in others:
        if f"*{argument}*" in told and not told.startswith("Raises "):
            found.append(told)
    if found:
        return plain(" ".join(found))
    if argument in ARGUMENTS:
        return f"`{argument}` is {ARGUMENTS[argument]}."
    return plain(first) if f"*{argument}*" in first else ""


def plain(text: str) -> str:
    """Return a part of a docstring on one line, with names as in Markdown.

    >>> plain("As :meth:`~ioopt.A.b` says,\\n*c* is ``d``.")
    'As `b` says, `c` is `d`.'
    """
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", " ".join(text.split()))
    return re.sub(r"``([^`]+)``|\*(\w+)\*", r"`\1\2`", text)


def schemas(ref_template: str) -> Json:
    """Return the schemas by name; references in them follow *ref_template*, in which
    ``{model}`` stands for a name.
    """
    wanted: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = []
    for call in described_calls():
        name = call.arguments.__name__
        wanted.append((name, "validation", TypeAdapter(call.arguments)))
        if call.method != OPENED:
            value = TypeAdapter(_json_type(call.value))
            wanted.append((f"{name}_value", "serialization", value))
    made, document = TypeAdapter.json_schemas(wanted, ref_template="{model}")
    found: Json = {name: schema for (name, _), schema in made.items()}
    for name, schema in document["$defs"].items():
        found[NAMES.get(name, name)] = schema
    for schema in found.values():
        _name_references(schema, ref_template)
        without_defaults(schema)
    for name in _in_values(found):
        found[name]["required"] = list(found[name]["properties"])
    return found


def _in_values(found: Json) -> set[str]:
    """Return the names of the records among the schemas *found* that values of calls
    consist of; a reply has all of their keys.
    """
    names: set[str] = set()
    for key in [key for key in found if key.endswith("_value")]:
        for part in _parts(found[key]):
            names.add(str(part.get("$ref", "")).rpartition("/")[2])
    return {name for name in names if "properties" in found.get(name, {})}


def _name_references(schema: object, ref_template: str) -> None:
    """Let the references in *schema* follow *ref_template*, with the names of
    :data:`NAMES`.
    """
    for part in _parts(schema):
        if isinstance(part.get("$ref"), str):
            name = part["$ref"]
            part["$ref"] = ref_template.format(model=NAMES.get(name, name))


def without_defaults(schema: object) -> None:
    """Say the defaults of a schema in the descriptions instead, because generators of
    clients take a property with a default for one that is always there.
    """
    for part in _parts(schema):
        properties = part.get("properties")
        if not isinstance(properties, dict):
            continue
        for value in properties.values():
            if isinstance(value, dict) and "default" in value:
                default = json.dumps(value.pop("default"))
                told = value.get("description", "")
                value["description"] = f"{told} Default: {default}.".strip()


def _parts(schema: object) -> Iterator[Json]:
    """Yield all mappings of a JSON value, the outer ones first."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from _parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _parts(value)


def as_text() -> str:
    """Return all calls for a terminal: each with its arguments, the optional ones in
    brackets, its value, and what it does.
    """
    found = schemas("#/{model}")
    lines = [
        "Calls over a pipe, a socket or HTTP: open OBJECT, then call its methods.",
        "Arguments in brackets may be left out. A whole number may be written 64e6.",
    ]
    for call in described_calls():
        key = call.arguments.__name__
        head = f"  {call.method}({', '.join(arguments_in_words(found[key]))})"
        if call.method == OPENED:
            lines += ["", call.object]
            head = head.replace(OPENED, "open", 1)
        else:
            head += f" -> {in_words(found[f'{key}_value'])}"
        lines += textwrap.wrap(head, WIDTH, subsequent_indent="    ")
        lines += textwrap.wrap(
            call.words, WIDTH, initial_indent="      ", subsequent_indent="      "
        )
    lines += ["", "Records: what the calls take and return, key by key."]
    for name in sorted(records(found)):
        keys = ", ".join(arguments_in_words(found[name]))
        lines += textwrap.wrap(f"  {name}: {keys}", WIDTH, subsequent_indent="    ")
    return "\n".join(lines)


def records(found: Json) -> list[str]:
    """Return the names of the records among the schemas *found*, which are not the
    arguments or the value of a call.
    """
    calls = {call.arguments.__name__ for call in described_calls()}
    calls |= {f"{name}_value" for name in calls}
    return [name for name in found if name not in calls and "properties" in found[name]]


def arguments_in_words(schema: Json) -> list[str]:
    """Return the arguments of a call with their types; optional ones are in
    brackets.
    """
    required = set(schema.get("required", ()))
    words = []
    for name, value in schema["properties"].items():
        told = f"{name}: {in_words(value)}"
        if name not in required:
            told = f"[{told.removesuffix(' or null')}]"
        words.append(told)
    return words


def in_words(schema: Json) -> str:
    """Return the type that a schema describes in a few words.

    >>> in_words({"type": "array", "items": {"$ref": "#/$defs/Task"}})
    'list of Task'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(in_words(part) for part in schema["anyOf"])
    if "const" in schema:
        return str(schema["const"]).lower()
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    kind = str(schema.get("type", "anything"))
    if "prefixItems" in schema:
        return f"[{', '.join(in_words(part) for part in schema['prefixItems'])}]"
    if kind == "array":
        items = schema.get("items") or {}
        return f"list of {in_words(items)}" if items else "list"
    return TYPE_WORDS.get(kind, kind)


def _json_type(annotation: object) -> Any:
    """Return the part of a type that can stand in a message: without functions and
    objects of Python, and with records instead of plain mappings.

    A refusal is false in a reply; its reason stands beside it (``why``).
    """
    if annotation is Refused:
        return Literal[False]
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return _json_union([_json_type(part) for part in get_args(annotation)])
    if origin is Annotated:
        return annotation
    if origin in LISTS and origin is not tuple:
        return list[_json_type(get_args(annotation)[0])]  # type: ignore[misc]
    return annotation


def _json_union(parts: list[Any]) -> Any:
    has_record = any(_is_record(part) for part in parts)
    kept = []
    for part in parts:
        plain = get_origin(part) in (dict, Mapping)
        if _has_schema(part) and not (has_record and plain):
            kept.append(part)
    return reduce(operator.or_, kept)


def _is_record(part: object) -> bool:
    is_model = isinstance(part, type) and issubclass(part, BaseModel)
    return is_model or is_dataclass(part)


def _has_schema(part: Any) -> bool:
    try:
        TypeAdapter(part).json_schema()
    except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):
        return False
    return True
