"""A PuLP model on CP-SAT: continuous variables on a fine grid, coefficients scaled to integers.

CP-SAT knows integers only. A continuous variable becomes a whole number of steps between its
bounds; a row is multiplied so that its smallest continuous coefficient is exact. Rows are eased by
what rounding every continuous variable down to its step can break, and the bound is widened by
what that can cost, so that the bound holds for the model as written. For the same reason the
values may miss a row by a step: callers re-optimise the continuous part of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.cpsat_backend import load_cp_model, solve_cpsat

if TYPE_CHECKING:
    import pulp

STEPS = 10_000
"""Default number of steps between the bounds of a continuous variable."""
RESOLUTION = 10_000
"""Whole number that the smallest continuous coefficient of a row becomes."""
PURE_SCALE = 1_000_000_000
"""Whole number that the largest coefficient of a row of integers becomes."""
ROUNDING = 1e-7
"""Bound and objective this close differ by the rounding of coefficients only."""


def solve_linear(
    program: pulp.LpProblem,
    limits: BackendLimits,
    start: Mapping[str, float] | None = None,
    steps: int = STEPS,
) -> BackendAnswer:
    """Solve *program* on CP-SAT; values by variable name, objective and bound in its own units.

    Every variable needs two finite bounds. ``start`` are values by name (a hint), ``steps`` the
    steps between the bounds of a continuous variable.
    """
    return _Translation(program, steps).solve(limits, start or {})


class _Translation:
    def __init__(self, program: pulp.LpProblem, steps: int) -> None:
        import pulp

        self.program = program
        self.model = load_cp_model().CpModel()
        self.step: dict[str, float] = {}
        self.variables: dict[str, Any] = {}
        for variable in program.variables():
            low, high = variable.lowBound or 0.0, variable.upBound
            if variable.cat == pulp.LpContinuous:
                assert high is not None and low == 0, "continuous variables run from 0 to a bound"
                self.step[variable.name] = high / steps if high > 0 else 1.0
                low, high = 0, steps if high > 0 else 0
            name = variable.name
            self.variables[name] = self.model.new_int_var(round(low), round(high), name)
        for row in program.constraints.values():
            self._add_row(row)
        self.scale = self._set_objective()

    def _scaled(self, row: Any) -> tuple[dict[str, float], float]:
        """Coefficients by variable in grid units, and the number the row is multiplied by."""
        terms = {v.name: c * self.step.get(v.name, 1.0) for v, c in row.items() if c}
        continuous = [abs(c) for name, c in terms.items() if name in self.step]
        if continuous:
            return terms, RESOLUTION / min(continuous)
        largest = max([abs(c) for c in terms.values()], default=1.0)
        whole = all(float(c).is_integer() for c in terms.values())
        return terms, 1.0 if whole else PURE_SCALE / largest

    def _add_row(self, row: Any) -> None:
        terms, scale = self._scaled(row)
        total = sum(round(c * scale) * self.variables[v] for v, c in terms.items())
        right = -row.constant * scale
        slack = 1e-6 * max(1.0, abs(right)) if self.step else 1e-9
        # Rounding down lowers the left side by up to `fall` and raises it by up to `rise`.
        steps = [c * scale for v, c in terms.items() if v in self.step]
        fall, rise = sum(c for c in steps if c > 0), -sum(c for c in steps if c < 0)
        if row.sense <= 0:
            self.model.add(total <= math.floor(right + slack + rise))
        if row.sense >= 0:
            self.model.add(total >= math.ceil(right - slack - fall))

    def _set_objective(self) -> float:
        terms, scale = self._scaled(self.program.objective)
        total = sum(round(c * scale) * self.variables[v] for v, c in terms.items())
        if self.program.sense < 0:
            self.model.maximize(total)
        else:
            self.model.minimize(total)
        return scale

    def _grid_loss(self) -> float:
        """The most that the grid can cost: one step of every continuous variable."""
        objective = self.program.objective
        return math.fsum(abs(c) * self.step.get(v.name, 0.0) for v, c in objective.items())

    def solve(self, limits: BackendLimits, start: Mapping[str, float]) -> BackendAnswer:
        """Run CP-SAT and translate the answer back."""
        for name, value in start.items():
            self.model.add_hint(self.variables[name], round(value / self.step.get(name, 1.0)))
        answer = solve_cpsat(self.model, limits)
        constant = self.program.objective.constant
        bound = answer.bound
        if bound is not None:
            widened = self._grid_loss() if self.program.sense < 0 else -self._grid_loss()
            bound = bound / self.scale + constant + widened
        if not answer.found:
            return replace(answer, bound=bound, values={})
        values = {
            name: answer.values[var.index] * self.step.get(name, 1.0)
            for name, var in self.variables.items()
        }
        objective = math.fsum(c * values[v.name] for v, c in self.program.objective.items())
        objective += constant
        if bound is not None and abs(objective - bound) <= ROUNDING * max(1.0, abs(objective)):
            bound = objective
        return replace(answer, values=values, objective=objective, bound=bound)
