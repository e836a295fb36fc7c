"""Keep the best plans of a link-aware search."""

from dataclasses import dataclass, field
from math import inf

from ioopt.problems.replication import EvictionPolicy, ReplicationPlan
from ioopt.solvers.replication.search import params
from ioopt.solvers.replication.search.link_search import Queues


@dataclass
class Best:
    """A plan that competes, as queues and an eviction policy, or as the plan of a
    planner.

    ``score`` is the exact measure in seconds. ``rank`` is the figure by which plans
    compete: their score or, in a robust search, their mean score over noisy replays.
    ``rounds``: the tasks of each round, if the plan has barriers.
    """

    score: float = inf
    rank: float = inf
    queues: Queues = field(default_factory=list)
    eviction: EvictionPolicy = "farthest-next-use"
    plan: ReplicationPlan | None = None
    origin: str = ""
    rounds: Queues = field(default_factory=list)


class Elites:
    """Keep the best plans of a run, from which restarts continue.

    ``best``: the best plan of the run. ``of_cycle``: the best plan of the present cycle
    of restarts. ``least``: the plan with the least exact score. ``finalists``: in a
    *robust* run, the plans among which the answer is chosen, the best first.
    ``of_planners``: the least score of the planners' plans. *proof* is the largest
    score that meets the lower bound; scores are in seconds.
    """

    def __init__(self, proof: float, robust: bool) -> None:
        self.proof = proof
        self.robust = robust
        self.best = Best()
        self.of_cycle = Best()
        self.least = Best()
        self.finalists: list[Best] = []
        self.of_planners = inf

    def kind(self, score: float) -> int:
        """Return the kind of a plan with this *score*: 0 if it meets the bound, 1 if it
        is no worse than the planners' plans, else 2.

        Plans of a search that is not robust are all of one kind.
        """
        if not self.robust:
            return 0
        if score <= self.proof:
            return 0
        return 1 if score <= self.of_planners else 2

    def key(self, found: Best) -> tuple[int, float]:
        """Return the key by which plans compete: the least is the best."""
        return self.kind(found.score), found.rank

    def offer(self, found: Best) -> bool:
        """Keep *found* where it is among the best; return whether it is the best plan
        of the run now.
        """
        if found.score < self.least.score:
            self.least = found
        if self.robust:
            self._keep_finalist(found)
        if self.key(found) < self.key(self.of_cycle):
            self.of_cycle = found
        if self.key(found) >= self.key(self.best):
            return False
        self.best = found
        return True

    def _keep_finalist(self, found: Best) -> None:
        """Keep *found* for the choice at the end, if it may be among the best."""
        knobs = params.PARAMS
        near = knobs.near * min(found.rank, self.best.rank)
        if found.rank == inf or found.rank > near:
            return
        self.finalists.append(found)
        self.finalists.sort(key=self.key)
        del self.finalists[knobs.finalists :]

    def rival(self, score: float) -> float:
        """Return the rank that a plan with this *score* must beat: that of the best
        plan of the cycle, if both are of one kind, else infinity.
        """
        if self.kind(score) == self.kind(self.of_cycle.score):
            return self.of_cycle.rank
        return inf
