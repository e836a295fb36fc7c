"""Pictures of the gang family: what is drawn, and that nothing is shown or saved."""

from typing import Any

import pytest
from gang_tools import random_workload

import ioopt
from ioopt.errors import UsageError
from ioopt.plot.matrix import fullest, plot_gang, plot_matrix

JOBS: list[dict[str, Any]] = [
    {"id": "a", "columns": [0, 1, 4], "home_row": 0, "rows": [0, 1], "local": True},
    {"id": "b", "columns": [2, 3], "home_row": 1, "rows": [1], "local": False},
]


def test_matrix_shows_every_instance() -> None:
    axes = plot_matrix(JOBS)
    # Job a is local: two runs of columns at home, two as replicas in row 1;
    # b is away: one run.
    pieces = [len(collection.get_paths()) for collection in axes.collections]
    assert pieces == [2, 2, 1]
    assert sorted(text.get_text() for text in axes.texts) == ["a", "a", "b"]
    assert axes.get_xlabel() == "node (number)"
    assert axes.get_xlim() == (0, 5)


def test_a_matrix_of_ten_thousand_jobs_is_a_few_collections() -> None:
    # Jobs of one node each on 5,000 nodes: their edges would hide them.
    jobs = [
        {
            "id": f"j{k}",
            "columns": [k % 5000],
            "home_row": k // 5000,
            "rows": [k // 5000],
            "local": k % 1000 < 500,
        }
        for k in range(10_000)
    ]
    axes = plot_matrix(jobs)
    assert [len(collection.get_paths()) for collection in axes.collections] == [
        5000,
        5000,
    ]
    assert not axes.texts
    tall = plot_matrix([job | {"home_row": 90, "rows": [0, 90]} for job in JOBS])
    assert tall.get_ylim() == (39.5, -0.5) and "the first 40 of 91" in tall.get_ylabel()


def test_fullest_instant() -> None:
    updates = [
        {"seconds": 0.0, "left": [], "placed": [JOBS[0]]},
        {"seconds": 5.0, "left": [], "placed": [JOBS[1]]},
        {"seconds": 9.0, "left": ["a"], "placed": []},
    ]
    seconds, jobs = fullest(updates)
    assert seconds == 5.0
    assert [job["id"] for job in jobs] == ["a", "b"]


def test_result_needs_its_history() -> None:
    problem = random_workload(3)
    drawn = plot_gang(ioopt.solve(problem, "migrate-iogs"))
    assert "fullest matrix, at" in drawn.get_title()
    without = ioopt.solve(problem, "gs", settings={"history": "no"})
    with pytest.raises(UsageError, match="history=yes"):
        plot_gang(without)
