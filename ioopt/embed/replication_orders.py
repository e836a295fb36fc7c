"""Orders of waiting tasks on nodes: from a solver's plan, checked, or greedily."""

from collections.abc import Mapping
from typing import Any

from ioopt.errors import UsageError
from ioopt.problems.replication import CopyEntry, Node, ReplicationPlan, ReplicationProblem, Task

Order = dict[str, list[str]]
"""Per node its tasks, first to last."""


def order_of(plan: Mapping[str, Any] | None) -> Order:
    """The tasks of a plan's queues; copy entries are left to the scheduler's own staging."""
    if plan is None:
        raise UsageError("the solver found no plan")
    queues = ReplicationPlan.model_validate(plan).order
    return {
        node: [entry for entry in queue if not isinstance(entry, CopyEntry)]
        for node, queue in queues.items()
    }


def wrong(problem: ReplicationProblem, order: Order) -> str | None:
    """What is wrong with an order: every waiting task once, on a node whose disk holds it."""
    placed = [(name, node) for node, queue in order.items() for name in queue]
    tasks = {task.id: task for task in problem.tasks}
    if sorted(name for name, _ in placed) != sorted(tasks):
        return "not every waiting task stands in it exactly once"
    nodes, sizes = {node.id: node for node in problem.nodes}, _sizes(problem)
    for name, node in placed:
        if node not in nodes:
            return f"there is no node {node!r}"
        if not _fits(tasks[name], nodes[node], sizes):
            return f"task {name!r} does not fit on {node!r}"
    return None


def greedy(problem: ReplicationProblem) -> Order:
    """Each task in order of submission to the node with the least to fetch, then the least load."""
    nodes, sizes = {node.id: node for node in problem.nodes}, _sizes(problem)
    order: Order = {name: [] for name in nodes}
    planned = {name: set(node.holds) for name, node in nodes.items()}
    load = dict.fromkeys(nodes, 0.0)
    for task in problem.tasks:
        missing = {
            name: sum(sizes[file] for file in task.inputs if file not in held)
            for name, held in planned.items()
            if _fits(task, nodes[name], sizes)
        }
        node = min(missing, key=lambda name: (missing[name], load[name]))
        load[node] += task.compute_seconds / nodes[node].speed
        load[node] += missing[node] / problem.network.remote_bytes_per_second
        planned[node].update(task.inputs)
        order[node].append(task.id)
    return order


def _sizes(problem: ReplicationProblem) -> dict[str, int]:
    return {file.id: file.bytes for file in problem.files}


def _fits(task: Task, node: Node, sizes: Mapping[str, int]) -> bool:
    disk = node.disk_bytes
    return disk is None or sum(sizes[name] for name in task.inputs) <= disk
