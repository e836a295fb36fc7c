"""Files, bounded where they are read and kept whole where they are written; JSON,
explained in one line.
"""

import codecs
import contextlib
import errno
import gzip
import io
import json
import os
import re
import stat
import sys
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, to_json

from ioopt.errors import InstanceError, UsageError
from ioopt.options import nearest
from ioopt.options import shown as shown

Model = TypeVar("Model", bound=BaseModel)

MAX_FILE_BYTES = 1 << 30
"""Largest file that is read, packed or unpacked."""
MAX_STREAM_BYTES = 1 << 28
"""Most that is read where nothing tells the size beforehand: standard
input, a FIFO, a device.
"""
FREE_UNPACKED_BYTES, UNPACKED_RATIO = 1 << 26, 64
"""A gzipped file unpacks to at most the larger of the first and the
second times its own size.
"""
GZIP_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"
_CHUNK_BYTES = 1 << 20
_BYTE_ORDER_MARKS = (  # the mark of UTF-16 begins that of UTF-32
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 256


def read_bytes(source: str | os.PathLike[str]) -> bytes:
    """Bytes of a file, unpacked when gzipped or the one file of a zip archive;
    ``-`` is standard input.

    Every reader goes through it. Memory grows with what is there, never past the
    limits above. Raises InstanceError naming the file when it is missing, unreadable,
    too large or truncated.
    """
    name = os.fspath(source)
    try:
        if name == "-":
            raw = _bounded(sys.stdin.buffer, name, MAX_STREAM_BYTES)
        else:
            if stat.S_ISFIFO(os.stat(name).st_mode) and not name.startswith("/dev/"):
                print(
                    f"ioopt: {name}: waiting for who writes to this named pipe",
                    file=sys.stderr,
                )
            with open(name, "rb") as stream:
                raw = _bounded(stream, name, _most_bytes(stream, name))
        if raw[:2] == GZIP_MAGIC:
            with gzip.open(io.BytesIO(raw)) as packed:
                raw = _bounded(packed, name, _most_unpacked(raw), unpacked=True)
        elif raw[:4] == ZIP_MAGIC:
            raw = _unzipped(raw, name)
    except FileNotFoundError:
        raise InstanceError(
            f"{_short(name)}: no such file, and no bundled instance has that name "
            "(see `ioopt instances`)"
        ) from None
    except IsADirectoryError:
        raise InstanceError(f"{name}: is a directory, not an instance file") from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InstanceError(f"{_short(name)}: cannot be read: {why}") from None
    return raw


def _most_bytes(stream: IO[bytes], name: str) -> int:
    known = os.fstat(stream.fileno())
    if not stat.S_ISREG(known.st_mode):
        return MAX_STREAM_BYTES
    if known.st_size > MAX_FILE_BYTES:
        raise InstanceError(
            f"{name}: {known.st_size} bytes; at most {MAX_FILE_BYTES} are read"
        )
    return MAX_FILE_BYTES


def _most_unpacked(raw: bytes) -> int:
    return min(MAX_FILE_BYTES, max(FREE_UNPACKED_BYTES, UNPACKED_RATIO * len(raw)))


def _unzipped(raw: bytes, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if len(archive.infolist()) != 1:
                raise InstanceError(f"{name}: an archive of one file is wanted")
            with archive.open(archive.infolist()[0]) as packed:
                return _bounded(packed, name, _most_unpacked(raw), unpacked=True)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InstanceError(f"{name}: cannot be unpacked: {error}") from None


def _bounded(
    stream: IO[bytes] | gzip.GzipFile, name: str, most: int, unpacked: bool = False
) -> bytes:
    """All of *stream*, read in pieces; InstanceError as soon as it is
    more than *most* bytes.
    """
    content = io.BytesIO()
    while piece := stream.read(_CHUNK_BYTES):
        if content.tell() + len(piece) > most:
            hint = " unpacked; unpack it first" if unpacked else ""
            raise InstanceError(
                f"{name}: more than the {most} bytes that are read{hint}"
            )
        content.write(piece)
    return content.getvalue()


def write_bytes(target: str | os.PathLike[str], content: bytes) -> None:
    """Write *content* to a file, as a whole or not at all.

    A regular file (or none yet) is replaced at once by one written beside it, and keeps
    its mode and owner; a symbolic link stays and what it points at is replaced.
    Anything else (FIFO, device, ``/dev/stdout``, ``>(...)``, a file that has other
    names too) is written through. For a name that ends in ``.gz`` it is compressed
    (with a fixed time stamp, so that equal content gives equal files). Raises
    UsageError when the target cannot be written.
    """
    path = Path(target)
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    try:
        known = _stat(path)
        descriptor = _descriptor(path)
        if descriptor is not None:
            sys.stdout.flush()
            # not opened anew, which would begin at its start
            with os.fdopen(os.dup(descriptor), "wb") as out:
                out.write(content)
        elif known is None or (stat.S_ISREG(known.st_mode) and known.st_nlink == 1):
            _replace(os.path.realpath(path), known, content)
        else:
            path.write_bytes(content)
    except BrokenPipeError:
        raise  # whoever read it has gone, as on standard output
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{_short(path)}: cannot be written: {why}") from None


def check_writable(target: str | os.PathLike[str]) -> None:
    """UsageError when *target* is a folder or in none; nothing is opened
    (a FIFO would notice).
    """
    path = Path(target)
    try:
        _stat(path)
        parent = os.stat(path.parent)
    except OSError as error:
        raise UsageError(
            f"{_short(path)}: cannot be written: {error.strerror}"
        ) from None
    if not stat.S_ISDIR(parent.st_mode):
        raise UsageError(
            f"{_short(path)}: cannot be written: {os.strerror(errno.ENOTDIR)}"
        )


def _short(path: str | Path) -> str:
    """Return a file's name for a message: the end of one that is very long."""
    name = os.fspath(path)
    return name if len(name) <= LONGEST_SHOWN else f"...{name[-LONGEST_SHOWN:]}"


LONGEST_SHOWN = 120


def _stat(path: Path) -> os.stat_result | None:
    """What stands at *path*, links followed; None for nothing; an
    OSError for a folder.
    """
    try:
        known = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(known.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return known


def _descriptor(path: Path) -> int | None:
    """The open file that a name such as ``/dev/stdout`` or
    ``/dev/fd/63`` stands for, if any.

    Such a name may lead to a regular file (``>> log``), which is not ours to replace.
    """
    name = os.path.abspath(path)
    while not (found := re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", name)):
        if not os.path.islink(name):
            return None
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    return int(found[1])


def _replace(path: str, known: os.stat_result | None, content: bytes) -> None:
    """Put a temporary file in the folder of *path* in its place once
    it is safely on disk.
    """
    if known is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected")
    handle, temporary = tempfile.mkstemp(prefix=".ioopt-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as raw:
            raw.write(content)
            raw.flush()
            if known is None:
                umask = os.umask(0)
                os.umask(umask)
                os.fchmod(handle, 0o666 & ~umask)
            else:
                with contextlib.suppress(OSError):  # the owner is kept where we may
                    os.fchown(handle, known.st_uid, known.st_gid)
                os.fchmod(handle, stat.S_IMODE(known.st_mode))
            os.fsync(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write *text* to a file as :func:`write_bytes` does, or to
    standard output for ``-``.
    """
    if os.fspath(target) == "-":
        sys.stdout.write(text)
    else:
        write_bytes(target, text.encode())


def named(source: str | os.PathLike[str]) -> str:
    """What messages call *source*."""
    return "<stdin>" if os.fspath(source) == "-" else os.fspath(source)


def decoded(raw: bytes, name: str, otherwise: str = "") -> str:
    """Decode the bytes of the text file *name*, which every reader of text does here.

    Text is UTF-8, or UTF-16 or UTF-32 where a byte order mark says so. Other bytes are
    in the encoding *otherwise*, or InstanceError.
    """
    encoding = next(
        (e for mark, e in _BYTE_ORDER_MARKS if raw.startswith(mark)), "utf-8"
    )
    begin = raw[:_SAMPLE_BYTES]
    if encoding == "utf-8" and 3 * begin.count(0) > len(begin):  # of ASCII half are NUL
        raise InstanceError(
            f"{name}: UTF-16 text without a byte order mark, it seems; convert it, "
            "such as by iconv -f UTF-16LE -t UTF-8"
        )
    try:
        return raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        if otherwise and encoding == "utf-8":
            return raw.decode(otherwise, errors="replace")
        raise InstanceError(
            f"{name}: not {encoding.upper()} text (byte {error.start})"
        ) from None


def read_text(source: str | os.PathLike[str]) -> str:
    """The text of a file; InstanceError when it is none (see :func:`decoded`)."""
    return decoded(read_bytes(source), named(source))


def read_toml(path: str) -> dict[str, Any]:
    """The table in a TOML file; InstanceError names the file and
    the line that is wrong.
    """
    try:
        return tomllib.loads(read_text(path))
    except RecursionError:
        raise InstanceError(f"{path}: nested too deeply") from None
    except (
        ValueError
    ) as error:  # of tomllib, of the text's encoding, of numbers too long to read
        raise InstanceError(f"{path}: not valid TOML: {error}") from None


def read_json(source: str | os.PathLike[str]) -> Any:
    """Parse a JSON file; errors name file, line and column, duplicate keys
    and NaN are refused.
    """
    return parse_json(read_text(source), named(source))


def parse_json(text: str, name: str) -> Any:
    """Parse JSON *text* that came from *name* (used in messages only)."""
    try:
        data = json.loads(
            text, object_pairs_hook=unique_keys, parse_constant=_no_constant
        )
        if re.search(
            r"\\u[dD][89a-fA-F]", text
        ):  # surrogates: in pairs, or no text can hold them
            json.dumps(data, ensure_ascii=False).encode()
        return data
    except UnicodeEncodeError:
        raise InstanceError(
            f"{name}: a \\u escape is half a character (a surrogate)"
        ) from None
    except json.JSONDecodeError as error:
        raise InstanceError(
            f"{name}: line {error.lineno} column {error.colno}: {error.msg.lower()}: "
            "not complete, valid JSON"
        ) from None
    except RecursionError:
        raise InstanceError(f"{name}: nested too deeply to be an ioopt file") from None
    except ValueError as error:
        raise InstanceError(f"{name}: {error}") from None


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of *pairs* (for ``json.loads``); ValueError for a key
    that is given twice.
    """
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} is given twice in one object")
            seen.add(key)
    return out


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number JSON allows; use a finite value or null")


def validate(cls: type[Model], data: object, name: str) -> Model:
    """Build the pydantic class *cls* from plain data, or raise
    InstanceError with one line.
    """
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        raise InstanceError(f"{name}: {describe(error, data, cls)}") from None
    except (RecursionError, UnicodeError):
        raise InstanceError(
            f"{name}: nested too deeply, or not text, to be an ioopt file"
        ) from None


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn failures of code that trusts a user's data into an
    InstanceError about *name*.

    It stands around the checking, replaying and drawing of plans and schedules, and
    around the making of instances from foreign files: their form has been validated,
    their consistency has not.
    """
    try:
        yield
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
    ) as error:
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
    **dict.fromkeys(
        ("float_type", "float_parsing", "finite_number"), "must be a finite number"
    ),
    **dict.fromkeys(("int_type", "int_parsing"), "must be a whole number"),
}


def describe(
    error: ValidationError, data: object, cls: type[BaseModel] | None = None
) -> str:
    """One line for one problem of a validation error: place, what is wrong, value;
    misspelt keys first.
    """
    problems = error.errors(include_url=False)
    first, meant = _misspelt(problems, cls) or (_telling(problems), "")
    where = _place(first["loc"], data)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    kind, given = first["type"], first.get("input")
    if kind == "extra_forbidden" and (why := _why_left(cls, first["loc"])):
        return f"{where}: {shown(given)}: {why}{more}"
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


def _telling(problems: list[ErrorDetails]) -> ErrorDetails:
    """The first problem; of a value that may have several forms,
    that of the form it has.
    """
    first = problems[0]
    same = (
        problem for problem in problems if problem.get("input") is first.get("input")
    )
    return next(
        (problem for problem in same if not problem["type"].endswith("_type")), first
    )


def _misspelt(
    problems: list[ErrorDetails], cls: type[BaseModel] | None
) -> tuple[ErrorDetails, str] | None:
    """The first unknown key that is nearly a known one, else the first
    unknown key; its hint.
    """
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    for problem in unknown:
        if _why_left(cls, problem["loc"]):
            return problem, ""
    for problem in unknown:
        *above, key = problem["loc"]
        near = nearest(str(key), _keys_at(cls, above))
        if near:
            return problem, f"; did you mean {near!r}?"
    return (unknown[0], "") if unknown else None


def _keys_at(cls: type[BaseModel] | None, place: Iterable[int | str]) -> list[str]:
    """Return the keys that an object at *place* of the data of a class may have."""
    here = _classes_at(cls, place)
    return [_key(name, field) for c in here for name, field in c.model_fields.items()]


def _why_left(cls: type[BaseModel] | None, place: Iterable[int | str]) -> str:
    """Return why a key at *place* is not read any more; empty for any other key."""
    *above, key = place
    for found in _classes_at(cls, above):
        left: Mapping[str, str] = getattr(found, "LEFT", {})
        if key in left:
            return left[str(key)]
    return ""


def _classes_at(
    cls: type[BaseModel] | None, place: Iterable[int | str]
) -> list[type[BaseModel]]:
    """Return the classes that an object at *place* of the data of a class may have."""
    here = [] if cls is None else [cls]
    for part in place:
        fields = {
            _key(name, field): field
            for c in here
            for name, field in c.model_fields.items()
        }
        if (
            part in fields
        ):  # else a position, a key of a mapping, or which form of a union it is
            here = _classes_in(fields[str(part)].annotation)
    return here


def _key(name: str, field: FieldInfo) -> str:
    return field.alias or name


def _classes_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _classes_in(part)]


def _place(loc: tuple[int | str, ...], data: object) -> str:
    """Where a problem is: ``jobs[3] (LU).nodes``; the forms of a union are left out."""
    text = ""
    here: object = data
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
            here = (
                here[part]
                if isinstance(here, (list, tuple)) and part < len(here)
                else None
            )
            if isinstance(here, Mapping) and isinstance(here.get("id"), (str, int)):
                name = here["id"]
                text += (
                    " "
                    f"({name if isinstance(name, str) and len(name) <= 60 else shown(name)})"
                )
        elif here is None or isinstance(here, Mapping):
            text += f".{part}" if text else str(part)
            here = here.get(part) if isinstance(here, Mapping) else None
        # else the name of one form of a union, such as int
    return text or "top level"


def dump_json(data: object, indent: int | None = 1) -> str:
    """JSON text with a closing newline; NaN is refused rather than written."""
    if indent is not None:
        # json indents in plain Python
        text = to_json(data, indent=indent, inf_nan_mode="constants").decode()
        if "NaN" not in text and "Infinity" not in text:
            return text + "\n"
    return json.dumps(data, indent=indent, allow_nan=False, ensure_ascii=False) + "\n"
