"""The batch queue against the schedules that Batsim and CQSim made of the same jobs."""

from __future__ import annotations

import pytest
from bench.batch_io_queues import CASES, CQSIM, ENGINES, agreement, numbers

from tests.conftest import shared_root

SCHEDULES = (shared_root() / "data" / "batch-oracles").is_dir()
WANTED = ((725, 0, 801), (801, 801, 801), (801, 801, 801), (22_038, 0, 25_326), (25_315, 0, 25_326))
"""Starts, machines, jobs of each case. The last 11: the file ends while 32 jobs still wait or run."""


@pytest.mark.slow
@pytest.mark.skipif(not SCHEDULES, reason="no schedules of other simulators here")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("case", "wanted"), list(zip(CASES, WANTED)))
def test_starts_and_machines(case, wanted, engine) -> None:
    assert agreement(*case, engine)[:3] == wanted


def test_the_cases_are_those_of_the_page() -> None:
    from conftest import ROOT

    page = (ROOT / "docs/batch-io.md").read_text("utf-8")
    assert ", ".join(f"{key}={value}" for key, value in CQSIM.items()) in page
    assert numbers("0-2 5") == [0, 1, 2, 5]
