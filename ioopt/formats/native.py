"""Native JSON: instances, results, comparisons. What cannot be read is explained in one line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ioopt.errors import InstanceError
from ioopt.formats.files import check_writable as check_writable
from ioopt.formats.files import read_bytes as read_bytes
from ioopt.formats.files import replacing as replacing
from ioopt.formats.files import write_text as write_text
from ioopt.options import nearest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


def named(source: str | os.PathLike[str]) -> str:
    """What messages call *source*."""
    return "<stdin>" if os.fspath(source) == "-" else os.fspath(source)


def read_text(source: str | os.PathLike[str]) -> str:
    """The text of a file; InstanceError when it is not UTF-8."""
    try:
        return read_bytes(source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InstanceError(f"{named(source)}: not UTF-8 text (byte {error.start})") from None


def read_toml(path: str) -> dict[str, Any]:
    """The table in a TOML file; InstanceError names the file and the line that is wrong."""
    import tomllib

    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    except RecursionError:
        raise InstanceError(f"{path}: nested too deeply") from None
    except ValueError as error:  # of tomllib, of the text's encoding, of numbers too long to read
        raise InstanceError(f"{path}: not valid TOML: {error}") from None


def read_json(source: str | os.PathLike[str]) -> Any:
    """Parse a JSON file; errors name file, line and column, duplicate keys and NaN are refused."""
    return parse_json(read_text(source), named(source))


def parse_json(text: str, name: str) -> Any:
    """Parse JSON *text* that came from *name* (used in messages only)."""
    try:
        data = json.loads(text, object_pairs_hook=unique_keys, parse_constant=_no_constant)
        if re.search(r"\\u[dD][89a-fA-F]", text):  # surrogates: in pairs, or no text can hold them
            json.dumps(data, ensure_ascii=False).encode()
        return data
    except UnicodeEncodeError:
        raise InstanceError(f"{name}: a \\u escape is half a character (a surrogate)") from None
    except json.JSONDecodeError as error:
        raise InstanceError(
            f"{name}: line {error.lineno} column {error.colno}: {error.msg.lower()}: "
            "not complete, valid JSON"
        ) from None
    except RecursionError:
        raise InstanceError(f"{name}: nested too deeply to be an ioopt file") from None
    except ValueError as error:
        raise InstanceError(f"{name}: {error}") from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of *pairs* (for ``json.loads``); ValueError for a key that is given twice."""
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} is given twice in one object")
            seen.add(key)
    return out


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number JSON allows; use a finite value or null")


def validate(cls: type[BaseModel], data: Any, name: str) -> Any:
    """Build the pydantic class *cls* from plain data, or raise InstanceError with one line."""
    from pydantic import ValidationError

    try:
        return cls.model_validate(data)
    except ValidationError as error:
        raise InstanceError(f"{name}: {describe(error, data, cls)}") from None
    except (RecursionError, UnicodeError):
        raise InstanceError(
            f"{name}: nested too deeply, or not text, to be an ioopt file"
        ) from None


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn failures of code that trusts a user's data into an InstanceError about *name*.

    It stands around the checking, replaying and drawing of plans and schedules, and around the
    making of instances from foreign files: their form has been validated, their consistency has not.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise InstanceError(
            f"{name}: does not hold together, so that it cannot be used ({text})"
        ) from error


_WORDS = {
    "greater_than_equal": "must be {ge:.10g} or more",
    "less_than_equal": "must be {le:.10g} or less",
    "string_too_long": "must have {max_length} characters or less",
    "model_type": "must be an object",
    "tuple_type": "must be a list",
    "too_short": "must have {min_length} or more items",
    "bool_parsing": "must be 0 or 1",
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "must be a finite number"),
    **dict.fromkeys(("int_type", "int_parsing"), "must be a whole number"),
}


def describe(error: ValidationError, data: Any, cls: type[BaseModel] | None = None) -> str:
    """One line for one problem of a validation error: place, item, what is wrong, value.

    A misspelt key comes before all else, since what is missing is missing because of it; *cls*
    is where the right one is looked for.
    """
    problems = error.errors(include_url=False)
    first, meant = _misspelt(problems, cls) or (_telling(problems), "")
    where = _place(first["loc"], data)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    kind, given = first["type"], first.get("input")
    if kind == "extra_forbidden":
        return f"{where}: unknown key{meant}{more}"
    if kind == "missing":
        return f"{where}: missing{more}"
    if kind == "value_error":
        text = str(first["ctx"]["error"]) if "ctx" in first else first["msg"]
        return f"{where}: {text}{more}" if where != "top level" else f"{text}{more}"
    message = first["msg"][:1].lower() + first["msg"][1:]
    if kind in _WORDS:
        message = _WORDS[kind].format(**first.get("ctx", {}))
    return f"{where}: {message}, not {shown(given)}{more}"


def shown(value: Any) -> str:
    """A value for a message: one line of at most 60 characters, whatever the value is.

    >>> shown(10**5000)
    'a whole number of 16610 bits'
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # whole numbers of more digits than Python writes
        return f"a whole number of {value.bit_length()} bits" if type(value) is int else "?"
    return text if len(text) <= 60 else text[:57] + "..."


def _telling(problems: list[Any]) -> Any:
    """The first problem; of a value that may have several forms, that of the form it has."""
    first = problems[0]
    same = (problem for problem in problems if problem.get("input") is first.get("input"))
    return next((problem for problem in same if not problem["type"].endswith("_type")), first)


def _misspelt(problems: list[Any], cls: type[BaseModel] | None) -> tuple[Any, str] | None:
    """The first unknown key that is nearly a known one, else the first unknown key; its hint."""
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    for problem in unknown:
        *above, key = problem["loc"]
        near = nearest(str(key), _keys_at(cls, above))
        if near:
            return problem, f"; did you mean {near!r}?"
    return (unknown[0], "") if unknown else None


def _keys_at(cls: type[BaseModel] | None, place: Iterable[int | str]) -> list[str]:
    """The keys that an object at *place* of the data of a class may have."""
    here: list[Any] = [] if cls is None else [cls]
    for part in place:
        fields = {_key(name, field): field for c in here for name, field in c.model_fields.items()}
        if part in fields:  # else a position, a key of a mapping, or which form of a union it is
            here = _classes_in(fields[str(part)].annotation)
    return [_key(name, field) for c in here for name, field in c.model_fields.items()]


def _key(name: str, field: Any) -> str:
    return field.alias or name


def _classes_in(annotation: Any) -> list[Any]:
    from typing import get_args

    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [found for part in get_args(annotation) for found in _classes_in(part)]


def _place(loc: tuple[int | str, ...], data: Any) -> str:
    """Where a problem is: ``jobs[3] (LU).nodes``; the forms of a union are left out."""
    text, here = "", data
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
            here = here[part] if isinstance(here, (list, tuple)) and part < len(here) else None
            if isinstance(here, Mapping) and isinstance(here.get("id"), (str, int)):
                name = here["id"]
                text += f" ({name if isinstance(name, str) and len(name) <= 60 else shown(name)})"
        elif here is None or isinstance(here, Mapping):
            text += f".{part}" if text else str(part)
            here = here.get(part) if isinstance(here, Mapping) else None
        # else the name of one form of a union, such as int
    return text or "top level"


def dump_json(data: Any, indent: int | None = 1) -> str:
    """JSON text with a closing newline; NaN is refused rather than written."""
    return json.dumps(data, indent=indent, allow_nan=False, ensure_ascii=False) + "\n"
