"""A program on CP-SAT with continuous variables on a fine grid, coefficients scaled to integers.

Rows are eased, and the bound widened, by what rounding every continuous variable down to its step
can cost, so that the bound holds for the model as written; values may miss a row by a step.
"""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ioopt.models.program import Number, Program, Row, Term
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.cpsat_backend import load_cp_model, solve_cpsat

STEPS = 10_000
"""Default number of steps between the bounds of a continuous variable."""
RESOLUTION = 10_000
"""Whole number that the smallest continuous coefficient of a row becomes."""
PURE_SCALE = 1_000_000_000
"""Whole number that the largest coefficient of a row of integers becomes."""
ROUNDING = 1e-7
"""Bound and objective this close differ by the rounding of coefficients only."""


def solve_on_grid(
    program: Program,
    limits: BackendLimits,
    start: Mapping[int, Number] | None = None,
    steps: int = STEPS,
) -> BackendAnswer:
    """Solve *program* on CP-SAT; values by position, objective and bound in its own units.

    Every variable needs two finite limits. ``start`` is a hint, ``steps`` the steps between the
    limits of a continuous variable.
    """
    begun = time.monotonic()
    translation = _Translation(program, steps)
    return translation.solve(limits.after(time.monotonic() - begun), start or {})


class _Translation:
    def __init__(self, program: Program, steps: int) -> None:
        self.program = program
        self.model = load_cp_model().CpModel()
        self.step: dict[int, float] = {}
        self.variables: dict[int, Any] = {}
        used = {at for row in program.rows for at, _ in row.terms} | set(program.objective)
        for at in sorted(used, key=lambda at: program.variables[at].name):
            name, low, high, nature = program.variables[at]
            if nature == "real":
                assert high is not None and low == 0, "continuous variables run from 0 to a limit"
                self.step[at] = high / steps if high > 0 else 1.0
                low, high = 0, steps if high > 0 else 0
            assert high is not None
            self.variables[at] = self.model.new_int_var(round(low), round(high), name)
        for row in program.rows:
            self._add_row(row)
        self.scale = self._set_objective()

    def _scaled(self, row: Iterable[Term]) -> tuple[dict[int, float], float]:
        """Coefficients by variable in grid units, and the number the row is multiplied by."""
        terms = {at: c * self.step.get(at, 1.0) for at, c in row if c}
        continuous = [abs(c) for at, c in terms.items() if at in self.step]
        if continuous:
            return terms, RESOLUTION / min(continuous)
        largest = max([abs(c) for c in terms.values()], default=1.0)
        whole = all(float(c).is_integer() for c in terms.values())
        return terms, 1.0 if whole else PURE_SCALE / largest

    def _add_row(self, row: Row) -> None:
        terms, scale = self._scaled(row.terms)
        total = sum(round(c * scale) * self.variables[at] for at, c in terms.items())
        # Rounding down lowers the left side by up to `fall` and raises it by up to `rise`.
        steps = [c * scale for at, c in terms.items() if at in self.step]
        fall, rise = sum(c for c in steps if c > 0), -sum(c for c in steps if c < 0)
        if row.most is not None:
            right = row.most * scale
            self.model.add(total <= math.floor(right + self._slack(right) + rise))
        if row.least is not None:
            right = row.least * scale
            self.model.add(total >= math.ceil(right - self._slack(right) - fall))

    def _slack(self, right: float) -> float:
        return 1e-6 * max(1.0, abs(right)) if self.step else 1e-9

    def _set_objective(self) -> float:
        terms, scale = self._scaled(self.program.objective.items())
        total = sum(round(c * scale) * self.variables[at] for at, c in terms.items())
        if self.program.maximise:
            self.model.maximize(total)
        else:
            self.model.minimize(total)
        return scale

    def _grid_loss(self) -> float:
        """The most that the grid can cost: one step of every continuous variable."""
        terms = self.program.objective.items()
        return math.fsum(abs(c) * self.step.get(at, 0.0) for at, c in terms)

    def solve(self, limits: BackendLimits, start: Mapping[int, Number]) -> BackendAnswer:
        """Run CP-SAT and translate the answer back."""
        for at, value in start.items():
            self.model.add_hint(self.variables[at], round(value / self.step.get(at, 1.0)))
        answer = solve_cpsat(self.model, limits)
        bound = answer.bound
        if bound is not None:
            widened = self._grid_loss() if self.program.maximise else -self._grid_loss()
            bound = bound / self.scale + widened
        if not answer.found:
            return replace(answer, bound=bound, values={})
        values = {at: item.least for at, item in enumerate(self.program.variables)}
        values |= {
            at: answer.values[var.index] * self.step.get(at, 1.0)
            for at, var in self.variables.items()
        }
        objective = math.fsum(c * values[at] for at, c in self.program.objective.items())
        if bound is not None and abs(objective - bound) <= ROUNDING * max(1.0, abs(objective)):
            bound = objective
        return replace(answer, values=values, objective=objective, bound=bound)
