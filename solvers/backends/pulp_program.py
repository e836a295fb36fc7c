"""A program of :mod:`ioopt.models.program` on PuLP's backends: HiGHS, CBC, SCIP, GLPK."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ioopt.models.program import Number, Program, Row, Variable, collector_paused
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.pulp_backend import solve_pulp


@dataclass(frozen=True)
class PulpProgram:
    """A program as a ``pulp.LpProblem``; ``columns`` are its variables by position."""

    program: Program
    lp: Any
    columns: list[Any]

    @classmethod
    @collector_paused()
    def of(cls, program: Program) -> PulpProgram:
        """Write *program* for PuLP."""
        import pulp

        lp = pulp.LpProblem(program.name, pulp.LpMaximize if program.maximise else pulp.LpMinimize)
        columns = [_column(pulp, variable, program.unit) for variable in program.variables]
        times = {at for at, item in enumerate(program.variables) if item.nature == "time"}
        scaled = _Scaling(program.unit, times)
        terms = [(columns[at], scaled.factor(at, f)) for at, f in program.objective.items()]
        lp.setObjective(pulp.LpAffineExpression(terms))
        for row in program.rows:
            made = [columns[at] for at in row.columns]
            factors = row.factors
            if row.timed:
                factors = [scaled.factor(at, factor) for at, factor in row.terms]
            for name, sense, right in _sides(row):
                total = pulp.LpAffineExpression(list(zip(made, factors)))
                limit = scaled.number(right) if row.timed else right
                lp.addConstraint(pulp.LpConstraint(total, sense, rhs=limit), name)
        return cls(program, lp, columns)

    def solve(
        self,
        backend: str | None,
        limits: BackendLimits,
        start: Mapping[int, Number] | None = None,
        cancel: threading.Event | None = None,
    ) -> BackendAnswer:
        """:func:`solve_pulp` with values and *start* by position, objective and bound in units."""
        named = None if start is None else self._named(start)
        answer = solve_pulp(self.lp, backend, limits, named, cancel)
        values = {
            at: answer.values.get(column.name, column.lowBound)
            for at, column in enumerate(self.columns)
        }
        return replace(
            answer,
            values=values if answer.found else {},
            objective=self._units(answer.objective),
            bound=self._units(answer.bound),
        )

    def _named(self, start: Mapping[int, Number]) -> dict[str, float]:
        variables, unit = self.program.variables, self.program.unit
        return {
            self.columns[at].name: float(value * unit if variables[at].nature == "time" else value)
            for at, value in start.items()
        }

    def _units(self, value: float | None) -> float | None:
        if value is None or self.program.unit == 1:
            return value
        return float(Fraction(value) / self.program.unit)


@dataclass(frozen=True)
class _Scaling:
    """Factors of rows in units as factors of rows in seconds."""

    unit: Fraction
    times: set[int]

    def factor(self, at: int, factor: Number) -> Number:
        return factor if at in self.times else self.number(factor)

    def number(self, number: Number) -> Number:
        return number if self.unit == 1 else float(number * self.unit)


def _column(pulp: Any, variable: Variable, unit: Fraction) -> Any:
    if variable.nature == "time":
        return pulp.LpVariable(variable.name, float(variable.least * unit), None)
    category = "Integer" if variable.nature == "whole" else "Continuous"
    return pulp.LpVariable(variable.name, variable.least, variable.most, category)


def _sides(row: Row) -> list[tuple[str, int, Number]]:
    """(name, PuLP's sense, right-hand side) of the one or two constraints of a row."""
    if row.most is None:
        return [] if row.least is None else [(row.name, 1, row.least)]
    if row.least is None:
        return [(row.name, -1, row.most)]
    if row.least == row.most:
        return [(row.name, 0, row.least)]
    return [(row.name, -1, row.most), (f"{row.name}_least", 1, row.least)]


def solve_by_pulp(
    program: Program,
    backend: str | None,
    limits: BackendLimits,
    start: Mapping[int, Number] | None = None,
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """Write *program* for PuLP and solve it, both within *limits*; see :meth:`PulpProgram.solve`."""
    begun = time.monotonic()
    written = PulpProgram.of(program)
    return written.solve(backend, limits.after(time.monotonic() - begun), start, cancel)
