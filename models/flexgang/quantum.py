"""Quantum selection as an integer program, through PuLP (F4, rule 8; after Lee et al., Section 3.2).

Sets: jobs j, options o = (q, f) of each job, cycle lengths L of the grid.
Variables: z[j,o,L] 0/1, job j takes option o in a cycle of length L; y[L] 0/1, the cycle is L.

  min  sum c[j,o,L] z[j,o,L]
  (1)  sum_L y[L] = 1
  (2)  sum_o z[j,o,L] = y[L]                 for every j, L
  (3)  sum_{j,o} f q z[j,o,L] = L y[L]       for every L  (slots fill the cycle exactly)

Options that do not fit a length or miss a floor have no z. Times are whole ticks of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.problems.flexgang.quantum_selection import Option


class QuantumModel:
    """The program over *cycles* (ticks); :attr:`program` is the PuLP problem (minimise)."""

    def __init__(self, costs: QuantumCosts, cycles: Sequence[int]) -> None:
        import pulp

        self.costs, self.problem = costs, costs.problem
        self.cycles = tuple(cycles)
        self.program = pulp.LpProblem("quantum_selection", pulp.LpMinimize)
        self.y: dict[int, Any] = {}
        self.z: dict[tuple[int, int, int], Any] = {}
        for length in self.cycles:
            self.y[length] = pulp.LpVariable(f"y_{length}", cat="Binary")
            for job in range(len(self.problem.jobs)):
                for o, option in enumerate(self.problem.options(job)):
                    if math.isfinite(costs.cost(job, option, length)):
                        name = f"z_{job}_{o}_{length}"
                        self.z[job, o, length] = pulp.LpVariable(name, cat="Binary")
        self.program.setObjective(
            pulp.lpSum(
                costs.cost(job, self.option(job, o), length) * var
                for (job, o, length), var in self.z.items()
            )
        )
        self.add_one_cycle()
        self.add_one_option()
        self.add_cycle_is_full()

    def option(self, job: int, o: int) -> Option:
        """Option number *o* of a job."""
        return self.problem.options(job)[o]

    def add_one_cycle(self) -> None:
        """(1): sum_L y[L] = 1."""
        import pulp

        self.program += pulp.lpSum(self.y.values()) == 1, "one_cycle"

    def add_one_option(self) -> None:
        """(2): sum_o z[j,o,L] = y[L]."""
        import pulp

        for job in range(len(self.problem.jobs)):
            for length in self.cycles:
                options = self._of(job, length)
                self.program += pulp.lpSum(options) == self.y[length], f"option_{job}_{length}"

    def add_cycle_is_full(self) -> None:
        """(3): sum f q z[j,o,L] = L y[L]."""
        import pulp

        for length in self.cycles:
            used = []
            for job in range(len(self.problem.jobs)):
                for o, (q, f) in enumerate(self.problem.options(job)):
                    if (job, o, length) in self.z:
                        used.append(self.problem.ticks(q) * f * self.z[job, o, length])
            self.program += pulp.lpSum(used) == length * self.y[length], f"full_{length}"

    def _of(self, job: int, length: int) -> list[Any]:
        count = len(self.problem.options(job))
        return [self.z[job, o, length] for o in range(count) if (job, o, length) in self.z]

    def options(self, value: Callable[[Any], float]) -> list[Option]:
        """One option a job of a solution; *value* maps a variable to its value."""
        chosen: list[Option] = [(0.0, 0)] * len(self.problem.jobs)
        for (job, o, _), var in self.z.items():
            if value(var) > 0.5:
                chosen[job] = self.option(job, o)
        return chosen

    def start_values(self, options: Sequence[Option]) -> dict[str, float]:
        """Values by variable name that state *options*, whose cycle is in the grid."""
        cycle = self.costs.cycle(options)
        values = {var.name: float(length == cycle) for length, var in self.y.items()}
        for (job, o, length), var in self.z.items():
            chosen = length == cycle and self.option(job, o) == options[job]
            values[var.name] = float(chosen)
        return values
