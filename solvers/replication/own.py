"""Read the queues that a solver of the user answers with as a plan whose transfers the
replay makes.
"""

from collections.abc import Mapping

from ioopt.errors import InstanceError, SimulationError
from ioopt.formats.native import validate
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import read_queues

LEFT_TO_REPLAY = {"assign", "order", "eviction", "room"}
"""The fields of a plan that leaves its transfers to the replay."""


def plan_meant(problem: ReplicationProblem, answer: object, name: str) -> object:
    """Return the plan that *answer* means.

    ``{node: [task, ...]}`` are the queues of the nodes, like ``order`` of a plan. A
    plan that states no transfers leaves them to the rules of the replay, in batches as
    in workflows. Any other answer is returned unchanged.

    Raises InstanceError for such a plan with a node, a task or a file that the instance
    does not have, and for a task that is missing, stands in two places, or is assigned
    to one node and queued on another.
    """
    if not isinstance(answer, Mapping):
        return answer
    fields = ReplicationPlan.model_fields
    stated = dict(answer)
    if not any(key in fields for key in stated):
        stated = {"order": stated}
    if not stated.keys() <= LEFT_TO_REPLAY:
        return answer
    plan = validate(ReplicationPlan, stated | {"moves": "replay"}, name)
    try:
        owner = read_queues(problem, plan).owner
    except SimulationError as error:
        raise InstanceError(f"{name}: {error}") from None
    queued = {}
    for task, node in zip(problem.tasks, owner, strict=False):
        queued[task.id] = problem.nodes[node].id
    if plan.assign:
        _require_same(plan.assign, queued, name)
    return plan


def _require_same(
    assign: Mapping[str, str], queued: Mapping[str, str], name: str
) -> None:
    """Raise InstanceError unless *assign* has the node of each task in whose queue the
    task stands.
    """
    for task in assign:
        if task not in queued:
            raise InstanceError(f"{name}: assign: there is no task {task!r}")
    for task, node in queued.items():
        if task not in assign:
            raise InstanceError(f"{name}: assign: task {task!r} is missing")
        if assign[task] != node:
            raise InstanceError(
                f"{name}: task {task!r} is assigned to {assign[task]!r}, but stands in "
                f"the queue of {node!r}"
            )
