"""The least makespan of a small workflow by replaying every set of
queues under every policy.

Slow and exact: queues are dealt one task at a time and replayed by the simulator on
Fractions of ``workflow_timeline.py``; a deal whose queues wait for each other in a
circle is left out. Nothing of the solver that it judges is used.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product, takewhile
from typing import Any
from unittest.mock import patch

from random_workflows import random_workflow
from workflow_timeline import Run

POLICIES = ("farthest-next-use", "popularity", "lru")


def all_queues(instance: dict[str, Any]) -> Iterator[dict[str, list[str]]]:
    """Every assignment that fits and every order on the nodes that does
    not wait for itself.
    """
    tasks, nodes = instance["tasks"], instance["nodes"]
    size = {row["id"]: row["bytes"] for row in instance["files"]}
    hosts = []
    for task in tasks:
        need = sum(size[name] for name in (*task["inputs"], *task["outputs"]))
        hosts.append(
            [
                node["id"]
                for node in nodes
                if task["cores"] <= node["cores"]
                and (node["disk_bytes"] is None or need <= node["disk_bytes"])
            ]
        )
    for places in product(*hosts):
        rows = [
            [
                task["id"]
                for task, place in zip(tasks, places, strict=True)
                if place == node["id"]
            ]
            for node in nodes
        ]
        for queues in product(*(permutations(row) for row in rows)):
            order = {
                node["id"]: list(row) for node, row in zip(nodes, queues, strict=True)
            }
            if ends(instance, order):
                yield order


def ends(instance: dict[str, Any], order: dict[str, list[str]]) -> bool:
    """Whether all tasks come to run when each waits for its inputs and
    for those before it.
    """
    made = {name for task in instance["tasks"] for name in task["outputs"]}
    by_name = {task["id"]: task for task in instance["tasks"]}
    waiting = {node: list(row) for node, row in order.items()}
    moved = True
    while moved:
        moved = False
        for row in waiting.values():
            while row and not made & set(by_name[row[0]]["inputs"]):
                made -= set(by_name[row.pop(0)]["outputs"])
                moved = True
    return not any(waiting.values())


def least_makespan(
    instance: dict[str, Any], policies: tuple[str, ...] = POLICIES
) -> Fraction:
    """The least end over all queues and policies."""
    link = instance["network"]["remote_link"]
    return min(
        Run(instance, link, policy, order).run()
        for order in all_queues(instance)
        for policy in policies
    )


def random_instance(seed: int, most_tasks: int, batch: bool) -> dict[str, Any]:
    """A random workflow on up to three nodes, or the batch that is left of it."""
    instance = random_workflow(seed, most_tasks)
    instance["nodes"] = instance["nodes"][:3]
    if batch:
        for task in instance["tasks"]:
            task |= {"outputs": [], "cores": 1, "release_seconds": 0}
        instance["nodes"] = [node | {"cores": 1} for node in instance["nodes"]]
    return instance


def disagreement(seed: int, most_tasks: int, batch: bool = False) -> str | None:
    """What the search answers otherwise on a random workflow (or batch);
    None where all is well.
    """
    from ioopt.problems.replication import ReplicationProblem
    from ioopt.solvers.replication.exact.exact_workflow import QueueSearch

    instance = random_instance(seed, most_tasks, batch)
    problem = ReplicationProblem.model_validate(instance)
    if not all(problem.hosts):
        return None
    for policy in POLICIES:
        search = QueueSearch(problem, policy, float("inf"), fast=False)
        while not search.run(40):
            pass
        expected = float(least_makespan(instance, (policy,)))
        if abs(search.upper - expected) > 1e-9 * max(1.0, expected):
            return f"seed {seed}, {policy}: {search.upper}, by exhaustion {expected}"
    return None


def tight_workflow(seed: int, most_tasks: int = 5) -> dict[str, Any]:
    """Two nodes that read the same few files all the time, on disks with next
    to no room to spare.
    """
    rng = random.Random(seed)
    instance = random_workflow(seed, most_tasks)
    names = [f"r{k}" for k in range(4)]
    born = [{"id": name, "bytes": rng.choice([10, 20, 30])} for name in names]
    instance["files"] = born + [f for f in instance["files"] if f["id"] not in names]
    size = {file["id"]: file["bytes"] for file in instance["files"]}
    for task in instance["tasks"]:
        made = [name for name in task["inputs"] if name not in names]
        task |= {
            "inputs": made + rng.sample(names, rng.randint(1, 3)),
            "release_seconds": 0,
        }
    need = max(
        sum(size[n] for n in (*t["inputs"], *t["outputs"])) for t in instance["tasks"]
    )
    cores = max(task["cores"] for task in instance["tasks"])
    instance["nodes"] = [
        {
            "id": f"n{i}",
            "speed": rng.choice([1, 2, 1.25]),
            "cores": max(cores, rng.choice([1, 2])),
            "disk_bytes": need + rng.choice([0, 5, 10, 20]),
        }
        for i in range(2)
    ]
    return instance


def astray(instance: dict[str, Any], policy: Any) -> tuple[int, list[str]]:
    """Ends of a search that prunes nothing, and which of them are no
    replay of their queues.
    """
    from ioopt.problems.replication import ReplicationProblem
    from ioopt.sim.replication.simulate import simulate
    from ioopt.solvers.replication.exact import queue_kernel
    from ioopt.solvers.replication.exact.exact_workflow import QueueSearch
    from ioopt.solvers.replication.plans import build_plan

    problem = ReplicationProblem.model_validate(instance)
    tasks = len(problem.tasks)
    ends: dict[tuple[tuple[int, ...], ...], float] = {}

    def note(inst: Any, plan: Any, st: Any, tree: Any) -> None:
        rows = (plan.entry[at : at + tasks] for at in range(0, len(plan.entry), tasks))
        queues = tuple(
            tuple(takewhile(lambda k: k >= 0, map(int, row))) for row in rows
        )
        assert queues not in ends, "queues are met once"
        ends[queues] = float(st.clock[1])

    with (
        patch.object(queue_kernel, "worth", lambda tree, bound: True),
        patch.object(queue_kernel, "leaf", note),
    ):
        assert QueueSearch(problem, policy, float("inf"), fast=False).run(10**9)
    wrong = [
        f"{queues}: {seconds}, replayed {true}"
        for queues, seconds in ends.items()
        if abs(
            (
                true := simulate(
                    problem, build_plan(problem, queues, policy), engine="python"
                ).metrics["makespan_seconds"]
            )
            - seconds
        )
        > 1e-9
    ]
    return len(ends), wrong
