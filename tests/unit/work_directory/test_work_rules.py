"""Rules of work directories by hand, with the arithmetic; one test a rule
or a way to break one.
"""

import itertools
import random
import re
from fractions import Fraction
from graphlib import TopologicalSorter
from typing import Any

import pytest
from conftest import ROOT
from pydantic import ValidationError

import ioopt
from ioopt.checks.work_directory import Contents, replay
from ioopt.errors import InstanceError, SimulationError
from ioopt.loading import result_from_dict
from ioopt.models.work_directory.bounds import (
    MakespanBound,
    makespan_bounds,
    peak_bound,
)
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Incumbents, SolveRequest
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import Walk, reference_order
from ioopt.sim.work_directory.replay import Held, Places, carried_out, stage
from ioopt.solvers.backends.cpsat_directory import Scale, Sizes, program
from ioopt.solvers.work_directory import dispatch as solver
from ioopt.solvers.work_directory.frontier import frontier
from ioopt.solvers.work_directory.search import Settings
from ioopt.solvers.work_directory.search import solve as search_alone


def document(
    *rows: str, cores: int = 2, quota: int | None = None, **more: Any
) -> dict[str, Any]:
    """``A 2 a b > c:5 d:1!``: task A of 2 s reads a and b, writes c of 5 bytes
    and d, which is kept.

    *more* are further keys by task.
    """
    tasks, files = [], []
    for row in rows:
        left, _, right = row.partition(" >")
        name, seconds, *inputs = left.split()
        outputs = [word.partition(":")[0] for word in right.split()]
        sizes = [word.partition(":")[2] for word in right.split()]
        files += [
            {"id": f, "bytes": int(size.rstrip("!")), "keep": size.endswith("!")}
            for f, size in zip(outputs, sizes, strict=True)
            if size
        ]
        task = {
            "id": name,
            "compute_seconds": float(seconds),
            "inputs": inputs,
            "outputs": outputs,
        }
        tasks.append(task | more.get(name, {}))
    return {
        "format": "ioopt/work-directory",
        "version": 1,
        "name": "by-hand",
        "cores": cores,
        "quota_bytes": quota,
        "tasks": tasks,
        "files": files,
    }


def made(*rows: str, **more: Any) -> WorkDirectoryProblem:
    return WorkDirectoryProblem.model_validate(document(*rows, **more))


ERRORS = [
    (("A 1 >a:1", "A 1"), {}, {"kind": "duplicate", "what": "task", "id": "A"}),
    (("A 1 >a:1", "B 1 >a:1"), {}, {"kind": "duplicate", "what": "file", "id": "a"}),
    (("A 1 x", "B 1 b b"), {}, {"kind": "unknown file", "task": "A", "file": "x"}),
    (("A 1 a a >a:1", "B 1 x"), {}, {"kind": "listed twice", "task": "A", "file": "a"}),
    (
        ("A 1 >a:1", "B 1 >a"),
        {},
        {"kind": "two producers", "file": "a", "tasks": ["A", "B"]},
    ),
    (("A 1 a >a:1",), {}, {"kind": "circle", "tasks": ["A"]}),
    (
        ("A 1 b >a:1", "B 1 a >b:1", "C 1 a"),
        {},
        {"kind": "circle", "tasks": ["A", "B"]},
    ),
    (
        ("A 1", "B 1"),
        {"B": {"cores": 3}},
        {"kind": "cores", "task": "B", "cores": 3, "machine": 2},
    ),
]


@pytest.mark.parametrize(("rows", "more", "record"), ERRORS)
def test_b1_what_is_wrong_with_an_instance(rows, more, record):
    given = document(*rows, **more)
    with pytest.raises(ValidationError) as caught:
        WorkDirectoryProblem.model_validate(given)
    found = caught.value.errors()[0]["ctx"]["error"].record
    if "tasks" in record and record["kind"] == "circle":  # any rotation
        found = found | {"tasks": sorted(found["tasks"])}
    assert found == record
    with pytest.raises(InstanceError, match=record["kind"]):
        ioopt.load(given)


def test_b1_samples():
    """Given: A's alone, B in none; else weak components, numbered
    by their first tasks.
    """
    assert made("A 1", "B 1", A={"sample": 7}).samples == (0, -1)
    assert made("A 1 >a:1", "B 1", "C 1 a").samples == (0, 1, 0)


CHAIN = made("A 2 >a:10", "B 3 a >b:4 c:1!", B={"scratch_bytes": 5}, quota=20)


def test_b2_b3_b4_a_replay_by_hand():
    """Use 10 on [0, 2); 10 + 4 + 1 + 5 = 20 on [2, 5); then 1 is kept: 20 + 60 =
    80 over 5 s, mean 16.
    """
    found = replay(CHAIN, WorkDirectoryPlan(starts=((0, "A"), (2, "B"))))
    assert found.violations == [] and found.use == [(0, 10), (2, 20), (5, 1)]
    assert found.metrics == {
        "makespan_seconds": 5.0,
        "peak_bytes": 20,
        "byte_seconds": 80.0,
        "mean_bytes": 16.0,
        "cores_busy": 0.5,
        "kept_bytes": 1,
    }


@pytest.mark.parametrize(
    ("starts", "record"),
    [
        (((0, "X"), (-1, "A")), {"kind": "unknown task", "task": "X"}),
        (((-1, "A"), (0, "X")), {"kind": "negative", "task": "A", "seconds": -1}),
        (((0, "B"), (0, "B"), (-1, "A")), {"kind": "started twice", "task": "B"}),
        (((0, "B"),), {"kind": "never started", "task": "A"}),
    ],
)
def test_b3_lists_that_are_no_plan(starts, record):
    plan = WorkDirectoryPlan(starts=starts)
    with pytest.raises(Fault) as caught:
        replay(CHAIN, plan)
    assert caught.value.record == record
    assert [found.item for found in ioopt.check(CHAIN, plan)] == [record["task"]]


@pytest.mark.parametrize(
    ("starts", "more", "kinds"),
    [
        (
            ((0, "A"), (1, "B")),
            {"B": {"release_seconds": 1.5}},
            ["release", "producer"],
        ),
        (((0, "B"), (3, "A")), {}, ["producer"]),
        (((0, "A"), (1, "B")), {"A": {"cores": 2}}, ["producer", "cores"]),
        (((0, "A"), (2, "B")), {"B": {"scratch_bytes": 6}}, ["quota"]),
    ],
)
def test_b3_each_violation_is_found_by_check_and_replay(starts, more, kinds):
    problem, plan = (
        made("A 2 >a:10", "B 3 a >b:4 c:1!", quota=20, **more),
        {"starts": starts},
    )
    assert [found.rule for found in ioopt.check(problem, plan)] == kinds
    with pytest.raises(SimulationError, match="starts at"):
        ioopt.simulate(problem, plan)


def test_b3_times_that_no_sum_of_floats_holds():
    """0.1 + 0.2 is 0.3 here: C starts when B ends; a start of the nearest
    float before it does too.
    """
    problem = made("A 0.1 >a:1", "B 0.2 a >b:1", "C 1 b")
    for third in (0.3, 0.1 + 0.2, 0.29999999999999993):
        plan = WorkDirectoryPlan(starts=((0, "A"), (0.1, "B"), (third, "C")))
        assert replay(problem, plan).violations == []
    late = WorkDirectoryPlan(starts=((0, "A"), (0.1, "B"), (0.29999, "C")))
    assert replay(problem, late).violations[0]["kind"] == "producer"


FOUR = (
    "A1 1 >a1:4",
    "A2 1 >a2:4",
    "A3 1 >a3:4",
    "B1 4 a1 >b1:4",
    "B2 4 a2 >b2:4",
    "B3 4 a3 >b3:4",
)


def run(problem: WorkDirectoryProblem, rank: Any = "submission", **more: Any) -> Any:
    """The starts of a dispatch, or its record."""
    choose, actual = more.pop("choose", None), more.pop("actual", None)
    try:
        dispatcher = Dispatcher(problem, rank, problem.quota_bytes, **more)
        return [*dispatch(problem, dispatcher, actual, choose).starts]
    except Fault as fault:
        return fault.record


def test_b5_ranks():
    """One core: submission by when a task became ready, newest-first the other way,
    depth-first by level.
    """
    problem = made("A 1 >a:1", "X 1", "B 1 a", cores=1)
    assert [name for _, name in run(problem)] == ["A", "X", "B"]
    assert [name for _, name in run(problem, "depth-first")] == ["A", "B", "X"]
    assert [name for _, name in run(problem, "newest-first")] == ["A", "B", "X"]
    assert [name for _, name in run(problem, ["X", "B", "A"])] == ["X", "A", "B"]
    assert run(problem, ["X", "B"]) == {"kind": "missing", "task": "A"}
    assert run(problem, ["X", "B", "X"]) == {"kind": "listed twice", "task": "X"}
    assert run(problem, actual={"A": -1})["kind"] == "negative"
    assert run(problem, actual={"Q": 1}) == {"kind": "unknown task", "task": "Q"}


def test_b6_safe_runs_keep_a_way_to_the_end():
    """12 bytes: A1 and A2 leave 4 for a B, A3 would leave none."""
    stuck = run(made(*FOUR, cores=4, quota=12))
    assert (stuck["kind"], stuck["seconds"], stuck["use"], stuck["left"]) == (
        "stuck",
        1.0,
        12,
        3,
    )
    assert stuck["waiting"] == [
        {"task": f"B{k}", "bytes": 4, "over": 4} for k in (1, 2, 3)
    ]
    assert stuck["holding"] == [{"file": f"a{k}", "bytes": 4} for k in (1, 2, 3)]
    safe = run(made(*FOUR, cores=4, quota=12), safe=True)
    assert safe == [(0, "A1"), (0, "A2"), (1, "B1"), (5, "A3"), (5, "B2"), (9, "B3")]
    assert run(made(*FOUR, quota=7), safe=True) == {
        "kind": "no order found",
        "least": 8,
        "over": 1,
    }


def test_b6_the_reference_order_is_the_first_with_the_least_peak():
    """By file S1 S2 T1 T2 holds 5 + 5 + 1 = 11; by level S1 T1 S2 T2 5 + 1 = 6, as by
    growth, named later.
    """
    problem = made("S1 1 >s1:5", "S2 1 >s2:5", "T1 1 s1 >t1:1", "T2 1 s2 >t2:1")
    assert [problem.tasks[k].id for k in reference_order(problem)] == [
        "S1",
        "T1",
        "S2",
        "T2",
    ]
    tight = problem.model_copy(update={"quota_bytes": 6})
    wrong = run(tight, safe=True, reference=["T1", "S1", "S2", "T2"])
    assert wrong == {"kind": "reference", "task": "T1"}


def test_b7_a_cap_on_samples_in_flight():
    """One sample at a time; where it waits for another's file, the held-back task
    goes once nothing runs.
    """
    assert run(made(*FOUR, cores=4), in_flight=1) == [
        (0, "A1"),
        (1, "B1"),
        (5, "A2"),
        (6, "B2"),
        (10, "A3"),
        (11, "B3"),
    ]
    crossed = made(
        "A 1 >a:1",
        "B 1 a b",
        "C 2 >b:1",
        A={"sample": 1},
        B={"sample": 1},
        C={"sample": 2},
    )
    assert run(crossed, in_flight=1) == [(0, "A"), (1, "C"), (3, "B")]
    assert run(crossed, in_flight=0)["kind"] == "in_flight"


def test_b5_answers_that_may_not_start_are_named():
    def first(*names: str) -> Any:
        left = [*names]
        return lambda _: left.pop(0) if left else None

    def why(problem: WorkDirectoryProblem, *names: str, **more: Any) -> tuple[str, str]:
        record = run(problem, choose=first(*names), **more)
        return record["task"], record["why"]

    tight = made(*FOUR, cores=4, quota=12)
    assert why(tight, "B1") == ("B1", "is not ready")
    assert why(tight, "Q") == ("Q", "is not ready")
    assert why(tight, "A1", "A1") == ("A1", "is not ready")
    assert why(made(*FOUR, cores=1), "A1", "A2") == ("A2", "does not fit")
    assert why(tight, "A1", "A2", "A3", safe=True) == ("A3", "is not admitted")
    assert why(tight, "A1", "A2", in_flight=1) == ("A2", "is held back")


def test_b10_b11_bounds_by_hand():
    """a (8) waits for D while C makes c (5) of b (1): 14. Kept k (2) stays: the end
    is 2 + D's 8 + 5 = 15.
    """
    problem = made("A 1 >a:8 k:2!", "B 1 a >b:1", "C 1 b >c:5", "D 1 a c", quota=16)
    least = peak_bound(problem)
    assert (least.need, least.through, least.end, least.bound) == (13, 16, 15, 16)
    assert (least.reason, least.task) == ("through", "C")  # 14 and the kept 2
    found = makespan_bounds(problem, 16)
    # bytes x seconds: A 10, B 1, C 5; a 8 x 3, b 1, c 5, k 2 x 3 = 52 of 16 a second =
    # 3.25 s; but after A, which is there from 0 and takes 10 / 16 s of all bytes, its
    # tail of 3 s comes: 3.625
    assert (found.critical_path, found.core_area, found.byte_area) == (4, 3.5, 3.625)
    assert found.bound == 4
    assert makespan_bounds(problem, None).byte_area is None


def test_statuses_and_exit_codes(tmp_path, monkeypatch, capsys):
    from ioopt.cli.main import main
    from ioopt.formats.native import dump_json

    monkeypatch.chdir(tmp_path)
    (tmp_path / "tight.json").write_text(dump_json(document(*FOUR, cores=4, quota=7)))
    (tmp_path / "stuck.json").write_text(dump_json(document(*FOUR, cores=4, quota=12)))
    assert main(["-q", "solve", "tight.json", "--format", "json"]) == 3
    assert (
        "task B1 alone needs 8 B; the quota is 7 B (1 byte too small)"
        in capsys.readouterr().out
    )
    assert (
        main(
            [
                "-q",
                "solve",
                "stuck.json",
                "--solver",
                "submission",
                "--set",
                "safe=no",
                "--format",
                "json",
            ]
        )
        == 4
    )
    assert "stuck at 1 s with " in capsys.readouterr().out
    assert (
        main(
            ["-q", "solve", "tight.json", "--measure", "peak_bytes", "-o", "least.json"]
        )
        == 0
    )
    # The quota was not kept, and was not to be.
    assert main(["check", "tight.json", "least.json"]) == 5
    assert main(["check", "tight.json", "least.json", "--set", "quota=ignored"]) == 0


def test_b12_times_with_too_many_ticks_are_rounded_down():
    """0.1234567890123 s has 10^13 ticks a second: a relaxation, and the plan is
    the run in its order.
    """
    problem = made(
        "A 0.1234567890123 >a:6", "B 1 a >b:6", "C 0.3 >c:6", "D 1 c >d:6", quota=12
    )
    scale = Scale.of(problem)
    assert not scale.exact and sum(scale.seconds) <= 10**12
    result = ioopt.solve(problem, "exact", time_limit=10)
    assert result.objective == pytest.approx(2.4234567890123) and 0 <= result.gap < 1e-7


def test_b14_a_frontier_falls_with_the_quota():
    """7: below 8, which B needs. 8 and 9: one chain after the other, 15 s.
    24: all at once, 5 s.
    """
    few = Settings(evaluations=20)
    request = SolveRequest(SolveOptions(None), Deadline(None), few)
    rows = frontier(made(*FOUR, cores=4), request, [24, 7, 8, 9])
    assert [
        (row["quota_bytes"], row["makespan_seconds"], row["status"]) for row in rows
    ] == [
        (7, None, "infeasible"),
        (8, 15.0, "feasible"),
        (9, 15.0, "feasible"),
        (24, 5.0, "optimal"),
    ]
    assert [row["bound"] for row in rows] == sorted(
        (row["bound"] for row in rows), reverse=True
    )


def test_b14_a_bound_holds_for_every_smaller_quota():
    """Three tasks of 10 s and 5 bytes: 3 x 10 x 5 = 150 byte-seconds,
    over 5, 10 and 15 bytes.

    5 bytes take one at a time, 30 s; 10 bytes two, 20 s, where 15 s are proven;
    15 bytes all, 10 s. A smaller quota is bounded by its own 30 s, not by the
    10 s of the largest.
    """
    problem = made("A 10 >a:5", "B 10 >b:5", "C 10 >c:5", cores=3)
    request = SolveRequest(SolveOptions(None), Deadline(None), Settings(evaluations=5))
    rows = frontier(problem, request, [5, 10, 15])
    assert [(row["makespan_seconds"], row["peak_bytes"]) for row in rows] == [
        (30, 5),
        (20, 10),
        (10, 15),
    ]
    assert [row["bound"] for row in rows] == [30, 15, 10]
    assert [row["status"] for row in rows] == ["optimal", "feasible", "optimal"]


def test_b14_a_larger_bound_of_a_larger_quota_is_taken(monkeypatch):
    """What is proven of 10 bytes, here 12 s, also holds for 5 bytes, of which
    only 11 s are proven.
    """
    proven = {5: Fraction(11), 10: Fraction(12), 15: Fraction(10)}
    told = lambda problem, quota, deadline=None: MakespanBound(  # noqa: E731
        Fraction(0), proven[quota], None, None
    )
    monkeypatch.setattr(solver, "makespan_bounds", told)
    problem = made("A 10 >a:5", "B 10 >b:5", "C 10 >c:5", cores=3)
    request = SolveRequest(SolveOptions(None), Deadline(None), Settings(evaluations=5))
    rows = frontier(problem, request, [5, 10, 15])
    assert [row["bound"] for row in rows] == [12, 12, 10]


KEPT = (
    ("T0 3 >a:6!", "T1 1 >b:8! c:7", "T2 2 b >d:1", "T3 1 >e:7 f:6"),
    {"T1": {"scratch_bytes": 6}, "T3": {"scratch_bytes": 3}},
)


def test_b12_kept_files_count_until_the_last_task_has_ended():
    """T3 first, 7 + 6 + 3 = 16; then T1, 8 + 7 + 6 = 21; T2, 8 + 1;
    T0, 8 + 6: 21 bytes.

    T1 needs 21 at any time. A program whose tasks may start at its last instant, where
    kept files are no longer counted, called 27 bytes the least.
    """
    rows, more = KEPT
    for name in ("exact", "auto"):
        result = ioopt.solve(
            made(*rows, **more), name, measure="peak_bytes", time_limit=20
        )
        assert (result.status, result.objective, result.bound) == ("optimal", 21, 21)


def test_b12_the_least_peak_is_that_of_the_plan_whatever_the_quota_allows():
    """Z first, 8 + 5 = 13 bytes that leave; then K, 5 that stay: 13. K first: 5
    + 13 = 18, the quota.

    Z takes 0 s and is released at 5 s, so that K ends at 6 s.
    """
    problem = made(
        "K 1 >k:5! n:0!", "Z 0 >x:8 y:5", cores=3, quota=18, Z={"release_seconds": 5}
    )
    result = ioopt.solve(problem, measure="peak_bytes", time_limit=20)
    assert (result.status, result.objective) == ("optimal", 13)
    assert (
        result.metrics["makespan_seconds"] == 6 and ioopt.check(problem, result) == []
    )


LONG = (1682004.5605879778, 1091602.608079564, 1617816.3488614024, 1841919.9045509563)


@pytest.mark.parametrize(
    "seconds", [LONG, (333333333.3333333,) * 12, (1e10, 1e-300, 5e-324, 1e-9)]
)
def test_b3_long_times_are_what_floats_hold_of_them(seconds):
    """After 49 days a float is good to 1e-9 s no more: a plan's own sums are
    within what it can hold.
    """
    rows = [
        f"T{k} {s!r} {f'f{k - 1} ' if k else ''}>f{k}:10" for k, s in enumerate(seconds)
    ]
    problem = made(*rows, quota=100, cores=1)
    result = ioopt.solve(problem, time_limit=20)
    assert result.violations == () and ioopt.check(problem, result.to_dict()) == []
    assert result.status == "optimal" and result.objective == pytest.approx(
        sum(seconds)
    )
    second = result.plan["starts"][1][0]
    early = {
        "starts": [[0, "T0"], [second * (1 - 1e-9), "T1"], *result.plan["starts"][2:]]
    }
    assert ioopt.check(problem, early)[0].rule == "producer"


def test_b12_more_bytes_and_cores_than_64_bits_hold(tmp_path):
    """Ten chains of files of about 10**18 / 2 bytes, 10**18 cores: a plan, which
    a check reads again.
    """
    half = 5 * 10**17
    rows = [
        f"T{k} 3 {f'f{k - 1} ' if k % 2 else ''}>f{k}:{half - 7 * k}" for k in range(20)
    ]
    wide = {f"T{k}": {"cores": 10**18} for k in range(0, 20, 3)}
    problem = made(*rows, quota=10**18, cores=10**18, **wide)
    sizes, scale = Sizes.of(problem), Scale.of(problem)
    assert not sizes.exact and max(sum(sizes.products), sum(sizes.cores)) < 2**62
    # 10**18 bytes hold two files, 10**18 // unit units two of half // unit:
    # rounding keeps what fits
    assert 2 * max(sizes.products) <= 10**18 // sizes.unit
    assert program(problem, scale, sizes, 10**18, 0, None).validate() == ""
    result = ioopt.solve(problem, time_limit=1, settings={"evaluations": 20})
    assert result.status in ("optimal", "feasible"), result.notes
    assert not any("failed" in note for note in result.notes)
    assert ioopt.check(problem, result_from_dict(result.to_dict(), "r")) == []
    free = ioopt.solve(problem.model_copy(update={"quota_bytes": None}), "submission")
    many = made(*[f"T{k} 3 >f{k}:{10**18}!" for k in range(20)], cores=20)
    plan = ioopt.solve(many, "submission")
    assert plan.metrics["peak_bytes"] == 20 * 10**18 and free.violations == ()
    assert ioopt.check(many, result_from_dict(plan.to_dict(), "r")) == []


def test_b6_the_walk_counts_more_bytes_than_64_bits_hold():
    """a grows to 10**19 bytes while B (5) is to come: C, whose 5
    stay, fits 2 x 10**19.
    """
    problem = made("A 1 >a:5", "B 1 a >b:5", "C 1 >c:5!", quota=20)
    walk = Walk(problem, [0, 1, 2], 2 * 10**19)
    walk.start(0)
    walk.resize(0, 0, 10**19)
    assert walk.admits(2)
    walk.resize(0, 0, 2 * 10**19)
    assert not walk.admits(2)


def test_the_replay_of_simulate_and_the_checker_find_each_others_faults(monkeypatch):
    """A file that leaves too early in one of them: solve, and check of a result,
    name the difference.

    a (10 bytes) is inside until B has ended, beside b: 14 bytes; without it B holds 4
    alone, and the peak is A's 10. In the checker B would be thought to fit 12 bytes.
    """
    problem = made("A 2 >a:10", "B 3 a >b:4", quota=20)
    sound = ioopt.solve(problem, "submission")
    assert sound.metrics["peak_bytes"] == 14 and ioopt.check(problem, sound) == []
    with monkeypatch.context() as patch:
        alone = lambda self, maker, f: Held(  # noqa: E731
            self.problem.products[f].bytes,
            self.place[maker],
            self.over[maker],
            self.left[maker],
        )
        patch.setattr(Places, "product_held", alone)
        found = ioopt.solve(problem, "submission")
        assert found.status == "error" and "peak_bytes" in {
            v.item for v in found.violations
        }
        assert any("replay" in v.rule for v in ioopt.check(problem, sound))
    with monkeypatch.context() as patch:
        none = lambda self, task: setattr(self, "use", 0)  # noqa: E731
        patch.setattr(Contents, "end", none)
        found = ioopt.solve(problem, "submission")
        assert found.status == "error" and "peak_bytes" in {
            v.item for v in found.violations
        }
    assert ioopt.solve(problem, "submission").violations == ()


def test_the_time_limit_ends_the_first_runs_too():
    """Nothing is left of the time: the tasks one by one, and no word of a proof."""
    problem = made(*FOUR, cores=4, quota=12)
    late = Deadline(0.5, clock=itertools.count().__next__)
    request = SolveRequest(SolveOptions(0.5), late, incumbents=Incumbents(late))
    found = search_alone(problem, request)
    assert found.stop == "time" and found.plan is not None
    names = [name for _, name in found.plan.starts]
    assert (
        carried_out(problem, found.plan).metrics["makespan_seconds"] == 15
    )  # 3 x (1 + 4)
    assert names.index("A1") < names.index("B1")


def test_a_limit_too_short_for_any_answer_says_so(monkeypatch):
    """6 tasks at a second each take 6 s; a limit of 4 s, with its twentieth
    and .8 s, is 5 s: none.
    """
    monkeypatch.setattr(solver, "TASK_SECONDS", 1.0)
    result = ioopt.solve(made(*FOUR, cores=4, quota=12), "search", time_limit=4)
    assert (result.status, result.stop, result.plan) == ("unknown", "time", None)
    assert "too short for 6 tasks" in result.notes[0] and "about 6 s" in result.notes[0]
    assert (
        ioopt.solve(made(*FOUR, cores=4, quota=12), "search", time_limit=5).plan
        is not None
    )


def test_tasks_come_in_the_order_of_the_standard_library():
    rng = random.Random(3)
    for _ in range(50):
        rows = [f"T{k} 1 >f{k}:1" for k in range(8)]
        for k in range(8):
            reads = rng.sample(range(8), 2)
            rows[k] = (
                f"T{k} 1 "
                f"{' '.join(f'f{j}' for j in reads if j * 3 % 8 < k * 3 % 8)} "
                f">f{k}:1"
            )
        problem = made(*rows)
        graph = dict(enumerate(problem.predecessors))
        assert problem.topological == tuple(TopologicalSorter(graph).static_order())


def test_b15_copies():
    given = document("A 1 >a:1", "B 1 a out >b:2")
    given["files"].append({"id": "out", "bytes": 9})  # from outside: it stays shared
    one = WorkDirectoryProblem.model_validate(given)
    assert one.copies(1) is one
    two = one.copies(2)
    assert [task.id for task in two.tasks] == ["A#1", "B#1", "A#2", "B#2"]
    assert two.tasks[3].inputs == ("a#2", "out") and two.samples == (0, 0, 1, 1)
    stages = {"A#2": "A", "FASTQC (s1)#3": "FASTQC", "mAdd_ID0000012": "mAdd"}
    assert {name: stage(name) for name in stages} == stages


def test_b15_more_samples():
    """B of the sample s gets I from I, which is one, and all B go to R, which is one
    and takes three times as long. Z waits for R alone, but so for all samples too.
    """
    given = document(
        "Z .1 r >z:1", "I 4 >i:9", "B 1 i out >b:2", "R 2 b >r:5", "C 1 b r >c:1"
    )
    given["files"].append({"id": "out", "bytes": 9})
    for k in (2, 4):
        given["tasks"][k]["sample"] = "s"
    one = WorkDirectoryProblem.model_validate(given)
    assert one.more_samples(1) is one
    three = one.more_samples(3)
    order = ["I", "B#1", "C#1", "B#2", "C#2", "B#3", "C#3", "Z", "R"]
    assert [task.id for task in three.tasks] == order
    tasks = {task.id: task for task in three.tasks}
    assert tasks["B#2"].inputs == ("i", "out") and tasks["C#2"].inputs == ("b#2", "r")
    assert tasks["R"].inputs == ("b#1", "b#2", "b#3")
    seconds = [tasks[name].compute_seconds for name in "IRZ"]
    assert seconds == [4, 6, 0.3]
    sizes = {file.id: file.bytes for file in three.files}
    assert [sizes[name] for name in ("i", "b#3", "r", "z", "out")] == [9, 2, 15, 3, 9]
    assert set(three.samples) == {-1, 0, 1, 2}
    unnamed = WorkDirectoryProblem.model_validate(document("A 1 >a:1", "B 1 a >b:2"))
    assert unnamed.more_samples(2) == unnamed.copies(2)


def test_every_rule_has_its_heading_and_leads_to_code():
    page = (ROOT / "docs" / "rules" / "work-directory.md").read_text("utf-8")
    headings = [int(n) for n in re.findall(r"^### B(\d+): ", page, re.M)]
    assert headings == list(range(1, 16))
    paths = [
        p
        for r in ("ioopt", "models", "solvers")
        for p in (ROOT / r).rglob("*work_directory*")
    ]
    files = [f for p in paths for f in ([p] if p.suffix == ".py" else p.glob("*.py"))]
    files.append(ROOT / "solvers" / "backends" / "cpsat_directory.py")
    text = "\n".join(path.read_text("utf-8") for path in files)
    cited = {
        int(n)
        for part in re.findall(r"rules? (B\d+(?:(?:, B| and B)\d+| to B\d+)*)", text)
        for n in re.findall(r"\d+", part)
    }
    assert (
        cited <= set(headings)
        and {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} <= cited
    )
