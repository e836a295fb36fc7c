"""Campaign figures: overhead a point, speed-up of a second worker, and a report of a million rows."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.frame import peak_bytes, timed

from ioopt.campaign.grid import Grid, build_grid, read_config
from ioopt.campaign.runner import cluster_client, run_grid
from ioopt.campaign.store import COLUMNS, Store
from ioopt.campaign.work import perform

TRIVIAL = """
repeats = {repeats}
keep = "none"
[[instances]]
bundled = "cycle3"
[[solvers]]
name = "minmin"
"""
# The same computing every time, whatever the clock says: a time limit would scale by itself.
SECONDS = """
repeats = {repeats}
keep = "none"
[[instances]]
generate = "batch-io"
preset = "mira-week"
[[solvers]]
name = "fill"
set = {{engine = "python"}}
"""


def _grid(folder: Path, text: str) -> Grid:
    path = folder / "grid.toml"
    path.write_text(text)
    return build_grid(read_config(str(path)), str(folder))


def _timed(folder: Path, grid: Grid, workers: int) -> float:
    """Seconds from the first submission to the last row, workers started and warm."""
    warm = Grid(grid.points[: 2 * workers], grid.sources, grid.config)
    path = folder / f"runs-{workers}-{time.monotonic_ns()}.sqlite"
    with Store(str(path)) as store, cluster_client(workers, None, None) as client:
        run_grid(warm, store, client)
        return timed(lambda: run_grid(grid, store, client))[0]


def _plain(grid: Grid, workers: int) -> float:
    """Seconds for the points in plain processes: what the machine itself allows now."""
    work = [(point, grid.sources[point.source]) for point in grid.points]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.starmap(perform, work[:1] * 2 * workers, chunksize=1)
        return timed(lambda: pool.starmap(perform, work, chunksize=1))[0]


def _speed_up(folder: Path, points: int, rounds: int) -> None:
    """One against two workers, and plain processes beside, since others may use the machine too."""
    grid = _grid(folder, SECONDS.format(repeats=points))
    for number in range(rounds):
        one, two = _timed(folder, grid, 1), _timed(folder, grid, 2)
        plain = _plain(grid, 1) / _plain(grid, 2)
        print(f"points of a second, round {number + 1}: {points} points, {one / points:.2f} s a point, "
              f"1 worker {one:.1f} s, 2 workers {two:.1f} s, speed-up {one / two:.2f}; "
              f"plain processes {plain:.2f}")  # fmt: skip


def _million(folder: Path, rows: int) -> tuple[float, float]:
    """Seconds and peak GiB of ``ioopt report`` on a store of *rows* rows (in a process of its own)."""
    path = folder / "million.sqlite"
    with Store(str(path)) as store:
        connection = store._connection
        connection.execute("BEGIN")
        marks = ",".join("?" * len(COLUMNS))
        connection.executemany(
            f"INSERT INTO runs VALUES ({marks})", (_row(number) for number in range(rows))
        )
        connection.execute("COMMIT")
    code = (
        "import resource, sys\nfrom ioopt.cli.main import main\n"
        f"code = main(['report', {str(path)!r}, '-o', {str(folder / 'million.html')!r}])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\nsys.exit(code)"
    )
    command = [sys.executable, "-c", code]
    seconds, run = timed(lambda: subprocess.check_output(command, text=True))
    return seconds, int(run.split()[-1]) / 2**20


def _row(number: int) -> tuple[object, ...]:
    instance, solver = divmod(number, 4)
    value = 100.0 + (number * 2654435761 % 1000) / 10
    labels = json.dumps({"preset": "image-85", "tasks": 50 * (1 + instance % 8)})
    return (
        f"{number:064x}", f"instance-{instance}", f"digest-{instance}", "replication",
        "replication", ("ip", "minmin", "job-data-present", "link-aware")[solver], "{}", labels, 0,
        0, "feasible", "finished", value, "additive_seconds", value * 0.9, 0.1, 0.01, 1.0, 0.1,
        json.dumps({"makespan_seconds": value}), "[]", 0, '{"ioopt": "0.1.0"}', None, "here",
    )  # fmt: skip


def main(quick: bool) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = 200 if quick else 1000
        seconds = _timed(folder, _grid(folder, TRIVIAL.format(repeats=count)), 4)
        print(f"trivial points, 4 workers: {count} points, {1000 * seconds / count:.2f} ms a point")
        _speed_up(folder, 4 if quick else 12, 1 if quick else 3)
        rows = 50_000 if quick else 1_000_000
        seconds, gib = _million(folder, rows)
        print(f"report of {rows} rows: {seconds:.1f} s, {gib:.2f} GiB at most")
        print(f"this process: {peak_bytes() / 2**30:.2f} GiB at most")
