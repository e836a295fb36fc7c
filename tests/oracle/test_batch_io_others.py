"""The batch queue against the schedules that Batsim and CQSim made of the same jobs."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from batsim_stand_in import resources
from conftest import ENGINES, ROOT, shared_root

import ioopt
from ioopt.formats.batsim.workload import read_batsim
from ioopt.formats.io_rule import MachineRule
from ioopt.problems.batch_io import BatchIoProblem

FOLDER = shared_root() / "data" / "batch-oracles"
SAME_SECONDS = 1e-3
"""Starts that differ by less are the same: the files have milliseconds."""
CQSIM = {
    "queue": "fcfs",
    "backfill": "conservative",
    "plan": "rebuild",
    "estimate": "uncongested",
    "pass": "event",
}
NODES = {"reservation": "nodes"}
CASES: tuple[tuple[str, Mapping[str, str], tuple[int, int, int]], ...] = (
    ("easy", {"queue": "fcfs", "backfill": "easy"}, (725, 0, 801)),
    ("easy", {"queue": "fcfs", "backfill": "easy", **NODES}, (801, 801, 801)),
    (
        "conservative",
        {"queue": "fcfs", "backfill": "conservative", **NODES},
        (801, 801, 801),
    ),
    ("KIT-FH2", {"queue": "fcfs"}, (22_038, 0, 25_326)),
    ("KIT-FH2", CQSIM, (25_315, 0, 25_326)),
)
"""Whose schedule (Batsim's easy and conservative, CQSim's KIT-FH2), options of the
queue; jobs that start at the same time, that have the same machines too, all jobs. The
last 11: the file ends while 32 jobs still wait or run."""


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason="no schedules of other simulators here")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("schedule", "options", "expected"), CASES)
def test_starts_and_machines(
    schedule: str,
    options: Mapping[str, str],
    expected: tuple[int, int, int],
    engine: str,
) -> None:
    places: dict[Any, list[int]] = {}
    if schedule == "KIT-FH2":
        problem, wanted = read_cqsim(FOLDER / "KIT-FH2-2016-1.rst", options)
    else:
        rule = MachineRule(nodes=32)
        problem = read_batsim(
            FOLDER / "medium_late.json", machine=rule, options=dict(options)
        )
        with (FOLDER / schedule / "out_jobs.csv").open() as file:
            rows = {int(row["job_id"]): row for row in csv.DictReader(file)}
        wanted = {name: float(row["starting_time"]) for name, row in rows.items()}
        places = {
            name: list(resources(row["allocated_resources"]))
            for name, row in rows.items()
        }
    how = {"engine": engine, "rates": "no"}
    result = ioopt.solve(problem, "base-line", settings=how, time_limit=None)
    assert result.schedule is not None
    found = result.schedule["jobs"]
    assert wanted.keys() == {job["id"] for job in found}
    same = sum(
        math.isclose(
            job["start_seconds"], wanted[job["id"]], rel_tol=0, abs_tol=SAME_SECONDS
        )
        for job in found
    )
    placed = sum(job.get("nodes") == places.get(job["id"], ()) for job in found)
    assert (same, placed, len(found)) == expected


def read_cqsim(
    source: Path, options: Mapping[str, str]
) -> tuple[BatchIoProblem, dict[int, float]]:
    """The jobs of CQSim's results (``.rst``) that ran, and when CQSim started each.

    A line is number, processors (twice), requested seconds, run seconds,
    wait, submission, start, end. The machine has as many processors as
    CQSim ever used at once.
    """
    jobs, starts, changes = [], {}, []
    for line in filter(str.strip, source.read_text().splitlines()):
        name, nodes, _, walltime, run, _, submit, start, _ = map(float, line.split(";"))
        starts[int(name)] = start
        changes += [(start, nodes), (start + run, -nodes)]
        jobs.append(
            {
                "id": int(name),
                "submit_seconds": submit,
                "nodes": int(nodes),
                "walltime_seconds": walltime,
                "phases": [{"compute_seconds": run, "io_bytes": 0}],
            }
        )
    used = most = 0.0
    for _, change in sorted(changes):
        used += change
        most = max(most, used)
    jobs.sort(key=lambda job: (job["submit_seconds"], job["id"]))
    data = {
        "name": source.stem,
        "machine": MachineRule().machine(int(most)),
        "options": dict(options),
        "jobs": jobs,
    }
    return BatchIoProblem.model_validate(data), starts


def test_the_reader_takes_the_processors_that_were_used(tmp_path: Path) -> None:
    # Job 1 has 5 processors from 0 to 15, job 2 has 3 from 15 on: 5 at most.
    text = "2;3;3;60.0;20.0;5.0;10.0;15.0;35.0\n1;5;5;30.0;15.0;0.0;0.0;0.0;15.0\n\n"
    (tmp_path / "a.rst").write_text(text)
    problem, starts = read_cqsim(tmp_path / "a.rst", {"queue": "fcfs"})
    assert (problem.machine.nodes, problem.options.queue, starts) == (
        5,
        "fcfs",
        {1: 0, 2: 15},
    )
    assert [(j.id, j.submit_seconds, j.walltime_seconds) for j in problem.jobs] == [
        (1, 0, 30),
        (2, 10, 60),
    ]


def test_the_cases_are_those_of_the_page() -> None:
    page = (ROOT / "docs/batch-io.md").read_text("utf-8")
    assert ", ".join(f"{key}={value}" for key, value in CQSIM.items()) in page
