"""A million decisions of each embedded object, as random events: how many a second, resident memory."""

from __future__ import annotations

import gc
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.frame import cpu

from ioopt.embed import (
    GangednessMonitor,
    GangScheduler,
    IoArbiter,
    ReplicationPlanner,
    WorkflowDispatcher,
)
from ioopt.embed.service import Service

Step = Callable[[int], None]

MACHINE = {
    "nodes": 49_152, "unit_nodes": 512, "allocation": "flat",
    "node_bytes_per_second": 1e9 / 32, "storage_bytes_per_second": 250e9,
}  # fmt: skip


def resident_bytes() -> int:
    """Resident memory of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def arbiter_step() -> Step:
    """Requests, progress, finishes and decisions; an event is the change with its decision."""
    arbiter, rng = IoArbiter(MACHINE, "fill"), random.Random(3)
    here: list[int] = []

    def step(k: int) -> None:
        if len(here) < 20 and (rng.random() < 0.5 or not here):
            arbiter.request(k, 512, 1e11, float(k))
            here.append(k)
        elif rng.random() < 0.5:
            arbiter.progress(rng.choice(here), 1e10)
        else:
            arbiter.finish(here.pop(rng.randrange(len(here))))
        arbiter.decide(float(k))

    return step


def gang_step() -> Step:
    """Arrivals with all that they can tell, departures, drains and refused calls, each with a turn."""
    scheduler = GangScheduler(
        {"nodes": 64, "levels": 3, "quantum_seconds": 200.0}, memory_bytes=100.0, switch_seconds=1.0
    )
    rng, here = random.Random(4), list[int]()

    def step(k: int) -> None:
        if rng.random() < 0.02:
            scheduler.depart("nobody", float(k))
        elif rng.random() < 0.02:
            scheduler.drain([rng.randrange(64)])
        elif len(here) < 8 and (rng.random() < 0.5 or not here):
            nodes = rng.sample(range(64), 2)
            scheduler.arrive(k, [nodes[0]], 100.0, 200.0, float(k), priority=rng.randint(1, 3),
                             resident_bytes=40.0, replicas=[[nodes[1]]])  # fmt: skip
            here.append(k)
        else:
            scheduler.depart(here.pop(rng.randrange(len(here))), float(k))
        scheduler.turn(float(k))

    return step


def workflow_step() -> Step:
    """Pairs of a writer and its reader, in a run that never ends; each step asks for what may start."""
    run = WorkflowDispatcher(
        {"remote_bytes_per_second": 1e7, "replica_bytes_per_second": 1e8},
        [{"id": f"n{k}"} for k in range(4)],
        policy="locality",
    )
    rng, running = random.Random(7), list[str]()

    def step(k: int) -> None:
        if len(run.ready) < 3:
            run.submit(
                [{"id": f"w{k}", "compute_seconds": 1.0, "outputs": [f"f{k}"]},
                 {"id": f"r{k}", "compute_seconds": 1.0, "inputs": [f"f{k}"]}],
                [{"id": f"f{k}", "bytes": 10**6}],
            )  # fmt: skip
        running.extend(placed.task for placed in run.next(float(k)))
        if running:
            ended = running.pop(rng.randrange(len(running)))
            run.completed(ended, float(k))
            if ended[0] == "r":
                run.forget(ended)
                run.forget(f"w{ended[1:]}")

    return step


def service_step() -> Step:
    """Lines to a session of the service: requests come and go, each with a decision."""
    service = Service()

    def ask(op: str, **more: Any) -> None:
        line = json.dumps({"ioopt": 1, "id": 1, "op": op, **more}).encode()
        if not json.loads(service.handle(line))["ok"]:
            raise SystemExit("the service refused a message")

    ask("open", object="IoArbiter", arguments={"machine": MACHINE})

    def step(k: int) -> None:
        name = {"id": k % 8}
        if k >= 8:
            ask("call", session=1, method="finish", arguments=name)
        more = {"nodes": 512, "size": 1e11, "now": float(k)}
        ask("call", session=1, method="request", arguments=name | more)
        ask("call", session=1, method="decide", arguments={"now": float(k)})

    return step


def planner_step() -> Step:
    """Submissions (20 tasks a call, planned by minmin), starts, ends, files that come and go."""
    names = [f"f{k}" for k in range(40)]
    planner = ReplicationPlanner(
        {"remote_bytes_per_second": 1e7, "replica_bytes_per_second": 1e8},
        [{"id": f"n{k}", "disk_bytes": 10**9} for k in range(8)],
        [{"id": name, "bytes": 10**8} for name in names],
        solver="minmin",
    )
    rng, running = random.Random(5), dict[str, str]()
    waiting = 0

    def step(k: int) -> None:
        nonlocal waiting
        node = f"n{rng.randrange(8)}"
        chance = rng.random()
        if chance < 0.3:
            (planner.staged if chance < 0.15 else planner.evicted)(node, rng.choice(names))
        elif node in running:
            planner.completed(running.pop(node))
        elif waiting and (begun := planner.next(node)) is not None:
            running[node] = begun.task
            waiting -= 1
        elif not waiting:
            tasks = [{"id": f"t{k}.{i}", "compute_seconds": 1.0, "inputs": rng.sample(names, 2)}
                     for i in range(20)]  # fmt: skip
            waiting = planner.submit(tasks, deadline=None).value

    return step


def monitor_step() -> Step:
    """Message counts, with a classification each."""
    monitor, rng = GangednessMonitor(processors=16), random.Random(6)

    def step(k: int) -> None:
        ganged = rng.random() < 0.5
        monitor.observe(ganged, ganged or rng.random() < 0.5, float(rng.randrange(30)))
        if k % 16 == 0:
            monitor.classify()

    return step


STEPS: dict[str, Callable[[], Step]] = {
    "IoArbiter": arbiter_step,
    "GangScheduler": gang_step,
    "ReplicationPlanner": planner_step,
    "WorkflowDispatcher": workflow_step,
    "service, a session": service_step,
    "GangednessMonitor": monitor_step,
}


def memory_rows(events: int) -> Iterator[tuple[Any, ...]]:
    """(object, decisions, a CPU second, MB after a tenth of them, MB at the end, growth in MB)."""
    for name, make in STEPS.items():
        step, begun = make(), cpu()
        for k in range(events // 10):
            step(k)
        before = resident_bytes()
        for k in range(events // 10, events):
            step(k)
        rate, after = events / (cpu() - begun), resident_bytes()
        yield name, events, rate, before / 1e6, after / 1e6, (after - before) / 1e6
