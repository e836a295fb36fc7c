"""Solve small linear programs by ``scipy.optimize.linprog``."""

import math
from dataclasses import dataclass, field
from typing import Self

from ioopt.models.program import Number, Program
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import LEAST_SECONDS, BackendAnswer

_STATUS = {0: Status.OPTIMAL, 2: Status.INFEASIBLE}
"""Status for each code of scipy; with any other code nothing is found or proven."""


@dataclass
class _Rows:
    """Rows in the form of scipy: *upper* x <= *limits* and *equal* x = *right*.

    ``names`` are the names of the rows in *upper*.
    """

    upper: list[list[float]] = field(default_factory=list)
    limits: list[Number] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    equal: list[list[float]] = field(default_factory=list)
    right: list[Number] = field(default_factory=list)

    @classmethod
    def of(cls, program: Program) -> Self:
        """Return the rows of *program*."""
        made = cls()
        for name, columns, factors, least, most, _ in program.rows:
            row = [0.0] * len(program.variables)
            for at, factor in zip(columns, factors):
                row[at] = float(factor)
            if least is not None and least == most:
                made.equal.append(row)
                made.right.append(least)
                continue
            if most is not None:
                made.upper.append(row)
                made.limits.append(most)
                made.names.append(name)
            if least is not None:
                made.upper.append([-factor for factor in row])
                made.limits.append(-least)
                made.names.append(name)
        return made


def solve_by_linprog(program: Program, seconds: float = math.inf) -> BackendAnswer:
    """Solve *program* within *seconds*, with every variable taken as continuous.

    Values are keyed by position. ``prices`` are the dual prices, keyed by the names of
    the rows that are not equations.
    """
    from scipy.optimize import linprog

    size = len(program.variables)
    if not size:
        return BackendAnswer(
            Status.OPTIMAL, StopReason.FINISHED, {}, 0.0, 0.0, backend="linprog"
        )
    sign = -1.0 if program.maximise else 1.0
    rows = _Rows.of(program)
    options: dict[str, float] = {}
    if not math.isinf(seconds):
        options["time_limit"] = max(LEAST_SECONDS, seconds)
    solved = linprog(
        [sign * program.objective.get(at, 0.0) for at in range(size)],
        rows.upper or None,
        rows.limits or None,
        rows.equal or None,
        rows.right or None,
        [(item.least, item.most) for item in program.variables],
        options=options,
    )
    status = _STATUS.get(solved.status, Status.UNKNOWN)
    if status is not Status.OPTIMAL:
        return BackendAnswer(status, StopReason.FINISHED, backend="linprog")
    values = {at: float(value) for at, value in enumerate(solved.x)}
    best = sign * float(solved.fun)
    prices = {
        name: abs(price)
        for name, price in zip(rows.names, map(float, solved.ineqlin.marginals))
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
