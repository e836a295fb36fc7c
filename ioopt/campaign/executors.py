"""Executors, which run the tasks of a sweep on this machine or on a cluster.

An executor has one method, ``answers``. :class:`LocalExecutor` runs tasks in processes
of this machine, supervised by the package pebble; :class:`DaskExecutor` runs them on
the workers of a Dask scheduler. For a task that ends its worker, the answer is a
:class:`Lost` with the reason; other tasks are not affected.
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
"""The largest number of tasks that are with the Dask scheduler at the same time."""
BATCH = 1000
"""The number of tasks that are handed to the Dask scheduler in one call."""

MEMORY_CHECK_SECONDS = 0.1
"""Seconds between two measurements of the memory of a worker that has a memory
limit.
"""
MEMORY_EXIT_STATUS = 76
"""Exit status of a worker process that used more than its memory limit."""
TIME_EXIT_STATUS = 75
"""Exit status of a Dask worker that ends a task at its hard limit."""


@dataclass(frozen=True)
class Lost:
    """The answer for a task that ended its worker.

    ``process_died`` is False when the executor itself ended the worker at the hard
    limit of the task; another run of the task would end in the same way.
    """

    reason: str
    process_died: bool = True


Answer = Row | Lost


class Executor(Protocol):
    """An object that runs the tasks of a sweep."""

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Answer]]:
        """Yield each task with its row, or with the reason why it was lost, as results
        arrive.

        *sources* has the instances of the tasks, keyed by the digest that a task names.
        """


@contextmanager
def open_executor(
    workers: int, scheduler: str | None = None, memory_limit: str | None = None
) -> Iterator[Executor]:
    """Provide an executor: the Dask scheduler at the address *scheduler*, or, if that
    is None, *workers* processes of this machine.

    *memory_limit* (such as ``"4GB"``) applies to each process of this machine; the
    workers of a cluster have their own limits. Raises UsageError when the scheduler
    cannot be reached, and BackendMissingError when a package is missing.
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
    """Executor with at most *workers* processes of this machine, which start with the
    first task.

    Each process has a pebble pool of its own. The processes of one pool would share a
    pipe and its lock, and a process that is killed while it holds the lock would stop
    the others.
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
        """End all processes, even while they run tasks."""
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
        """Return the row of a finished task, or the reason why it has none."""
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
        """Return a pool of one process; the process starts with the first task of the
        pool.
        """
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
    """Hand a task to the process of *pool*, with its instance and its hard limit;
    return its future.
    """
    try:
        return pool.schedule(perform, args=(task, source), timeout=task.hard_limit)
    except RuntimeError as error:  # the process died while it was idle
        failed: Future[Row] = Future()
        failed.set_exception(error)
        return failed


def _exit_in_words(status: int) -> str:
    """Return text that says how a process ended; *status* is the exit status that
    Python reports.
    """
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

    The worker takes over the environment of its parent, which the fork server may not
    have. It ignores Ctrl-C, because a terminal sends Ctrl-C to all processes and the
    parent decides what to do. It ends when its parent ends, or when it uses more than
    *memory_bytes*.
    """
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for library in ("OMP", "OPENBLAS", "MKL"):  # the workers already use all cores
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 100)  # see ioopt.cli.main for the reason
    threading.Thread(target=_watch, args=(memory_bytes,), daemon=True).start()


def _watch(memory_bytes: int | None) -> None:
    """End this process when its parent ends, or when it uses more than
    *memory_bytes*.
    """
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
    """Executor that runs tasks on the workers of a Dask scheduler."""

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
        """Hand *tasks* to the scheduler; return the future of each task.

        An instance is sent as the result of a Dask task, so that Dask sends it again
        when the worker that has it dies.
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
    """Return *source*; run as a Dask task, this function brings an instance to the
    workers.
    """
    return source


def perform_within_limit(task: Task, source: Source | None) -> Row:
    """Run a task on a Dask worker; end the worker when the hard limit is reached.

    Dask cannot stop a running task. When the worker has ended, the Dask process that
    supervises it starts a new worker, and Dask runs the task again as often as the
    setting ``distributed.scheduler.allowed-failures`` of its scheduler says.
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
    """Return the reason why a task on the cluster has no row."""
    from distributed.scheduler import KilledWorker

    error = future.exception() if future.status == "error" else None
    if error is not None and not isinstance(error, KilledWorker):
        return Lost(f"no row arrived: {type(error).__name__}: {error}")
    causes = "a crash or too much memory"
    if task.hard_limit is not None:
        causes = f"a crash, too much memory or its hard limit of {task.hard_limit:g} s"
    return Lost(f"its worker died: {causes}")
