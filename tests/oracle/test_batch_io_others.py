"""The batch queue against the schedules that Batsim and CQSim made of the same jobs."""

from __future__ import annotations

import csv
from typing import Any

import pytest

import ioopt
from ioopt.formats.batsim.workload import read_batsim
from ioopt.formats.cqsim import batch_io_from_cqsim, read_cqsim
from ioopt.formats.io_rule import MachineRule
from ioopt.problems.batch_io import BatchIoProblem
from tests.conftest import shared_root

DATA = shared_root() / "data" / "batch-oracles"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="no schedules of other simulators here"),
]
ENGINES = ("python", "compiled")
CQSIM = {"queue": "fcfs", "backfill": "conservative", "plan": "rebuild",
         "estimate": "uncongested", "pass": "event"}  # fmt: skip


def rows(problem: BatchIoProblem, engine: str) -> list[dict[str, Any]]:
    result = ioopt.solve(problem, "base-line", settings={"engine": engine, "rates": "no"})
    assert result.schedule is not None
    found: list[dict[str, Any]] = result.schedule["jobs"]
    return found


def nodes_of(text: str) -> list[int]:
    """The numbers of ``0-2 5``."""
    parts = [part.partition("-") for part in text.split()]
    return [k for first, _, last in parts for k in range(int(first), int(last or first) + 1)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("run", "options", "starts", "machines"),
    [
        ("easy", {"backfill": "easy"}, 725, 0),
        ("easy", {"backfill": "easy", "reservation": "nodes"}, 801, 801),
        ("conservative", {"backfill": "conservative", "reservation": "nodes"}, 801, 801),
    ],
)
def test_batsim(run: str, options: dict[str, Any], starts: int, machines: int, engine: str) -> None:
    problem = read_batsim(
        DATA / "medium_late.json",
        machine=MachineRule(nodes=32),
        options={"queue": "fcfs", **options},
    )
    with (DATA / run / "out_jobs.csv").open() as file:
        wanted = {int(row["job_id"]): row for row in csv.DictReader(file)}
    same = placed = 0
    for job in rows(problem, engine):
        want = wanted.pop(job["id"])
        same += job["start_seconds"] == pytest.approx(float(want["starting_time"]), abs=1e-3)
        placed += job.get("nodes") == nodes_of(want["allocated_resources"])
    assert not wanted and (same, placed) == (starts, machines)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("options", "starts"), [({"queue": "fcfs"}, 22_038), (CQSIM, 25_315)])
def test_cqsim(options: dict[str, Any], starts: int, engine: str) -> None:
    """Of 25,326; the last 11 come from the end of the file, where 32 jobs still wait or run."""
    source = DATA / "KIT-FH2-2016-1.rst"
    problem = batch_io_from_cqsim(source, options=options)
    assert problem.machine.nodes == 24_048 and len(problem.jobs) == 25_326
    wanted = {job.id: job.start_seconds for job in read_cqsim(source)}
    found = rows(problem, engine)
    same = [job["start_seconds"] == pytest.approx(wanted[job["id"]], abs=1e-3) for job in found]
    assert sum(same) == starts
