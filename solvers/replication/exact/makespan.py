"""``ip`` with ``objective=makespan``: the replay that ends first, of batches and workflows alike.

The model of Section 4.1 adds up what a node spends on fetching, copying and computing; a replay overlaps
them, shares the link and evicts. So ``link-aware`` gives a start that is never above a planner's, and as
far as it goes ``exact-workflow`` searches on from there, and proves
what queues of tasks can do (``queues_bound_seconds``).
"""

from dataclasses import replace

from ioopt.models.replication.workflow_bound import TransferBound
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.replication.exact import exact_workflow
from ioopt.solvers.replication.exact.exact_workflow import MOST_TASKS
from ioopt.solvers.replication.plans import TINY_TASKS
from ioopt.solvers.replication.search import link_aware

START_SHARE = {True: 0.3, False: 0.9}
"""Share of what is left for the start, by whether a search for a proof follows."""


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome[ReplicationPlan]:
    """The best plan found and a bound of all plans' makespans.

    Raises UnsolvableInstanceError for a task that fits no node.
    """
    provable = len(problem.tasks) <= MOST_TASKS and all(n.staging == 1 for n in problem.nodes)
    deadline = request.deadline
    part = deadline.within(START_SHARE[provable] * deadline.remaining())
    asked = replace(request, settings=link_aware.Settings(), deadline=part)
    if len(problem.tasks) <= TINY_TASKS and provable:
        return exact_workflow.solve(problem, replace(request, settings=None))
    started = link_aware.solve(problem, asked)
    if provable and not deadline.expired():
        exact = exact_workflow.solve(problem, replace(request, settings=None, start=started.plan))
        return replace(exact, notes=(*started.notes, *exact.notes))
    limits = () if provable else (f"proofs are searched for up to {MOST_TASKS} tasks",)
    bound = max(started.bound or 0.0, TransferBound(problem).seconds)
    return replace(started, bound=bound, notes=(*started.notes, *limits))
