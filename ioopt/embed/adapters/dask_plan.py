"""An instance, a batch or a workflow, as a Dask graph, run by a plan, a dispatcher, or Dask itself.

Node k of the problem is worker k of the cluster (workers sorted by name, then address). A file of
remote storage is the result of a task that loads it, on the node where the plan first needs it; what
a task writes are the values of the mapping that it returns. Inputs come as Dask brings them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ioopt.embed.adapters.dask import Report, placed
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import validate
from ioopt.problems.base import Json
from ioopt.problems.replication import CopyEntry, ReplicationPlan, ReplicationProblem

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Worker as DaskWorker

Loader = Callable[[str, int], Any]
"""``load(file id, bytes) -> content``; runs on a worker."""
Key = tuple[str, str]
Worker = Callable[..., Any]
"""``work(task id, {file id: bytes} that it writes, *contents) -> content by file, or a result``."""


def load_zeros(file: str, size: int) -> bytes:
    """A stand-in for reading a file from remote storage: *size* bytes."""
    return bytes(size)


def write_zeros(task: str, writes: Mapping[str, int], *contents: bytes) -> Any:
    """A stand-in for a task: what it writes; where it writes nothing, how many bytes it was given."""
    if writes:
        return {name: bytes(size) for name, size in writes.items()}
    return sum(len(content) for content in contents)


@dataclass(frozen=True)
class Execution:
    """What happened: where tasks ran, results of tasks that write no file, deviations from the plan.

    ``moved_bytes`` are those that workers sent each other, measured by them.
    """

    ran_on: Mapping[str, str]
    moved_bytes: int
    results: Mapping[str, Any]
    deviations: tuple[str, ...]
    report: Report = field(repr=False)


def execute(
    client: "Client",
    problem: ReplicationProblem,
    plan: ReplicationPlan | Mapping[str, Any] | None = None,
    *,
    policy: str | None = None,
    load: Loader = load_zeros,
    work: Worker = write_zeros,
    scale: float = 1.0,
) -> Execution:
    """Run *problem* on the cluster by *plan*, else by the dispatcher *policy*, else as Dask will.

    *scale* multiplies file sizes, so that a plan for gigabytes can be tried in kilobytes. Raises
    UsageError when the cluster has fewer workers than the problem nodes, InstanceError for a plan
    that is none of the problem's.
    """
    names = _workers(client, problem)
    graph = task_graph(problem, load, work, scale)
    options: Json = {"record": True}
    stated: ReplicationPlan | None = None
    if plan is not None:
        stated = validate(ReplicationPlan, plan, "plan")
        assert stated is not None
        queues = _queues(problem, stated)
        options["queues"] = {names[node]: queue for node, queue in queues.items()}
        options["copies"] = {
            str((kind, name)): [names[node] for node in nodes]
            for name, nodes in _copies(stated).items()
            for kind in ("load", "part")
        }
    before = sent_bytes(client)
    with placed(client, policy, **options) as report:
        values = client.get(graph, [("ends", task.id) for task in problem.tasks])
    nodes = {name: node for node, name in names.items()}
    ran = report.ran_on
    where = {task.id: ran[str(_key(task.id))] for task in problem.tasks}
    ran_on = {task: nodes.get(name, name) for task, name in where.items()}
    results = {task.id: v for task, v in zip(problem.tasks, values) if not task.outputs}
    planned = {} if stated is None else _nodes(stated)
    deviations = tuple(
        f"task {task} ran on {ran_on[task]}, planned on {node}"
        for task, node in planned.items()
        if ran_on[task] != node
    )
    return Execution(ran_on, sent_bytes(client) - before, results, deviations, report)


def task_graph(
    problem: ReplicationProblem, load: Loader, work: Worker, scale: float = 1.0
) -> dict[Key, Any]:
    """The graph; its ``("ends", task)`` are small. A task's key begins with its id without digits.

    So Dask tells kinds of tasks apart, whose bytes and seconds it averages.
    """
    sizes = {file.id: round(file.bytes * scale) for file in problem.files}
    read = {name for task in problem.tasks for name in task.inputs}
    made = {name for task in problem.tasks for name in task.outputs}
    graph: dict[Key, Any] = {("load", name): (load, name, sizes[name]) for name in read - made}
    for task in problem.tasks:
        key, writes = _key(task.id), {name: sizes[name] for name in task.outputs}
        kinds = (("part" if name in made else "load", name) for name in task.inputs)
        graph[key] = (work, task.id, writes, *kinds)
        graph |= {("part", name): (_part, key, name) for name in task.outputs}
        graph["ends", task.id] = (_end, key)
    return graph


def _key(task: str) -> Key:
    return re.sub(r"[\d-]+", "", task) or "task", task


def _part(made: Mapping[str, Any], name: str) -> Any:
    return made[name]


def _end(made: Any) -> Any:
    """What a client gets of a task: its result, or None for files."""
    return None if isinstance(made, Mapping) else made


def sent_bytes(client: "Client") -> int:
    """What all workers of the cluster have sent so far."""
    return sum(client.run(_sent).values())


def _sent(dask_worker: "DaskWorker") -> int:
    return dask_worker.transfer_outgoing_bytes_total


def _workers(client: "Client", problem: ReplicationProblem) -> dict[str, str]:
    """Node id -> worker's name."""
    known = client.scheduler_info(n_workers=-1)["workers"]
    names = [name for name, _ in sorted((str(row["name"]), a) for a, row in known.items())]
    if len(names) < len(problem.nodes):
        raise UsageError(
            f"the plan has {len(problem.nodes)} nodes, the cluster {len(names)} workers"
        )
    return {node.id: name for node, name in zip(problem.nodes, names)}


def _nodes(plan: ReplicationPlan) -> dict[str, str]:
    """Task -> node."""
    return {
        entry: node
        for node, queue in plan.order.items()
        for entry in queue
        if not isinstance(entry, CopyEntry)
    }


def _queues(problem: ReplicationProblem, plan: ReplicationPlan) -> dict[str, list[str]]:
    """Keys by node in the order of the plan: loads before their first reader, parts after their task.

    All follow one order in which whatever is waited for comes first, so no queue locks another.
    """
    nodes = _nodes(plan)
    if nodes.keys() != problem.task_index.keys() or set(plan.order) - problem.node_index.keys():
        raise InstanceError("plan: order: these are not the tasks and nodes of the instance")
    before: dict[str, set[str]] = {
        task.id: {problem.tasks[p].id for p in rows}
        for task, rows in zip(problem.tasks, problem.predecessors)
    }
    for queue in plan.order.values():
        for first, then in pairwise(e for e in queue if not isinstance(e, CopyEntry)):
            before[then].add(first)
    loader = dict(reversed(plan.remote))
    queues: dict[str, list[str]] = {node: [] for node in plan.order}
    there = {name for task in problem.tasks for name in task.outputs}
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise InstanceError(f"plan: order: {error.args[1]} wait for each other") from None
    for name in order:
        task, node = problem.tasks[problem.task_index[name]], nodes[name]
        for file in task.inputs:
            if file not in there:
                there.add(file)
                queues[loader.get(file, node)].append(str(("load", file)))
        parts = [("part", file) for file in task.outputs]
        queues[node] += map(str, [_key(name), *parts, ("ends", name)])
    return queues


def _copies(plan: ReplicationPlan) -> dict[str, list[str]]:
    """File -> the nodes that the plan brings it to."""
    rows = [*plan.remote, *((file, node) for file, _, node in plan.copies)]
    rows += [
        (entry.copy_file, node)
        for node, queue in plan.order.items()
        for entry in queue
        if isinstance(entry, CopyEntry)
    ]
    found: dict[str, list[str]] = {}
    for file, node in rows:
        found.setdefault(file, []).append(node)
    return found
