"""Executors: what runs the tasks of a sweep, here or on a cluster.

An executor has one method, ``answers``. :class:`LocalExecutor` runs tasks in processes
of this machine, supervised by pebble; :class:`DaskExecutor` runs them on the workers of
a Dask scheduler. A task that ends its worker comes back as :class:`Lost`, with the
reason, and disturbs no other task.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection
from typing import TYPE_CHECKING, Protocol

from pebble import ProcessExpired, ProcessPool

from ioopt.campaign.grid import Source
from ioopt.campaign.work import Row, Task, perform
from ioopt.errors import UsageError, missing
from ioopt.units import parse_bytes

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

WINDOW = 5000
"""The largest number of tasks that the Dask scheduler has at once."""
BATCH = 1000
"""The number of tasks that are handed to the Dask scheduler together."""

MEMORY_CHECK_SECONDS = 0.1
"""Seconds between two measurements of a worker's memory, if that is limited."""
MEMORY_EXIT_STATUS = 76
"""Exit status of a worker process that used more than its memory limit."""
TIME_EXIT_STATUS = 75
"""Exit status of a Dask worker that ends a task at its hard limit."""


@dataclass(frozen=True)
class Lost:
    """What comes back for a task that ended its worker.

    ``process_died`` is False when the executor itself ended the worker, at the hard
    limit of the task: another run would end in the same way.
    """

    reason: str
    process_died: bool = True


Answer = Row | Lost


class Executor(Protocol):
    """Whatever runs the tasks of a sweep."""

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Answer]]:
        """Yield each task with its row, or with the reason why it was lost, as results
        arrive.

        *sources* maps the digest that a task names to its instance.
        """


@contextmanager
def open_executor(
    workers: int, scheduler: str | None = None, memory_limit: str | None = None
) -> Iterator[Executor]:
    """Open the Dask scheduler at *scheduler*, else *workers* processes of this machine.

    *memory_limit* (such as ``"4GB"``) applies to each process of this machine; on a
    cluster, the workers have their own limits. UsageError when the scheduler cannot be
    reached, BackendMissingError when a package is missing.
    """
    if scheduler is None:
        with LocalExecutor(workers, memory_limit) as local:
            yield local
        return
    import dask
    from distributed import Client

    settings = {
        "distributed.comm.timeouts.connect": "30s",
        "logging.distributed": "critical",
    }
    with dask.config.set(settings):
        try:
            client = Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"--scheduler {scheduler}: cannot be reached: {error}"
            ) from None
        with client, client.as_current():
            yield DaskExecutor(client)


class LocalExecutor(AbstractContextManager["LocalExecutor"]):
    """At most *workers* processes of this machine, started at the first task.

    Each process has a pebble pool of its own. The processes of one pool share a pipe
    and the lock of this pipe, so a process that is killed while it has the lock would
    stop the other processes of its pool.
    """

    def __init__(self, workers: int, memory_limit: str | None = None) -> None:
        self._most_pools = workers
        self._pools: list[ProcessPool] = []
        self._memory_limit = memory_limit
        self._memory_bytes: int | None = None
        if memory_limit is not None:
            self._memory_bytes = parse_bytes(memory_limit)
            try:
                import psutil  # noqa: F401  # missing: say so before any task runs
            except ImportError:
                raise missing("psutil", "memory_limit") from None

    def __exit__(self, *exc: object) -> None:
        """End all processes, whatever they are doing."""
        for pool in self._pools:
            pool.stop()
        for pool in self._pools:
            pool.join()
        self._pools.clear()

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Answer]]:
        """Yield each task with its row, or with the reason why it was lost, as results
        arrive.
        """
        # Sort by instance, because a worker keeps only the instance that it read last.
        pending = deque(sorted(tasks, key=lambda task: task.source))
        while len(self._pools) < min(self._most_pools, len(pending)):
            self._pools.append(self._new_pool())
        idle = list(self._pools)
        running: dict[Future[Row], tuple[ProcessPool, Task]] = {}

        def start_tasks() -> None:
            while pending and idle:
                pool = idle.pop()
                task = pending.popleft()
                future = _schedule(pool, task, sources.get(task.source))
                running[future] = (pool, task)

        start_tasks()
        while running:
            answers: list[tuple[Task, Answer]] = []
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, task = running.pop(future)
                answer = self._answer(future, task)
                if isinstance(answer, Lost) and answer.process_died:
                    pool = self._replace(pool)
                idle.append(pool)
                answers.append((task, answer))
            start_tasks()  # so that no worker idles while the answers are written
            yield from answers

    def _answer(self, future: Future[Row], task: Task) -> Answer:
        """Return the row of a finished task, or why there is none."""
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, TimeoutError):
            reason = f"ended at its hard limit of {task.hard_limit:g} s"
            return Lost(reason, process_died=False)
        if not isinstance(error, ProcessExpired):
            return Lost(f"its worker died: {error}")
        if error.exitcode == MEMORY_EXIT_STATUS:
            return Lost(f"its worker used more than {self._memory_limit} of memory")
        return Lost(f"its worker died: {_exit_in_words(error.exitcode)}")

    def _new_pool(self) -> ProcessPool:
        """Return a pool of one process, which starts with its first task."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "ioopt.solving"])
        settings = (dict(os.environ), self._memory_bytes)
        return ProcessPool(
            max_workers=1, initializer=_start, initargs=settings, context=context
        )

    def _replace(self, pool: ProcessPool) -> ProcessPool:
        """End a pool whose process died, and return a new one.

        The process may have died while it held the lock of the pool's pipe.
        """
        pool.stop()
        pool.join()
        fresh = self._new_pool()
        self._pools[self._pools.index(pool)] = fresh
        return fresh


def _schedule(pool: ProcessPool, task: Task, source: Source | None) -> Future[Row]:
    """Hand a task to the process of a pool, with its instance and its hard limit."""
    try:
        return pool.schedule(perform, args=(task, source), timeout=task.hard_limit)
    except RuntimeError as error:  # the process died while it was idle
        failed: Future[Row] = Future()
        failed.set_exception(error)
        return failed


def _exit_in_words(status: int) -> str:
    """Say how a process ended, by the exit status that Python reports."""
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        return f"killed by signal {-status}"
    if name == "SIGKILL":
        return "killed by SIGKILL, as the system does when memory runs out"
    return f"killed by {name}"


def _start(environment: dict[str, str], memory_bytes: int | None) -> None:
    """Prepare a new worker process.

    The worker takes over its parent's environment, which the fork server may not have,
    ignores Ctrl-C (a terminal sends it to all processes; the parent decides), and ends
    when its parent ends or when it uses more than *memory_bytes*.
    """
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for library in ("OMP", "OPENBLAS", "MKL"):  # the workers already use all cores
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 100)  # as the command line does, for the same reason
    threading.Thread(target=_watch, args=(memory_bytes,), daemon=True).start()


def _watch(memory_bytes: int | None) -> None:
    """End this process with its parent, or when it uses more than *memory_bytes*."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    if memory_bytes is None:
        connection.wait([parent.sentinel])
        os._exit(1)
    import psutil

    process = psutil.Process()
    while not connection.wait([parent.sentinel], MEMORY_CHECK_SECONDS):
        if process.memory_info().rss > memory_bytes:
            os._exit(MEMORY_EXIT_STATUS)
    os._exit(1)


@dataclass
class DaskExecutor:
    """The workers of a Dask scheduler."""

    client: Client

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Answer]]:
        """Yield each task with its row, or with the reason why it was lost, as results
        arrive.
        """
        from distributed import as_completed

        rest = iter(tasks)
        running = self._submit(list(islice(rest, WINDOW)), sources)
        # With ``with_results``, the client fetches the results of many tasks in one
        # message.
        arrivals = as_completed(list(running), with_results=True, raise_errors=False)
        for future, found in arrivals:
            task = running.pop(future)
            # A worker may die once its row is here: the row counts, not the state of
            # the future.
            if isinstance(found, dict):
                yield task, found
            else:
                yield task, _lost_on_cluster(future, task)
            future.release()
            if len(running) <= WINDOW - BATCH:
                more = self._submit(list(islice(rest, BATCH)), sources)
                running |= more
                arrivals.update(list(more))

    def _submit(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> dict[DaskFuture, Task]:
        """Hand *tasks* to the scheduler; return their futures.

        Instances are sent as Dask tasks, so that Dask makes an instance again when the
        worker that has it dies.
        """
        stamp = f"{os.getpid()}-{time.monotonic_ns()}"
        instances: dict[str, DaskFuture] = {}
        for task in tasks:
            if task.source and task.source not in instances:
                instances[task.source] = self.client.submit(
                    _same, sources[task.source], key=f"instance-{task.source}-{stamp}"
                )
        futures = self.client.map(
            perform_within_limit,
            tasks,
            [instances.get(task.source) for task in tasks],
            key=[f"point-{task.key}-{stamp}" for task in tasks],
            batch_size=BATCH,
        )
        return dict(zip(futures, tasks))


def _same(source: Source) -> Source:
    """Return *source*: the Dask task that brings an instance to the workers."""
    return source


def perform_within_limit(task: Task, source: Source | None) -> Row:
    """Run a task on a Dask worker; end the worker when the hard limit is reached.

    Dask cannot stop a running task. When the worker has ended, its nanny starts a new
    one, and Dask runs the task again as often as its scheduler's setting
    ``distributed.scheduler.allowed-failures`` says.
    """
    if task.hard_limit is None:
        return perform(task, source)
    timer = threading.Timer(task.hard_limit, os._exit, (TIME_EXIT_STATUS,))
    timer.daemon = True
    timer.start()
    try:
        return perform(task, source)
    finally:
        timer.cancel()


def _lost_on_cluster(future: DaskFuture, task: Task) -> Lost:
    """Return why a task of the cluster has no row."""
    from distributed.scheduler import KilledWorker

    error = future.exception() if future.status == "error" else None
    if error is not None and not isinstance(error, KilledWorker):
        return Lost(f"it did not come back: {type(error).__name__}: {error}")
    causes = "a crash or too much memory"
    if task.hard_limit is not None:
        causes = f"a crash, too much memory or its hard limit of {task.hard_limit:g} s"
    return Lost(f"its worker died: {causes}")
