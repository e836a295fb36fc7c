"""The store of a sweep: an SQLite file with one row for each run.

The application id marks a file as a store of ioopt; ``user_version`` is the version of
its tables. A file of another kind or version, or a damaged file, raises an error of one
line, and nothing is written to it. Only one sweep at a time writes to a store. The
store uses SQLite's rollback journal, which needs no shared memory and therefore works
in folders that several machines share.
"""

import json
import os
import platform
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
    """Return whether the file at *path* is still the one that *known* describes."""
    try:
        return os.path.samestat(os.stat(path), known)
    except FileNotFoundError:
        return False


class Owner:
    """The lock that lets only one sweep at a time write to a store.

    The lock is a file beside the store, and its text says which process holds it. The
    system releases the lock when that process ends, even if it is killed. The store
    itself cannot be locked, because closing a second handle on it would end SQLite's
    own locks.
    """

    def __init__(self, path: str) -> None:
        if fcntl is None:
            raise BackendMissingError(
                "sweep: this system has no file locks (fcntl), so two sweeps could "
                "write to one store; run it on Linux, macOS or WSL"
            )
        self.path = f"{os.path.realpath(path)}-sweep"
        self._handle = self._locked(path)
        while not _is_at(self.path, os.fstat(self._handle)):
            os.close(self._handle)  # the sweep before us has just removed the file
            self._handle = self._locked(path)
        moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        who = f"a sweep (process {os.getpid()} on {platform.node()}, since {moment})"
        try:
            os.ftruncate(self._handle, 0)
            os.write(self._handle, who.encode())
        except OSError as error:
            self.release()
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from None

    def _locked(self, store: str) -> int:
        """Open and lock the lock file; return its handle. Raise UsageError if another
        process has the lock.
        """
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(f"{store}: cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 1000).decode(errors="replace")
            os.close(handle)
            raise UsageError(
                f"{store}: {holder or 'another process'} is writing to it; wait for "
                "its end or take another store"
            ) from None
        except OSError as error:
            os.close(handle)
            raise UsageError(f"{store}: cannot be locked: {error.strerror}") from None
        return handle

    def release(self) -> None:
        """Release the lock, so that the next sweep can write to the store."""
        # Remove the file before releasing the lock, so that the next owner sees that it
        # is gone.
        with suppress(OSError):  # its folder may have been removed
            os.unlink(self.path)
        os.close(self._handle)


APPLICATION_ID = 0x696F6F70
"""The application id of stores: the letters ``ioop``."""
SCHEMA_VERSION = 4
"""The version of the tables, which is that of ioopt 0.2."""

DECLARATIONS = {
    "key": "TEXT PRIMARY KEY",
    "instance": "TEXT NOT NULL",
    "digest": "TEXT NOT NULL",
    "family": "TEXT NOT NULL",
    "kind": "TEXT NOT NULL",
    "solver": "TEXT NOT NULL",
    "settings": "TEXT NOT NULL",
    "labels": "TEXT NOT NULL",
    "seed": "INTEGER NOT NULL",
    "repeat": "INTEGER NOT NULL",
    "status": "TEXT NOT NULL",
    "stop": "TEXT",
    "objective": "REAL",
    "objective_name": "TEXT",
    "bound": "REAL",
    "gap": "REAL",
    "build_seconds": "REAL",
    "solve_seconds": "REAL",
    "simulate_seconds": "REAL",
    "metrics": "TEXT NOT NULL",
    "notes": "TEXT NOT NULL",
    "violations": "INTEGER NOT NULL",
    "versions": "TEXT NOT NULL",
    "error": "TEXT",
    "machine": "TEXT",
}
"""Columns of the table ``runs`` -> their SQL declarations."""
COLUMNS = tuple(DECLARATIONS)
TYPES = {name: text.split()[0] for name, text in DECLARATIONS.items()}
"""Columns of the table ``runs`` -> their SQL types."""
JSON_COLUMNS = ("settings", "labels", "metrics", "notes", "versions")

RUNS = ", ".join(f"{name} {text}" for name, text in DECLARATIONS.items())
TABLES = (
    f"CREATE TABLE runs ({RUNS}) WITHOUT ROWID",
    # config: the digest of the grid; points: how many it has
    "CREATE TABLE campaign (started TEXT NOT NULL, config TEXT NOT NULL, "
    "points INTEGER NOT NULL)",
    "CREATE TABLE studies (name TEXT NOT NULL, size TEXT NOT NULL, "
    "document TEXT NOT NULL, PRIMARY KEY (name, size))",
)
FAILED = "failed"
"""Status of a run without a result, because its worker died or its solver raised an
error.
"""


REMEDIES = {
    sqlite3.SQLITE_FULL: "; make room and resume, its rows are safe",
    sqlite3.SQLITE_IOERR: "; look at the disk and its quota and resume, its rows are "
    "safe",
    sqlite3.SQLITE_CORRUPT: "; take a sound copy or another store",
}
"""Primary result codes of SQLite -> what the user can do, as the end of a message."""


@contextmanager
def clearly(path: str) -> Iterator[None]:
    """Convert errors of SQLite, and errors in the contents of cells, to InstanceErrors
    of one line.
    """
    try:
        yield
    except (sqlite3.DatabaseError, ValueError) as error:
        remedy = REMEDIES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "")
        raise InstanceError(
            f"{path}: the run store cannot be used: {error}{remedy}"
        ) from None


def _inspect(connection: sqlite3.Connection, path: str) -> bool:
    """Return True if the open file is a store, and False if it is empty.

    Raises InstanceError for a file that is neither, and for a store of another version.
    """
    with clearly(path):
        # One read transaction: a sweep may be creating the store at this moment.
        connection.execute("BEGIN")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        connection.execute("COMMIT")
    if application != APPLICATION_ID:
        if tables or version:
            raise InstanceError(f"{path}: a SQLite file, but not a run store of ioopt")
        return False
    if version > SCHEMA_VERSION:
        raise InstanceError(
            f"{path}: store version {version}, but this ioopt knows {SCHEMA_VERSION}; "
            "update ioopt to read it"
        )
    if version < SCHEMA_VERSION:
        raise InstanceError(
            f"{path}: store version {version}, older than the {SCHEMA_VERSION} that "
            "this ioopt reads; export it with ioopt 0.2 (pip install 'ioopt==0.2.*', "
            "ioopt plot STORE -o runs.csv)"
        )
    return True


class Store(AbstractContextManager["Store"]):
    """A store open for writing by one sweep; use it as a context manager.

    Raises UsageError when another sweep is writing to the store, when *must_be_new* is
    true and the file exists, or when the file cannot be opened. Raises InstanceError
    for a file that is not a store.
    """

    def __init__(self, path: str, must_be_new: bool = False) -> None:
        self.path = path
        if os.path.exists(path) and not os.path.isfile(path):
            raise UsageError(f"{path}: not a regular file, as a run store is")
        with ExitStack() as undo:
            self._owner = Owner(path)
            undo.callback(self._owner.release)
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
                self._prepare()
                self._file = os.stat(path)
            undo.pop_all()

    def _prepare(self) -> None:
        """Create the tables if the store is new; raise an error if it is damaged."""
        is_store = _inspect(self._connection, self.path)
        # A study reads single rows: it would find damage late or never, and would write
        # rows beside the damaged ones.
        if self._connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            damage = sqlite3.DatabaseError("database disk image is malformed")
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage
        # A store of ioopt 0.2 whose sweep was killed has a write-ahead log.
        self._connection.execute("PRAGMA journal_mode=DELETE")
        if is_store:
            return
        with self.transaction():
            for statement in TABLES:
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock; all rows written so far are on disk."""
        self._connection.close()
        self._owner.release()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all rows of the block together, or none if the block raises an
        error.
        """
        with clearly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with clearly(self.path):
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _write(self, statement: str, values: Sequence[object]) -> int:
        """Execute *statement*; return the number of rows that it wrote."""
        with clearly(self.path):
            try:
                written = self._connection.execute(statement, values).rowcount
            finally:
                self._require_file()
        return written

    def _require_file(self) -> None:
        """Raise UsageError when the file of the store was removed or replaced."""
        if not _is_at(self.path, self._file):
            raise UsageError(
                f"{self.path}: was removed or replaced while it was written; its rows "
                "are lost, sweep again without --resume"
            )

    def _read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with clearly(self.path):
            return self._connection.execute(query, values).fetchall()

    def begin(self, grid: str, points: int) -> None:
        """Record that a sweep writes to the store; *grid* is the digest of its grid,
        *points* the number of points.
        """
        if (grid, points) not in self.campaigns():
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            values = (moment, grid, points)
            self._write("INSERT INTO campaign VALUES (?, ?, ?)", values)

    def campaigns(self) -> set[tuple[str, int]]:
        """Return (digest, number of points) of each grid that wrote to the store."""
        return set(self._read(CAMPAIGNS))

    def done(self, retry_failed: bool = False) -> set[str]:
        """Return the keys of all rows; with *retry_failed*, without the keys of failed
        rows, so that these are run again.
        """
        rows = self._read("SELECT key, status FROM runs")
        if retry_failed:
            return {key for key, status in rows if status != FAILED}
        return {key for key, _ in rows}

    def find(self, key: str, columns: Sequence[str]) -> tuple[Any, ...] | None:
        """Return the *columns* of the row with *key*; None if there is no such row."""
        found = self._read(f"SELECT {', '.join(columns)} FROM runs WHERE key = ?", key)
        return found[0] if found else None

    def conclude(self, name: str, size: str, document: Mapping[str, object]) -> None:
        """Store the conclusion of the study *name* at one *size*; an earlier one is
        replaced.
        """
        values = (name, size, json.dumps(document))
        self._write("INSERT OR REPLACE INTO studies VALUES (?, ?, ?)", values)

    def conclusions(self) -> dict[tuple[str, str], Json]:
        """Return the conclusions of all studies, keyed by (name of the study, size)."""
        rows = self._read("SELECT name, size, document FROM studies ORDER BY 1, 2")
        with clearly(self.path):
            return {(name, size): json.loads(document) for name, size, document in rows}

    def put(self, row: Json) -> None:
        """Write one row; an earlier row with the same key is replaced."""
        values = []
        for name in COLUMNS:
            value = row[name]
            values.append(json.dumps(value) if name in JSON_COLUMNS else value)
        self._write(f"INSERT OR REPLACE INTO runs VALUES ({PLACES})", values)

    def add(self, cells: tuple[Any, ...]) -> bool:
        """Write one row of another store, unless this store has a row with the same
        key.

        Returns False when this store has such a row and the two rows differ.
        """
        if self._write(f"INSERT OR IGNORE INTO runs VALUES ({PLACES})", cells):
            return True
        return self.find(cells[0], COLUMNS) == cells


PLACES = ", ".join("?" for _ in COLUMNS)
CAMPAIGNS = "SELECT config, points FROM campaign"


def _open_for_reading(path: str) -> sqlite3.Connection:
    """Open the store at *path* read-only. If a killed sweep left a half-written change,
    it is undone first.

    In a folder where nothing can be written, the store is opened as a file that never
    changes.
    """
    uri = Path(os.path.abspath(path)).as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=30)
    if not _needs_writing(connection):
        return connection
    connection.close()
    real = os.path.realpath(path)
    left = [
        Path(f"{real}{ending}").name
        for ending in ("-journal", "-wal")
        if _has_bytes(f"{real}{ending}")
    ]
    if left and os.access(os.path.dirname(real), os.W_OK) and os.access(real, os.W_OK):
        # A connection with write access lets SQLite undo what was left half written.
        with closing(sqlite3.connect(f"{uri}?mode=rw", uri=True, timeout=30)) as writer:
            if not _needs_writing(writer):
                return sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=30)
    if left:
        raise InstanceError(
            f"{path}: its sweep has not ended and this folder cannot be written to; "
            f"copy the store and {left[0]} to where you may write"
        )
    return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)


def _needs_writing(connection: sqlite3.Connection) -> bool:
    """Return whether SQLite must first write to the file, or to a file beside it,
    before it can read the file.
    """
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        code = error.sqlite_errorcode & 0xFF
        return code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
    except UnicodeDecodeError:  # SQLite's message about a damaged table
        pass
    return False  # _inspect reports other faults


def _has_bytes(path: str) -> bool:
    """Return whether there is a non-empty file at *path*."""
    return os.path.exists(path) and os.path.getsize(path) > 0


class StoreReader(AbstractContextManager["StoreReader"]):
    """A store open for reading only; a sweep may be writing to it at the same time."""

    def __init__(self, path: str) -> None:
        if not os.path.exists(path):
            raise InstanceError(f"{path}: no such run store")
        self.path = path
        with ExitStack() as undo:
            self.connection = undo.enter_context(closing(_open_for_reading(path)))
            if not _inspect(self.connection, path):
                raise InstanceError(f"{path}: an empty file, not a run store")
            undo.pop_all()

    def __exit__(self, *exc: object) -> None:
        self.connection.close()

    def campaigns(self) -> set[tuple[str, int]]:
        """Return (digest, number of points) of each grid that wrote to the store."""
        with clearly(self.path):
            return set(self.connection.execute(CAMPAIGNS))

    def cells(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows in order of their keys, each as the tuple of cells that the
        file has.
        """
        with clearly(self.path):
            query = f"SELECT {', '.join(COLUMNS)} FROM runs ORDER BY key"
            yield from self.connection.execute(query)
