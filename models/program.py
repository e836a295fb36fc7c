"""Store a linear program as plain data for any backend: variables, rows, one objective.

A variable is identified by its position, also in start values and answers. A program
may count time in whole units of ``unit`` seconds. CP-SAT takes these units as they are;
floating-point backends get seconds (:meth:`Program.in_seconds`).
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

Number = int | float
Term = tuple[int, Number]
"""A term of a sum: (position of a variable, factor)."""
Nature = Literal["whole", "real", "time"]
"""Type of a variable: a whole number, a real number, or a time in whole units."""


class Variable(NamedTuple):
    """Describe a variable: its name, type and limits. ``most`` None means no upper
    limit.
    """

    name: str
    least: Number
    most: Number | None
    nature: Nature = "whole"


class Row(NamedTuple):
    """A constraint: least <= sum of factor x variable <= most.

    A limit of None means no limit. Equal limits make an equation. ``timed`` says that
    the row counts units of time.
    """

    name: str
    columns: Sequence[int]
    factors: Sequence[Number]
    least: Number | None
    most: Number | None
    timed: bool = False

    @property
    def terms(self) -> Iterator[Term]:
        """Return the pairs (position of the variable, factor)."""
        return zip(self.columns, self.factors)


class Program:
    """A linear program: variables by position, rows, and an objective to be minimised
    or maximised.
    """

    def __init__(
        self, name: str, *, maximise: bool = False, unit: Fraction = Fraction(1)
    ) -> None:
        self.name = name
        self.maximise = maximise
        self.unit = unit
        self.variables: list[Variable] = []
        self.rows: list[Row] = []
        self.objective: dict[int, Number] = {}

    def binary(self, name: str) -> int:
        """Add a 0-1 variable and return its position."""
        return self.whole(name, 0, 1)

    def whole(self, name: str, least: int, most: int) -> int:
        """Add an integer variable and return its position."""
        self.variables.append(Variable(name, least, most))
        return len(self.variables) - 1

    def real(self, name: str, least: float, most: float | None = None) -> int:
        """Add a continuous variable and return its position."""
        self.variables.append(Variable(name, least, most, "real"))
        return len(self.variables) - 1

    def time(self, name: str, least: int, most: int) -> int:
        """Add a time in whole units and return its position.

        Floating-point backends ignore *most*.
        """
        self.variables.append(Variable(name, least, most, "time"))
        return len(self.variables) - 1

    def hold(
        self, at: int, least: Number | None = None, most: Number | None = None
    ) -> None:
        """Change the limits of the variable at position *at*; None leaves a limit
        unchanged.
        """
        if least is not None:
            self.variables[at] = self.variables[at]._replace(least=least)
        if most is not None:
            self.variables[at] = self.variables[at]._replace(most=most)

    def add(
        self,
        name: str,
        terms: Sequence[Term],
        least: Number | None = None,
        most: Number | None = None,
        *,
        timed: bool = False,
    ) -> None:
        """Add the row *least* <= sum of factor x variable <= *most*."""
        # Two flat tuples, because the garbage collector would visit every pair.
        columns = tuple(at for at, _ in terms)
        factors = tuple(factor for _, factor in terms)
        self.rows.append(Row(name, columns, factors, least, most, timed))

    @property
    def size(self) -> int:
        """Return the number of coefficients in all rows together."""
        return sum(len(row.columns) for row in self.rows)

    def value(self, values: Mapping[int, Number] | Sequence[Number]) -> Number:
        """Return the objective, given the values of the variables by position."""
        return sum(factor * values[at] for at, factor in self.objective.items())

    def limit(self) -> Number:
        """Return the objective with every variable at its more favourable limit.

        This is a bound of the program that needs no solver.
        """
        total: Number = 0
        for at, factor in self.objective.items():
            variable = self.variables[at]
            better: Number | None = variable.least
            if (factor > 0) is self.maximise:
                better = variable.most
            if better is None:
                return math.inf if self.maximise else -math.inf
            total += factor * better
        return total

    def in_seconds(self) -> "Program":
        """Return the same program in seconds, for floating-point backends.

        Only the time variables, the timed rows and the objective are converted. Times
        then have no upper limit.
        """
        times = {at for at, item in enumerate(self.variables) if item.nature == "time"}
        same = Program(self.name, maximise=self.maximise)
        for item in self.variables:
            if item.nature == "time":
                least = float(item.least * self.unit)
                item = Variable(item.name, least, None, "real")
            same.variables.append(item)
        for row in self.rows:
            if row.timed:
                row = row._replace(
                    factors=[self._factor(at, given, times) for at, given in row.terms],
                    least=self._seconds(row.least),
                    most=self._seconds(row.most),
                )
            same.rows.append(row)
        for at, given in self.objective.items():
            same.objective[at] = self._factor(at, given, times)
        return same

    def _factor(self, at: int, given: Number, times: Container[int]) -> Number:
        """Return a factor of a timed row, or of the objective, in the program in
        seconds.

        *at* is the variable of the factor. Time variables (*times*) are in seconds
        already, so their factors stay.
        """
        if at in times or self.unit == 1:
            return given
        return float(given * self.unit)

    def _seconds(self, units: Number | None) -> Number | None:
        """Return a limit in seconds; None stays None."""
        if units is None or self.unit == 1:
            return units
        return float(units * self.unit)

    def misses(
        self, values: Mapping[int, Number] | Sequence[Number]
    ) -> Iterator[tuple[str, Number, Number]]:
        """Yield (name, violation, largest number) of every variable and row that
        *values* violate.

        The largest number is the greatest absolute value of the row's factors and
        limits, and at least 1. It is 1 for a variable.
        """
        for at, (name, least, most, _) in enumerate(self.variables):
            amount = _miss(values[at], least, most)
            if amount > 0:
                yield name, amount, 1
        for row in self.rows:
            total = sum(factor * values[at] for at, factor in row.terms)
            amount = _miss(total, row.least, row.most)
            if amount > 0:
                numbers = (*row.factors, row.least or 0, row.most or 0, 1)
                yield row.name, amount, max(map(abs, numbers))

    def broken(
        self, values: Mapping[int, Number] | Sequence[Number], slack: float = 0.0
    ) -> list[str]:
        """Return the names of the variables and rows violated by more than *slack*."""
        return [name for name, amount, _ in self.misses(values) if amount > slack]


def _miss(value: Number, least: Number | None, most: Number | None) -> Number:
    """Return by how much *value* violates its limits; 0 or less if it violates none."""
    missing: Number = 0
    if least is not None:
        missing = least - value
    if most is not None:
        return max(missing, value - most)
    return max(missing, 0)
