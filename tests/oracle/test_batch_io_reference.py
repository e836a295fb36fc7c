"""The exact engine against a slow reference that shares no code with it."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import ioopt
from tests.batch_io_traces import POLICIES, random_trace
from tests.oracle.batch_io_reference import simulate


@pytest.mark.parametrize("name", POLICIES)
def test_exact_engine_equals_the_reference(name: str) -> None:
    suspended = 0
    for seed in range(100, 140):
        problem = random_trace(seed, jobs=8)
        expected = simulate(problem.model_dump(mode="json"), name)
        result = ioopt.solve(problem, name, settings={"arithmetic": "exact"})
        assert result.schedule is not None
        for job in result.schedule["jobs"]:
            start, end, killed, block, records = expected.pop(job["id"])
            assert (job["exact"]["start"], job["exact"]["end"]) == (str(start), str(end)), seed
            assert job["killed"] == killed
            first = None if block is None else block * problem.machine.unit_nodes
            assert job["first_node"] == first
            found = [
                [
                    record["phase"],
                    *(record["exact"][key] for key in ("request", "first_grant", "finish")),
                ]
                for record in job["io"]
            ]
            wanted = [[k, *(None if t is None else str(Fraction(t)) for t in times)]
                      for k, *times in records]  # fmt: skip
            assert found == wanted, (seed, job["id"])
            suspended += any(record[1] != record[2] for record in records)
        assert not expected
    assert suspended > 10 or name in ("no-congestion", "base-line")


@pytest.mark.parametrize("allocation", ["flat", "partition"])
@pytest.mark.parametrize(
    ("queue", "backfill"), [("wfp", "easy"), ("wfp", "none"), ("fcfs", "easy")]
)
def test_a_long_queue_of_unlike_jobs(allocation: str, queue: str, backfill: str) -> None:
    """60 jobs, hardly two alike, of which most wait at once."""
    rng = random.Random(5)
    jobs = [
        {"id": k, "submit_seconds": rng.randint(0, 9), "nodes": rng.choice([1, 1, 2, 3, 4, 8]),
         "walltime_seconds": rng.randint(20, 400),
         "phases": [{"compute_seconds": rng.randint(1, 30), "io_bytes": rng.randint(0, 9)}]}
        for k in range(60)
    ]  # fmt: skip
    machine = {"nodes": 8, "unit_nodes": 1, "allocation": allocation, "node_bytes_per_second": 1,
               "storage_bytes_per_second": 5}  # fmt: skip
    instance = {
        "format": "ioopt/batch-io", "version": 1, "name": "long", "machine": machine, "jobs": jobs,
        "options": {"queue": queue, "backfill": backfill},
    }  # fmt: skip
    expected = simulate(instance, "cons-fcfs")
    result = ioopt.solve(instance, "cons-fcfs", settings={"arithmetic": "exact"})
    assert result.schedule is not None
    starts = [job["start_seconds"] for job in result.schedule["jobs"]]
    assert sum(start > 9 for start in starts) > 45
    for job in result.schedule["jobs"]:
        start, end, _, block, _ = expected[job["id"]]
        assert (job["exact"]["start"], job["exact"]["end"]) == (str(start), str(end))
        assert job["first_node"] == block
