"""The exact engine against a slow reference that shares no code with it."""

from __future__ import annotations

from fractions import Fraction

import pytest

import ioopt
from tests.batch_io_traces import POLICIES, random_trace
from tests.oracle.batch_io_reference import simulate


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "set-10"])
def test_exact_engine_equals_the_reference(name: str) -> None:
    suspended = 0
    for seed in range(100, 140):
        problem = random_trace(seed, jobs=8)
        expected = simulate(problem.model_dump(mode="json"), name)
        result = ioopt.solve(problem, name, settings={"arithmetic": "exact"})
        assert result.schedule is not None
        for job in result.schedule["jobs"]:
            start, end, killed, block, records = expected.pop(job["id"])
            assert (job["exact"]["start"], job["exact"]["end"]) == (str(start), str(end)), seed
            assert job["killed"] == killed
            first = None if block is None else block * problem.machine.unit_nodes
            assert job["first_node"] == first
            found = [
                [
                    record["phase"],
                    *(record["exact"][key] for key in ("request", "first_grant", "finish")),
                ]
                for record in job["io"]
            ]
            wanted = [[k, *(None if t is None else str(Fraction(t)) for t in times)]
                      for k, *times in records]  # fmt: skip
            assert found == wanted, (seed, job["id"])
            suspended += any(record[1] != record[2] for record in records)
        assert not expected
    assert suspended > 10 or name in ("no-congestion", "base-line")
