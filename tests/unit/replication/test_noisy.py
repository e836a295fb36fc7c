"""Noisy replays: latency and unfair sharing, by hand, and on the command line."""

import json
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ENGINES

import ioopt
from ioopt.errors import UsageError
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.build import Noise
from ioopt.sim.replication.noisy import noise_of, noisy_makespans, spread_of

TWO_FETCHES: dict[str, Any] = {
    "format": "ioopt/replication",
    "network": {"remote_bytes_per_second": 10, "replica_bytes_per_second": 100},
    "nodes": [{"id": "n0"}, {"id": "n1"}],
    "files": [{"id": "f0", "bytes": 100}, {"id": "f1", "bytes": 100}],
    "tasks": [
        {"id": "a", "inputs": ["f0"], "compute_seconds": 30},
        {"id": "b", "inputs": ["f1"], "compute_seconds": 1},
    ],
}
PLAN = ReplicationPlan.model_validate({"order": {"n0": ["a"], "n1": ["b"]}})


def weight(file: int, receiver: int, draw: int, sigma: float) -> float:
    """Return the weight of timeline rule 10."""
    normal = np.random.default_rng(8191).standard_normal(8191)
    place = (7919 * file + 1543 * receiver + 4801 * draw) % 8191
    return exp(sigma * normal[place])


@pytest.mark.parametrize("engine", ENGINES)
def test_latency_moves_the_bytes_later(engine: Any) -> None:
    """Both files share 10 bytes/s: 20 s, then 30 s of computing; 2 s later with 2 s of
    latency.
    """
    problem = ioopt.load(TWO_FETCHES)
    for latency, makespan in ((0.0, 50.0), (2.0, 52.0)):
        noise = Noise(latency_seconds=latency)
        found = noisy_makespans(problem, PLAN, noise, 2, engine=engine)
        assert found == pytest.approx([makespan, makespan])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_flow_gets_a_share_by_its_weight(engine: Any) -> None:
    """f0 moves at 10 w0 / (w0 + w1) while f1 moves too, and a computes 30 s behind it.

    Where f1 is the faster one, f0 ends when all 200 bytes have crossed the link, at
    20 s.
    """
    problem = ioopt.load(TWO_FETCHES)
    noise = Noise(sharing_noise=0.5)
    found = noisy_makespans(problem, PLAN, noise, 20, engine=engine)
    wanted = []
    for draw in range(1, 21):
        first = weight(0, 0, draw, 0.5)
        second = weight(1, 1, draw, 0.5)
        share = 10 * first / (first + second)
        wanted.append(30 + min(100 / share, 20.0))
    assert found == pytest.approx(wanted)
    assert min(wanted) < 45 < 50 == pytest.approx(max(wanted))


def test_an_empty_file_is_there_after_the_latency() -> None:
    files = [{"id": "f0", "bytes": 0}, {"id": "f1", "bytes": 0}]
    problem = ioopt.load({**TWO_FETCHES, "files": files})
    assert noisy_makespans(problem, PLAN, Noise(3.0), 1) == [33.0]


def test_the_check_and_the_exact_replay_ignore_noise() -> None:
    network = {**TWO_FETCHES["network"], "latency_seconds": 2, "sharing_noise": 0.5}
    problem = ioopt.load({**TWO_FETCHES, "network": network})
    assert noise_of(problem) == Noise(2.0, 0.5)
    assert noise_of(problem, 0.1) == Noise(2.0, 0.1)
    result = ioopt.solve(problem, "locality")
    assert result.objective == 50.0 and ioopt.check(problem, result) == []


def test_a_plan_decided_while_tasks_ran_is_refused() -> None:
    problem = ioopt.load(TWO_FETCHES)
    rows = [[0.0, "a", "n0"], [0.0, "b", "n1"]]
    plan = ReplicationPlan.model_validate({**PLAN.to_dict(), "dispatches": rows})
    with pytest.raises(UsageError, match="--solver"):
        noisy_makespans(problem, plan, Noise(1.0))


def test_the_spread_by_hand() -> None:
    """Of 0, 1, 2, .. 20 s: median 10, 95 % 19, mean 10."""
    found = spread_of([float(k) for k in range(21)])
    assert found == {"least": 0, "median": 10, "p95": 19, "most": 20, "mean": 10}


def test_simulate_prints_the_spread(run: Any, tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(json.dumps(TWO_FETCHES))
    (tmp_path / "r.json").write_text(json.dumps({"plan": PLAN.to_dict()}))
    noise = ["--sharing-noise", "0.5", "--latency", "2", "--draws", "5"]
    code, out, _ = run("simulate", "two.json", "r.json", *noise)
    assert code == 0 and "noisy makespan, median" in out
    code, out, _ = run("simulate", "two.json", "r.json", *noise, "--format", "json")
    noisy = json.loads(out)["noisy"]
    assert noisy["draws"] == 5 and noisy["latency_seconds"] == 2
    problem = ioopt.load(TWO_FETCHES)
    assert noisy["most"] == max(noisy_makespans(problem, PLAN, Noise(2.0, 0.5), 5))
    code, out, _ = run(
        "simulate", "two.json", "--solver", "fifo", *noise, "--format", "json"
    )
    live = json.loads(out)
    assert code == 0 and live["noisy"]["least"] < live["noisy"]["most"]
    code, _, err = run("simulate", "small-8", "r.json", "--draws", "2")
    assert code == 2 and "--draws belongs to replication instances" in err
