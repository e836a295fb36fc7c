"""Read the jobs of a large JSON file in pieces, as columns.

The text, its dictionaries and the columns are never in memory together. A file that is
unusual in any way is not read here, but by :mod:`ioopt.formats.native`, whose records
give every error its text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Generic, NamedTuple, TypeVar

from pydantic_core import from_json

from ioopt.errors import InstanceError
from ioopt.formats.native import decoded, parse_json
from ioopt.problems.base import Json, collector_paused
from ioopt.problems.columns import UNUSUAL, Objects

PIECE_BYTES = 1 << 20
"""Number of bytes of text that are read at once."""
HEAD_BYTES = 1 << 16
"""Number of bytes at the beginning of a file in which the list has to begin."""
_NEAR_BYTES = 1 << 16
"""Number of bytes at the end of a piece in which the last end of a job is sought."""
_SPACE = rb"[ \t\r\n]*"
_BETWEEN = re.compile(rb'\}%b,%b(?=\{%b"id")' % (_SPACE, _SPACE, _SPACE))
_JOBS = re.compile(rb'"jobs"%b:%b\[' % (_SPACE, _SPACE))

ColumnsT = TypeVar("ColumnsT")
Reader = Callable[[Objects], ColumnsT]
UNREADABLE = (InstanceError, *UNUSUAL)
"""Errors of :func:`read_pieces` for a file that has to be read as a whole."""


class Unusual(ValueError):
    """Raised where a file has to be read as a whole."""


class Pieces(NamedTuple, Generic[ColumnsT]):
    """The columns of each piece of the list ``jobs``, and the rest of the file, in
    which this list is empty.
    """

    parts: Sequence[ColumnsT]
    rest: Json


def read_pieces(
    path: str, above: Sequence[str], reader_of: Callable[[Json], Reader[ColumnsT]]
) -> Pieces[ColumnsT]:
    """Return the list ``jobs`` of a JSON file as columns, a part for each piece.

    *above* are the keys of the objects in which the list stands. *reader_of* is called
    with what stands before the list, and returns what makes columns of objects. Raises
    one of ``UNREADABLE`` or OSError for a file that has to be read as a whole.

    The pieces are those of one JSON list exactly: each is a list once brackets are put
    around it, so all of them with commas between them are one too; and what stands
    before the list is complete once the list and the objects around it are closed.
    """
    with open(path, "rb") as stream, collector_paused():
        text = stream.read(HEAD_BYTES)
        opened = _JOBS.search(text)
        if opened is None:
            raise Unusual("no list of jobs")
        head = text[: opened.end()]
        read = reader_of(_before(head, above))
        parts = []
        for piece in _split(text[opened.end() :], stream):
            end = piece.closed if piece.closed is not None else len(piece.text)
            parts.append(_columns(piece.text[:end], read))
        tail = piece.text[end:]
    return Pieces(parts, parse_json(decoded(head + tail, path), path))


class _Piece(NamedTuple):
    """Text of some objects; in the last piece the list is ``closed`` at this index, and
    the rest of the file follows.
    """

    text: bytes
    closed: int | None = None


def _split(text: bytes, stream: IO[bytes]) -> Iterator[_Piece]:
    """Yield *text* and the rest of *stream* in pieces that end between two objects."""
    while more := stream.read(PIECE_BYTES):
        text += more
        near = max(0, len(text) - _NEAR_BYTES)
        cuts = [*_BETWEEN.finditer(text, near)]
        if cuts:
            yield _Piece(text[: cuts[-1].start() + 1])
            text = text[cuts[-1].end() :]
    closed = text.rfind(b"]")
    if closed < 0:
        raise Unusual("the list is not closed")
    yield _Piece(text, closed)


def _before(head: bytes, above: Sequence[str]) -> Json:
    """Return what stands before the list, which *head* ends by opening."""
    closing = b"]" + b"}" * (len(above) + 1)
    data: Json = parse_json(decoded(head + closing, "head"), "head")
    inner = data
    for key in above:
        inner = inner[key]
    if [*inner][-1:] != ["jobs"] or inner["jobs"] != []:
        raise Unusual("the list stands elsewhere")
    return data


def _columns(text: bytes, read: Reader[ColumnsT]) -> ColumnsT:
    """Return the columns of the objects in *text*, a list without its brackets."""
    objects = from_json(b"[" + text + b"]", allow_inf_nan=False, cache_strings="keys")
    rows = Objects(objects)
    columns = read(rows)
    # A colon in a string, which is rare, makes the counts differ too.
    if rows.keys != text.count(b":"):
        raise Unusual("a key is unknown or repeated")
    if rows.truths != text.count(b"true") + text.count(b"false"):
        raise Unusual("a truth value stands for a number")
    return columns
