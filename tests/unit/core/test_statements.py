"""Nothing that a result states is believed: each statement made false is a violation of its own."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import shared_path
from replication_samples import document

import ioopt
from ioopt import catalog, registry
from ioopt.checking import judge
from ioopt.errors import IooptError, UnsolvableInstanceError, UsageError
from ioopt.formats.native import dump_json
from ioopt.statements import past_bound, same

SEARCH = {
    "instants", "io_decisions", "planned_makespan_seconds", "per_pattern", "evaluations",
    "scheduling_milliseconds_per_task", "gain", "uniform_realised", "exact_decisions",
    "mean_decision_gap", "median_decision_seconds", "proven_decisions", "row_model_decisions",
    "model_best", "ranking",
}  # fmt: skip
"""What a result tells about the search and not about its plan: named on standard error instead."""
TOLD: list[tuple[str, str]] = [
    ("held", "minmin"),
    ("rounds4", "two-stage"),
    ("two-writers", "fill"),
    ("small-8", "base-line"),
    ("two-writers-now", "base-line"),
    ("gang-figure-5", "migrate-iogs"),
    ("gang-figure-7", "migrate-iogs"),
    ("quantum-plain", "quantum-greedy"),
    ("flexgang-tiny", "greedy"),
]


@cache
def _solved(source: str, solver: str) -> tuple[Any, str]:
    problem = ioopt.load(source)
    return problem, dump_json(ioopt.solve(problem, solver).to_dict())


def _false(value: Any) -> Any:
    """The value, changed by a thousandth; a number where there is none."""
    if isinstance(value, bool) or value is None:
        return 1.5 if value is None else not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 or 7.3e-9
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [_false(value[0]), *value[1:]] if value else [1]
    key = next(iter(value), "x")
    return {**value, key: _false(value.get(key))}


@pytest.mark.parametrize(("source", "solver"), TOLD)
def test_every_metric_is_recomputed(source: str, solver: str) -> None:
    problem, text = _solved(source, solver)
    found, left = judge(problem, json.loads(text), "result")
    assert found == [] and set(left) <= SEARCH
    stated = json.loads(text)["metrics"]
    judged = [name for name in stated if name not in left and name not in SEARCH]
    assert len(judged) >= 3
    if problem.format in ("ioopt/quantum-selection", "ioopt/flexible-gang"):
        judged = judged[:1]  # each replay takes half a second
    for name in judged:
        for false in (_false(stated[name]), None):
            data = json.loads(text)
            data["metrics"][name] = false
            rules = [(item.rule, item.item) for item in judge(problem, data, "result")[0]]
            wanted = [("metric", name)] if stated[name] is not None or false is not None else []
            assert rules == wanted, (name, stated[name], false)


LIES: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["instance"], {"instance": "another"}),
    (["family"], {"family": "gang"}),
    (["kind"], {"kind": "gang"}),
    (["objective"], {"objective": 5.18}),
    # An unknown measure once switched the check off.
    (["objective"], {"objective": 1.0, "objective_name": "nonsense", "bound": None, "gap": None,
                     "status": "feasible"}),
    (["objective"], {"objective": None, "objective_name": "nonsense", "bound": None, "gap": None,
                     "status": "feasible"}),
    # Minimised: a bound is never above the objective.
    (["bound", "gap"], {"bound": 5.2, "status": "feasible"}),
    (["bound", "status"], {"bound": 5.2, "gap": None}),
    (["status"], {"bound": None, "gap": None}),
    (["status"], {"bound": 5.0, "gap": 0.184 / 5.184}),
    ([], {"bound": 5.0, "gap": 0.184 / 5.184, "status": "feasible"}),
    (["gap"], {"bound": 5.0, "gap": 0.01, "status": "feasible"}),
    (["gap"], {"bound": None, "gap": 0.01, "status": "feasible"}),
    (["status"], {"status": "infeasible"}),
    (["status"], {"status": "unknown"}),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "change"), LIES)
def test_a_false_statement_is_a_violation(rules: list[str], change: dict[str, Any]) -> None:
    problem, text = _solved("cycle3", "ip")
    data = json.loads(text) | change
    assert [item.rule for item in judge(problem, data, "result")[0]] == rules


def test_the_bound_of_a_maximisation_is_never_below_the_objective() -> None:
    problem = ioopt.load("two-writers-now")
    result = ioopt.solve(problem, "fill").model_copy(update={"gap": None})
    assert result.objective == 4e9
    for bound, rules in ((3.9e9, ["bound"]), (4.1e9, []), (float("inf"), [])):
        false = result.model_copy(update={"bound": bound, "status": ioopt.Status.FEASIBLE})
        assert [item.rule for item in ioopt.check(problem, false)] == rules


def test_tolerances_follow_the_size_of_the_value() -> None:
    """7.3e-9 is not 0, and 5 is not 5.00001; the last digits of sums are rounding."""
    assert not same(0.0, 7.3e-9) and not same(7.3e-9, 0)
    assert not same(5.00001, 5.0) and same(5.000001, 5.0)
    assert not same(10**12 + 1, 10**12) and same(1e12 + 1, 1e12)
    assert same(1e-13, 0.0, rounding=1e-12)
    assert not same(True, 1) and not same("1", 1) and not same(None, 3.0) and same(None, None)
    assert past_bound("min", 7.3e-9, 7.4e-9) == pytest.approx(1e-10)
    assert past_bound("min", 7.3e-9, 7.3e-9 * (1 + 1e-7)) is None
    assert past_bound("max", 2.0, 1.9) == pytest.approx(0.1)
    assert past_bound("max", 2.0, 2.1) is None and past_bound("min", None, 1.0) is None


def test_another_link_model_is_a_violation_unless_asked_for() -> None:
    problem, text = _solved("cycle3", "ip")
    data = json.loads(text)
    network = problem.network.model_copy(update={"remote_link": "per-node"})
    private = problem.model_copy(update={"network": network})
    replayed = ioopt.simulate(private, data["plan"])
    bare = {"plan": data["plan"], "schedule": replayed.schedule, "metrics": dict(replayed.metrics)}
    found = ioopt.check(problem, bare)
    assert {item.rule for item in found} >= {"link"}
    assert ioopt.check(problem, bare, link="per-node") == []
    assert ioopt.check(private, bare) == []
    with pytest.raises(UsageError, match="--link belongs to replication"):
        ioopt.check("two-writers", {"plan": {"policy": "fill"}}, link="shared")


def test_a_makespan_without_a_schedule_is_held_to_a_replay() -> None:
    problem, text = _solved("cycle3", "ip")
    data = json.loads(text) | {"schedule": None}
    assert judge(problem, data, "result") == ([], [])
    data["metrics"]["makespan_seconds"] -= 1
    assert [item.item for item in judge(problem, data, "result")[0]] == ["makespan_seconds"]


def test_the_options_of_a_repeated_replay_are_read_with_care() -> None:
    problem, text = _solved("flexgang-tiny", "greedy")
    for how in ({"seeds": []}, {"seconds": 1e9}, {"seeds": [-1]}, {"engine": "x"}):
        data = json.loads(text)
        data["schedule"]["measured"] = how
        with pytest.raises(IooptError, match=r"schedule\.measured"):
            judge(problem, data, "result")


BIG = document([{"disk_bytes": 5}, {"disk_bytes": 9}], {"f0": 10}, {"t0": (1, ["f0"])}, 10, 20)


def test_a_task_that_fits_no_node_is_refused_as_by_solve(run: Any) -> None:
    with pytest.raises(UnsolvableInstanceError, match="largest disk holds 9"):
        ioopt.check(copy.deepcopy(BIG))
    Path("big.json").write_text(json.dumps(BIG))
    for command in (["check"], ["solve", "--solver", "minmin"]):
        code, _, err = run(*command, "big.json")
        assert code == 2 and "task 't0' reads 10 bytes" in err


def test_the_command_names_what_nothing_recomputes(run: Any) -> None:
    text = _solved("held", "minmin")[1]
    Path("result.json").write_text(text)
    code, out, err = run("check", "held", "result.json")
    assert code == 0 and "no violation" in out
    assert "not recomputed: planned_makespan_seconds" in " ".join(err.split())
    Path("result.json").write_text(text.replace('"instance": "held"', '"instance": "other"'))
    code, out, _ = run("check", "held", "result.json")
    assert code == 5 and "another instance; this one is 'held'" in out


QUICK = (
    "two-writers", "two-writers-now", "gang-figure-5", "gang-figure-7", "held", "rounds4",
    "flexgang-tiny",
)  # fmt: skip


def answers_pass(problem: Any, time_limit: float, refusal: type[IooptError]) -> int:
    """How many solvers of its kind answer; all of what they state holds."""
    answers = 0
    for spec in registry.solvers_for(registry.format_of_problem(problem).kind):
        try:
            result = ioopt.solve(problem, spec.name, time_limit=time_limit)
        except refusal:
            continue  # the solver does not take this instance
        if result.plan is not None:
            found, _ = judge(problem, json.loads(dump_json(result.to_dict())), "result")
            assert found == [], (problem.name, spec.name)
            answers += 1
    return answers


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name, entry in catalog.entries().items()
        if entry["kind"] in registry.KINDS
    ],
)
def test_the_answer_of_every_solver_passes(name: str) -> None:
    """Every bundled instance with every solver of its kind; a second is enough to have an answer."""
    assert answers_pass(ioopt.load(name), 1, UsageError)


@pytest.mark.slow
def test_the_answers_to_the_worked_cases_pass() -> None:
    """Every worked case that this version reads, with every solver of its kind."""
    answers = 0
    for path in sorted(shared_path("cases").glob("*/*.json")):
        instance = json.loads(path.read_text("utf-8")).get("instance")
        try:
            problem = ioopt.load(instance)
        except (IooptError, AttributeError):
            continue
        answers += answers_pass(problem, 2, IooptError)
    assert answers > 200
