"""Formulate quantum selection as an integer program (F4, rule 8).

After Lee et al., Section 3.2. Each job j takes an option o = (q, f): f visits in a
cycle, each of a quantum q. L is a cycle length of the grid. Variables: z[j,o,L] is 1 if
job j takes option o in a cycle of length L; y[L] is 1 if the cycle has length L.
c[j,o,L] is the cost of an option: the weighted slowdown of an I/O job plus mu for each
wasted part of the CPU; it is 0 for a compute job.

Objective: minimise sum over j, o and L of c[j,o,L] z[j,o,L]. Constraints:

(1) sum over L of y[L] = 1: there is one cycle length
(2) sum over o of z[j,o,L] = y[L], for every j and L: a job takes one option
(3) sum over j and o of f q z[j,o,L] = L y[L], for every L: visits fill the cycle
    exactly

An option that does not fit a length, or misses a floor, has no variable z. Times are
whole ticks of the grid.
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
"""A share this far below its floor still keeps it, because f q / L is rounded."""
CHAIN = 0.999
"""Part of a computed slowdown that is certain; the Markov chain is accurate to
1/1000.
"""


def least_cost(problem: QuantumSelectionProblem) -> float:
    """Return a lower bound of the predicted cost, in closed form.

    Let r be the part of an iteration that an I/O process computes when it has a machine
    of its own, and x its share of the cycle here. Its slowdown S is at least r / x for
    every quantum. F is the share that the floors of the compute jobs leave for all I/O
    processes together. The least value of sum w (r / x - 1) is (sum sqrt(w r))^2 / F -
    sum w, where w is the weight; it is reached with x proportional to sqrt(w r).
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
    """Compute and cache the costs of the options of one instance.

    The key is (job, option, cycle length in ticks).
    """

    problem: QuantumSelectionProblem
    _known: dict[tuple[int, Option, int], float] = field(default_factory=dict)

    def cost(self, job: int, option: Option, cycle: int) -> float:
        """Return c[j,o,L], the cost of an *option* of *job* in a cycle of *cycle*
        ticks.

        It is infinite if the option does not fit the cycle or misses the job's floor.
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
        """Return the total cost of *options*, one for each job; infinite if a floor is
        missed.
        """
        cycle = self.cycle(options)
        return math.fsum(
            self.cost(job, option, cycle) for job, option in enumerate(options)
        )

    def cycle(self, options: Sequence[Option]) -> int:
        """Return the cycle length in ticks: the sum of f q over *options*, one for each
        job.
        """
        return sum(self.problem.ticks(q) * f for q, f in options)

    def plan(self, options: Sequence[Option]) -> QuantumPlan:
        """Return the plan in which each job takes its option of *options*."""
        chosen = {
            job.id: Choice(quantum_seconds=q, visits=f)
            for job, (q, f) in zip(self.problem.jobs, options)
        }
        cycle = self.problem.seconds(self.cycle(options))
        return QuantumPlan(cycle_seconds=cycle, options=chosen)


class QuantumModel:
    """Build the program for the cycle lengths *cycles*, in ticks.

    :attr:`program` is to be minimised.
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
        """Return option number *o* of *job*."""
        return self.problem.options(job)[o]

    def options(self, values: Mapping[int, Number]) -> list[Option]:
        """Return the options that a solution chooses, one for each job."""
        chosen: list[Option] = [(0.0, 0)] * len(self.problem.jobs)
        for (job, o, _), var in self.z.items():
            if values[var] > 0.5:
                chosen[job] = self.option(job, o)
        return chosen

    def start_values(self, options: Sequence[Option]) -> dict[int, float]:
        """Return the values of all variables that represent *options*, one for each
        job.

        The cycle length of *options* must be one of the model's.
        """
        cycle = self.costs.cycle(options)
        values = {var: float(length == cycle) for length, var in self.y.items()}
        for (job, o, length), var in self.z.items():
            chosen = length == cycle and self.option(job, o) == options[job]
            values[var] = float(chosen)
        return values
