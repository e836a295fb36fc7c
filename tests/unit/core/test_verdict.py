"""Value, bound, gap and status of an answer, in one place."""

import math
from dataclasses import replace

import pytest

import ioopt
from ioopt.protocols import CheckReport, Known
from ioopt.registry import KINDS, Metric
from ioopt.result import Status
from ioopt.verdict import (
    Claim,
    Evidence,
    bounds_left_out,
    gap_to,
    verdict_of,
    verdict_on_plan,
    verdict_without_plan,
)

MAKESPAN = Metric("makespan_seconds", bounded_by="lower", raised_by="transfer")
ADDITIVE = Metric("additive_seconds", objective=True)
PROGRESS = Metric("progress", "max", objective=True)
REPORT = CheckReport((), {"additive_seconds": 6.0, "makespan_seconds": 9.0})
FOUND = Evidence(ADDITIVE, REPORT, {"makespan_seconds": 9.0, "lower": 8.0})


@pytest.mark.parametrize(
    ("metric", "value", "bound", "status", "gap"),
    [
        (MAKESPAN, 10.0, 10.0, "optimal", 0.0),
        (MAKESPAN, 10.0, 9.0, "feasible", 0.1),
        (MAKESPAN, 10.0, None, "feasible", None),
        (MAKESPAN, None, 9.0, "feasible", None),
        (MAKESPAN, 10.0, 10.0 + 1e-9, "optimal", 0.0),  # a solver's rounding
        (PROGRESS, 8.0, 10.0, "feasible", 0.2),
        (PROGRESS, 10.0, 10.0, "optimal", 0.0),
        (PROGRESS, -1.0, 1.0, "feasible", None),  # no percentage across 0
    ],
)
def test_status_and_gap_of_a_sound_plan(metric, value, bound, status, gap):
    found = verdict_of(metric, value, bound)
    assert (found.status, found.gap, found.past) == (status, gap, None)
    assert gap_to(metric.sense, value, bound) == gap


def test_a_bound_past_the_value_proves_nothing():
    found = verdict_of(MAKESPAN, 10.0, 11.0)
    assert (found.status, found.past, found.gap) == ("feasible", 1.0, 0.1)


def test_what_is_proven_of_another_objective_is_a_metric_of_its_own():
    claim = Claim(ADDITIVE, 5.0)
    found = verdict_on_plan(claim, MAKESPAN, FOUND)
    assert (found.metric, found.value, found.bound) == (MAKESPAN, 9.0, 8.0)
    assert found.proofs == {"additive_bound_seconds": 5.0}
    own = verdict_on_plan(claim, None, FOUND)
    assert (own.metric, own.value, own.bound, own.proofs) == (ADDITIVE, 6.0, 5.0, {})
    assert claim == Claim(ADDITIVE, 5.0) and FOUND.metrics.keys() == {
        "makespan_seconds",
        "lower",
    }


@pytest.mark.parametrize("measure", [None, ADDITIVE, MAKESPAN])
def test_a_bound_that_the_plan_contradicts_is_an_error_under_every_measure(measure):
    """6 s of additive time are none that 7 s bound."""
    found = verdict_on_plan(Claim(ADDITIVE, 7.0), measure, FOUND)
    assert found.status is Status.ERROR
    assert found.notes == ("bound 7.0 contradicts the plan's 6.0",)


def test_a_bound_of_tiny_values_that_is_rounding_is_left_out():
    tiny = replace(FOUND, report=CheckReport((), {"additive_seconds": 7.3e-9}))
    found = verdict_on_plan(Claim(ADDITIVE, 7.4e-9), None, tiny)
    assert (found.status, found.bound, found.gap) == ("feasible", None, None)
    assert "by a rounding error only and is left out" in found.notes[0]


def test_the_checker_and_the_replay_make_a_bound_stronger():
    told = replace(
        FOUND,
        report=replace(REPORT, limits={"additive_seconds": 5.5}),
        metrics={**FOUND.metrics, "transfer": 8.5},
    )
    assert verdict_on_plan(Claim(ADDITIVE, 5.0), None, told).bound == 5.5
    assert verdict_on_plan(Claim(MAKESPAN, 8.2), None, told).bound == 8.5
    # a bound that is not finite is none: the one of the instance stands
    assert verdict_on_plan(Claim(MAKESPAN, -math.inf), None, told).bound == 8.5


def test_the_quick_bound_is_of_the_kinds_objective_alone():
    told = replace(FOUND, quick_bound=lambda: 4.0)
    assert verdict_on_plan(Claim(ADDITIVE), None, told).bound == 4.0
    assert verdict_on_plan(Claim(ADDITIVE, 5.0), None, told).bound == 5.0
    assert verdict_on_plan(Claim(MAKESPAN), None, told).bound == 8.0


def test_what_breaks_a_rule_has_no_value_and_a_reference_no_bound():
    broken = verdict_on_plan(Claim(ADDITIVE, 5.0), None, replace(FOUND, sound=False))
    assert (broken.status, broken.value, broken.gap) == ("error", None, None)
    mark = verdict_on_plan(Claim(ADDITIVE, 5.0), None, replace(FOUND, reference=True))
    assert (mark.status, mark.value, mark.bound) == ("feasible", 6.0, None)


def test_without_a_replay_only_the_objective_of_the_plan_is_told():
    late = Evidence(ADDITIVE, CheckReport((), {"additive_seconds": 6.0}), {}, False)
    found = verdict_on_plan(Claim(MAKESPAN, 8.0), None, late)
    assert (found.metric, found.value, found.bound) == (ADDITIVE, 6.0, None)


def test_the_best_known_plan_refutes_a_bound():
    told = replace(FOUND, known={"additive_seconds": Known(5.184, None)})
    found = verdict_on_plan(Claim(ADDITIVE, 6.0), None, told)
    assert (found.status, found.bound) == ("feasible", None)
    assert found.notes == (
        "its bound 6.0 is left out: the best known plan of this instance reaches 5.184",
    )


def test_without_a_plan_a_claim_is_infeasibility_or_a_finite_bound():
    found = verdict_without_plan(Claim(ADDITIVE, 5.0), MAKESPAN, True, False)
    assert (found.status, found.bound) == ("infeasible", None)
    assert found.proofs == {"additive_bound_seconds": 5.0}
    found = verdict_without_plan(Claim(ADDITIVE, math.inf), None, False, False)
    assert (found.status, found.bound) == ("unknown", None)
    assert verdict_without_plan(Claim(ADDITIVE), None, False, True).status == "error"


def test_every_kind_has_one_objective_among_its_metrics():
    for kind in KINDS.values():
        marked = [metric for metric in kind.metrics if metric.objective]
        assert len(marked) == 1 and kind.objective is marked[0]
        names = [metric.name for metric in kind.metrics]
        assert len(set(names)) == len(names)
        own = kind.metric("an_objective_of_a_solver")
        assert own.sense == kind.objective.sense and own.bounded_by is None


@pytest.mark.parametrize(
    ("solver", "settings", "shown"),
    [
        ("exact-workflow", {"replays": 20}, ["bound"]),
        ("minmin", {}, ["additive bound", "makespan bound"]),
    ],
)
def test_at_most_three_bounds_are_shown_and_all_are_in_the_json(
    solver, settings, shown
):
    result = ioopt.solve("cycle3", solver, settings=settings)
    assert [name for name, _ in result.rows() if "bound" in name] == shown
    hidden = bounds_left_out(result)
    assert (
        "link_bound_seconds" in hidden and hidden <= result.to_dict()["metrics"].keys()
    )


def test_bounds_of_an_unknown_kind_are_shown_up_to_three():
    result = ioopt.solve("cycle3", "minmin").model_copy(
        update={
            "kind": "of-another-time",
            "metrics": {f"{name}_bound": 1.0 for name in "abcd"},
        }
    )
    assert bounds_left_out(result) == {"c_bound", "d_bound"}
