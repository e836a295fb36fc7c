"""Dask graphs under ioopt's placement beside Dask's own, on worker processes with capped links.

A worker tells others the address of a proxy on loopback. What it sends goes through that by a token
bucket, as through a network card of that rate; what it receives, and messages of the scheduler, do not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import operator
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from distributed import Client, LocalCluster

from bench.frame import ROOT, shared_data, show
from ioopt import registry
from ioopt.embed.adapters.dask import Homes, placed
from ioopt.problems.replication import ReplicationProblem

CHUNK = 1 << 16
RATE = 25e6
"""Bytes a second that a worker sends."""
TOTAL = 160e6
"""Bytes of all files of a workflow together."""
SECONDS = 2.0
"""A worker's share of all sleeping."""
MEMORY = 100_000_000
"""Bytes a worker may hold; beyond .6 of that Dask spills."""
PAIRS = 3
HEADS = ("graph", "workers", "tasks", "seconds", "MB moved", "sooner, fewer", "ms a task")
SETTINGS = {
    # spills by what workers hold; how large Python itself is would only blur it
    "distributed.worker.memory.target": 0.6,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


Graph = Callable[[Any], object]
"""``run(client)``: compute it."""


def sleeping(seconds: dict[str, float], task: str, writes: dict[str, int], *read: bytes) -> object:
    """A task of a workflow: its time, and files of its sizes."""
    time.sleep(seconds[task])
    return {name: bytes(size) for name, size in writes.items()} if writes else 0


def loading(file: str, size: int) -> bytes:
    """A file of remote storage, at the rate of a link."""
    time.sleep(size / RATE)
    return bytes(size)


def task_graph(problem: ReplicationProblem, work: Any, scale: float) -> dict[Any, Any]:
    """The graph; its ``("ends", task)`` are small. A task's key begins with its id without digits.

    So Dask tells kinds of tasks apart, whose bytes and seconds it averages.
    """
    sizes = {file.id: round(file.bytes * scale) for file in problem.files}
    read = {name for task in problem.tasks for name in task.inputs}
    made = {name for task in problem.tasks for name in task.outputs}
    graph: dict[Any, Any] = {("load", name): (loading, name, sizes[name]) for name in read - made}
    for task in problem.tasks:
        key = re.sub(r"[\d-]+", "", task.id) or "task", task.id
        kinds = (("part" if name in made else "load", name) for name in task.inputs)
        graph[key] = (work, task.id, {name: sizes[name] for name in task.outputs}, *kinds)
        graph |= {("part", name): (operator.getitem, key, name) for name in task.outputs}
        graph["ends", task.id] = (bool, key)
    return graph


def sent_bytes(client: Any) -> int:
    """What all workers of the cluster have sent so far."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def _workflow(problem: ReplicationProblem, workers: int, client: Any) -> None:
    scale = TOTAL / sum(file.bytes for file in problem.files)
    share = SECONDS * workers / sum(task.compute_seconds for task in problem.tasks)
    work = partial(sleeping, {task.id: task.compute_seconds * share for task in problem.tasks})
    client.get(task_graph(problem, work, scale), [("ends", t.id) for t in problem.tasks])


def _slow(seconds: float, block: Any) -> Any:
    time.sleep(seconds)
    return block + 1.0


def _collections(
    blocks: int, side: int, delay: float, made: Callable[[Any], Any], client: Any
) -> None:
    """What is *made* of a square of arrays, each of which takes *delay* seconds."""
    import dask.array as da

    zeros = da.zeros((blocks * side, blocks * side), chunks=(side, side))
    client.compute(made(zeros.map_blocks(partial(_slow, delay), dtype=float)).sum()).result()


def _shuffle(client: Any) -> None:
    import dask.dataframe as dd
    import pandas

    frames = dd.from_map(_frame, list(range(16)), meta=pandas.DataFrame({"a": [0], "b": [0.0]}))
    moved = frames.shuffle(on="a", shuffle_method="tasks")
    client.compute(moved.map_partitions(_groups, meta=("b", "f8")).sum()).result()


def _frame(number: int) -> Any:
    import numpy
    import pandas

    rows = numpy.arange(250_000)
    return _slow(0.1, pandas.DataFrame({"a": (rows * 7 + number) % 997, "b": rows * 1.0}))


def _groups(frame: Any) -> Any:
    return _slow(0.1, frame.groupby("a").b.sum())


def graphs(workers: int, quick: bool) -> Iterator[tuple[str, Graph]]:
    """Nine graphs, those of recorded runs only where the shared data is."""
    from ioopt.formats.wfformat.instance import read_wfformat

    kind = registry.KINDS["replication"]
    for preset, own in (("montage-like", {"images": 10}), ("in-tree", {}), ("fork-join", {})):
        made = registry.generate(kind, preset, {"nodes": workers, "cores": 1, **own}, 1)
        yield preset, partial(_workflow, made, workers)
    for stem in () if quick else ("methylseq-dirt02-001", "viralrecon-dirt02-001"):
        path = shared_data("workflows") / f"{stem}.json"
        if path.exists():
            yield stem, partial(_workflow, read_wfformat(str(path)), workers)
    last = partial(_slow, 0.05)
    yield "x + x.T", partial(_collections, 8, 500, 0.05, lambda x: (x + x.T).map_blocks(last))
    yield "x @ x.T", partial(_collections, 5, 600, 0.1, lambda x: x @ x.T)
    yield "rechunk", partial(_collections, 6, 600, 0.1,
                             lambda x: x.rechunk((600, -1)).map_blocks(last).rechunk((-1, 600)))  # fmt: skip
    yield "dataframe shuffle", _shuffle


class Bucket:
    """Lets RATE bytes a second through, a chunk after the other."""

    def __init__(self) -> None:
        self._free = 0.0

    async def take(self, size: int) -> None:
        """Wait until *size* bytes may go."""
        loop = asyncio.get_running_loop()
        self._free = max(self._free, loop.time()) + size / RATE
        await asyncio.sleep(self._free - loop.time())


async def _serve(pairs: list[tuple[socket.socket, int]]) -> None:
    async def pipe(reader: Any, writer: Any, bucket: Bucket | None) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while data := await reader.read(CHUNK):
                if bucket is not None:
                    await bucket.take(len(data))
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(listening: socket.socket, port: int) -> Any:
        bucket = Bucket()

        async def accept(reader: Any, writer: Any) -> None:
            with contextlib.suppress(OSError):
                back, to = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(pipe(reader, to, None), pipe(back, writer, bucket))

        return await asyncio.start_server(accept, sock=listening)

    servers = [await serve(*pair) for pair in pairs]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _proxy(pairs: list[tuple[socket.socket, int]]) -> None:
    asyncio.run(_serve(pairs))


@contextlib.contextmanager
def capped(workers: int) -> Iterator[Client]:
    """A client of a cluster of *workers* processes of a thread that send RATE bytes a second each."""
    import dask

    settings = SETTINGS | {"distributed.scheduler.bandwidth": RATE}
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2 * workers)]
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets[workers:]:
        sock.close()
    proxy = multiprocessing.get_context("fork").Process(
        target=_proxy, args=(list(zip(sockets, ports[workers:])),), daemon=True
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
                       "--memory-limit", str(MEMORY),
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


class Run(NamedTuple):
    """What one run took: seconds, megabytes that workers sent, and the decisions of ioopt."""

    seconds: float
    moved: float
    decisions: int
    overhead_ms: float


def main(quick: bool) -> None:
    """Every graph on 4 and on 8 workers, and three counts; quick: some of them on 4, once."""
    rows, found = [], []
    for workers in (4,) if quick else (4, 8):
        for name, runs in measured(workers, quick):
            own, ours = (
                Run(*(statistics.median(column) for column in zip(*(pair[k] for pair in runs))))
                for k in (0, 1)
            )
            found.append((own, ours))
            wins = (sum(b[k] < a[k] for a, b in runs) for k in (0, 1))
            rows.append((
                name, workers, ours.decisions, f"{own.seconds:.3g} / {ours.seconds:.3g}",
                f"{own.moved:.3g} / {ours.moved:.3g}",
                ", ".join(f"{count}/{len(runs)}" for count in wins), ours.overhead_ms,
            ))  # fmt: skip
    show("On Dask, each worker sends 25 MB/s: Dask itself / ioopt, medians of pairs", HEADS, rows)
    fewer = sum(ours.moved < own.moved for own, ours in found)
    faster = sum(ours.seconds < own.seconds for own, ours in found)
    slowest = max(ours.overhead_ms for _, ours in found)
    print(
        f"fewer bytes in {fewer}, sooner in {faster} of {len(found)}; at most {slowest:.2f} ms a task"
    )


def measured(workers: int, quick: bool) -> Iterator[tuple[str, list[tuple[Run, Run]]]]:
    """Every graph on one cluster: pairs of a run as Dask and one as ioopt places it.

    A first run is not counted. Dask's estimates of earlier runs stay for both; who comes first alternates.
    """
    with capped(workers) as client:
        for name, graph in graphs(workers, quick):
            _measured(client, graph, False)
            pairs = []
            for number in range(1 if quick else PAIRS):
                order = (False, True) if number % 2 else (True, False)
                found = {ours: _measured(client, graph, ours) for ours in order}
                pairs.append((found[False], found[True]))
            yield name, pairs


def _measured(client: Any, graph: Graph, ours: bool) -> Run:
    before, begun = sent_bytes(client), time.perf_counter()
    with placed(client, Homes if ours else None) as report:
        graph(client)
    seconds, count = time.perf_counter() - begun, report.decisions
    return Run(
        seconds, (sent_bytes(client) - before) / 1e6, count, 1e3 * report.seconds / max(1, count)
    )
