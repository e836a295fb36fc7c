"""Build a :class:`ReplicationPlan` from a planner's queues and planned transfers."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import accumulate, chain
from typing import Any, Literal

from ioopt.errors import NotApplicableError
from ioopt.models.replication.static import StaticInstance, read_pairs
from ioopt.problems.replication import (
    CopyEntry,
    EvictionPolicy,
    MovesModel,
    ReplicationPlan,
    ReplicationProblem,
    Round,
)
from ioopt.protocols import Outcome

Answer = Outcome[ReplicationPlan]
Sources = Literal["lowest", "least-loaded"]
TINY_TASKS = 8
"""Number of tasks up to which plain Python proves the optimum quickly, on two to four
nodes.
"""
Move = tuple[int, int, int]
"""A transfer: file, source node (-1: remote storage), destination node."""


def require_batch(problem: ReplicationProblem) -> None:
    """Raise NotApplicableError for a workflow, and UnsolvableInstanceError if the files
    of some task fit no node.
    """
    problem.require_batch("the solver")
    problem.require_room()


ONE_ROUND_TOO_SMALL = (
    "the disks cannot hold this batch in one round; auto, two-stage, minmin and "
    "job-data-present fetch files again"
)


def one_round_too_small() -> NotApplicableError:
    """Return the error for a batch whose files do not fit the disks at once.

    The program of one round cannot plan such a batch; solvers that fetch files again
    can.
    """
    return NotApplicableError(ONE_ROUND_TOO_SMALL)


def fitting(problem: ReplicationProblem) -> list[int]:
    """Return a flat matrix, tasks x nodes, with 1 where the task fits the node, else 0.

    Task k and node i have position ``k * number of nodes + i``.
    """
    cells = []
    for k in range(len(problem.tasks)):
        for i in range(len(problem.nodes)):
            cells.append(int(problem.fits(k, i)))
    return cells


def build_plan(
    problem: ReplicationProblem,
    queues: Sequence[Sequence[int]],
    eviction: EvictionPolicy,
    moves: Iterable[Move] = (),
    moves_model: MovesModel | None = "replay",
    rounds: Sequence[Sequence[int]] = (),
    **options: Any,
) -> ReplicationPlan:
    """Return the plan in which node i executes the entries of ``queues[i]`` in order.

    An entry is the position of a task, or ``-1 - file`` to copy a file to the node.
    *moves* are the intended transfers; *moves_model* names the rules that these follow.
    *rounds* are the tasks of each round; if given, a barrier separates the rounds.
    *options* are set as further fields of the plan.
    """
    nodes = [node.id for node in problem.nodes]
    files = [file.id for file in problem.files]
    tasks = [task.id for task in problem.tasks]
    assign: dict[str, str] = {}
    order: dict[str, tuple[str | CopyEntry, ...]] = {}
    for name, queue in zip(nodes, queues, strict=False):
        entries: list[str | CopyEntry] = []
        for k in queue:
            if k >= 0:
                assign[tasks[k]] = name
                entries.append(tasks[k])
            else:
                entries.append(CopyEntry.model_validate({"copy": files[-1 - k]}))
        order[name] = tuple(entries)
    remote = []
    copies = []
    for file, source, target in moves:
        if source < 0:
            remote.append((files[file], nodes[target]))
        else:
            copies.append((files[file], nodes[source], nodes[target]))
    parts = [Round(tasks=tuple(tasks[k] for k in part)) for part in rounds]
    return ReplicationPlan(
        assign=assign,
        order=order,
        remote=tuple(remote),
        copies=tuple(copies),
        eviction=eviction,
        moves=moves_model,
        rounds=tuple(parts) or None,
        barriers=bool(rounds),
        **options,
    )


def too_short_for(what: str) -> str:
    """Return the note of a plan in the order of the instance, which is made if the time
    limit is too short for *what*.
    """
    return (
        f"the time limit is too short for {what}: planned in the order of the "
        "instance, each task on the node that is free first"
    )


def workflow_in_file_order(problem: ReplicationProblem) -> ReplicationPlan:
    """Plan the tasks in the order of the instance, each after its producers, on the
    node that is free first.

    A node is free once it has computed its tasks one after the other; transfers are
    ignored. The plan is used if no time is left for a better one.
    """
    problem.require_room()
    waits = [len(before) for before in problem.predecessors]
    after = successors(problem)
    ready = [k for k, count in enumerate(waits) if not count]
    free = [(0.0, i) for i in range(len(problem.nodes))]
    queues: list[list[int]] = [[] for _ in problem.nodes]
    while ready:
        k = heappop(ready)
        seconds, node = heappop(free)
        passed = []
        while node not in problem.hosts[k]:
            passed.append((seconds, node))
            seconds, node = heappop(free)
        queues[node].append(k)
        power = problem.nodes[node].speed * problem.nodes[node].cores
        task = problem.tasks[k]
        busy = task.overhead_seconds * task.cores / problem.nodes[node].cores
        busy += task.compute_seconds / power
        heappush(free, (seconds + busy, node))
        for row in passed:
            heappush(free, row)
        for j in after[k]:
            waits[j] -= 1
            if not waits[j]:
                heappush(ready, j)
    return build_plan(problem, queues, problem.default_eviction)


def flat(rows: Iterable[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return pointers and entries that store *rows* in one list.

    Row i is ``entries[pointers[i]:pointers[i + 1]]``.
    """
    listed = list(rows)
    return [0, *accumulate(map(len, listed))], list(chain.from_iterable(listed))


def first_holders(problem: ReplicationProblem) -> list[set[int]]:
    """Return the nodes that hold each file from the start."""
    holders: list[set[int]] = [set() for _ in problem.files]
    for i, held in enumerate(problem.holds):
        for file in held:
            holders[file].add(i)
    return holders


def successors(problem: ReplicationProblem) -> list[list[int]]:
    """Return, for each task, the tasks that read its outputs, in ascending order."""
    after: list[list[int]] = [[] for _ in problem.tasks]
    for k, before in enumerate(problem.predecessors):
        for j in before:
            after[j].append(k)
    return after


def lacking(instance: StaticInstance, assign: Sequence[int]) -> list[tuple[int, int]]:
    """Return every (file, node) where a task on the node reads the file, and the node
    does not hold the file from the start.

    *assign* is the node of each task. The pairs are sorted.
    """
    pairs = read_pairs(instance, assign)
    return sorted(
        (file, node) for file, node in pairs if file not in instance.held[node]
    )


def tiny_batch() -> ReplicationProblem:
    """Return a batch of two tasks that read one file on one node, for compiling
    kernels.
    """
    network = {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 9.0}
    return ReplicationProblem.model_validate(
        {
            "network": network,
            "nodes": [{"id": "n", "disk_bytes": 1}],
            "files": [{"id": "f", "bytes": 1}],
            "tasks": [
                {"id": name, "compute_seconds": 1.0, "inputs": ["f"]} for name in "ab"
            ],
        }
    )
