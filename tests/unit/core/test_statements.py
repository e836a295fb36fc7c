"""Nothing that a result states is believed: each statement made false is a
violation of its own.
"""

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import shared_path

import ioopt
from ioopt import catalog, registry
from ioopt.checking import judge
from ioopt.errors import IooptError, UsageError
from ioopt.formats.native import dump_json
from ioopt.verdict import past_bound, same


@cache
def _solved(source: str, solver: str) -> tuple[Any, str]:
    problem = ioopt.load(source)
    return problem, dump_json(ioopt.solve(problem, solver).to_dict())


LIES: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["instance"], {"instance": "another"}),
    (["family"], {"family": "gang"}),
    (["kind"], {"kind": "gang"}),
    (["objective"], {"objective": 5.18}),
    # An unknown measure once switched the check off.
    (
        ["objective"],
        {
            "objective": 1.0,
            "objective_name": "nonsense",
            "bound": None,
            "gap": None,
            "status": "feasible",
        },
    ),
    (
        ["objective"],
        {
            "objective": None,
            "objective_name": "nonsense",
            "bound": None,
            "gap": None,
            "status": "feasible",
        },
    ),
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
]


@pytest.mark.parametrize(("rules", "change"), LIES)
def test_a_false_statement_is_a_violation(
    rules: list[str], change: dict[str, Any]
) -> None:
    problem, text = _solved("cycle3", "ip")
    data = json.loads(text) | change
    assert [item.rule for item in judge(problem, data, "result")[0]] == rules


def test_the_bound_of_a_maximisation_is_never_below_the_objective() -> None:
    problem = ioopt.load("two-writers-now")
    result = ioopt.solve(problem, "fill").model_copy(update={"gap": None})
    assert result.objective == 4e9
    # The storage takes 4e9, so that a bound above it says less than
    # the instance itself.
    for bound, rules in ((3.9e9, ["bound"]), (4.0e9, ["status"]), (4.1e9, ["bound"])):
        false = result.model_copy(
            update={"bound": bound, "status": ioopt.Status.FEASIBLE}
        )
        assert [item.rule for item in ioopt.check(problem, false)] == rules


def test_tolerances_follow_the_size_of_the_value() -> None:
    """7.3e-9 is not 0, and 5 is not 5.00001; the last digits of sums are rounding."""
    assert not same(0.0, 7.3e-9) and not same(7.3e-9, 0)
    assert not same(5.00001, 5.0) and same(5.000001, 5.0)
    assert not same(10**12 + 1, 10**12) and same(1e12 + 1, 1e12)
    assert same(1e-13, 0.0, rounding=1e-12)
    assert (
        not same(True, 1)
        and not same("1", 1)
        and not same(None, 3.0)
        and same(None, None)
    )
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
    bare = {
        "plan": data["plan"],
        "schedule": replayed.schedule,
        "metrics": dict(replayed.metrics),
    }
    found = ioopt.check(problem, bare)
    assert {item.rule for item in found} >= {"settings"}
    assert ioopt.check(problem, bare, link="per-node") == []
    assert ioopt.check(private, bare) == []
    with pytest.raises(UsageError, match="--set link"):
        ioopt.check("two-writers", {"plan": {"policy": "fill"}}, link="shared")


def test_a_makespan_without_a_schedule_is_held_to_a_replay() -> None:
    problem, text = _solved("cycle3", "ip")
    data = json.loads(text) | {"schedule": None}
    assert judge(problem, data, "result") == ([], [])
    data["metrics"]["makespan_seconds"] -= 1
    assert [item.item for item in judge(problem, data, "result")[0]] == [
        "makespan_seconds"
    ]


def test_the_options_of_a_repeated_replay_are_read_with_care() -> None:
    problem, text = _solved("flexgang-tiny", "greedy")
    for how in ({"seeds": []}, {"seconds": 1e9}, {"seeds": [-1]}, {"engine": "x"}):
        data = json.loads(text)
        data["schedule"]["measured"] = how
        with pytest.raises(IooptError, match=r"schedule\.measured"):
            judge(problem, data, "result")


def test_a_gang_schedule_that_nothing_repeats_needs_its_updates() -> None:
    """Every job at its arrival and alone: bounds of single jobs do not refute
    it, so it is refused.
    """
    data = ioopt.solve("gang-figure-5", "gs").to_dict()
    for plan in (None, {"policy": "exact-iogs"}):
        bare = {"plan": plan, "schedule": {"jobs": data["schedule"]["jobs"]}}
        assert [item.rule for item in ioopt.check("gang-figure-5", bare)] == [
            "schedule"
        ]
    assert ioopt.check("gang-figure-5", {**bare, "plan": data["plan"]}) == []


def test_the_command_names_what_nothing_recomputes(run: Any) -> None:
    text = _solved("rounds4", "two-stage")[1]
    Path("result.json").write_text(text)
    code, out, err = run("check", "rounds4", "result.json")
    assert code == 0 and "no violation" in out
    assert "not recomputed: models_cut, scheduling_" in " ".join(err.split())
    Path("result.json").write_text(
        text.replace('"instance": "rounds4"', '"instance": "other"')
    )
    code, out, _ = run("check", "rounds4", "result.json")
    assert code == 5 and "another instance; this one is 'rounds4'" in out


@pytest.mark.parametrize(
    ("plan", "key"), [({"loop": "open"}, "loop"), ({"ef": 0.01}, "ef")]
)
def test_a_result_cannot_change_its_question(
    run: Any, plan: dict[str, Any], key: str
) -> None:
    result = ioopt.solve("small-8", "fill", settings=plan).to_dict()
    assert result["settings"] == plan
    Path("result.json").write_text(json.dumps(result))
    code, out, _ = run("check", "small-8", "result.json")
    assert code == 5 and f"--set {key}=" in out
    asked = [f"--set={key}={value}" for value in plan.values()]
    code, out, _ = run("check", "small-8", "result.json", *asked)
    assert code == 0 and f"checked under {key}=" in out
    assert ioopt.check("small-8", result, settings=plan) == []


def test_other_compute_times_are_said_and_asked_for() -> None:
    problem = ioopt.load("eight-tasks")
    plan = ioopt.solve(problem, "heft").plan
    half = {task.id: task.compute_seconds / 2 for task in problem.tasks[:3]}
    bare = {
        "plan": plan,
        "schedule": ioopt.simulate(problem, plan, actual=half).schedule,
    }
    assert {item.item for item in ioopt.check(problem, bare)} == {"actual=3"}
    assert ioopt.check(problem, bare, settings={"actual": 3}) == []


def test_a_reference_is_never_optimal_under_whatever_name() -> None:
    honest = ioopt.solve("two-writers", "no-congestion")
    assert honest.status == "feasible" and honest.bound is None
    data = honest.to_dict() | {"solver": "fill"}
    found = [item.rule for item in ioopt.check("two-writers", data)]
    assert found == ["solver", "options", "storage"]
    forged = data | {
        "solver": "my:own",
        "status": "optimal",
        "bound": data["objective"],
        "gap": 0.0,
    }
    found = [item.rule for item in ioopt.check("two-writers", forged)]
    assert found == ["status", "bound", "storage"]


QUICK = (
    "two-writers",
    "two-writers-now",
    "gang-figure-5",
    "gang-figure-7",
    "held",
    "rounds4",
    "flexgang-tiny",
)


def answers_pass(problem: Any, time_limit: float, refusal: type[IooptError]) -> int:
    """How many solvers of its kind answer; all of what they state holds."""
    answers = 0
    for spec in registry.solvers_for(registry.format_of_problem(problem).kind):
        try:
            result = ioopt.solve(problem, spec.name, time_limit=time_limit)
        except refusal:
            continue  # the solver does not take this instance
        if result.plan is not None:
            data = json.loads(dump_json(result.to_dict()))
            found, _ = judge(problem, data, "result", result.settings)
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
    """Every bundled instance with every solver of its kind; a second is
    enough to have an answer.
    """
    assert answers_pass(ioopt.load(name), 1, UsageError)


@pytest.mark.slow
def test_the_answers_to_the_worked_cases_pass() -> None:
    """Every worked case that this version reads, with every solver of its kind; many
    cases are about one instance.
    """
    problems = {}
    for path in sorted(shared_path("cases").glob("*/*.json")):
        instance = json.loads(path.read_text("utf-8")).get("instance")
        with contextlib.suppress(IooptError, AttributeError):
            problems[json.dumps(instance, sort_keys=True)] = ioopt.load(instance)
    answers = sum(answers_pass(item, 1, IooptError) for item in problems.values())
    assert answers > 200
