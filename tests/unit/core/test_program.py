"""One program, every backend: the same optimum, units, starts and refusals."""

from fractions import Fraction

import pytest

from ioopt.models.program import Program
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat, to_cpsat
from ioopt.solvers.backends.linprog_backend import solve_by_linprog
from ioopt.solvers.backends.pulp_program import to_pulp
from ioopt.solvers.backends.solve import solve_program

LIMITS = BackendLimits()


def answers(program: Program, *backends: str) -> list[BackendAnswer]:
    """What CP-SAT and *backends* say of a program."""
    others = [solve_program(program, name, LIMITS) for name in backends]
    return [solve_by_cpsat(program, LIMITS), *others]


def two_machines(unit: Fraction = Fraction(1, 8)) -> Program:
    """Jobs of 5, 4, 3, 3 units on two machines: 15 units, so 8 is
    least (5 + 3, 4 + 3).
    """
    program = Program("two_machines", unit=unit)
    first = [program.binary(f"x_{k}") for k in range(4)]
    span = program.time("M", 0, 15)
    work = (5, 4, 3, 3)
    loads = list(zip(first, work, strict=True))
    program.add("first", [*loads, (span, -1)], most=0, timed=True)
    program.add(
        "second", [*((at, -w) for at, w in loads), (span, -1)], most=-15, timed=True
    )
    program.objective[span] = 1
    return program


def test_times_are_units_on_cpsat_and_seconds_on_highs() -> None:
    """8 units of 1/8 s are 1 s; answers of both are in units again."""
    program = two_machines()
    lp, columns = to_pulp(program.in_seconds())
    second = lp.constraints["second"]
    assert second.constant == 15 / 8 and dict(second.items())[columns[4]] == -1
    assert dict(second.items())[columns[0]] == -5 / 8
    assert columns[4].upBound is None
    for answer in answers(program, "HiGHS", "CBC"):
        assert answer.status is Status.OPTIMAL
        assert answer.objective == pytest.approx(8) and answer.bound == pytest.approx(8)
    found = solve_by_cpsat(program, LIMITS).values
    assert program.broken(found) == [] and program.value(found) == 8


def test_a_start_is_given_in_units() -> None:
    program = two_machines()
    start = {0: 1, 1: 0, 2: 1, 3: 0, 4: 8}
    assert program.broken(start) == []
    assert program.broken({**start, 4: 7}) == [
        "first"
    ]  # 5 + 3 = 8 > 7; the other has 4 + 3
    hint = to_cpsat(program, start).proto.solution_hint
    assert list(hint.vars) == list(start) and list(hint.values) == list(start.values())
    assert solve_program(program, "HiGHS", LIMITS, start).objective == pytest.approx(8)


def test_limits_of_rows_and_variables() -> None:
    """max 3 a + 2 b with 2 <= a + b <= 3, a <= 2: a = 2, b = 1 gives 8; without
    solving 3 x 2 + 2 x 5.
    """
    program = Program("limits", maximise=True)
    a, b = program.whole("a", 0, 9), program.whole("b", 0, 5)
    program.hold(a, most=2)
    program.add("sum", [(a, 1), (b, 1)], 2, 3)
    program.objective = {a: 3, b: 2}
    assert program.limit() == 16
    assert sorted(to_pulp(program.in_seconds())[0].constraints) == ["sum", "sum_least"]
    for answer in (*answers(program, "HiGHS", "SCIP"), solve_by_linprog(program)):
        assert answer.objective == pytest.approx(8)
        assert [round(answer.values[at]) for at in (a, b)] == [2, 1]
    program.add("never", [(a, 1)], least=3)
    assert program.broken([2, 1]) == ["never"]
    for answer in (*answers(program, "HiGHS"), solve_by_linprog(program)):
        assert answer.status is Status.INFEASIBLE and not answer.found


def test_any_point_will_do_without_the_objective() -> None:
    program = two_machines()
    program.hold(4, least=11)
    answer = solve_by_cpsat(program, LIMITS, objective=False)
    assert (
        answer.found
        and answer.objective is None
        and program.broken(answer.values) == []
    )
