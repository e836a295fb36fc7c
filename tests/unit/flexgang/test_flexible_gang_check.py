"""The checker of flexible gang plans, rule by rule, and the refusals
of the problem class.
"""

import copy
from typing import Any

import pytest

import ioopt
from ioopt.checks.flexgang.flexible_gang import check
from ioopt.errors import InstanceError
from ioopt.measure.quantum_chain import Surface
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem, SurfaceEntry

PROBLEM = {
    "format": "ioopt/flexible-gang",
    "name": "check",
    "machine": {"processors": 4, "columns": 2, "quantum_seconds": 0.01, "rows": 3},
    "lambda": 0.1,
    "jobs": [
        {"id": "a", "kind": "compute", "processes": 2, "gamma": 1.0},
        {"id": "b", "kind": "compute", "processes": 2, "gamma": 0.3},
        {
            "id": "even",
            "kind": "compute",
            "processes": 4,
            "gamma": 0.0,
            "self_balancing": True,
        },
        {"id": "io", "kind": "io", "processes": 2},
        {"id": "sync", "kind": "io", "processes": 2, "coordinated": True},
    ],
}
# Frame of 30 ms, one loose window of 10 ms, floors .5 / 3. Column 0: a in row 0, even
# in row 1; column 1: sync in row 0, even in row 1, io loose, b at home.
PLAN = {
    "k": 1,
    "d": 1,
    "home": {"a": 0, "b": 1, "even": 0, "io": 1, "sync": 1},
    "rows": {"a": [0], "even": [1], "sync": [0]},
    "loose": ["io"],
    "tau_seconds": {"b": 0.0072, "even": 0.005},
    "column_seconds": {"even": [0.009, 0.001]},
}


def violated(change: dict[str, Any]) -> set[str]:
    plan = copy.deepcopy(PLAN)
    for key, value in change.items():
        plan[key] = {**plan[key], **value} if isinstance(value, dict) else value
    return {item.rule for item in ioopt.check(PROBLEM, plan)}


def test_the_plan_keeps_every_rule() -> None:
    assert ioopt.check(PROBLEM, PLAN) == []


BREAKS = [
    # no such pattern: K - k = 2 rows are not three windows, and a frame of
    # 3 rows has no k = 4
    ("pattern", {"d": 2}),
    ("pattern", {"k": 4}),
    # names and homes
    ("jobs", {"tau_seconds": {"ghost": 0.001}}),
    ("home", {"home": {"a": 2}}),
    # a strict row that the pattern does not have, or the same twice
    ("rows", {"rows": {"a": [2]}}),
    ("rows", {"rows": {"a": [0, 0]}}),
    # compute and coordinated jobs are never loose; an I/O job has one place
    ("loose", {"loose": ["io", "b"]}),
    ("loose", {"loose": ["io", "sync"], "rows": {"sync": []}}),
    ("io-place", {"loose": []}),
    ("io-place", {"rows": {"io": [0]}}),
    ("io-place", {"rows": {"sync": [0, 1]}}),
    # row 0 of column 0 is taken by a
    ("cell", {"rows": {"even": [0]}}),
    # gamma 1 and I/O have no use for loose CPU
    ("tau", {"tau_seconds": {"a": 0.001}}),
    ("tau", {"tau_seconds": {"io": 0.001}}),
    # fairness: what every process is promised its columns must hold
    ("fairness", {"tau_seconds": {"even": 0.006}}),
    ("fairness", {"column_seconds": {"b": [0.0072]}}),
    ("fairness", {"column_seconds": {"even": [0.005]}}),
    # column 0 has 10 ms beside two rows; column 1 about 30 - 10 - 4.9 - 5 = 10.1 ms
    (
        "capacity",
        {"tau_seconds": {"even": 0.006}, "column_seconds": {"even": [0.011, 0.001]}},
    ),
    ("capacity", {"tau_seconds": {"b": 0.0095}}),
    # b needs .5 / 3 * 30 / .7 = 7.14 ms; a needs its row
    ("floor", {"tau_seconds": {"b": 0.007}}),
    ("floor", {"rows": {"a": []}}),
]


@pytest.mark.parametrize(("rule", "change"), BREAKS)
def test_a_change_breaks_only_its_rule(rule: str, change: dict[str, Any]) -> None:
    assert violated(change) == {rule}


def test_loose_io_load() -> None:
    # Two loose I/O jobs on column 1 use 4.86 ms each of a window of 10
    # ms; 6 ms are allowed.
    problem = copy.deepcopy(PROBLEM)
    problem["jobs"][4]["coordinated"] = False
    plan = copy.deepcopy(PLAN)
    plan["loose"], plan["rows"] = ["io", "sync"], {"a": [0], "even": [1]}
    found = ioopt.check(problem, plan)
    assert [item.rule for item in found] == ["loose-io"]
    assert found[0].amount == pytest.approx(2 * 0.00486 - 0.006, abs=1e-4)


def test_objective_is_recomputed() -> None:
    # a: 1/3 of half the machine; b: .7 * 7.2 / 30 of half; even: (10 + 5) / 30 of all.
    problem = ioopt.load(PROBLEM)
    io = problem.jobs[3]
    slowdown = Surface(4).at(io, 0.01, 0.02).slowdown
    wanted = 0.5 / 3 + 0.5 * 0.7 * 7.2 / 30 + 15 / 30 - 0.1 * 0.5 * 2 * (slowdown - 1)
    assert check(problem, PLAN).objectives["weighted_progress"] == pytest.approx(wanted)


REFUSED = [
    # sizes are powers of two, multiples of P / C and at most P
    (
        {"jobs": [{"id": "a", "kind": "compute", "processes": 3, "gamma": 0}]},
        "power of two",
    ),
    (
        {"jobs": [{"id": "a", "kind": "compute", "processes": 1, "gamma": 0}]},
        "power of two from 2",
    ),
    ({"jobs": [{"id": "a", "kind": "compute", "processes": 8, "gamma": 0}]}, "to 4"),
    (
        {"machine": {"processors": 6, "quantum_seconds": 0.01}},
        "machine.processors is 6",
    ),
    (
        {"machine": {"processors": 4, "columns": 3, "quantum_seconds": 0.01}},
        "columns is 3",
    ),
    # every kind of job has its own keys
    ({"jobs": [{"id": "a", "kind": "compute", "processes": 2}]}, "needs gamma"),
    (
        {"jobs": [{"id": "a", "kind": "io", "processes": 2, "phi": 0.1}]},
        "phi has no meaning",
    ),
    (
        {
            "jobs": [
                {
                    "id": "a",
                    "kind": "compute",
                    "processes": 2,
                    "gamma": 0,
                    "coordinated": True,
                }
            ]
        },
        "coordinated has no meaning",
    ),
    ({"jobs": [{"id": "a", "kind": "io", "processes": 2}] * 2}, "already the id"),
    ({"jobs": []}, "jobs"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_refused_instances(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        ioopt.load({**PROBLEM, **change})


def test_written_then_read_is_equal() -> None:
    problem = ioopt.load(PROBLEM)
    text = problem.model_dump_json(by_alias=True)
    assert FlexibleGangProblem.model_validate_json(text) == problem
    assert '"lambda":0.1' in text


def test_surface_without_an_entry_is_named() -> None:
    surface = Surface(
        4, (SurfaceEntry(on_seconds=0.01, off_seconds=0.02, slowdown=1.5, beta=0.1),)
    )
    io = ioopt.load(PROBLEM).jobs[3]
    assert surface.at(io, 0.01, 0.02)[:2] == (1.5, 0.1)
    assert surface.at(io, 0.03, 0.0)[:2] == (1.0, pytest.approx(0.2))
    with pytest.raises(InstanceError, match=r"on_seconds 0\.02, off_seconds 0\.01"):
        surface.at(io, 0.02, 0.01)
