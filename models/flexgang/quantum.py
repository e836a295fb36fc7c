"""Formulate quantum selection as an integer program (F4, rule 8).

After Lee et al., Section 3.2. Sets: jobs j, options o = (q, f) of each job, cycle
lengths L of the grid. Variables: z[j,o,L] 0/1, job j takes option o in a cycle of
length L; y[L] 0/1, the cycle is L.

  min  sum c[j,o,L] z[j,o,L]
  (1)  sum_L y[L] = 1
  (2)  sum_o z[j,o,L] = y[L]                 for every j, L
  (3)  sum_{j,o} f q z[j,o,L] = L y[L]       for every L  (slots fill the cycle exactly)

Options that do not fit a length or miss a floor have no z. Times are whole ticks of the
grid.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ioopt.measure.quantum_chain import Surface
from ioopt.models.program import Number, Program, Term
from ioopt.problems.flexgang.quantum_selection import (
    Choice,
    Option,
    QuantumPlan,
    QuantumSelectionProblem,
)

FLOOR_SLACK = 1e-9
"""Distance below the floor at which a share still keeps it (rounding of f q / L)."""
CHAIN = 0.999
"""Share of a computed slowdown that is certain, as the chain is accurate to a
thousandth.
"""


def least_cost(problem: QuantumSelectionProblem) -> float:
    """Return a lower bound of the predicted cost, in closed form.

    A process that computes for the share r of an iteration on a machine of its own, and
    gets the share x of the cycle here, has S >= r / x for any quantum; the floors of
    compute jobs leave the share F for all I/O processes together. The least of sum w (r
    / x - 1) is (sum sqrt(w r))^2 / F - sum w, where x is proportional to sqrt(w r).
    """
    rows = [
        (job.weight, job.burst_seconds / job.dedicated_seconds)
        for job in problem.jobs
        if job.is_io
    ]
    left = 1.0 - math.fsum(job.floor for job in problem.jobs if not job.is_io)
    if problem.surface is not None or left <= FLOOR_SLACK:
        return 0.0
    roots = math.fsum(math.sqrt(weight * part) for weight, part in rows)
    return max(0.0, CHAIN * roots**2 / left - math.fsum(weight for weight, _ in rows))


@dataclass
class QuantumCosts:
    """Cache the costs of one instance by (job, option, cycle length in ticks)."""

    problem: QuantumSelectionProblem
    _known: dict[tuple[int, Option, int], float] = field(default_factory=dict)

    def cost(self, job: int, option: Option, cycle: int) -> float:
        """Return c[j,o,L].

        Infinite if the option does not fit the cycle or misses the job's floor.
        """
        key = (job, option, cycle)
        if key not in self._known:
            self._known[key] = self._cost(job, option, cycle)
        return self._known[key]

    def _cost(self, job: int, option: Option, cycle: int) -> float:
        quantum, visits = option
        width = self.problem.ticks(quantum) * visits
        item = self.problem.jobs[job]
        if width > cycle or width < (item.floor - FLOOR_SLACK) * cycle:
            return math.inf
        if not item.is_io:
            return 0.0
        on = float(quantum)
        off = self.problem.seconds(cycle - width) / visits
        surface = Surface(self.problem.machine.processors, self.problem.surface)
        if not surface.covers(on, off):
            return math.inf
        cost = item.weight * (surface.at(item, on, off).slowdown - 1.0)
        if self.problem.mu > 0:
            cost += self.problem.mu * surface.waste(item, on, off)
        return cost

    def total(self, options: Sequence[Option]) -> float:
        """Return the cost of one option per job; infinity if a floor is missed."""
        cycle = self.cycle(options)
        return math.fsum(
            self.cost(job, option, cycle) for job, option in enumerate(options)
        )

    def cycle(self, options: Sequence[Option]) -> int:
        """Return L = sum f q in ticks."""
        return sum(self.problem.ticks(q) * f for q, f in options)

    def plan(self, options: Sequence[Option]) -> QuantumPlan:
        """Return the plan of one option per job."""
        chosen = {
            job.id: Choice(quantum_seconds=q, visits=f)
            for job, (q, f) in zip(self.problem.jobs, options)
        }
        cycle = self.problem.seconds(self.cycle(options))
        return QuantumPlan(cycle_seconds=cycle, options=chosen)


class QuantumModel:
    """Build the program for cycle lengths *cycles* (ticks); minimise
    :attr:`program`.
    """

    def __init__(self, costs: QuantumCosts, cycles: Sequence[int]) -> None:
        self.costs = costs
        self.problem = costs.problem
        self.program = Program("quantum_selection")
        self.y: dict[int, int] = {}
        self.z: dict[tuple[int, int, int], int] = {}
        for length in cycles:
            self.y[length] = self.program.binary(f"y_{length}")
            for job in range(len(self.problem.jobs)):
                for o, option in enumerate(self.problem.options(job)):
                    if math.isfinite(costs.cost(job, option, length)):
                        self.z[job, o, length] = self.program.binary(
                            f"z_{job}_{o}_{length}"
                        )
        self.program.objective = {
            at: cost
            for (job, o, length), at in self.z.items()
            if (cost := costs.cost(job, self.option(job, o), length))
        }
        self.program.add("one_cycle", [(at, 1) for at in self.y.values()], 1, 1)  # (1)
        taken: dict[tuple[int, int], list[Term]] = defaultdict(list)
        used: dict[int, list[Term]] = defaultdict(list)
        for (job, o, length), at in self.z.items():
            q, f = self.option(job, o)
            taken[job, length].append((at, 1))
            used[length].append((at, self.problem.ticks(q) * f))
        for job in range(len(self.problem.jobs)):
            for length, y in self.y.items():  # (2)
                terms = [*taken[job, length], (y, -1)]
                self.program.add(f"option_{job}_{length}", terms, 0, 0)
        for length, y in self.y.items():  # (3)
            self.program.add(f"full_{length}", [*used[length], (y, -length)], 0, 0)

    def option(self, job: int, o: int) -> Option:
        """Return option number *o* of a job."""
        return self.problem.options(job)[o]

    def options(self, values: Mapping[int, Number]) -> list[Option]:
        """Return the options chosen by a solution, one per job."""
        chosen: list[Option] = [(0.0, 0)] * len(self.problem.jobs)
        for (job, o, _), var in self.z.items():
            if values[var] > 0.5:
                chosen[job] = self.option(job, o)
        return chosen

    def start_values(self, options: Sequence[Option]) -> dict[int, float]:
        """Return the values of all variables for *options*, whose cycle is in the
        grid.
        """
        cycle = self.costs.cycle(options)
        values = {var: float(length == cycle) for length, var in self.y.items()}
        for (job, o, length), var in self.z.items():
            chosen = length == cycle and self.option(job, o) == options[job]
            values[var] = float(chosen)
        return values
