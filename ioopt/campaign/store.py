"""The store of a sweep: SQLite with write-ahead logging, one row a
point, a versioned schema.

The application id marks a file as a store of ioopt; ``user_version`` is the schema's
version. A file of another kind, a newer version or a damaged one gives one clear line
and is never written. One sweep at a time writes to it.
"""

import json
import os
import platform
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    suppress,
)
from pathlib import Path
from typing import Any

from ioopt.errors import BackendMissingError, InstanceError, UsageError
from ioopt.problems.base import Json

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def _is_at(path: str, known: os.stat_result) -> bool:
    """Whether the file at *path* is still the one that is *known*."""
    try:
        return os.path.samestat(os.stat(path), known)
    except FileNotFoundError:
        return False


class Owner:
    """The lock of the one sweep that writes to a store: a file beside it
    that says who that is.

    The system lets go of it when the process ends, however that happens. Not the store
    itself: to close it after looking would end the locks that SQLite holds on it.
    """

    def __init__(self, path: str) -> None:
        if fcntl is None:
            raise BackendMissingError(
                "sweep: this system has no file locks (fcntl), so two sweeps could "
                "write to one store; run it on Linux, macOS or WSL"
            )
        self.path = f"{os.path.realpath(path)}-sweep"
        while True:
            try:
                self._handle = os.open(
                    self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666
                )
            except OSError as error:
                raise UsageError(
                    f"{path}: cannot be opened: {error.strerror}"
                ) from None
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                who = (
                    os.read(self._handle, 1000).decode(errors="replace")
                    or "another process"
                )
                os.close(self._handle)
                raise UsageError(
                    f"{path}: {who} is writing to it; wait for its end or take "
                    "another store"
                ) from None
            except OSError as error:
                os.close(self._handle)
                raise UsageError(
                    f"{path}: cannot be locked: {error.strerror}"
                ) from None
            if _is_at(self.path, os.fstat(self._handle)):
                break
            os.close(self._handle)  # the sweep before us has just removed it
        moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        who = f"a sweep (process {os.getpid()} on {platform.node()}, since {moment})"
        try:
            os.ftruncate(self._handle, 0)
            os.write(self._handle, who.encode())
        except OSError as error:
            self.release()
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from None

    def release(self) -> None:
        """Let the next sweep have the store."""
        with suppress(OSError):  # its folder may have gone
            os.unlink(
                self.path
            )  # before the lock goes: whoever waits sees that it is not there
        os.close(self._handle)


APPLICATION_ID = 0x696F6F70
"""The letters ``ioop``."""

MIGRATIONS = (
    """
    CREATE TABLE runs (
        key TEXT PRIMARY KEY, instance TEXT NOT NULL, digest TEXT NOT NULL, family TEXT NOT NULL,
        kind TEXT NOT NULL, solver TEXT NOT NULL, settings TEXT NOT NULL, labels TEXT NOT NULL,
        seed INTEGER NOT NULL, repeat INTEGER NOT NULL, status TEXT NOT NULL, stop TEXT,
        objective REAL, objective_name TEXT, bound REAL, gap REAL, build_seconds REAL,
        solve_seconds REAL, simulate_seconds REAL, metrics TEXT NOT NULL, notes TEXT NOT NULL,
        violations INTEGER NOT NULL, versions TEXT NOT NULL, error TEXT, machine TEXT
    ) WITHOUT ROWID
    """,
    "CREATE TABLE results (key TEXT PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE campaign (started TEXT NOT NULL, config TEXT NOT NULL, points "
    "INTEGER NOT NULL)",
    """
    CREATE TABLE studies (
        name TEXT NOT NULL, size TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (name, size)
    )
    """,
)
"""Statement k brings a store from version k to version k + 1; never edited, only
appended to. Nothing is written to ``results`` and ``campaign`` any more."""

TYPES = dict(re.findall(r"(\w+) (TEXT|INTEGER|REAL)", MIGRATIONS[0]))
"""Columns of ``runs`` -> their types."""
COLUMNS = tuple(TYPES)
JSON_COLUMNS = ("settings", "labels", "metrics", "notes", "versions")
FAILED = "failed"
"""Status of a point whose worker died or whose solver raised: it has no result."""


REMEDIES = {
    sqlite3.SQLITE_FULL: "; make room and resume, its rows are safe",
    sqlite3.SQLITE_IOERR: "; look at the disk and its quota and resume, its rows are safe",
    sqlite3.SQLITE_CORRUPT: "; take a sound copy (with the file that ends in -wal) or another "
    "store",
}
"""Primary result codes of SQLite -> what to do."""


@contextmanager
def clearly(path: str) -> Iterator[None]:
    """Errors of SQLite, or about what stands in cells, as an
    InstanceError of one line.
    """
    try:
        yield
    except (sqlite3.DatabaseError, ValueError) as error:
        remedy = REMEDIES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "")
        raise InstanceError(
            f"{path}: the run store cannot be used: {error}{remedy}"
        ) from None


def _inspect(connection: sqlite3.Connection, path: str) -> int:
    """The schema version of an open file; raises InstanceError for
    anything but an ioopt store.
    """
    with clearly(path):
        # One read transaction: a sweep may be creating the store at this moment.
        connection.execute("BEGIN")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        connection.execute("COMMIT")
    if application != APPLICATION_ID and (tables or version):
        raise InstanceError(f"{path}: a SQLite file, but not a run store of ioopt")
    if version > len(MIGRATIONS):
        raise InstanceError(
            f"{path}: store version {version}, but this ioopt knows {len(MIGRATIONS)}; "
            "update ioopt to read it"
        )
    return version


class Store(AbstractContextManager["Store"]):
    """A store open for writing by the one client of a sweep. Use as a context manager.

    Raises UsageError when another sweep has it, when it *must_be_new* and is not, or
    when it cannot be opened, and InstanceError for a file that is not a store.
    """

    def __init__(self, path: str, must_be_new: bool = False) -> None:
        self.path, self._written = path, False
        if os.path.exists(path) and not os.path.isfile(path):
            raise UsageError(f"{path}: not a file; a run store is one")
        with ExitStack() as undo:
            undo.callback((owner := Owner(path)).release)
            if must_be_new and os.path.exists(path):
                raise UsageError(
                    f"{path}: exists already; give --resume to continue it, or "
                    "another name"
                )
            if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
                raise UsageError(
                    f"{path}: cannot be read and written; see its permissions"
                )
            try:
                self._connection = sqlite3.connect(
                    path, timeout=30, isolation_level=None
                )
            except sqlite3.OperationalError as error:
                raise UsageError(f"{path}: cannot be opened: {error}") from None
            undo.callback(self._connection.close)
            with clearly(path):
                # before WAL: a reader sees an empty file or a whole schema
                self._migrate()
                self._file = os.stat(path)
            undo.pop_all()
        self._owner = owner

    def _migrate(self) -> None:
        """Bring an older store up to date, all steps in one transaction."""
        version = _inspect(self._connection, self.path)
        # A study reads single rows: it would find damage late or never,
        # and write beside it.
        if self._connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            damage = sqlite3.DatabaseError("database disk image is malformed")
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage
        if version == len(MIGRATIONS):
            return
        self._connection.execute("BEGIN IMMEDIATE")
        for statement in MIGRATIONS[version:]:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        self._connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
        self._connection.execute("COMMIT")

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; everything written is on disk.

        Unless somebody reads it now it becomes a plain file again: reading one in
        WAL mode makes files beside it, which a reader cannot remove, and which
        cannot be made everywhere.
        """
        if self._written:
            with suppress(sqlite3.DatabaseError):
                self._connection.execute("PRAGMA busy_timeout=0")
                self._connection.execute("PRAGMA journal_mode=DELETE")
        self._connection.close()
        self._owner.release()

    def _write(self, statement: str, values: Sequence[object]) -> None:
        """Execute *statement*; the first one makes the store ready
        for readers beside it.
        """
        with clearly(self.path):
            if not self._written:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._written = True
            self._connection.execute(statement, values)
        if not _is_at(self.path, self._file):
            raise UsageError(
                f"{self.path}: was removed or replaced while it was written; its rows "
                "are lost, sweep again without --resume"
            )

    def _read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with clearly(self.path):
            return self._connection.execute(query, values).fetchall()

    def done(self, retry_failed: bool = False) -> set[str]:
        """Keys that need not run again; failed points are left out when
        they are to be retried.
        """
        rows = self._read("SELECT key, status FROM runs")
        return {key for key, status in rows if not (retry_failed and status == FAILED)}

    def find(self, key: str, columns: Sequence[str]) -> tuple[Any, ...] | None:
        """These columns of one point; None where it has no row."""
        found = self._read(f"SELECT {', '.join(columns)} FROM runs WHERE key = ?", key)
        return found[0] if found else None

    def conclude(self, name: str, size: str, document: Mapping[str, Any]) -> None:
        """Keep what a study of one size came to, in place of an earlier
        conclusion of the same.
        """
        values = (name, size, json.dumps(document))
        self._write("INSERT OR REPLACE INTO studies VALUES (?, ?, ?)", values)

    def conclusions(self) -> dict[tuple[str, str], Json]:
        """(study, size) -> what it came to."""
        rows = self._read("SELECT name, size, document FROM studies ORDER BY 1, 2")
        with clearly(self.path):
            return {(name, size): json.loads(document) for name, size, document in rows}

    def put(self, row: Json) -> None:
        """Write one point, in place of an earlier row of the same key."""
        values = [
            json.dumps(row[name]) if name in JSON_COLUMNS else row[name]
            for name in COLUMNS
        ]
        self._write(_PUT, values)


_PUT = f"INSERT OR REPLACE INTO runs VALUES ({', '.join('?' * len(COLUMNS))})"


def _read_only(path: str) -> sqlite3.Connection:
    """A connection that reads *path*; in a folder that cannot be written to, as a
    file that never changes.
    """
    uri = Path(os.path.abspath(path)).as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=30)
    unwritable, found = (
        (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY),
        sqlite3.SQLITE_OK,
    )
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        found = error.sqlite_errorcode & 0xFF
    except UnicodeDecodeError:  # of SQLite's own words about a damaged table
        pass
    if found not in unwritable:
        return connection  # of what else is wrong, _inspect tells
    connection.close()
    log = Path(f"{os.path.realpath(path)}-wal")
    if log.exists() and log.stat().st_size:
        raise InstanceError(
            f"{path}: its sweep has not ended and this folder cannot be written to; "
            "copy the store and the file that ends in -wal to where you may write"
        )
    return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)


class StoreReader(AbstractContextManager["StoreReader"]):
    """A store opened read-only; a sweep may be writing to it at the same time."""

    def __init__(self, path: str) -> None:
        if not os.path.exists(path):
            raise InstanceError(f"{path}: no such run store")
        self.path = path
        with ExitStack() as undo:
            self.connection = undo.enter_context(closing(_read_only(path)))
            if _inspect(self.connection, path) == 0:
                raise InstanceError(f"{path}: an empty file, not a run store")
            undo.pop_all()

    def __exit__(self, *exc: object) -> None:
        self.connection.close()
