"""The age term of index-iogs: who has waited longer blocks the queue."""

from __future__ import annotations

import pytest
from conftest import ENGINES
from gang_tools import workload

import ioopt

JOBS = [(0, [0], 200), (1, [0, 1], 10), (2, [1], 50), (3, [1], 50), (4, [1], 50)]
"""(arrival, file nodes, local seconds): job 1 needs both nodes of the one row."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("age", "last"), [(100, 210), (100.5, 210), (150, 102), (200, 102), (0, 102)]
)
def test_an_overdue_job_stops_admission(age: float, last: float, engine: str) -> None:
    """Job 0 runs 0 to 200, jobs 2 and 3 from 2 to 52 and to 102. Then job 1 has waited 101 s.

    At an age of 100 s it is overdue and blocks: it runs from 200 to 210, job 4 after it. At 150 s
    it does not, and job 4 starts at 102.
    """
    jobs = [(at, nodes, local, 3 * local) for at, nodes, local in JOBS]
    instance = workload(jobs, nodes=2, levels=1, quantum_seconds=10.0)
    settings = {"age_seconds": age, "engine": engine}
    result = ioopt.solve(instance, "index-iogs", settings=settings)
    assert [job["start_seconds"] for job in (result.schedule or {})["jobs"]][4] == last
