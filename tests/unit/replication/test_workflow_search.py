"""link-aware on workflows: starts that keep few live bytes,
moves, limits, repetition.
"""

import random
from typing import Any

import pytest
from conftest import both_engines, deadline_of_checks
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workflows import random_workflow
from replication_samples import made

import ioopt
from ioopt.generate.replication.generate import generate
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication import auto
from ioopt.solvers.replication.search import flow_run, link_aware, params
from ioopt.solvers.replication.search.flow_deal import LiveBytes, depth_first, stretches
from ioopt.solvers.replication.search.line_moves import (
    change,
    keep,
    put_back,
    write_queues,
)
from ioopt.solvers.replication.search.link_search import Engine, by_replays
from ioopt.solvers.replication.workflows import PLANNERS
from ioopt.units import quantity, time_unit


def pairs(count: int, cores: int = 1, disk: int = 150) -> ReplicationProblem:
    """*count* pairs a -> b by a product of 100 bytes, 1 s each; one
    node; 10 bytes a second.
    """
    tasks: dict[str, Any] = {f"a{k}": (1, [], [f"x{k}"]) for k in range(count)}
    tasks |= {f"b{k}": (1, [f"x{k}"]) for k in range(count)}
    files = {f"x{k}": 100 for k in range(count)}
    return made([{"id": "n", "disk_bytes": disk, "cores": cores}], files, tasks)


def test_depth_first_beats_heft_by_hand() -> None:
    """The disk holds one product. a0 b0 a1 b1 takes 4 s, which is also
    the work of one core.

    HEFT puts both a first: a0 0-1, x0 saved 1-11, a1 11-12, x1 saved 12-22, x0 fetched
    22-32, b0 32-33, x1 fetched 33-43, b1 43-44.
    """
    problem = pairs(2)
    assert depth_first(problem) == [0, 2, 1, 3]
    assert ioopt.solve(problem, "heft").metrics["makespan_seconds"] == 44
    result = ioopt.solve(problem, "link-aware", settings={"evaluations": 20})
    assert (result.objective, result.status) == (4, "optimal")
    assert result.plan["order"] == {"n": ["a0", "b0", "a1", "b1"]}
    assert result.metrics["spills"] == 0


def test_stretches_follow_core_time_and_fit() -> None:
    """Six tasks of 1 s on 1 and 2 cores: a third to n, the rest to the
    other, if it has the disk.
    """
    data = pairs(3, disk=300).model_dump(mode="json")
    for disk, queues in ((100, [[0, 3], [1, 4, 2, 5]]), (50, [[0, 3, 1, 4, 2, 5], []])):
        data["nodes"] = [data["nodes"][0], {"id": "m", "disk_bytes": disk, "cores": 2}]
        problem = ioopt.load(data)
        assert stretches(problem, depth_first(problem)) == queues


def test_a_core_idles_rather_than_exceed_the_disk() -> None:
    """On two cores locality starts a1 beside a0 and waits for x0 to be saved, as
    HEFT does above: 44 s.

    A strict dispatch by live bytes leaves the second core alone: 4 s. One that is not
    strict takes a1 at once, as there is nothing else: 44 s as well.
    """
    problem = pairs(2, cores=2)
    assert ioopt.solve(problem, "locality").metrics["makespan_seconds"] == 44
    for strict, seconds in ((True, 4), (False, 44)):
        plan, _ = dispatch(problem, LiveBytes(problem, depth_first(problem), strict))
        replay = plan.model_copy(update={"dispatches": None})
        assert simulate(problem, replay).metrics["makespan_seconds"] == seconds
    assert (
        ioopt.solve(problem, "link-aware", settings={"evaluations": 50}).objective == 4
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_moves_keep_producers_before_readers_and_tasks_where_they_fit(
    seed: int, disks: bool
) -> None:
    """So that no queues ever wait for each other in a circle, and what is
    refused is put back.
    """
    problem = ioopt.load(random_workflow(seed, disks=disks))
    queues: list[list[int]] = [[] for _ in problem.nodes]
    for k in depth_first(problem):
        fitting = [i for i in range(len(queues)) if problem.fits(k, i)]
        queues[random.Random(k).choice(fitting)].append(k)
    engine = Engine(problem, seed)
    annealing = by_replays(engine, queues)
    flow = annealing.line
    for step in range(60):
        before = list(flow.order), list(flow.place), list(flow.node)
        keep(flow, flow.kept_order, flow.kept_node, flow.kept_cut)
        change(engine.world, flow)
        write_queues(engine.world, flow)
        place = {k: p for p, k in enumerate(flow.order)}
        assert sorted(place) == list(range(len(problem.tasks)))
        assert all(flow.place[k] == p for k, p in place.items())
        for k, producers in enumerate(problem.predecessors):
            assert all(place[j] < place[k] for j in producers)
            assert problem.fits(k, flow.node[k])
        for i in range(len(queues)):
            row = [k for k in flow.order if flow.node[k] == i]
            node = engine.world.nodes[i]
            places = range(node.first_place, node.end_place)
            assert [engine.world.places[p].entry for p in places] == row
        if step % 3 == 0:
            put_back(flow)
            assert (list(flow.order), list(flow.place), list(flow.node)) == before


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_never_above_a_planner_and_the_same_again(seed: int) -> None:
    problem = ioopt.load(random_workflow(seed, most_tasks=9))
    if not problem.is_workflow:
        return
    best, again = (
        ioopt.solve(problem, "link-aware", seed=3, settings={"evaluations": 30})
        for _ in range(2)
    )
    assert best.violations == () and best.plan == again.plan
    assert makespan_bound_seconds(problem) <= best.objective * (1 + 1e-9)
    for planner in PLANNERS:
        planned = ioopt.solve(problem, planner)
        assert planned.violations == ()
        assert best.objective <= planned.metrics["makespan_seconds"] * (1 + 1e-9)


def test_annealing_improves_what_the_starts_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many small groups on disks of 1.5 times the largest task,
    from HEFT's plan alone.
    """
    monkeypatch.setattr(flow_run, "PLANNERS", {"heft": PLANNERS["heft"]})
    knobs = params.PARAMS.model_copy(update={"deal_share": 0.0})
    monkeypatch.setattr(params, "PARAMS", knobs)
    problem = generate(
        "many-small-groups", {"groups": 6, "nodes": 2, "disk_share": 1.5}, 4
    )
    heft = ioopt.solve(problem, "heft").metrics["makespan_seconds"]
    result = ioopt.solve(problem, "link-aware", settings={"evaluations": 300})
    assert result.objective < 0.9 * heft and result.violations == ()
    assert result.notes[0].startswith("best plan from annealing; ")
    unit = time_unit([heft])
    assert result.notes[1] == f"planners: heft {quantity('seconds', heft, unit=unit)}"


def test_a_plan_to_begin_from_is_kept_where_it_is_best() -> None:
    """Also one that a dispatcher made while it ran, which is replayed by its record."""
    problem = pairs(2, cores=2)
    ran = ioopt.solve(problem, "fifo", settings={"mode": "dispatch"})
    result = ioopt.solve(
        problem, "link-aware", warm_start=ran, settings={"evaluations": 1}
    )
    assert result.objective <= ran.metrics["makespan_seconds"]


@pytest.mark.parametrize(
    ("solver", "checks"),
    [(auto, 1), *((link_aware, checks) for checks in (1, 4, 12, 40))],
)
def test_whenever_the_deadline_passes_there_is_a_plan(solver: Any, checks: int) -> None:
    problem = ioopt.load("flow-chains")
    outcome = solver.solve(
        problem, SolveRequest(SolveOptions(), deadline_of_checks(checks))
    )
    assert outcome.stop == "time" and len(outcome.plan.assign) == len(problem.tasks)
    assert simulate(problem, outcome.plan).metrics["makespan_seconds"] >= outcome.bound


def test_a_slow_plain_replay_watches_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the planners' plans are all there is: neither dealing nor
    annealing can be cut short.
    """
    knobs = params.PARAMS.model_copy(update={"long_replay_seconds": 0.0})
    monkeypatch.setattr(params, "PARAMS", knobs)
    limits: list[Any] = []

    def watched(*given: Any, deadline: Any) -> Any:
        limits.append(deadline)
        return simulate(*given)

    monkeypatch.setattr(flow_run, "simulate", watched)
    problem = pairs(3, disk=250)
    result = ioopt.solve(problem, "link-aware", settings={"evaluations": 100})
    assert len(limits) >= 1 and None not in limits
    assert result.violations == () and "dispatch" not in result.notes[0]


@pytest.mark.parametrize(
    "generated",
    [
        ("many-small-groups", {"groups": 5, "disk_share": 1.5}, 4),
        ("image-85", {"tasks": 30, "nodes": 3, "disk": "400MB"}, 2),
    ],
)
def test_plain_and_compiled_search_give_the_same_answer(generated: Any) -> None:
    problem = generate(*generated)
    plan = ioopt.solve(problem, "locality").plan
    queues = [
        [problem.task_index[k] for k in plan["order"].get(n.id, ())]
        for n in problem.nodes
    ]
    answers = []
    for how in both_engines():
        engine = Engine(problem, 5, kernels=how)
        annealing = by_replays(engine, queues)
        annealing.run(200, 2.0, 0.1, 0.0)
        answers.append(
            (annealing.best_score, annealing.best_queues(), annealing.evaluations)
        )
    assert answers[0] == answers[1]
    assert answers[0][2] == 200


def test_what_comes_after_the_search_is_in_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bounds took 1 s of the clock, so report, check and writing will
    take some 8 of the 60.
    """
    now = [0.0]

    def slow(bound: Any) -> float:
        now[0] += 1.0
        return 0.0

    monkeypatch.setattr(flow_run.TransferBound, "seconds", property(slow))
    request = SolveRequest(SolveOptions(60.0), Deadline(60.0, clock=lambda: now[0]))
    run = flow_run.FlowRun(pairs(2), request, None)
    assert 50.8 < run.budget.left() < 51  # 60 - 1 - 8, less what a batch keeps
