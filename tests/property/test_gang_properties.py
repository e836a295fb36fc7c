"""Properties of every gang policy on random workloads, and of the compiled
phases on random states.
"""

import pytest
from conftest import both_makers, first
from gang_tools import POLICIES, compiled_phase, random_matrix, random_workload
from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.decisions.gang.state import State, state_of
from ioopt.sim.gang.update import phases_of

ONLINE = ("gs", "iogs", "adaptive-iogs", "migrate-iogs", "guarded-iogs", "index-iogs")
SEEDS = st.integers(0, 10**6)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_every_policy_passes_the_checker(seed: int) -> None:
    problem = random_workload(seed)
    for name in ONLINE:
        result = ioopt.solve(problem, name)
        assert result.status in ("feasible", "optimal"), (
            name,
            result.violations,
            result.notes,
        )
        metrics = result.metrics
        assert metrics["mean_slowdown"] >= metrics["mean_slowdown_from_start"] > 0
        assert 0 < metrics["matrix_utilisation"] <= 1
        assert ioopt.check(problem, result) == []


@settings(max_examples=6, deadline=None)
@given(SEEDS)
def test_every_decision_passes_the_checker(seed: int) -> None:
    problem = random_matrix(seed)
    for name in ONLINE:
        result = ioopt.solve(problem, name)
        assert result.status in ("feasible", "optimal"), (name, result.violations)
        placed = (result.plan or {})["jobs"]
        assert len(placed) >= len(problem.running)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_names_of_jobs_change_nothing(seed: int) -> None:
    problem = random_workload(seed)
    jobs = [
        job.model_copy(update={"id": f"renamed {k}"})
        for k, job in enumerate(problem.jobs)
    ]
    renamed = problem.model_copy(update={"jobs": tuple(jobs)})
    for name in ONLINE:
        before, after = (
            ioopt.solve(p, name).schedule or {} for p in (problem, renamed)
        )
        assert [job["finish_seconds"] for job in before["jobs"]] == [
            job["finish_seconds"] for job in after["jobs"]
        ]


def _same(plain: State, twin: State) -> None:
    for field in ("columns", "homes", "spans", "moved", "admitted"):
        assert list(getattr(plain, field)) == list(getattr(twin, field)), field
    assert plain.tasks_moved == twin.tasks_moved


@pytest.mark.parametrize("policy", first(2, sorted(POLICIES)))
def test_compiled_phases_do_what_the_phases_do(policy: str) -> None:
    """Phase after phase on 150 random matrices of one and two words."""
    chosen, moved, admitted = POLICIES[policy], 0, 0
    _, machine = both_makers()
    for seed in range(150):
        state = state_of(random_matrix(seed))
        for name in phases_of(chosen.rules):
            after = chosen.update(state, name)
            _same(after, compiled_phase(state, name, chosen.rules, machine))
            moved += after.tasks_moved - state.tasks_moved
            admitted += len(after.admitted)
            state = after._replace(admitted=(), moved=(), tasks_moved=0)
    assert admitted > 50
    assert (moved > 50) == (policy == "migrate-iogs")
