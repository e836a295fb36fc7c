"""Judge plans of a link-aware search by replays under unfair sharing."""

from math import inf

from ioopt.problems.replication import (
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.sim.replication.build import Noise
from ioopt.sim.replication.noisy import noisy_makespans
from ioopt.solvers.replication.search import params
from ioopt.solvers.replication.search.budget import Budget
from ioopt.solvers.replication.search.elites import Best
from ioopt.solvers.replication.search.link_search import Engine

FIRST_DRAW = 4001
"""The first draw of weights by which plans are judged during the search."""
FINAL_DRAW = 5001
"""The first draw of weights by which the answer is chosen."""
STEADY_DRAWS = range(6001, 7801)
"""The first draws of weights by which plans are annealed, one after the other.

A result states noisy figures by draws from number 1 on, which no search uses. Weights
repeat after 8,191 draws.
"""


class Judge:
    """Replay plans under *noise* and count the replays.

    All plans are judged by the same draws of weights, so that their means can be
    compared.
    """

    def __init__(self, engine: Engine, noise: Noise, budget: Budget) -> None:
        self.engine = engine
        self.noise = noise
        self.budget = budget

    def rank(self, found: Best, least: float) -> float:
        """Return the mean score of *found* in seconds; infinite if it is not near the
        *least* mean so far.
        """
        knobs = params.PARAMS
        if found.score > knobs.hopeless * least:
            return inf
        few = knobs.few_draws
        rest = knobs.all_draws - few
        first = self.mean(found, FIRST_DRAW, few, knobs.give_up * least)
        if first == inf:
            return inf
        second = self.mean(found, FIRST_DRAW + few, rest)
        return (few * first + rest * second) / (few + rest)

    def mean(self, found: Best, first: int, count: int, most: float = inf) -> float:
        """Return the mean score of *found* over *count* noisy replays, the first by
        draw number *first*; infinite if it is above *most*.

        The queues of a plan that was decided while tasks ran stand for its decisions.
        The additive time of a plan with copy entries or rounds is not replayed under
        noise: its exact score stands for its mean.
        """
        plan = found.plan
        problem = self.engine.problem
        if plan is None or plan.dispatches or is_queues(problem, plan):
            self.budget.evaluations += count
            draws = range(first, first + count)
            return self.engine.noisy_mean(
                found.queues, found.eviction, found.rounds, draws, most
            )
        if self.engine.additive:
            return found.score
        self.budget.evaluations += count
        makespans = noisy_makespans(problem, plan, self.noise, count, first=first)
        return sum(makespans) / count


def is_queues(problem: ReplicationProblem, plan: ReplicationPlan) -> bool:
    """Return whether the queues of the tasks and the eviction policy say all that a
    replay of *plan* needs.
    """
    copies = sum(map(len, plan.order.values())) > len(problem.tasks)
    return not (plan.rounds or plan.dispatches or plan.carry_out or copies)
