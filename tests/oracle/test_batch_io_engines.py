"""Fractions, floats and the compiled engine give one schedule on short random traces."""

from __future__ import annotations

from typing import Any

import pytest

import ioopt
from tests.batch_io_traces import POLICIES, random_trace


def times(result: ioopt.Result) -> list[float]:
    assert result.violations == ()
    assert result.schedule is not None
    found: list[Any] = []
    for job in result.schedule["jobs"]:
        found += [job["start_seconds"], job["end_seconds"], job["killed"], job["first_node"]]
        for record in job["io"]:
            found += [record[key] for key in ("phase", "request_seconds", "first_grant_seconds")]
            found.append(record["finish_seconds"])
    return [-1.0 if value is None else float(value) for value in found]


@pytest.mark.parametrize("loop", ["closed", "open"])
@pytest.mark.parametrize("name", POLICIES)
def test_engines_agree(name: str, loop: str) -> None:
    delayed = 0
    for seed in range(25):
        problem = random_trace(seed)
        runs = [
            ioopt.solve(problem, name, settings={"loop": loop, "ef": "1.5", **kind})
            for kind in ({"arithmetic": "exact"}, {"engine": "python"}, {"engine": "compiled"})
        ]
        exact, *others = (times(run) for run in runs)
        for other in others:
            assert other == pytest.approx(exact, abs=1e-6), (seed, name)
        metrics = [run.metrics for run in runs]
        for key, value in metrics[0].items():
            assert metrics[1][key] == pytest.approx(value, abs=1e-6), (seed, key)
            assert metrics[2][key] == pytest.approx(value, abs=1e-6), (seed, key)
        delayed += metrics[0]["io_delay_seconds"] > 0
    # The traces must put the policies to the test: contention in most of them.
    assert delayed > 15 or name == "no-congestion"
