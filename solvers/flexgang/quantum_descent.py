"""Descent over the quanta of a selection: the best uniform quantum, then job by job (F4)."""

import math
from collections.abc import Sequence

from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.problems.flexgang.quantum_selection import Option

PASSES = 6


def greedy_options(costs: QuantumCosts) -> list[Option] | None:
    """One option a job, or None when the descent ends below a floor.

    Best uniform quantum with one visit, then up to six passes over the jobs in their order, each
    taking the option with the least total cost while L = sum f q floats; ties keep the present
    option, then the first of the menu.
    """
    problem = costs.problem
    options = _uniform_start(costs)
    best = _key(costs, options)
    for _ in range(PASSES):
        before = list(options)
        for job in range(len(problem.jobs)):
            for option in problem.options(job):
                trial = [*options[:job], option, *options[job + 1 :]]
                key = _key(costs, trial)
                if key < best:
                    options, best = trial, key
        if options == before:
            break
    return options if best[0] == 0 else None


def cycle_grid(costs: QuantumCosts) -> tuple[int, ...]:
    """Cycle lengths in ticks: the instance's grid and the greedy's, without which it could win."""
    lengths = set(costs.problem.default_cycles())
    single = costs.problem.one_visit()
    for menu in (costs, *([] if single is None else [QuantumCosts(single)])):
        options = greedy_options(menu)
        if options is not None:
            lengths.add(costs.cycle(options))
    return tuple(sorted(lengths))


def best_uniform(costs: QuantumCosts) -> list[Option] | None:
    """The best plan in which all jobs have the same quantum once a cycle; None if none is possible.

    Ties go to the quantum that stands first in the menu.
    """
    found = [options for options in _uniform(costs) if _key(costs, options)[0] == 0]
    return min(found, key=lambda options: _key(costs, options), default=None)


def _uniform(costs: QuantumCosts) -> list[list[Option]]:
    problem = costs.problem
    menus = [problem.options(job) for job in range(len(problem.jobs))]
    quanta = dict.fromkeys(q for menu in menus for q, _ in menu)
    return [
        [(quantum, 1)] * len(menus)
        for quantum in quanta
        if all((quantum, 1) in menu for menu in menus)
    ]


def _uniform_start(costs: QuantumCosts) -> list[Option]:
    problem = costs.problem
    first = [problem.options(job)[0] for job in range(len(problem.jobs))]
    return min(_uniform(costs), key=lambda options: _key(costs, options), default=first)


def _key(costs: QuantumCosts, options: Sequence[Option]) -> tuple[int, float]:
    """(jobs below their floor, cost of the others): feasible before cheap."""
    cycle = costs.cycle(options)
    each = [costs.cost(job, option, cycle) for job, option in enumerate(options)]
    finite = [cost for cost in each if math.isfinite(cost)]
    return len(each) - len(finite), math.fsum(finite)
