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
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import connection
from typing import cast

from ioopt.campaign.grid import Source
from ioopt.campaign.store import packed
from ioopt.campaign.work import Row, Task, perform
from ioopt.errors import missing

Packed = tuple[Row, bytes | None]
"""A row, and the whole result where that is kept, as the store has it."""

MEMORY_SECONDS = 0.1
"""How often the memory of busy workers is looked at, where it is limited."""


class Pool:
    """At most *workers* processes, started as they are needed. Use as a context manager.

    One that uses more than *memory_bytes* is ended, as if it had died by itself; raises
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

    def start(self, most: int) -> None:
        """Have *most* workers, no more than the pool may have."""
        while len(self._workers) < min(most, self._count):
            self._workers.append(_Worker())

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Packed | None]]:
        """Every task with what came of it, None when its worker died, in the order of the answers."""
        pending = deque(
            sorted(tasks, key=lambda task: task.source)
        )  # whoever has one goes on with it
        busy: dict[Future[Packed], tuple[_Worker, Task]] = {}

        def deal() -> None:
            self.start(len(pending) + len(busy))
            for worker in {*self._workers} - {worker for worker, _ in busy.values()}:
                if pending:
                    task = pending.popleft()
                    busy[worker.give(task, sources)] = worker, task

        deal()
        while busy:
            heard = [(future, *busy.pop(future)) for future in self._done(busy)]
            for future, worker, _ in heard:
                if future.exception() is not None:
                    self._workers.remove(worker)
                    worker.end()
            deal()  # nobody waits while the rows are written
            for future, _, task in heard:
                yield task, None if future.exception() is not None else future.result()

    def _done(
        self, busy: Mapping[Future[Packed], tuple[_Worker, Task]]
    ) -> Collection[Future[Packed]]:
        """Some that have answered or died; waits for one."""
        if self._memory_bytes is None:
            return wait(busy, return_when=FIRST_COMPLETED).done
        while not (done := wait(busy, MEMORY_SECONDS, FIRST_COMPLETED).done):
            for worker, _ in busy.values():
                if worker.memory_bytes() > self._memory_bytes:
                    worker.kill()
        return done


class _Worker:
    """One process, and the instance that it has."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "ioopt.solving"])
        self._executor = ProcessPoolExecutor(1, context, _begin, (dict(os.environ),))
        self._pid = self._executor.submit(os.getpid)
        self._source: str | None = None

    def give(self, task: Task, sources: Mapping[str, Source]) -> Future[Packed]:
        """Hand over a task, with its instance unless the one before was of the same."""
        source = sources[task.source] if task.source and task.source != self._source else None
        self._source = task.source or self._source
        try:
            return self._executor.submit(_serve, task, source)
        except BrokenExecutor as error:  # it died while it was idle
            broken: Future[Packed] = Future()
            broken.set_exception(error)
            return broken

    def memory_bytes(self) -> int:
        """Memory that its process has in use."""
        import psutil

        try:
            return cast(int, psutil.Process(self._pid.result()).memory_info().rss)
        except (psutil.Error, BrokenExecutor):
            return 0

    def kill(self) -> None:
        """End the process, whatever it does."""
        with suppress(BrokenExecutor, ProcessLookupError):
            os.kill(self._pid.result(), signal.SIGKILL)

    def end(self) -> None:
        """End the process, and what watches it."""
        self.kill()
        self._executor.shutdown(cancel_futures=True)


def _begin(environment: dict[str, str]) -> None:
    """In a new process: its parent's environment, what it leaves to that, and that it ends with it."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for library in ("OMP", "OPENBLAS", "MKL"):  # workers share the cores already
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 100)  # as the command line does, and for its reason
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(0)


_instance: list[Source] = []
"""The instance that this process was given last."""


def _serve(task: Task, given: Source | None) -> Packed:
    """One task in, its row out."""
    if given is not None:
        _instance[:] = [given]
    row, document = perform(task, _instance[0] if task.source else None)
    return row, None if document is None else packed(document)
