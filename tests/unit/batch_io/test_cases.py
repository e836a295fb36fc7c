"""The shared worked cases and a worked example: exactly on Fractions, to 1e-6 in floats."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ioopt
from tests.conftest import ENGINES, shared_files

CASES = shared_files("cases/batch-io")
METRICS = {
    "avg_wait": "mean_wait_seconds",
    "avg_response": "mean_response_seconds",
    "avg_runtime": "mean_runtime_seconds",
    "makespan": "makespan_seconds",
    "avg_runtime_slowdown": "mean_slowdown",
}


def solve(instance: Any, name: str, **settings: str) -> ioopt.Result:
    """Run a policy, named as in the cases (``fill:alpha=0``); the checker must agree."""
    plain, _, alpha = name.partition(":alpha=")
    if alpha:
        settings["alpha"] = alpha
    result = ioopt.solve(instance, plain, settings=settings)
    assert result.violations == ()
    assert ioopt.check(instance, json.loads(json.dumps(result.to_dict()))) == []
    return result


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases_in_floats(path: Path, engine: str) -> None:
    case = json.loads(path.read_text())
    for name, expected in case["expected"].items():
        result = solve(case["instance"], name, engine=engine)
        assert result.schedule is not None
        by_id = {job["id"]: job for job in expected["jobs"]}
        for job in result.schedule["jobs"]:
            want = by_id.pop(job["id"])
            assert job["killed"] == want["killed"]
            found = [job["start_seconds"], job["end_seconds"]]
            hoped = [want["start"], want["end"]]
            for record, wanted in zip(job["io"], want["io"], strict=True):
                assert record["phase"] == wanted["k"]
                found += [record[key + "_seconds"] for key in ("request", "first_grant", "finish")]
                hoped += [wanted[key] for key in ("request", "first_grant", "finish")]
            assert found == pytest.approx([float(Fraction(x)) for x in hoped], abs=1e-6), name
        assert not by_id
        for key, metric in METRICS.items():
            wanted = float(Fraction(expected[key]))
            assert result.metrics[metric] == pytest.approx(wanted, abs=1e-6), (name, key)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases_as_rationals(path: Path) -> None:
    case = json.loads(path.read_text())
    for name, expected in case["expected"].items():
        result = solve(case["instance"], name, arithmetic="exact")
        assert result.schedule is not None
        by_id = {job["id"]: job for job in expected["jobs"]}
        for job in result.schedule["jobs"]:
            want = by_id.pop(job["id"])
            assert [job["exact"][key] for key in ("start", "end")] == [
                str(Fraction(want[key])) for key in ("start", "end")
            ]
            for record, wanted in zip(job["io"], want["io"], strict=True):
                for key in ("request", "first_grant", "finish"):
                    assert record["exact"][key] == str(Fraction(wanted[key])), (name, job["id"])
        for key, metric in METRICS.items():
            assert result.schedule["exact"][metric] == str(Fraction(expected[key])), (name, key)


def two_jobs() -> dict[str, Any]:
    """A worked example: 8 nodes at 1 GB/s, storage 4 GB/s, two jobs of 4 nodes, 8 GB."""
    phases = [{"compute_seconds": 0, "io_bytes": 8e9}]
    common = {"submit_seconds": 0, "nodes": 4, "walltime_seconds": 100, "phases": phases}
    return {
        "format": "ioopt/batch-io", "version": 1, "name": "worked",
        "machine": {
            "nodes": 8, "unit_nodes": 1, "allocation": "flat",
            "node_bytes_per_second": 1e9, "storage_bytes_per_second": 4e9,
        },
        "jobs": [{"id": "A", **common}, {"id": "B", **common}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "ends", "mean"),
    [
        # r = 4 GB/s each. N_S = 8, rho = 1/2, 2 GB/s each: both move 8 GB in 4 s.
        ("base-line", ["4", "4"], "4"),
        # A at 4 GB/s from 0 to 2, then B.
        ("cons-fcfs", ["2", "4"], "3"),
        # B: T_i = 2, T_FCFS = (2 + 2 + 2) / 2 = 3 < T_Adaptive = (4 + 4) / 2: not taken.
        ("adaptive", ["2", "4"], "3"),
        ("fill", ["2", "4"], "3"),
        ("no-congestion", ["2", "2"], "2"),
    ],
)
def test_worked_example_of_the_guide(name: str, ends: list[str], mean: str) -> None:
    result = solve(two_jobs(), name, arithmetic="exact")
    assert result.schedule is not None
    assert [job["exact"]["end"] for job in result.schedule["jobs"]] == ends
    assert result.schedule["exact"]["mean_response_seconds"] == mean
