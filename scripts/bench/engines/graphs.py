"""Ten Dask graphs: workflows of sleeping tasks, and collections of arrays and frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.frame import shared_data

from ioopt import registry
from ioopt.embed.adapters.dask_plan import task_graph
from ioopt.problems.replication import ReplicationProblem

RATE = 25e6
"""Bytes a second that a worker sends."""
TOTAL = 160e6
"""Bytes of all files of a workflow together."""
SECONDS = 2.0
"""A worker's share of all sleeping."""
Graph = Callable[[Any], Any]
"""``run(client)``: compute it."""


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
