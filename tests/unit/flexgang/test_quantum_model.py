"""quantum-model instances: parsing, solving, checking, generating and plotting."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import deadline_of_checks
from matplotlib.figure import Figure

import ioopt
from ioopt.check.flexgang.quantum_model import check
from ioopt.errors import InstanceError, NotApplicableError, UsageError
from ioopt.generate.flexgang.quantum_model import generate
from ioopt.measure.quantum_model import simulate
from ioopt.plot.tradeoff import plot_quantum_model, plot_tradeoff
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumModelPlan,
    QuantumModelProblem,
)

ONE = {
    "format": "ioopt/quantum-model",
    "version": 1,
    "name": "one",
    "points": [{"qi_seconds": 0.01, "qc_seconds": 0.02}],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": []}, "points: must have 1 or more items, not []"),
        ({"points": [{"qi_seconds": 0.0, "qc_seconds": 0.1}]}, "points[0].qi_seconds"),
        ({"points": [{"qi_seconds": 0.1, "qc_seconds": -1.0}]}, "points[0].qc_seconds"),
        ({"processors": 0}, "processors"),  # somebody must run
        ({"donation": "sometimes"}, "donation"),
        ({"burst_ms": 5}, "burst_ms: unknown key"),
    ],
)
def test_bad_instances_name_the_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InstanceError, match=message.replace("[", r"\[")):
        ioopt.load({**ONE, **change})


@pytest.mark.parametrize("solver", ["event", "chain"])
def test_solvers_answer_and_pass_the_checker(solver: str) -> None:
    result = ioopt.solve(ONE, solver=solver, seed=4)
    assert result.status == "feasible"
    assert ioopt.check(ONE, result) == []
    assert result.objective == pytest.approx(result.metrics["simulated_slowdown"], rel=0.01)
    assert set(result.metrics) >= {"slowdown", "response_seconds", "fragmentation", "useful"}


def test_same_seed_same_plan() -> None:
    first, again, other = (ioopt.solve(ONE, solver="event", seed=k).plan for k in (7, 7, 8))
    assert first == again
    assert first != other


def test_chain_refuses_what_is_not_random() -> None:
    with pytest.raises(NotApplicableError, match="solver event"):
        ioopt.solve({**ONE, "burst_shape": None}, solver="chain")


@pytest.mark.parametrize("solver", ["event", "chain"])
def test_without_time_the_chain_answers_coarsely(solver: str) -> None:
    fine = ioopt.solve(ONE, solver="chain")
    result = ioopt.solve(ONE, solver=solver, time_limit=1e-9)
    assert (result.status, result.stop) == ("feasible", "time")
    assert "after 0 of 1 points" in result.notes[0]
    assert result.objective == pytest.approx(fine.objective, rel=1e-3)
    assert result.metrics["fragmentation"] == pytest.approx(fine.metrics["fragmentation"], abs=4e-3)
    # Nothing was left for the replay either, which says so and shows no simulated figure.
    assert result.notes[1] == "0 of 1 points replayed before the time limit"
    assert "simulated_slowdown" not in result.metrics


def test_a_burst_that_is_not_random_has_no_coarse_answer() -> None:
    result = ioopt.solve({**ONE, "burst_shape": None}, solver="event", time_limit=1e-9)
    assert (result.status, result.stop) == ("unknown", "time")


def test_the_replay_stops_at_the_deadline() -> None:
    points = [{"qi_seconds": 0.01, "qc_seconds": qc} for qc in (0.0, 0.01, 0.02)]
    problem = QuantumModelProblem(points=points, horizon_seconds=5.0)
    replay = simulate(problem, deadline=deadline_of_checks(3))
    assert replay.notes == ("2 of 3 points replayed before the time limit",)
    assert replay.schedule["points"] == simulate(problem).schedule["points"][:2]
    assert simulate(problem).notes == ()


GOOD = {
    # qi = qc = 40 ms with io = 0.02 and burst 0.005 at S = 1.2: 0.03 s an iteration, beta = 1/6.
    "qi_seconds": 0.04, "qc_seconds": 0.04, "slowdown": 1.2, "response_seconds": 0.010,
    "fragmentation": 0.2, "useful": 1 - 0.2 - 1 / 6,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({}, None),
        ({"qc_seconds": 0.041}, "points"),
        ({"response_seconds": 0.011}, "response"),
        # 0.9 is faster than a dedicated machine; response and useful are made to fit.
        (
            {"slowdown": 0.9, "response_seconds": 0.0025, "useful": 1 - 0.2 - 0.005 / 0.0225},
            "bound",
        ),
        ({"fragmentation": 0.6, "useful": 0.4 - 1 / 6}, "fragmentation"),
        ({"useful": 0.7}, "conservation"),
    ],
)
def test_each_rule_is_checked_alone(change: dict[str, Any], rule: str | None) -> None:
    points = ({"qi_seconds": 0.04, "qc_seconds": 0.04},)
    problem = QuantumModelProblem.model_validate({**ONE, "points": points})
    plan = QuantumModelPlan.model_validate({"points": [{**GOOD, **change}]})
    rules = [violation.rule for violation in check(problem, plan, None).violations]
    assert rules == ([] if rule is None else [rule])


def test_figure_presets() -> None:
    assert len(generate("figure-2", {}, 0).points) == 4 * 40
    third = generate("figure-3", {"qc_seconds": "0.01", "longest_seconds": "0.002"}, 0)
    assert [(p.qi_seconds, p.qc_seconds) for p in third.points] == [(0.001, 0.01), (0.002, 0.01)]
    with pytest.raises(UsageError, match="no preset 'figure-9'"):
        generate("figure-9", {}, 0)
    with pytest.raises(UsageError, match="less than one step_seconds"):
        generate("figure-2", {"longest_seconds": "0.0001"}, 0)
    assert ioopt.load(third.model_dump(mode="json")) == third


def test_plot_draws_one_curve_for_each_fixed_quantum() -> None:
    problem = generate("figure-3", {"qc_seconds": "0.01,0.02", "longest_seconds": "0.003"}, 0)
    left = plot_quantum_model(ioopt.solve(problem, solver="chain"))
    assert [line.get_label() for line in left.lines] == ["qc = 10 ms", "qc = 20 ms"]
    assert list(left.lines[0].get_xdata()) == [1.0, 2.0, 3.0]
    assert left.get_xlabel() == "I/O quantum qi (ms)"
    pair = Figure().subplots(1, 2)
    assert plot_tradeoff([MeasuredPoint.model_validate(GOOD)], pair) is pair[0]
    assert pair[1].lines[0].get_ydata()[0] == pytest.approx(20.0)


def test_a_dedicated_machine_wastes_what_not_all_can_use() -> None:
    """Blocked 20 of 25 ms: .8 of the time a processor is free, .8^3 all three are; no slowdown."""
    from ioopt.measure.quantum_chain import surface

    found = surface(0.01, 0.0, processors=3)
    assert (found.slowdown, found.beta) == (1.0, pytest.approx(0.2))
    assert found.fragmentation == pytest.approx(0.8 - 0.8**3)
    assert found.useful == pytest.approx(0.8**3)
