"""Embedding: what a decision costs through the embedded objects, and job selection in Snakemake."""

from __future__ import annotations

import io
import json
import logging
import random
import time
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ioopt.embed import GangScheduler, IoArbiter
from ioopt.embed.selection import ReadyJob, _Question, select
from ioopt.embed.service import Service
from ioopt.embed.transport import StreamServer
from ioopt.tables import render

MACHINE = {
    "nodes": 49_152, "unit_nodes": 512, "allocation": "flat",
    "node_bytes_per_second": 1e9 / 32, "storage_bytes_per_second": 250e9,
}  # fmt: skip


def _each(function: Callable[[], Any], count: int) -> float:
    begun = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - begun) / count


def _arbiter(requests: int) -> IoArbiter:
    arbiter, rng = IoArbiter(MACHINE, "fill"), random.Random(1)
    for k in range(requests):
        arbiter.request(k, 512 * rng.randint(1, 16), rng.uniform(1e11, 1e12), float(k))
    return arbiter


def arbiter_overhead(count: int) -> list[tuple[Any, ...]]:
    """Microseconds of ``decide`` beyond the bare policy on the same view."""
    from ioopt.sim.batch_io_view import View

    rows = []
    for requests in (5, 20, 50):
        arbiter = _arbiter(requests)
        view = View(arbiter._limits, 100.0, arbiter._requests)
        bare = min(_each(lambda v=view, a=arbiter: a._policy.decide(v), count) for _ in range(5))
        whole = min(_each(lambda a=arbiter: a.decide(100.0), count) for _ in range(5))
        rows.append(
            (f"IoArbiter fill, K = {requests}", 1e6 * bare, 1e6 * whole, 1e6 * (whole - bare))
        )
    return rows


def gang_events(events: int) -> float:
    """Microseconds an event (arrival or departure with its update), 320 nodes, 5 rows."""
    machine = {"nodes": 320, "levels": 5, "quantum_seconds": 200.0}
    scheduler, rng, running, number = GangScheduler(machine), random.Random(2), [], 0
    begun = time.perf_counter()
    for k in range(events):
        if len(running) < 25 and (rng.random() < 0.5 or not running):
            size = 1 << rng.randint(0, 6)
            first = size * rng.randrange(320 // size)
            scheduler.arrive(number, list(range(first, first + size)), 1000.0, 2000.0, float(k))
            running.append(number)
            number += 1
        else:
            scheduler.depart(running.pop(rng.randrange(len(running))), float(k))
        scheduler.matrix(float(k))
    return 1e6 * (time.perf_counter() - begun) / events


def decisions_per_second(count: int) -> float:
    """Lines answered by the service through byte streams."""
    requests = [{"id": k, "nodes": 512, "request_seconds": float(k), "left_bytes": 1e11,
                 "moved_bytes": 0.0} for k in range(5)]  # fmt: skip
    instance = {"format": "ioopt/io-requests", "version": 1, "name": "r", "machine": MACHINE,
                "now_seconds": 9.0, "requests": requests}  # fmt: skip
    line = json.dumps({"ioopt": 1, "id": 1, "op": "decide", "instance": instance, "solver": "fill"})
    source = io.BytesIO((line.encode() + b"\n") * count)
    begun = time.perf_counter()
    answered = StreamServer(source, io.BytesIO(), Service()).run()
    return answered / (time.perf_counter() - begun)


def memory_growth(events: int) -> tuple[int, int]:
    """Bytes more held after *events* than after a tenth of them, by IoArbiter and GangScheduler."""
    grown = []
    for step in (_arbiter_step(), _gang_step()):
        tracemalloc.start()
        for k in range(events // 10):
            step(k)
        before = tracemalloc.get_traced_memory()[0]
        for k in range(events // 10, events):
            step(k)
        grown.append(tracemalloc.get_traced_memory()[0] - before)
        tracemalloc.stop()
    return grown[0], grown[1]


def _arbiter_step() -> Callable[[int], None]:
    arbiter, rng = IoArbiter(MACHINE, "fill"), random.Random(3)
    here: list[int] = []

    def step(k: int) -> None:
        if len(here) < 20 and (rng.random() < 0.5 or not here):
            arbiter.request(k, 512, 1e11, float(k))
            here.append(k)
        else:
            arbiter.finish(here.pop(rng.randrange(len(here))))
        arbiter.decide(float(k))

    return step


def _gang_step() -> Callable[[int], None]:
    scheduler = GangScheduler({"nodes": 64, "levels": 3, "quantum_seconds": 200.0}, "gs")
    rng, here = random.Random(4), list[int]()

    def step(k: int) -> None:
        if len(here) < 8 and (rng.random() < 0.5 or not here):
            scheduler.arrive(k, [rng.randrange(64)], 100.0, 200.0, float(k))
            here.append(k)
        else:
            scheduler.depart(here.pop(), float(k))
        scheduler.matrix(float(k))

    return step


class _File(str):
    """A file as Snakemake hands it to a scheduler."""

    __slots__ = ("temporary",)
    temporary: bool

    def is_flagged(self, flag: str) -> bool:
        """Whether it is a temporary file."""
        return flag == "temp" and self.temporary


def _snakemake_jobs(count: int, kinds: int, rng: random.Random) -> tuple[list[Any], dict[Any, int]]:
    """*count* ready jobs of *kinds* shapes, a third of them the only reader of a temporary file."""
    jobs, sizes = [], {}
    for k in range(count):
        shape = k % kinds
        file = _File(f"file-{k}")
        file.temporary = shape % 3 == 0
        sizes[file] = 10**6 * (1 + shape)
        cores = 1 + shape % 4
        jobs.append(SimpleNamespace(
            jobid=k, priority=0, input=[file],
            scheduler_resources={"_cores": cores, "mem_mb": 500 * (1 + (shape * 7) % 9)},
        ))  # fmt: skip
    return jobs, sizes


def snakemake_selection(quick: bool) -> list[tuple[Any, ...]]:
    """Value and seconds of Snakemake's greedy and integer program, and of ours, on the same jobs."""
    from snakemake.scheduling import greedy, milp

    select([ReadyJob(1, 3, (3,)), *[ReadyJob(1, 2, (2,))] * 2], [4])  # loads the solver
    rows: list[tuple[Any, ...]] = []
    capacities = {"_cores": 64, "mem_mb": 100_000}
    for count in (100, 1000) if quick else (100, 1000, 10_000, 100_000):
        jobs, sizes = _snakemake_jobs(count, 50, random.Random(5))
        ready = [_ready(job, sizes) for job in jobs]
        temp = {str(f): sizes[f] for job in jobs for f in job.input if f.temporary}
        question = _Question(ready, list(capacities.values()), temp, dict.fromkeys(temp, 1))
        own: dict[str, Callable[[], list[int]]] = {
            "ioopt": lambda q=question, t=temp: list(
                select(q.jobs, q.capacities, t, dict.fromkeys(t, 1), deadline=2.0).chosen
            )
        }
        if count <= 10_000:
            own["snakemake greedy"] = _theirs(
                greedy.Scheduler, greedy.SchedulerSettings(), jobs, capacities, sizes
            )
        if count <= 1000:
            own["snakemake milp"] = _theirs(
                milp.Scheduler, milp.SchedulerSettings(), jobs, capacities, sizes
            )
        for name, choose in own.items():
            begun = time.perf_counter()
            chosen = choose()
            seconds = time.perf_counter() - begun
            value = question.value(chosen)
            rows.append((count, name, len(chosen), value, seconds))
    return rows


def _ready(job: Any, sizes: dict[Any, int]) -> ReadyJob:
    (file,) = job.input
    needs = job.scheduler_resources
    return ReadyJob(0, needs["_cores"], tuple(needs.values()),
                    frozenset({str(file)} if file.temporary else ()), sizes[file])  # fmt: skip


def _theirs(
    cls: Any, settings: Any, jobs: list[Any], capacities: dict[str, int], sizes: dict[Any, int]
) -> Callable[[], list[int]]:
    scheduler = cls(SimpleNamespace(), settings, logging.getLogger("snakemake"))

    class Hashed(SimpleNamespace):
        __hash__ = object.__hash__
        __eq__ = object.__eq__

    items = [Hashed(**vars(job)) for job in jobs]

    def choose() -> list[int]:
        chosen = scheduler.select_jobs(items, items, dict(capacities), sizes) or []
        return sorted(job.jobid for job in chosen)

    return choose


def main(quick: bool) -> None:
    """Print the tables."""
    count = 2000 if quick else 20_000
    rows = arbiter_overhead(count)
    print(render(("decision", "bare policy us", "embedded us", "difference us"), rows))
    print(f"GangScheduler guarded-iogs, 320 nodes: {gang_events(count // 2):.1f} us an event")
    print(f"serve: {decisions_per_second(count // 2):.0f} decisions a second through byte streams")
    events = 20_000 if quick else 1_000_000
    arbiter, gang = memory_growth(events)
    print(
        f"memory after {events} events beyond a tenth: IoArbiter {arbiter} B, GangScheduler {gang} B"
    )
    try:
        rows = snakemake_selection(quick)
    except ImportError:
        print("Snakemake is not installed: python -m pip install 'ioopt[embed]'")
        return
    print(render(("ready jobs", "scheduler", "chosen", "value", "seconds"), rows))
