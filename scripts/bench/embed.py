"""Embedding: what a decision costs through the embedded objects, memory, and Snakemake's selections."""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from timeit import timeit
from typing import Any

from bench.frame import ROOT, Check, Run, check, compare, show
from bench.live import estimates as wrong
from bench.live import gangs as real
from bench.live.soak import MACHINE, memory_rows

from ioopt.decisions.batch_io import View
from ioopt.embed import GangScheduler, IoArbiter
from ioopt.generate import job_selection

REPEATS, CHUNKS = 7, 100
MEGABYTE_LIMIT = 1.0


def arbiter_rows(count: int) -> Iterator[tuple[Any, ...]]:
    """(policy, K, us of the bare policy, us embedded, difference): the best of many short runs."""
    for policy in ("fill", "adaptive", "cons-max-util", "base-line"):
        for requests in (5, 20, 50):
            arbiter, rng = IoArbiter(MACHINE, policy), random.Random(1)
            for k in range(requests):
                arbiter.request(k, 512 * rng.randint(1, 16), rng.uniform(1e11, 1e12), float(k))
            # the simulators call the policy in just this way
            view = View(arbiter._limits, 100.0, arbiter._requests)
            decide = arbiter._policy.decide
            bare, whole = float("inf"), float("inf")
            for _ in range(CHUNKS):  # short and in turn, so that both see the same machine
                bare = min(bare, timeit(lambda d=decide, v=view: d(v), number=count))
                whole = min(whole, timeit(lambda a=arbiter: a.decide(100.0), number=count))
            bare, whole = 1e6 * bare / count, 1e6 * whole / count
            yield (policy, requests, bare, whole, whole - bare)


def gang_rows(events: int) -> Iterator[tuple[Any, ...]]:
    """(policy, best and median us an event): arrival or departure with its matrix, 320 nodes, 5 rows."""
    for policy in ("gs", "migrate-iogs", "guarded-iogs", "index-iogs"):
        times = [_gang_events(policy, events, seed) for seed in range(REPEATS)]
        yield (policy, min(times), statistics.median(times))


def _gang_events(policy: str, events: int, seed: int) -> float:
    """Microseconds of an event of one seeded run."""
    machine = {"nodes": 320, "levels": 5, "quantum_seconds": 200.0}
    scheduler, rng, running, number = GangScheduler(machine, policy), random.Random(seed), [], 0
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
    """Lines that ``ioopt serve --stdio`` answers, in a process of its own, one after the other."""
    requests = [{"id": k, "nodes": 512, "request_seconds": float(k), "left_bytes": 1e11,
                 "moved_bytes": 0.0} for k in range(5)]  # fmt: skip
    instance = {"format": "ioopt/io-requests", "version": 1, "name": "r", "machine": MACHINE,
                "now_seconds": 9.0, "requests": requests}  # fmt: skip
    message = {"ioopt": 1, "id": 1, "op": "decide", "instance": instance, "solver": "fill"}
    line = json.dumps(message).encode() + b"\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "ioopt", "serve", "--stdio"], cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None

    def ask() -> None:
        process.stdin.write(line)
        process.stdin.flush()
        if not json.loads(process.stdout.readline())["ok"]:
            raise SystemExit("the service refused a decision")

    ask()  # loads the solver
    seconds = timeit(ask, number=count)
    process.stdin.close()
    process.wait()
    return count / seconds


def objects(quick: bool) -> list[Check]:
    """Costs and memory of the embedded objects."""
    rows = list(arbiter_rows(20 if quick else 100))
    head = ("policy", "requests", "bare policy us", "embedded us", "more us")
    show("IoArbiter", head, rows)
    worst = max(row[4] for row in rows)
    checks = [check("IoArbiter beyond the bare policy, us, at most", "10", worst, worst <= 10)]
    gang = list(gang_rows(500 if quick else 4000))
    show("GangScheduler, 320 nodes", ("policy", "us an event, best", "median"), gang)
    slowest = max(row[1] for row in gang)
    checks.append(check("GangScheduler us an event (best run)", "100", slowest, slowest <= 100))
    rate = decisions_per_second(1000 if quick else 10_000)
    print(f"serve --stdio: {rate:.0f} decisions a second, each waited for")
    checks.append(check("serve --stdio decisions a second", "3000", rate, rate >= 3000))
    memory = list(memory_rows(20_000 if quick else 1_000_000))
    heads = ("object", "decisions", "a CPU second", "MB after 1/10", "MB at the end", "growth MB")
    show("Soak", heads, memory)
    grown = max(row[5] for row in memory)
    checks.append(
        check("growth in memory, MB", f"{MEGABYTE_LIMIT:g}", grown, grown <= MEGABYTE_LIMIT)
    )
    return checks


def selection(quick: bool) -> None:
    """Selections of ready jobs, as the plugin for Snakemake makes them."""
    counts = (100, 1000) if quick else (100, 1000, 10_000, 100_000)
    cases = {
        f"{count} ready jobs": partial(
            job_selection.generate, "many", {"jobs": count, "rules": min(count, 1000)}
        )
        for count in counts
    }
    runs = {name: Run(name, {"time_limit": 2.0}) for name in ("select", "first-fit")}
    compare("Job selection, 2 s", cases, runs, (0,))


def estimates(quick: bool) -> None:
    """What wrong estimates cost each object, and what telling it better brings; in simulated time."""
    heads = ("object", "measure", "observes", *(name for name, *_ in wrong.ERRORS))
    show("Estimates are wrong by sigma or by a factor", heads, wrong.rows(3 if quick else 20))


def main(quick: bool) -> None:
    """Print the tables, and at the end what was wanted beside what was measured."""
    checks = objects(quick)
    estimates(quick)
    heads = ("waits", "jobs", "gangs", "last end s", "mean end s", "Jain", "waited", "CPU s",
             "slice s")  # fmt: skip
    show("Two processes a job on two cores, slices of 0.1 s", heads, real.rows(quick))
    selection(quick)
    for name in ("dask", "snakemake"):
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed: python -m pip install 'ioopt[embed]'")
        else:
            checks += importlib.import_module(f"bench.engines.embed_{name}").table(quick)
    show("Beside what was wanted", ("criterion", "wanted", "measured", "holds"), checks)
