"""Backends: equal optima, honest statuses when stopped early, bounds, starts, one process for all."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pulp
import pytest

from ioopt.errors import BackendFailureError, UsageError
from ioopt.result import Status, StopReason
from ioopt.solvers.backends import highs_child, pulp_commands, pulp_program
from ioopt.solvers.backends.answer import BackendLimits, run_interruptibly
from ioopt.solvers.backends.cpsat_program import load_cp_model, solve_cpsat
from ioopt.solvers.backends.pulp_program import solve_pulp

PULP = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name not in pulp_program.available(), reason=f"{name} is not installed here"
        ),
    )
    for name in pulp_program.BACKENDS
]
QUIET = BackendLimits(seconds=30)


def knapsack(count: int, rows: int, seed: int, sense: int = pulp.LpMinimize) -> pulp.LpProblem:
    """A multi-row covering (min) or packing (max) problem; 30 x 5 takes thousands of nodes."""
    rng = random.Random(seed)
    lp = pulp.LpProblem("knapsack", sense)
    x = [pulp.LpVariable(f"x_{k}", cat="Binary") for k in range(count)]
    lp += pulp.lpSum(rng.randint(20, 60) * v for v in x) + 7, "cost"
    for row in range(rows):
        sizes = [rng.randint(10, 90) for _ in x]
        total = pulp.lpSum(size * v for size, v in zip(sizes, x, strict=True))
        half = sum(sizes) / 2
        lp += (total >= half if sense == pulp.LpMinimize else total <= half), f"row_{row}"
    return lp


@pytest.mark.parametrize("backend", PULP)
@pytest.mark.parametrize("sense", [pulp.LpMinimize, pulp.LpMaximize])
def test_all_prove_the_same_optimum(backend: str, sense: int) -> None:
    lp = knapsack(12, 3, 1, sense)
    best = None
    for mask in range(1 << 12):
        values = {f"x_{k}": float(mask >> k & 1) for k in range(12)}
        if pulp_program.violation(lp, values) == 0:
            cost = sum(f * values[v.name] for v, f in lp.objective.items()) + 7
            best = cost if best is None else min(best * sense, cost * sense) * sense
    answer = solve_pulp(lp, backend, QUIET)
    assert (answer.status, answer.stop) == (Status.OPTIMAL, StopReason.FINISHED)
    assert answer.objective == pytest.approx(best, abs=1e-6)
    assert answer.bound == answer.objective
    assert answer.seconds > 0 and answer.version


@pytest.mark.parametrize("backend", PULP)
def test_infeasible(backend: str) -> None:
    lp = knapsack(6, 2, 1)
    lp += pulp.lpSum(lp.variables()) <= 0
    answer = solve_pulp(lp, backend, QUIET)
    assert (answer.status, answer.found, answer.values) == (Status.INFEASIBLE, False, {})


@pytest.mark.parametrize("backend", PULP)
def test_linear_programs(backend: str) -> None:
    lp = pulp.LpProblem("line", pulp.LpMaximize)
    x, y = pulp.LpVariable("x", 0, 4), pulp.LpVariable("y", 0)
    lp += x + 2 * y
    lp += x + y <= 5
    answer = solve_pulp(lp, backend, QUIET)
    assert (answer.status, answer.objective) == (Status.OPTIMAL, 10.0)
    assert answer.values == {"x": 0.0, "y": 5.0}


@pytest.fixture
def one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS and CBC stop at the first node of branch and bound."""
    highs, cbc = pulp_program._highs_options, pulp_commands._cbc_options
    monkeypatch.setattr(
        pulp_program, "_highs_options", lambda given: highs(given) | {"mip_max_nodes": 1}
    )
    monkeypatch.setattr(
        pulp_commands, "_cbc_options", lambda given: [*cbc(given), "-maxNodes", "1"]
    )


@pytest.mark.parametrize("backend", ["HiGHS", "CBC"])
def test_stopped_early_is_feasible_not_optimal(backend: str, one_node: None) -> None:
    lp = knapsack(60, 5, 2)
    answer = solve_pulp(lp, backend, QUIET)
    assert (answer.status, answer.stop) == (Status.FEASIBLE, StopReason.ITERATIONS)
    assert pulp_program.violation(lp, answer.values) < 1e-6
    assert answer.bound is not None and answer.bound < answer.objective
    # The constant of the objective, which no solver sees, is part of the bound too.
    lp.objective.constant += 1000
    moved = solve_pulp(lp, backend, QUIET)
    assert moved.bound == pytest.approx(answer.bound + 1000)


def test_highs_stopped_before_any_solution_is_unknown() -> None:
    lp = knapsack(60, 5, 2)
    for row in range(5):
        lp += pulp.lpSum((k * row + 3) % 7 * v for k, v in enumerate(lp.variables())) == 89 + row
    answer = solve_pulp(lp, "HiGHS", BackendLimits(seconds=1e-6))
    assert (answer.status, answer.stop, answer.found) == (Status.UNKNOWN, StopReason.TIME, False)


def test_cbc_killed_at_its_limit_is_unknown() -> None:
    answer = solve_pulp(knapsack(60, 5, 2), "CBC", BackendLimits(seconds=1e-3))
    assert answer.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert answer.stop is StopReason.TIME


@pytest.mark.slow  # by the clock: GLPK has a limit in seconds only
@pytest.mark.skipif(shutil.which("glpsol") is None, reason="GLPK is not installed here")
def test_glpk_stopped_early_is_not_optimal() -> None:
    answer = solve_pulp(knapsack(90, 30, 2), "GLPK", BackendLimits(seconds=1))
    assert answer.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert (answer.stop, answer.bound) == (StopReason.TIME, None)


@pytest.mark.parametrize("backend", ["HiGHS", "CBC", "SCIP"])
def test_gap_is_no_proof(backend: str) -> None:
    answer = solve_pulp(knapsack(60, 5, 2), backend, BackendLimits(seconds=3600, gap=0.2))
    assert (answer.status, answer.stop) == (Status.FEASIBLE, StopReason.GAP)
    assert answer.bound < answer.objective <= answer.bound / 0.8 + 1e-6


@pytest.mark.parametrize("backend", ["HiGHS", "CBC"])
def test_start_is_used(backend: str, request: pytest.FixtureRequest) -> None:
    lp = knapsack(60, 5, 2)
    best = solve_pulp(lp, "HiGHS", BackendLimits(seconds=30, gap=0.03))
    request.getfixturevalue("one_node")
    begun = solve_pulp(lp, backend, QUIET, best.values)
    assert begun.objective <= best.objective + 1e-6


@pytest.mark.parametrize(
    "sense", [pulp.LpMaximize, pytest.param(pulp.LpMinimize, marks=pytest.mark.slow)]
)
def test_highs_apart_answers_alike(
    sense: int, monkeypatch: pytest.MonkeyPatch, one_node: None, tmp_path: Path
) -> None:
    lp, hard = knapsack(12, 3, 1, sense), knapsack(60, 5, 2)
    here = solve_pulp(lp, "HiGHS", QUIET)
    some = solve_pulp(hard, "HiGHS", QUIET)
    monkeypatch.setattr(pulp_program, "APART_TERMS", 0)
    log = tmp_path / "log"
    apart = solve_pulp(lp, "HiGHS", BackendLimits(seconds=30, log=str(log)), here.values)
    assert (apart.status, apart.objective, apart.version) == (
        Status.OPTIMAL, pytest.approx(here.objective), here.version,
    )  # fmt: skip
    assert "HiGHS" in log.read_text()
    early = solve_pulp(hard, "HiGHS", QUIET)
    assert (early.status, early.stop) == (Status.FEASIBLE, StopReason.ITERATIONS)
    assert early.bound == pytest.approx(some.bound) and early.bound < early.objective


def test_highs_apart_reads_the_whole_model_whatever_the_limit(tmp_path: Path) -> None:
    """A limit that passes while the file is read left an empty model, which HiGHS calls optimal."""
    model, job, answer = (str(tmp_path / name) for name in ("m.mps", "job.json", "answer.json"))
    knapsack(60, 5, 2).writeMPS(model)
    options = {"time_limit": 1e-9, "output_flag": False}
    Path(job).write_text(json.dumps({"options": options, "maximize": False, "start": None}))
    highs_child.main(model, job, answer)
    assert json.loads(Path(answer).read_text())["status"] == "kTimeLimit"


def test_log_is_written(tmp_path: Path) -> None:
    for backend, word in (("HiGHS", "HiGHS"), ("CBC", "Cbc")):
        log = tmp_path / backend
        solve_pulp(knapsack(6, 2, 1), backend, BackendLimits(seconds=9, log=str(log)))
        assert word in log.read_text()
    cp_model = load_cp_model()
    model = cp_model.CpModel()
    model.minimize(model.new_int_var(3, 9, "x"))
    log = tmp_path / "cpsat"
    solve_cpsat(model, BackendLimits(log=str(log)))
    assert "CpSolverResponse" in log.read_text()


def test_unknown_statuses_raise() -> None:
    with pytest.raises(BackendFailureError, match="kUnknown"):
        pulp_program.highs_status("kUnknown")
    with pytest.raises(BackendFailureError, match="Bored"):
        pulp_commands.cbc_status("Bored - objective value 1")
    with pytest.raises(BackendFailureError, match="difficulties"):
        pulp_commands.cbc_status("Stopped on difficulties - objective value 1")
    with pytest.raises(BackendFailureError, match="WEIRD"):
        pulp_commands.glpk_status("Status:     WEIRD\n")
    with pytest.raises(UsageError, match="no backend 'LINDO'"):
        solve_pulp(knapsack(3, 1, 1), "LINDO", QUIET)


def test_scip_stopped_at_once_is_not_optimal() -> None:
    answer = solve_pulp(knapsack(90, 30, 2), "SCIP", BackendLimits(seconds=0.01))
    assert answer.stop is StopReason.TIME and answer.status is not Status.OPTIMAL


@pytest.mark.slow  # by the clock: whether a first solution comes within the limit
def test_scip_stopped_early_is_not_optimal() -> None:
    answer = solve_pulp(knapsack(90, 30, 2), "SCIP", BackendLimits(seconds=1))
    assert (answer.status, answer.stop) == (Status.FEASIBLE, StopReason.TIME)
    assert answer.bound < answer.objective


def _cp_knapsack(count: int, rows: int = 5):
    cp_model = load_cp_model()
    model, rng = cp_model.CpModel(), random.Random(3)
    x = [model.new_bool_var(f"x{k}") for k in range(count)]
    for _ in range(rows):
        sizes = [rng.randint(10, 90) for _ in x]
        model.add(sum(s * v for s, v in zip(sizes, x, strict=True)) >= sum(sizes) // 2)
    model.minimize(sum(rng.randint(20, 60) * v for v in x))
    return model, x


def test_cpsat_statuses() -> None:
    model, x = _cp_knapsack(90, 20)
    seen: list[float] = []
    first = solve_cpsat(
        model, BackendLimits(), parameters={"stop_after_first_solution": True},
        on_solution=lambda s: seen.append(s.objective_value),
    )  # fmt: skip
    assert (first.status, first.stop) == (Status.FEASIBLE, StopReason.ITERATIONS)
    assert seen == [first.objective] and first.bound < first.objective
    assert sum(first.values[v.index] for v in x) > 0
    work = solve_cpsat(model, BackendLimits(work=0.05))
    assert (work.status, work.stop) == (Status.FEASIBLE, StopReason.ITERATIONS)
    again = solve_cpsat(model, BackendLimits(work=0.05))
    assert (again.values, again.bound) == (work.values, work.bound)
    near = solve_cpsat(model, BackendLimits(gap=0.3))
    assert (near.status, near.stop) == (Status.FEASIBLE, StopReason.GAP)
    small, _ = _cp_knapsack(10)
    assert solve_cpsat(small, QUIET).status is Status.OPTIMAL
    small.add_bool_or([])
    infeasible = solve_cpsat(small, QUIET)
    assert (infeasible.status, infeasible.bound) == (Status.INFEASIBLE, None)
    broken = load_cp_model().CpModel()
    broken.new_int_var(5, 3, "x")
    with pytest.raises(BackendFailureError, match="MODEL_INVALID"):
        solve_cpsat(broken, QUIET)


def test_a_bound_that_the_search_never_earned_is_none() -> None:
    """CP-SAT leaves 0 when it ends in presolve, but taking any one thing is worth -20 or less."""
    model, x = _cp_knapsack(2000, 200)
    model.add(sum(x) <= 1900)
    model.minimize(-sum((20 + k % 40) * v for k, v in enumerate(x)))
    answer = solve_cpsat(model, BackendLimits(seconds=0.001))
    assert answer.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert answer.bound is None or answer.bound <= -20


def test_interrupt_stops_the_work_first() -> None:
    import _thread
    import threading

    stopped = threading.Event()

    def work() -> bool:
        _thread.interrupt_main()
        return stopped.wait(60)

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work, stopped.set)
    assert stopped.is_set()
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0, stopped.set)


_ORDER = """
import sys
sys.path[:0] = sys.argv[1:2]
from test_backends import _cp_knapsack, knapsack, QUIET
from ioopt.solvers.backends.cpsat_program import solve_cpsat
from ioopt.solvers.backends.pulp_program import solve_pulp
runs = {
    "cpsat": lambda: solve_cpsat(_cp_knapsack(12)[0], QUIET).status,
    "highs": lambda: solve_pulp(knapsack(12, 3, 1), "HiGHS", QUIET).status,
    "cbc": lambda: solve_pulp(knapsack(12, 3, 1), "CBC", QUIET).status,
    "scip": lambda: solve_pulp(knapsack(12, 3, 1), "SCIP", QUIET).status,
}
print(*(runs[name]() for name in sys.argv[2:]))
"""


@pytest.mark.parametrize(
    "order", ["highs scip cpsat cbc", pytest.param("cpsat highs scip", marks=pytest.mark.slow)]
)
def test_one_process_holds_them_all(order: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ORDER, str(Path(__file__).parent), *order.split()],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3], timeout=120,
    )  # fmt: skip
    assert done.stdout.split() == ["optimal"] * len(order.split())
