"""Native JSON files: instances, results, comparisons. Reading explains; writing never destroys."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ioopt.errors import InstanceError, UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

MAX_FILE_BYTES = 1 << 31
GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(source: str | os.PathLike[str]) -> bytes:
    """Bytes of a file, unpacked when gzipped; ``-`` is standard input.

    Raises InstanceError naming the file when it is missing, unreadable, huge or truncated.
    """
    name = os.fspath(source)
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with open(name, "rb") as stream:
                raw = stream.read(MAX_FILE_BYTES + 1)
        if raw[:2] == GZIP_MAGIC:
            with gzip.open(_as_stream(raw)) as packed:
                raw = packed.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise InstanceError(
            f"{name}: no such file, and no bundled instance has that name (see `ioopt instances`)"
        ) from None
    except IsADirectoryError:
        raise InstanceError(f"{name}: is a directory, not an instance file") from None
    except (OSError, EOFError) as error:
        raise InstanceError(f"{name}: cannot be read: {error}") from None
    if len(raw) > MAX_FILE_BYTES:
        raise InstanceError(f"{name}: larger than {MAX_FILE_BYTES} bytes; split the instance")
    return raw


def _as_stream(raw: bytes) -> IO[bytes]:
    import io

    return io.BytesIO(raw)


def read_json(source: str | os.PathLike[str]) -> Any:
    """Parse a JSON file; errors name file, line and column, duplicate keys and NaN are refused."""
    name = "<stdin>" if os.fspath(source) == "-" else os.fspath(source)
    raw = read_bytes(source)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InstanceError(f"{name}: not UTF-8 text (byte {error.start})") from None
    return parse_json(text, name)


def parse_json(text: str, name: str) -> Any:
    """Parse JSON *text* that came from *name* (used in messages only)."""
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InstanceError(
            f"{name}: line {error.lineno} column {error.colno}: {error.msg.lower()}: "
            "not complete, valid JSON"
        ) from None
    except RecursionError:
        raise InstanceError(f"{name}: nested too deeply to be an ioopt file") from None
    except ValueError as error:
        raise InstanceError(f"{name}: {error}") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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
        raise InstanceError(f"{name}: {describe(error, data)}") from None
    except RecursionError:
        raise InstanceError(f"{name}: nested too deeply to be an ioopt file") from None


def describe(error: ValidationError, data: Any) -> str:
    """One line for the first problem of a validation error: place, item, what is wrong, value."""
    problems = error.errors(include_url=False)
    first = problems[0]
    where = _place(first["loc"], data)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    kind, given = first["type"], first.get("input")
    if kind == "extra_forbidden":
        return f"{where}: unknown key{more}"
    if kind == "missing":
        return f"{where}: missing{more}"
    if kind == "value_error":
        text = str(first["ctx"]["error"]) if "ctx" in first else first["msg"]
        return f"{where}: {text}{more}" if where != "top level" else f"{text}{more}"
    shown = repr(given)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    message = first["msg"][:1].lower() + first["msg"][1:]
    return f"{where}: {message}, not {shown}{more}"


def _place(loc: tuple[int | str, ...], data: Any) -> str:
    text, here = "", data
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
            here = here[part] if isinstance(here, (list, tuple)) and part < len(here) else None
            if isinstance(here, Mapping) and isinstance(here.get("id"), (str, int)):
                text += f" ({here['id']})"
        else:
            text += f".{part}" if text else str(part)
            here = here.get(part) if isinstance(here, Mapping) else None
    return text or "top level"


def dump_json(data: Any, indent: int | None = 1) -> str:
    """JSON text with a closing newline; NaN is refused rather than written."""
    return json.dumps(data, indent=indent, allow_nan=False, ensure_ascii=False) + "\n"


@contextmanager
def replacing(target: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside *target* and rename it over *target* only when all went well.

    A name that ends in ``.gz`` is compressed (with a fixed time stamp, so that equal content gives
    equal files). Raises UsageError when the folder cannot be written.
    """
    path = Path(target)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent or ".")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as raw:
            yield from _layers(raw, path, mode)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
        raise


def _layers(raw: IO[bytes], path: Path, mode: str) -> Iterator[IO[Any]]:
    import io

    binary: Any = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw
    stream = binary if "b" in mode else io.TextIOWrapper(binary, "utf-8", newline="")
    yield stream
    stream.flush()
    if binary is not raw:
        if stream is not binary:
            stream.detach()
        binary.close()
    elif stream is not raw:
        stream.detach()


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write *text* to a file through :func:`replacing`, or to standard output for ``-``."""
    if os.fspath(target) == "-":
        sys.stdout.write(text)
        return
    with replacing(target) as stream:
        stream.write(text)
