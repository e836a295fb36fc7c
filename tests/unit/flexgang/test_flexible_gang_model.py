"""The assignment model against exhaustive search, its two forms, and
constraint by constraint.
"""

import math

import pytest
from conftest import first
from oracle.flexible_gang_oracle import best_of_pattern

from ioopt.checks.flexgang.flexible_gang import check
from ioopt.generate.flexgang.flexible_gang import generate
from ioopt.loading import plan_of
from ioopt.models.flexgang.assignment import AssignmentModel
from ioopt.models.flexgang.frame import (
    PatternData,
    Placement,
    column_capacity,
    lay_out,
    model_objective,
)
from ioopt.models.flexgang.relaxation import universal_bound
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem
from ioopt.protocols import SolveRequest
from ioopt.registry import KINDS
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.flexgang.linear import plan_with_best_tau, relaxed_bound
from ioopt.solvers.flexgang.pattern_search import PatternSearch, plan_of_values

KIND = KINDS["flexible-gang"]


def instance(rows: int, lam: float = 0.1, **extra: object) -> FlexibleGangProblem:
    """Four processors in two columns: a strict pair, a loose pair, a
    whole-machine job, two I/O.
    """
    return FlexibleGangProblem.model_validate(
        {
            "name": "oracle",
            "machine": {
                "processors": 4,
                "columns": 2,
                "quantum_seconds": 0.01,
                "rows": rows,
            },
            "lambda": lam,
            "jobs": [
                {"id": "a", "kind": "compute", "processes": 2, "gamma": 1.0},
                {
                    "id": "b",
                    "kind": "compute",
                    "processes": 2,
                    "gamma": 0.3,
                    "weight": 2.0,
                },
                {
                    "id": "wide",
                    "kind": "compute",
                    "processes": 4,
                    "gamma": 0.5,
                    **extra,
                },
                {"id": "io", "kind": "io", "processes": 2},
                {"id": "sync", "kind": "io", "processes": 2, "coordinated": True},
            ],
        }
    )


CASES = [
    instance(3),
    instance(3, lam=0.5),
    instance(3, self_balancing=True),
    instance(3, phi=0.35, weight=3.0),
    pytest.param(instance(4, lam=1.0, gamma=0.95), marks=pytest.mark.slow),
]


def data_of(problem: FlexibleGangProblem, k: int, d: int) -> PatternData:
    pattern = problem.pattern(k, d)
    assert pattern is not None
    data = PatternData.of(problem, pattern)
    assert data is not None
    return data


@pytest.mark.slow
@pytest.mark.parametrize("problem", first(1, CASES))
def test_every_pattern_equals_exhaustive_search(problem: FlexibleGangProblem) -> None:
    solved = 0
    for pattern in problem.patterns():
        wanted = best_of_pattern(problem, pattern.k, pattern.d)
        model = AssignmentModel(data_of(problem, pattern.k, pattern.d))
        answer = solve_program(model.program, "HiGHS", BackendLimits(seconds=60))
        if wanted is None:
            assert answer.status == "infeasible"
            continue
        solved += 1
        assert answer.objective == pytest.approx(wanted, abs=1e-7)
        plan = plan_of_values(model, answer.values)
        assert model_objective(model.data, plan) == pytest.approx(wanted, abs=1e-7)
        assert check(problem, plan).violations == ()
    assert solved >= 2


@pytest.mark.parametrize("problem", CASES)
def test_highs_and_scip_agree(problem: FlexibleGangProblem) -> None:
    for k, d in ((0, 1), (1, 1), (2, 1)):
        data = data_of(problem, k, d)
        limits = BackendLimits(seconds=60)
        counts = solve_program(AssignmentModel(data).program, "HiGHS", limits)
        scaled = solve_program(AssignmentModel(data).program, "SCIP", limits)
        assert counts.status == scaled.status
        if counts.found:
            assert scaled.objective == pytest.approx(counts.objective, abs=1e-3)
            assert scaled.bound >= counts.objective - 1e-7


# One plan of CASES[0] with k = 1 that keeps every rule; each test
# changes one thing in it.
GOOD = {
    "k": 1,
    "d": 1,
    "home": {"a": 0, "b": 1, "wide": 0, "io": 1, "sync": 1},
    "rows": {"a": [0], "sync": [0], "wide": [1]},
    "loose": ["io"],
    "tau_seconds": {"b": 0.0075, "wide": 0.001},
}
BREAKS = [
    (["home_0", "rows_at_home_0_0"], {"home": {0: None}}),
    (["placed_3"], {"loose": []}),
    (["column_rows_0", "capacity_0"], {"rows": {0: 2}}),
    (["n_0_0", "rows_at_home_0_0", "column_rows_0", "capacity_0"], {"rows": {0: 3}}),
    (["capacity_1"], {"tau": {(1, 1): 2.0}}),
    (["floor_0"], {"rows": {0: 0}}),
    (["floor_1"], {"tau": {(1, 1): 0.0}}),
    (["tau_at_home_1_0"], {"tau": {(1, 0): 0.1}}),
]


@pytest.mark.parametrize(("broken", "change"), BREAKS)
def test_a_change_breaks_its_constraint(
    broken: list[str], change: dict[str, dict]
) -> None:
    problem = CASES[0]
    model = AssignmentModel(data_of(problem, 1, 1))
    values = model.start_values(plan_of(KIND, GOOD))
    assert model.program.broken(values, 1e-9) == []
    for job, count in change.get("rows", {}).items():
        values[model.n[job, 0]] = float(count)
    for place, quanta in change.get("tau", {}).items():
        values[model.tau[place]] = quanta
    if "home" in change:
        values[model.s[0, 0]] = 0.0
    if "loose" in change:
        values[model.y[3, 1]] = 0.0
    assert model.program.broken(values, 1e-9) == broken


def test_loose_io_load_is_limited() -> None:
    # k = 1: one window of 10 ms in a frame of 30 ms. beta(10, 20) is about 1/6, so
    # one loose I/O job uses 5 ms of the .6 * 10 ms that loose I/O may use in a
    # column, and two use 10 ms.
    document = instance(3).model_dump(by_alias=True)
    document["jobs"] = [
        document["jobs"][0],
        *({"id": f"io{n}", "kind": "io", "processes": 4} for n in range(2)),
    ]
    problem = FlexibleGangProblem.model_validate(document)
    data = data_of(problem, 1, 1)
    assert 0.003 < data.loose_cpu(1) < 0.006 < 2 * data.loose_cpu(1)
    model = AssignmentModel(data)
    for i in (1, 2):
        model.program.hold(model.y[i, 0], least=1)
    answer = solve_program(model.program, "HiGHS", BackendLimits(seconds=20))
    assert answer.status == "infeasible"


def test_counts_are_laid_out_in_rows() -> None:
    problem = CASES[0]
    data = data_of(problem, 0, 1)
    placement = Placement(
        {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}, {0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
    )
    plan = lay_out(data, placement)
    # The whole-machine job is placed first, so it has row 0; the halves
    # share rows 1 and 2.
    assert plan.rows["wide"] == (0,)
    assert {name: plan.rows[name] for name in ("a", "b", "io", "sync")} == {
        "a": (1,),
        "b": (1,),
        "io": (2,),
        "sync": (2,),
    }
    free = column_capacity(data, placement)
    # No idle cell: only the fragments of the two I/O rows, 10 ms less about 5
    # ms of bursts each.
    assert free == pytest.approx([data.fragment(4), data.fragment(3)])
    assert 0.003 < free[0] < 0.008


@pytest.mark.parametrize(
    "problem", [*CASES, generate("heavy-mix", {}, 3)], ids=lambda p: p.name
)
def test_the_relaxation_is_that_of_the_program(problem: FlexibleGangProblem) -> None:
    """The little program of one column equals the linear relaxation of the
    model, pattern by pattern.
    """
    for pattern in problem.patterns():
        data = data_of(problem, pattern.k, pattern.d)
        program = AssignmentModel(data).program
        program.variables = [item._replace(nature="real") for item in program.variables]
        relaxed = solve_program(program, "HiGHS", BackendLimits()).objective
        expected = -math.inf if relaxed is None else pytest.approx(relaxed, abs=1e-7)
        assert relaxed_bound(data) == expected
        assert relaxed_bound(data) <= universal_bound(problem) + 1e-9


def test_universal_bound_by_hand() -> None:
    """b (weight 2) takes 2 of 4 processors, then a 2 more at weight 1: 2
    * .5 + 1 * .5 = 1.5.
    """
    assert universal_bound(instance(rows=3)) == pytest.approx(1.5)


@pytest.mark.slow
def test_search_prunes_and_bounds_every_pattern() -> None:
    problem = CASES[0]
    request = SolveRequest(SolveOptions(time_limit_seconds=30), Deadline(30))
    search = PatternSearch(problem, problem.patterns(), request)
    search.relax()
    relaxed = {state.pattern.key: state.bound for state in search.states}
    search.run(0.0, 0.0)
    for state in search.states:
        best = best_of_pattern(problem, state.pattern.k, state.pattern.d)
        if best is None:
            assert state.status == "infeasible"
        else:
            assert relaxed[state.pattern.key] >= best - 1e-9
            assert state.bound >= best - 1e-9
            assert state.status == "pruned" or state.value == pytest.approx(best)
    assert search.bound == pytest.approx(search.best)


def test_loose_cpu_goes_where_it_is_worth_most() -> None:
    """One free quantum, two jobs of whole rows: weight 2 at gamma .9 gains 2
    (1 - .9) = .2 of it,

    weight 1 at gamma .2 gains .8. The floors are nothing, so all of it
    is the second one's.
    """
    problem = FlexibleGangProblem.model_validate(
        {
            "name": "worth",
            "machine": {
                "processors": 2,
                "columns": 1,
                "quantum_seconds": 0.01,
                "rows": 3,
            },
            "jobs": [
                {
                    "id": name,
                    "kind": "compute",
                    "processes": 2,
                    "gamma": gamma,
                    "weight": weight,
                    "phi": 0.0,
                }
                for name, gamma, weight in (("stiff", 0.9, 2.0), ("loose", 0.2, 1.0))
            ],
        }
    )
    placement = Placement(home={0: 0, 1: 0}, rows={0: 1, 1: 1})
    plan = plan_with_best_tau(data_of(problem, 0, 1), placement)
    assert plan is not None and plan.tau_seconds == {"loose": pytest.approx(0.01)}
