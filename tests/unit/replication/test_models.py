"""Formulations: each constraint kept and broken, both models against
enumeration, units, decoding.
"""

from fractions import Fraction
from pathlib import Path

import pytest
from conftest import first
from oracle.replication_exhaustive import optimum
from replication_samples import made, tiny

import ioopt
from ioopt.checks.replication.check import check
from ioopt.errors import UsageError
from ioopt.exchange import export_model
from ioopt.models.replication import bounds
from ioopt.models.replication.aggregated import AggregatedModel, attach
from ioopt.models.replication.printed import PrintedModel
from ioopt.models.replication.static import (
    Moves,
    from_plan,
    loads,
    queue_order,
    reduce,
    tidied,
    to_plan,
)
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.backends.solve import solve_program

LIMITS = BackendLimits(seconds=30)

# Three nodes; file a (10 B) read by t0 and t1, b (20 B) by t1; 1 s of computing
# each; remote 10 B/s, copies 100 B/s. t0 on n0, t1 on n1, a and b fetched to n1, a
# copied from n1 to n0.
TRIO = made(
    [{"disk_bytes": 30}, {"disk_bytes": 30}, {}],
    {"a": 10, "b": 20, "c": 9},
    {"t0": (1, "a"), "t1": (1, "ab")},
)
A, B = 0, 1
GOOD = Moves((0, 1), ((A, 1), (B, 1)), ((A, 1, 0),))


def printed_start(
    model: PrintedModel, moves: Moves, seconds: float
) -> dict[int, float]:
    """Values of all variables for *moves*, whose batch time is *seconds*."""
    values = dict.fromkeys(range(len(model.program.variables)), 0.0)
    values[model.M] = seconds
    for task, node in enumerate(moves.assign):
        values[model.T[task, node]] = 1.0
    there = {*moves.remote, *((f, j) for f, _, j in moves.copies)}
    there |= {(f, i) for i, files in enumerate(model.instance.held) for f in files}
    for key in there:
        values[model.X[key]] = 1.0
    for key in moves.remote:
        values[model.R[key]] = 1.0
    for f, i, j in moves.copies:
        values[model.Y[i, j, f]] = 1.0
    depth = _depths(moves)
    for key, variable in model.U.items():
        values[variable] = float(depth.get(key, 0))
    return values


def _depths(moves: Moves) -> dict[tuple[int, int], int]:
    """Number of copies between a root and each (file, node), for the levels U."""
    depth: dict[tuple[int, int], int] = {}
    source_of = {(file, target): source for file, source, target in moves.copies}
    for key in source_of:
        steps, here = 0, key
        while here in source_of and steps <= len(source_of):
            steps, here = steps + 1, (here[0], source_of[here])
        depth[key] = steps
    return depth


def broken_rows(model: PrintedModel, moves: Moves) -> set[str]:
    """Which families of rows *moves* break when put into the printed model."""
    values = printed_start(model, moves, 1e6)
    rows = {row.name for row in model.program.rows}
    return {
        name.split("_")[0]
        for name in model.program.broken(values, 1e-9)
        if name in rows
    }


def test_printed_model_keeps_a_good_plan() -> None:
    model = PrintedModel(TRIO, "acyclic")
    assert broken_rows(model, GOOD) == set()
    # n0: 10/100 + 1 = 1.1 s; n1: 30/10 + 10/100 + 1 = 4.1 s.
    assert model.program.broken(printed_start(model, GOOD, 4.1), 1e-9) == []
    assert model.program.broken(printed_start(model, GOOD, 4.0), 0.04) == ["eq13_n1"]
    assert (
        check(TRIO, to_plan(model.instance, GOOD)).objectives["additive_seconds"] == 4.1
    )


CHANGES = [
    # (rows broken in the model, rules broken in the checker, moves)
    ({"eq1"}, {"(1) source"}, Moves((0, 1), ((A, 1), (B, 1)), ((A, 2, 0),))),
    ({"eq2"}, {"(2) reader"}, Moves((0, 1), GOOD.remote, ((A, 1, 0), (A, 1, 2)))),
    (
        {"eq3", "eq5", "eq6"},
        {"(3) one source"},
        Moves((0, 1), ((A, 1), (A, 2), (B, 1)), ((A, 1, 0), (A, 2, 0))),
    ),
    (
        {"eq5", "eq6"},
        {"(6) remote or copy"},
        Moves((0, 1), (*GOOD.remote, (A, 0)), GOOD.copies),
    ),
    ({"eq7"}, {"(7) inputs"}, Moves((0, 1), GOOD.remote, ())),
    (
        {"eq8"},
        {"(8) remote transfer"},
        Moves((0, 1), ((B, 1),), ((A, 1, 0), (A, 0, 1))),
    ),
    ({"eq21"}, {"(21) disk"}, Moves((0, 0), ((A, 0), (B, 0)), ())),
]


@pytest.mark.parametrize(("rows", "rules", "moves"), CHANGES)
def test_model_and_checker_refuse_the_same(rows: set, rules: set, moves: Moves) -> None:
    problem = TRIO
    if rows == {"eq21"}:
        small = problem.nodes[0].model_copy(update={"disk_bytes": 29})
        problem = problem.model_copy(update={"nodes": (small, *problem.nodes[1:])})
    model = PrintedModel(problem, "printed")
    assert broken_rows(model, moves) == rows
    plan = to_plan(model.instance, moves, printed=True)
    assert {v.rule for v in check(problem, plan).violations} == rules


def test_levels_refuse_a_circle_and_nothing_else() -> None:
    circle = Moves((0, 1), ((A, 2), (B, 1)), ((A, 1, 0), (A, 0, 1)))
    strict, printed = PrintedModel(TRIO, "acyclic"), PrintedModel(TRIO, "printed")
    assert broken_rows(printed, circle) == set()
    assert broken_rows(strict, circle) == {"level"}
    plan = to_plan(strict.instance, circle)
    assert [v.rule for v in check(TRIO, plan).violations] == ["forest"]


def test_eq4_refuses_a_task_nowhere() -> None:
    model = PrintedModel(TRIO)
    values = printed_start(model, GOOD, 5.0)
    values[model.T[0, 0]] = 0.0
    assert model.program.broken(values, 1e-9) == ["eq2_n1_n0_a", "eq4_t0"]


def test_names_are_readable_and_stable(tmp_path: Path) -> None:
    model = PrintedModel(TRIO, "acyclic")
    names = {variable.name for variable in model.program.variables}
    assert {
        "T_t0_n1",
        "X_a_n0",
        "R_b_n2",
        "Y_n0_n1_a",
        "U_a_n2",
        "Batch_Exec_Time",
    } <= names
    assert not any("_c_" in name or name.endswith("_c") for name in names)
    export_model(TRIO, tmp_path / "trio.lp")
    first = (tmp_path / "trio.lp").read_text()
    assert "eq8_a: R_a_n0 + R_a_n1 + R_a_n2 >= 1" in first
    export_model(TRIO, tmp_path / "trio.lp")
    assert (tmp_path / "trio.lp").read_text() == first
    export_model(TRIO, tmp_path / "trio.mps")
    assert (tmp_path / "trio.mps").read_text().rstrip().endswith("ENDATA")
    with pytest.raises(UsageError, match=r"\.lp or \.mps"):
        export_model(TRIO, tmp_path / "trio.txt")
    odd = TRIO.model_copy(
        update={
            "tasks": tuple(t.model_copy(update={"id": f"x/{t.id}"}) for t in TRIO.tasks)
        }
    )
    assert "T_t1_n0" in {
        variable.name for variable in PrintedModel(odd).program.variables
    }


@pytest.mark.parametrize("seed", first(2, range(8)))
@pytest.mark.parametrize(
    ("cycles", "replication"),
    [("acyclic", True), ("printed", True), ("acyclic", False)],
)
def test_models_equal_enumeration(seed: int, cycles: str, replication: bool) -> None:
    problem = tiny(seed, nodes=2 + seed % 2, tasks=3 + seed % 2, extras=seed >= 4)
    instance = reduce(problem)
    assert instance.exact
    true = optimum(problem, cycles, replication)
    model = AggregatedModel(instance, cycles=cycles, replication=replication)
    for answer in (
        solve_by_cpsat(model.program, LIMITS),
        solve_program(model.program, "HiGHS", LIMITS),
    ):
        if true is None:
            assert answer.status is Status.INFEASIBLE
            continue
        assert answer.status is Status.OPTIMAL
        assert answer.objective * float(instance.unit) == pytest.approx(
            float(true), abs=1e-6
        )
        moves = tidied(instance, model.moves(answer.values))
        report = check(problem, to_plan(instance, moves, cycles == "printed"))
        assert report.violations == ()
        assert report.objectives["additive_seconds"] == pytest.approx(
            float(true), abs=1e-6
        )
    printed = PrintedModel(problem, cycles, replication)
    answer = solve_program(printed.program, "HiGHS", LIMITS)
    if true is None:
        assert answer.status is Status.INFEASIBLE
    else:
        assert answer.objective == pytest.approx(float(true), abs=1e-6)


@pytest.mark.parametrize("seed", first(2, range(9)))
def test_bounds_stay_below_the_optimum(seed: int) -> None:
    problem = tiny(seed, nodes=2 + seed % 2, tasks=4 - seed % 2, extras=seed % 3 == 2)
    instance = reduce(problem)
    for cycles, replication in (
        ("acyclic", True),
        ("printed", True),
        ("acyclic", False),
    ):
        true = optimum(problem, cycles, replication)
        if true is None:
            continue
        weights = bounds.file_weights(instance, cycles, replication)
        partition = bounds.partition_model(weights, instance.num_nodes, 0)
        found = [bounds.area(instance), bounds.largest_task(instance)]
        if partition is not None:
            found.append(Fraction(solve_by_cpsat(partition, LIMITS).bound))
        assert all(bound * instance.unit <= true for bound in found)
    assert len(found) >= 2


def test_partition_bound_by_hand() -> None:
    """One 64 MB file on three nodes: fetch 5.12 s, then a copy (0.064 s) or
    a task (1.5 s) there.
    """
    problem = ioopt.load("cycle3")
    instance = reduce(problem)
    assert (instance.unit, instance.far, instance.near) == (
        Fraction(1, 250),
        (1280,),
        (16,),
    )
    assert len(instance.classes) == 1 and instance.classes[0].count == 6
    seconds = {
        (cycles, replication): float(w * instance.unit)
        for cycles, replication in (
            ("acyclic", True),
            ("printed", True),
            ("acyclic", False),
        )
        for w in bounds.file_weights(instance, cycles, replication)
    }
    assert seconds == {
        ("acyclic", True): 5.184,
        ("printed", True): 5.12,
        ("acyclic", False): 6.62,
    }
    # (5.12 + 6 x 1.5) / 3
    assert float(bounds.area(instance) * instance.unit) == pytest.approx(14.12 / 3)


def test_units_are_exact_or_rounded_down() -> None:
    def with_compute(seconds: float) -> ReplicationProblem:
        task = TRIO.tasks[0].model_copy(update={"compute_seconds": seconds})
        return TRIO.model_copy(update={"tasks": (task, TRIO.tasks[1])})

    exact = reduce(with_compute(0.123456))
    assert exact.exact
    assert exact.work[0][0] * exact.unit == Fraction("0.123456")
    rounded = reduce(with_compute(0.12345678901234567))
    assert not rounded.exact
    gap = Fraction(repr(0.12345678901234567)) - rounded.work[0][0] * rounded.unit
    assert 0 <= gap < rounded.unit < Fraction(1, 10**9)


def test_attach_builds_forests_and_passes_circles_round() -> None:
    # Root 0 sends two, node 1 sends one: everybody is served.
    assert attach([0], [1, 2, 3], {0: 2, 1: 1}) == [(0, 1), (0, 2), (1, 3)]
    assert sorted(attach([], [0, 1, 2], {0: 1, 1: 1, 2: 1})) != [(0, 0), (1, 1), (2, 2)]
    for pairs in (
        attach([], [0, 1], {0: 1, 1: 1}),
        attach([3], [0, 1, 2], {0: 2, 1: 1, 3: 0}),
    ):
        assert all(source != target for source, target in pairs)


def test_tidied_removes_what_serves_nobody() -> None:
    instance = reduce(TRIO)
    more = Moves((0, 1), (*GOOD.remote, (B, 2)), (*GOOD.copies, (A, 0, 2)))
    assert tidied(instance, more) == GOOD
    # The only fetch of a file stays, even beside a printed circle.
    circle = Moves((0, 1), ((A, 2), (B, 1)), ((A, 1, 0), (A, 0, 1)))
    assert (A, 2) in tidied(instance, circle).remote


def test_plan_and_moves_convert_back() -> None:
    instance = reduce(TRIO)
    assert from_plan(instance, to_plan(instance, GOOD)) == GOOD
    assert loads(instance, GOOD)[1] * instance.unit == Fraction("4.1")
    partial = to_plan(instance, GOOD).model_copy(update={"assign": {}, "order": {}})
    assert from_plan(instance, partial) is None
    # t1 needs 30 B, t0 only 10 B of them: the smaller first, then what it shares with.
    assert queue_order(instance, [1, 0]) == [0, 1]
