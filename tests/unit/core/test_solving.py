"""The front door: what happens when solvers fail, are
interrupted, or claim too much.
"""

from types import SimpleNamespace

import pytest
from replication_samples import document

import ioopt
from ioopt import loading, registry, solving
from ioopt.errors import SimulationError, UsageError
from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import CheckReport, Outcome, Simulation
from ioopt.registry.types import Kind, Metric, SolverSpec
from ioopt.result import Status, StopReason, Violation, relative_gap

PROBLEM = document(1, {}, {"t0": (5,)})
PLAN = ReplicationPlan(assign={"t0": "n0"}, order={"n0": ("t0",)})


def answering(answer, **reported):
    """A solver that reports an incumbent and a bound, if any, and then
    returns or raises *answer*.
    """

    def solver(problem, request):
        incumbents = request.incumbents
        incumbents.objective_name = reported.get("name", incumbents.objective_name)
        if "plan" in reported:
            incumbents.report(reported["plan"], 5.0, bound=reported.get("bound"))
        elif reported:
            incumbents.bound = reported["bound"]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return solver


OUT_OF_RANGE = RuntimeError("numbers out of range")
good = answering(Outcome(PLAN, bound=5.0))
modest = answering(Outcome(PLAN, bound=4.0))
boastful = answering(Outcome(PLAN, bound=6.0))
failing = answering(OUT_OF_RANGE)
failing_late = answering(OUT_OF_RANGE, plan=PLAN, bound=1.0)
interrupted = answering(KeyboardInterrupt(), plan=PLAN)
interrupted_at_once = answering(KeyboardInterrupt(), bound=2.0)
interrupted_elsewhere = answering(
    KeyboardInterrupt(), plan=PLAN, bound=4.5, name="makespan_seconds"
)
# States more building than has gone by, as a solver with a clock of its own may.
slow_builder = answering(Outcome(PLAN, build_seconds=1e6))
quick_builder = answering(Outcome(PLAN, build_seconds=-1.0))
hopeless = answering(Outcome(None, infeasible=True, notes=("no disk holds t0",)))
late = answering(Outcome(None, stop=StopReason.TIME))
broken_plan = answering(Outcome(ReplicationPlan(order={"n0": ()}), bound=0.0))


class FakeKind(Kind):
    """Problems of replication, with a checker and a simulator that know the answer."""

    kind = "replication"
    family = "replication"
    default_solver = "good"
    fallback = "good"
    metrics = (Metric("additive_seconds"),)

    def problem_class(self):
        return ReplicationProblem

    def plan_class(self):
        return ReplicationPlan

    def check(self, problem, plan, schedule):
        missing = [task.id for task in problem.tasks if task.id not in plan.order["n0"]]
        violations = tuple(
            Violation(rule="(4)", item=name, message="no node") for name in missing
        )
        return CheckReport(violations, {"additive_seconds": 5.0})

    def simulate(self, problem, plan, **options):
        return Simulation({"tasks": []}, {"makespan_seconds": 5.0})


@pytest.fixture(autouse=True)
def small_registry(monkeypatch):
    """A registry in which the solvers are the functions above."""
    here = __name__
    names = [
        name for name, value in globals().items() if callable(value) and name.islower()
    ]
    rows = tuple(
        SolverSpec(
            name.replace("_", "-"), ("replication",), f"{here}:{name}", "", "test"
        )
        for name in names
    )
    monkeypatch.setattr(registry, "FORMATS", {"replication": FakeKind()})
    monkeypatch.setattr(registry, "SOLVERS", rows)


@pytest.mark.parametrize(
    ("default", "bound", "said"),
    [
        ("failing", 5.0, "numbers out of range) at "),
        ("failing-late", 1.0, "; the best plan it had found"),
    ],
)
def test_only_a_default_solver_that_fails_is_answered_by_the_fallback(
    monkeypatch, default, bound, said
):
    kind = FakeKind()
    kind.default_solver = default
    monkeypatch.setattr(registry, "FORMATS", {"replication": kind})
    result = ioopt.solve(PROBLEM)
    assert (result.stop, result.objective, result.bound) == ("fallback", 5.0, bound)
    assert said in result.notes[0]
    assert result.notes[0].endswith("; answered by good") == (default == "failing")
    named = ioopt.solve(PROBLEM, default)
    assert (named.status, named.value) == ("error", None)


@pytest.mark.parametrize(
    ("solver", "status", "stop", "objective", "bound", "said"),
    [
        ("good", "optimal", "finished", 5.0, 5.0, ""),  # the bound meets the objective
        ("modest", "feasible", "finished", 5.0, 4.0, ""),
        ("boastful", "error", "finished", 5.0, 6.0, "contradicts"),
        (
            "failing",
            "error",
            "finished",
            None,
            None,
            "failing failed (RuntimeError: numbers out",
        ),
        ("failing-late", "error", "finished", 5.0, 1.0, "numbers out of range"),
        ("interrupted", "feasible", "interrupted", 5.0, None, ""),
        ("interrupted-at-once", "unknown", "interrupted", None, 2.0, ""),
        ("interrupted-elsewhere", "feasible", "interrupted", 5.0, 4.5, ""),
        ("hopeless", "infeasible", "finished", None, None, "no disk holds t0"),
        ("late", "unknown", "time", None, None, ""),
    ],
)
def test_what_becomes_of_an_answer(solver, status, stop, objective, bound, said):
    result = ioopt.solve(PROBLEM, solver)
    found = (result.status, result.stop, result.objective, result.bound)
    assert found == (status, stop, objective, bound)
    assert said in " ".join(result.notes)
    elsewhere = "makespan" if solver == "interrupted-elsewhere" else "additive"
    assert result.objective_name == f"{elsewhere}_seconds"
    assert (result.metrics.get("makespan_seconds") == 5.0) == (objective == 5.0)


def test_gap_follows_its_formula():
    assert ioopt.solve(PROBLEM).gap == 0.0
    assert ioopt.solve(PROBLEM, "modest").gap == pytest.approx((5 - 4) / 5)
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(None, 1.0) is None


def test_a_solver_that_fails_late_keeps_its_best_plan():
    assert ioopt.solve(PROBLEM, "failing-late").trace[0][1] == 5.0


@pytest.mark.parametrize("solver", ["slow-builder", "quick-builder", "good", "late"])
def test_times_are_never_negative_and_add_up(monkeypatch, solver):
    """On a clock that adds a second whenever it is read, the parts are whole seconds
    and their sum is what went by between the first and the last reading, without the
    second for imports."""
    ticks = iter(range(1000))
    monkeypatch.setattr(
        solving,
        "Deadline",
        lambda limit: Deadline(limit, clock=lambda: float(next(ticks))),
    )
    result = ioopt.solve(PROBLEM, solver)
    parts = [
        result.build_seconds or 0.0,
        result.solve_seconds,
        result.simulate_seconds or 0.0,
    ]
    assert min(parts) >= 0
    assert sum(parts) == next(ticks) - 2 - (1 if result.simulate_seconds else 0)


def test_a_plan_the_checker_refuses_is_never_feasible():
    result = ioopt.solve(PROBLEM, "broken-plan")
    assert result.status is Status.ERROR
    assert [violation.rule for violation in result.violations] == ["(4)"]


def test_a_plan_that_cannot_be_replayed_is_an_error_not_a_crash(monkeypatch):
    def stuck(kind, problem, plan, **options):
        raise SimulationError("node n0 waits for ever")

    monkeypatch.setattr(FakeKind, "simulate", stuck)
    result = ioopt.solve(PROBLEM)
    assert result.status is Status.ERROR
    assert "node n0 waits for ever" in result.notes[-1]


def test_check_holds_a_result_to_its_word():
    result = ioopt.solve(PROBLEM)
    assert ioopt.check(PROBLEM, result) == []
    wrong = result.model_copy(update={"objective": 4.0})
    assert [violation.rule for violation in ioopt.check(PROBLEM, wrong)] == [
        "objective"
    ]
    assert [v.rule for v in ioopt.check(PROBLEM, {"plan": {"order": {"n0": []}}})] == [
        "(4)"
    ]


def test_unknown_names_are_usage_errors():
    with pytest.raises(UsageError, match="did you mean 'good'"):
        ioopt.solve(PROBLEM, "goood")
    with pytest.raises(UsageError, match="no setting 'x'"):
        ioopt.solve(PROBLEM, "good", settings={"x": 1})
    with pytest.raises(UsageError, match="no backend 'CBC'"):
        ioopt.solve(PROBLEM, "good", backend="CBC")
    with pytest.raises(UsageError, match="not one of ioopt's problem classes"):
        loading.load(SimpleNamespace())
