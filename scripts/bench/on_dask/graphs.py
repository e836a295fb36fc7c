"""Dask graphs under ioopt's placement and under Dask's own, on worker processes with capped links."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from bench.frame import shared_data
from bench.on_dask.cluster import Meter, capped

from ioopt import registry
from ioopt.embed.adapters.dask import Homes, placed
from ioopt.embed.adapters.dask_plan import sent_bytes, task_graph
from ioopt.problems.replication import ReplicationProblem

RATE = 25e6
"""Bytes a second that a worker sends."""
TOTAL = 160e6
"""Bytes of all files of a workflow together."""
SECONDS = 2.0
"""A worker's share of all sleeping."""
MEMORY = 100_000_000
"""Bytes a worker may hold; beyond .6 of that Dask spills."""
REPEATS = 2
Graph = Callable[[Any], Any]
"""``run(client)``: compute it."""
HEADS = ("graph", "workers", "tasks", "seconds", "MB moved", "peak MB, a worker", "peak MB, all",
         "MB spilled", "ms a task")  # fmt: skip


def sleeping(seconds: dict[str, float], task: str, writes: dict[str, int], *read: bytes) -> Any:
    """A task of a workflow: its time, and files of its sizes."""
    time.sleep(seconds[task])
    return {name: bytes(size) for name, size in writes.items()} if writes else 0


def loading(file: str, size: int) -> bytes:
    """A file of remote storage, at the rate of a link."""
    time.sleep(size / RATE)
    return bytes(size)


def _workflow(problem: ReplicationProblem, workers: int) -> Graph:
    scale = TOTAL / sum(file.bytes for file in problem.files)
    share = SECONDS * workers / sum(task.compute_seconds for task in problem.tasks)
    seconds = {task.id: task.compute_seconds * share for task in problem.tasks}

    def run(client: Any) -> None:
        work = partial(sleeping, seconds)
        graph = task_graph(problem, loading, work, scale)
        client.get(graph, [("ends", task.id) for task in problem.tasks])

    return run


def _block(seconds: float, size: int, number: int) -> Any:
    import numpy

    time.sleep(seconds)
    return numpy.full(size // 8, float(number))


def _add(seconds: float, *parts: Any) -> Any:
    time.sleep(seconds)
    return sum(parts)


def _tree(client: Any) -> None:
    """A binary sum of 32 arrays of 4 MB."""
    row = [f"leaf-{k}" for k in range(32)]
    graph: dict[str, Any] = {key: (_block, 0.1, 4_000_000, k) for k, key in enumerate(row)}
    level = 0
    while len(row) > 1:
        level += 1
        pairs = [row[k : k + 2] for k in range(0, len(row), 2)]
        row = [f"sum-{level}.{k}" for k in range(len(pairs))]
        graph |= {key: (_add, 0.05, *pair) for key, pair in zip(row, pairs)}
    graph["end"] = (len, row[0])
    client.get(graph, "end")


def _array(blocks: int, side: int, delay: float) -> Any:
    import dask.array as da

    chunk = (side, side)
    x = da.zeros((blocks * side, blocks * side), chunks=chunk)
    return x.map_blocks(partial(_slow, delay), dtype=float)


def _slow(seconds: float, block: Any) -> Any:
    time.sleep(seconds)
    return block + 1.0


def _transpose(client: Any) -> None:
    x = _array(8, 500, 0.05)
    client.compute((x + x.T).map_blocks(partial(_slow, 0.05)).sum()).result()


def _product(client: Any) -> None:
    x = _array(5, 600, 0.1)
    client.compute((x @ x.T).sum()).result()


def _rechunk(client: Any) -> None:
    x = _array(6, 600, 0.1)
    rows = x.rechunk((600, -1)).map_blocks(partial(_slow, 0.2))
    client.compute(rows.rechunk((-1, 600)).sum(), optimize_graph=True).result()


def _shuffle(client: Any) -> None:
    import dask.dataframe as dd
    import pandas

    frames = dd.from_map(_frame, list(range(16)), meta=pandas.DataFrame({"a": [0], "b": [0.0]}))
    moved = frames.shuffle(on="a", shuffle_method="tasks")
    client.compute(moved.map_partitions(_groups, meta=("b", "f8")).sum()).result()


def _frame(number: int) -> Any:
    import numpy
    import pandas

    time.sleep(0.1)
    rows = numpy.arange(250_000)
    return pandas.DataFrame({"a": (rows * 7 + number) % 997, "b": rows * 1.0})


def _groups(frame: Any) -> Any:
    time.sleep(0.1)
    return frame.groupby("a").b.sum()


def graphs(workers: int, quick: bool) -> Iterator[tuple[str, Graph]]:
    """Ten graphs, those of recorded runs only where the shared data is."""
    from ioopt.formats.wfformat.instance import read_wfformat

    kind = registry.KINDS["replication"]
    for preset, own in (("montage-like", {"images": 10}), ("in-tree", {}), ("fork-join", {})):
        made = {"nodes": workers, "cores": 1, **own}
        yield preset, _workflow(registry.generate(kind, preset, made, 1), workers)
    for stem in () if quick else ("methylseq-dirt02-001", "viralrecon-dirt02-001"):
        path = shared_data("workflows") / f"{stem}.json"
        if path.exists():
            made = read_wfformat(path)
            yield stem, _workflow(made, workers)
    yield "tree of arrays", _tree
    yield "x + x.T", _transpose
    yield "x @ x.T", _product
    yield "rechunk", _rechunk
    yield "dataframe shuffle", _shuffle


class Row(NamedTuple):
    """A row of the table; pairs are Dask's own figure and ours, each the least of the repeats."""

    graph: str
    workers: int
    tasks: int
    seconds: Pair
    bytes: Pair
    peak: Pair
    peak_all: Pair
    spilled: Pair
    overhead_ms: float


class Pair(tuple[float, float]):
    """Two figures, shown beside each other."""

    def __str__(self) -> str:
        return f"{self[0]:.3g} / {self[1]:.3g}"


def rows(workers: int, quick: bool) -> Iterator[Row]:
    """Every graph on one cluster, in turn as Dask and as ioopt place it.

    Dask's estimates of earlier runs stay for both. Who comes first alternates.
    """
    with capped(workers, RATE, MEMORY) as client:
        client.register_plugin(Meter())
        for name, run in graphs(workers, quick):
            found: dict[bool, list[tuple[float, ...]]] = {False: [], True: []}
            for ours in (False, True, True, False)[: 2 * REPEATS]:
                found[ours].append(_measured(client, run, ours))
            best = [[min(column) for column in zip(*found[ours])] for ours in (False, True)]
            seconds, moved, peak, total, spilled = (Pair(pair) for pair in list(zip(*best))[:5])
            yield Row(
                name, workers, int(best[1][5]), seconds, moved, peak, total, spilled, best[1][6]
            )


def _measured(client: Any, run: Graph, ours: bool) -> tuple[float, ...]:
    """Seconds, MB moved, peak MB of a worker and of all, MB spilled, decisions, ms a decision."""
    client.run_on_scheduler(_peaks)
    before, spilled = sent_bytes(client), sum(client.run(_spilled).values())
    begun = time.perf_counter()
    with placed(client, Homes if ours else None) as report:
        run(client)
    seconds = time.perf_counter() - begun
    moved = sent_bytes(client) - before
    spilled = sum(client.run(_spilled).values()) - spilled
    peaks = client.run_on_scheduler(_peaks)
    number = max(1, report.decisions)
    return (
        seconds,
        *(x / 1e6 for x in (moved, *peaks, spilled)),
        number,
        1e3 * report.seconds / number,
    )


def _peaks(dask_scheduler: Any) -> tuple[int, int]:
    meter = dask_scheduler.plugins[Meter.name]
    found = meter.worst, meter.total
    meter.worst = meter.total = 0
    return found


def _spilled(dask_worker: Any) -> float:
    metrics = getattr(dask_worker.data, "cumulative_metrics", {})
    return sum(value for key, value in metrics.items() if key == ("disk-write", "bytes"))
