"""Dask graphs under ioopt's placement beside Dask's own, on worker processes with capped links."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.engines.cluster import Meter, capped
from bench.engines.graphs import RATE, Graph, graphs
from bench.frame import Check, check, show

from ioopt.embed.adapters.dask import Homes, placed
from ioopt.embed.adapters.dask_plan import sent_bytes

MEMORY = 100_000_000
"""Bytes a worker may hold; beyond .6 of that Dask spills."""
PAIRS = 3
HEADS = ("graph", "workers", "tasks", "seconds", "MB moved", "peak MB, a worker", "peak MB, all",
         "MB spilled", "sooner, fewer", "ms a task")  # fmt: skip


class Run(NamedTuple):
    """What one run took: seconds, megabytes, and the decisions of ioopt."""

    seconds: float
    moved: float
    peak: float
    peak_all: float
    spilled: float
    decisions: int
    overhead_ms: float


def main(quick: bool) -> None:
    """Print the table, and what was wanted beside what was measured."""
    show("Beside what was wanted", ("criterion", "wanted", "measured", "holds"), table(quick))


def table(quick: bool) -> list[Check]:
    """Ten graphs on 4 and on 8 workers; quick: eight of them on 4, once."""
    rows, found = [], []
    for workers in (4,) if quick else (4, 8):
        for name, runs in measured(workers, quick):
            ours, own = ([pair[k] for pair in runs] for k in (1, 0))
            found.append(mean := (_median(own), _median(ours)))
            wins = (sum(b[k] < a[k] for a, b in runs) for k in (0, 1))
            rows.append((name, workers, mean[1].decisions,
                         *(f"{a:.3g} / {b:.3g}" for a, b in list(zip(*mean))[:5]),
                         ", ".join(f"{count}/{len(runs)}" for count in wins),
                         mean[1].overhead_ms))  # fmt: skip
    show("On Dask, each worker sends 25 MB/s: Dask itself / ioopt, medians of pairs", HEADS, rows)
    fewer = sum(ours.moved < own.moved for own, ours in found)
    faster = sum(ours.seconds < own.seconds for own, ours in found)
    slowest = max(ours.overhead_ms for _, ours in found)
    count = len(found)
    return [
        check("graphs of which ioopt moves fewer bytes", str(count), fewer, fewer == count),
        check("graphs that ioopt ends sooner", "most", faster, 2 * faster > count),
        check("ms of deciding a task on Dask, at most", "1", slowest, slowest <= 1),
    ]


def _median(runs: list[Run]) -> Run:
    return Run(*(statistics.median(column) for column in zip(*runs)))


def measured(workers: int, quick: bool) -> Iterator[tuple[str, list[tuple[Run, Run]]]]:
    """Every graph on one cluster: pairs of a run as Dask and one as ioopt places it.

    A first run is not counted. Dask's estimates of earlier runs stay for both; who comes first alternates.
    """
    with capped(workers, RATE, MEMORY) as client:
        client.register_plugin(Meter())
        for name, graph in graphs(workers, quick):
            _measured(client, graph, False)
            pairs = []
            for number in range(1 if quick else PAIRS):
                order = (False, True) if number % 2 else (True, False)
                found = {ours: _measured(client, graph, ours) for ours in order}
                pairs.append((found[False], found[True]))
            yield name, pairs


def _measured(client: Any, graph: Graph, ours: bool) -> Run:
    client.run_on_scheduler(_peaks)
    before, spilled = sent_bytes(client), sum(client.run(_spilled).values())
    begun = time.perf_counter()
    with placed(client, Homes if ours else None) as report:
        graph(client)
    seconds = time.perf_counter() - begun
    moved = sent_bytes(client) - before
    spilled = sum(client.run(_spilled).values()) - spilled
    megabytes = (x / 1e6 for x in (moved, *client.run_on_scheduler(_peaks), spilled))
    count = report.decisions
    return Run(seconds, *megabytes, count, 1e3 * report.seconds / max(1, count))


def _peaks(dask_scheduler: Any) -> tuple[int, int]:
    meter = dask_scheduler.plugins[Meter.name]
    found = meter.worst, meter.total
    meter.worst = meter.total = 0
    return found


def _spilled(dask_worker: Any) -> float:
    metrics = getattr(dask_worker.data, "cumulative_metrics", {})
    return sum(value for key, value in metrics.items() if key == ("disk-write", "bytes"))
