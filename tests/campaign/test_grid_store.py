"""The grid's keys and refusals; the store's schema, migrations and
respect for other files.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from campaign_helpers import MINIMAL, row, rows_in, write_config

import ioopt
from ioopt.campaign import store as stores
from ioopt.campaign.grid import build_grid, read_config
from ioopt.campaign.report import report_html
from ioopt.campaign.store import Store, StoreReader
from ioopt.cli.main import main
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import dump_json


def grid_of(tmp_path, text):
    path = tmp_path / "g.toml"
    path.write_text(text)
    return build_grid(read_config(str(path)), str(tmp_path))


GENERATED = """
[[instances]]
generate = "replication"
preset = "{}"
set = {{ {} = [6, 8] }}
[[solvers]]
name = "minmin"
"""


def test_lists_expand_and_keys_are_stable(tmp_path):
    config = write_config(tmp_path, seeds=3, repeats=2)
    first = build_grid(read_config(str(config)), str(tmp_path))
    again = build_grid(read_config(str(config)), str(tmp_path))
    # cycle3 and 2 task counts x 3 seeds = 7 instances; 2 solvers; 2 repeats
    assert len(first.points) == 7 * 2 * 2
    assert [point.key for point in first.points] == [
        point.key for point in again.points
    ]
    assert len({point.key for point in first.points}) == len(first.points)


def test_the_key_follows_content_not_the_file_name(tmp_path):
    text = dump_json(ioopt.load("cycle3").model_dump(mode="json"))
    keys = []
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(text)
        grid = grid_of(
            tmp_path, MINIMAL.replace('bundled = "cycle3"', f'path = "{name}"')
        )
        keys.append([point.key for point in grid.points])
    assert (
        keys[0] == keys[1] == [point.key for point in grid_of(tmp_path, MINIMAL).points]
    )


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("x = [", InstanceError, "not valid TOML"),
        ("", InstanceError, "instances: missing"),
        (MINIMAL + "speed = 1\n", InstanceError, "unknown key"),
        (MINIMAL.replace("bundled", "path"), InstanceError, "pattern matches nothing"),
        (MINIMAL.replace("cycle3", "cycel3"), UsageError, "did you mean 'cycle3'"),
        (MINIMAL.replace("minmin", "minmim"), UsageError, "did you mean 'minmin'"),
        (GENERATED.format("image-99", "tasks"), UsageError, "no preset 'image-99'"),
        (
            GENERATED.format("image-85", "taskz"),
            UsageError,
            "image-85 has no setting 'taskz'",
        ),
        (MINIMAL + "set = {x = 1}\n", UsageError, "minmin has no setting 'x'"),
        (MINIMAL + 'backend = "CBC"\n', UsageError, "minmin' has no backend 'CBC'"),
        (MINIMAL + 'backend = "GLPK"\n', UsageError, "GLPK is no longer a backend"),
        (
            MINIMAL.replace("[[solvers]]", 'path = "*.json"\n[[solvers]]'),
            InstanceError,
            "exactly one of path, bundled, generate, not path and bundled",
        ),
    ],
)
def test_a_wrong_configuration_says_where(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        grid_of(tmp_path, text)


def test_rows_are_replaced_not_doubled(tmp_path):
    path = str(tmp_path / "runs.sqlite")
    with Store(path) as store:
        store.put(row("a", status=stores.FAILED))
        store.put(row("b"))
        assert store.done() == {"a", "b"}
        assert store.done(retry_failed=True) == {"b"}
        store.put(row("a"))
    with StoreReader(path) as reader:
        assert list(rows_in(reader, ("key", "status"))) == [
            ("a", "feasible"),
            ("b", "feasible"),
        ]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.connection.execute("DELETE FROM runs")


def executed(path, *statements, values=()):
    """*path* after *statements* of SQL; the last has *values*."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement, values if statement is statements[-1] else ())
    connection.commit()
    connection.close()
    return path


IDENTITY = f"PRAGMA application_id={stores.APPLICATION_ID}"


RELEASED = (
    """
    CREATE TABLE runs (
        key TEXT PRIMARY KEY, instance TEXT NOT NULL, digest TEXT NOT NULL,
        family TEXT NOT NULL, kind TEXT NOT NULL, solver TEXT NOT NULL,
        settings TEXT NOT NULL, labels TEXT NOT NULL, seed INTEGER NOT NULL,
        repeat INTEGER NOT NULL, status TEXT NOT NULL, stop TEXT, objective REAL,
        objective_name TEXT, bound REAL, gap REAL, build_seconds REAL,
        solve_seconds REAL, simulate_seconds REAL, metrics TEXT NOT NULL,
        notes TEXT NOT NULL, violations INTEGER NOT NULL, versions TEXT NOT NULL,
        error TEXT, machine TEXT
    ) WITHOUT ROWID
    """,
    "CREATE TABLE results (key TEXT PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE campaign (started TEXT NOT NULL, config TEXT NOT NULL, "
    "points INTEGER NOT NULL)",
    "CREATE TABLE studies (name TEXT NOT NULL, size TEXT NOT NULL, "
    "document TEXT NOT NULL, PRIMARY KEY (name, size))",
    IDENTITY,
    "PRAGMA user_version=4",
)
"""What ioopt 0.2 makes of an empty file."""


def released_store(path, *more):
    """A store of ioopt 0.2 with one row."""
    old = row("kept")
    values = []
    for name in stores.COLUMNS:
        value = old[name]
        values.append(json.dumps(value) if name in stores.JSON_COLUMNS else value)
    insert = f"INSERT INTO runs VALUES ({','.join('?' for _ in values)})"
    return executed(path, *RELEASED, *more, insert, values=values)


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_store_of_0_2_is_read_as_it_is_and_written_to(tmp_path, mode):
    """Also one whose sweep was killed, which has a write-ahead log."""
    path = released_store(tmp_path / "old.sqlite", f"PRAGMA journal_mode={mode}")
    before = path.read_bytes()
    assert "<h2>Failures</h2><p>None.</p>" in report_html([str(path)])
    assert path.read_bytes() == before
    with Store(str(path)) as store:
        assert store.done() == {"kept"}
        store.put(row("new"))
        assert not (tmp_path / "old.sqlite-wal").exists()
    with StoreReader(str(path)) as reader:
        mode = reader.connection.execute("PRAGMA journal_mode").fetchone()[0]
        assert mode == "delete" and len(rows_in(reader)) == 2


def older(path):
    released_store(path, "PRAGMA user_version=2")


def other_program(path):
    executed(path, "CREATE TABLE notes (text)")


def newer(path):
    executed(path, IDENTITY, "PRAGMA user_version=99")


def damaged(path):
    path.write_bytes(b"SQLite format 3\x00" + b"\x00garbage" * 600)


def not_text(path):
    """SQLite names the word it cannot parse, which is no UTF-8: Python
    fails on the message.
    """
    with Store(str(path)):
        pass
    executed(path, "PRAGMA journal_mode=DELETE")
    raw = path.read_bytes()
    assert b"CREATE TABLE runs" in raw
    path.write_bytes(raw.replace(b"CREATE TABLE runs", b"CREATE \xc3\x28BLE runs"))


def plain_text(path):
    path.write_text("not a database, but long enough to be looked at " * 40)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (other_program, "not a run store of ioopt"),
        (newer, "store version 99, but this ioopt knows"),
        (older, "store version 2, older than .*ioopt 0.2.*ioopt plot STORE -o"),
        (damaged, "the run store cannot be used"),
        (not_text, "the run store cannot be used"),
        (plain_text, "the run store cannot be used"),
    ],
)
@pytest.mark.parametrize("opener", [Store, StoreReader])
def test_other_files_are_refused_and_left_alone(tmp_path, make, message, opener):
    path = tmp_path / "x.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(InstanceError, match=message) as caught:
        opener(str(path))
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_damage_in_the_middle_of_a_store_is_one_line_and_it_is_left_alone(
    tmp_path, capsys
):
    """The head of the file is whole, so that only reading its rows finds the damage."""
    path = tmp_path / "runs.sqlite"
    with Store(str(path)) as store:
        for number in range(1500):
            store.put(row(f"{number:064}"))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40_960] = b"\xff" * 40_960
    path.write_bytes(data)
    (tmp_path / "g.toml").write_text(MINIMAL)
    before = path.read_bytes()
    for words in (
        ("plot", str(path), "-o", str(tmp_path / "x.html")),
        ("plot", str(path), "-o", str(tmp_path / "x.csv")),
        ("sweep", str(tmp_path / "g.toml"), "--store", str(path), "--resume"),
    ):
        assert main(list(words)) == 2
        error = capsys.readouterr().err
        assert "the run store cannot be used" in error and error.count("\n") == 1
    assert path.read_bytes() == before
    assert not (tmp_path / "x.html").exists() and not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    "name", ["h#x.sqlite", "h?mode=rwc.sqlite", "h%23x.sqlite", "h x.sqlite"]
)
def test_a_store_of_any_name_is_read_and_no_other_file_is_made(
    tmp_path, name, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with Store(name) as store:
        store.put(row("a"))
    with StoreReader(name) as reader:
        assert list(rows_in(reader, ("key",))) == [("a",)]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_second_sweep_says_who_has_the_store_and_stops(tmp_path, capsys):
    path, link = tmp_path / "runs.sqlite", tmp_path / "link.sqlite"
    link.symlink_to(path)
    (tmp_path / "g.toml").write_text(MINIMAL)
    with Store(str(path)) as store:
        store.put(row("a"))
        for words in ((str(path),), (str(path), "--resume"), (str(link), "--resume")):
            assert main(["sweep", str(tmp_path / "g.toml"), "--store", *words]) == 2
            error = capsys.readouterr().err
            assert (
                f"a sweep (process {os.getpid()} on " in error
                and error.count("\n") == 1
            )
        with StoreReader(str(path)) as reader:
            assert len(rows_in(reader)) == 1
    assert sorted(found.name for found in tmp_path.iterdir()) == [
        "g.toml",
        "link.sqlite",
        "runs.sqlite",
    ]
    with Store(str(path)) as again:
        assert again.done() == {"a"}
    with pytest.raises(UsageError, match="exists already"):
        Store(str(path), must_be_new=True)


def test_a_killed_sweep_does_not_keep_the_store(tmp_path):
    path = str(tmp_path / "runs.sqlite")
    code = (
        "import os, sys; from ioopt.campaign.store import Store; Store(sys.argv[1]); "
        "os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == 9
    assert os.path.exists(f"{path}-sweep")
    with Store(path) as store:
        assert store.done() == set()


@contextmanager
def unprivileged_in(folder: Path):
    """What runs inside cannot write to *folder*; root becomes nobody, as
    modes do not bind it.
    """
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


HALF_WRITTEN = """
import os, sys
from campaign_helpers import row
from ioopt.campaign.store import Store

store = Store(sys.argv[1])
store.put(row("a"))
store._connection.execute("PRAGMA cache_size=1")
store._connection.execute("BEGIN IMMEDIATE")
for number in range(200):
    store.put(row(f"{number:064}"))
os._exit(9)
"""


def half_written(path):
    """A store with one row, whose sweep was killed while it wrote more."""
    command = [sys.executable, "-c", HALF_WRITTEN, str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, env=environment).returncode == 9
    assert os.path.getsize(f"{path}-journal")


@pytest.mark.parametrize("opener", [Store, StoreReader])
def test_a_half_written_store_is_brought_in_order(tmp_path, opener):
    path = tmp_path / "runs.sqlite"
    half_written(path)
    with opener(str(path)):
        pass
    with StoreReader(str(path)) as reader:
        assert rows_in(reader) == [("a",)]


@pytest.mark.parametrize("left", ["plain", "wal", "killed"])
def test_a_store_in_a_folder_that_cannot_be_written_to(left):
    # The temporary folder of pytest is closed to other users.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = str(folder / "runs.sqlite")
        if left == "killed":
            half_written(path)
        else:
            with Store(path) as store:
                store.put(row("a"))
        if left == "wal":  # as an earlier version left a store
            executed(path, "PRAGMA journal_mode=WAL")
        for file in folder.iterdir():
            file.chmod(0o644)
        with unprivileged_in(folder):
            if left == "killed":
                with pytest.raises(InstanceError, match="its sweep has not ended"):
                    StoreReader(path)
            else:
                with StoreReader(path) as reader:
                    assert list(rows_in(reader, ("key",))) == [("a",)]
            with pytest.raises(UsageError, match="cannot be opened: Permission denied"):
                Store(path)


def test_what_is_no_file_is_no_store(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError, match="not a regular file"):
            Store(str(path))
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_store_that_is_removed_while_it_is_written_says_that_its_rows_are_lost(
    tmp_path,
):
    path = tmp_path / "runs.sqlite"
    with Store(str(path)) as store:
        store.put(row("a"))
        path.unlink()
        with pytest.raises(
            UsageError, match="was removed or replaced while it was written"
        ):
            store.put(row("b"))


def test_what_was_written_before_the_disk_was_full_is_there(tmp_path):
    """A limit of the file size stands for the disk: each row whose put
    returned is found again.
    """
    path = tmp_path / "runs.sqlite"
    code = (
        "import resource, sys; from campaign_helpers import row; from "
        "ioopt.campaign.store import Store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "with Store(sys.argv[1]) as store:\n"
        "    for number in range(999):\n"
        "        store.put(row(f'{number:064}')); print(number, flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert "the run store cannot be used" in ran.stderr.splitlines()[-1]
    with StoreReader(str(path)) as reader:
        assert 0 < len(ran.stdout.split()) <= len(rows_in(reader)) < 999
