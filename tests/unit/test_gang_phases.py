"""Single phases of a matrix update, by hand (rules 12 and 13)."""

from __future__ import annotations

from typing import Any

import ioopt


def _after(phase: str, levels: int, *running: tuple[list[int], list[int], int]) -> list[Any]:
    """(columns, home row) of jobs given as (columns, file nodes, home row), after one phase."""
    matrix = {
        "format": "ioopt/gang-matrix", "name": phase,
        "machine": {"nodes": 4, "levels": levels, "quantum_seconds": 100.0},
        "running": [
            {"id": k, "columns": columns, "file_nodes": files, "home_row": row,
             "local_seconds": 100.0, "remote_seconds": 200.0, "remaining_fraction": 0.5,
             "attained_seconds": 50.0}
            for k, (columns, files, row) in enumerate(running)
        ],
        "waiting": [], "migration_tasks_left": 1,
    }  # fmt: skip
    plan = ioopt.solve(matrix, "migrate-iogs", settings={"phase": phase}).plan
    assert plan is not None
    return [(list(job["columns"]), job["home_row"]) for job in plan["jobs"]]


def test_rows_of_equal_population_are_merged() -> None:
    """One job each: the lower row is the first to give, and pop(j) >= pop(i) lets row 1 take."""
    assert _after("compact", 2, ([0], [0], 0), ([1], [1], 1)) == [([0], 1), ([1], 1)]
    # Row 1 holds two nodes, row 0 three: row 1 gives, though it does not fit whole.
    after = _after("compact", 2, ([0, 1, 2], [0, 1, 2], 0), ([2], [2], 1), ([3], [3], 1))
    assert after == [([0, 1, 2], 0), ([2], 1), ([3], 0)]


def test_a_migrating_job_may_use_its_own_columns() -> None:
    """From nodes 0, 1 to its files on 1, 2 in the only row: one task moves, and one may."""
    assert _after("migrate", 1, ([0, 1], [1, 2], 0)) == [([1, 2], 0)]
    assert _after("migrate", 1, ([0, 1], [2, 3], 0)) == [([0, 1], 0)]  # two tasks are too many
