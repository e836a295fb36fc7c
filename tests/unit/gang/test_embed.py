"""The embedded scheduler decides as the simulator does, survives
failures, and can be saved.
"""

import random
from types import SimpleNamespace
from typing import Any

import pytest
from gang_tools import random_workload

from ioopt.decisions.gang.state import State, Timing, gangs_of
from ioopt.embed import GangScheduler
from ioopt.problems.gang import GangProblem
from ioopt.sim.gang.simulate import GangSimulation
from ioopt.solvers.gang.policy import MIGRATE_IOGS

MACHINE = {"nodes": 6, "levels": 2, "quantum_seconds": 100.0}


def _drive(problem: GangProblem, policy: str) -> int:
    """Replay the simulator's events into a scheduler; the number
    of matrices compared.
    """
    compared = 0
    scheduler = GangScheduler(problem.machine, policy)
    gangs = gangs_of(problem)
    seen = 0

    def observe(now: Any, index: int, state: State, gone: tuple[int, ...]) -> None:
        nonlocal compared, seen
        for key in gone:
            assert scheduler.depart(key, now)
        while seen < len(gangs) and gangs[seen].arrival <= now + 1e-7:
            gang = gangs[seen]
            nodes = [
                node for node in range(problem.machine.nodes) if gang.files >> node & 1
            ]
            assert scheduler.arrive(gang.key, nodes, gang.local, gang.remote, now)
            seen += 1
        found = scheduler.matrix(now)
        assert [(job["id"], job["home_row"]) for job in found] == [
            (job.key, home) for job, home in zip(state.jobs, state.homes)
        ]
        assert [sum(1 << row for row in job["rows"]) for job in found] == list(
            state.spans
        )
        assert [sum(1 << node for node in job["columns"]) for job in found] == list(
            state.columns
        )
        compared += 1

    GangSimulation(
        gangs, Timing.of(problem.machine), MIGRATE_IOGS, observer=observe
    ).run()
    assert not scheduler.notes
    assert not scheduler.waiting
    assert scheduler.matrix(1e9) == []
    return compared


def test_same_matrices_as_the_simulator() -> None:
    assert (
        sum(_drive(random_workload(seed), "migrate-iogs") for seed in range(20)) > 100
    )


def _two(policy: Any = "migrate-iogs") -> GangScheduler:
    scheduler = GangScheduler(MACHINE, policy)
    assert scheduler.arrive("a", [0, 1], 500.0, 900.0, 0.0)
    assert scheduler.arrive("b", [1, 2], 500.0, 900.0, 0.0)
    return scheduler


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (
            lambda state: MIGRATE_IOGS.update(state)._replace(spans=[3, 3]),
            "two jobs on one node",
        ),
        (
            lambda state: MIGRATE_IOGS.update(state)._replace(columns=[1, 6]),
            "job of 2 tasks",
        ),
        (
            lambda state: MIGRATE_IOGS.update(state)._replace(jobs=[]),
            "lost or invented",
        ),
    ],
)
def test_a_broken_policy_is_answered_by_the_greedy(answer: Any, word: str) -> None:
    scheduler = _two(SimpleNamespace(name="broken", rules=None, update=answer))
    assert scheduler.matrix(0.0) == _two().matrix(0.0)
    assert len(scheduler.notes) == 1
    assert word in scheduler.notes[0]
    assert "answered by the greedy" in scheduler.notes[0]


@pytest.mark.parametrize(
    ("job", "nodes", "local", "word"),
    [
        ("a", [3], 10.0, "here already"),
        ("c", [6], 10.0, "0 .. 5"),
        ("c", [], 10.0, "0 .. 5"),
        ("c", [1, 1], 10.0, "different"),
        ("c", "01", 10.0, "0 .. 5"),
        ("c", [1], 0.0, "local_seconds"),
        ("c", [1], float("nan"), "local_seconds"),
        (None, [1], 10.0, "number or text"),
    ],
)
def test_refused_arrivals_change_nothing(
    job: Any, nodes: Any, local: float, word: str
) -> None:
    scheduler = _two()
    before = scheduler.matrix(0.0)
    assert not scheduler.arrive(job, nodes, local, 20.0, 1.0)
    assert word in scheduler.notes[-1]
    assert scheduler.matrix(1.0) == before


def test_many_events_leave_nothing_behind() -> None:
    rng = random.Random(1)
    scheduler, present = GangScheduler(MACHINE, "index-iogs"), []
    for event in range(3000):
        if present and (rng.random() < 0.55 or len(present) > 12):
            assert scheduler.depart(present.pop(rng.randrange(len(present))), event)
        else:
            nodes = rng.sample(range(6), rng.randint(1, 5))
            assert scheduler.arrive(event, nodes, 100.0, 200.0, event)
            present.append(event)
        placed = {job["id"] for job in scheduler.matrix(float(event), deadline=3600.0)}
        assert placed | set(scheduler.waiting) == set(present)
    assert not scheduler.notes
    for job in present:
        scheduler.depart(job, 1e6)
    assert scheduler.matrix(1e6) == []
    kept = scheduler.state()
    assert kept["jobs"] == [] and kept["places"] == []
    assert not scheduler._shown and not scheduler._ids
