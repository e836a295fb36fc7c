"""An integer program as plain data, written out for CP-SAT or for PuLP.

The gang models are small and linear with integer coefficients, so one description serves both
libraries and their answers compare number by number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """least <= sum of factor x variable <= most; None is no limit."""

    name: str
    terms: tuple[tuple[int, int], ...]
    least: int | None
    most: int | None


@dataclass
class Program:
    """Integer variables by position, rows, and an objective to be maximised."""

    name: str
    variables: list[tuple[str, int, int]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    worth: dict[int, int] = field(default_factory=dict)

    def variable(self, name: str, least: int, most: int, worth: int = 0) -> int:
        """Add an integer variable that counts *worth* each; its position."""
        self.variables.append((name, least, most))
        if worth:
            self.worth[len(self.variables) - 1] = worth
        return len(self.variables) - 1

    def add(
        self, name: str, terms: Iterable[tuple[int, int]],
        least: int | None = None, most: int | None = None,
    ) -> None:  # fmt: skip
        """Add the row *least* <= sum of factor x variable <= *most*, terms (variable, factor)."""
        self.rows.append(Row(name, tuple(terms), least, most))

    def value(self, values: Sequence[int]) -> int:
        """The objective of a point."""
        return sum(worth * values[at] for at, worth in self.worth.items())

    def most(self) -> int:
        """The objective with every variable at its better limit: a bound without a solver."""
        limits = ((worth, self.variables[at]) for at, worth in self.worth.items())
        return sum(worth * (high if worth > 0 else low) for worth, (_, low, high) in limits)

    def broken(self, values: Sequence[int]) -> str | None:
        """The name of a variable or row that a point breaks, None when it breaks none."""
        for (name, least, most), value in zip(self.variables, values):
            if not least <= value <= most:
                return name
        for row in self.rows:
            total = sum(factor * values[at] for at, factor in row.terms)
            if (row.least is not None and total < row.least) or (
                row.most is not None and total > row.most
            ):
                return row.name
        return None

    def to_cpsat(self, start: Sequence[int] | None = None) -> Any:
        """The program as a ``CpModel``, every variable hinted with *start*; same positions."""
        from ortools.sat.python import cp_model

        expression: Any = cp_model.LinearExpr.weighted_sum
        model: Any = cp_model.CpModel()
        made = [model.new_int_var(least, most, name) for name, least, most in self.variables]
        for row in self.rows:
            total = expression([made[at] for at, _ in row.terms], [f for _, f in row.terms])
            if row.least is not None and row.least == row.most:
                model.add(total == row.least)
                continue
            if row.most is not None:
                model.add(total <= row.most)
            if row.least is not None:
                model.add(total >= row.least)
        model.maximize(expression([made[at] for at in self.worth], list(self.worth.values())))
        for variable, value in zip(made, start or ()):
            model.add_hint(variable, value)
        return model

    def to_pulp(self) -> Any:
        """The program as a ``pulp.LpProblem``; its objective counts in units of :attr:`unit`."""
        import pulp

        unit = self.unit
        model = pulp.LpProblem(self.name, pulp.LpMaximize)
        made = [pulp.LpVariable(name, low, high, "Integer") for name, low, high in self.variables]
        model.setObjective(
            pulp.LpAffineExpression([(made[at], worth / unit) for at, worth in self.worth.items()])
        )
        for row in self.rows:
            total = pulp.LpAffineExpression([(made[at], factor) for at, factor in row.terms])
            if row.least is not None and row.least == row.most:
                model.addConstraint(total == row.least, row.name)
                continue
            if row.most is not None:
                model.addConstraint(total <= row.most, row.name)
            if row.least is not None:
                suffix = "" if row.most is None else "_least"
                model.addConstraint(total >= row.least, row.name + suffix)
        return model

    @property
    def unit(self) -> int:
        """The largest worth: PuLP's objective is divided by it, so that tolerances mean the same."""
        return max((abs(worth) for worth in self.worth.values()), default=1)

    def point(self, values: Mapping[Any, float], by_name: bool) -> list[int]:
        """An answer's values (by position, or by variable name) as whole numbers in order."""
        if by_name:
            return [round(values[name]) for name, _, _ in self.variables]
        return [round(values[at]) for at in range(len(self.variables))]
