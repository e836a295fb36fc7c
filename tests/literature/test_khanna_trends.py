"""Khanna et al. in simulation: where its ranking appears, and what the
printed scheme costs.
"""

import pytest

import ioopt
from ioopt.generate.replication.generate import generate

SEEDS = (0, 1, 2)


def _makespans(problem, solver, gap=None, **settings) -> dict[str, float]:
    result = ioopt.solve(problem, solver, time_limit=280, gap=gap, settings=settings)
    assert ioopt.check(problem, result) == []
    return {
        link: ioopt.simulate(problem, result, link=link).metrics["makespan_seconds"]
        for link in ("shared", "per-node")
    }


def test_job_data_present_beats_minmin_only_on_private_links():
    for seed in SEEDS:
        problem = generate("sat-85", {"disk": "unlimited"}, seed)
        present, minmin = (
            _makespans(problem, name) for name in ("job-data-present", "minmin")
        )
        assert present["per-node"] < 0.9 * minmin["per-node"]
        assert present["shared"] > minmin["shared"]


@pytest.mark.slow
def test_ip_leads_the_ranking_on_private_links():
    for seed in SEEDS:
        problem = generate("sat-85", {"disk": "unlimited"}, seed)
        ours = _makespans(problem, "ip", gap=0.005)
        present = _makespans(problem, "job-data-present")
        assert ours["per-node"] < present["per-node"]


@pytest.mark.slow
def test_one_rule_of_eviction_for_both_sides_puts_minmin_last():
    """Room for a whole task, as printed; where MinMin evicts what is
    missing alone, it is first.
    """
    for seed in SEEDS[:2]:
        problem = generate("image-85", {"tasks": 60}, seed)
        rounds = {"room": "largest", "barriers": "no", "effort": "0.02"}
        ours = _makespans(problem, "two-stage", **rounds)["per-node"]
        present = _makespans(problem, "job-data-present")["per-node"]
        cleared, missing = (
            _makespans(problem, "minmin", room=room)["per-node"]
            for room in ("largest", "missing")
        )
        assert missing < min(ours, present) < max(ours, present) < cleared
