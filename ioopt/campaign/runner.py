"""Running a grid: on worker processes of this machine, or on the workers
of a dask scheduler.

Only this process writes to the store, one row a point in one transaction, so a killed
one loses at most points that had not come back. A worker that dies takes its point with
it: the point is tried alone at the end, and when it kills its workers again it is
recorded as failed with the reason, and the rest is not held up. Here a worker is an
executor of one process, so that a death costs one task; processes are forked from a
server that has imported what they need, and end with the process that asked for them,
even in the middle of a task.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures import Future as Promise
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ioopt.campaign.grid import Source
from ioopt.campaign.store import FAILED, Store
from ioopt.campaign.work import Row, Task, failed_row, perform
from ioopt.errors import UsageError, missing
from ioopt.units import parse_bytes

if TYPE_CHECKING:
    from distributed import Client, Future

WORKER_DEATHS = 1
"""How often dask itself runs a point again after its worker died."""
WINDOW, BATCH = 5000, 1000
"""Most points that are with the scheduler at once, and how many are
handed over together.
"""
ALONE_TRIES = 2
"""How often a point that seems to kill its workers is tried with nothing beside it."""

MEMORY_SECONDS = 0.1
"""How often a worker looks at the memory it uses, where that is limited."""

Listener = Callable[[int, int, str], None]
"""Told how many tasks of how many are done, and how many failed, in words."""


@contextmanager
def open_workers(
    workers: int, scheduler: str | None = None, memory_limit: str | None = None
) -> Iterator[Workers]:
    """So many processes of this machine, or the workers of the dask
    scheduler at *scheduler*.
    """
    if scheduler is None:
        with Pool(
            workers, None if memory_limit is None else parse_bytes(memory_limit)
        ) as pool:
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
            raise UsageError(
                f"--scheduler {scheduler}: cannot be reached: {error}"
            ) from None
        with client, client.as_current():
            yield Cluster(client)


class Pool(AbstractContextManager["Pool"]):
    """At most *workers* processes, started as they are needed. Use
    as a context manager.

    One that uses more than *memory_bytes* ends, as if it had died by itself; raises
    BackendMissingError where that cannot be watched.
    """

    def __init__(self, workers: int, memory_bytes: int | None = None) -> None:
        self._count, self._memory_bytes = workers, memory_bytes
        self._workers: list[_Worker] = []
        if memory_bytes is not None:
            try:
                import psutil  # noqa: F401  # before anything is begun
            except ImportError:
                raise missing("psutil", "memory_limit") from None

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Row | None]]:
        """Every task with what came of it, None when its worker died, in the
        order of the answers.
        """
        # by instance, since a worker keeps the one that it read last
        pending = deque(sorted(tasks, key=lambda task: task.source))
        busy: dict[Promise[Row], tuple[_Worker, Task]] = {}

        def deal() -> None:
            while len(self._workers) < min(self._count, len(pending) + len(busy)):
                self._workers.append(_Worker(self._memory_bytes))
            for worker in {*self._workers} - {worker for worker, _ in busy.values()}:
                if pending:
                    task = pending.popleft()
                    busy[worker.give(task, sources.get(task.source))] = worker, task

        deal()
        while busy:
            done = wait(busy, return_when=FIRST_COMPLETED).done
            heard = [(future, *busy.pop(future)) for future in done]
            for future, worker, _ in heard:
                if future.exception() is not None:
                    self._workers.remove(worker)
                    worker.end()
            deal()  # nobody waits while the rows are written
            for future, _, task in heard:
                yield task, None if future.exception() is not None else future.result()


class _Worker:
    """One process."""

    def __init__(self, memory_bytes: int | None) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "ioopt.solving"])
        given = dict(os.environ), memory_bytes
        self._executor = ProcessPoolExecutor(1, context, _begin, given)
        self.pid = self._executor.submit(os.getpid)

    def give(self, task: Task, source: Source | None) -> Promise[Row]:
        """Hand over a task, with its instance."""
        try:
            return self._executor.submit(perform, task, source)
        except BrokenExecutor as error:  # it died while it was idle
            broken: Promise[Row] = Promise()
            broken.set_exception(error)
            return broken

    def end(self) -> None:
        """End the process, whatever it does."""
        with suppress(BrokenExecutor, ProcessLookupError):
            os.kill(self.pid.result(), signal.SIGKILL)
        self._executor.shutdown(cancel_futures=True)


def _begin(environment: dict[str, str], memory_bytes: int | None) -> None:
    """In a new process: its parent's environment, what it leaves to
    that, and when it ends.
    """
    os.environ.update(environment)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a terminal sends it to all: the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for library in ("OMP", "OPENBLAS", "MKL"):  # workers share the cores already
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 100)  # as the command line does, and for its reason
    threading.Thread(target=_watch, args=(memory_bytes,), daemon=True).start()


def _watch(memory_bytes: int | None) -> None:
    """End this process with its parent, or when it uses more than *memory_bytes*."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    if memory_bytes is None:
        connection.wait([parent.sentinel])
    else:
        import psutil

        own = psutil.Process()
        while not connection.wait([parent.sentinel], MEMORY_SECONDS):
            if own.memory_info().rss > memory_bytes:
                break
    os._exit(0)


@dataclass
class Cluster:
    """The workers of a dask scheduler."""

    client: Client

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Any]]:
        """Every task as it comes back with its row, else with why it did not: an
        exception, or None when its worker died."""
        from distributed import as_completed
        from distributed.scheduler import KilledWorker

        rest = iter(tasks)
        futures = self._submit(list(islice(rest, WINDOW)), sources)
        # With results, the client fetches those of many points in one message.
        arrivals = as_completed(list(futures), with_results=True, raise_errors=False)
        for future, answer in arrivals:
            # A worker may die once its answer is here: the answer counts, not
            # the future's state.
            if not isinstance(answer, dict):
                answer = future.exception() if future.status == "error" else None
            yield (
                futures.pop(future),
                None if isinstance(answer, KilledWorker) else answer,
            )
            future.release()
            if len(futures) <= WINDOW - BATCH:
                more = self._submit(list(islice(rest, BATCH)), sources)
                futures |= more
                arrivals.update(list(more))

    def _submit(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> dict[Future, Task]:
        """Futures of *tasks*; instances travel as dask tasks, so that a dead
        worker's copy is made again."""
        stamp = f"{os.getpid()}-{time.monotonic_ns()}"
        carriers = {
            name: self.client.submit(
                _same, sources[name], key=f"instance-{name}-{stamp}"
            )
            for name in {task.source for task in tasks if task.source}
        }
        carried = [carriers.get(task.source) for task in tasks]
        futures = self.client.map(
            perform,
            tasks,
            carried,
            key=[f"point-{task.key}-{stamp}" for task in tasks],
            batch_size=BATCH,
        )
        return dict(zip(futures, tasks))


def _same(source: Source) -> Source:
    return source


Workers = Pool | Cluster
"""Whatever runs tasks."""


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    workers: Workers,
    sources: Mapping[str, Source] = MappingProxyType({}),
    listener: Listener | None = None,
) -> int:
    """Run *tasks*, then alone those that did not come back, and write
    each; how many failed.
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
                limit = (
                    f" or its hard limit of {task.hard_limit:g} s"
                    if task.hard_limit
                    else ""
                )
                reason = f"its worker died every time: a crash, too much memory{limit}"
            write(failed_row(task, sources.get(task.source), reason))
    return failed
