"""From chosen options to an honest outcome: laid out, simulated, one visit where that misleads.

The two-job surface presumes evenly spaced visits. Slots of different lengths back to back are not
evenly spaced, so a plan with several visits is kept only when its realised cost is within 5 % of
the predicted one (guide, F4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.problems.quantum_selection import Option, QuantumSelectionProblem
from ioopt.protocols import Outcome, Simulation
from ioopt.result import StopReason
from ioopt.sim.quantum_selection import simulate
from ioopt.solvers.flexgang.quantum_greedy import best_uniform

AGREEMENT = 0.05
"""Largest accepted |realised - predicted| / predicted of a plan with several visits."""

Chooser = Callable[[QuantumSelectionProblem], Sequence[Option] | None]


def realised_outcome(
    costs: QuantumCosts,
    options: Sequence[Option],
    again: Chooser,
    bound: float | None = None,
    stop: StopReason = StopReason.FINISHED,
    notes: tuple[str, ...] = (),
) -> Outcome:
    """The outcome of *options*; *again* solves the one-visit problem when it must fall back.

    The gain reported is the realised one: 1 - realised / realised cost of the best uniform
    quantum.
    """
    problem = costs.problem
    told = list(notes)
    plan = costs.plan(options)
    simulation = simulate(problem, plan)
    predicted, realised = costs.total(options), simulation.metrics["realised"]
    if any(visits > 1 for _, visits in options) and not _agree(predicted, realised):
        single = again(problem.one_visit())
        if single is None:
            told.append("several visits a cycle miss their prediction, but one visit cannot do")
        else:
            told.append(
                f"fell back to one visit a cycle: with several, cost {realised:.4g} was realised "
                f"and {predicted:.4g} predicted (more than {AGREEMENT:.0%} apart)"
            )
            plan = costs.plan(single)
            simulation = simulate(problem, plan)
            realised = simulation.metrics["realised"]
    return Outcome(
        plan, bound, stop, simulation=simulation, notes=tuple(told),
        metrics=_gain(costs, realised),
    )  # fmt: skip


def _agree(predicted: float, realised: float) -> bool:
    return abs(realised - predicted) <= AGREEMENT * predicted


def _gain(costs: QuantumCosts, realised: float) -> dict[str, float | None]:
    uniform = best_uniform(costs)
    if uniform is None:
        return {"uniform_realised": None, "gain": None}
    baseline: Simulation = simulate(costs.problem, costs.plan(uniform))
    cost = baseline.metrics["realised"]
    return {"uniform_realised": cost, "gain": 1.0 - realised / cost if cost > 0 else None}
