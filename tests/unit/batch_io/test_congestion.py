"""Sets of periodic applications: reading, the published bound on efficiency,
steady-state measures.
"""

import pytest
from conftest import shared_path
from periodic_sets import (
    PROCESSORS,
    Application,
    batch_io_from_set,
    read_set,
    steady_state,
)


def test_set_and_its_published_upper_limit() -> None:
    applications = read_set(shared_path("data", "io-congestion", "set5"))
    assert applications[1] == Application(1.2, 235.8e9, 4096)
    # 4,096 processors send 40.96 GB/s: 235.8 / 40.96 = 5.757 s beside 1.2 s of work.
    assert applications[1].ideal_seconds == pytest.approx(1.2 + 235.8 / 40.96)
    # expes_syseff prints 0.816 as the upper limit of set 5: sum of
    # processors * work / ideal.
    limit = (
        sum(a.processors * a.work_seconds / a.ideal_seconds for a in applications)
        / PROCESSORS
    )
    assert limit == pytest.approx(0.816, abs=5e-4)


def test_steady_state_by_hand() -> None:
    # Half the machine: 1 s of work, 96 GB at 96 GB/s = 1 s. Here each I/O
    # takes 3 s instead.
    app = Application(1.0, 192e9, PROCESSORS // 2)
    assert app.ideal_seconds == 1 + 192 / 192
    problem = batch_io_from_set([app], "set1", periods=2)
    io = [
        {
            "phase": 0,
            "request_seconds": 1.0,
            "first_grant_seconds": 1.0,
            "finish_seconds": 4.0,
        },
        {
            "phase": 1,
            "request_seconds": 5.0,
            "first_grant_seconds": 5.0,
            "finish_seconds": 8.0,
        },
    ]
    schedule = {
        "jobs": [
            {
                "id": 1,
                "start_seconds": 0.0,
                "end_seconds": 8.0,
                "killed": False,
                "io": io,
            }
        ]
    }
    # In 8 s it works 2 s on half the machine: 1/8; its pace is 1/4 instead
    # of 1/2: dilation 2.
    found = steady_state(problem, schedule, 8.0)
    assert (found.efficiency, found.dilation) == (0.125, 2.0)
    # Up to 4.5 s: 1.5 s of work (0-1 and 4-4.5).
    assert steady_state(problem, schedule, 4.5).efficiency == pytest.approx(
        1.5 / 2 / 4.5
    )
