"""Experiments: values through the store, failures with their reason, a killed client that goes on."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from campaign_helpers import rows_in, run_study

from ioopt.campaign.report import report_html
from ioopt.campaign.store import StoreReader
from ioopt.campaign.study import open_campaign
from ioopt.campaign.work import perform
from ioopt.errors import IooptError

SEEDS = [{"seed": seed} for seed in range(6)]


def in_this_process(tasks, store, workers):
    for task in tasks:
        store.put(perform(task, None))


@pytest.fixture
def without_workers(monkeypatch):
    """Experiments run here, so that a test of what a study asks for needs no workers."""
    monkeypatch.setattr("ioopt.campaign.study.run_tasks", in_this_process)
    monkeypatch.setattr("ioopt.campaign.study.open_workers", lambda *_: nullcontext())


def test_a_value_is_computed_once_and_found_again(tmp_path, without_workers):
    path = str(tmp_path / "runs.sqlite")
    with open_campaign(path, 1) as campaign:
        study = campaign.study("squares")
        found = study.values("campaign_experiments:square", [*SEEDS, {"seed": 2}])
        assert [row["value"] for row in found] == [0, 1, 4, 9, 16, 25, 4]
        assert study.num_run == study.num_values == 6
        scaled = study.values("campaign_experiments:square", [{"seed": 2, "scale": 10.0}])
        assert scaled == [{"value": 40.0}] and study.num_run == 7
    with open_campaign(path, 1) as campaign:
        study = campaign.study("squares")
        again = study.values("campaign_experiments:square", list(reversed(SEEDS)))
        assert [row["value"] for row in again] == [25, 16, 9, 4, 1, 0]
        assert study.num_run == 0 and study.num_values == 6 and study.seconds > 0
    with StoreReader(path) as reader:
        rows = list(rows_in(reader, ("family", "kind", "instance", "solver", "seed", "status")))
    assert sorted(row[4] for row in rows) == [0, 1, 2, 2, 3, 4, 5]
    assert {(*row[:4], row[5]) for row in rows} == {
        ("experiment", "experiment", "squares", "campaign_experiments.square", "done")
    }
    page = report_html([path])
    assert "<h2>Experiments</h2>" in page and "campaign_experiments.square" in page


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("refuse", "ValueError: three is too many"),
        ("stop", "SystemExit: three is refused"),
        ("listed", "TypeError: campaign_experiments:listed returned list, not a mapping"),
        ("opaque", "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_a_failed_value_says_why_and_is_tried_again(tmp_path, without_workers, function, reason):
    path, target = str(tmp_path / "runs.sqlite"), f"campaign_experiments:{function}"
    for _ in range(2):
        with open_campaign(path, 1) as campaign:
            study = campaign.study("x")
            with pytest.raises(IooptError, match=reason) as caught:
                study.values(target, SEEDS)
            assert f"{target}(seed=" in str(caught.value)
            assert 1 <= study.num_run <= 6
    with StoreReader(path) as reader:
        assert len(rows_in(reader)) == 6


def test_a_killed_study_goes_on_from_its_store(tmp_path):
    """The client ends at its fifth row without any farewell; then the same study runs again."""
    path = str(tmp_path / "runs.sqlite")
    assert run_study(path, "square", 12, last=5).returncode == 9
    with StoreReader(path) as reader:
        assert len(rows_in(reader)) == 5
    again = run_study(path, "square", 12)
    assert again.returncode == 0, again.stderr
    assert again.stdout.split() == ["7", str(sum(n * n for n in range(12))) + ".0"]
    with StoreReader(path) as reader:
        assert len(rows_in(reader)) == 12
