"""The engines against a slow reference that shares no code with them, and both
on the worked cases.
"""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import first

import ioopt
from tests.batch_io_traces import POLICIES, by_hand, random_trace
from tests.conftest import needs_kernels, shared_files, worked_case
from tests.oracle.batch_io_compare import RUNS, differences, differences_of
from tests.oracle.batch_io_reference import Reference

TOGETHER = [("python", "exact"), pytest.param(("compiled",), marks=needs_kernels)]
"""Engines that one run of the reference is compared with."""


@pytest.mark.parametrize("name", first(6, POLICIES))
@pytest.mark.parametrize("engines", TOGETHER, ids="-".join)
def test_engines_equal_the_reference(name: str, engines: tuple[str, ...]) -> None:
    for seed in range(100, 120):
        instance = random_trace(seed, jobs=8).model_dump(mode="json")
        settings = {"ef": "1.5"} if seed % 2 else {}
        assert differences(instance, name, settings, *engines) == [], seed


@pytest.mark.parametrize("allocation", ["flat", "partition"])
@pytest.mark.parametrize(
    ("queue", "backfill"), [("wfp", "easy"), ("wfp", "none"), ("fcfs", "easy")]
)
def test_a_long_queue_of_unlike_jobs(
    allocation: str, queue: str, backfill: str
) -> None:
    """60 jobs, hardly two alike, of which most wait at once."""
    rng = random.Random(5)
    jobs = [
        (
            k,
            rng.randint(0, 9),
            rng.choice([1, 1, 2, 3, 4, 8]),
            rng.randint(20, 400),
            [(rng.randint(1, 30), rng.randint(0, 9))],
        )
        for k in range(60)
    ]
    machine = {"allocation": allocation, "storage_bytes_per_second": 5}
    instance = by_hand(jobs, machine, queue=queue, backfill=backfill)
    assert differences(instance, "cons-fcfs", {}, "exact") == []


CASES = shared_files("cases/batch-io") + shared_files("cases/batch-io-extension")
METRICS = {
    "avg_wait": "mean_wait_seconds",
    "avg_response": "mean_response_seconds",
    "avg_runtime": "mean_runtime_seconds",
    "makespan": "makespan_seconds",
    "avg_runtime_slowdown": "mean_slowdown",
}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_reference_reproduces_the_worked_cases(path: Path) -> None:
    case = worked_case(path)
    for name, expected in case["expected"].items():
        policy, _, setting = name.partition(":")
        settings = dict([setting.split("=")] if setting else [])
        sim = Reference(case["instance"], policy, **settings).run()
        found = {job["id"]: job for job in sim.jobs}
        for want in expected["jobs"]:
            job = found.pop(want["id"])
            assert [job["start"], job["end"]] == [
                Fraction(want[key]) for key in ("start", "end")
            ]
            assert job["killed"] == want["killed"]
            assert rows(job["io"], "grant") == rows(want["io"], "first_grant"), (
                name,
                job["id"],
            )
            if "released" in want:
                assert job["released"] == Fraction(want["released"])
                assert rows(job["streams"], "grant") == rows(
                    want["streams"], "first_grant"
                )
            if "nodes" in want:
                assert list(job["place"]) == want["nodes"]
        assert not found
        metrics = sim.metrics()
        for key, metric in METRICS.items():
            assert metrics[metric] == Fraction(expected[key]), (name, key)


@pytest.mark.parametrize("engines", TOGETHER, ids="-".join)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_engines_reproduce_the_worked_cases(
    path: Path, engines: tuple[str, ...]
) -> None:
    case = worked_case(path)
    for name in case["expected"]:
        policy, _, setting = name.partition(":")
        settings = dict([setting.split("=")] if setting else [])
        sim = Reference(case["instance"], policy, **settings).run()
        metrics = sim.metrics()
        for engine in engines:
            result = ioopt.solve(
                case["instance"], policy, settings=settings | RUNS[engine]
            )
            assert differences_of(result, sim, metrics, engine) == []
            stored = json.loads(json.dumps(result.to_dict()))
            assert ioopt.check(case["instance"], stored) == []


def rows(records: list[dict[str, Any]], grant: str) -> list[list[Any]]:
    times = ("request", grant, "finish")
    return [
        [
            record.get("kind", "io"),
            record["k"],
            *(exactly(record[key]) for key in times),
        ]
        for record in records
    ]


def exactly(time: Any) -> str | None:
    return None if time is None else str(Fraction(time))
