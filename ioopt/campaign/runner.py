"""Running a grid: on worker processes of this machine, or on the workers of a dask scheduler.

Only this process writes to the store, one row a point in one transaction, so a killed one loses
at most points that had not come back. A worker that dies takes its point with it: the point is
tried alone at the end, and when it kills its workers again it is recorded as failed with the reason,
and the rest is not held up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from ioopt.campaign.grid import Grid, Source
from ioopt.campaign.pool import Pool
from ioopt.campaign.store import FAILED, Store
from ioopt.campaign.work import Experiment, Row, Task, failed_row, perform
from ioopt.errors import UsageError
from ioopt.units import parse_bytes

if TYPE_CHECKING:
    from distributed import Client, Future

WORKER_DEATHS = 1
"""How often dask itself runs a point again after its worker died."""
WINDOW, BATCH = 5000, 1000
"""Most points that are with the scheduler at once, and how many are handed over together."""
ALONE_TRIES = 2
"""How often a point that seems to kill its workers is tried with nothing beside it."""


@dataclass(frozen=True)
class Progress:
    """What a progress bar shows: points done in this run, of how many, how many failed."""

    done: int = 0
    total: int = 0
    failed: int = 0


Listener = Callable[[Progress], None]


class Workers(Protocol):
    """Whatever runs tasks."""

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Any]]:
        """Every task as it comes back with its row and its result, else with why it did not: an
        exception, or None when its worker died."""


@contextmanager
def open_workers(
    workers: int, scheduler: str | None = None, memory_limit: str | None = None
) -> Iterator[Workers]:
    """So many processes of this machine, or the workers of the dask scheduler at *scheduler*."""
    if scheduler is None:
        with Pool(workers, None if memory_limit is None else parse_bytes(memory_limit)) as pool:
            pool.start(workers)  # before a progress bar has its thread
            yield pool
        return
    import dask
    from distributed import Client

    quiet = {
        "distributed.scheduler.allowed-failures": WORKER_DEATHS,
        "distributed.comm.timeouts.connect": "30s",
        "logging.distributed": "critical",
    }
    with dask.config.set(quiet):
        try:
            client = Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"--scheduler {scheduler}: cannot be reached: {error}") from None
        with client, client.as_current():
            yield Cluster(client)


@dataclass
class Cluster:
    """The workers of a dask scheduler."""

    client: Client

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Any]]:
        """Every task as it comes back (:func:`perform` itself never raises)."""
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        rest = iter(tasks)
        futures = self._submit(list(islice(rest, WINDOW)), sources)
        # With results, the client fetches those of many points in one message.
        arrivals = as_completed(list(futures), with_results=True, raise_errors=False)
        for future, answer in arrivals:
            # A worker may die once its answer is here: the answer counts, not the future's state.
            if not (isinstance(answer, tuple) and isinstance(answer[0], dict)):
                answer = future.exception() if future.status == "error" else None
            yield futures.pop(future), None if isinstance(answer, KilledWorker) else answer
            future.release()
            if len(futures) <= WINDOW - BATCH:
                more = self._submit(list(islice(rest, BATCH)), sources)
                futures |= more
                arrivals.update(list(more))

    def _submit(self, tasks: Sequence[Task], sources: Mapping[str, Source]) -> dict[Future, Task]:
        """Futures of *tasks*; instances travel as dask tasks, so that a dead worker's copy is made
        again."""
        stamp = f"{os.getpid()}-{time.monotonic_ns()}"
        carriers = {
            name: self.client.submit(_same, sources[name], key=f"instance-{name}-{stamp}")
            for name in {task.source for task in tasks if task.source}
        }
        carried = [carriers.get(task.source) for task in tasks]
        futures = self.client.map(
            perform, tasks, carried, key=[f"point-{task.key}-{stamp}" for task in tasks],
            batch_size=BATCH,
        )  # fmt: skip
        return dict(zip(futures, tasks))


def _same(source: Source) -> Source:
    return source


def run_grid(
    grid: Grid,
    store: Store,
    workers: Workers,
    *,
    skip: set[str] | None = None,
    listener: Listener | None = None,
) -> Progress:
    """Run every point of *grid* whose key is not in *skip*; write each as it comes back."""
    todo = [point for point in grid.points if point.key not in (skip or set())]
    return _Run(grid.sources, store, workers, listener).all(todo)


def run_experiments(
    experiments: Sequence[Experiment],
    store: Store,
    workers: Workers,
    listener: Listener | None = None,
) -> Progress:
    """Run every experiment; write each as it comes back."""
    return _Run({}, store, workers, listener).all(experiments)


@dataclass
class _Run:
    sources: Mapping[str, Source]
    store: Store
    workers: Workers
    listener: Listener | None
    now: Progress = Progress()

    def all(self, tasks: Sequence[Task]) -> Progress:
        """Run all together, then alone those that did not come back."""
        self.now = Progress(total=len(tasks))
        suspects = []
        for task, answer in self.workers.answers(tasks, self.sources):
            if isinstance(answer, tuple):
                self._write(*answer)
            else:
                suspects.append(task)
        for task in suspects:
            self.alone(task)
        return self.now

    def alone(self, task: Task) -> None:
        """Try a task with nothing beside it; when it still does not come back, record why."""
        answer = None
        for _ in range(ALONE_TRIES):
            ((_, answer),) = self.workers.answers([task], self.sources)
            if isinstance(answer, tuple):
                self._write(*answer)
                return
        reason = f"it did not come back: {type(answer).__name__}: {answer}"
        if answer is None:
            limit = f" or its hard limit of {task.hard_limit:g} s" if task.hard_limit else ""
            reason = f"its worker died every time: a crash, too much memory{limit}"
        self._write(failed_row(task, self.sources.get(task.source), reason), None)

    def _write(self, row: Row, document: dict[str, Any] | bytes | None) -> None:
        """Store one point and tell the listener."""
        self.store.put(row, document)
        failed = self.now.failed + (row["status"] == FAILED)
        self.now = Progress(self.now.done + 1, self.now.total, failed)
        if self.listener is not None:
            self.listener(self.now)
