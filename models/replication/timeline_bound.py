"""Lower bounds of the simulated makespan, valid for every plan and eviction policy."""

from collections import defaultdict

from ioopt.models.replication.workflow_bound import WorkflowBound
from ioopt.problems.replication import LinkModel, ReplicationProblem


def makespan_bound_seconds(problem: ReplicationProblem, link: LinkModel | None = None) -> float:
    """The largest of four bounds, in seconds: files over links and off storages, all computing, one task."""
    if problem.is_workflow:
        return WorkflowBound(problem, link).seconds
    network, tasks = problem.network, problem.tasks
    if not tasks:
        return 0.0
    held = frozenset().union(*problem.holds)
    missing = {f for f, readers in enumerate(problem.readers) if readers and f not in held}
    fastest = max(node.speed for node in problem.nodes)
    least = min(task.compute_seconds for task in tasks) / fastest
    nodes = len(problem.nodes)
    pipe = min(network.remote_bytes_per_second, network.replica_bytes_per_second)
    shared = (link or network.remote_link) == "shared"
    total_rate = nodes * pipe
    if shared:
        total_rate = min(network.remote_bytes_per_second, nodes * network.replica_bytes_per_second)
    sizes = [file.bytes for file in problem.files]
    bounds = [sum(sizes[f] for f in missing) / total_rate + least]
    by_storage: dict[str, int] = defaultdict(int)
    for f in missing:
        if (storage := problem.files[f].storage) is not None:
            by_storage[storage] += sizes[f]
    rates = {storage.id: storage.bytes_per_second for storage in problem.storages}
    bounds.extend(total / rates[name] + least for name, total in by_storage.items())
    bounds.append(sum(task.compute_seconds for task in tasks) / sum(n.speed for n in problem.nodes))
    for k, task in enumerate(tasks):
        first = max((sizes[f] for f in problem.inputs[k] if f in missing), default=0) / pipe
        bounds.append(first + task.compute_seconds / fastest)
    return max(bounds)
