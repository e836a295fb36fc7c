"""Real processes in gangs and without: two processes a job, alike in all but how they wait.

``spin``: a barrier a millisecond of work at which they wait busily, as MPI does: both must be on at once.
``pipe``: the same, but they sleep until the other is there, and the system runs somebody else meanwhile.
``free``: they never wait for each other. ``write``: each millisecond 256 KiB are written and synced.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("spin", "pipe", "free", "write")
SLICE_SECONDS = 0.1
TASK = """
import mmap, os, sys, time
kind, rounds, folder, me = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
waited = 0.0
if kind == "spin":
    with open(f"{folder}/count", "r+b") as file:
        view = memoryview(mmap.mmap(file.fileno(), 128)).cast("q")
if kind == "pipe":
    names = [f"{folder}/a", f"{folder}/b"]
    out, back = (os.open(name, os.O_RDWR) for name in (names if me else names[::-1]))
if kind == "write":
    target = os.open(f"{folder}/out{me}", os.O_CREAT | os.O_WRONLY)
for k in range(1, rounds + 1):
    sum(range(40_000))
    begun = time.monotonic()
    if kind == "spin":
        view[8 * me] = k
        while view[8 - 8 * me] < k:
            pass
    elif kind == "pipe":
        os.write(out, b"x")
        os.read(back, 1)
    elif kind == "write":
        os.pwrite(target, bytes(1 << 18), 0)
        os.fsync(target)
    waited += time.monotonic() - begun
with open(f"{folder}/waited{me}", "w") as file:
    file.write(f"{waited} {time.process_time()}")
"""


def jain(values: list[float]) -> float:
    """1 when all are equal, 1 / n when one has everything."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def rows(quick: bool) -> Iterator[tuple[Any, ...]]:
    """(how they wait, jobs, gangs?, last end, mean end, fairness, share waited, CPU seconds, slice).

    The share is of the time from start to end, stopped or not; fairness is Jain's of the speeds.
    """
    rounds = 200 if quick else 1000
    for kind in KINDS:
        for count in (2, 4) if quick else (2, 4, 8):
            for gangs in (True, False):
                with tempfile.TemporaryDirectory() as place:
                    yield (
                        kind,
                        count,
                        "yes" if gangs else "no",
                        *_run(kind, count, gangs, rounds, Path(place)),
                    )


def _run(kind: str, count: int, gangs: bool, rounds: int, place: Path) -> tuple[Any, ...]:
    from ioopt.embed.adapters.processes import by_signal, run

    commands = {}
    for k in range(count):
        folder = place / str(k)
        folder.mkdir()
        (folder / "count").write_bytes(bytes(128))
        for name in "ab":
            os.mkfifo(folder / name)
        task = [sys.executable, "-c", TASK, kind, str(rounds), str(folder)]
        commands[str(k)] = [[*task, "0"], [*task, "1"]]
    since, slices = dict[int, float](), list[float]()

    def switch(group: int, on: bool) -> None:
        by_signal(group, on)
        begun = since.pop(group, None)
        if on:
            since[group] = time.monotonic()
        elif begun is not None:
            slices.append(time.monotonic() - begun)

    machine = {"nodes": 2, "levels": 8, "quantum_seconds": SLICE_SECONDS}
    ends = list(run(commands, machine, gangs=gangs, switch=switch).values())
    told = [path.read_text().split() for path in place.glob("*/waited*")]
    share = sum(float(waited) for waited, _ in told) / (2 * sum(ends))
    used = sum(float(seconds) for _, seconds in told)
    length = statistics.median(slices) if gangs and slices else None
    fair = jain([1 / end for end in ends])
    return max(ends), statistics.mean(ends), fair, share, used, length
