"""A small sweep, the command that runs it, and its rows without values that differ
between runs.
"""

import os
import subprocess
import sys
from pathlib import Path

from ioopt.errors import InstanceError

ROOT = Path(__file__).resolve().parents[1]

MINIMAL = '[[instances]]\nbundled = "cycle3"\n[[solvers]]\nname = "minmin"\n'
CONFIG = """
time_limit = 3600
repeats = {repeats}
[[instances]]
bundled = "cycle3"
[[instances]]
generate = "replication"
preset = "image-85"
set = {{tasks = {tasks}, nodes = 2}}
seeds = {seeds}
[[solvers]]
name = "minmin"
[[solvers]]
name = "job-data-present"
"""
STABLE = (
    "key, instance, digest, solver, settings, seed, repeat, status, objective, metrics"
)


def write_config(
    folder: Path, seeds: int = 1, repeats: int = 1, tasks: tuple[int, int] = (6, 8)
) -> Path:
    """Write a CONFIG.toml with (1 + 2 x *seeds*) instances x 2 solvers x *repeats*
    points.
    """
    path = folder / "grid.toml"
    path.write_text(
        CONFIG.format(seeds=list(range(seeds)), repeats=repeats, tasks=list(tasks))
    )
    return path


def sweep_command(config: Path, store: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "ioopt",
        "sweep",
        str(config),
        "--store",
        str(store),
        *options,
    ]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def run_sweep(
    config: Path, store: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        sweep_command(config, store, *options),
        capture_output=True,
        text=True,
        env=environment(),
    )


def rows_in(reader, columns: tuple[str, ...] = ("key",)) -> list[tuple]:
    """Return these *columns* of all rows that *reader*, a StoreReader, sees, in order
    of key.
    """
    query = f"SELECT {', '.join(columns)} FROM runs ORDER BY key"
    return list(reader.connection.execute(query))


STUDY = """
import os, sys
from ioopt.campaign.store import Store
from ioopt.campaign.study import open_campaign

path, function, *numbers = sys.argv[1:]
count, last = map(int, numbers)
put = Store.put
counted = iter(range(1, 99))

def put_and_end(store, *row):
    put(store, *row)
    if next(counted) == last:
        os._exit(9)

Store.put = put_and_end
with open_campaign(path, 2) as campaign:
    study = campaign.study("killed")
    settings = [{"seed": seed} for seed in range(count)]
    found = study.values(f"campaign_experiments:{function}", settings)
    print(study.num_run, sum(row["value"] for row in found))
"""


def run_study(
    store: str, function: str, count: int, last: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a study of *count* seeds with two workers in a new process.

    The process exits abruptly after it has stored row *last* (0: never).
    """
    command = [sys.executable, "-c", STUDY, store, function, str(count), str(last)]
    folders = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"PYTHONPATH": folders},
    )


def stable_rows(store: Path) -> list[tuple]:
    from ioopt.campaign.store import StoreReader

    with StoreReader(str(store)) as reader:
        return list(
            reader.connection.execute(f"SELECT {STABLE} FROM runs ORDER BY key")
        )


def rows_so_far(store: Path) -> int:
    """Return the number of rows of a store, or 0 if it is missing or incomplete."""
    from ioopt.campaign.store import StoreReader

    try:
        with StoreReader(str(store)) as reader:
            return reader.connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    except InstanceError:
        return 0


PAUSE_SECONDS = 0.02
"""Seconds between two readings of a store, since each makes the writer wait."""


Process = subprocess.Popen[bytes] | subprocess.Popen[str]


def ended_after_a_pause(process: Process) -> bool:
    """Return whether the process ends before a short pause is over."""
    try:
        process.wait(PAUSE_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def wait_for_rows(process: Process, store: Path, count: int) -> None:
    """Wait until the store has *count* rows, or until its writing process has ended."""
    while rows_so_far(store) < count and not ended_after_a_pause(process):
        pass


def row(key: str, **changes: object) -> dict[str, object]:
    """Return a complete row of a store, with *changes*."""
    from ioopt.campaign import store as stores

    values = dict.fromkeys(stores.COLUMNS)
    values |= {name: {} for name in stores.JSON_COLUMNS}
    values |= {
        "notes": [],
        "key": key,
        "instance": "i",
        "digest": "d",
        "family": "replication",
        "kind": "replication",
        "solver": "s",
        "seed": 0,
        "repeat": 0,
        "status": "feasible",
        "violations": 0,
    }
    return values | changes
