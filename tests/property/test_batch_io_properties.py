"""Properties that hold for every policy on any trace; the checker shares no code with the engines."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.formats.native import dump_json, parse_json
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace
from tests.batch_io_traces import POLICIES, random_trace

SEEDS = st.integers(0, 10**9)


@given(SEEDS, st.sampled_from(POLICIES), st.sampled_from(["closed", "open"]))
@settings(max_examples=20, deadline=None)
def test_bytes_are_conserved_and_the_cap_is_never_exceeded(seed: int, name: str, loop: str) -> None:
    problem = random_trace(seed)
    result = ioopt.solve(problem, name, settings={"loop": loop, "rates": "yes"})
    assert result.violations == () and result.schedule is not None
    wanted = {job.id: job for job in problem.jobs}
    storage = problem.machine.storage_bytes_per_second
    edges: list[tuple[float, float]] = []
    for row in result.schedule["jobs"]:
        job = wanted.pop(row["id"])
        volumes = [phase.io_bytes for phase in job.phases for _ in range(phase.repeat)]
        for record in row["io"]:
            moved = sum((until - since) * rate for since, until, rate in record["rates"])
            if record["finish_seconds"] is not None:
                assert math.isclose(moved, volumes[record["phase"]], rel_tol=1e-6)
            edges += [(until, -rate) for _, until, rate in record["rates"]]
            edges += [(since, rate) for since, _, rate in record["rates"]]
        assert job.submit_seconds <= row["start_seconds"] <= row["end_seconds"]
    assert not wanted
    total = 0.0
    for k, (time, rate) in enumerate(sorted(edges)):
        total += rate
        lasting = k + 1 == len(edges) or sorted(edges)[k + 1][0] > time + 1e-6
        assert name == "no-congestion" or not lasting or total <= storage * (1 + 1e-6)


@given(SEEDS, st.sampled_from(POLICIES))
@settings(max_examples=60, deadline=None)
def test_no_policy_beats_the_uncongested_run_in_the_open_loop(seed: int, name: str) -> None:
    problem = random_trace(seed)
    problem = problem.model_copy(
        update={"options": problem.options.model_copy(update={"kill": False})}
    )
    trace = Trace.of(problem)
    free, other = (run_trace(trace, io_policy(n), "open") for n in ("no-congestion", name))
    delays = [free.end[j] - free.start[j] - trace.ideal[j] for j in range(len(trace))]
    assert abs(sum(delays)) <= 1e-9 * len(trace)
    assert sum(other.end) >= sum(free.end) - 1e-6 * len(trace)


@given(SEEDS, st.sampled_from(POLICIES))
@settings(max_examples=40, deadline=None)
def test_names_do_not_matter_but_their_order_does(seed: int, name: str) -> None:
    problem = random_trace(seed)
    order = sorted(job.id for job in problem.jobs)
    renamed: dict[str, Any] = problem.model_dump(mode="json")
    for job in renamed["jobs"]:
        job["id"] = f"job-{order.index(job['id']):03d}"
    first, second = ioopt.solve(problem, name), ioopt.solve(renamed, name)
    assert first.metrics == second.metrics
    assert first.schedule is not None and second.schedule is not None
    assert len(first.schedule["jobs"]) == len(second.schedule["jobs"]) > 0


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_written_then_read_is_equal(seed: int) -> None:
    problem = random_trace(seed)
    text = dump_json(problem.model_dump(mode="json"))
    assert ioopt.load(parse_json(text, "text")) == problem
