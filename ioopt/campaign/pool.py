"""Worker processes of this machine: an executor of one process each, so that a death costs one task.

Processes are forked from a server that has imported what they need, and end with the process that
asked for them, even in the middle of a task.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import connection

from ioopt.campaign.grid import Source
from ioopt.campaign.work import Row, Task, perform
from ioopt.errors import missing

MEMORY_SECONDS = 0.1
"""How often a worker looks at the memory it uses, where that is limited."""


class Pool:
    """At most *workers* processes, started as they are needed. Use as a context manager.

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

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Row | None]]:
        """Every task with what came of it, None when its worker died, in the order of the answers."""
        # by instance, since a worker keeps the one that it read last
        pending = deque(sorted(tasks, key=lambda task: task.source))
        busy: dict[Future[Row], tuple[_Worker, Task]] = {}

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

    def give(self, task: Task, source: Source | None) -> Future[Row]:
        """Hand over a task, with its instance."""
        try:
            return self._executor.submit(perform, task, source)
        except BrokenExecutor as error:  # it died while it was idle
            broken: Future[Row] = Future()
            broken.set_exception(error)
            return broken

    def end(self) -> None:
        """End the process, whatever it does."""
        with suppress(BrokenExecutor, ProcessLookupError):
            os.kill(self.pid.result(), signal.SIGKILL)
        self._executor.shutdown(cancel_futures=True)


def _begin(environment: dict[str, str], memory_bytes: int | None) -> None:
    """In a new process: its parent's environment, what it leaves to that, and when it ends."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: the parent decides
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
