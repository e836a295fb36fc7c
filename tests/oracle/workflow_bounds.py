"""No bound of a workflow lies above any plan: random instances,
random plans, dispatches.

Queues are dealt in a random order that the files allow, to random nodes, under a random
policy, some with copy entries; of each instance there is one run of every dispatcher.
The checker's own bound of rule 18 must be the same.
"""

import random
from typing import Any

from random_workflows import random_workflow
from replication_samples import made
from workflow_exhaustive import POLICIES, tight_workflow
from workflow_timeline import random_order

from ioopt.checks.replication.metrics import lower_bound
from ioopt.decisions.replication import Dispatcher
from ioopt.models.replication.workflow_bound import TransferBound, WorkflowBound
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo, locality, ready_min_min

DISPATCHERS: tuple[Dispatcher, ...] = (fifo, locality, ready_min_min)
TOLERANCE = 1e-9


def workflow(
    nodes: list[dict[str, Any]], **tasks: tuple[float, str, str]
) -> ReplicationProblem:
    """Files of 40 bytes, 2 s through an interface and 4 s over the link; tasks:
    seconds, reads, writes.
    """
    named = sorted(
        {name for _, reads, writes in tasks.values() for name in reads + writes}
    )
    return made(nodes, dict.fromkeys(named, 40), tasks, 10, 20)


def random_plan(problem: ReplicationProblem, rng: random.Random) -> ReplicationPlan:
    """Queues that never wait in a circle: every task behind its predecessors
    in one common order.
    """
    order = random_order(rng, problem.model_dump(mode="json"))
    return ReplicationPlan.model_validate(
        {"order": order, "eviction": rng.choice(POLICIES)}
    )


def wrong_bounds(seed: int, plans: int) -> tuple[int, list[str]]:
    """How many plans of one instance were looked at, and what is
    wrong with its bound.
    """
    rng = random.Random(seed)
    make = tight_workflow if seed % 3 == 0 else random_workflow
    problem = ReplicationProblem.model_validate(make(seed, rng.randint(2, 14)))
    if not all(problem.hosts):
        return 0, []
    bound, plain = TransferBound(problem).seconds, WorkflowBound(problem).seconds
    slack = TOLERANCE * max(1.0, bound)
    found = []
    if abs(lower_bound(problem) - plain) > slack or bound < plain - slack:
        found.append(
            f"seed {seed}: {bound}, checker {lower_bound(problem)}, rule 18 {plain}"
        )
    ends = [
        simulate(problem, random_plan(problem, rng), engine="python").metrics[
            "makespan_seconds"
        ]
        for _ in range(plans)
    ]
    for decide in DISPATCHERS:
        ends.append(dispatch(problem, decide)[1].metrics["makespan_seconds"])
    if min(ends) < bound - slack:
        found.append(f"seed {seed}: {bound} above {min(ends)}")
    return len(ends), found
