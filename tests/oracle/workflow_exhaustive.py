"""Find the least makespan of a small workflow by replaying all queues under every
policy.

The search is slow and exact. The queues are replayed by the simulator on Fractions in
``workflow_timeline.py``; queues that wait for each other are left out. No code is
shared with the solver that is tested.
"""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product, takewhile
from typing import Any
from unittest.mock import patch

from random_workflows import random_workflow
from workflow_timeline import Run, give_needs

POLICIES = ("farthest-next-use", "popularity", "lru")


def all_queues(instance: dict[str, Any]) -> Iterator[dict[str, list[str]]]:
    """Yield every set of queues in which all tasks fit their nodes and no queues wait
    for each other.
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
                and has_memory(task, node)
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


def has_memory(task: dict[str, Any], node: dict[str, Any]) -> bool:
    """Return whether the memory of *node* suffices for *task*."""
    memory = node.get("memory_bytes")
    return memory is None or task.get("memory_bytes", 0) <= memory


def ends(instance: dict[str, Any], order: dict[str, list[str]]) -> bool:
    """Return whether all tasks can run, if each waits for its inputs and for those
    ahead of it.
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
    """Return the least makespan over all queues and *policies*."""
    link = instance["network"]["remote_link"]
    return min(
        Run(instance, link, policy, order).run()
        for order in all_queues(instance)
        for policy in policies
    )


def random_instance(
    seed: int, most_tasks: int, batch: bool, needs: bool = False
) -> dict[str, Any]:
    """Return a random workflow on up to three nodes, or if *batch* the same without
    outputs; with *needs*, tasks have overheads, take memory and use their disks.
    """
    instance = random_workflow(seed, most_tasks)
    instance["nodes"] = instance["nodes"][:3]
    if batch:
        for task in instance["tasks"]:
            task |= {"outputs": [], "cores": 1, "release_seconds": 0}
        instance["nodes"] = [node | {"cores": 1} for node in instance["nodes"]]
    if needs:
        rng = random.Random(f"needs {seed}")
        give_needs(rng, instance)
        instance["task_disk"] = rng.random() < 0.5
        for node in instance["nodes"]:
            if rng.random() < 0.5:
                node["disk_bytes_per_second"] = rng.choice([4.0, 10.0, 25.0])
    return instance


def disagreement(
    seed: int, most_tasks: int, batch: bool = False, needs: bool = False
) -> str | None:
    """Compare the search with the exhaustive one on a random instance.

    Return a description of the difference, or None if the makespans are equal.
    """
    from ioopt.problems.replication import ReplicationProblem
    from ioopt.solvers.replication.exact.exact_workflow import QueueSearch

    instance = random_instance(seed, most_tasks, batch, needs)
    problem = ReplicationProblem.model_validate(instance)
    if not all(problem.hosts):
        return None
    for policy in POLICIES:
        search = QueueSearch(problem, policy, float("inf"))
        while not search.run(40):
            pass
        expected = float(least_makespan(instance, (policy,)))
        if abs(search.upper - expected) > 1e-9 * max(1.0, expected):
            return f"seed {seed}, {policy}: {search.upper}, by exhaustion {expected}"
    return None


def tight_workflow(seed: int, most_tasks: int = 5) -> dict[str, Any]:
    """Return a workflow whose tasks read the same few files on two nodes with nearly
    full disks.
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
    """Compare a search without pruning with replays of its queues.

    Return the number of complete plans that it visits, and those whose makespan is not
    that of their replay.
    """
    from ioopt.problems.replication import ReplicationProblem
    from ioopt.sim.replication.simulate import simulate
    from ioopt.solvers.replication.exact import queue_kernel
    from ioopt.solvers.replication.exact.exact_workflow import QueueSearch
    from ioopt.solvers.replication.plans import build_plan

    problem = ReplicationProblem.model_validate(instance)
    tasks = len(problem.tasks)
    ends: dict[tuple[tuple[int, ...], ...], float] = {}

    def note(w: Any, tree: Any) -> None:
        entries = [place.entry for place in w.places]
        rows = (entries[at : at + tasks] for at in range(0, len(entries), tasks))
        queues = tuple(tuple(takewhile(lambda k: k >= 0, row)) for row in rows)
        assert queues not in ends, "queues are met once"
        ends[queues] = w.run.last_end

    with (
        patch.object(queue_kernel, "worth", lambda tree, bound: True),
        patch.object(queue_kernel, "leaf", note),
    ):
        assert QueueSearch(problem, policy, float("inf"), "python").run(10**9)
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
