"""The I/O server and the timeline simulator: hand-made runs, the chain,
conservation, twins.
"""

import json

import numpy as np
import pytest
from conftest import both_makers, deadline_of_checks, shared_path

import ioopt
from ioopt.generate.flexgang.flexible_gang import generate
from ioopt.measure.io_server import (
    NANOSECONDS,
    Served,
    Windows,
    draw_bursts,
    num_bursts,
    serve,
)
from ioopt.measure.quantum_chain import Surface
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    IoBehaviour,
)
from ioopt.sim.flexgang.flexible_gang import measure, simulate
from ioopt.solvers.flexgang.strict import try_strict

MS = 1_000_000
PAPER = IoBehaviour()


def test_worked_case_of_one_process() -> None:
    case = json.loads(
        shared_path("cases", "flexgang", "01_rr_deterministic.json").read_text()
    )
    for point in case["expected"]:
        qi, qc = point["qi"] / 1000, point["qc"] / 1000
        windows = Windows.of(qi + qc, [(0.0, qi)])
        bursts = np.full((1, 6000), 5 * MS)
        served = serve(windows, [PAPER], bursts, 60 * NANOSECONDS)
        slowdown = mean_slowdown(served, PAPER, NANOSECONDS)
        assert slowdown == pytest.approx(
            point["slowdown"]["value"], abs=point["slowdown"]["tol"]
        )


def test_two_processes_are_served_in_turn() -> None:
    # Cycle 10 ms, windows [0, 2) and [5, 8); bursts of 3 ms, I/O of 4 ms. Process
    # 0 runs 0-2, 5-6; process 1, ready at 0 as well, runs 6-8 and 10-11. Process 0
    # is ready at 10 and waits for it: 11-12, 15-17. Process 1, ready at 15,
    # follows at 17-18 and 20-22.
    windows = Windows.of(0.010, [(0.0, 0.002), (0.005, 0.003)])
    io = IoBehaviour(io_seconds=0.004)
    bursts = np.full((2, 10), 3 * MS)
    served = serve(windows, [io, io], bursts, 16 * MS)
    assert served.process.tolist() == [0, 1, 0, 1]
    assert (served.ready // MS).tolist() == [0, 0, 10, 15]
    assert (served.finish // MS).tolist() == [6, 11, 17, 22]


def mean_slowdown(served: Served, io: IoBehaviour, warm: int) -> float:
    """The slowdown of process 0 after *warm* nanoseconds."""
    mine = (served.process == 0) & (served.ready >= warm)
    response = float((served.finish[mine] - served.ready[mine]).mean()) / NANOSECONDS
    return (response + io.io_seconds) / io.dedicated_seconds


def test_windows_that_touch_are_one() -> None:
    windows = Windows.of(0.010, [(0.002, 0.003), (0.0, 0.002)])
    assert (windows.starts, windows.lengths) == ((0,), (5 * MS,))


def test_compiled_and_plain_serve_alike() -> None:
    horizon = 2 * NANOSECONDS
    jobs = [
        IoBehaviour(),
        IoBehaviour(burst_seconds=0.002, io_seconds=0.013),
        IoBehaviour(),
    ]
    count = num_bursts(jobs, horizon)
    bursts = np.stack([draw_bursts(job, 3, j, 0, count) for j, job in enumerate(jobs)])
    windows = Windows.of(0.07, [(0.0, 0.02), (0.035, 0.02)])
    first, second = (
        serve(windows, jobs, bursts, horizon, make) for make in both_makers()
    )
    assert len(first.ready) > 50
    for name, column in vars(first).items():
        assert column.tolist() == getattr(second, name).tolist(), name


@pytest.mark.parametrize(("on", "off"), [(0.01, 0.06), (0.0025, 0.0175), (0.03, 0.05)])
def test_one_process_agrees_with_the_chain(on: float, off: float) -> None:
    chain = Surface(32).at(PAPER, on, off)
    horizon = 200 * NANOSECONDS
    windows = Windows.of(on + off, [(0.0, on)])
    count = num_bursts([PAPER], horizon)
    runs = [
        serve(windows, [PAPER], draw_bursts(PAPER, 5, 0, p, count)[None], horizon)
        for p in range(8)
    ]
    slowdown = np.mean([mean_slowdown(run, PAPER, horizon // 10) for run in runs])
    assert slowdown == pytest.approx(chain.slowdown, rel=0.01)
    used = np.mean([run.burst.sum() / horizon for run in runs])
    assert used == pytest.approx(chain.beta, rel=0.01)


def test_jobs_with_different_io_are_simulated_to_the_end() -> None:
    # One process asks every 12 ms or so, the other every 42: the quick one
    # must not stop early.
    quick = IoBehaviour(burst_seconds=0.002, io_seconds=0.010)
    slow = IoBehaviour(burst_seconds=0.002, io_seconds=0.040)
    horizon = 20 * NANOSECONDS
    count = num_bursts([quick, slow], horizon)
    bursts = np.stack(
        [draw_bursts(io, 1, j, 0, count) for j, io in enumerate((quick, slow))]
    )
    served = serve(Windows.of(0.01, [(0.0, 0.01)]), [quick, slow], bursts, horizon)
    for process in (0, 1):
        assert (
            served.finish[served.process == process][-1] > horizon - NANOSECONDS // 10
        )
    prefix = draw_bursts(quick, 1, 0, 0, 50)
    assert prefix.tolist() == bursts[0][:50].tolist()


TINY = {
    "format": "ioopt/flexible-gang",
    "name": "tiny",
    "machine": {"processors": 4, "columns": 2, "quantum_seconds": 0.01, "rows": 4},
    "jobs": [
        {"id": "whole", "kind": "compute", "processes": 4, "gamma": 1.0},
        {"id": "half", "kind": "compute", "processes": 2, "gamma": 0.5},
        {
            "id": "even",
            "kind": "compute",
            "processes": 4,
            "gamma": 0.0,
            "self_balancing": True,
        },
    ],
}


def without_io(tau: dict[str, float], even: tuple[float, float]) -> FlexibleGangPlan:
    """All jobs at home in column 0, two rows for whole and one for half."""
    home, rows = (
        dict.fromkeys(("whole", "half", "even"), 0),
        {"whole": (0, 1), "half": (2,)},
    )
    return FlexibleGangPlan(
        k=0, d=1, home=home, rows=rows, tau_seconds=tau, column_seconds={"even": even}
    )


def test_plan_without_io_is_exact() -> None:
    # Frame 40 ms, no windows: whole has rows 0 and 1, half row 2; idle: row 2 of column
    # 1, row 3. Column 0 has 10 ms free, column 1 has 20 ms. half and even are promised
    # 6 and 4 ms there, even 20 ms in column 1. Progress: whole .5; half (10 + .5 * 6) /
    # 40 = .325; even (4 + 20) / 2 / 40.
    plan = without_io({"half": 0.006, "even": 0.012}, (0.004, 0.020))
    problem = ioopt.load(TINY)
    run = measure(problem, plan, seed=1, seconds=2.0)
    assert run.progress == pytest.approx({"whole": 0.5, "half": 0.325, "even": 0.3})
    assert run.cpu_utilisation == pytest.approx(1.0)
    assert run.objective == pytest.approx(0.5 + 0.5 * 0.325 + 0.3)
    assert ioopt.check(problem, plan) == []


def test_an_unfair_share_counts_the_least_process() -> None:
    # The same with even promised nothing in column 0, but not self-balancing: n
    # times the least, 0.
    document = json.loads(json.dumps(TINY))
    document["jobs"][2]["self_balancing"] = False
    plan = without_io({"half": 0.010}, (0.0, 0.020))
    run = measure(ioopt.load(document), plan, seed=1, seconds=2.0)
    assert run.progress["even"] == 0.0


def test_utilisation_of_strict_gang_scheduling_adds_up() -> None:
    problem = generate("heavy-mix", {}, 3)
    plan, _ = try_strict(problem, fill=False)
    assert plan is not None
    run = measure(problem, plan, seed=2, seconds=20.0)
    shares = (
        sum(job.processes for job in problem.jobs if not job.is_io)
        / 32
        / problem.num_rows
    )
    io = sum(
        job.processes
        / 32
        * job.burst_seconds
        / (run.slowdown[job.id] * job.dedicated_seconds)
        for job in problem.jobs
        if job.is_io
    )
    assert run.cpu_utilisation == pytest.approx(shares + io, rel=0.01)


@pytest.mark.slow
def test_model_and_simulation_agree_for_strict_plans() -> None:
    problem: FlexibleGangProblem = generate("heavy-mix", {}, 0)
    for name in ("strict", "strict-fill"):
        result = ioopt.solve(problem, name)
        simulated = simulate(problem, FlexibleGangPlan.model_validate(result.plan))
        assert simulated.metrics["simulated_objective"] == pytest.approx(
            result.objective, abs=0.004
        )
        assert simulated.metrics["floors_kept"]


@pytest.mark.slow
def test_frame_schedule_and_timeline() -> None:
    problem = generate("heavy-mix", {}, 2)
    result = ioopt.solve(problem, "greedy")
    schedule = result.schedule
    frame = problem.num_rows * 0.01
    covered = sum(w["end_seconds"] - w["start_seconds"] for w in schedule["windows"])
    assert covered == pytest.approx(result.plan["k"] * 0.01)
    starts = sorted({cell["start_seconds"] for cell in schedule["rows"]})
    for cell in schedule["rows"]:
        assert 0 <= cell["start_seconds"] < cell["end_seconds"] <= frame + 1e-9
        for window in schedule["windows"]:
            before = cell["end_seconds"] <= window["start_seconds"] + 1e-9
            assert before or cell["start_seconds"] >= window["end_seconds"] - 1e-9
    assert len(starts) <= problem.num_rows - result.plan["k"]
    timeline = ioopt.simulate(problem, result).timeline
    assert timeline.makespan == pytest.approx(frame)
    assert len(timeline.resources) == 8


def test_seeds_are_left_out_when_the_deadline_expires() -> None:
    problem = ioopt.load("flexgang-tiny")
    plan, _ = try_strict(problem, fill=True)
    assert plan is not None
    simulate(problem, plan, (1,), 2.0)  # the kernel is there
    two = simulate(problem, plan, (1, 2, 3), 2.0, deadline_of_checks(3))
    assert two.notes == ("simulated under 2 of 3 seeds before the time limit",)
    assert two.metrics == simulate(problem, plan, (1, 2), 2.0).metrics
    none = simulate(problem, plan, (1, 2, 3), 2.0, deadline_of_checks(1))
    assert none.metrics == {} and none.notes[0].startswith("not simulated")
    assert none.schedule == {k: v for k, v in two.schedule.items() if k != "measured"}
