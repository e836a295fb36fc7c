"""Work directories against a second replay and dispatch, a brute force, and at
random (rules B1 to B14).
"""

import random

import pytest
from oracle.work_directory_peak import least_peak
from oracle.work_directory_reference import Run, Starts, random_instance

import ioopt
from ioopt.checks.work_directory import replay, said
from ioopt.errors import SimulationError
from ioopt.models.work_directory.bounds import makespan_bounds, peak_bound
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import reference_order, sequential_peak
from ioopt.sim.work_directory.replay import carried_out


def found(problem, rank, safe, cap, actual=None):
    """The starts of a dispatch, or its record."""
    try:
        dispatcher = Dispatcher(problem, rank, problem.quota_bytes, safe, cap)
        return dispatch(problem, dispatcher, actual)
    except Fault as fault:
        return fault.record


def compare(seed: int) -> str:
    """One instance: reference order, one run by both dispatchers, its replay by
    both; what came of it.
    """
    rng = random.Random(seed)
    problem = random_instance(rng, rng.randint(1, 9))
    run = Run(problem)
    names = [task.id for task in problem.tasks]
    assert [names[k] for k in reference_order(problem)] == run.reference()
    rank = rng.choice(("submission", "depth-first", rng.sample(names, len(names))))
    safe, cap = rng.random() < 0.5, rng.choice((None, 1, 2))
    slower = {
        name: rng.randint(0, 6) / 2 for name in rng.sample(names, len(names) // 2)
    }
    actual = rng.choice((None, slower))
    plan = found(problem, rank, safe, cap, actual)
    wanted = run.dispatch(rank, problem.quota_bytes, safe, cap, actual)
    if isinstance(wanted, dict):
        assert plan == wanted
        return str(wanted["kind"])
    assert [*plan.starts] == [(float(at), name) for at, name in wanted]
    twice = replay(problem, plan, actual), Starts(problem, plan, actual or {})
    assert not twice[0].violations and not twice[1].violations(problem.quota_bytes)
    simulated = carried_out(problem, plan, actual)
    assert (simulated.times, simulated.use) == (twice[0].times, twice[0].use)
    assert simulated.metrics == twice[0].metrics
    assert twice[0].metrics == pytest.approx(twice[1].metrics())
    if actual is None:
        bound = makespan_bounds(problem, problem.quota_bytes).bound
        assert bound <= twice[0].metrics["makespan_seconds"] * (1 + 1e-12)
        assert peak_bound(problem).bound <= twice[0].metrics["peak_bytes"]
    return "safe" if safe else "ended"


def test_dispatch_and_replay_are_those_of_the_reference():
    came = [compare(seed) for seed in range(400)]
    assert {"stuck", "no order found", "safe", "ended"} <= set(came)


def test_replays_of_plans_that_break_rules_agree():
    kinds = set()
    for seed in range(300):
        rng = random.Random(seed)
        problem = random_instance(rng, rng.randint(1, 8))
        rows = [(float(rng.randint(0, 9)), task.id) for task in problem.tasks]
        rng.shuffle(rows)
        plan = WorkDirectoryPlan(starts=tuple(rows))
        one, other = replay(problem, plan), Starts(problem, plan, {})
        assert one.violations == other.violations(problem.quota_bytes)
        assert one.metrics == pytest.approx(other.metrics())
        if one.violations:
            with pytest.raises(SimulationError) as told:
                carried_out(problem, plan)
            words = (f"{row['task']}: {said(row)}" for row in one.violations)
            assert str(told.value) == "; ".join(words)
        kinds |= {row["kind"] for row in one.violations}
    assert kinds == {"release", "producer", "cores", "quota"}


def keeping(problem, rng):
    """The same with many kept files and tasks of 0 seconds."""
    given = problem.model_dump(mode="json")
    for file in given["files"]:
        file["keep"] = rng.random() < 0.5
    for task in given["tasks"]:
        task["compute_seconds"] *= rng.random() < 0.7
    return ioopt.load(given)


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 300), marks=pytest.mark.slow)]
)
def test_the_least_peak_is_that_of_the_best_order(seeds):
    """Also where files are kept and tasks take no time, whose starts the program
    does not hold apart.
    """
    for seed in seeds:
        rng = random.Random(7000 + seed)
        problem = keeping(random_instance(rng, rng.randint(1, 5)), rng)
        wanted = least_peak(problem.model_dump(mode="json"))
        few = {"evaluations": 20}
        solver = ("exact", "auto")[seed % 2]
        result = ioopt.solve(
            problem, solver, measure="peak_bytes", time_limit=20, settings=few
        )
        assert (result.status, result.objective, result.bound) == (
            "optimal",
            wanted,
            wanted,
        ), seed
        least = Run(problem).least_makespan(wanted)
        assert result.metrics["makespan_seconds"] >= float(least) - 1e-9


@pytest.mark.slow
def test_exact_equals_brute_force():
    """Makespans under the quota, least peaks over all orders, and their ties."""
    proven = 0
    for seed in range(40):
        rng = random.Random(1000 + seed)
        problem = random_instance(rng, rng.randint(1, 5))
        wanted = Run(problem).least_makespan(problem.quota_bytes)
        result = ioopt.solve(problem, "exact", time_limit=20)
        if wanted is None:
            assert result.status == "infeasible"
        else:
            assert result.objective == pytest.approx(float(wanted)), seed
            proven += result.status == "optimal"
        least = ioopt.solve(problem, "exact", measure="peak_bytes", time_limit=20)
        quota = least.metrics["peak_bytes"]
        assert (
            least.status == "optimal" and Run(problem).least_makespan(quota - 1) is None
        )
        assert least.metrics["makespan_seconds"] == pytest.approx(
            float(Run(problem).least_makespan(quota) or 0)
        )
    assert proven > 20


def stays_inside(seed: int) -> bool:
    """Whether a safe run ends, with what its quota allows, whatever times it meets."""
    rng = random.Random(seed)
    problem = random_instance(rng, rng.randint(1, 12))
    quota = sequential_peak(problem, reference_order(problem)) + rng.choice(
        (0, 0, 1, 4)
    )
    problem = problem.model_copy(update={"quota_bytes": quota})
    actual = {task.id: rng.randint(0, 9) / 2 for task in problem.tasks}
    plan = found(
        problem,
        rng.choice(("submission", "depth-first")),
        True,
        rng.choice((None, 1, 2)),
        actual,
    )
    ends = isinstance(plan, WorkDirectoryPlan)
    return ends and not Starts(problem, plan, actual).violations(quota)


@pytest.mark.parametrize(
    "seeds", [range(500), pytest.param(range(500, 10_000), marks=pytest.mark.slow)]
)
def test_no_safe_run_is_stuck_or_exceeds_its_quota(seeds):
    assert [seed for seed in seeds if not stays_inside(seed)] == []
