"""Re-ranking by simulation, the presets."""

from typing import Any

import pytest
from conftest import deadline_of_checks

import ioopt
from ioopt.generate.flexgang.flexible_gang import PRESETS, generate
from ioopt.generate.flexgang.quantum_selection import generate as generate_selection
from ioopt.models.flexgang.relaxation import universal_bound
from ioopt.options import Deadline
from ioopt.plot.flexgang import plot_flexible_gang, plot_quantum_selection
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.sim.flexgang.flexible_gang import REPORT_SEEDS
from ioopt.solvers.flexgang import exact, pattern_search
from ioopt.solvers.flexgang.exact import SELECTION_SEEDS, Candidate, Ranked, rerank
from ioopt.solvers.flexgang.pattern_search import PatternSearch


def test_seeds_for_choosing_are_none_of_those_reported() -> None:
    assert not set(SELECTION_SEEDS) & set(REPORT_SEEDS)
    assert len(REPORT_SEEDS) >= 6


def candidates(problem: FlexibleGangProblem) -> list[Candidate]:
    found = []
    for name in ("strict", "strict-fill", "greedy"):
        result = ioopt.solve(problem, name)
        plan = FlexibleGangPlan.model_validate(result.plan)
        found.append(Candidate(name, plan, result.objective, name != "greedy"))
    return found


@pytest.mark.slow
def test_the_winner_simulates_best_and_baselines_are_beaten_surely() -> None:
    problem = generate("heavy-mix", {}, 1)
    ranked = rerank(problem, candidates(problem), seeds=(1, 2, 3), seconds=10.0)
    assert [item.candidate.label for item in ranked] == [
        "greedy",
        "strict-fill",
        "strict",
    ]
    assert ranked[0].mean > ranked[1].mean > ranked[2].mean
    # The same plan once as a baseline and once not: no sure difference, so
    # the baseline stands.
    greedy = candidates(problem)[2]
    twins = [
        greedy,
        Candidate("twin", greedy.plan, greedy.model_objective, baseline=True),
    ]
    ranked = rerank(problem, twins, seeds=(1, 2, 3), seconds=10.0)
    assert ranked[0].candidate.label == "twin"


@pytest.mark.slow
def test_with_little_time_baselines_and_the_models_best_are_simulated() -> None:
    """The clock ticks at every look: three times a candidate.

    A run takes 1 tick: before the fourth candidate, at tick 10, one more
    and the report need 2.
    """
    problem = generate("heavy-mix", {}, 1)
    strict, fill, greedy = candidates(problem)
    worse = Candidate("worse", greedy.plan, greedy.model_objective - 1.0)
    everyone = [worse, greedy, strict, fill]
    ranked = rerank(problem, everyone, (1,), 5.0, deadline_of_checks(12))
    assert {item.candidate.label for item in ranked} == {
        "strict",
        "strict-fill",
        "greedy",
    }
    assert len(rerank(problem, everyone, (1,), 5.0, deadline_of_checks(15))) == 4
    # Not even for those: nothing is compared.
    assert rerank(problem, everyone, (1,), 5.0, deadline_of_checks(8)) == []
    assert rerank(problem, everyone, (1,), 5.0, Deadline(0.0)) == []


def test_greedy_plans_come_first_with_the_whole_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What else exact begins with may not cost the greedy a pattern."""
    problem = generate("heavy-mix", {}, 2)
    called: list[str] = []
    for name in ("greedy_plans", "try_strict", "PatternSearch"):
        made = getattr(exact, name)
        monkeypatch.setattr(
            exact, name, lambda *a, n=name, m=made: (called.append(n), m(*a))[1]
        )
    ioopt.solve(problem, "flex-exact", time_limit=1e-9, settings={"rerank": "false"})
    assert called[0] == "greedy_plans" and len(set(called)) == 3


@pytest.mark.slow
def test_the_bound_needs_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = generate("heavy-mix", {}, 2)
    best = ioopt.solve(
        problem, "flex-exact", time_limit=60, settings={"rerank": "false"}
    )

    def unbuilt(*_: object, **__: object) -> None:
        raise AssertionError("a program was built")

    monkeypatch.setattr(PatternSearch, "run", lambda *_: None)
    monkeypatch.setattr(pattern_search, "AssignmentModel", unbuilt)
    quick = ioopt.solve(
        problem, "flex-exact", time_limit=60, settings={"rerank": "false"}
    )
    assert best.objective <= quick.bound < 1.0 and quick.stop == "time"
    monkeypatch.setattr(PatternSearch, "relax", lambda *_: None)
    universal = ioopt.solve(
        problem, "flex-exact", time_limit=60, settings={"rerank": "false"}
    )
    assert universal.bound == universal_bound(problem) >= quick.bound


def test_without_time_the_choice_is_the_models_and_is_said() -> None:
    late = ioopt.solve("flexgang-heavy-mix", "flex-exact", time_limit=1e-9)
    assert (late.status, late.stop) == ("feasible", "time")
    assert late.notes[0].startswith("chosen by the model alone")
    assert late.notes[1].startswith("not simulated")
    assert "simulated_objective" not in late.metrics


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.slow
def test_exact_is_never_below_its_baselines_in_simulation(seed: int) -> None:
    problem = generate("heavy-mix", {}, seed)
    exact = ioopt.solve(problem, "flex-exact", time_limit=30, gap=0.01)
    assert exact.violations == ()
    others = [
        ioopt.solve(problem, "strict"),
        ioopt.solve(problem, "strict-fill"),
        ioopt.solve(
            problem, "flex-exact", time_limit=30, settings={"patterns": "strict"}
        ),
    ]
    simulated = exact.metrics["simulated_objective"]
    assert all(
        simulated >= other.metrics["simulated_objective"] - 1e-9 for other in others
    )
    assert exact.bound >= exact.metrics["model_best"] - 1e-9 >= exact.objective - 2e-9
    assert exact.metrics["cpu_utilisation"] > others[0].metrics["cpu_utilisation"] + 0.1


@pytest.mark.slow
def test_pictures_of_a_frame_and_a_cycle() -> None:
    frame = ioopt.solve("flexgang-tiny", "greedy")
    axes = plot_flexible_gang(frame)
    assert axes.get_ylim() == (40.0, 0.0)  # ms, time runs down
    windows = [patch for patch in axes.patches if patch.get_hatch()]
    assert len(windows) == frame.plan["d"]
    cycle = ioopt.solve("quantum-plain", "quantum-greedy")
    axes = plot_quantum_selection(cycle)
    assert len(axes.patches) == len(cycle.schedule["slots"])
    ends = [patch.get_x() + patch.get_width() for patch in axes.patches]
    assert max(ends) == pytest.approx(1000 * cycle.plan["cycle_seconds"])  # in ms


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_presets(preset: str) -> None:
    first, again, other = (generate(preset, {}, seed) for seed in (1, 1, 2))
    assert first == again != other
    chosen = PRESETS[preset]()
    assert len(first.jobs) == chosen.jobs
    io = [job for job in first.jobs if job.is_io]
    assert len(io) == round(chosen.jobs * chosen.io_fraction)
    assert sum(job.coordinated for job in io) == len(io) // 4
    narrow = generate(preset, {"narrowest": "16", "columns": "16"}, 1)
    assert {job.processes for job in narrow.jobs} <= {2, 4, 8, 16, 32}


def test_the_trace_ends_at_the_plan_that_simulates_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the simulation prefers a plan of a lower model objective,
    nothing above it stays.
    """

    def worst_first(*given: object, **_: object) -> list[Ranked]:
        ranked = sorted(given[1], key=lambda item: item.model_objective)
        return [Ranked(item, (1.0,)) for item in ranked]

    monkeypatch.setattr(exact, "rerank", worst_first)
    result = ioopt.solve(generate("heavy-mix", {}, 1), "flex-exact", time_limit=1e-9)
    values = [value for _, value in result.trace]
    assert result.metrics["model_best"] > result.objective + 1e-3
    assert all(value <= result.objective + 1e-9 for value in values)


FLEXIBLE = generate, "light-mix", {"jobs": 5}, "flex-exact", {"rerank": "false"}
QUANTUM = generate_selection, "plain", {"io_jobs": 1}, "quantum-ip", {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "spoilt"),
    [(FLEXIBLE, {"tau_seconds": {"c0": 1.0}}), (QUANTUM, {"cycle_seconds": 1.0})],
)
def test_a_plan_to_start_from_is_used_or_refused_with_a_note(
    kind: Any, spoilt: Any
) -> None:
    make, preset, changes, solver, how = kind
    problem = make(preset, changes, 1)
    best = ioopt.solve(problem, solver, time_limit=30, settings=how)
    again = ioopt.solve(problem, solver, time_limit=30, settings=how, warm_start=best)
    assert (
        again.objective == pytest.approx(best.objective) and again.notes == best.notes
    )
    wrong = {**best.plan, **spoilt}
    refused = ioopt.solve(
        problem, solver, time_limit=30, settings=how, warm_start=wrong
    )
    assert any("the warm start is left out" in note for note in refused.notes)
    assert (
        refused.objective == pytest.approx(best.objective) and refused.violations == ()
    )
