"""Plain and compiled simulator against the exact reference, on random instances with tight disks."""

from __future__ import annotations

import pytest
from conftest import ENGINES
from random_replication import random_case
from replication_timeline import Reference

import ioopt
from ioopt.check.replication.check import check
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.simulate import simulate


def agree(seed: int, engine: str) -> tuple[int, int]:
    """Compare one case; returns (transfers, evictions) so that the caller sees work was done."""
    instance, written, link = random_case(seed)
    tasks, transfers, evictions, last = Reference(instance, written, link).run()
    problem = ioopt.load(instance)
    plan = ReplicationPlan.model_validate(written)
    replayed = simulate(problem, plan, link, engine=engine)
    found = replayed.schedule
    assert abs(replayed.metrics["makespan_seconds"] - float(last)) <= 1e-9 * max(1, float(last))
    for row in found["tasks"]:
        begun, ended = tasks[row["id"]]
        assert row["start_seconds"] == pytest.approx(float(begun), rel=1e-9, abs=1e-9)
        assert row["end_seconds"] == pytest.approx(float(ended), rel=1e-9, abs=1e-9)
    assert [(t["file"], t["source"], t["destination"]) for t in found["transfers"]] == [
        (t.file, t.source, t.target) for t in transfers
    ]
    for row, transfer in zip(found["transfers"], transfers, strict=True):
        assert row["start_seconds"] == pytest.approx(float(transfer.start), rel=1e-9, abs=1e-9)
        assert row["end_seconds"] == pytest.approx(float(transfer.end), rel=1e-9, abs=1e-9)
    assert [(e["file"], e["node"]) for e in found["evictions"]] == [e[:2] for e in evictions]
    for row, eviction in zip(found["evictions"], evictions, strict=True):
        assert row["seconds"] == pytest.approx(float(eviction[2]), rel=1e-9, abs=1e-9)
    return len(transfers), len(evictions)


@pytest.mark.parametrize("engine", ENGINES)
def test_random_replays_agree_with_the_reference(engine: str) -> None:
    counts = [agree(seed, engine) for seed in range(400)]
    assert sum(transfers for transfers, _ in counts) > 2000
    assert sum(evictions for _, evictions in counts) > 400


def test_checker_accepts_every_random_replay() -> None:
    checked = 0
    for seed in range(200):
        instance, written, link = random_case(seed)
        if written.get("barriers") or link != "shared":
            continue
        problem = ioopt.load(instance)
        plan = ReplicationPlan.model_validate({**written, "moves": "replay"})
        assert check(problem, plan, simulate(problem, plan).schedule).violations == ()
        checked += 1
    assert checked > 50
