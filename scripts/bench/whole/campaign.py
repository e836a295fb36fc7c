"""Campaign figures: overhead a point, and the speed-up of a second worker."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from pathlib import Path

from bench.frame import peak_bytes, timed

from ioopt.campaign.grid import Grid, build_grid, read_config
from ioopt.campaign.runner import open_workers, run_grid
from ioopt.campaign.store import Store
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
    with Store(str(path)) as store, open_workers(workers) as running:
        run_grid(warm, store, running)
        return timed(lambda: run_grid(grid, store, running))[0]


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


def main(quick: bool) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = 200 if quick else 1000
        seconds = _timed(folder, _grid(folder, TRIVIAL.format(repeats=count)), 4)
        print(f"trivial points, 4 workers: {count} points, {1000 * seconds / count:.2f} ms a point")
        _speed_up(folder, 4 if quick else 12, 1 if quick else 3)
        print(f"this process: {peak_bytes() / 2**30:.2f} GiB at most")
