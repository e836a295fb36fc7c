"""Rates of replayed schedules against SimGrid (CM02, no cross traffic, no latency), where it is."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from random_replication import random_case

import ioopt
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import simulate

ORACLE = Path(__file__).resolve().parents[2] / "oracle"
PYTHON = shutil.which("python3", path="/usr/bin")


@cache
def installed() -> bool:
    if PYTHON is None:
        return False
    tried = subprocess.run([PYTHON, "-c", "import simgrid"], capture_output=True, check=False)
    return tried.returncode == 0


def ends(case: dict[str, Any]) -> list[float]:
    assert PYTHON is not None
    run = subprocess.run(
        [PYTHON, str(ORACLE / "simgrid_rates.py")],
        input=json.dumps(case), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found: list[float] = json.loads(run.stdout.splitlines()[-1])
    return found


def flows(problem: ReplicationProblem, schedule: dict[str, Any], link: str) -> dict[str, Any]:
    """The transfers of *schedule* that have a length, as flows over NICs, storages and links."""
    nodes, network = problem.node_index, problem.network
    storages = {storage.id: k for k, storage in enumerate(problem.storages)}
    count = len(nodes)
    capacity = [network.replica_bytes_per_second] * count
    capacity += [storage.bytes_per_second for storage in problem.storages]
    first = len(capacity)
    capacity += [network.remote_bytes_per_second] * (1 + count)
    rows = []
    for move in schedule["transfers"]:
        file = problem.files[problem.file_index[move["file"]]]
        target = nodes[move["destination"]]
        if move["source"] is not None:
            links = [nodes[move["source"]], target]
        else:
            links = [first if link == "shared" else first + 1 + target, target]
            links += [] if file.storage is None else [count + storages[file.storage]]
        if file.bytes:
            rows.append(
                {
                    "start": move["start_seconds"], "bytes": file.bytes, "links": links,
                    "end": move["end_seconds"],
                }
            )  # fmt: skip
    return {"capacity": capacity, "flows": rows}


@pytest.mark.skipif(not installed(), reason="python3-simgrid is not installed under /usr/bin")
def test_one_flow_takes_exactly_eight_seconds() -> None:
    flow = {"start": 0.0, "bytes": 100_000_000, "links": [0]}
    assert ends({"capacity": [12.5e6], "flows": [flow]}) == [8.0]


@pytest.mark.skipif(not installed(), reason="python3-simgrid is not installed under /usr/bin")
@pytest.mark.slow
def test_random_schedules_have_the_same_ends() -> None:
    compared = shared = 0
    for seed in range(40):
        instance, written, link = random_case(seed)
        problem = ioopt.load(instance)
        replayed = simulate(problem, ReplicationPlan.model_validate(written), link)
        case = flows(problem, replayed.schedule, link)
        if not case["flows"]:
            continue
        for row, end in zip(case["flows"], ends(case), strict=True):
            assert end == pytest.approx(row["end"], rel=1e-9, abs=1e-9)
            compared += 1
            shared += any(
                other is not row
                and set(other["links"]) & set(row["links"])
                and other["start"] < row["end"]
                and row["start"] < other["end"]
                for other in case["flows"]
            )
    assert compared > 150
    assert shared > 50
