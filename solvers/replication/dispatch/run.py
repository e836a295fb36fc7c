"""Solving by a dispatcher: its run itself, or the queues that the run makes, replayed."""

from typing import Literal

from ioopt.decisions.replication import Dispatcher
from ioopt.models.replication.timeline_bound import makespan_bound_seconds
from ioopt.problems.replication import EvictionPolicy, ReplayOptions, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.replication.dispatch import dispatch


class Settings(ReplayOptions):
    """``mode``: ``replay`` the queues of the run (they stage earlier), or answer with the run itself.

    ``eviction``: policy of the run and of the replay; ``prefetch``: a task may be given to a node
    whose cores are busy (a run answered with alone).
    """

    mode: Literal["replay", "dispatch"] = "replay"
    eviction: EvictionPolicy = "farthest-next-use"
    prefetch: bool = False


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Run the dispatcher ``request.policy`` on planned times (workflow rules 11 and 17)."""
    return answer(problem, request, request.policy, request.settings or Settings())


def answer(
    problem: ReplicationProblem, request: SolveRequest, policy: Dispatcher, settings: Settings
) -> Outcome:
    """The answer of *policy*: a run with its record, or a plan of queues."""
    online = settings.mode == "dispatch"
    plan, ran = dispatch(
        problem, policy, prefetch=settings.prefetch and online, eviction=settings.eviction,
        options=settings, deadline=request.deadline,
    )  # fmt: skip
    if not online:
        plan = plan.model_copy(update={"dispatches": None})
    return Outcome(
        plan,
        makespan_bound_seconds(problem),
        objective_name="makespan_seconds",
        simulation=ran if online else None,
    )
