"""exact-workflow against the replay of every set of queues, on the slow exact simulator."""

from __future__ import annotations

import pytest
from conftest import first
from workflow_exhaustive import POLICIES, all_queues, astray, disagreement, tight_workflow


@pytest.mark.parametrize(
    ("seeds", "tasks", "batch"),
    [
        (range(1, 9), 4, False),
        (range(1, 7), 4, True),
        pytest.param(range(2_000, 2_060), 6, False, marks=pytest.mark.slow),
    ],
)
def test_random_instances_agree_with_exhaustion(seeds: range, tasks: int, batch: bool) -> None:
    assert [text for seed in seeds if (text := disagreement(seed, tasks, batch))] == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", first(1, [3, 9]))
def test_the_search_meets_every_set_of_queues_and_replays_it(seed: int, policy: str) -> None:
    """Also where what goes from a disk depends on the queues' ends."""
    instance = tight_workflow(seed, 4 if seed == 3 else 5)
    met, wrong = astray(instance, policy)
    assert wrong == []
    assert met == sum(1 for _ in all_queues(instance))
