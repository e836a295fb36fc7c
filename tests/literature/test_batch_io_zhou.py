"""The reproduction of Zhou et al.: its statistics by hand, and trends on small seeded workloads."""

from __future__ import annotations

import math

import pytest
from papers import zhou
from papers import zhou as reproduce_zhou
from papers.claims import mean_and_error


def test_mean_and_error_by_hand() -> None:
    # Mean 2; deviations -1, 0, 1: variance 2 / 2 = 1, error 1 / sqrt 3.
    mean, error = mean_and_error([1.0, 2.0, 3.0])
    assert (mean, error) == pytest.approx((2.0, 1 / math.sqrt(3)))
    assert not reproduce_zhou.below([0.8, 0.9, 1.0], 0.97)
    assert reproduce_zhou.below([0.80, 0.81, 0.82], 0.97)


def test_ratios_pair_the_seeds() -> None:
    runs = zhou.Runs(zhou.Size(2, {}, "python"))
    runs.values["mira-month", "closed", "fill", 1.0] = [
        {"mean_wait_seconds": 2.0},
        {"mean_wait_seconds": 9.0},
    ]
    runs.values["mira-month", "closed", "adaptive", 1.0] = [
        {"mean_wait_seconds": 4.0},
        {"mean_wait_seconds": 3.0},
    ]
    assert runs.ratios("mean_wait_seconds", "fill", "adaptive", 1.0) == [0.5, 3.0]
    # Means: 11 over 7. Without one seed 9 / 3 = 3 or 2 / 4 = .5, each 1.25 from 1.75; the error
    # is the root of (2 - 1) / 2 * (1.25^2 + 1.25^2).
    found = runs.ratio_of_means("mean_wait_seconds", "fill", "adaptive", 1.0)
    assert found == pytest.approx((11 / 7, 1.25))


def test_a_claim_stands_under_each_reading() -> None:
    """Base-line waits 4 s by nodes and 8 s evenly shared; cons-fcfs 6 s, with its left-over used 3 s."""
    runs = zhou.Runs(zhou.Size(2, {}, "python"))
    waits = {
        "base-line:per-node": 4.0,
        "base-line:even-split": 8.0,
        "cons-fcfs": 6.0,
        "cons-fcfs+top": 3.0,
    }
    for policy, wait in waits.items():
        rows = [{"mean_wait_seconds": wait}, {"mean_wait_seconds": wait}]
        runs.values["mira-month", "closed", policy, 1.0] = rows
    found = [
        runs.under(reading).ratios("mean_wait_seconds", "cons-fcfs", "base-line", 1.0)[0]
        for reading in zhou.READINGS[:4]
    ]
    assert found == [1.5, 0.75, 0.75, 0.375]
    assert [reading.name for reading in zhou.READINGS[:4]] == [
        "month: ours", "month: ours+top", "month: even-split", "month: even-split+top",
    ]  # fmt: skip


@pytest.mark.slow
def test_trends_on_small_workloads(monkeypatch) -> None:
    monkeypatch.setattr(zhou, "FACTORS", (0.3, 1.5))
    size = zhou.Size(3, {"jobs": "100", "days": "1"}, "python")
    runs = zhou.run_all(size)
    delay = [runs.mean("io_delay_seconds", "adaptive", f, "open") for f in (0.3, 1.5)]
    assert delay[1] > 5 * delay[0] > 0
    for factor in (0.3, 1.5):
        ratios = runs.ratios("io_delay_seconds", "fill", "adaptive", factor, "open")
        assert mean_and_error(ratios)[0] < 0.7
    response = runs.ratios("mean_response_seconds", "fill", "base-line", 1.5)
    assert mean_and_error(response)[0] < 1.0
    lost = runs.under(zhou.READINGS[2])
    assert lost.mean("mean_wait_seconds", "base-line", 1.5) > runs.mean(
        "mean_wait_seconds", "base-line", 1.5
    )
