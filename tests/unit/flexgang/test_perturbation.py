"""The perturbation laboratory: schedules and applications by hand, slopes, plots."""

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import both_makers, deadline_of_checks, shared_path

import ioopt
from ioopt.compiled.memory import Plain
from ioopt.errors import InstanceError, UsageError
from ioopt.generate.flexgang.perturbation import generate
from ioopt.measure import laboratory
from ioopt.measure import perturbation_kernel as kernel
from ioopt.measure.laboratory import (
    Laboratory,
    hits,
    program_of,
    run,
    slots_of,
    table_of,
)
from ioopt.options import Deadline
from ioopt.plot.measured import plot_perturbation
from ioopt.problems.flexgang.perturbation import (
    ENVIRONMENTS,
    Application,
    Barrier,
    Blocking,
    Emp,
    Environment,
    Msg,
    PerturbationProblem,
    Program,
    Workpile,
)


def paper(*apps: Application, **changes: Any) -> PerturbationProblem:
    return PerturbationProblem(applications=apps or (Emp(),), **changes)


def time_of(
    app: Application, environment: Environment, *perturbed: tuple[int, int]
) -> float:
    """Run time of two processes with 4 quanta of work and these
    (quantum, processor) hits.
    """
    problem = paper(
        app,
        processors=2,
        work_quanta=4,
        perturbations=1,
        batch=1,
        quantum_instructions=1000,
    )
    slots = slots_of(problem, environment, list(perturbed))
    return run(problem, app, slots, np.random.default_rng(0))


def test_slots_of_sub_and_add() -> None:
    """Sub at quantum 1: slots 0 1 2, in slot 1 only the other runs.
    Add at 1: 0 extra 1.
    """
    problem = paper(processors=2, perturbations=1)
    sub = slots_of(problem, "Sub_FX", [(1, 0)])
    assert sub.runs.tolist() == [[True, True], [False, True]]
    assert sub.gang.tolist() == [True, True]
    add = slots_of(problem, "Add_FX", [(1, 0)])
    assert add.runs.tolist() == [[True, True], [True, False], [True, True]]
    assert add.gang.tolist() == [True, False, True]
    assert add.elapsed(1500, 1000) == 1.0  # within the extra quantum nothing elapses
    assert add.elapsed(2500, 1000) == 1.5
    assert add.elapsed(4000, 1000) == 3.0


@pytest.mark.parametrize(
    ("app", "sub", "add"),
    [
        # Process 0 loses (gains) quantum 1 of its 4: it ends at 5 (3); process 1 at 4.
        (Emp(), 5.0, 4.0),
        # Barriers each quantum of work: process 1 does one unit in quantum 1, waits
        # in quantum 2 while 0 catches up; with an extra quantum process 0 runs one
        # unit ahead and waits.
        (Barrier(interval_quanta=1.0), 5.0, 4.0),
        # 8 units of 1 quantum: 2 + 1 + 2 + 2 by time 4, the eighth ends at 5; with the
        # extra quantum 2 + 1 (extra) + 2 + 2 by time 3, and the eighth ends at 4.
        (Workpile(unit_quanta=1.0), 5.0, 4.0),
        # Half units: 16, less 2 by the lost quantum: 14 by time 4, the last two by 4.5;
        # with the extra quantum 14 by time 3 and the last two by 3.5.
        (Workpile(unit_quanta=0.5), 4.5, 3.5),
        # Phases of one quantum; both ask at the phase's start. With 0 away in quantum
        # 1, process 1 gets its reply at 2, but 0 has that phase's work before it:
        # barrier at 3, two more: 5.
        (Msg(phase_quanta=1.0), 5.0, 4.0),
    ],
)
def test_two_processes_by_hand(app: Application, sub: float, add: float) -> None:
    assert time_of(app, "Sub_FX", (1, 0)) == pytest.approx(sub)
    assert time_of(app, "Add_FX", (1, 0)) == pytest.approx(add)
    assert time_of(app, "Sub_FX") == pytest.approx(4.0)


def test_an_arrival_at_a_barrier_is_told_in_the_quantum_that_it_ends() -> None:
    """Two processes, two quanta, a barrier after each: at 1000 the work of
    quantum 0 is done in it.
    """
    received = np.zeros((2, 2), np.int64)
    table = table_of(Plain(), np.ones((2, 2), bool), 1000, received)
    assert kernel.barrier(table, 2000, 1000) == 2000
    assert table.received == [1, 1, 1, 1]


def test_hits_keep_the_rules() -> None:
    problem = paper()
    assert (problem.batch, problem.quantum_instructions) == (4, 500_000)
    for seed in range(50):
        found = hits(problem, "Sub_RR", np.random.default_rng(seed), 20)
        quanta = [quantum for quantum, _ in found]
        assert [processor for _, processor in found] == [0, 1, 2, 3] * 5
        assert all(
            b - a == 3 for k, (a, b) in enumerate(pairwise(quanta)) if k % 4 != 3
        )
        assert all(b - a >= 1 for a, b in pairwise(quanta))
        assert all(b - a >= 10 for a, b in zip(quanta[::4], quanta[4::4]))
        assert quanta[0] >= 0
        assert quanta[-1] < 84
    assert {p for _, p in hits(problem, "Sub_FX", np.random.default_rng(0), 20)} == {0}


def test_perturbations_lie_in_the_window() -> None:
    """Of 120 quanta: across the run time, as in Section 4, or in the first 70 %."""
    for window, last in ((1.0, 120), (0.7, 84)):
        problem = paper(window=window)
        latest = [
            hits(problem, "Sub_RR", np.random.default_rng(seed), 20)[-1][0]
            for seed in range(50)
        ]
        assert last - 5 < max(latest) < last


def test_sets_of_quanta_pair_messages_with_the_progress_of_the_others() -> None:
    """Section 5.2: each processor is absent for one of 17 quanta, and nobody waits. In
    a disturbed quantum two others run beside a running one, three beside the absent.
    """
    app = Program(interval_quanta=16.0, messages_per_quantum=1e-9)
    problem = paper(app, work_quanta=16, perturbations=4, quantum_instructions=1000)
    found = laboratory.record(problem, app, "Sub_RR")
    sets = found.pairs("gang"), found.pairs("running"), found.pairs("nonrunning")
    assert [len(pairs) for pairs in sets] == [4 * 13, 4 * 3, 4]
    assert [set(pairs[:, 1].tolist()) for pairs in sets] == [{3000}, {2000}, {3000}]


@pytest.mark.slow
def test_case_slopes() -> None:
    case = json.loads(
        shared_path("cases", "flexgang", "04_perturb_slopes.json").read_text()
    )
    apps = {
        "Emp": Emp(),
        "Barrier": Barrier(),
        "Msg_a2a": Msg(),
        "Workpile_0.5": Workpile(unit_quanta=0.5),
        "Workpile_24": Workpile(unit_quanta=24.0),
    }
    assert set(apps) == set(case["expected"])
    for name, slopes in case["expected"].items():
        found = Laboratory(paper(apps[name])).slopes(apps[name]).slopes
        for environment, wanted in slopes.items():
            key = f"{environment[:3].capitalize()}_{environment[3:]}"
            assert found[key] == pytest.approx(wanted["value"], abs=wanted["tol"]), (
                name,
                key,
            )


def test_a_program_pays_for_what_was_buffered_and_waits_if_it_blocks() -> None:
    """Two quanta of work each; 0 is away in quantum 1, in which 1 sends
    it a message at 1.5.

    0 works in quantum 0, then from 2 on, and has 250 instructions more to do: 3.25. A
    blocked sender loses what is left of quantum 1.
    """
    runs, ends = np.array([[1, 1], [0, 1], [1, 1]]), np.array([[2000, 2000]])
    sends, targets = np.array([[2001, 2001], [1500, 2001]]), np.array([[1, 1], [0, 0]])
    for blocking, cost, wall, done in (
        (0, 250, 3250, 1000),
        (0, 0, 3000, 1000),
        (1, 250, 3250, 500),
    ):
        none = np.zeros(runs.shape, np.int64)
        table = table_of(Plain(), runs, 1000, none, none)
        program = program_of(Plain(), ends, sends, targets, bool(blocking), cost)
        assert kernel.run_program(table, program) == wall
        assert table.progress == [1000, 1000, 0, done, 1000, 500 * blocking]
        # The other's arrival at the end comes too.
        assert [sum(table.received[p::2]) for p in (0, 1)] == [2, blocking]


def test_load_imbalance_tolerates_what_the_bottleneck_is_spared() -> None:
    """Intervals of 4 quanta, of which process 1 works half: it can lose 2 of
    them, process 0 none.
    """
    app = Program(interval_quanta=4.0, loads=((1.0, 0.5),), messages_per_quantum=1e-9)
    assert time_of(app, "Sub_FX", (0, 1), (1, 1)) == pytest.approx(4.0)
    assert time_of(app, "Sub_FX", (0, 1), (1, 1), (2, 1)) == pytest.approx(5.0)
    assert time_of(app, "Sub_FX", (0, 0)) == pytest.approx(5.0)
    assert time_of(app, "Add_FX", (0, 0)) == pytest.approx(3.0)
    assert time_of(app, "Add_FX", (0, 1)) == pytest.approx(4.0)


@pytest.mark.slow
def test_gammas_by_type_and_blocking_in_between() -> None:
    """Blocking at rate lambda: the others of a disturbed quantum progress phi = (1
    - e^-x)/x, x = lambda/3, so gamma_sub is near 1 - phi; the slowest of four
    makes it somewhat more."""
    emp, pile = Emp(), Workpile()
    assert Laboratory(paper(emp, runs=3)).slopes(emp).gamma_sub == pytest.approx(
        0.0, abs=0.02
    )
    assert Laboratory(paper(pile, runs=3)).slopes(pile).gamma_add == pytest.approx(
        0.0, abs=0.02
    )
    last = 0.0
    for rate in (1.0, 3.0, 12.0, 28.0):
        app, x = Blocking(requests_per_quantum=rate), rate / 3
        gamma = Laboratory(paper(app)).slopes(app).gamma_sub
        expected = 1 - (1 - math.exp(-x)) / x
        assert gamma is not None
        assert expected - 0.02 < gamma < expected + 0.15
        assert gamma > last
        last = gamma


@pytest.mark.parametrize(
    "app",
    [
        *(
            Emp(),
            Barrier(interval_quanta=0.3),
            Workpile(),
            Msg(requests_per_phase=3),
            Blocking(),
        ),
        Program(loads=((1.0, 0.5, 0.7, 0.2), (0.3, 1.0, 1.0, 0.9)), active_share=0.5),
    ],
)
def test_compiled_and_plain_are_twins(app: Application) -> None:
    problem = paper(app, work_quanta=30, perturbations=8, runs=2)
    for environment in ENVIRONMENTS:
        plain, fast = (
            [
                Laboratory(problem, 1, make).times(app, environment, 8, k)
                for k in range(2)
            ]
            for make in both_makers()
        )
        assert plain == fast
        assert all(t_gang >= 30 for _, t_gang in plain)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"processors": 1}, "processors"),  # nobody would be left
        ({"fixed_processor": 4}, "fixed_processor 4: processors are 0 to 3"),
        (
            {"perturbations": 36},
            "9 batches of 10 quanta do not fit into the first 84 quanta",
        ),
        ({"applications": []}, "applications"),
        ({"applications": [{"kind": "emp"}, {"kind": "emp"}]}, "already the id of"),
        (
            {"applications": [{"kind": "barrier", "interval_quanta": 0.0}]},
            "interval_quanta",
        ),
        ({"environments": ["Sub"]}, "environments"),
        (
            {"applications": [{"kind": "program", "loads": [[1.0, 0.5]]}]},
            "loads: in each row a share",
        ),
        ({"quanta": 1}, "quanta: unknown key"),
    ],
)
def test_bad_instances_name_the_place(change: dict[str, Any], message: str) -> None:
    good = {
        "format": "ioopt/perturbation",
        "version": 1,
        "applications": [{"kind": "emp"}],
    }
    ioopt.load(good)
    with pytest.raises(InstanceError, match=message):
        ioopt.load({**good, **change})


def small() -> PerturbationProblem:
    apps = (Emp(), Workpile(unit_quanta=2.0))
    return paper(*apps, work_quanta=30, perturbations=4, runs=2)


def test_the_same_seed_repeats() -> None:
    found = laboratory.measure(small(), seed=3).found
    assert found == laboratory.measure(small(), seed=3).found
    emp = found.applications[0]
    assert emp.gamma_sub == pytest.approx(0.0)
    assert [count for count, _ in emp.curves["Sub_FX"]] == [0, 1, 2, 3, 4]
    assert emp.curves["Sub_FX"][-1][1] == pytest.approx(4 * emp.slopes["Sub_FX"])
    bare = laboratory.measure(small(), laboratory.Settings(points=0)).found
    assert bare.applications[0].curves == {}


def test_without_time_the_slopes_rest_on_one_run() -> None:
    late = laboratory.measure(small(), seed=3, deadline=Deadline(1e-9))
    assert "runs (to 1 at least)" in late.notes[0]
    assert "plots of 0 of 2" in late.notes[1]
    for app, item in zip(small().applications, late.found.applications):
        time, alone = Laboratory(small(), 3).times(
            app, "Sub_RR", small().perturbations, 0
        )
        assert item.slopes["Sub_RR"] == pytest.approx(
            (time - alone) / small().perturbations
        )
        assert item.curves == {}


def test_every_environment_gets_as_many_runs_as_the_deadline_allows() -> None:
    """Asked before the second and the third run, the deadline
    lets two of them happen.
    """
    app = Blocking(requests_per_quantum=3)
    problem = paper(app, work_quanta=40, perturbations=4, runs=4)
    runs = Laboratory(problem, 3)
    cut = runs.slopes(app, deadline_of_checks(2))
    assert cut.slopes != runs.slopes(app).slopes
    for environment, slope in cut.slopes.items():
        times = [
            runs.times(app, environment, problem.perturbations, k) for k in range(2)
        ]
        gained = [time - alone for time, alone in times]
        assert slope == pytest.approx(sum(gained) / 2 / problem.perturbations)


def test_presets() -> None:
    assert len(generate(None, {}, 0).applications) == 10
    assert generate("table-2", {}, 0).runs == 20
    assert [generate(name, {}, 0).window for name in (None, "table-2")] == [0.7, 1.0]
    rates = generate("blocking", {}, 0).applications
    assert [app.id for app in rates] == [f"Blocking-{rate}" for rate in (1, 3, 12, 28)]
    assert [app.kind for app in generate("figure-5", {}, 0).applications] == [
        "barrier",
        "emp",
        "workpile",
    ]
    with pytest.raises(UsageError, match="do not fit"):
        generate("table-1", {"perturbations": "80"}, 0)
    with pytest.raises(UsageError, match="no preset"):
        generate("table-9", {}, 0)


def test_characteristic_plot() -> None:
    first = plot_perturbation(laboratory.measure(small()).found, "two")
    labels = [text.get_text() for text in first.figure.legends[0].get_texts()]
    assert labels == [*ENVIRONMENTS, "slopes 1, 1/4, 0, -1/4"]
    panels = [axes for axes in first.figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["Emp", "Workpile"]
