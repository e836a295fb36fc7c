"""Bound plans (timeline rule 12): their format, graph, run, binding and check."""

from __future__ import annotations

from typing import Any

import pytest

import ioopt
from ioopt.checks.replication.check import check
from ioopt.errors import InstanceError, SimulationError
from ioopt.formats.native import validate
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.bind import bind
from ioopt.sim.replication.bound import BoundRun, graph_of
from ioopt.sim.replication.build import Noise
from ioopt.sim.replication.noisy import noisy_makespans
from ioopt.solving import simulate

Rows = list[list[Any]]


def _batch(disk: int | None = 20, **more: Any) -> ReplicationProblem:
    """Return three tasks, of 1, 2 and 1 s, that each read a file of 10 bytes; the link
    brings a file in 1 s, another node in a quarter.
    """
    return ReplicationProblem.model_validate(
        {
            "network": {
                "remote_bytes_per_second": 10.0,
                "replica_bytes_per_second": 40.0,
            },
            "nodes": [{"id": "a", "disk_bytes": disk}, {"id": "b"}],
            "files": [{"id": name, "bytes": 10} for name in "fgh"],
            "tasks": [
                {"id": "t1", "compute_seconds": 1.0, "inputs": ["f"]},
                {"id": "t2", "compute_seconds": 2.0, "inputs": ["g"]},
                {"id": "t3", "compute_seconds": 1.0, "inputs": ["h"]},
            ],
            **more,
        }
    )


def _workflow(latency: float = 0.0) -> ReplicationProblem:
    """Return a node on which p makes x, which is to be kept, while f comes for q."""
    return ReplicationProblem.model_validate(
        {
            "network": {
                "remote_bytes_per_second": 10.0,
                "replica_bytes_per_second": 40.0,
                "latency_seconds": latency,
            },
            "nodes": [{"id": "a"}],
            "files": [{"id": "f", "bytes": 10}, {"id": "x", "bytes": 30, "keep": True}],
            "tasks": [
                {"id": "p", "compute_seconds": 1.0, "outputs": ["x"]},
                {"id": "q", "compute_seconds": 1.0, "inputs": ["f"]},
            ],
        }
    )


def _plan(**fields: Any) -> ReplicationPlan:
    return ReplicationPlan.model_validate(
        {"order": {"a": ["t1", "t2", "t3"], "b": []}, **fields}
    )


MOVES: Rows = [["a", "f", None], ["a", "g", None], ["a", "h", None]]
BOUND = {"moves": MOVES, "moves_after": [0, 1, 2], "evictions": [["a", "f", 2]]}


def _seconds(problem: ReplicationProblem, plan: ReplicationPlan) -> float:
    return float(simulate(problem, plan).metrics["makespan_seconds"])


def test_the_words_of_moves_mean_what_they_meant() -> None:
    for word in ("static", "printed", "replay"):
        plan = _plan(moves=word)
        assert plan.to_dict()["moves"] == word
        assert plan.bound_moves is None
    assert "moves" not in _plan().to_dict()


def test_a_bound_plan_is_written_and_read_unchanged() -> None:
    plan = _plan(**BOUND)
    written = plan.to_dict()
    assert written["moves"] == MOVES
    assert written["moves_after"] == [0, 1, 2]
    assert written["evictions"] == [["a", "f", 2]]
    assert ReplicationPlan.model_validate(written) == plan
    assert plan.moves_model == "replay"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"moves_after": [0]}, "moves_after: only for a plan whose moves are a list"),
        ({"evictions": [["a", "f", None]]}, "evictions: only for a plan whose moves"),
        ({"moves": MOVES, "moves_after": [0]}, "moves_after: 1 numbers for 3 moves"),
        ({"moves": MOVES, "remote": [["f", "a"]]}, "has no remote; leave it out"),
        ({"moves": MOVES, "barriers": True}, "has no barriers; leave it out"),
        ({"moves": "bound"}, "moves: input should be 'static', .*not 'bound'$"),
        ({"moves": [["a", "f", None], ["a", "g"]]}, r"moves\[1\]\[2\]: missing$"),
        ({"moves": [["a", 7, None]]}, r"moves\[0\]\[1\]: .* string, not 7$"),
    ],
)
def test_a_plan_that_mixes_both_is_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(InstanceError, match=text):
        validate(ReplicationPlan, _plan().to_dict() | fields, "plan")


def test_binding_writes_down_the_exact_replay() -> None:
    """f comes in 0-1 and g in 1-2; t1 computes 1-2, t2 2-4. h needs the room of f,
    which t1 has read at 2, and comes in 2-3; t3 computes 4-5.
    """
    problem = _batch()
    bound = bind(problem, _plan())
    assert bound.to_dict() == _plan(**BOUND).to_dict()
    assert _seconds(problem, bound) == 5.0
    assert bind(problem, bound) is bound


def test_a_bound_plan_keeps_its_order_under_latency() -> None:
    """f comes in .5-1.5, t1 computes 1.5-2.5; g, asked for at 1.5, comes in 2-3; t2
    computes 3-5; h, asked for when t2 has started, comes in 3.5-4.5; t3 computes 5-6.
    """
    assert noisy_makespans(_batch(), _plan(**BOUND), Noise(0.5), 1) == [6.0]


def test_copies_come_from_their_source_and_evictions_wait_for_them() -> None:
    """a fetches f in 0-1 for t1 (1-2); b has it from a in 1-1.25 for t2 (1.25-3.25).

    t3 reads h on a, which comes in 1-2 but needs the room of f: t1 ends at 2, the copy
    at 1.25, so h comes in 2-3 and t3 computes 3-4.
    """
    tasks = [
        {"id": "t1", "compute_seconds": 1.0, "inputs": ["f"]},
        {"id": "t2", "compute_seconds": 2.0, "inputs": ["f"]},
        {"id": "t3", "compute_seconds": 1.0, "inputs": ["h"]},
    ]
    problem = _batch(disk=10, tasks=tasks)
    plan = ReplicationPlan.model_validate(
        {
            "order": {"a": ["t1", "t3"], "b": ["t2"]},
            "moves": [["a", "f", None], ["b", "f", "a"], ["a", "h", None]],
            "evictions": [["a", "f", 2]],
        }
    )
    schedule = simulate(problem, plan).schedule
    ends = {row["id"]: row["end_seconds"] for row in schedule["tasks"]}
    assert ends == {"t1": 2.0, "t2": 3.25, "t3": 4.0}
    assert check(problem, plan, schedule).violations == ()


def test_a_save_waits_for_the_entries_that_started_before_it() -> None:
    """Exactly: f comes in 0-1, p ends and q starts at 1, x is saved in 1-4.

    With .5 s of latency q starts at 1.5, so the save begins then: 2-5. Without the
    wait it would begin at 1 and share the link from 1.5 on.
    """
    order = {"order": {"a": ["p", "q"]}}
    bound = bind(_workflow(), ReplicationPlan.model_validate(order))
    assert bound.bound_moves == (("a", "f", None), (None, "x", "a"))
    assert bound.moves_after == (1, 2)
    assert _seconds(_workflow(), bound) == 4.0
    assert noisy_makespans(_workflow(), bound, Noise(0.5), 1) == [5.0]
    soon = bound.model_copy(update={"moves_after": (1, 0)})
    schedule = simulate(_workflow(), soon, actual={"p": 0.5}).schedule
    assert schedule["transfers"][1]["start_seconds"] == 0.5
    schedule = simulate(_workflow(), bound, actual={"p": 0.5}).schedule
    assert schedule["transfers"][1]["start_seconds"] == 1.0


def test_without_moves_after_files_come_for_the_next_reader() -> None:
    plan = _plan(moves=MOVES, evictions=[["a", "f", 2]])
    assert _seconds(_batch(), plan) == 5.0
    assert "moves_after" not in plan.to_dict()


def test_the_state_says_what_may_start() -> None:
    problem = _batch()
    graph = graph_of(problem, _plan(**BOUND))
    run = BoundRun(graph)

    def now() -> list[str]:
        return [graph.name(number) for number in run.ready(0.0)]

    def happen(event: str, name: str) -> None:
        names = [graph.name(number) for number in range(len(graph.actions))]
        getattr(run, event)(names.index(name))

    fetch = "moves[{}] ({} from the remote storage to a)"
    f, g, h = (fetch.format(row, name) for row, name in enumerate("fgh"))
    gone = "evictions[0] (f from a)"
    assert now() == [f]
    happen("started", f)
    assert now() == []
    happen("ended", f)
    assert now() == ["task 't1'"]
    happen("started", "task 't1'")
    assert now() == [g]
    with pytest.raises(ValueError, match=r"task 't2' cannot start now"):
        happen("started", "task 't2'")
    happen("started", g)
    happen("ended", "task 't1'")
    assert now() == [gone]
    happen("started", gone)
    happen("ended", gone)
    assert now() == []
    happen("ended", g)
    assert now() == ["task 't2'"]
    happen("started", "task 't2'")
    assert now() == [h]
    happen("started", h)
    happen("ended", h)
    assert now() == []
    happen("ended", "task 't2'")
    happen("started", "task 't3'")
    assert not run.is_over()
    happen("ended", "task 't3'")
    assert run.is_over()
    with pytest.raises(ValueError, match=r"task 't3' has not started"):
        happen("ended", "task 't3'")


def test_the_state_waits_for_arrivals() -> None:
    tasks = [
        {"id": "t1", "compute_seconds": 1.0, "inputs": ["f"], "release_seconds": 3.0}
    ]
    problem = _batch(tasks=tasks)
    plan = ReplicationPlan.model_validate(
        {"order": {"a": ["t1"]}, "moves": [["a", "f", None]]}
    )
    run = BoundRun(graph_of(problem, plan))
    assert run.ready(2.9) == []
    assert run.next_release(2.9) == 3.0
    assert run.ready(3.0) == [0]
    assert run.next_release(3.0) is None
    assert _seconds(problem, plan) == 5.0


def test_every_action_comes_after_what_it_waits_for() -> None:
    graph = graph_of(_batch(), _plan(**BOUND))
    for number, action in enumerate(graph.actions):
        before = (*action.after_end, *action.after_start)
        assert all(other < number for other in before)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"moves": [["c", "f", None]]}, r"moves\[0\]: there is no node 'c'"),
        ({"moves": [["a", "k", None]]}, r"moves\[0\]: there is no file 'k'"),
        ({"moves": [["a", "f", "a"]]}, r"moves\[0\]: f moves from a to a"),
        ({"moves": [[None, "f", "a"]]}, r"moves\[0\]: f is written by no task"),
        ({"moves": MOVES[:2]}, "'t3' reads h on a, where it is not then; add to moves"),
        ({"moves": MOVES}, "take 30 bytes, its disk has 20; add to evictions"),
        ({"moves": [MOVES[0], MOVES[0]]}, r"moves\[1\] .*: f is on a already"),
        (BOUND | {"moves": [["a", "f", "b"], *MOVES[1:]]}, "f is not on b, from where"),
        (BOUND | {"moves_after": [0, 4, 4]}, r"moves_after\[1\]: 4 entries, but"),
        (BOUND | {"moves_after": [1, 0, 2]}, r"moves_after\[1\]: 0 comes after 1"),
        (BOUND | {"moves_after": [0, 1, 3]}, "'t3' reads h on a, where it is not"),
        (BOUND | {"evictions": [["a", "h", 2]]}, r"evictions\[0\]: h is not on a then"),
        (BOUND | {"evictions": [["a", "f", 3]]}, r"there is no moves\[3\]"),
        (BOUND | {"evictions": [["b", "f", 2]]}, r"takes no room on b"),
        (BOUND | {"evictions": [["a", "f", "t9"]]}, "there is no task 't9'"),
        (
            BOUND | {"moves_after": [0, 0, 2], "evictions": [["a", "f", 1]]},
            "'t1' reads f on a, where it is not then",
        ),
    ],
)
def test_plans_that_cannot_run_are_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(SimulationError, match=text):
        simulate(_batch(), _plan(**fields))


def test_moves_that_wait_for_each_other_are_named() -> None:
    """a holds x, which must go before f comes; x goes to b once t2 has started there,
    and t2 reads f, which b has from a.
    """
    problem = _batch(
        nodes=[{"id": "a", "disk_bytes": 10, "holds": ["g"]}, {"id": "b"}],
        tasks=[
            {"id": "t2", "compute_seconds": 1.0, "inputs": ["f"]},
            {"id": "t3", "compute_seconds": 1.0, "inputs": ["g"]},
        ],
    )
    plan = ReplicationPlan.model_validate(
        {
            "order": {"a": [], "b": ["t2", "t3"]},
            "moves": [["a", "f", None], ["b", "f", "a"], ["b", "g", "a"]],
            "evictions": [["a", "g", 0]],
        }
    )
    with pytest.raises(
        SimulationError, match=r"these wait for each other: .*moves_after"
    ):
        simulate(problem, plan)
    early = plan.model_copy(update={"moves_after": (0, 0, 0)})
    with pytest.raises(SimulationError, match="these wait for each other"):
        simulate(problem, early)


def test_kept_products_need_a_save() -> None:
    plan = ReplicationPlan.model_validate(
        {"order": {"a": ["p", "q"]}, "moves": [["a", "f", None]]}
    )
    with pytest.raises(SimulationError, match=r'add \[null, "x", the node'):
        simulate(_workflow(), plan)


# the checker: each rule is broken by hand


def _broken(
    problem: ReplicationProblem, plan: ReplicationPlan, changes: dict[str, Any]
) -> list[str]:
    """Return the violations, as text, after rows of the schedule were changed.

    *changes* are new values of rows, keyed by ``part.row.key``.
    """
    schedule = simulate(problem, plan).schedule
    for place, value in changes.items():
        part, row, key = place.split(".")
        schedule[part][int(row)][key] = value
    report = check(problem, plan, schedule)
    return [f"{item.rule}: {item.item}: {item.message}" for item in report.violations]


def test_the_checker_finds_no_fault_in_a_true_schedule() -> None:
    assert _broken(_batch(), _plan(**BOUND), {}) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"transfers.1.source": "b"}, "carry out: g: the number of moves from b to a"),
        ({"transfers.1.destination": "b"}, "carry out: g: the number of moves"),
        ({"evictions.0.file": "g"}, "carry out: f: the number of evictions from a"),
        (
            {"transfers.2.start_seconds": 1.5, "transfers.2.end_seconds": 2.5},
            "move start: h: moves at 1.5 s, before entry 2 in the queue of a starts",
        ),
        ({"evictions.0.seconds": 2.5}, "eviction: f: leaves a at 2.5 s, but h takes"),
        ({"evictions.0.seconds": 1.5}, "staging: t1: computes on a without its input"),
        (
            {
                "transfers.0.start_seconds": 1.0,
                "transfers.0.end_seconds": 2.0,
                "transfers.1.start_seconds": 0.0,
                "transfers.1.end_seconds": 1.0,
            },
            "move order: g: comes to a at 0 s, before f, which the plan moves first",
        ),
        (
            {
                "tasks.0.start_seconds": 3.0,
                "tasks.0.end_seconds": 4.0,
                "tasks.1.start_seconds": 1.0,
                "tasks.1.end_seconds": 3.0,
            },
            "order: t2: runs on a before t1, which is queued ahead of it",
        ),
    ],
)
def test_the_checker_holds_each_rule(changes: dict[str, Any], text: str) -> None:
    found = _broken(_batch(), _plan(**BOUND), changes)
    assert any(line.startswith(text) for line in found), found


def test_the_checker_holds_an_eviction_until_what_is_sent_has_gone() -> None:
    tasks = [
        {"id": "t1", "compute_seconds": 0.0, "inputs": ["f"]},
        {"id": "t2", "compute_seconds": 2.0, "inputs": ["f"]},
        {"id": "t3", "compute_seconds": 1.0, "inputs": ["h"]},
    ]
    problem = _batch(disk=10, tasks=tasks)
    plan = ReplicationPlan.model_validate(
        {
            "order": {"a": ["t1", "t3"], "b": ["t2"]},
            "moves": [["a", "f", None], ["b", "f", "a"], ["a", "h", None]],
            "evictions": [["a", "f", 2]],
        }
    )
    assert _broken(problem, plan, {}) == []
    found = _broken(problem, plan, {"evictions.0.seconds": 1.1})
    text = "transfer: f: copied at 1 s from a, which does not hold it all the while"
    assert text in found


def test_the_checker_holds_the_order_and_the_wait_of_saves() -> None:
    problem = ReplicationProblem.model_validate(
        {
            "network": {
                "remote_bytes_per_second": 10.0,
                "replica_bytes_per_second": 40.0,
            },
            "nodes": [{"id": "a"}],
            "files": [{"id": name, "bytes": 10, "keep": True} for name in "xy"],
            "tasks": [
                {"id": "p", "compute_seconds": 1.0, "outputs": ["x"]},
                {"id": "q", "compute_seconds": 1.0, "outputs": ["y"]},
            ],
        }
    )
    plan = ReplicationPlan.model_validate(
        {
            "order": {"a": ["p", "q"]},
            "moves": [[None, "x", "a"], [None, "y", "a"]],
            "moves_after": [2, 2],
        }
    )
    assert _broken(problem, plan, {}) == []
    swapped = {
        "transfers.0.start_seconds": 3.0,
        "transfers.0.end_seconds": 4.0,
        "transfers.1.start_seconds": 2.0,
        "transfers.1.end_seconds": 3.0,
    }
    found = _broken(problem, plan, swapped)
    text = "move order: y: is saved from a at 2 s, before x, which the plan moves first"
    assert text in found
    late = {
        "tasks.1.start_seconds": 1.5,
        "tasks.1.end_seconds": 2.5,
    }
    found = _broken(problem, plan, late)
    assert any(line.startswith("move start: x: moves at 1 s") for line in found), found


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"moves": [["c", "f", None]]}, "unknown: c: moves[0] names it"),
        (BOUND | {"moves_after": [0, 1, 9]}, "moves: a: moves_after[2] is 9"),
        (BOUND | {"evictions": [["a", "f", 7]]}, "eviction: f: evictions[0]: there is"),
        ({"moves": [["a", "f", "a"]]}, "moves: f: moves[0] has the same ends"),
    ],
)
def test_the_checker_reads_a_plan_without_a_schedule(
    fields: dict[str, Any], text: str
) -> None:
    report = check(_batch(), _plan(**fields))
    lines = [f"{item.rule}: {item.item}: {item.message}" for item in report.violations]
    assert any(line.startswith(text) for line in lines), lines


# answers


BATCH_SOLVERS = (
    "auto",
    "ip",
    "ip-printed",
    "minmin",
    "job-data-present",
    "two-stage",
    "link-aware",
    "heft",
    "b-level",
    "fifo",
    "locality",
    "ready-min-min",
    "rolling",
    "exact-workflow",
)


@pytest.mark.parametrize("solver", BATCH_SOLVERS)
def test_every_planner_answers_with_its_moves(solver: str) -> None:
    problem = _batch(disk=None)
    result = ioopt.solve(problem, solver, settings={"moves": "schedule"}, time_limit=5)
    assert result.plan is not None
    assert isinstance(result.plan["moves"], list)
    assert result.objective_name == "makespan_seconds"
    replayed = ioopt.simulate(problem, result)
    assert result.objective == replayed.metrics["makespan_seconds"]
    assert ioopt.check(problem, result) == []


def test_a_bound_answer_can_be_a_warm_start() -> None:
    problem = _batch()
    bound = ioopt.solve(problem, "minmin", settings={"moves": "schedule"})
    again = ioopt.solve(problem, "auto", warm_start=bound)
    assert again.objective is not None and bound.objective is not None
    assert again.objective <= bound.objective
