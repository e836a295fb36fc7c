"""Running a grid on dask.distributed: a local cluster or a given scheduler, one code path.

Only the client writes to the store, one row a point in one transaction, so a killed client loses
at most points that had not come back. A worker that dies takes its point with it: dask runs the
point again elsewhere; one that keeps killing its workers is tried alone at the end, and when it
kills again it is recorded as failed with the reason, and the rest is not held up.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ioopt.campaign.grid import Grid, Point, Source
from ioopt.campaign.store import FAILED, Store
from ioopt.errors import BackendMissingError, UsageError

Row = dict[str, Any]
Answer = tuple[Row, dict[str, Any] | None]

WORKER_DEATHS = 1
"""How often dask itself runs a point again after its worker died."""
ALONE_TRIES = 2
"""How often a point that seems to kill its workers is tried with nothing beside it."""
GIVE_UP_EXIT = 75
"""Exit status of a worker that gives up a point past its hard limit."""


@dataclass(frozen=True)
class Progress:
    """What a progress bar shows: points done in this run, of how many, how many failed."""

    done: int
    total: int
    failed: int


def run_point(point: Point, source: Source) -> Answer:
    """Solve one point and return its row, and the whole result when it is to be kept.

    Runs on a worker. A solver's error becomes a failed row; it never raises.
    """
    from ioopt.solving import solve

    timer = _watchdog(point.hard_limit)
    try:
        result = solve(
            source.problem(), point.solver, settings=point.settings, seed=point.seed,
            time_limit=point.time_limit, threads=point.threads, backend=point.backend,
        )  # fmt: skip
    except Exception as error:
        return failed_row(point, source, f"{type(error).__name__}: {error}"), None
    finally:
        if timer is not None:
            timer.cancel()
    summary = result.summary()
    row = _identity(point, source) | {
        name: summary[name]
        for name in ("status", "stop", "objective", "objective_name", "bound", "gap",
                     "build_seconds", "solve_seconds", "simulate_seconds", "metrics", "notes",
                     "versions")
    }  # fmt: skip
    row |= {"violations": len(result.violations), "error": None}
    return row, result.to_dict() if point.keep else None


def _watchdog(limit: float | None) -> threading.Timer | None:
    """A thread that ends this worker when a point overstays: a thread cannot be stopped otherwise."""
    if limit is None:
        return None
    timer = threading.Timer(limit, os._exit, (GIVE_UP_EXIT,))
    timer.daemon = True
    timer.start()
    return timer


def _identity(point: Point, source: Source) -> Row:
    from ioopt import registry

    return {
        "key": point.key, "instance": source.name, "digest": source.digest,
        "family": registry.KINDS[source.kind].family, "kind": source.kind, "solver": point.solver,
        "settings": dict(point.settings), "labels": dict(source.labels), "seed": point.seed,
        "repeat": point.repeat, "machine": platform.node(),
    }  # fmt: skip


def failed_row(point: Point, source: Source, reason: str) -> Row:
    """The row of a point without a result, with the reason."""
    unknown = dict.fromkeys(
        ("stop", "objective", "objective_name", "bound", "gap", "build_seconds", "solve_seconds",
         "simulate_seconds")
    )  # fmt: skip
    return _identity(point, source) | unknown | {
        "status": FAILED, "metrics": {}, "notes": [], "violations": 0, "versions": {},
        "error": reason,
    }  # fmt: skip


@contextmanager
def cluster_client(workers: int, scheduler: str | None, memory_limit: str | None) -> Iterator[Any]:
    """A dask client: of a scheduler at *scheduler*, or of a cluster of *workers* processes here."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise BackendMissingError(
            "sweeps need dask.distributed: python -m pip install 'ioopt[campaign]'"
        ) from None
    quiet = {
        "distributed.scheduler.allowed-failures": WORKER_DEATHS,
        "distributed.comm.timeouts.connect": "30s",
        "distributed.admin.tick.limit": "1h",
        "logging.distributed": "critical",
    }
    with dask.config.set(quiet):
        if scheduler is not None:
            try:
                client = Client(scheduler, set_as_default=False)
            except (OSError, ValueError) as error:
                raise UsageError(f"--scheduler {scheduler}: cannot be reached: {error}") from None
            with client:
                yield client
            return
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None,
            memory_limit=memory_limit or "auto", silence_logs=50,
        )  # fmt: skip
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


def run_grid(
    grid: Grid,
    store: Store,
    client: Any,
    *,
    skip: set[str] | None = None,
    listener: Callable[[Progress], None] | None = None,
) -> Progress:
    """Run every point of *grid* whose key is not in *skip*; write each as it comes back."""
    todo = [point for point in grid.points if point.key not in (skip or set())]
    state = _State(store, len(todo), listener)
    with client.as_current():
        for point in _run_together(todo, grid, client, state):
            _run_alone(point, grid, client, state)
    return Progress(state.done, len(todo), state.failed)


class _State:
    def __init__(
        self, store: Store, total: int, listener: Callable[[Progress], None] | None
    ) -> None:
        self.store, self.total, self.listener = store, total, listener
        self.done = self.failed = 0

    def write(self, row: Row, document: dict[str, Any] | None) -> None:
        """Store one point and tell the listener."""
        self.store.put(row, document)
        self.done += 1
        self.failed += row["status"] == FAILED
        if self.listener is not None:
            self.listener(Progress(self.done, self.total, self.failed))


def _submit(points: Sequence[Point], grid: Grid, client: Any) -> dict[Any, Point]:
    """Futures of *points*; instances travel as tasks, so that a dead worker's copy is made again."""
    digests = dict.fromkeys(point.source for point in points)
    stamp = f"{os.getpid()}-{time.monotonic_ns()}"
    carriers = {
        digest: client.submit(_same, grid.sources[digest], key=f"instance-{digest}-{stamp}")
        for digest in digests
    }
    futures = client.map(
        run_point, points, [carriers[point.source] for point in points],
        key=[f"point-{point.key}-{stamp}" for point in points], batch_size=1000,
    )  # fmt: skip
    return dict(zip(futures, points))


def _same(source: Source) -> Source:
    return source


def _run_together(points: Sequence[Point], grid: Grid, client: Any, state: _State) -> list[Point]:
    """Run all; return those that did not come back (:func:`run_point` itself never raises)."""
    from distributed import as_completed

    if not points:
        return []
    futures = _submit(points, grid, client)
    suspects = []
    for future in as_completed(list(futures)):
        point = futures.pop(future)
        if future.status == "finished":
            state.write(*future.result())
        else:
            suspects.append(point)
        future.release()
    return suspects


def _run_alone(point: Point, grid: Grid, client: Any, state: _State) -> None:
    """Try a point with nothing beside it; when it still does not come back, record why."""
    from distributed import wait
    from distributed.scheduler import KilledWorker

    error: BaseException | None = None
    for _ in range(ALONE_TRIES):
        (future,) = _submit([point], grid, client)
        wait(future)
        if future.status == "finished":
            state.write(*future.result())
            return
        error = future.exception() if future.status == "error" else None
    reason = f"it did not come back: {type(error).__name__}: {error}"
    if error is None or isinstance(error, KilledWorker):
        limit = f" or its hard limit of {point.hard_limit:g} s" if point.hard_limit else ""
        reason = f"its worker died every time: a crash, too much memory{limit}"
    state.write(failed_row(point, grid.sources[point.source], reason), None)
