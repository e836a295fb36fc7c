"""Chosen options laid out and simulated; one visit a cycle where several come out worse than predicted.

Slots of different lengths back to back are not evenly spaced, as the surface presumes, so a plan
with several visits is kept only when its realised cost is at most 5 % above the predicted one (F4).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.options import Deadline
from ioopt.problems.flexgang.quantum_selection import Option, QuantumSelectionProblem
from ioopt.protocols import Outcome, Simulation
from ioopt.result import StopReason
from ioopt.sim.flexgang.quantum_selection import simulate
from ioopt.solvers.flexgang.quantum_descent import best_uniform

AGREEMENT = 0.05
"""Largest accepted (realised - predicted) / predicted of a plan with several visits."""

Chooser = Callable[[QuantumSelectionProblem], Sequence[Option] | None]


def realised_outcome(
    costs: QuantumCosts,
    options: Sequence[Option],
    again: Chooser,
    bound: float | None = None,
    stop: StopReason = StopReason.FINISHED,
    deadline: Deadline | None = None,
) -> Outcome:
    """The outcome of *options*; *again* solves the one-visit problem when it must fall back.

    The gain is 1 - realised / realised cost of the best uniform quantum. When *deadline* has
    expired nothing is simulated.
    """
    told: list[str] = []
    simulation = simulate(costs.problem, costs.plan(options), deadline=deadline)
    if "realised" not in simulation.metrics:
        return Outcome(costs.plan(options), bound, stop, simulation=simulation)
    predicted, realised = costs.total(options), simulation.metrics["realised"]
    if not _agree(options, predicted, realised):
        once = costs.problem.one_visit()
        single = None if once is None else again(once)
        apart = (
            f"with several visits a cycle, cost {realised:.4g} was realised and {predicted:.4g} "
            f"predicted (more than {AGREEMENT:.0%} above)"
        )
        if single is not None:
            options, simulation = single, simulate(costs.problem, costs.plan(single))
            told.append(f"fell back to one visit a cycle: {apart}")
        else:
            why = "is not on every menu" if once is None else "cannot keep the floors"
            told.append(f"one visit a cycle {why}, and {apart}")
        realised = simulation.metrics["realised"]
    outcome = Outcome(costs.plan(options), bound, stop, simulation=simulation, notes=tuple(told))
    return replace(outcome, metrics=_gain(costs, realised))


def _agree(options: Sequence[Option], predicted: float, realised: float) -> bool:
    """One visit needs no proof; several may not come out more than 5 % dearer than predicted."""
    several = any(visits > 1 for _, visits in options)
    return not several or realised - predicted <= AGREEMENT * predicted


def _gain(costs: QuantumCosts, realised: float) -> dict[str, float | None]:
    uniform = best_uniform(costs)
    if uniform is None:
        return {"uniform_realised": None, "gain": None}
    baseline: Simulation = simulate(costs.problem, costs.plan(uniform))
    cost = baseline.metrics["realised"]
    return {"uniform_realised": cost, "gain": 1.0 - realised / cost if cost > 0 else None}
