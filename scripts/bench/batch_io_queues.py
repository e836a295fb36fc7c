"""The batch queue against the schedules that Batsim and CQSim made of the same jobs."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bench.frame import cpu, shared_data, show, timed

import ioopt
from ioopt.formats.batsim.workload import read_batsim
from ioopt.formats.cqsim import batch_io_from_cqsim, read_cqsim
from ioopt.formats.io_rule import MachineRule
from ioopt.problems.batch_io import BatchIoProblem

ENGINES = ("python", "compiled")
SAME_SECONDS = 1e-3
"""Starts that differ by less are the same: the files have milliseconds."""
CQSIM = {"queue": "fcfs", "backfill": "conservative", "plan": "rebuild",
         "estimate": "uncongested", "pass": "event"}  # fmt: skip
NODES = {"reservation": "nodes"}
CASES: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("easy", {"queue": "fcfs", "backfill": "easy"}),
    ("easy", {"queue": "fcfs", "backfill": "easy", **NODES}),
    ("conservative", {"queue": "fcfs", "backfill": "conservative", **NODES}),
    ("KIT-FH2", {"queue": "fcfs"}),
    ("KIT-FH2", CQSIM),
)
"""Whose schedule (Batsim's easy and conservative, CQSim's KIT-FH2), and the options of the queue."""


class Agreement(NamedTuple):
    """Jobs that start at the same time, that have the same machines too, all jobs; CPU seconds."""

    starts: int
    machines: int
    jobs: int
    seconds: float


def agreement(schedule: str, options: Mapping[str, str], engine: str) -> Agreement:
    """How many jobs of *schedule* start there as in ioopt's simulation."""
    folder = shared_data("batch-oracles")
    places: dict[Any, list[int]] = {}
    if schedule == "KIT-FH2":
        source = folder / "KIT-FH2-2016-1.rst"
        problem = batch_io_from_cqsim(source, options=dict(options))
        wanted = {job.id: float(job.start_seconds) for job in read_cqsim(source)}
    else:
        rule = MachineRule(nodes=32)
        problem = read_batsim(folder / "medium_late.json", machine=rule, options=dict(options))
        with (folder / schedule / "out_jobs.csv").open() as file:
            rows = {int(row["job_id"]): row for row in csv.DictReader(file)}
        wanted = {name: float(row["starting_time"]) for name, row in rows.items()}
        places = {name: numbers(row["allocated_resources"]) for name, row in rows.items()}
    seconds, found = timed(lambda: _simulated(problem, engine), cpu)
    assert wanted.keys() == {job["id"] for job in found}
    same = sum(math.isclose(job["start_seconds"], wanted[job["id"]], rel_tol=0, abs_tol=SAME_SECONDS)
               for job in found)  # fmt: skip
    placed = sum(job.get("nodes") == places.get(job["id"], ()) for job in found)
    return Agreement(same, placed, len(found), seconds)


def _simulated(problem: BatchIoProblem, engine: str) -> list[dict[str, Any]]:
    how = {"engine": engine, "rates": "no"}
    result = ioopt.solve(problem, "base-line", settings=how, time_limit=None)
    assert result.schedule is not None
    found: list[dict[str, Any]] = result.schedule["jobs"]
    return found


def numbers(text: str) -> list[int]:
    """The numbers of ``0-2 5``."""
    parts = [part.partition("-") for part in text.split()]
    return [k for first, _, last in parts for k in range(int(first), int(last or first) + 1)]


def main(quick: bool = False) -> None:
    """Print the table; with *quick* plain Python only."""
    head = ("schedule", "options", "engine", "same starts", "same machines", "jobs", "CPU s")
    show("Schedules of Batsim and CQSim", head, list(_rows(ENGINES[: 1 if quick else 2])))


def _rows(engines: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    for schedule, options in CASES:
        text = ", ".join(f"{key}={value}" for key, value in options.items())
        for engine in engines:
            found = agreement(schedule, options, engine)
            yield (schedule, text, engine, *found[:3], f"{found.seconds:.1f}")
