"""Quantum selection: hand-solved menus, both integer programs
against an oracle, layout.
"""

import copy
import itertools
import math
from typing import Any

import pytest
from conftest import first, ticking

import ioopt
from ioopt.errors import InstanceError
from ioopt.generate.flexgang.quantum_selection import generate
from ioopt.measure.quantum_chain import Surface
from ioopt.models.flexgang.quantum import QuantumCosts, QuantumModel, least_cost
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.flexgang.quantum_selection import (
    QuantumPlan,
    QuantumSelectionProblem,
    slot_sequence,
)
from ioopt.protocols import Simulation, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.flexgang import quantum_greedy, quantum_ip
from ioopt.solvers.flexgang.quantum_greedy import cycle_grid, greedy_options
from ioopt.solvers.flexgang.quantum_ip import run

# Two quanta, one I/O job, one compute job that needs half of the cycle. The table gives
# S for the four pairs; 10/20 would be the best for the I/O job, but leaves the floor
# unmet when reversed.
TABLE = [
    {
        "on_seconds": on / 1000,
        "off_seconds": off / 1000,
        "slowdown": s,
        "beta": 0.1,
        "fragmentation": w,
    }
    for on, off, s, w in [
        (10, 10, 1.5, 0.2),
        (10, 20, 1.8, 0.1),
        (20, 10, 1.2, 0.4),
        (20, 20, 1.4, 0.3),
    ]
]
TINY = {
    "format": "ioopt/quantum-selection",
    "name": "menu",
    "machine": {"processors": 32},
    "mu": 0.5,
    "quanta_seconds": [0.010, 0.020],
    "jobs": [
        {"id": "io", "kind": "io", "weight": 2.0},
        {"id": "c", "kind": "compute", "floor": 0.5},
    ],
    "surface": TABLE,
}


@pytest.mark.parametrize("solver", ["quantum-ip", "quantum-greedy"])
def test_hand_solved_menu(solver: str) -> None:
    # 10/10: 2 * .5 + .5 * .2 = 1.1; 10/20: 2 * .8 + .05 = 1.65; 20/20: 2 * .4 +
    # .15 = .95; 20/10 (.6) leaves the compute job 1/3 of the cycle, below its
    # floor of 1/2. Best .95.
    result = ioopt.solve(TINY, solver)
    assert result.plan["cycle_seconds"] == pytest.approx(0.040)
    assert result.objective == pytest.approx(0.95)
    assert result.status == ("feasible" if solver == "quantum-greedy" else "optimal")
    assert result.violations == ()


def random_problem(seed: int) -> QuantumSelectionProblem:
    """A seeded instance with mixed jobs, weights and visits."""
    preset = ("plain", "visits", "mixed")[seed % 3]
    settings = {
        "io_jobs": 1 + seed % 2,
        "compute_jobs": 1 + seed % 2,
        "visits": 1 + seed % 2,
        "compute_share": 0.1 * (seed % 5),
        "mu": 0.5 * (seed % 3),
    }
    return generate(preset, settings, seed)


SEEDS = [
    pytest.param(s, marks=pytest.mark.slow) if s in (5, 11, 17) else s
    for s in range(20)
]


def least(costs: QuantumCosts) -> float:
    """The least cost over the whole grid: plain dynamic programming
    over the ticks used.
    """
    problem, best = costs.problem, math.inf
    for cycle in cycle_grid(costs):
        used = {0: 0.0}
        for job in range(len(problem.jobs)):
            reached: dict[int, float] = {}
            for (ticks, cost), option in itertools.product(
                used.items(), problem.options(job)
            ):
                at = ticks + problem.ticks(option[0]) * option[1]
                price = cost + costs.cost(job, option, cycle)
                reached[at] = min(price, reached.get(at, math.inf))
            used = reached
        best = min(best, used.get(cycle, math.inf))
    return best


@pytest.mark.parametrize("seed", first(1, SEEDS))
def test_both_integer_programs_equal_the_oracle(seed: int) -> None:
    costs = QuantumCosts(random_problem(seed))
    grid, oracle = cycle_grid(costs), least(costs)
    assert math.isfinite(oracle) and least_cost(costs.problem) <= oracle
    model = QuantumModel(costs, grid)
    for backend in ("HiGHS", "SCIP"):
        request = SolveRequest(SolveOptions(120, backend=backend), Deadline(120))
        answer = run(model, None, request)
        assert answer.status == "optimal", backend
        assert answer.objective == pytest.approx(oracle, abs=1e-6), backend
        options = model.options(answer.values)
        assert costs.total(options) == pytest.approx(oracle, abs=1e-6)
    greedy = greedy_options(costs)
    assert greedy is None or costs.total(greedy) >= oracle - 1e-9


def test_the_closed_bound_by_hand() -> None:
    # Both compute half of their time; half of the cycle is left. x = 1/3 and 1/6
    # are as sqrt(w r): 4 (.5 / (1/3) - 1) + (.5 / (1/6) - 1) = 4 * .5 + 2 = 4, and
    # .999 * 9 - 5 = 3.991.
    io = {"kind": "io", "burst_seconds": 0.010, "io_seconds": 0.010}
    jobs = [
        {"id": "a", "weight": 4.0, **io},
        {"id": "b", **io},
        {"id": "c", "kind": "compute", "floor": 0.5},
    ]
    problem = ioopt.load({**TINY, "jobs": jobs, "surface": None})
    assert least_cost(problem) == pytest.approx(3.991)
    assert least_cost(ioopt.load(TINY)) == 0.0  # its responses are its own
    late = ioopt.solve("quantum-mixed", "quantum-ip", time_limit=1e-9)
    assert late.bound == least_cost(ioopt.load("quantum-mixed")) > 0


def test_slots_are_laid_out_by_their_wanted_place() -> None:
    # x twice (.25, .75), y four times (.125, .375, .625, .875), z once (.5):
    # y .125, x .25, y .375, z .5, y .625, x .75, y .875, back to back.
    problem = QuantumSelectionProblem.model_validate(
        {
            "name": "layout",
            "quanta_seconds": [0.005, 0.010, 0.015],
            "visits": [1, 2, 4],
            "jobs": [
                {"id": "x", "kind": "io"},
                {"id": "y", "kind": "io"},
                {"id": "z", "kind": "compute"},
            ],
        }
    )
    plan = QuantumPlan.model_validate(
        {
            "cycle_seconds": 0.055,
            "options": {
                "x": {"quantum_seconds": 0.010, "visits": 2},
                "y": {"quantum_seconds": 0.005, "visits": 4},
                "z": {"quantum_seconds": 0.015},
            },
        }
    )
    slots = slot_sequence(problem, plan)
    assert [problem.jobs[job].id for job, _, _ in slots] == list("yxyzyxy")
    assert [round(start * 1000) for _, start, _ in slots] == [0, 5, 15, 20, 35, 40, 50]
    tied = plan.model_copy(
        update={"options": {"z": plan.options["y"], "y": plan.options["y"]}}
    )
    order = [problem.jobs[job].id for job, _, _ in slot_sequence(problem, tied)]
    assert order == ["y", "z"] * 4  # equal places: the job that stands first


def test_a_menu_without_one_visit_has_no_problem_of_one_visit() -> None:
    """Falling back to one visit once answered with an option that no menu had."""
    problem = generate("visits", {}, 0)
    assert problem.one_visit() is not None
    twice = problem.model_copy(update={"visits": (2, 4)})
    assert twice.one_visit() is None
    result = ioopt.solve(twice, "quantum-ip", time_limit=5)
    assert result.violations == ()


def test_options_off_the_menu_are_not_simulated() -> None:
    """2**53 visits would lay out as many slots."""
    problem = generate("visits", {}, 0)
    plan = dict(ioopt.solve(problem, "quantum-greedy", time_limit=5).plan or {})
    name = next(iter(plan["options"]))
    plan["options"] = plan["options"] | {
        name: plan["options"][name] | {"visits": 2**53}
    }
    with pytest.raises(ValueError, match="is not on its menu"):
        ioopt.simulate(problem, plan)


def visited(
    io: float, compute: float, jobs: dict[str, Any], **more: Any
) -> QuantumSelectionProblem:
    """An I/O and a compute job with a quantum each, and *jobs*: what
    both rows say beside.
    """
    rows = [
        {"id": "io", "kind": "io", "quanta_seconds": [io], **jobs},
        {"id": "c", "kind": "compute", "quanta_seconds": [compute], **jobs},
    ]
    return QuantumSelectionProblem.model_validate(
        {"name": "visits", "quanta_seconds": [io, compute], "jobs": rows, **more}
    )


def test_evenly_spaced_visits_are_kept() -> None:
    # Both jobs visit twice: io, c, io, c of 10 and 30 ms are two cycles of 40 ms, so
    # the surface at (10, 30) is exact and nothing falls back.
    problem = visited(0.010, 0.030, {"visits": [2]}, cycles_seconds=[0.080])
    result = ioopt.solve(problem, "quantum-ip")
    assert result.plan["options"]["io"] == {"quantum_seconds": 0.010, "visits": 2}
    chain = Surface(32).at(problem.jobs[0], 0.010, 0.030).slowdown - 1
    assert result.objective == pytest.approx(chain)
    assert result.metrics["realised"] == pytest.approx(chain, rel=0.02)
    assert result.notes == ()


@pytest.mark.parametrize("solver", ["quantum-greedy", "quantum-ip"])
def test_visits_that_come_out_better_than_predicted_are_kept(solver: str) -> None:
    """The instance's own surface is gloomy: a slowdown of 9 beside the 1.5 or
    so that is realised.
    """
    gloomy = {"on_seconds": 0.010, "off_seconds": 0.030, "slowdown": 9.0, "beta": 0.1}
    more = {"visits": [2], "cycles_seconds": [0.080], "surface": [gloomy]}
    result = ioopt.solve(visited(0.010, 0.030, {"visits": [2]}, **more), solver)
    assert result.plan["options"]["io"]["visits"] == 2
    assert result.metrics["realised"] < 0.5 * result.objective
    assert result.notes == ()


@pytest.mark.parametrize("solver", ["quantum-greedy", "quantum-ip"])
def test_uneven_visits_are_kept_where_one_visit_realises_more(solver: str) -> None:
    # The compute job cannot be split: two visits of 5 ms beside one slot of 40 ms are
    # not 25 ms apart, and realise 1.06 where .47 was predicted. One visit of 5 ms
    # (cycle 45 ms) realises 1.64.
    result = ioopt.solve(visited(0.005, 0.040, {}, visits=[1, 2]), solver)
    assert result.plan["options"]["io"]["visits"] == 2
    assert result.metrics["realised"] == pytest.approx(1.058, abs=1e-3)
    assert "one visit per cycle costs no less (1.643)" in result.notes[0]
    assert "cost 1.058 in simulation" in result.notes[0]
    assert "5% above the predicted 0.4706" in result.notes[0]


@pytest.mark.parametrize(
    ("several", "single", "uniform", "kept", "said"),
    [
        (
            2.0,
            1.5,
            1.8,
            "single",
            ("fell back to one visit", "costs 1.8: the plan saves 16.7% of it"),
        ),
        (
            2.0,
            7.0,
            2.5,
            "several",
            ("costs no less (7)", "costs 2.5: the plan saves 20.0% of it"),
        ),
        (
            2.0,
            7.0,
            1.5,
            "uniform",
            ("costs no less (7)", "costs less: 1.5 against 2"),
        ),
        (
            2.0,
            1.8,
            1.5,
            "uniform",
            ("fell back to one visit", "costs less: 1.5 against 1.8"),
        ),
        (1.0, None, 0.9, "uniform", ("costs less: 0.9 against 1",)),
    ],
)
def test_the_answer_is_what_realises_least(
    monkeypatch: pytest.MonkeyPatch,
    several: float,
    single: float | None,
    uniform: float,
    kept: str,
    said: tuple[str, ...],
) -> None:
    """Three ways to share a cycle, by the cost that the simulator is made
    to realise for each.
    """
    jobs = [{"id": "io", "kind": "io"}, {"id": "c", "kind": "compute"}]
    problem = QuantumSelectionProblem.model_validate(
        {
            "name": "menus",
            "quanta_seconds": [0.01, 0.02],
            "visits": [1, 2],
            "jobs": jobs,
        }
    )
    costs = QuantumCosts(problem)
    short, long = problem.quanta_seconds
    ways: dict[str, Any] = {
        "several": [(short, 2), (long, 1)],
        "single": [(short, 1), (long, 1)],
        "uniform": quantum_greedy._least_uniform(costs),
    }
    realised = {"several": several, "single": single, "uniform": uniform}
    plans = {name: costs.plan(way) for name, way in ways.items()}

    def fake(
        of: QuantumSelectionProblem, plan: QuantumPlan, **limits: Any
    ) -> Simulation:
        name = next(name for name, known in plans.items() if known == plan)
        return Simulation({}, {"realised": realised[name]})

    monkeypatch.setattr(quantum_greedy, "simulate", fake)
    monkeypatch.setattr(QuantumCosts, "total", lambda costs, options: 1.0)
    found = quantum_greedy.realised_outcome(
        costs, ways["several"], lambda once: ways["single"]
    )
    assert found.plan == plans[kept]
    assert len(found.notes) == len(said)
    assert all(words in note for words, note in zip(said, found.notes))


CHANGES = [
    ("options", {"options": {"io": {"quantum_seconds": 0.02, "visits": 1}}}),
    ("options", {"io": {"quantum_seconds": 0.015, "visits": 1}}),
    ("options", {"io": {"quantum_seconds": 0.02, "visits": 2}}),
    ("cycle", {"cycle_seconds": 0.050}),
    ("floor", {"c": {"quantum_seconds": 0.01, "visits": 1}, "cycle_seconds": 0.030}),
]


@pytest.mark.parametrize(("rule", "change"), CHANGES)
def test_a_change_breaks_its_rule(rule: str, change: dict[str, Any]) -> None:
    plan = {
        "cycle_seconds": 0.040,
        "options": {"io": {"quantum_seconds": 0.02}, "c": {"quantum_seconds": 0.02}},
    }
    assert ioopt.check(TINY, plan) == []
    for key, value in change.items():
        if key in ("io", "c"):
            plan["options"] = {**plan["options"], key: value}
        else:
            plan[key] = value
    assert rule in {item.rule for item in ioopt.check(TINY, plan)}


def test_schedule_of_another_plan_is_caught() -> None:
    result = ioopt.solve(TINY, "quantum-ip").to_dict()
    assert ioopt.check(TINY, result) == []
    result["schedule"]["slots"][1]["start_seconds"] += 0.001
    assert {item.rule for item in ioopt.check(TINY, result)} == {"slots"}


REFUSED = [
    (
        {"jobs": [{"id": "c", "kind": "compute", "weight": 2.0}]},
        "weight has no meaning",
    ),
    ({"cycles_seconds": [0.015]}, "no multiple of the time grid 0.01"),
    ({"quanta_seconds": [0.01, 0.01]}, "listed twice"),
    (
        {
            "jobs": [
                {"id": "c", "kind": "compute", "floor": 0.6},
                {"id": "d", "kind": "compute", "floor": 0.6},
            ]
        },
        "more than the whole",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_refused_instances(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InstanceError, match=message):
        ioopt.load({**TINY, **change})


def test_floors_that_no_menu_can_meet_are_infeasible() -> None:
    problem = copy.deepcopy(TINY)
    problem["jobs"][1]["floor"] = 0.9
    assert ioopt.solve(problem, "quantum-ip").status == "infeasible"
    assert ioopt.solve(problem, "quantum-greedy").status == "unknown"


# From the good point of TINY (20/20, cycle 40 ms): what to change, and the
# constraint it breaks.
MODEL_BREAKS = [
    ("one_cycle", {"y_4": 0.0}),
    ("option_0_4", {"z_0_1_4": 0.0}),
    ("option_1_4", {"z_1_1_4": 0.0}),
    ("full_3", {"z_0_0_3": 1.0}),
]


@pytest.mark.parametrize(("constraint", "change"), MODEL_BREAKS)
def test_a_change_breaks_its_constraint_of_the_model(
    constraint: str, change: dict[str, float]
) -> None:
    costs = QuantumCosts(ioopt.load(TINY))
    model = QuantumModel(costs, cycle_grid(costs))
    at = {variable.name: at for at, variable in enumerate(model.program.variables)}
    values = model.start_values([(0.020, 1), (0.020, 1)])
    assert model.program.broken(values, 1e-9) == []
    changed = values | {at[name]: value for name, value in change.items()}
    assert constraint in model.program.broken(changed, 1e-9)


@pytest.mark.parametrize("solver", first(0, ["quantum-greedy", "quantum-ip"]))
def test_without_time_there_is_a_plan_without_a_simulation(solver: str) -> None:
    late = ioopt.solve("quantum-mixed", solver, time_limit=1e-9)
    assert late.status == "feasible" and late.violations == ()
    assert late.notes[-1].startswith("not simulated: no time was left")
    assert "realised" not in late.metrics
    assert late.objective >= ioopt.solve("quantum-mixed", solver).objective - 1e-9


@pytest.mark.parametrize("solver", [quantum_greedy, quantum_ip])
def test_the_first_uniform_quantum_is_the_answer_of_a_limit_that_is_over(
    solver: Any,
) -> None:
    """The clock goes on by a second whenever it is read, so the first look is late."""
    jobs = [{"id": "io", "kind": "io"}, {"id": "c", "kind": "compute"}]
    problem = QuantumSelectionProblem.model_validate(
        {
            "name": "late",
            "quanta_seconds": [0.01, 0.02, 0.04],
            "visits": [1, 2],
            "jobs": jobs,
        }
    )
    request = SolveRequest(SolveOptions(0.5), ticking(0.5))
    outcome = solver.solve(problem, request)
    first_uniform = QuantumCosts(problem).plan([(0.01, 1), (0.01, 1)])
    assert request.incumbents.plan == outcome.plan == first_uniform
    assert outcome.stop is StopReason.TIME
    assert "realised" not in outcome.simulation.metrics


@pytest.mark.parametrize("looks", [1, 3, 5, 8, 12])
@pytest.mark.parametrize("solver", [quantum_greedy, quantum_ip])
def test_hardly_anything_is_priced_once_the_limit_is_over(
    monkeypatch: pytest.MonkeyPatch, solver: Any, looks: int
) -> None:
    """Only a first uniform quantum may still be priced; each look takes a second."""
    problem = generate("visits", {"io_jobs": 2, "compute_jobs": 2}, 0)
    reads = 0

    def clock() -> float:
        nonlocal reads
        reads += 1
        return float(reads)

    late: list[int] = []
    price = QuantumCosts._cost

    def watched(costs: QuantumCosts, job: int, option: Any, cycle: int) -> float:
        if reads > looks:  # the deadline begins at 1
            late.append(job)
        return price(costs, job, option, cycle)

    monkeypatch.setattr(QuantumCosts, "_cost", watched)
    request = SolveRequest(SolveOptions(float(looks)), Deadline(float(looks), clock))
    outcome = solver.solve(problem, request)
    assert outcome.plan is not None and outcome.stop is StopReason.TIME
    assert len(late) <= len(problem.jobs)


def test_what_was_not_simulated_in_time_is_not_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The uniform quantum would realise less, but the limit ends
    before it is simulated.
    """
    jobs = [{"id": "io", "kind": "io"}, {"id": "c", "kind": "compute"}]
    problem = QuantumSelectionProblem.model_validate(
        {
            "name": "menus",
            "quanta_seconds": [0.01, 0.02],
            "visits": [1, 2],
            "jobs": jobs,
        }
    )
    costs = QuantumCosts(problem)
    runs = [Simulation({}, {"realised": 1.0}), Simulation({}, {})]
    monkeypatch.setattr(
        quantum_greedy, "simulate", lambda *given, **limits: runs.pop(0)
    )
    monkeypatch.setattr(QuantumCosts, "total", lambda costs, options: 1.0)
    several = [(0.01, 2), (0.02, 1)]
    found = quantum_greedy.realised_outcome(costs, several, lambda once: None)
    assert found.plan == costs.plan(several)
    assert found.notes == ("no time was left to simulate the best uniform quantum",)


def test_the_plan_of_the_start_is_among_those_that_are_realised() -> None:
    """The best options of the two-visit example cost less than one that was chosen by
    a wrong prediction: the outcome is the plan of the start.
    """
    problem = ioopt.load("quantum-visits")
    costs = QuantumCosts(problem)
    start = greedy_options(costs)
    assert start is not None
    longest = [problem.options(job)[-1] for job in range(len(problem.jobs))]

    def none(_: object) -> None:
        return None

    apart = quantum_greedy.realised_outcome(costs, longest, none)
    joined = quantum_greedy.realised_outcome(costs, longest, none, start=start)
    assert joined.simulation is not None and apart.simulation is not None
    realised = joined.simulation.metrics["realised"]
    assert realised < apart.simulation.metrics["realised"]
    assert joined.plan == costs.plan(start)
    assert any("the plan of the start costs less" in note for note in joined.notes)
