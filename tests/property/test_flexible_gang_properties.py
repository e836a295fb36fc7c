"""Properties of flexible gang plans, their simulator, quantum selection and
surface, the laboratory.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.checks.flexgang.flexible_gang import check
from ioopt.measure.io_server import Windows, serve
from ioopt.measure.laboratory import batch_starts, hits
from ioopt.measure.quantum_chain import surface
from ioopt.models.flexgang.assignment import AssignmentModel
from ioopt.models.flexgang.frame import PatternData
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    IoBehaviour,
)
from ioopt.problems.flexgang.perturbation import Emp, PerturbationProblem
from ioopt.problems.flexgang.quantum_selection import (
    QuantumSelectionProblem,
    slot_sequence,
)
from ioopt.sim.flexgang.flexible_gang import measure
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.flexgang.greedy import greedy_plans

MS = 1_000_000


@st.composite
def problems(draw: Any) -> FlexibleGangProblem:
    """Machines of 8 processors in 4 columns with two to six jobs."""
    jobs = []
    for at in range(draw(st.integers(2, 6))):
        size = draw(st.sampled_from([2, 4, 8]))
        if draw(st.booleans()):
            job = {
                "id": f"j{at}",
                "kind": "io",
                "processes": size,
                "coordinated": draw(st.booleans()),
            }
        else:
            job = {
                "id": f"j{at}",
                "kind": "compute",
                "processes": size,
                "gamma": draw(st.sampled_from([0.0, 0.3, 0.6, 1.0])),
                "self_balancing": draw(st.booleans()),
            }
        jobs.append(job)
    machine = {"processors": 8, "columns": 4, "quantum_seconds": 0.01}
    lam = draw(st.sampled_from([0.0, 0.1, 1.0]))
    document = {"name": "drawn", "machine": machine, "lambda": lam, "jobs": jobs}
    return FlexibleGangProblem.model_validate(document)


@settings(max_examples=3, deadline=None)
@given(problem=problems())
def test_heuristic_plans_are_sound_and_points_of_the_model(
    problem: FlexibleGangProblem,
) -> None:
    results = [ioopt.solve(problem, name) for name in ("strict", "strict-fill")]
    assert all(result.plan is not None for result in results)
    plans = [FlexibleGangPlan.model_validate(result.plan) for result in results]
    plans += [plan for _, plan in greedy_plans(problem)]
    for plan in plans:
        assert ioopt.check(problem, plan) == []
        pattern = problem.pattern(plan.k, plan.d)
        assert pattern is not None
        data = PatternData.of(problem, pattern)
        assert data is not None
        model = AssignmentModel(data)
        values = model.start_values(plan)
        assert model.program.broken(values, 1e-6) == []
        assert model.program.value(values) == pytest.approx(
            _objective(problem, plan), abs=1e-6
        )
    assert results[1].objective >= results[0].objective - 1e-9


@settings(max_examples=12, deadline=None)
@given(problem=problems())
def test_optimum_bounds_the_greedy_and_more_weight_on_io_never_helps(
    problem: FlexibleGangProblem,
) -> None:
    found = list(greedy_plans(problem))
    assume(found)
    data, plan = found[-1]
    values = {}
    for lam in (problem.lambda_, problem.lambda_ + 0.5):
        weighted = problem.model_copy(update={"lambda_": lam})
        model = AssignmentModel(
            PatternData(weighted, data.pattern, data.loose, data.strict)
        )
        answer = solve_program(model.program, "HiGHS", BackendLimits(seconds=30))
        assert answer.found
        values[lam] = answer.objective
    greedy = _objective(problem, plan)
    assert values[problem.lambda_] >= greedy - 1e-6
    assert values[problem.lambda_ + 0.5] <= values[problem.lambda_] + 1e-6


def _objective(problem: FlexibleGangProblem, plan: FlexibleGangPlan) -> float:
    return check(problem, plan).objectives["weighted_progress"]


@settings(max_examples=25, deadline=None)
@given(problem=problems(), seed=st.integers(0, 1000))
def test_simulated_time_is_conserved(problem: FlexibleGangProblem, seed: int) -> None:
    for _, plan in greedy_plans(problem):
        run = measure(problem, plan, seed, 2.0)
        assert 0.0 < run.cpu_utilisation <= 1.0 + 1e-9
        assert run.useful_utilisation <= run.cpu_utilisation + 0.05
        assert all(0.0 <= value <= 1.0 + 1e-9 for value in run.progress.values())
        assert all(value > 0.9 for value in run.slowdown.values())


@settings(max_examples=60, deadline=None)
@given(
    bursts=st.lists(
        st.lists(st.integers(1, 9), min_size=6, max_size=6), min_size=1, max_size=3
    ),
    cuts=st.lists(st.integers(1, 20), min_size=2, max_size=6),
    io=st.integers(1, 15),
)
def test_server_keeps_windows_order_and_work(
    bursts: list[list[int]], cuts: list[int], io: int
) -> None:
    # Windows and gaps of whole milliseconds in turn.
    edges = np.cumsum([0, *cuts])
    windows = [
        (edges[n] / 1000, (edges[n + 1] - edges[n]) / 1000)
        for n in range(0, len(cuts), 2)
    ]
    cycle = Windows.of(edges[-1] / 1000, windows)
    jobs = [IoBehaviour(io_seconds=io / 1000) for _ in bursts]
    table = np.array(bursts, dtype=np.int64) * MS
    served = serve(cycle, jobs, table, 10**12)
    assert len(served.ready) >= 6  # some process ran out of bursts
    assert (np.diff(served.ready) >= 0).all()
    assert (served.begin[1:] >= (served.begin + served.burst)[:-1]).all()
    for at, burst, finish in zip(served.ready, served.burst, served.finish):
        assert finish >= at + burst
        phase = (finish - 1) % cycle.cycle
        assert any(s <= phase < s + n for s, n in zip(cycle.starts, cycle.lengths))


@settings(max_examples=40, deadline=None)
@given(
    quanta=st.lists(
        st.sampled_from([0.0025, 0.005, 0.01, 0.02]),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    visits=st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=3, unique=True),
    jobs=st.integers(1, 4),
    data=st.data(),
)
def test_slots_fill_the_cycle(
    quanta: list[float], visits: list[int], jobs: int, data: st.DataObject
) -> None:
    problem = QuantumSelectionProblem.model_validate(
        {
            "name": "drawn",
            "quanta_seconds": quanta,
            "visits": visits,
            "jobs": [{"id": f"j{at}", "kind": "io"} for at in range(jobs)],
        }
    )
    from ioopt.models.flexgang.quantum import QuantumCosts

    options = [data.draw(st.sampled_from(problem.options(at))) for at in range(jobs)]
    plan = QuantumCosts(problem).plan(options)
    slots = slot_sequence(problem, plan)
    assert len(slots) == sum(f for _, f in options)
    clock = 0.0
    for _, start, length in slots:
        assert start == pytest.approx(clock)
        clock = start + length
    assert clock == pytest.approx(plan.cycle_seconds)


quanta = st.floats(0.001, 0.1).map(lambda x: round(x, 5))
shapes = st.integers(1, 12)
donations = st.sampled_from(["return", "irrevocable"])


@settings(max_examples=60, deadline=None)
@given(on=quanta, off=quanta, burst=quanta, io=quanta, shape=shapes, donation=donations)
def test_surface_is_sound_everywhere(
    on: float, off: float, burst: float, io: float, shape: int, donation: Any
) -> None:
    found = surface(on, off, burst, io, shape=shape, donation=donation, processors=8)
    cycle = on + off
    bound = max(1.0, burst / (burst + io) * cycle / on)
    assert found.slowdown >= bound * (1 - 0.002)
    assert found.slowdown <= (burst + io + math.ceil(burst / on + 1) * cycle) / (
        burst + io
    )
    assert -1e-9 <= found.fragmentation <= on / cycle + 1e-9
    assert off / cycle - 1e-9 <= found.useful <= 1
    assert found.beta + found.useful + found.fragmentation == pytest.approx(
        1.0, abs=0.005
    )
    assert found.response_seconds == pytest.approx(found.slowdown * (burst + io) - io)


@settings(max_examples=12, deadline=None)
@given(on=quanta, off=quanta, factor=st.sampled_from([0.5, 4.0, 100.0]))
def test_only_ratios_of_times_matter_and_more_processors_fragment_more(
    on: float, off: float, factor: float
) -> None:
    small = surface(on, off)
    large = surface(on * factor, off * factor, 0.005 * factor, 0.020 * factor)
    assert large.slowdown == pytest.approx(small.slowdown, rel=1e-6)
    assert large.fragmentation == pytest.approx(small.fragmentation, abs=1e-6)
    assert surface(on, off, processors=2).fragmentation <= small.fragmentation + 1e-12


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    batch=st.integers(1, 5),
    spacing=st.integers(1, 4),
    data=st.data(),
)
def test_batches_never_overlap(seed: int, batch: int, spacing: int, data: Any) -> None:
    base = {
        "applications": (Emp(),),
        "batch": batch,
        "spacing_quanta": spacing,
        "work_quanta": 60,
    }
    room = 42 // ((batch - 1) * spacing + 1)
    count = data.draw(st.integers(1, room * batch))
    problem = PerturbationProblem(**base, perturbations=count)
    starts = batch_starts(problem, np.random.default_rng(seed), problem.num_batches)
    assert len(starts) == problem.num_batches
    assert starts[0] >= 0
    assert starts[-1] + problem.reserved_quanta <= 42
    assert all(b - a >= problem.reserved_quanta for a, b in pairwise(starts))
    quanta = [
        quantum
        for quantum, _ in hits(problem, "Add_RR", np.random.default_rng(seed), count)
    ]
    assert len(set(quanta)) == count
