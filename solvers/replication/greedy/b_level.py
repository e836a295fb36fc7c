"""List scheduling by b-level: the longest path to the end first, behind what its cores have.

The b-level counts computing alone (Kwok and Ahmad 1999, static b-level); cores, files that stay on
the nodes, and releases are ours (workflow rules 14 and 16).
"""

from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.replication.greedy.commits import FreeTimes, Ranked, Settings, plan_by_rank

__all__ = ["Settings", "plan_b_level", "solve"]


def plan_b_level(problem: ReplicationProblem, deadline: Deadline | None = None) -> Ranked:
    """The commits and ranks of b-level; queues go by (planned start, commit).

    Raises UnsolvableInstanceError for a task that fits no node.
    """
    return plan_by_rank(problem, FreeTimes, files_in_rank=False, deadline=deadline)


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Plan by b-level; the planned end of the last task is metric ``planned_makespan_seconds``."""
    settings = request.settings or Settings()
    ranked = plan_b_level(problem, request.deadline)
    return ranked.commits.outcome(settings.eviction, options=settings)
