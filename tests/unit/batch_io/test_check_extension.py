"""The checker finds lies about own peaks, interference and numbered nodes.

The schedules are those of the slow reference, so that no engine has a part in them.
"""

from typing import Any

import pytest

import ioopt
from ioopt.checks.batch_io import check as batch_io
from tests.batch_io_extension_traces import random_extension
from tests.batch_io_traces import by_hand
from tests.oracle.batch_io_compare import METRICS, policy_of
from tests.oracle.batch_io_reference import Reference


def scheduled(instance: dict[str, Any], policy: str = "base-line") -> dict[str, Any]:
    return Reference(instance, policy).run().schedule()


def rules(
    instance: dict[str, Any], schedule: Any, policy: str = "base-line"
) -> set[str]:
    plan = {"policy": policy.removesuffix("+top"), "top": policy.endswith("+top")}
    report = batch_io.check(ioopt.load(instance), plan, schedule)
    return {item.rule for item in report.violations}


def shared(interference: float) -> dict[str, Any]:
    jobs = [(k, 0, 2, 100, [(k, 6)]) for k in (1, 2, 3)]
    return by_hand(jobs, {"interference": interference}, queue="fcfs")


@pytest.mark.parametrize(
    "policy", ["base-line", "cons-fcfs", "cons-fcfs+top", "adaptive", "fill"]
)
def test_interference_caps_the_sum(policy: str) -> None:
    """At 2 of 4 bytes/s each, two requests get 4 / 1.5 of 4; without
    interference they had it all.
    """
    schedule = scheduled(shared(0.0), policy)
    assert rules(shared(0.0), schedule, policy) == set()
    assert rules(shared(0.5), schedule, policy) == {"storage"}
    assert rules(shared(0.5), scheduled(shared(0.5), policy), policy) == set()


def test_a_part_of_the_peak_from_a_conservative_policy_under_interference() -> None:
    schedule = scheduled(shared(0.5), "cons-fcfs")
    records = [row["io"][0] for row in schedule["jobs"]]
    # 1 alone at 2 from 1 to 2, then beside 2 at 4/3 each. A little less
    # is no whole grant.
    assert [rate for _, _, rate in records[0]["rates"]] == pytest.approx(
        [2, 4 / 3, 4 / 3]
    )
    row = schedule["jobs"][0]
    row["io"][0]["rates"] = [[1, 2, 2], [2, 5.2, 1.25]]
    row["io"][0]["finish_seconds"] = row["end_seconds"] = 5.2
    assert "conservative" in rules(shared(0.5), schedule, "cons-fcfs")


def test_numbered_nodes() -> None:
    numbered = {**shared(0.0), "options": {"reservation": "nodes"}}
    schedule = scheduled(numbered)
    assert [row["nodes"] for row in schedule["jobs"]] == [[0, 1], [2, 3], [4, 5]]
    assert rules(numbered, schedule) == set()
    for nodes, rule in (
        ([1, 2], "overlap"),
        ([4], "allocation"),
        ([6, 8], "allocation"),
        ([7, 7], "allocation"),
        ([6, 7], None),
    ):
        schedule["jobs"][1]["nodes"] = nodes
        assert rules(numbered, schedule) >= ({rule} if rule else set())
    assert rules(numbered, schedule) == set()


@pytest.mark.parametrize("block", range(4))
def test_no_false_alarms_and_the_measures_of_the_reference(block: int) -> None:
    for seed in range(60 * block, 60 * block + 60):
        instance = random_extension(seed)
        name, settings = policy_of(seed)
        sim = Reference(instance, name, **settings).run()
        plan = {"policy": name.removesuffix("+top"), "top": name.endswith("+top")}
        report = batch_io.check(ioopt.load(instance), plan, sim.schedule())
        assert report.violations == (), (seed, name)
        metrics = sim.metrics()
        for key in METRICS:
            if metrics[key] is None:
                assert report.metrics.get(key) is None
            else:
                assert report.metrics[key] == pytest.approx(float(metrics[key])), (
                    seed,
                    key,
                )
