"""Backends: equal optima, honest statuses when stopped early, bounds, starts,
one process for all.
"""

import _thread
import random
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from ortools.math_opt.python import mathopt

from ioopt.errors import BackendFailureError, UsageError
from ioopt.models.program import Program
from ioopt.result import Status, StopReason
from ioopt.solvers.backends import mathopt_program, pulp_program, solve
from ioopt.solvers.backends.answer import (
    BackendAnswer,
    BackendLimits,
    judged,
    run_interruptibly,
)
from ioopt.solvers.backends.cpsat_program import load_cp_model, solve_cpsat
from ioopt.solvers.backends.solve import solve_program

NAMES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name not in solve.available(), reason=f"{name} is not installed here"
        ),
    )
    for name in solve.BACKENDS
]
QUIET = BackendLimits(seconds=30)


def knapsack(count: int, rows: int, seed: int, maximise: bool = False) -> Program:
    """A multi-row covering (min) or packing (max) problem; 30 x 5
    takes thousands of nodes.
    """
    rng = random.Random(seed)
    program = Program("knapsack", maximise=maximise)
    x = [program.binary(f"x_{k}") for k in range(count)]
    program.objective = {at: rng.randint(20, 60) for at in x}
    for row in range(rows):
        sizes = [rng.randint(10, 90) for _ in x]
        half = sum(sizes) // 2
        limits = {"most": half} if maximise else {"least": half}
        program.add(f"row_{row}", list(zip(x, sizes, strict=True)), **limits)
    return program


@pytest.mark.parametrize("backend", NAMES)
@pytest.mark.parametrize("seed", [2**31 - 2, 2**31 - 1, 2**64 + 1])
def test_a_seed_may_have_more_than_31_bits(backend: str, seed: int) -> None:
    limits = replace(QUIET, seed=seed)
    answer = solve_program(knapsack(3, 1, 1), backend, limits)
    assert answer.status is Status.OPTIMAL


def test_cpsat_takes_seeds_of_more_than_31_bits() -> None:
    model = load_cp_model().CpModel()
    model.minimize(model.new_int_var(3, 9, "x"))
    for seed in (2**31 - 1, 2**31, 2**64 + 1):
        answer = solve_cpsat(model, replace(QUIET, seed=seed))
        assert answer.objective == 3


@pytest.mark.parametrize("backend", NAMES)
@pytest.mark.parametrize("maximise", [False, True])
def test_all_prove_the_same_optimum(backend: str, maximise: bool) -> None:
    program = knapsack(12, 3, 1, maximise)
    points = ([mask >> k & 1 for k in range(12)] for mask in range(1 << 12))
    costs = [program.value(point) for point in points if not program.broken(point)]
    answer = solve_program(program, backend, QUIET)
    assert (answer.status, answer.stop) == (Status.OPTIMAL, StopReason.FINISHED)
    assert answer.objective == pytest.approx(
        (max if maximise else min)(costs), abs=1e-6
    )
    assert answer.bound == answer.objective
    assert answer.seconds > 0 and answer.version


@pytest.mark.parametrize("backend", NAMES)
def test_infeasible(backend: str) -> None:
    program = knapsack(6, 2, 1)
    program.add("none", [(at, 1) for at in range(6)], most=0)
    answer = solve_program(program, backend, QUIET)
    assert (answer.status, answer.found, answer.values) == (
        Status.INFEASIBLE,
        False,
        {},
    )


@pytest.mark.parametrize("backend", NAMES)
def test_linear_programs(backend: str) -> None:
    program = Program("line", maximise=True)
    x, y = program.real("x", 0, 4), program.real("y", 0)
    program.objective = {x: 1, y: 2}
    program.add("both", [(x, 1), (y, 1)], most=5)
    answer = solve_program(program, backend, QUIET)
    assert (answer.status, answer.objective) == (Status.OPTIMAL, 10.0)
    assert answer.values == {x: 0.0, y: 5.0}


@pytest.fixture
def one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS and CBC stop at the first node of branch and bound."""
    ways, cbc = mathopt.SolveParameters, pulp_program._cbc_options
    monkeypatch.setattr(
        mathopt, "SolveParameters", lambda **given: ways(node_limit=1, **given)
    )
    monkeypatch.setattr(
        pulp_program, "_cbc_options", lambda given: [*cbc(given), "-maxNodes", "1"]
    )


@pytest.mark.parametrize("backend", ["HiGHS", "CBC"])
def test_stopped_early_is_feasible_not_optimal(backend: str, one_node: None) -> None:
    program = knapsack(60, 5, 2)
    answer = solve_program(program, backend, QUIET)
    assert (answer.status, answer.stop) == (Status.FEASIBLE, StopReason.ITERATIONS)
    assert program.broken(answer.values, 1e-6) == []
    assert answer.bound is not None and answer.bound < answer.objective


@pytest.mark.parametrize(
    ("backend", "program", "seconds"),
    [
        ("HiGHS", knapsack(60, 5, 2), 1e-6),
        ("CBC", knapsack(60, 5, 2), 1e-3),
        ("SCIP", knapsack(90, 30, 2), 0.01),
    ],
)
def test_stopped_at_once_is_not_optimal(
    backend: str, program: Program, seconds: float
) -> None:
    answer = solve_program(program, backend, BackendLimits(seconds=seconds))
    assert answer.stop is StopReason.TIME
    assert answer.status in (Status.UNKNOWN, Status.FEASIBLE)


@pytest.mark.parametrize("backend", ["HiGHS", "CBC", "SCIP"])
def test_gap_is_no_proof(backend: str) -> None:
    answer = solve_program(
        knapsack(60, 5, 2), backend, BackendLimits(seconds=3600, gap=0.2)
    )
    assert (answer.status, answer.stop) == (Status.FEASIBLE, StopReason.GAP)
    assert answer.bound < answer.objective <= answer.bound / 0.8 + 1e-6


@pytest.mark.parametrize("backend", ["HiGHS", "CBC", "SCIP"])
def test_start_is_used(backend: str, request: pytest.FixtureRequest) -> None:
    program = knapsack(60, 5, 2)
    best = solve_program(program, "HiGHS", BackendLimits(seconds=30, gap=0.03))
    request.getfixturevalue("one_node")
    begun = solve_program(program, backend, QUIET, best.values)
    assert begun.objective <= best.objective + 1e-6


@pytest.mark.parametrize(
    "maximise", [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_highs_apart_answers_alike(
    maximise: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program, log = knapsack(12, 3, 1, maximise), tmp_path / "log"
    here = solve_program(program, "HiGHS", QUIET)
    limits = BackendLimits(seconds=30, log=str(log))
    apart = judged(
        program, mathopt_program._apart(program, "HiGHS", limits, here.values)
    )
    assert (apart.status, apart.objective, apart.version) == (
        Status.OPTIMAL,
        pytest.approx(here.objective),
        here.version,
    )
    assert "HiGHS" in log.read_text()


def test_highs_apart_ends_on_time() -> None:
    """Its limit ends it, whether HiGHS looks at its clock or not."""
    answer = mathopt_program._apart(
        knapsack(120, 30, 1), "HiGHS", BackendLimits(seconds=0.01), {}
    )
    assert (answer.status, answer.stop) == (Status.UNKNOWN, StopReason.TIME)


@pytest.mark.parametrize(
    ("version", "apart"), [((1, 11), False), ((1, 12), False), ((1, 13), True)]
)
def test_highs_avoids_a_process_with_a_newer_one(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], apart: bool
) -> None:
    """PuLP loads highspy, whose HiGHS above 1.12 crashes that of OR-Tools."""
    loaded = ModuleType("highspy")
    monkeypatch.setitem(sys.modules, "highspy", loaded)
    assert mathopt_program.unfit_highs_loaded()  # a version that cannot be told
    for name, number in zip(("MAJOR", "MINOR"), version, strict=True):
        setattr(loaded, f"HIGHS_VERSION_{name}", number)
    asked: list[str] = []

    def alone(program: Program, solver: str, *_: object) -> BackendAnswer:
        asked.append(solver)
        return BackendAnswer(Status.UNKNOWN, StopReason.TIME)

    monkeypatch.setattr(mathopt_program, "_apart", alone)
    for solver in ("HiGHS", "SCIP"):
        mathopt_program.solve_by_mathopt(knapsack(6, 1, 1), solver, QUIET, {})
    assert asked == ["HiGHS"] * apart


def test_a_wrong_solution_is_not_believed() -> None:
    """Row 0 needs half of the sizes: nothing taken breaks it by that half of
    its largest number, 1.
    """
    program = knapsack(6, 1, 1)
    wrong = BackendAnswer(
        Status.FEASIBLE, StopReason.TIME, dict.fromkeys(range(6), 0.0)
    )
    assert judged(program, wrong).status is Status.UNKNOWN
    with pytest.raises(BackendFailureError, match="breaks a constraint by 1"):
        judged(program, replace(wrong, status=Status.OPTIMAL))
    taken = replace(wrong, status=Status.OPTIMAL, values=dict.fromkeys(range(6), 1.0))
    assert judged(program, taken).objective == sum(program.objective.values())
    for value in (0.5, float("nan")):
        half = replace(wrong, values={**taken.values, 0: value})
        assert judged(program, half).status is Status.UNKNOWN


def test_log_is_written(tmp_path: Path) -> None:
    for backend, word in (("HiGHS", "HiGHS"), ("CBC", "Cbc"), ("SCIP", "presolving")):
        log = tmp_path / backend
        solve_program(
            knapsack(6, 2, 1), backend, BackendLimits(seconds=9, log=str(log))
        )
        assert word in log.read_text()
    cp_model = load_cp_model()
    model = cp_model.CpModel()
    model.minimize(model.new_int_var(3, 9, "x"))
    log = tmp_path / "cpsat"
    solve_cpsat(model, BackendLimits(log=str(log)))
    assert "CpSolverResponse" in log.read_text()


def test_statuses_are_read_and_unknown_ones_raise() -> None:
    ended = mathopt_program.mathopt_status("HiGHS", "NO_SOLUTION_FOUND", "TIME", "")
    assert ended == (Status.UNKNOWN, StopReason.TIME)
    with pytest.raises(BackendFailureError, match="SCIP answered NUMERICAL_ERROR: ill"):
        mathopt_program.mathopt_status("SCIP", "NUMERICAL_ERROR", None, "ill")
    with pytest.raises(BackendFailureError, match="Bored"):
        pulp_program.cbc_status("Bored - objective value 1")
    with pytest.raises(BackendFailureError, match="difficulties"):
        pulp_program.cbc_status("Stopped on difficulties - objective value 1")
    with pytest.raises(UsageError, match="no backend 'LINDO'"):
        solve_program(knapsack(3, 1, 1), "LINDO", QUIET)


@pytest.mark.slow  # by the clock: whether a first solution comes within the limit
def test_scip_stopped_early_is_not_optimal() -> None:
    answer = solve_program(knapsack(90, 30, 2), "SCIP", BackendLimits(seconds=1))
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
        model,
        BackendLimits(),
        parameters={"stop_after_first_solution": True},
        on_solution=lambda s: seen.append(s.objective_value),
    )
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
    """CP-SAT leaves 0 when it ends in presolve, but taking any one thing
    is worth -20 or less.
    """
    model, x = _cp_knapsack(500, 50)
    model.add(sum(x) <= 475)
    model.minimize(-sum((20 + k % 40) * v for k, v in enumerate(x)))
    answer = solve_cpsat(model, BackendLimits(seconds=0.001))
    assert answer.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert answer.bound is None or answer.bound <= -20


def test_interrupt_stops_the_work_first() -> None:
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
from ioopt.solvers.backends.solve import solve_program
for name in sys.argv[2:]:
    if name == "CP-SAT":
        print(solve_cpsat(_cp_knapsack(12)[0], QUIET).status)
    else:
        print(solve_program(knapsack(12, 3, 1), name, QUIET).status)
"""


@pytest.mark.parametrize(
    "order",
    [
        "HiGHS SCIP CP-SAT CBC",
        pytest.param("CP-SAT HiGHS SCIP", marks=pytest.mark.slow),
    ],
)
def test_one_process_holds_them_all(order: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ORDER, str(Path(__file__).parent), *order.split()],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        timeout=120,
    )
    assert done.stdout.split() == ["optimal"] * len(order.split())
