"""Single phases of a matrix update, by hand (rules 12 and 13)."""

from typing import Any

import pytest
from conftest import ENGINES
from gang_tools import decision, random_workload, workload

import ioopt
from ioopt.decisions.gang.state import (
    GangPolicy,
    Timing,
    gangs_of,
    state_of,
    weights,
)
from ioopt.registry.policies import gang_policy
from ioopt.sim.gang.simulate import GangSimulation

HALF_DONE = {"remaining_fraction": 0.5, "attained_seconds": 50.0}


def _after(
    phase: str, levels: int, *running: tuple[list[int], list[int], int]
) -> list[Any]:
    """(columns, home row) of jobs given as (columns, file nodes, home
    row), after one phase.
    """
    jobs = [(k, *job, 100.0, 200.0, HALF_DONE) for k, job in enumerate(running)]
    matrix = decision(jobs, levels=levels) | {"migration_tasks_left": 1}
    plan = ioopt.solve(matrix, "migrate-iogs", settings={"phase": phase}).plan
    assert plan is not None
    return [(list(job["columns"]), job["home_row"]) for job in plan["jobs"]]


def test_rows_of_equal_population_are_merged() -> None:
    """One job each: the lower row is the first to give, and pop(j) >=
    pop(i) lets row 1 take.
    """
    assert _after("compact", 2, ([0], [0], 0), ([1], [1], 1)) == [([0], 1), ([1], 1)]
    # Row 1 holds two nodes, row 0 three: row 1 gives, though it does not fit whole.
    after = _after(
        "compact", 2, ([0, 1, 2], [0, 1, 2], 0), ([2], [2], 1), ([3], [3], 1)
    )
    assert after == [([0, 1, 2], 0), ([2], 1), ([3], 0)]


def test_a_job_moves_to_the_lowest_of_the_fullest_rows() -> None:
    """Rows 1 and 2 hold two nodes each and would take node 0; they share
    node 1 and stay apart.
    """
    after = _after(
        "compact", 3, ([0], [0], 0), ([1, 2], [1, 2], 1), ([1, 3], [1, 3], 2)
    )
    assert after == [([0], 1), ([1, 2], 1), ([1, 3], 2)]


def test_a_migrating_job_may_use_its_own_columns() -> None:
    """From nodes 0, 1 to its files on 1, 2 in the only row: one
    task moves, and one may.
    """
    assert _after("migrate", 1, ([0, 1], [1, 2], 0)) == [([1, 2], 0)]
    assert _after("migrate", 1, ([0, 1], [2, 3], 0)) == [
        ([0, 1], 0)
    ]  # two tasks are too many


def test_a_migrating_job_takes_the_first_of_several_rows() -> None:
    """Job 1's file node is job 0's in row 0, and free in rows 1 and 2."""
    after = _after("migrate", 3, ([0], [0], 0), ([1], [0], 0))
    assert after == [([0], 0), ([0], 1)]


def test_the_guard_counts_the_job_itself() -> None:
    """Half of 4 slots may be full after a remote start: 1 + 1 are, 1 +
    2 would be too many.

    All waiting jobs have a file on node 0, which is taken; remote, a two-task job fills
    3 slots. It may where it is no slower than 3/4: four slots of 300 s of work in 400 s
    do as much as three local ones.
    """
    running = [(0, [0], [0], 0, 100.0, 200.0, HALF_DONE)]
    cases = (
        ([0], 600.0, 2),
        ([0, 1], 600.0, 1),
        ([0, 1], 400.0, 2),
        ([0, 1], 401.0, 1),
    )
    for files, remote, placed in cases:
        matrix = decision(running, [(1, files, 300.0, remote)], levels=1)
        plan = ioopt.solve(matrix, "guarded-iogs", settings={"guard": 0.5}).plan
        assert plan is not None and len(plan["jobs"]) == placed


def test_weights_by_hand() -> None:
    """Two local jobs with 10 s and 80 s left, T = 100 s: hdf counts at least
    50 s and L at least T.
    """
    jobs = [
        (
            k,
            [k],
            [k],
            0,
            local,
            3 * local,
            {"remaining_fraction": fraction, "attained_seconds": attained},
        )
        for k, (local, fraction, attained) in enumerate(
            [(40.0, 0.25, 30.0), (200.0, 0.4, 120.0)]
        )
    ]
    state = state_of(ioopt.load(decision(jobs, nodes=2, levels=1)))
    assert weights("hdf", state.jobs, state.clock) == [1 / (100 * 50), 1 / (200 * 80)]
    assert weights("las", state.jobs, state.clock) == [1 / 130**2, 1 / 220**2]
    assert weights("one", state.jobs, state.clock) == [1, 1]


@pytest.mark.parametrize(("second", "finish"), [(150.0, 1075.0), (90.0, 1512.5)])
def test_every_slice_has_a_migration_budget_of_its_own(
    second: float, finish: float
) -> None:
    """Nodes 0 and 2 fall free at 50 s and at *second*; one task may migrate in
    each slice of 100 s.

    Job 1 moves at 50 s and ends at 50 + .975 x 1000 s. Job 3 moves at 150 s, in the
    next slice, and ends at 150 + .925 x 1000; at 90 s the slice has no move left, and
    it waits until job 1 ends at 1025 s: 1025 + .4875 x 1000.
    """
    rows = ((0, 50.0), (0, 1000.0), (2, second), (2, 1000.0))
    jobs = [(0.0, [node], seconds, 2 * seconds) for node, seconds in rows]
    slices = workload(jobs, nodes=4, levels=1, migration_tasks_per_quantum=1)
    result = ioopt.solve(slices, "migrate-iogs")
    assert [
        job["finish_seconds"] for job in (result.schedule or {})["jobs"]
    ] == pytest.approx([50.0, 1025.0, second, finish])


@pytest.mark.parametrize(
    ("patience", "starts"), [(10.0, [0.0, 300.0, 50.0]), (2.0, [0.0, 250.0, 50.0])]
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_refused_job_lets_others_pass_until_its_patience_ends(
    patience: float, starts: list[float], engine: str
) -> None:
    """Half of 4 slots: job 0 holds node 0 until 300 s, job 1 has its file
    there and R - L = 100 s.

    Two of the three slots left are free to it, but 1 + 2 are too many. Job 2, local on
    node 3, passes it at 50 s and ends at 250 s, when job 1 has waited 2.5 (R - L): it
    starts, or waits for job 0.
    """
    times = [(0.0, [0], 300.0), (0.0, [0, 1], 100.0), (50.0, [3], 200.0)]
    jobs = [(at, nodes, local, local + 100) for at, nodes, local in times]
    machine = {"nodes": 4, "levels": 1, "quantum_seconds": 10.0}
    settings = {"guard": 0.5, "patience": patience, "engine": engine}
    result = ioopt.solve(workload(jobs, **machine), "guarded-iogs", settings=settings)
    assert [job["start_seconds"] for job in (result.schedule or {})["jobs"]] == starts


JOBS = [(0, [0], 200), (1, [0, 1], 10), (2, [1], 50), (3, [1], 50), (4, [1], 50)]
"""(arrival, file nodes, local seconds): job 1 needs both nodes of the one row."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("age", "last"), [(100, 210), (100.5, 210), (150, 102), (200, 102), (0, 102)]
)
def test_an_overdue_job_stops_admission(age: float, last: float, engine: str) -> None:
    """Job 0 runs 0 to 200, jobs 2 and 3 from 2 to 52 and to 102. Then
    job 1 has waited 101 s.

    At an age of 100 s it is overdue and blocks: it runs from 200 to 210, job 4 after
    it. At 150 s it does not, and job 4 starts at 102.
    """
    jobs = [(at, nodes, local, 3 * local) for at, nodes, local in JOBS]
    instance = workload(jobs, nodes=2, levels=1, quantum_seconds=10.0)
    settings = {"age_seconds": age, "engine": engine}
    result = ioopt.solve(instance, "index-iogs", settings=settings)
    assert [job["start_seconds"] for job in (result.schedule or {})["jobs"]][4] == last


class Live:
    """A policy that is asked for each update, as by a scheduler."""

    name = "live"
    rules = None

    def __init__(self, policy: GangPolicy) -> None:
        self.update = policy.update


@pytest.mark.parametrize(
    ("solver", "chosen"),
    [
        ("gs", {}),
        ("iogs", {}),
        ("migrate-iogs", {}),
        ("guarded-iogs", {"guard": 0.4, "patience": 3.0}),
        ("index-iogs", {}),
        ("index-iogs", {"age_seconds": 300.0}),
        ("index-iogs", {"queue": "fcfs", "weight": "one"}),
    ],
)
def test_asked_for_each_update_a_policy_decides_as_in_place(
    solver: str, chosen: dict[str, object]
) -> None:
    """A live policy gets the queue without jobs that cannot start."""
    policy = gang_policy(solver, chosen)
    for seed in range(25):
        problem = random_workload(seed, max_jobs=30)
        gangs = gangs_of(problem)
        timing = Timing.of(problem.machine)
        asked, in_place = (
            GangSimulation(gangs, timing, one).run() for one in (Live(policy), policy)
        )
        assert asked == in_place
