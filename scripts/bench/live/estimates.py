"""Embedded objects under wrong estimates, told of it or not: engines played in simulated time.

True amounts are fixed by the seed; what an object is told differs from them by a lognormal factor
(sigma), or all by the same one. Nothing waits and no clock is read, so the figures repeat.
"""

from __future__ import annotations

import heapq
import random
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from ioopt.embed import GangScheduler, IoArbiter, ReplicationPlanner, WorkflowDispatcher

NETWORK = {"remote_bytes_per_second": 12.5e6, "replica_bytes_per_second": 1e9}
ERRORS = (
    ("0", 0.0, 1.0),
    ("0.3", 0.3, 1.0),
    ("0.8", 0.8, 1.0),
    ("x 2", 0.0, 2.0),
    ("x .5", 0.0, 0.5),
)
"""How a told amount differs: name, sigma, factor."""

Told = Callable[[float], float]


def arbiter(told: Told, observe: bool, seed: int) -> float:
    """Mean seconds that requests of 12 jobs, each always of its own size, take under ``least-delay``."""
    rng = random.Random(seed)
    machine = {"nodes": 96, "unit_nodes": 1, "allocation": "flat",
               "node_bytes_per_second": 1e9, "storage_bytes_per_second": 16e9}  # fmt: skip
    made = IoArbiter(machine, "least-delay", {"estimate": "history" if observe else "exact"})
    sizes = [rng.lognormvariate(3.0, 1.0) * 1e9 for _ in range(12)]
    believed = [told(size) for size in sizes]
    if observe:
        for k, size in enumerate(believed):
            made.observe(k, [size])
    due = [(rng.uniform(0.0, 20.0), k) for k in range(12)]
    heapq.heapify(due)
    left: dict[int, float] = {}
    begun: dict[int, float] = {}
    now, taken = 0.0, list[float]()
    while len(taken) < 600:
        rates = made.decide(now) if left else {}
        ends = [(now + left[k] / rate, k) for k, rate in rates.items() if rate > 0]
        at, ended = min(ends, default=(float("inf"), -1))
        arrives = bool(due) and due[0][0] < at
        at = due[0][0] if arrives else at
        for k, rate in rates.items():
            left[k] -= rate * (at - now)
            done = sizes[k] - left[k] if observe else min(sizes[k] - left[k], believed[k])
            made.progress(k, max(0.0, done))
        now = at
        if arrives:
            k = heapq.heappop(due)[1]
            left[k], begun[k] = sizes[k], now
            made.request(k, 8, sizes[k] if observe else believed[k], now)
        else:
            made.finish(ended)
            taken.append(now - begun.pop(ended))
            del left[ended]
            heapq.heappush(due, (now + rng.uniform(5.0, 20.0), ended))
    return statistics.mean(taken)


def gang(told: Told, observe: bool, seed: int) -> float:
    """Mean slowdown of 120 gangs under ``index-iogs`` by remaining work; observed: what is left is told."""
    return _gang(told, observe, seed, "hdf")


def gang_without(told: Told, observe: bool, seed: int) -> float:
    """The same by attained service, which needs no times."""
    return _gang(told, False, seed, "las")


def _gang(told: Told, observe: bool, seed: int, weight: str) -> float:
    rng = random.Random(seed)
    made = GangScheduler({"nodes": 16, "levels": 4, "quantum_seconds": 10.0}, "index-iogs",
                         {"weight": weight})  # fmt: skip
    need, arrival = dict[int, float](), dict[int, float]()
    arrivals, at = list[tuple[float, int]](), 0.0
    for k in range(120):
        at += rng.expovariate(1 / 22.0)
        arrivals.append((at, k))
    slowdowns, now, length = list[float](), 0.0, dict[int, float]()
    while len(slowdowns) < 120:
        while arrivals and arrivals[0][0] <= now:
            at, k = arrivals.pop(0)
            size = 1 << rng.randint(0, 4)
            first = size * rng.randrange(16 // size)
            length[k] = need[k] = rng.lognormvariate(3.5, 1.2)
            seconds, arrival[k] = told(need[k]), at
            made.arrive(k, list(range(first, first + size)), seconds, 2 * seconds, now)
        for k in need if observe else ():
            made.served(k, length[k] - need[k], need[k])
        local = {job["id"]: job["local"] for job in made.matrix(now)}
        turn = made.turn(now)
        until = min(turn["until"], arrivals[0][0] if arrivals else float("inf"))
        for k in turn["jobs"]:
            until = min(until, now + need[k] * (1 if local[k] else 2))
        until = max(until, now + 1e-6)
        for k in turn["jobs"]:
            need[k] -= (until - now) / (1 if local[k] else 2)
            if need[k] <= 1e-6:
                made.depart(k, until)
                del need[k]
                slowdowns.append((until - arrival[k]) / max(10.0, length[k]))
        now = until
    return statistics.mean(slowdowns)


def _files(count: int) -> list[dict[str, Any]]:
    return [{"id": f"f{k}", "bytes": 200_000_000} for k in range(count)]


def planner(told: Told, observe: bool, seed: int) -> float:
    """Makespan of 96 tasks of three kinds on four nodes, two of them fast; observed: new plans."""
    rng = random.Random(seed)
    speeds = {f"n{k}": 1.0 + k % 2 for k in range(4)}
    made = ReplicationPlanner(NETWORK, [{"id": n, "speed": s} for n, s in speeds.items()],
                              _files(12), solver="minmin")  # fmt: skip
    true, kinds, tasks = {}, {}, []
    factor = {kind: told(1.0) for kind in ("short", "middle", "long")}
    for k in range(96):
        kind = rng.choice(("short", "middle", "long"))
        name, mean = f"t{k}", {"short": 10.0, "middle": 40.0, "long": 160.0}[kind]
        true[name], kinds[name] = mean * rng.lognormvariate(0.0, 0.1), kind
        tasks.append({"id": name, "compute_seconds": mean * factor[kind],
                      "inputs": rng.sample([f"f{j}" for j in range(12)], 2)})  # fmt: skip
    made.submit(tasks, deadline=None, kinds=kinds)
    running, now, idle, ended = list[tuple[float, str, str]](), 0.0, set(speeds), 0
    while ended < 96:
        for node in sorted(idle):
            step = made.next(node)
            if step is None and observe and ended + len(running) < 96:
                made.plan(None)
                step = made.next(node)
            if step is not None:
                idle.discard(node)
                staging = _staging(step.stage)
                end = now + staging + true[step.task] / speeds[node]
                heapq.heappush(running, (end, step.task, node))
        now, task, node = heapq.heappop(running)
        idle.add(node)
        ended += 1
        made.completed(task, seconds=true[task] / speeds[node] if observe else None)
        if observe and ended in (8, 24, 48):
            made.plan(None)
    return now


def _staging(stage: Any) -> float:
    return sum(
        2e8 / NETWORK[f"{'remote' if source is None else 'replica'}_bytes_per_second"]
        for _, source in stage
    )


def workflow(told: Told, observe: bool, seed: int) -> float:
    """Makespan of 3 chains among 9 short tasks under ``rolling``; observed: the mean of each kind."""
    rng = random.Random(seed)
    made = WorkflowDispatcher(NETWORK, [{"id": f"n{k}"} for k in range(4)], policy="rolling")
    means = [20.0, 80.0, 40.0, 10.0]
    believed = [told(mean) for mean in means]
    true, tasks, files = {}, [], []
    for c in range(12):
        for k, mean in enumerate(means if c % 4 == 3 else means[:1]):
            name = f"t{c}.{k}"
            true[name] = mean * rng.lognormvariate(0.0, 0.1)
            files.append({"id": f"p{c}.{k}", "bytes": 200_000_000})
            tasks.append({"id": name, "compute_seconds": believed[k], "outputs": [f"p{c}.{k}"],
                          "inputs": [f"p{c}.{k - 1}"] if k else []})  # fmt: skip
    made.submit(tasks, files)
    running, now, waiting = list[tuple[float, str]](), 0.0, set(true)
    seen: dict[str, list[float]] = {}
    while waiting or running:
        for step in made.next(now):
            waiting.discard(step.task)
            heapq.heappush(running, (now + _staging(step.stage) + true[step.task], step.task))
        now, task = heapq.heappop(running)
        made.completed(task, now)
        if observe:
            kind = task.split(".")[1]
            seen.setdefault(kind, []).append(true[task])
            mean = statistics.mean(seen[kind])
            made.observe({name: mean for name in waiting if name.endswith(f".{kind}")})
    return now


OBJECTS: dict[str, tuple[str, Callable[[Told, bool, int], float]]] = {
    "IoArbiter": ("mean seconds of a request", arbiter),
    "GangScheduler, weight=hdf": ("mean slowdown", gang),
    "GangScheduler, weight=las": ("mean slowdown", gang_without),
    "ReplicationPlanner": ("makespan, s", planner),
    "WorkflowDispatcher": ("makespan, s", workflow),
}


def rows(seeds: int) -> Iterator[tuple[Any, ...]]:
    """(object, measure, observed?, and a mean over the seeds for each of ERRORS)."""
    for name, (measure, play) in OBJECTS.items():
        for observe in (False, True):
            if observe and play is gang_without:
                continue  # it has nothing to be told
            found = []
            for _, sigma, factor in ERRORS:
                values = []
                for seed in range(seeds):
                    draw = random.Random(f"told {seed}")
                    values.append(
                        play(
                            lambda true, draw=draw, s=sigma, f=factor: (
                                true * f * draw.lognormvariate(0.0, s)
                            ),
                            observe,
                            seed,
                        )
                    )
                found.append(statistics.mean(values))
            yield name, measure, "yes" if observe else "no", *found
