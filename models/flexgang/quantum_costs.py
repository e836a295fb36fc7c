"""Costs of quantum selection (F4): c = w (S(q, L/f - q) - 1) + mu waste(q, L/f - q).

Other I/O jobs are ignored, as the two-job surface demands; compute jobs cost nothing but need
f q / L of at least their floor.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioopt.measure.io_surface import Surface
from ioopt.problems.flexgang.quantum_selection import (
    Choice,
    Option,
    QuantumPlan,
    QuantumSelectionProblem,
)

FLOOR_SLACK = 1e-9
"""Shares this little below the floor count as reaching it (rounding of f q / L)."""
CHAIN = 0.999
"""Part of a slowdown that is sure: the chain is good to a thousandth."""


def least_cost(problem: QuantumSelectionProblem) -> float:
    """No plan predicts a lower cost: a bound in closed form, before any response is computed.

    A process that computes the part r of an iteration on its own machine, and here has the part x of
    the cycle, has S >= r / x, whatever its quantum; floors of compute jobs leave F to all x. The
    least of sum w (r / x - 1) is (sum sqrt(w r))^2 / F - sum w, where x is as sqrt(w r).
    """
    rows = [
        (job.weight, job.burst_seconds / job.dedicated_seconds) for job in problem.jobs if job.is_io
    ]
    left = 1.0 - math.fsum(job.floor for job in problem.jobs if not job.is_io)
    if problem.surface is not None or left <= FLOOR_SLACK:
        return 0.0
    roots = math.fsum(math.sqrt(weight * part) for weight, part in rows)
    return max(0.0, CHAIN * roots**2 / left - math.fsum(weight for weight, _ in rows))


@dataclass
class QuantumCosts:
    """Costs of one instance, remembered by (job, option, cycle length in ticks)."""

    problem: QuantumSelectionProblem
    _known: dict[tuple[int, Option, int], float] = field(default_factory=dict)

    def cost(self, job: int, option: Option, cycle: int) -> float:
        """c[j,o,L]; infinity where the option does not fit the cycle or misses the job's floor."""
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
        """Cost of one option a job with L = sum f q; infinity where a floor is missed."""
        cycle = self.cycle(options)
        return math.fsum(self.cost(job, option, cycle) for job, option in enumerate(options))

    def cycle(self, options: Sequence[Option]) -> int:
        """L = sum f q in ticks."""
        return sum(self.problem.ticks(q) * f for q, f in options)

    def plan(self, options: Sequence[Option]) -> QuantumPlan:
        """The plan of one option a job."""
        chosen = {
            job.id: Choice(quantum_seconds=q, visits=f)
            for job, (q, f) in zip(self.problem.jobs, options)
        }
        cycle = self.problem.seconds(self.cycle(options))
        return QuantumPlan(cycle_seconds=cycle, options=chosen)
