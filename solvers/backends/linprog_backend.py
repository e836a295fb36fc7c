"""Small programs of continuous variables, solved often,
through ``scipy.optimize.linprog``.
"""

import math

from ioopt.models.program import Program
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import LEAST_SECONDS, BackendAnswer

_STATUS = {0: Status.OPTIMAL, 2: Status.INFEASIBLE}
"""scipy's codes; by any other it found nothing and proved nothing."""


def solve_by_linprog(program: Program, seconds: float = math.inf) -> BackendAnswer:
    """Solve *program*, all of whose variables count as continuous, within *seconds*.

    Values are by position, ``prices`` by the name of each row that has one limit.
    """
    from scipy.optimize import linprog

    size, sign = len(program.variables), -1.0 if program.maximise else 1.0
    if not size:
        return BackendAnswer(
            Status.OPTIMAL, StopReason.FINISHED, {}, 0.0, 0.0, backend="linprog"
        )
    table, limits, equal, right, names = [], [], [], [], []
    for name, columns, factors, least, most, _ in program.rows:
        row = [0.0] * size
        for at, factor in zip(columns, factors):
            row[at] = float(factor)
        if least is not None and least == most:
            equal.append(row)
            right.append(least)
            continue
        if most is not None:
            table.append(row)
            limits.append(most)
            names.append(name)
        if least is not None:
            table.append([-factor for factor in row])
            limits.append(-least)
            names.append(name)
    solved = linprog(
        [sign * program.objective.get(at, 0.0) for at in range(size)],
        table or None,
        limits or None,
        equal or None,
        right or None,
        [(item.least, item.most) for item in program.variables],
        options={}
        if math.isinf(seconds)
        else {"time_limit": max(LEAST_SECONDS, seconds)},
    )
    status = _STATUS.get(solved.status, Status.UNKNOWN)
    if status is not Status.OPTIMAL:
        return BackendAnswer(status, StopReason.FINISHED, backend="linprog")
    values = {at: float(value) for at, value in enumerate(solved.x)}
    best = sign * float(solved.fun)
    prices = {
        name: abs(price)
        for name, price in zip(names, map(float, solved.ineqlin.marginals))
    }
    return BackendAnswer(
        status,
        StopReason.FINISHED,
        values,
        best,
        best,
        backend="linprog",
        prices=prices,
    )
