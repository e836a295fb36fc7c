"""Dask clusters of worker processes whose sending is held to a rate by a proxy each on loopback.

A worker tells others the address of its proxy. What it sends through it goes by a token bucket, as
through a network card of that rate; what it receives, and messages of the scheduler, do not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from bench.frame import ROOT
from distributed import Client, LocalCluster
from distributed.diagnostics.plugin import SchedulerPlugin

CHUNK = 1 << 16
SETTINGS = {
    # spills by what workers hold; how large Python itself is would only blur it
    "distributed.worker.memory.target": 0.6,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


class Bucket:
    """Lets *rate* bytes a second through, a chunk after the other."""

    def __init__(self, rate: float) -> None:
        self._rate, self._free = rate, 0.0

    async def take(self, size: int) -> None:
        """Wait until *size* bytes may go."""
        loop = asyncio.get_running_loop()
        self._free = max(self._free, loop.time()) + size / self._rate
        await asyncio.sleep(self._free - loop.time())


async def _serve(pairs: list[tuple[socket.socket, int]], rate: float) -> None:
    async def pipe(reader: Any, writer: Any, bucket: Bucket | None) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while data := await reader.read(CHUNK):
                if bucket is not None:
                    await bucket.take(len(data))
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(listening: socket.socket, port: int) -> Any:
        bucket = Bucket(rate)

        async def accept(reader: Any, writer: Any) -> None:
            with contextlib.suppress(OSError):
                back, to = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(pipe(reader, to, None), pipe(back, writer, bucket))

        return await asyncio.start_server(accept, sock=listening)

    servers = [await serve(*pair) for pair in pairs]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _proxy(pairs: list[tuple[socket.socket, int]], rate: float) -> None:
    asyncio.run(_serve(pairs, rate))


class Meter(SchedulerPlugin):
    """The most bytes that one worker, and all together, held when some task ended."""

    name = "meter"

    def __init__(self) -> None:
        self.worst = self.total = 0

    async def start(self, scheduler: Any) -> None:
        """Take note of the scheduler."""
        self._scheduler = scheduler

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        """Look where something has come to be."""
        if finish == "memory":
            held = [ws.nbytes for ws in self._scheduler.workers.values()]
            self.worst, self.total = max(self.worst, *held), max(self.total, sum(held))


@contextlib.contextmanager
def capped(workers: int, rate: float, memory: int) -> Iterator[Client]:
    """A client of a cluster of *workers* processes of a thread that send *rate* bytes a second each."""
    import dask

    settings = SETTINGS | {"distributed.scheduler.bandwidth": rate}
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2 * workers)]
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets[workers:]:
        sock.close()
    proxy = multiprocessing.get_context("fork").Process(
        target=_proxy, args=(list(zip(sockets, ports[workers:])), rate), daemon=True
    )
    proxy.start()
    for sock in sockets[:workers]:
        sock.close()
    started: list[subprocess.Popen[bytes]] = []
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=0, dashboard_address=None, silence_logs=50, processes=True
        ) as cluster,
        Client(cluster, set_as_default=True) as client,
    ):
        environment = os.environ | {
            "DASK_INTERNAL_INHERIT_CONFIG": dask.config.serialize(dask.config.global_config),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "scripts")]),
        }
        for k in range(workers):
            command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address,
                       "--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", str(k),
                       "--memory-limit", str(memory),
                       "--listen-address", f"tcp://127.0.0.1:{ports[workers + k]}",
                       "--contact-address", f"tcp://127.0.0.1:{ports[k]}"]  # fmt: skip
            quiet = subprocess.DEVNULL
            started.append(subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment))
        try:
            client.wait_for_workers(workers, timeout=120)
            yield client
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait()
            proxy.terminate()
            proxy.join()
