"""Test that no bound of a workflow exceeds the makespan of random plans and dispatches.

Random plans follow an order in which producers precede readers. Nodes and eviction
policy are random, and some plans have copy entries. Each dispatcher runs once on every
instance. The bound that the checker computes by rule 18 must be equal.
"""

import random
from typing import Any

from random_workflows import random_workflow
from replication_samples import made
from workflow_exhaustive import POLICIES, tight_workflow
from workflow_timeline import give_needs, random_order

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
    """Return a workflow with files of 40 bytes.

    A file takes 2 s through an interface and 4 s over the link. A task is (seconds,
    inputs, outputs).
    """
    named = sorted(
        {name for _, reads, writes in tasks.values() for name in reads + writes}
    )
    return made(nodes, dict.fromkeys(named, 40), tasks, 10, 20)


def random_plan(problem: ReplicationProblem, rng: random.Random) -> ReplicationPlan:
    """Return a random plan whose queues do not wait for each other.

    In an order common to all queues, every task follows its predecessors.
    """
    order = random_order(rng, problem.model_dump(mode="json"))
    return ReplicationPlan.model_validate(
        {"order": order, "eviction": rng.choice(POLICIES)}
    )


def wrong_bounds(seed: int, plans: int) -> tuple[int, list[str]]:
    """Return the number of plans tried on one instance, and the errors of its bound."""
    rng = random.Random(seed)
    make = tight_workflow if seed % 3 == 0 else random_workflow
    instance = make(seed, rng.randint(2, 14))
    if seed % 2 == 0:
        give_needs(random.Random(seed), instance)
    problem = ReplicationProblem.model_validate(instance)
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
