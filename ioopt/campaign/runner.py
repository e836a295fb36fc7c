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
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from ioopt.campaign.grid import Source
from ioopt.campaign.pool import Pool
from ioopt.campaign.store import FAILED, Store
from ioopt.campaign.work import Row, Task, failed_row, perform
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


Listener = Callable[[int, int, str], None]
"""Told how many tasks of how many are done, and how many failed, in words."""


class Workers(Protocol):
    """Whatever runs tasks."""

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Any]]:
        """Every task as it comes back with its row, else with why it did not: an exception, or None
        when its worker died."""


@contextmanager
def open_workers(
    workers: int, scheduler: str | None = None, memory_limit: str | None = None
) -> Iterator[Workers]:
    """So many processes of this machine, or the workers of the dask scheduler at *scheduler*."""
    if scheduler is None:
        with Pool(workers, None if memory_limit is None else parse_bytes(memory_limit)) as pool:
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
            if not isinstance(answer, dict):
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


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    workers: Workers,
    sources: Mapping[str, Source] = MappingProxyType({}),
    listener: Listener | None = None,
) -> int:
    """Run all *tasks*, then alone those that did not come back; how many failed.

    Each is written as it comes back. *sources* are the instances of points by their digest.
    """
    done = failed = 0

    def write(row: Row) -> None:
        nonlocal done, failed
        store.put(row)
        done, failed = done + 1, failed + (row["status"] == FAILED)
        if listener is not None:
            listener(done, len(tasks), f"{failed} failed")

    suspects = []
    for task, answer in workers.answers(tasks, sources):
        if isinstance(answer, dict):
            write(answer)
        else:
            suspects.append(task)
    for task in suspects:
        answer = None
        for _ in range(ALONE_TRIES):
            ((_, answer),) = workers.answers([task], sources)
            if isinstance(answer, dict):
                write(answer)
                break
        else:
            reason = f"it did not come back: {type(answer).__name__}: {answer}"
            if answer is None:
                limit = f" or its hard limit of {task.hard_limit:g} s" if task.hard_limit else ""
                reason = f"its worker died every time: a crash, too much memory{limit}"
            write(failed_row(task, sources.get(task.source), reason))
    return failed
