"""Two ways to write the same linear model: CP-SAT in integer units and PuLP in seconds.

A formulation asks an engine for variables, sums and rows and never sees which one it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Protocol


class Engine(Protocol):
    """What a formulation needs of a modelling library. Times are given in units."""

    model: Any

    def binary(self, name: str) -> Any:
        """A 0-1 variable."""
        ...

    def count(self, name: str, most: int) -> Any:
        """An integer variable from 0 to *most*."""
        ...

    def time(self, name: str, least: int, most: int) -> Any:
        """A time from *least* to *most* units."""
        ...

    def total(self, terms: Iterable[tuple[Any, int]]) -> Any:
        """The sum of variable x factor, factors being counts or bytes."""
        ...

    def add_load(self, terms: Iterable[tuple[Any, int]], time: Any, times: int, name: str) -> None:
        """Variable x factor (in units), summed, is at most *times* x the time variable."""
        ...

    def add(self, row: Any, name: str) -> None:
        """A constraint under a readable name."""
        ...

    def minimize(self, variable: Any) -> None:
        """Set the objective."""
        ...

    def key(self, variable: Any) -> Any:
        """The key of *variable* in an answer's values."""
        ...

    def time_value(self, units: int) -> float:
        """The value of a time variable that stands for *units*."""
        ...

    def units(self, value: float) -> float:
        """The units that a time (such as an objective or bound) of this engine stands for."""
        ...


class CpSatEngine:
    """CP-SAT: every time a whole number of units."""

    def __init__(self) -> None:
        from ortools.sat.python import cp_model

        self._cp_model: Any = cp_model
        self.model = self._cp_model.CpModel()

    def binary(self, name: str) -> Any:
        """A 0-1 variable."""
        return self.model.new_bool_var(name)

    def count(self, name: str, most: int) -> Any:
        """An integer variable from 0 to *most*."""
        return self.model.new_int_var(0, most, name)

    def time(self, name: str, least: int, most: int) -> Any:
        """A time from *least* to *most* units."""
        return self.model.new_int_var(least, most, name)

    def total(self, terms: Iterable[tuple[Any, int]]) -> Any:
        """The sum of variable x factor."""
        pairs = list(terms)
        return self._cp_model.LinearExpr.weighted_sum([v for v, _ in pairs], [f for _, f in pairs])

    def add_load(self, terms: Iterable[tuple[Any, int]], time: Any, times: int, name: str) -> None:
        """Variable x factor, summed, is at most *times* x the time variable."""
        self.model.add(self.total([*terms, (time, -times)]) <= 0)

    def add(self, row: Any, name: str) -> None:
        """A constraint; names of rows cost memory there and are not given."""
        self.model.add(row)

    def minimize(self, variable: Any) -> None:
        """Set the objective."""
        self.model.minimize(variable)

    def key(self, variable: Any) -> Any:
        """The index of the variable."""
        return variable.index

    def time_value(self, units: int) -> float:
        """Units themselves."""
        return units

    def units(self, value: float) -> float:
        """Units themselves."""
        return value


class PulpEngine:
    """PuLP: times in seconds, so that solver tolerances mean the same on every instance."""

    def __init__(self, name: str, unit: Fraction, relaxed: bool = False) -> None:
        import pulp

        self._pulp = pulp
        self._unit = unit
        self._category = "Continuous" if relaxed else "Integer"
        self.model = pulp.LpProblem(name, pulp.LpMinimize)

    def binary(self, name: str) -> Any:
        """A 0-1 variable."""
        return self._pulp.LpVariable(name, 0, 1, self._category)

    def count(self, name: str, most: int) -> Any:
        """An integer variable from 0 to *most*."""
        return self._pulp.LpVariable(name, 0, most, self._category)

    def time(self, name: str, least: int, most: int) -> Any:
        """A time in seconds; no upper limit, which would only blunt a solver's tolerances."""
        return self._pulp.LpVariable(name, float(least * self._unit), None)

    def total(self, terms: Iterable[tuple[Any, int]]) -> Any:
        """The sum of variable x factor."""
        return self._pulp.LpAffineExpression(list(terms))

    def add_load(self, terms: Iterable[tuple[Any, int]], time: Any, times: int, name: str) -> None:
        """Variable x factor, units turned into seconds, is at most *times* x the time variable."""
        seconds = [(variable, float(factor * self._unit)) for variable, factor in terms]
        row = self._pulp.LpAffineExpression([*seconds, (time, -times)]) <= 0
        self.model.addConstraint(row, name)

    def add(self, row: Any, name: str) -> None:
        """A constraint under a readable name."""
        self.model.addConstraint(row, name)

    def minimize(self, variable: Any) -> None:
        """Set the objective."""
        self.model.setObjective(variable)

    def key(self, variable: Any) -> Any:
        """The name of the variable."""
        return variable.name

    def time_value(self, units: int) -> float:
        """Units as seconds."""
        return float(units * self._unit)

    def units(self, value: float) -> float:
        """Seconds as units."""
        return value / float(self._unit)
