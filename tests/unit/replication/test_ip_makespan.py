"""``ip`` where the makespan is the measure: against every set of queues, by
hand, and the baselines.
"""

import pytest
from conftest import first
from replication_samples import made, tiny
from workflow_exhaustive import least_makespan, random_instance

import ioopt
from ioopt.errors import UnsolvableInstanceError
from ioopt.solvers.replication.exact import exact_workflow

MAKESPAN = "makespan_seconds"


@pytest.mark.parametrize(
    ("seed", "tasks"),
    [
        *first(4, [(seed, 4) for seed in range(300, 310)]),
        *first(0, [(k, 5) for k in range(400, 430)]),
    ],
)
def test_proven_makespans_are_those_of_all_queues(seed: int, tasks: int) -> None:
    """On the exact simulator, which shares no code. A plan with copy entries may be
    better than all queues of tasks.
    """
    instance = random_instance(seed, tasks, batch=True)
    try:
        result = ioopt.solve(instance, "ip", measure=MAKESPAN, time_limit=None)
    except UnsolvableInstanceError:
        return
    assert result.objective_name == "makespan_seconds"
    least = float(least_makespan(instance))
    assert result.metrics["queues_bound_seconds"] == pytest.approx(least, rel=1e-9)
    assert result.objective is not None and result.objective <= least + 1e-9
    entries = [entry for queue in result.plan["order"].values() for entry in queue]
    copies = any(isinstance(entry, dict) for entry in entries)
    assert copies or result.objective == pytest.approx(least, abs=1e-9)
    assert ioopt.check(instance, result) == []
    assert result.bound is not None and result.bound <= result.objective * (1 + 1e-9)


def test_additive_time_and_makespan_differ_by_hand() -> None:
    """Two nodes, a shared link of 10 B/s, files of 10 and 30 bytes, 3 s of
    computing with each.

    40 bytes take the link 4 s, and what comes last is computed with for 3 s: 7 s. Added
    up, the nodes spend 1 + 3 and 3 + 3 s, as if each had a link of its own: 6 s.
    """
    problem = made(2, {"x": 10, "y": 30}, {"one": (3, "x"), "two": (3, "y")}, 10, 1000)
    least = ioopt.solve(problem, "ip", measure=MAKESPAN)
    added = ioopt.solve(problem, "ip")
    assert (least.status, least.objective) == ("optimal", 7.0)
    assert (added.objective_name, added.objective) == ("additive_seconds", 6.0)


def test_never_above_either_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the start is the planners' plans alone and no search
    follows; both win somewhere.
    """
    few = exact_workflow.link_aware.Settings(evaluations=1)
    monkeypatch.setattr(exact_workflow.link_aware, "Settings", lambda **_: few)
    limits = exact_workflow.LIMITS.model_copy(update={"most_tasks": 0})
    monkeypatch.setattr(exact_workflow, "LIMITS", limits)
    winners = set()
    for seed in range(12):
        problem = tiny(seed, nodes=2, tasks=7)
        rows = {
            name: ioopt.solve(problem, name).metrics["makespan_seconds"]
            for name in ("minmin", "job-data-present")
        }
        result = ioopt.solve(problem, "ip", measure=MAKESPAN)
        assert result.objective <= min(rows.values())
        if len(set(rows.values())) == 2:
            winners.add(min(rows, key=rows.__getitem__))
    assert winners == {"minmin", "job-data-present"}


def test_the_bound_of_larger_batches_knows_whole_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three tasks of 4 s on two nodes, nothing to fetch: 12 / 2 = 6 s of area, but
    one node runs two: 8 s.
    """
    limits = exact_workflow.LIMITS.model_copy(update={"most_tasks": 0})
    monkeypatch.setattr(exact_workflow, "LIMITS", limits)
    problem = made(2, {}, dict.fromkeys("xyz", (4,)))
    result = ioopt.solve(problem, "ip", measure=MAKESPAN)
    assert (result.metrics["lower_bound_seconds"], result.bound) == (6.0, 8.0)
    assert (result.status, result.objective) == ("optimal", 8.0)
