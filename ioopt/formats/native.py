"""Read and write files, and parse and validate JSON with one-line messages.

Reads are bounded in size; a write replaces a file as a whole or not at all.
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

from ioopt.errors import InstanceError, MissingFileError, UsageError
from ioopt.options import nearest
from ioopt.options import shown as shown

Model = TypeVar("Model", bound=BaseModel)

MAX_FILE_BYTES = 1 << 30
"""Largest size in bytes of a file that is read, packed or unpacked."""
MAX_STREAM_BYTES = 1 << 28
"""Largest number of bytes read from a source of unknown size: standard input, a FIFO or
a device.
"""
FREE_UNPACKED_BYTES = 1 << 26
"""Number of bytes to which every packed file may unpack, however small it is."""
UNPACKED_RATIO = 64
"""Largest ratio of unpacked to packed size, for files that unpack to more than that."""
LARGE_BYTES = 1 << 18
"""Size in bytes from which a file is worth reading in pieces."""
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
_CHUNK_BYTES = 1 << 20
_BYTE_ORDER_MARKS = (  # The mark of UTF-16 is a prefix of that of UTF-32.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 256
"""Number of bytes at the beginning of a file that are searched for NUL."""


def read_bytes(source: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; ``-`` is standard input.

    A gzipped file, or the one file of a zip archive, is unpacked. Every reader of files
    calls this function. Memory grows with the number of bytes read, up to the limits
    above. Raises InstanceError with the name of the file if it is missing, unreadable,
    too large or truncated.
    """
    name = os.fspath(source)
    try:
        if name == "-":
            raw = _bounded(sys.stdin.buffer, name, MAX_STREAM_BYTES)
        else:
            if stat.S_ISFIFO(os.stat(name).st_mode) and not name.startswith("/dev/"):
                print(
                    f"ioopt: {name}: waiting for a program to write to this named pipe",
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
        raise MissingFileError(f"{_short(name)}: no such file") from None
    except IsADirectoryError:
        raise InstanceError(f"{name}: is a directory; name a file in it") from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InstanceError(f"{_short(name)}: cannot be read: {why}") from None
    return raw


def is_large(path: str) -> bool:
    """Return whether *path* is a regular file that is worth reading in pieces
    (:mod:`ioopt.formats.large`). Standard input, ``-``, is none.
    """
    if path == "-":
        return False
    try:
        known = os.stat(path)
    except OSError:
        return False
    regular = stat.S_ISREG(known.st_mode)
    return regular and LARGE_BYTES <= known.st_size <= MAX_FILE_BYTES


def _most_bytes(stream: IO[bytes], name: str) -> int:
    """Return the largest number of bytes to read from *stream*.

    Raises InstanceError for a file that is larger.
    """
    known = os.fstat(stream.fileno())
    if not stat.S_ISREG(known.st_mode):
        return MAX_STREAM_BYTES
    if known.st_size > MAX_FILE_BYTES:
        raise InstanceError(
            f"{name}: {known.st_size} bytes; at most {MAX_FILE_BYTES} are read"
        )
    return MAX_FILE_BYTES


def _most_unpacked(raw: bytes) -> int:
    """Return the largest number of bytes to which the packed file *raw* may unpack."""
    return min(MAX_FILE_BYTES, max(FREE_UNPACKED_BYTES, UNPACKED_RATIO * len(raw)))


def _unzipped(raw: bytes, name: str) -> bytes:
    """Return the unpacked bytes of the only file in the zip archive *raw*.

    Raises InstanceError if the archive has another number of files.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            if len(archive.infolist()) != 1:
                raise InstanceError(f"{name}: the archive must hold exactly one file")
            with archive.open(archive.infolist()[0]) as packed:
                return _bounded(packed, name, _most_unpacked(raw), unpacked=True)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InstanceError(f"{name}: cannot be unpacked: {error}") from None


def _bounded(
    stream: IO[bytes] | gzip.GzipFile, name: str, most: int, unpacked: bool = False
) -> bytes:
    """Return all bytes of *stream*, which is read in pieces.

    Raises InstanceError once they are more than *most* bytes.
    """
    content = io.BytesIO()
    while piece := stream.read(_CHUNK_BYTES):
        if content.tell() + len(piece) > most:
            message = f"{name}: larger than the limit of {most} bytes"
            if unpacked:
                message += " unpacked; unpack it first"
            raise InstanceError(message)
        content.write(piece)
    return content.getvalue()


def write_bytes(target: str | os.PathLike[str], content: bytes) -> None:
    """Write *content* to a file; see :func:`write_pieces`."""
    write_pieces(target, [content])


def write_pieces(target: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Write *pieces* one after the other to a file, as a whole or not at all.

    A new or regular file is written under a temporary name in the same folder and then
    renamed. It keeps its mode and owner. A symbolic link stays, and the file to which
    it points is replaced. Any other target is opened and written directly: a FIFO, a
    device, ``/dev/stdout``, ``>(...)``, or a file with several hard links. If the name
    ends in ``.gz``, the content is compressed with a fixed time stamp, so that equal
    content gives equal files. Raises UsageError when the target cannot be written.
    """
    path = Path(target)
    if path.suffix == ".gz":
        pieces = [gzip.compress(b"".join(pieces), mtime=0)]
    try:
        known = _stat(path)
        descriptor = _descriptor(path)
        if descriptor is not None:
            sys.stdout.flush()
            # If opened again, a file would be written from its beginning.
            with os.fdopen(os.dup(descriptor), "wb") as out:
                out.writelines(pieces)
        elif known is None or (stat.S_ISREG(known.st_mode) and known.st_nlink == 1):
            _replace(os.path.realpath(path), known, pieces)
        else:
            with open(path, "wb") as out:
                out.writelines(pieces)
    except BrokenPipeError:
        raise  # The reader of a pipe has ended, as may happen to standard output.
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{_short(path)}: cannot be written: {why}") from None


def check_writable(target: str | os.PathLike[str]) -> None:
    """Raise UsageError if *target* is a folder, or if its own folder does not exist.

    Nothing is opened, because the reader of a FIFO would notice.
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
    """Return the name of a file for a message: only its end if it is very long."""
    name = os.fspath(path)
    if len(name) <= LONGEST_SHOWN:
        return name
    return f"...{name[-LONGEST_SHOWN:]}"


LONGEST_SHOWN = 120
"""Largest number of characters of a file's name that a message shows."""


def _stat(path: Path) -> os.stat_result | None:
    """Return the status of the file at *path*, following links; None if missing.

    Raises OSError for a folder.
    """
    try:
        known = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(known.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return known


def _descriptor(path: Path) -> int | None:
    """Return the file descriptor of a name such as ``/dev/stdout`` or ``/dev/fd/63``.

    Return None for other names. The open file may be a regular one (``>> log``), which
    must not be replaced.
    """
    name = os.path.abspath(path)
    while not (found := re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", name)):
        if not os.path.islink(name):
            return None
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    return int(found[1])


def _replace(path: str, known: os.stat_result | None, pieces: Iterable[bytes]) -> None:
    """Write *pieces* to a temporary file next to *path*, then rename it to *path*."""
    if known is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected")
    handle, temporary = tempfile.mkstemp(prefix=".ioopt-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as raw:
            raw.writelines(pieces)
            raw.flush()
            if known is None:
                umask = os.umask(0)
                os.umask(umask)
                os.fchmod(handle, 0o666 & ~umask)
            else:
                with contextlib.suppress(
                    OSError
                ):  # changing the owner may be forbidden
                    os.fchown(handle, known.st_uid, known.st_gid)
                os.fchmod(handle, stat.S_IMODE(known.st_mode))
            os.fsync(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_text(target: str | os.PathLike[str], text: str | Iterable[str]) -> None:
    """Write *text*, whole or in pieces, to a file like :func:`write_pieces`; ``-`` is
    standard output.
    """
    pieces = [text] if isinstance(text, str) else text
    if os.fspath(target) == "-":
        sys.stdout.writelines(pieces)
    else:
        write_pieces(target, (piece.encode() for piece in pieces))


def named(source: str | os.PathLike[str]) -> str:
    """Return the name of *source* for messages; ``-`` becomes ``<stdin>``."""
    name = os.fspath(source)
    if name == "-":
        return "<stdin>"
    return name


SQLITE = b"SQLite format 3\0"
"""The first bytes of a SQLite file, such as the store of a sweep."""


def is_sqlite(path: str | os.PathLike[str]) -> bool:
    """Return whether the file *path* is a SQLite file."""
    if not os.path.isfile(path):
        # A FIFO can be read only once, by the reader of results.
        return False
    try:
        with open(path, "rb") as stream:
            return stream.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def decoded(raw: bytes, name: str, otherwise: str = "") -> str:
    """Return *raw*, the bytes of the text file *name*, as text.

    Every reader of text calls this function. A byte order mark selects UTF-16 or
    UTF-32; otherwise the text is UTF-8. Bytes that are not UTF-8 are decoded by the
    encoding *otherwise*. Raises InstanceError if *otherwise* is empty.
    """
    encoding = "utf-8"
    for mark, marked in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            encoding = marked
            break
    begin = raw[:_SAMPLE_BYTES]
    if raw.startswith(SQLITE):
        raise InstanceError(
            f"{name}: a store of the runs of a sweep; `ioopt plot {name} -o page.html` "
            "shows it, and `ioopt compare` reads it"
        )
    # ASCII text in UTF-16 has a NUL in every second byte.
    if encoding == "utf-8" and 3 * begin.count(0) > len(begin):
        raise InstanceError(
            f"{name}: seems to be UTF-16 text without a byte order mark; convert "
            "it, such as by iconv -f UTF-16LE -t UTF-8"
        )
    without_mark = "utf-8-sig" if encoding == "utf-8" else encoding
    try:
        return raw.decode(without_mark)
    except UnicodeDecodeError as error:
        if otherwise and encoding == "utf-8":
            return raw.decode(otherwise, errors="replace")
        raise InstanceError(
            f"{name}: not {encoding.upper()} text (byte {error.start})"
        ) from None


def read_text(source: str | os.PathLike[str]) -> str:
    """Return the text of a file.

    Raises InstanceError if it is not text (see :func:`decoded`).
    """
    return decoded(read_bytes(source), named(source))


def read_toml(path: str) -> dict[str, Any]:
    """Return the table in a TOML file.

    Raises InstanceError with the file and the faulty line.
    """
    try:
        return tomllib.loads(read_text(path))
    except RecursionError:
        raise InstanceError(f"{path}: nested too deeply") from None
    # Raised by tomllib, or for a number with too many digits.
    except ValueError as error:
        raise InstanceError(f"{path}: not valid TOML: {error}") from None


def read_json(source: str | os.PathLike[str]) -> Any:
    """Return the data in a JSON file.

    Raises InstanceError with file, line and column for text that is not JSON. Duplicate
    keys and NaN are refused too.
    """
    return parse_json(read_text(source), named(source))


def parse_json(text: str, name: str) -> Any:
    """Return the data in the JSON *text*; *name* is its source in messages."""
    try:
        data = json.loads(
            text, object_pairs_hook=unique_keys, parse_constant=_no_constant
        )
        # Surrogates have to stand in pairs: UTF-8 cannot encode one alone.
        if re.search(r"\\u[dD][89a-fA-F]", text):
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
    """Return a dictionary of *pairs*; ``json.loads`` calls this for every object.

    Raises ValueError for a repeated key.
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
    """Return an object of the pydantic class *cls*, built from plain *data*.

    Raises InstanceError with one line that begins with *name*.
    """
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        raise InstanceError(f"{name}: {describe(error, data, cls)}") from None
    except (RecursionError, UnicodeError):
        raise InstanceError(
            f"{name}: nested too deeply, or not text, to be an ioopt file"
        ) from None


MOST_FAULTS = 4
"""Largest number of faults of one item that a message lists."""


def validate_item(cls: type[Model], item: object, name: str) -> Model:
    """Return what :func:`validate` does for an *item* that a program made, such as a
    task. The message names the item by its id, and lists its first faults, missing keys
    before others.
    """
    try:
        return cls.model_validate(item)
    except ValidationError as error:
        faults = describe_all(error, item, cls)
        raise InstanceError(f"{name}{_id_of(item)}: {faults}") from None
    except (RecursionError, UnicodeError):
        raise InstanceError(f"{name}{_id_of(item)}: nested too deeply") from None


def validate_items(cls: type[Model], items: Iterable[object], name: str) -> list[Model]:
    """Return a list of :func:`validate_item` of all *items*; the message begins with
    the place of the item, such as ``tasks[217] (t217)``.
    """
    return [validate_item(cls, item, f"{name}[{k}]") for k, item in enumerate(items)]


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise InstanceError about *name* instead of errors that inconsistent data cause.

    Use this context around code that checks, replays or draws plans and schedules, and
    around code that builds instances from foreign files. The form of such data has been
    validated, but not their consistency.
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
            f"{name}: is inconsistent and cannot be used ({text})"
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
    """Return one line on one problem of a validation error: place, fault and value.

    *data* are the data that were validated against *cls*. A misspelt key is reported
    first.
    """
    problems = error.errors(include_url=False)
    first, meant = _misspelt(problems, cls) or (_telling(problems), "")
    where = _place(first["loc"], data)
    text = f"{where}: {_wrong(first)}{meant}"
    why = ""
    if first["type"] == "extra_forbidden":
        why = _why_left(cls, first["loc"])
    if why:
        text = f"{where}: {shown(first.get('input'))}: {why}"
    if first["type"] == "value_error" and where == "top level":
        text = _wrong(first)
    if len(problems) > 1:
        text += f" (and {len(problems) - 1} more)"
    return text


def describe_all(error: ValidationError, data: object, cls: type[BaseModel]) -> str:
    """Return one line on the first :data:`MOST_FAULTS` problems of a validation error,
    one for each place in *data*; missing keys come first.
    """
    problems = error.errors(include_url=False)
    by_place: dict[str, list[ErrorDetails]] = {}
    for problem in problems:
        by_place.setdefault(_place(problem["loc"], data), []).append(problem)
    faults = {place: _telling(found) for place, found in by_place.items()}
    told = []
    for place in sorted(faults, key=lambda place: faults[place]["type"] != "missing"):
        fault = faults[place]
        text = f"{place}: {_wrong(fault)}{_hint(fault, problems, cls)}"
        is_about_all = place == "top level" and fault["type"] == "value_error"
        told.append(_wrong(fault) if is_about_all else text)
    if len(told) > MOST_FAULTS:
        told[MOST_FAULTS:] = [f"and {len(told) - MOST_FAULTS} more"]
    return "; ".join(told)


def _wrong(problem: ErrorDetails) -> str:
    """Return what is wrong with the value at the place of *problem*."""
    kind = problem["type"]
    if kind == "extra_forbidden":
        return "unknown key"
    if kind == "missing":
        return "missing"
    message = problem["msg"]
    if kind == "value_error":
        if "ctx" in problem:
            return str(problem["ctx"]["error"])
        return message
    if kind in _WORDS:
        message = _WORDS[kind].format(**problem.get("ctx", {}))
    else:
        message = message[:1].lower() + message[1:]
    return f"{message}, not {shown(problem.get('input'))}"


def _telling(problems: list[ErrorDetails]) -> ErrorDetails:
    """Return the problem to report, which is the first one.

    If its value was tried as several types, return the problem with the type that the
    value has.
    """
    first = problems[0]
    for problem in problems:
        of_same_value = problem.get("input") is first.get("input")
        if of_same_value and not problem["type"].endswith("_type"):
            return problem
    return first


def _misspelt(
    problems: list[ErrorDetails], cls: type[BaseModel] | None
) -> tuple[ErrorDetails, str] | None:
    """Return the unknown key to report, with a hint; None if no key is unknown.

    A key that ioopt no longer reads is reported first, then a key that resembles a
    known one, then the first unknown key.
    """
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    for problem in unknown:
        if _why_left(cls, problem["loc"]):
            return problem, ""
    for problem in unknown:
        hint = _hint(problem, problems, cls)
        if hint:
            return problem, hint
    if not unknown:
        return None
    return unknown[0], ""


def _hint(
    problem: ErrorDetails, problems: list[ErrorDetails], cls: type[BaseModel] | None
) -> str:
    """Return which key was meant if *problem* is an unknown key: a missing one that
    begins with it, else the known one that resembles it most; empty text if none does.
    """
    if problem["type"] != "extra_forbidden":
        return ""
    *above, key = problem["loc"]
    missing = [
        str(other["loc"][-1])
        for other in problems
        if other["type"] == "missing" and [*other["loc"][:-1]] == above
    ]
    begun = [name for name in missing if name.startswith(str(key))]
    near = begun[0] if begun else nearest(str(key), _keys_at(cls, above))
    return f"; did you mean {near!r}?" if near else ""


def _keys_at(cls: type[BaseModel] | None, place: Iterable[int | str]) -> list[str]:
    """Return the keys that an object at *place* in data of class *cls* may have."""
    return list(_fields_by_key(_classes_at(cls, place)))


def _why_left(cls: type[BaseModel] | None, place: Iterable[int | str]) -> str:
    """Return why a key at *place* is no longer read; empty text for any other key."""
    *above, key = place
    for found in _classes_at(cls, above):
        left: Mapping[str, str] = getattr(found, "LEFT", {})
        if key in left:
            return left[str(key)]
    return ""


def _classes_at(
    cls: type[BaseModel] | None, place: Iterable[int | str]
) -> list[type[BaseModel]]:
    """Return the classes that an object at *place* in data of class *cls* may have."""
    here: list[type[BaseModel]] = []
    if cls is not None:
        here = [cls]
    for part in place:
        fields = _fields_by_key(here)
        # Otherwise the part is a position, a key of a mapping, or the form of a union.
        if part in fields:
            here = _classes_in(fields[str(part)].annotation)
    return here


def _fields_by_key(classes: Iterable[type[BaseModel]]) -> dict[str, FieldInfo]:
    """Return, for each key that a file may have, its field in *classes*."""
    fields: dict[str, FieldInfo] = {}
    for cls in classes:
        for name, field in cls.model_fields.items():
            fields[field.alias or name] = field
    return fields


def _classes_in(annotation: object) -> list[type[BaseModel]]:
    """Return the pydantic classes that occur in a type *annotation*."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found: list[type[BaseModel]] = []
    for part in get_args(annotation):
        found += _classes_in(part)
    return found


def _place(loc: tuple[int | str, ...], data: object) -> str:
    """Return the place of a problem in *data*, such as ``jobs[3] (LU).nodes``.

    If a value may have several types, *loc* names one of them; this name is left out.
    """
    text = ""
    here: object = data
    for part in loc:
        if isinstance(part, int):
            here = _item(here, part)
            text += f"[{part}]{_id_of(here)}"
        elif here is None or isinstance(here, Mapping):
            if text:
                text += "."
            text += str(part)
            if here is not None:
                here = here.get(part)
        # Otherwise the part names one form of a union, such as int.
    return text or "top level"


def _item(values: object, place: int) -> object:
    """Return the item at index *place* of a list; None if there is none."""
    if isinstance(values, (list, tuple)) and place < len(values):
        item: object = values[place]
        return item
    return None


def _id_of(item: object) -> str:
    """Return a blank and the id of *item* in brackets; empty text if it has no id."""
    if not isinstance(item, Mapping) or not isinstance(item.get("id"), (str, int)):
        return ""
    name = item["id"]
    if not isinstance(name, str) or len(name) > 60:
        name = shown(name)
    return f" ({name})"


def dump_json(data: object, indent: int | None = 1) -> str:
    """Return *data* as JSON text with a line feed at the end.

    Raises ValueError for NaN and infinite numbers.
    """
    if indent is not None:
        # This is faster than json, which indents in plain Python.
        text = to_json(data, indent=indent, inf_nan_mode="constants").decode()
        if "NaN" not in text and "Infinity" not in text:
            return text + "\n"
    return json.dumps(data, indent=indent, allow_nan=False, ensure_ascii=False) + "\n"
