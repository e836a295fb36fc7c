"""Exact quantum selection by dynamic programming: a multiple-choice knapsack per cycle length (F4)."""

from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.problems.flexgang.quantum_selection import Option, QuantumSelectionProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.flexgang.quantum_descent import greedy_options


def solve(problem: QuantumSelectionProblem, request: SolveRequest) -> Outcome:
    """Solve every cycle length of the grid, the greedy's lengths among them."""
    from ioopt.solvers.flexgang.quantum_realise import realised_outcome

    costs = QuantumCosts(problem)
    best: list[Option] | None = None
    value = float("inf")
    stop = StopReason.FINISHED
    for cycle in cycle_grid(costs):
        if best is not None and request.deadline.expired():
            stop = StopReason.TIME
            break
        found, cost = best_for_cycle(costs, cycle)
        if found is not None and cost < value:
            best, value = found, cost
            request.incumbents.report(costs.plan(found), cost)
    if best is None:
        return Outcome(None, stop=stop, infeasible=stop is StopReason.FINISHED)
    bound = value if stop is StopReason.FINISHED else None
    return realised_outcome(costs, best, best_of, bound, stop, request.deadline)


def cycle_grid(costs: QuantumCosts) -> tuple[int, ...]:
    """Cycle lengths in ticks: the instance's grid and the greedy's, without which it could win."""
    lengths = set(costs.problem.default_cycles())
    single = costs.problem.one_visit()
    for menu in (costs, *([] if single is None else [QuantumCosts(single)])):
        options = greedy_options(menu)
        if options is not None:
            lengths.add(costs.cycle(options))
    return tuple(sorted(lengths))


def best_of(problem: QuantumSelectionProblem) -> list[Option] | None:
    """The best options over the whole grid; None when no length can be filled."""
    costs = QuantumCosts(problem)
    found = (best_for_cycle(costs, cycle) for cycle in cycle_grid(costs))
    return min(((cost, options) for options, cost in found if options), default=(0.0, None))[1]


def best_for_cycle(costs: QuantumCosts, cycle: int) -> tuple[list[Option] | None, float]:
    """(options, cost) of the cheapest exact filling of *cycle* ticks; (None, infinity) if none.

    Ties go to the option that stands first in the menu.
    """
    import numpy as np

    problem = costs.problem
    cheapest = np.full(cycle + 1, np.inf)
    cheapest[0] = 0.0
    taken: list[np.ndarray] = []
    menus: list[tuple[Option, ...]] = []
    for job in range(len(problem.jobs)):
        menu = problem.options(job)
        now = np.full(cycle + 1, np.inf)
        choice = np.full(cycle + 1, -1)
        for o, option in enumerate(menu):
            width = problem.ticks(option[0]) * option[1]
            cost = costs.cost(job, option, cycle)
            if width > cycle or not np.isfinite(cost):
                continue
            trial = np.full(cycle + 1, np.inf)
            trial[width:] = cheapest[: cycle + 1 - width] + cost
            better = trial < now
            now[better], choice[better] = trial[better], o
        cheapest = now
        taken.append(choice)
        menus.append(menu)
    if not np.isfinite(cheapest[cycle]):
        return None, float("inf")
    options: list[Option] = []
    left = cycle
    for menu, choice in zip(reversed(menus), reversed(taken)):
        option = menu[int(choice[left])]
        options.append(option)
        left -= problem.ticks(option[0]) * option[1]
    return options[::-1], float(cheapest[cycle])
