"""The worked case of the flexible gang program, and the hand arithmetic behind it."""

import json
from typing import Any

import pytest
from conftest import shared_path

import ioopt
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem, useful_seconds

MS = 1e-3


def tiny() -> FlexibleGangProblem:
    """Case 08: P = 4, K = 4, q = 10 ms, lambda = .5; a strict job, a
    loose job, an I/O job.
    """
    problem: FlexibleGangProblem = ioopt.load("flexgang-tiny")
    return problem


@pytest.mark.parametrize("backend", ["HiGHS", "SCIP", "CBC"])
def test_worked_case(backend: str) -> None:
    case = json.loads(
        shared_path("cases", "flexgang", "08_flexgang_tiny.json").read_text()
    )
    problem = tiny()
    for row in problem.surface or ():
        key = f"{row.on_seconds / MS:.1f},{row.off_seconds / MS:.1f}"
        assert case["inputs"]["surface"].pop(key) == [row.slowdown, row.beta]
    assert not case["inputs"]["surface"]
    result = ioopt.solve(problem, "flex-exact", backend=backend, time_limit=60)
    wanted = case["expected"]
    found = {
        key: row["objective"] for key, row in result.metrics["per_pattern"].items()
    }
    assert found.keys() - {"4,1"} == wanted["per_pattern"].keys() | {"0,1"}
    for key, leaf in wanted["per_pattern"].items():
        assert found[key] == pytest.approx(leaf["value"], abs=leaf["tol"])
    assert found["0,1"] == pytest.approx(wanted["k0"]["value"], abs=1e-6)
    assert result.objective == pytest.approx(wanted["best"]["value"], abs=1e-6)
    # (2, 2): two strict rows for the strict job, 2/4 = .5; loose: 20 ms less .16 * 40
    # = 6.4 ms is 13.6 ms for the loose job, worth .6 * 13.6 / 40 = .204; I/O: -.5 *
    # .25 = -.125. Sum .579.
    assert wanted["best"]["value"] == pytest.approx(0.5 + 0.204 - 0.125)
    assert (result.plan["k"], result.plan["d"]) == (2, 2)
    assert result.plan["tau_seconds"]["loose"] == pytest.approx(13.6 * MS)
    assert not result.violations
    assert (result.status, result.stop) == ("optimal", "finished")
    assert result.bound >= wanted["best"]["value"] - 1e-6


def test_useful_progress_of_the_worked_case() -> None:
    case = json.loads(
        shared_path("cases", "flexgang", "08_flexgang_tiny.json").read_text()
    )
    fairness = case["expected"]["fairness"]
    received = fairness["received_per_process"]
    assert useful_seconds(received, False) == fairness["embarrassingly_parallel_useful"]
    assert useful_seconds(received, True) == fairness["self_balancing_useful"]


def test_baselines_of_the_tiny_case() -> None:
    # Strict: a row each (K = 3 needed of 4): 1/4 + 1/4 - .5 * 1 = 0. The floor .25 is
    # kept. Fill: the loose job gets the idle row and the fragment, 10 + (10 - 4) = 16
    # ms a frame: .6 * 16 / 40 = .24 more. Greedy in (2, 2) gives the strict job both
    # rows: .579 as well.
    problem = tiny()
    assert ioopt.solve(problem, "strict").objective == pytest.approx(0.0)
    assert ioopt.solve(problem, "strict-fill").objective == pytest.approx(0.24)
    assert ioopt.solve(problem, "greedy").objective == pytest.approx(0.579)


@pytest.mark.parametrize(
    ("table", "row", "damage", "solver", "why"),
    [
        # One row of four is 1/4.
        ("jobs", 0, {"phi": 0.5}, "strict", "progress 0.25 is below its floor 0.5"),
        (
            "jobs",
            0,
            {"phi": 0.5},
            "strict-fill",
            "progress 0.25 is below its floor 0.5",
        ),
        (
            "jobs",
            1,
            {"phi": 1.0},
            "greedy",
            "strict + fill fails too: floor: loose: progress 0.49",
        ),
        # I/O of 40 ms of a frame in a row of 10 ms: 30 ms too few.
        (
            "surface",
            0,
            {"beta": 1.0},
            "strict",
            "capacity: column 0: 0 s granted, -0.02 s free",
        ),
    ],
)
def test_a_baseline_that_breaks_a_rule_is_no_plan(
    table: str, row: int, damage: dict[str, float], solver: str, why: str
) -> None:
    document = tiny().model_dump(by_alias=True)
    document[table][row].update(damage)
    result = ioopt.solve(document, solver)
    assert result.plan is None and result.status == "unknown" and not result.violations
    assert why in result.notes[0]


def two_jobs(first: dict[str, Any], second: dict[str, Any]) -> FlexibleGangProblem:
    """Two compute jobs on four processors, a frame of two rows of
    10 ms, floors of 1/4.
    """
    jobs = [
        {"id": "a", "kind": "compute", **first},
        {"id": "b", "kind": "compute", **second},
    ]
    machine = {"processors": 4, "quantum_seconds": 10 * MS, "rows": 2}
    return FlexibleGangProblem.model_validate(
        {"name": "two", "machine": machine, "jobs": jobs}
    )


def test_the_greedy_lets_jobs_below_a_half_go_loose() -> None:
    # One window, one strict row: a has the row, 1/2; b at gamma .4 the window, .6 / 2.
    # At gamma .5 b wants a row too, and there is none.
    for gamma, values in ((0.4, {"1,1": 0.5 + 0.3}), (0.5, {})):
        problem = two_jobs(
            {"processes": 4, "gamma": 1.0}, {"processes": 4, "gamma": gamma}
        )
        found = ioopt.solve(problem, "greedy").metrics["per_pattern"]
        assert {key: found[key] for key in found if key == "1,1"} == pytest.approx(
            values
        )


def test_strict_fill_promises_what_every_column_has() -> None:
    # a holds row 0, b row 1 of half the columns: the other half has 10 ms for
    # a, this half none.
    problem = two_jobs({"processes": 4, "gamma": 0.3}, {"processes": 2, "gamma": 1.0})
    result = ioopt.solve(problem, "strict-fill")
    assert result.objective == pytest.approx(0.5 + 0.5 * 0.5)
    assert result.violations == ()


def test_patterns_of_four_and_seven_rows() -> None:
    keys = [pattern.key for pattern in tiny().patterns()]
    assert keys == ["0,1", "1,1", "2,1", "2,2", "3,1", "4,1"]
    seven = tiny().model_copy(
        update={"machine": tiny().machine.model_copy(update={"rows": 7})}
    )
    fresh = FlexibleGangProblem.model_validate(seven.model_dump())
    # R = K - k: 6 for k = 1, 5 for k = 2, 4 for k = 3 (d = 2 divides it; d
    # = 4 > k), 3, 2, 1.
    wanted = ["0,1", "1,1", "2,1", "3,1", "3,2", "4,1", "5,1", "5,2", "6,1", "7,1"]
    assert [pattern.key for pattern in fresh.patterns()] == wanted


def test_proven_infeasible_when_the_floors_cannot_be_kept() -> None:
    document = tiny().model_dump(by_alias=True)
    document["jobs"][0]["phi"] = 0.9
    document["jobs"][1]["phi"] = 0.5
    result = ioopt.solve(document, "flex-exact", time_limit=30)
    assert result.status == "infeasible" and result.plan is None


@pytest.mark.parametrize("solver", ["flex-exact", "greedy"])
def test_the_trace_of_a_maximisation_goes_up_to_its_objective(solver: str) -> None:
    result = ioopt.solve(tiny(), solver, time_limit=60)
    values = [value for _, value in result.trace]
    assert values and values == sorted(values) and values[0] > 0
    if solver == "flex-exact":
        assert values[-1] == pytest.approx(0.579)
