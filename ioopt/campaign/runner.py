"""Running a grid on dask.distributed: a local cluster or a given scheduler, one code path.

Only the client writes to the store, one row a point in one transaction, so a killed client loses
at most points that had not come back. A worker that dies takes its point with it: dask runs the
point again elsewhere; one that keeps killing its workers is tried alone at the end, and when it
kills again it is recorded as failed with the reason, and the rest is not held up.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ioopt.campaign.grid import Grid, Source
from ioopt.campaign.store import FAILED, Store
from ioopt.campaign.work import Experiment, Row, Task, failed_row, perform
from ioopt.errors import BackendMissingError, UsageError

if TYPE_CHECKING:
    from distributed import Client, Future, Worker, WorkerPlugin
    from distributed.security import Security

WORKER_DEATHS = 1
"""How often dask itself runs a point again after its worker died."""
WINDOW, BATCH = 5000, 1000
"""Most points that are with the scheduler at once, and how many are handed over together."""
LOOPBACK = "127.0.0.1"
ALONE_TRIES = 2
"""How often a point that seems to kill its workers is tried with nothing beside it."""


@dataclass(frozen=True)
class Progress:
    """What a progress bar shows: points done in this run, of how many, how many failed."""

    done: int = 0
    total: int = 0
    failed: int = 0


Listener = Callable[[Progress], None]


@contextmanager
def cluster_client(
    workers: int, scheduler: str | None, memory_limit: str | None
) -> Iterator[Client]:
    """A dask client: of a scheduler at *scheduler*, or of a cluster of *workers* processes here."""
    import dask
    from distributed import Client, LocalCluster

    quiet = {
        "distributed.scheduler.allowed-failures": WORKER_DEATHS,
        "distributed.comm.timeouts.connect": "30s",
        "distributed.admin.tick.limit": "1h",
        # A worker that dies again while a local cluster looks after its last death would be given
        # up for good, and a sweep with many deaths would end up waiting for workers it has not.
        "distributed.deploy.lost-worker-timeout": "365 days",
        "logging.distributed": "critical",
        # Every node of dask has an HTTP server; ours answers nothing.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
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
        with tempfile.TemporaryDirectory(prefix="ioopt-sweep-") as folder:
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, memory_limit=memory_limit or "auto",
                silence_logs=50, local_directory=folder, host=LOOPBACK, protocol="tls://",
                security=private_security(), dashboard_address=f"{LOOPBACK}:0",
                scheduler_kwargs={"dashboard": False},
            )  # fmt: skip
            with cluster, Client(cluster, set_as_default=False) as client:
                client.register_plugin(_without_interrupts())
                yield client


def private_security() -> Security:
    """TLS with a key made for this run and kept in memory: whoever lacks it cannot connect.

    A scheduler runs whatever code it is sent, so a port of this machine alone would let each of
    its users run code as this one. Raises BackendMissingError when nothing here makes keys.
    """
    from distributed.security import Security

    try:
        return Security.temporary()
    except ImportError:
        made = _self_signed()
    roles = {
        f"tls_{role}_{part}": pem
        for role in ("client", "scheduler", "worker")
        for part, pem in zip(("key", "cert"), made)
    }
    return Security(require_encryption=True, tls_ca_file=made[1], **roles)


def _self_signed() -> tuple[str, str]:
    """A new key and its certificate as PEM text, from the ``openssl`` program."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj /CN=ioopt -keyout - -out -"
    try:
        text = subprocess.run(command.split(), capture_output=True, check=True, text=True).stdout
        begin = text.index("-----BEGIN CERTIFICATE-----")
    except (OSError, subprocess.CalledProcessError, ValueError):
        raise BackendMissingError(
            "sweeps on this machine need keys for TLS: python -m pip install cryptography, "
            "or put openssl on the PATH"
        ) from None
    return text[:begin], text[begin:]


def _without_interrupts() -> WorkerPlugin:
    """A plugin by which local workers ignore Ctrl-C, which a terminal sends to all processes.

    The client receives it and ends them.
    """
    import signal

    from distributed import WorkerPlugin

    class WithoutInterrupts(WorkerPlugin):
        def setup(self, worker: Worker) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return WithoutInterrupts()


def run_grid(
    grid: Grid,
    store: Store,
    client: Client,
    *,
    skip: set[str] | None = None,
    listener: Listener | None = None,
) -> Progress:
    """Run every point of *grid* whose key is not in *skip*; write each as it comes back."""
    todo = [point for point in grid.points if point.key not in (skip or set())]
    return _Run(grid.sources, store, client, listener).all(todo)


def run_experiments(
    experiments: Sequence[Experiment],
    store: Store,
    client: Client,
    listener: Listener | None = None,
) -> Progress:
    """Run every experiment; write each as it comes back."""
    return _Run({}, store, client, listener).all(experiments)


@dataclass
class _Run:
    sources: Mapping[str, Source]
    store: Store
    client: Client
    listener: Listener | None
    now: Progress = Progress()

    def all(self, tasks: Sequence[Task]) -> Progress:
        """Run all together, then alone those that did not come back."""
        self.now = Progress(total=len(tasks))
        with self.client.as_current():
            for task in self.together(tasks):
                self.alone(task)
        return self.now

    def together(self, tasks: Sequence[Task]) -> list[Task]:
        """Run all; return those that did not come back (:func:`perform` itself never raises)."""
        from distributed import as_completed

        rest = iter(tasks)
        futures = self._submit(list(islice(rest, WINDOW)))
        suspects = []
        # With results, the client fetches those of many points in one message.
        arrivals = as_completed(list(futures), with_results=True, raise_errors=False)
        for future, answer in arrivals:
            task = futures.pop(future)
            # A worker may die once its answer is here: the answer counts, not the future's state.
            if isinstance(answer, tuple) and isinstance(answer[0], dict):
                self._write(*answer)
            else:
                suspects.append(task)
            future.release()
            if len(futures) <= WINDOW - BATCH:
                more = self._submit(list(islice(rest, BATCH)))
                futures |= more
                arrivals.update(list(more))
        return suspects

    def alone(self, task: Task) -> None:
        """Try a task with nothing beside it; when it still does not come back, record why."""
        from distributed import wait
        from distributed.scheduler import KilledWorker

        error: BaseException | None = None
        for _ in range(ALONE_TRIES):
            (future,) = self._submit([task])
            wait(future)
            if future.status == "finished":
                self._write(*future.result())
                return
            error = future.exception() if future.status == "error" else None
        reason = f"it did not come back: {type(error).__name__}: {error}"
        if error is None or isinstance(error, KilledWorker):
            limit = f" or its hard limit of {task.hard_limit:g} s" if task.hard_limit else ""
            reason = f"its worker died every time: a crash, too much memory{limit}"
        self._write(failed_row(task, self.sources.get(task.source), reason), None)

    def _submit(self, tasks: Sequence[Task]) -> dict[Future, Task]:
        """Futures of *tasks*; instances travel as dask tasks, so that a dead worker's copy is made
        again."""
        stamp = f"{os.getpid()}-{time.monotonic_ns()}"
        carriers = {
            name: self.client.submit(_same, self.sources[name], key=f"instance-{name}-{stamp}")
            for name in {task.source for task in tasks if task.source}
        }
        carried = [carriers.get(task.source) for task in tasks]
        futures = self.client.map(
            perform, tasks, carried, key=[f"point-{task.key}-{stamp}" for task in tasks],
            batch_size=BATCH,
        )  # fmt: skip
        return dict(zip(futures, tasks))

    def _write(self, row: Row, document: dict[str, Any] | None) -> None:
        """Store one point and tell the listener."""
        self.store.put(row, document)
        failed = self.now.failed + (row["status"] == FAILED)
        self.now = Progress(self.now.done + 1, self.now.total, failed)
        if self.listener is not None:
            self.listener(self.now)


def _same(source: Source) -> Source:
    return source
