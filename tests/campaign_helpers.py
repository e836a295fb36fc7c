"""A small sweep, the command that runs it, and its rows without what differs between runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

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
STABLE = "key, instance, digest, solver, settings, seed, repeat, status, objective, metrics"


def write_config(
    folder: Path, seeds: int = 1, repeats: int = 1, tasks: tuple[int, int] = (6, 8)
) -> Path:
    """Write a CONFIG.toml with (1 + 2 x seeds) instances x 2 solvers x repeats points."""
    path = folder / "grid.toml"
    path.write_text(CONFIG.format(seeds=list(range(seeds)), repeats=repeats, tasks=list(tasks)))
    return path


def sweep_command(config: Path, store: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "ioopt", "sweep", str(config), "--store", str(store), *options]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def run_sweep(config: Path, store: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        sweep_command(config, store, *options), capture_output=True, text=True, env=environment()
    )


def rows_in(reader, columns: tuple[str, ...] = ("key",)) -> list[tuple]:
    """These columns of all rows that a StoreReader sees, by key."""
    query = f"SELECT {', '.join(columns)} FROM runs ORDER BY key"
    return list(reader.connection.execute(query))


def stable_rows(store: Path) -> list[tuple]:
    from ioopt.campaign.store import StoreReader

    with StoreReader(str(store)) as reader:
        return list(reader.connection.execute(f"SELECT {STABLE} FROM runs ORDER BY key"))


def row(key: str, **changes: object) -> dict[str, object]:
    """A whole store row."""
    from ioopt.campaign import store as stores

    values = dict.fromkeys(stores.COLUMNS)
    values |= {name: {} for name in stores.JSON_COLUMNS}
    values |= {"notes": [], "key": key, "instance": "i", "digest": "d", "family": "replication",
               "kind": "replication", "solver": "s", "seed": 0, "repeat": 0, "status": "feasible",
               "violations": 0}  # fmt: skip
    return values | changes
