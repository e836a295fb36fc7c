"""exact-workflow: instances solved by hand, what its bound means on the way, limits,
batches, exhaustion.
"""

from typing import Any

import pytest
from conftest import first
from random_workflows import random_workflow
from replication_samples import document, made
from workflow_exhaustive import (
    POLICIES,
    all_queues,
    astray,
    disagreement,
    random_instance,
    tight_workflow,
)
from workflow_timeline import Run

import ioopt
from ioopt.errors import NotApplicableError
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import (
    EvictionPolicy,
    ReplicationProblem,
)
from ioopt.protocols import SolveRequest
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.backends.cpsat_replay import Relaxed
from ioopt.solvers.replication.exact import exact_workflow
from ioopt.solvers.replication.exact.copy_search import CopySearch
from ioopt.solvers.replication.exact.exact_workflow import LIMITS, QueueSearch
from ioopt.solvers.replication.exact.queue_bound import Path, PathCore, filled
from ioopt.solvers.replication.plans import build_plan

POLICY: EvictionPolicy = "farthest-next-use"
POLICIES_DIFFER, FIVE_TASKS = 200, 9
"""Seeds of random workflows: lru alone is worse; five tasks with a bound
well below the optimum.
"""


def fork(replica: float, **node: Any) -> ReplicationProblem:
    """One task of 4 s writes 40 bytes, which two tasks of 6 s read;
    two nodes of one core.
    """
    tasks = {"split": (4, "", "x"), "left": (6, "x"), "right": (6, "x")}
    return made([node] * 2, {"x": 40}, tasks, 10, replica)


@pytest.mark.parametrize(
    ("replica", "seconds"),
    [
        (20, 4 + 40 / 20 + 6),  # spread: the copy takes 2 s
        (2, 4 + 6 + 6),  # the copy would take 20 s: all on one node
    ],
)
def test_spreads_where_the_copy_is_cheap(replica: float, seconds: float) -> None:
    result = ioopt.solve(fork(replica), "exact-workflow")
    assert (result.objective, result.metrics["queues_bound_seconds"]) == (
        seconds,
        seconds,
    )
    assert result.bound is not None and result.bound <= seconds


def test_orders_so_that_nothing_is_spilled() -> None:
    """Each pair takes the whole disk of 30: made and read in turn it
    all computes in 4 s.
    """
    tasks = {
        "make x": (1, "", "x"),
        "make y": (1, "", "y"),
        "read x": (1, "x"),
        "read y": (1, "y"),
    }
    problem = made([{"disk_bytes": 30}], {"x": 20, "y": 20}, tasks, 1, 100)
    search = QueueSearch(problem, POLICY, float("inf"))
    assert search.run(10_000)
    queues = search.best_queues()
    assert search.upper == 4.0 and queues is not None
    replayed = simulate(problem, build_plan(problem, queues, POLICY))
    assert replayed.metrics["spills"] == 0


def test_takes_the_policy_under_which_the_replay_ends_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = ReplicationProblem.model_validate(random_workflow(POLICIES_DIFFER, 5))
    monkeypatch.setattr(exact_workflow, "POLICIES", exact_workflow.POLICIES[::-1])
    limits = LIMITS.model_copy(update={"copy_replays": 0})
    monkeypatch.setattr(exact_workflow, "LIMITS", limits)
    least = {}
    for policy in exact_workflow.POLICIES:
        search = QueueSearch(problem, policy, float("inf"))
        assert search.run(100_000)
        least[policy] = search.upper
    result = ioopt.solve(problem, "exact-workflow")
    assert least["lru"] > min(least.values())
    assert (
        result.metrics["queues_bound_seconds"]
        == result.objective
        == min(least.values())
    )


def test_the_bound_rises_to_the_optimum() -> None:
    problem = ReplicationProblem.model_validate(random_workflow(FIVE_TASKS, 5))
    search = QueueSearch(problem, POLICY, float("inf"))
    bounds = []
    while not search.run(5):
        bounds.append(search.bound)
    whole = QueueSearch(problem, POLICY, float("inf"))
    assert whole.run(100_000)
    assert (whole.visited, whole.upper) == (search.visited, search.upper)
    assert len(bounds) > 3 and bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] <= search.upper


def test_work_is_poured_into_cores_as_they_come_free() -> None:
    """Cores free at 0 and 4 s: 3 s of work end at 3, 10 s at (10 + 4) / 2; from
    5 on, at 5 + 10 / 2.
    """
    cores = [PathCore(free=0.0, power=1.0), PathCore(free=4.0, power=1.0)]
    scratch = Path(1.0, 1.0, [], [], cores, [], [], [])
    ends = [
        filled(scratch, 2, first, work) for first, work in ((0, 3), (0, 10), (5, 10))
    ]
    assert ends == [3.0, 7.0, 10.0]
    # A core that nothing can reach any more gives nothing.
    cores[1].free = float("inf")
    assert filled(scratch, 2, 0.0, 10.0) == 10.0


def test_stops_at_the_number_of_replays_and_at_the_gap_asked_for() -> None:
    problem = ReplicationProblem.model_validate(random_workflow(FIVE_TASKS, 5))
    result = ioopt.solve(problem, "exact-workflow", settings={"replays": 10})
    assert (result.status, result.stop) == ("feasible", "iterations")
    bound, least = result.bound, result.metrics["lower_bound_seconds"]
    assert bound is not None and result.objective is not None
    assert least <= bound < result.objective
    result = ioopt.solve(problem, "exact-workflow", gap=0.5)
    assert (result.status, result.stop) == ("feasible", "gap")
    assert result.objective is not None
    assert 0 < 1 - result.metrics["queues_bound_seconds"] / result.objective <= 0.5


def fetched_early() -> ReplicationProblem:
    """Return a workflow in which a copy entry helps.

    x takes 2 s; a arrives at 5 s, computes 3 s and writes what b reads with x, for 1 s.
    Staged for b, x comes at 7 s, and b ends at 7 + 3 + 1. A copy entry has it there
    before: 5 + 3 + 1.
    """
    tasks = {"a": (3, "x", "y", {"release_seconds": 5}), "b": (1, "xy")}
    return made(1, {"x": 20, "y": 1}, tasks, 10, 10)


def test_the_bound_is_one_of_plans_with_copy_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a search for copy entries, the best queues are not the best plan."""
    limits = LIMITS.model_copy(update={"copy_replays": 0})
    monkeypatch.setattr(exact_workflow, "LIMITS", limits)
    problem = fetched_early()
    result = ioopt.solve(problem, "exact-workflow")
    assert (result.objective, result.metrics["queues_bound_seconds"]) == (11.0, 11.0)
    assert (result.bound, result.status) == (9.0, "feasible")
    assert result.stop == "searched"
    status = dict(result.rows())["status"]
    assert status == "feasible (searched; optimal among queues of tasks)"
    assert "the bound also holds for plans that queue copies" in result.notes[0]
    assert "time ended" not in result.notes[0]


def test_copy_entries_are_searched() -> None:
    problem = fetched_early()
    result = ioopt.solve(problem, "exact-workflow")
    assert (result.objective, result.status) == (9.0, "optimal")
    assert result.metrics["queues_bound_seconds"] == 11.0
    assert result.plan is not None
    assert result.plan["order"] == {"n0": [{"copy": "x"}, "a", "b"]}


@pytest.mark.parametrize("seed", first(4, [58, 161, *range(1, 11)]))
def test_the_search_for_copies_counts_as_the_simulator_does(seed: int) -> None:
    """Tasks stay on nodes that they fit, and without any of its copies a plan ends
    later.
    """
    instance = random_instance(seed, 4, batch=False, needs=True)
    problem = ReplicationProblem.model_validate(instance)
    queues = QueueSearch(problem, POLICY, float("inf"))
    while not queues.run(1_000):
        pass
    best = queues.best_queues()
    assert best is not None
    search = CopySearch(problem, build_plan(problem, best, POLICY), seed)
    assert search.seconds == queues.upper
    search.run(0.0, 300, Deadline(None))
    plan = search.plan
    assert search.seconds <= queues.upper
    assert simulate(problem, plan).metrics["makespan_seconds"] == search.seconds
    assert ioopt.check(problem, plan) == []
    for node, queue in plan.order.items():
        for k, entry in enumerate(queue):
            if not isinstance(entry, str):
                rest = {**plan.order, node: (*queue[:k], *queue[k + 1 :])}
                fewer = plan.model_copy(update={"order": rest})
                replay = simulate(problem, fewer)
                assert replay.metrics["makespan_seconds"] > search.seconds


@pytest.mark.parametrize("seed", first(1, [98, POLICIES_DIFFER, 228]))
def test_annealing_finds_what_no_single_copy_shows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = ReplicationProblem.model_validate(random_workflow(seed, 5))
    result = ioopt.solve(problem, "exact-workflow")
    assert result.status == "optimal"
    monkeypatch.setattr(CopySearch, "_anneal", lambda *given: None)
    without = ioopt.solve(problem, "exact-workflow")
    assert without.stop == "searched" and result.objective is not None
    assert without.objective is not None and without.objective > result.objective


@pytest.mark.parametrize("seed", first(2, range(1, 13)))
def test_plans_with_copy_entries_end_as_in_the_oracle(seed: int) -> None:
    """The simulator on Fractions replays the plan; no plan of queues is better."""
    instance = random_workflow(seed, 5)
    problem = ReplicationProblem.model_validate(instance)
    result = ioopt.solve(problem, "exact-workflow")
    plan = result.plan
    assert plan is not None and result.bound is not None
    link = instance["network"]["remote_link"]
    end = float(Run(instance, link, plan["eviction"], plan["order"]).run())
    assert result.objective == pytest.approx(end, rel=1e-9)
    assert result.bound <= end * (1 + 1e-9)
    assert end <= result.metrics["queues_bound_seconds"] * (1 + 1e-9)


def test_large_workflows_do_not_apply() -> None:
    most = LIMITS.most_tasks
    tasks = {f"t{k}": (1, "", "", {"cores": 2}) for k in range(most + 1)}
    problem = document([{"cores": 2}], {}, tasks)
    text = f"up to {most} tasks, and the instance has {most + 1}"
    with pytest.raises(NotApplicableError, match=text):
        ioopt.solve(problem, "exact-workflow")


@pytest.mark.parametrize(
    ("seeds", "tasks", "kind"),
    [
        (range(1, 9), 4, "workflow"),
        (range(1, 7), 4, "batch"),
        (range(1, 8), 4, "needs"),
        pytest.param(range(2_000, 2_030), 6, "workflow", marks=pytest.mark.slow),
        pytest.param(range(1, 200), 4, "needs", marks=pytest.mark.slow),
    ],
)
def test_random_instances_agree_with_exhaustion(
    seeds: range, tasks: int, kind: str
) -> None:
    found = [
        disagreement(seed, tasks, kind == "batch", kind == "needs") for seed in seeds
    ]
    assert [text for text in found if text is not None] == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", first(1, [3, 9]))
def test_the_search_meets_every_set_of_queues_and_replays_it(
    seed: int, policy: str
) -> None:
    """Also where what goes from a disk depends on the queues' ends."""
    instance = tight_workflow(seed, 4 if seed == 3 else 5)
    met, wrong = astray(instance, policy)
    assert wrong == []
    assert met == sum(1 for _ in all_queues(instance))


def relaxations(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The makespans for which CP-SAT is asked for a bound; it answers that any time
    is possible.
    """
    asked: list[float] = []

    def no_bound(problem: object, upper: float, *limits: object) -> Relaxed:
        asked.append(upper)
        return Relaxed(0.0, [])

    monkeypatch.setattr(exact_workflow, "relaxed", no_bound)
    return asked


def test_no_relaxation_where_a_short_search_meets_the_cheap_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = relaxations(monkeypatch)
    result = ioopt.solve("eight-tasks")
    assert (result.objective, result.status.value, asked) == (56.0, "optimal", [])


def test_the_relaxation_spares_a_tiny_instance_the_long_search() -> None:
    """All queues of cycle3 take 4,273 partial simulations; CP-SAT proves its first
    plan.
    """
    result = ioopt.solve("cycle3")
    assert result.status.value == "optimal"
    assert LIMITS.start_replays <= result.metrics["replays"] < 600


def test_the_relaxation_is_repeated_only_for_a_better_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = relaxations(monkeypatch)
    problem = ioopt.load("eight-tasks")
    request = SolveRequest[Any, Any](SolveOptions(None), Deadline(None))
    run = exact_workflow._Run(problem, request)
    run.start()
    run.relax_after = 0
    run.floor = 0.0
    run.search()
    assert (asked, run.upper) == ([60.0, 56.0], 56.0)
    run.relax(1.0)
    assert asked == [60.0, 56.0]
