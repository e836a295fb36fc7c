"""Files of any kind: what is read is bounded, what is written destroys nothing."""

import contextlib
import errno
import gzip
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ioopt.errors import InstanceError, UsageError

MAX_FILE_BYTES = 1 << 30
"""Largest file that is read, packed or unpacked."""
MAX_STREAM_BYTES = 1 << 28
"""Most that is read where nothing tells the size beforehand: standard input, a FIFO, a device."""
FREE_UNPACKED_BYTES, UNPACKED_RATIO = 1 << 26, 64
"""A gzipped file unpacks to at most the larger of the first and the second times its own size."""
GZIP_MAGIC = b"\x1f\x8b"
_CHUNK_BYTES = 1 << 20


def read_bytes(source: str | os.PathLike[str]) -> bytes:
    """Bytes of a file, unpacked when gzipped; ``-`` is standard input. Every reader goes through it.

    Memory grows with what is there, never past the limits above. Raises InstanceError naming the
    file when it is missing, unreadable, too large or truncated.
    """
    name = os.fspath(source)
    try:
        if name == "-":
            raw = _bounded(sys.stdin.buffer, name, MAX_STREAM_BYTES)
        else:
            with open(name, "rb") as stream:
                raw = _bounded(stream, name, _most_bytes(stream, name))
        if raw[:2] == GZIP_MAGIC:
            most = min(MAX_FILE_BYTES, max(FREE_UNPACKED_BYTES, UNPACKED_RATIO * len(raw)))
            with gzip.open(io.BytesIO(raw)) as packed:
                raw = _bounded(packed, name, most)
    except FileNotFoundError:
        raise InstanceError(
            f"{name}: no such file, and no bundled instance has that name (see `ioopt instances`)"
        ) from None
    except IsADirectoryError:
        raise InstanceError(f"{name}: is a directory, not an instance file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InstanceError(f"{name}: cannot be read: {error}") from None
    return raw


def _most_bytes(stream: IO[bytes], name: str) -> int:
    known = os.fstat(stream.fileno())
    if not stat.S_ISREG(known.st_mode):
        return MAX_STREAM_BYTES
    if known.st_size > MAX_FILE_BYTES:
        raise InstanceError(f"{name}: {known.st_size} bytes; at most {MAX_FILE_BYTES} are read")
    return MAX_FILE_BYTES


def _bounded(stream: IO[bytes] | gzip.GzipFile, name: str, most: int) -> bytes:
    """All of *stream*, read in pieces; InstanceError as soon as it is more than *most* bytes."""
    content = io.BytesIO()
    while piece := stream.read(_CHUNK_BYTES):
        if content.tell() + len(piece) > most:
            packed = " unpacked; unpack it first" if isinstance(stream, gzip.GzipFile) else ""
            raise InstanceError(f"{name}: more than the {most} bytes that are read{packed}")
        content.write(piece)
    return content.getvalue()


@contextmanager
def replacing(target: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a stream whose content becomes that of *target* only when all went well.

    A regular file (or none yet) is replaced at once by one written beside it, and keeps its mode
    and owner; a symbolic link stays and what it points at is replaced. Anything else (FIFO, device,
    ``/dev/stdout``, ``>(...)``, a file that has other names too) is written through, at the end. A
    name that ends in ``.gz`` is compressed (with a fixed time stamp, so that equal content gives
    equal files). Raises UsageError when the target cannot be written.
    """
    path = Path(target)
    try:
        known = _stat(path)
        descriptor = _descriptor(path)
        sole = known is None or (stat.S_ISREG(known.st_mode) and known.st_nlink == 1)
        if descriptor is not None or not sole:
            with _through(path, descriptor) as raw:
                yield from _layers(raw, path, mode)
        else:
            with _beside(os.path.realpath(path), known) as raw:
                yield from _layers(raw, path, mode)
    except BrokenPipeError:
        raise  # whoever read it has gone, as on standard output
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def check_writable(target: str | os.PathLike[str]) -> None:
    """UsageError when *target* is a folder or in none; nothing is opened (a FIFO would notice)."""
    path = Path(target)
    if path.is_dir() or not path.parent.is_dir():
        code = errno.EISDIR if path.is_dir() else errno.ENOENT
        raise UsageError(f"{path}: cannot be written: {os.strerror(code)}")


def _stat(path: Path) -> os.stat_result | None:
    """What stands at *path*, links followed; None for nothing; an OSError for a folder."""
    try:
        known = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(known.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return known


def _descriptor(path: Path) -> int | None:
    """The open file that a name such as ``/dev/stdout`` or ``/dev/fd/63`` stands for, if any.

    Such a name may lead to a regular file (``>> log``), which is not ours to replace.
    """
    own, name = (os.path.realpath("/proc/self/fd"), "/dev/fd"), os.path.abspath(path)
    for _ in range(40):
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder)
        if folder in own and last.isdigit():
            return int(last)
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            return None
        name = os.path.normpath(os.path.join(folder, os.readlink(name)))
    return None


@contextmanager
def _through(path: Path, descriptor: int | None) -> Iterator[IO[bytes]]:
    """Collect what is written and send it through *descriptor*, or what stands at *path*."""
    content = io.BytesIO()
    yield content
    if descriptor is None:
        shorter = os.O_TRUNC if path.is_file() else 0
        descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY | shorter)
    else:
        sys.stdout.flush()
        descriptor = os.dup(descriptor)  # and not opened anew, which would begin at its start
    with os.fdopen(descriptor, "wb") as out:
        out.write(content.getbuffer())


@contextmanager
def _beside(path: str, known: os.stat_result | None) -> Iterator[IO[bytes]]:
    """A temporary file in the folder of *path*, renamed to it once it is safely on disk."""
    if known is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected")
    handle, temporary = tempfile.mkstemp(prefix=".ioopt-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as raw:
            yield raw
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


def _layers(raw: IO[bytes], path: Path, mode: str) -> Iterator[IO[Any]]:
    """The stream that the caller writes: text over bytes, compressed where the name ends in .gz."""
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
