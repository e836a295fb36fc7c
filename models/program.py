"""A linear program as plain data: variables, rows and one objective, for
whichever backend solves it.

Variables are positions, and so are the keys of starts and answers; order is kept.
Programs may count time in whole units of ``unit`` seconds: CP-SAT takes them as they
are, floating-point backends get seconds (:meth:`Program.in_seconds`).
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

Number = int | float
Term = tuple[int, Number]
"""A variable's position and its factor."""
Nature = Literal["whole", "real", "time"]
"""What a variable counts: a whole number, a real one, or time in whole units."""


class Variable(NamedTuple):
    """Name and limits of a variable; ``most`` None is no limit."""

    name: str
    least: Number
    most: Number | None
    nature: Nature = "whole"


class Row(NamedTuple):
    """least <= sum of factor x variable <= most; None is no limit, and
    both alike an equation.
    """

    name: str
    columns: Sequence[int]
    factors: Sequence[Number]
    least: Number | None
    most: Number | None
    timed: bool = False

    @property
    def terms(self) -> Iterator[Term]:
        """(variable, factor) pairs."""
        return zip(self.columns, self.factors)


class Program:
    """Variables by position, rows, and an objective to be minimised (or maximised)."""

    def __init__(
        self, name: str, *, maximise: bool = False, unit: Fraction = Fraction(1)
    ) -> None:
        self.name, self.maximise, self.unit = name, maximise, unit
        self.variables: list[Variable] = []
        self.rows: list[Row] = []
        self.objective: dict[int, Number] = {}

    def binary(self, name: str) -> int:
        """Add a 0-1 variable; its position."""
        return self.whole(name, 0, 1)

    def whole(self, name: str, least: int, most: int) -> int:
        """Add an integer variable; its position."""
        self.variables.append(Variable(name, least, most))
        return len(self.variables) - 1

    def real(self, name: str, least: float, most: float | None = None) -> int:
        """Add a continuous variable; its position."""
        self.variables.append(Variable(name, least, most, "real"))
        return len(self.variables) - 1

    def time(self, name: str, least: int, most: int) -> int:
        """Add a time in units; its position. Floating-point
        backends leave out *most*.
        """
        self.variables.append(Variable(name, least, most, "time"))
        return len(self.variables) - 1

    def hold(
        self, at: int, least: Number | None = None, most: Number | None = None
    ) -> None:
        """Give a variable other limits (None: as before)."""
        old = self.variables[at]
        self.variables[at] = old._replace(
            least=old.least if least is None else least,
            most=old.most if most is None else most,
        )

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
        # Two flat lists: pairs that live as long as the program are what the
        # collector looks at.
        columns, factors = zip(*terms) if terms else ((), ())
        self.rows.append(Row(name, columns, factors, least, most, timed))

    @property
    def size(self) -> int:
        """Coefficients of all rows."""
        return sum(len(row.columns) for row in self.rows)

    def value(self, values: Mapping[int, Number] | Sequence[Number]) -> Number:
        """The objective of a point."""
        return sum(factor * values[at] for at, factor in self.objective.items())

    def limit(self) -> Number:
        """The objective with every variable at its better limit: a
        bound without a solver.
        """
        total: Number = 0
        for at, factor in self.objective.items():
            _, least, most, _ = self.variables[at]
            high = most if (factor > 0) is self.maximise else least
            if high is None:
                return float("inf") if self.maximise else float("-inf")
            total += factor * high
        return total

    def in_seconds(self) -> "Program":
        """The same for floating-point backends: time variables, timed rows and
        objective in seconds.
        """
        unit = self.unit
        times = {at for at, item in enumerate(self.variables) if item.nature == "time"}

        def seconds(units: Number) -> Number:
            return units if unit == 1 else float(units * unit)

        def factor(at: int, given: Number) -> Number:
            return given if at in times else seconds(given)

        same = Program(self.name, maximise=self.maximise)
        same.variables = [
            Variable(item.name, float(item.least * unit), None, "real")
            if at in times
            else item
            for at, item in enumerate(self.variables)
        ]
        same.rows = [
            row._replace(
                factors=[factor(at, given) for at, given in row.terms],
                least=None if row.least is None else seconds(row.least),
                most=None if row.most is None else seconds(row.most),
            )
            if row.timed
            else row
            for row in self.rows
        ]
        same.objective = {at: factor(at, given) for at, given in self.objective.items()}
        return same

    def misses(
        self, values: Mapping[int, Number] | Sequence[Number]
    ) -> Iterator[tuple[str, Number, Number]]:
        """Variables and rows whose limits a point breaks: name, by how
        much, its largest number.
        """

        def miss(value: Number, least: Number | None, most: Number | None) -> Number:
            below = 0 if least is None else least - value
            return max(below, 0 if most is None else value - most)

        for at, (name, least, most, _) in enumerate(self.variables):
            if (amount := miss(values[at], least, most)) > 0:
                yield name, amount, 1
        for row in self.rows:
            total = sum(factor * values[at] for at, factor in row.terms)
            if (amount := miss(total, row.least, row.most)) > 0:
                numbers = (*row.factors, row.least or 0, row.most or 0, 1)
                yield row.name, amount, max(map(abs, numbers))

    def broken(
        self, values: Mapping[int, Number] | Sequence[Number], slack: float = 0.0
    ) -> list[str]:
        """Names of the variables whose limits and the rows that a point
        breaks by over *slack*.
        """
        return [name for name, amount, _ in self.misses(values) if amount > slack]
