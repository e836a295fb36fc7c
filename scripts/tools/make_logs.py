"""Make the sample job logs of ``ioopt/advice/samples``: SWF and sacct, 2,000 jobs each.

    python scripts/tools/make_logs.py            # write them into that folder
    python scripts/tools/make_logs.py FOLDER     # write them into FOLDER

The machine is invented. It has 64 nodes and runs jobs first come, first served; for
five weeks jobs arrive, more of them by day than by night. All numbers are whole and
drawn without logarithms, so that every computer makes the same bytes.
"""

from __future__ import annotations

import gzip
import heapq
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "ioopt" / "advice" / "samples"
JOBS = 2000
NODES = 64
DAYS = 35
CORES = 32
"""The number of cores of a node, for sacct."""
EPOCH = 1714953600
"""The time at which the log begins: Monday, 6 May 2024, 0:00 UTC."""
SIZES = (1, 2, 4, 8, 16, 32)
SIZE_WEIGHTS = (30, 18, 18, 17, 12, 5)
MINUTES = ((10, 40), (40, 120), (120, 480), (480, 1440))
"""The shortest and the longest run time in minutes of each class of jobs."""
MINUTE_WEIGHTS = (30, 35, 25, 10)
HOUR_WEIGHTS = (*[1] * 7, 2, 5, 8, 9, 9, 7, 8, 9, 9, 8, 6, 4, 3, 2, 2, 1, 1)
DAY_WEIGHTS = (5, 5, 5, 5, 5, 2, 2)
USERS = 23


class Row(NamedTuple):
    """A job; all times are seconds, and ``submit`` and ``start`` count from the
    beginning of the log.
    """

    number: int
    submit: int
    start: int
    run: int
    nodes: int
    requested: int
    user: int


def jobs(seed: int) -> list[Row]:
    """Return the jobs that the machine has run, in order of submission."""
    rng = random.Random(seed)
    week = [day for day in range(DAYS) for _ in range(DAY_WEIGHTS[day % 7])]
    submits = []
    for _ in range(JOBS):
        hour = rng.choices(range(24), HOUR_WEIGHTS)[0]
        submits.append(86400 * rng.choice(week) + 3600 * hour + rng.randrange(3600))
    rows = []
    running: list[tuple[int, int]] = []
    free = NODES
    clock = 0
    for number, submit in enumerate(sorted(submits), 1):
        nodes = rng.choices(SIZES, SIZE_WEIGHTS)[0]
        shortest, longest = rng.choices(MINUTES, MINUTE_WEIGHTS)[0]
        run = rng.randrange(60 * shortest, 60 * longest)
        requested = 900 * (rng.randrange(11 * run, 30 * run) // 9000 + 1)
        clock = max(clock, submit)
        while running and (running[0][0] <= clock or free < nodes):
            end, freed = heapq.heappop(running)
            clock = max(clock, end)
            free += freed
        free -= nodes
        heapq.heappush(running, (clock + run, nodes))
        user = rng.randrange(USERS)
        rows.append(Row(number, submit, clock, run, nodes, requested, user))
    return rows


def swf(seed: int) -> Iterator[str]:
    """Yield the lines of a log in the Standard Workload Format."""
    yield "; Computer: a made-up cluster, for trying things"
    yield f"; MaxProcs: {NODES}"
    yield f"; MaxNodes: {NODES}"
    yield f"; UnixStartTime: {EPOCH}"
    for row in jobs(seed):
        wait = row.start - row.submit
        yield (
            f"{row.number} {row.submit} {wait} {row.run} {row.nodes} -1 -1 {row.nodes} "
            f"{row.requested} -1 1 {row.user + 1} 1 1 1 1 -1 -1"
        )


def sacct(seed: int) -> Iterator[str]:
    """Yield the lines of a log that ``sacct -a -P --noconvert`` would print."""
    yield "JobIDRaw|User|Partition|Submit|Start|End|State|AllocCPUS|NNodes|TimelimitRaw"
    for row in jobs(seed):
        times = [_clock(row.submit), _clock(row.start), _clock(row.start + row.run)]
        yield "|".join(
            [
                str(10000 + row.number),
                f"user{row.user + 1:02}",
                "batch",
                *times,
                "COMPLETED",
                str(CORES * row.nodes),
                str(row.nodes),
                str(row.requested // 60),
            ]
        )


def _clock(seconds: int) -> str:
    return f"{datetime.fromtimestamp(EPOCH + seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def texts() -> dict[str, bytes]:
    """Return, for each sample file, its unpacked text."""
    made = {"month.swf.gz": swf(1), "month.sacct.gz": sacct(2)}
    return {
        name: "".join(f"{line}\n" for line in rows).encode()
        for name, rows in made.items()
    }


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, text in texts().items():
        packed = gzip.compress(text, mtime=0)
        (folder / name).write_bytes(packed)
        print(f"{name}: {len(packed)} bytes packed")


if __name__ == "__main__":
    main()
