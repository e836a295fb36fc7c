"""A replication plan carried out on a Dask cluster: files pinned and replicated, tasks pinned.

Node k of the problem is worker k of the cluster (workers sorted by name, then address). A file is
made by a task that returns its content, on the node the plan fetches it to; ``client.replicate``
makes the copies; tasks run where the plan puts them, in the order of each node's queue. What was
observed is compared with the plan, and with Dask's own placement of the same graph.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ioopt.errors import UsageError
from ioopt.problems.base import Json
from ioopt.problems.replication import CopyEntry, ReplicationPlan, ReplicationProblem

if TYPE_CHECKING:
    from distributed import Client, Future

Loader = Callable[[str, int], Any]
"""``load(file id, bytes) -> content``; runs on a worker."""
Worker = Callable[..., Any]
"""``work(task id, *contents) -> result``; runs on a worker."""
Placed = tuple[str, str | None, int]
"""A task, its node (None: Dask chooses), its place in the node's queue."""
Holders = dict[str, list[str]]
"""File -> the nodes that must hold it, the one that loads it first; none where Dask chooses."""


def load_zeros(file: str, size: int) -> bytes:
    """A stand-in for reading a file from remote storage: *size* bytes."""
    return bytes(size)


def count_bytes(task: str, *contents: bytes) -> int:
    """A stand-in for a task: how many bytes it was given."""
    return sum(len(content) for content in contents)


@dataclass(frozen=True)
class Execution:
    """What happened: where tasks ran and files ended up, results, and deviations from the plan.

    ``moved_bytes`` counts every copy of a file beyond its first: workers keep what they fetch as
    long as its future lives (Dask's active memory manager is stopped meanwhile), so the copies at
    the end are the transfers between workers.
    """

    ran_on: Mapping[str, str]
    held_by: Mapping[str, tuple[str, ...]]
    moved_bytes: int
    results: Mapping[str, Any]
    deviations: tuple[str, ...] = field(default=())


def execute(
    client: "Client",
    problem: ReplicationProblem,
    plan: ReplicationPlan | None,
    *,
    load: Loader = load_zeros,
    work: Worker = count_bytes,
    scale: float = 1.0,
) -> Execution:
    """Run the problem's tasks on the cluster of *client*, by *plan*, or by Dask's own choice (None).

    *scale* multiplies file sizes, so that a plan for gigabytes can be tried in kilobytes. Raises
    UsageError when the cluster has fewer workers than the problem nodes.
    """
    workers = _workers(client, problem)
    sizes = {file.id: round(file.bytes * scale) for file in problem.files}
    inputs = {task.id: task.inputs for task in problem.tasks}
    if plan is None:
        placed: list[Placed] = [(task, None, 0) for task in inputs]
        holders: Holders = {name: [] for task in problem.tasks for name in task.inputs}
    else:
        placed, holders = list(_placed(plan)), _needed(plan, inputs)
    with client.as_current(), _copies_kept(client):
        contents = _place_files(client, load, sizes, holders, workers)
        futures = {
            task: client.submit(
                work, task, *(contents[name] for name in inputs[task]), priority=-place,
                **_where("task", task, node, workers),
            )
            for task, node, place in placed
        }  # fmt: skip
        results = client.gather(futures)
        ran_on = _holders(client, futures, workers)
        held_by = _holders(client, contents, workers)
    first = {name: nodes[0] if nodes else "" for name, nodes in ran_on.items()}
    deviations = () if plan is None else _compare(plan, first, held_by)
    moved = sum(sizes[name] * (len(nodes) - 1) for name, nodes in held_by.items())
    return Execution(first, held_by, moved, results, deviations)


def _placed(plan: ReplicationPlan) -> Iterator[Placed]:
    for node, queue in plan.order.items():
        for place, entry in enumerate(queue):
            if not isinstance(entry, CopyEntry):
                yield entry, node, place


def _where(kind: str, name: str, node: str | None, workers: Mapping[str, str]) -> Json:
    """Options of a submission to *node* (None: Dask chooses); keys of the two never meet."""
    if node is None:
        return {"key": f"{kind}-{name}-free", "pure": False}
    pinned = {"workers": [workers[node]], "allow_other_workers": False}
    return {"key": f"{kind}-{name}-planned", "pure": False, **pinned}


@contextlib.contextmanager
def _copies_kept(client: "Client") -> Iterator[None]:
    """Without Dask's active memory manager, which drops copies that no task waits for."""
    if not client.amm.running():
        yield
        return
    client.amm.stop()
    try:
        yield
    finally:
        client.amm.start()


def _workers(client: "Client", problem: ReplicationProblem) -> dict[str, str]:
    """Node id -> worker address."""
    problem.require_batch("the Dask adapter")
    known = client.scheduler_info(n_workers=-1)["workers"]
    addresses = sorted(known, key=lambda address: (str(known[address]["name"]), address))
    if len(addresses) < len(problem.nodes):
        raise UsageError(
            f"the plan has {len(problem.nodes)} nodes, the cluster {len(addresses)} workers"
        )
    return {node.id: address for node, address in zip(problem.nodes, addresses)}


def _needed(plan: ReplicationPlan, inputs: Mapping[str, Sequence[str]]) -> Holders:
    """File -> nodes that must hold it, in the order in which their queues come to it.

    The nodes the plan fetches it to come first, so that copies descend from them.
    """
    nodes: dict[str, dict[str, None]] = {}
    for file, node in plan.remote:
        nodes.setdefault(file, {})[node] = None
    for node, queue in plan.order.items():
        for entry in queue:
            names = (entry.copy_file,) if isinstance(entry, CopyEntry) else inputs[entry]
            for name in names:
                nodes.setdefault(name, {})[node] = None
    return {name: list(found) for name, found in nodes.items()}


def _place_files(
    client: "Client",
    load: Loader,
    sizes: Mapping[str, int],
    holders: Holders,
    workers: dict[str, str],
) -> Json:
    """The futures of the files' contents, each loaded by its first holder and copied to the others."""
    from distributed import wait

    contents = {
        name: client.submit(
            load, name, sizes[name], **_where("file", name, next(iter(nodes), None), workers)
        )
        for name, nodes in holders.items()
    }
    wait([contents[name] for name, nodes in holders.items() if nodes])
    for name, nodes in holders.items():
        if len(nodes) > 1:
            addresses = [workers[node] for node in nodes]
            client.replicate([contents[name]], n=len(addresses), workers=addresses)
    return contents


def _holders(
    client: "Client", futures: Mapping[str, "Future"], workers: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    nodes = {address: node for node, address in workers.items()}
    held = client.who_has(list(futures.values()))
    return {
        name: tuple(sorted(nodes.get(address, address) for address in held[future.key]))
        for name, future in futures.items()
    }


def _compare(
    plan: ReplicationPlan, ran_on: Mapping[str, str], held_by: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    wrong = [
        f"task {task} ran on {ran_on[task]}, planned on {node}"
        for task, node, _ in _placed(plan)
        if ran_on[task] != node
    ]
    wrong += [
        f"file {file} is not on {node}, where the plan fetches it"
        for file, node in plan.remote
        if file in held_by and node not in held_by[file]
    ]
    return tuple(wrong)
