"""Worker processes of this machine: each has a pipe of its own and runs one task at a time.

A worker that dies takes only its own task with it and is replaced. Workers are forked once everything
is imported where that is safe (Linux, no other thread), else started anew. They end with the process
that started them, even in the middle of a task, because a thread of theirs sees its pipe end.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, NoReturn, cast

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
        self._workers: dict[Connection, _Worker] = {}
        if memory_bytes is not None:
            try:
                import psutil  # noqa: F401  # before anything is begun
            except ImportError:
                raise missing("psutil", "memory_limit") from None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self._workers.values():
            worker.end()
        self._workers.clear()

    def start(self, most: int) -> None:
        """Have *most* workers, no more than the pool may have."""
        while len(self._workers) < min(most, self._count):
            worker = _Worker([*self._workers])
            self._workers[worker.pipe] = worker

    def answers(
        self, tasks: Sequence[Task], sources: Mapping[str, Source]
    ) -> Iterator[tuple[Task, Packed | None]]:
        """Every task with what came of it, None when its worker died, in the order of the answers."""
        pending, left = _Pending(tasks), len(tasks)
        while left:
            self.start(left)
            self._deal(pending, sources)
            heard = [(self._workers[pipe], *self._workers[pipe].answer()) for pipe in self._heard()]
            for worker, _, answer in heard:
                if answer is None:
                    self._workers.pop(worker.pipe).end()
            self._deal(pending, sources)  # nobody waits while the rows are written
            for _, task, answer in heard:
                if task is not None:
                    left -= 1
                    yield task, answer

    def _deal(self, pending: _Pending, sources: Mapping[str, Source]) -> None:
        """Give every idle worker its next task, with the instance unless it has that."""
        for worker in self._workers.values():
            if worker.task is None:
                taken = {each.source for each in self._workers.values()}
                worker.give(pending.take(worker.source, taken), sources)

    def _heard(self) -> list[Connection]:
        """The pipes of workers that have answered or died; waits for one."""
        if self._memory_bytes is None:
            return cast(list[Connection], wait(self._workers))
        while not (heard := wait(self._workers, MEMORY_SECONDS)):
            for worker in self._workers.values():
                if worker.task is not None and worker.memory_bytes() > self._memory_bytes:
                    worker.process.kill()
        return cast(list[Connection], heard)


class _Pending:
    """Tasks not begun, by instance: whoever has read one goes on with it."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._of: dict[str, deque[Task]] = {}
        for task in tasks:
            self._of.setdefault(task.source, deque()).append(task)

    def take(self, last: str | None, taken: set[str | None]) -> Task | None:
        """The next for a worker whose last instance was *last*, while others have *taken*."""
        if not self._of:
            return None
        if last is not None and last in self._of:
            name = last
        else:
            free = (each for each in self._of if each not in taken)
            name = next(free, "") or max(self._of, key=lambda each: len(self._of[each]))
        task = self._of[name].popleft()
        if not self._of[name]:
            del self._of[name]
        return task


class _Worker:
    """The parent's end of a worker: its process, its task (None: idle), and the instance it has."""

    def __init__(self, others: list[Connection]) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        # Threads do not come along in a fork, and the locks that they hold would stay locked.
        alone = sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1
        context: Any = multiprocessing.get_context("fork" if alone else "spawn")
        inherited = [*others, self.pipe] if alone else []
        self.process = context.Process(target=serve, args=(theirs, inherited))
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.source: str | None = None

    def give(self, task: Task | None, sources: Mapping[str, Source]) -> None:
        """Hand over a task, with its instance unless the one before was of the same."""
        if task is None:
            return
        source = sources[task.source] if task.source and task.source != self.source else None
        self.task, self.source = task, task.source
        with suppress(OSError):  # it has died, which its pipe will say
            self.pipe.send((task, source))

    def answer(self) -> tuple[Task | None, Packed | None]:
        """The task that it had, and what came of it: None when it has died."""
        task, self.task = self.task, None
        try:
            return task, self.pipe.recv()
        except (EOFError, OSError):
            return task, None

    def memory_bytes(self) -> int:
        """Memory that its process has in use."""
        import psutil

        try:
            used: int = psutil.Process(self.process.pid).memory_info().rss
        except psutil.Error:
            return 0
        return used

    def end(self) -> None:
        """End the process, whatever it does."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


def serve(pipe: Connection, inherited: list[Connection]) -> NoReturn:
    """The process of a worker: a task and its instance in, a row out, until the pipe ends.

    *inherited* are the parent's ends of pipes, which would not end while this process has them too.
    """
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for library in ("OMP", "OPENBLAS", "MKL"):  # workers share the cores already
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    gc.set_threshold(200_000, 20, 100)  # as the command line does, and for its reason
    tasks: SimpleQueue[tuple[Task, Source | None]] = SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, tasks), daemon=True).start()
    source: Source | None = None
    while True:
        task, given = tasks.get()
        source = given or source
        row, document = perform(task, source if task.source else None)
        pipe.send((row, None if document is None else packed(document)))


def _listen(pipe: Connection, tasks: SimpleQueue[Any]) -> None:
    """Pass on what arrives; end the process with the pipe, though it computes."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put(pipe.recv())
    os._exit(0)
