"""Putting a planner's queues and planned transfers into a :class:`ReplicationPlan`."""

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
"""Up to so many tasks plain Python proves in a moment, on two to four nodes."""
Move = tuple[int, int, int]
"""File, source node (-1: remote storage), destination node."""


def require_batch(problem: ReplicationProblem) -> None:
    """Raise NotApplicableError for a workflow, UnsolvableInstanceError for a
    task that fits no node.
    """
    problem.require_batch("the solver")
    problem.require_room()


def one_round_too_small() -> NotApplicableError:
    """The static model has no plan, though solvers that fetch files again have one."""
    return NotApplicableError(
        "one round cannot hold the batch on these disks; auto, two-stage, minmin and "
        "job-data-present fetch files again"
    )


def build_plan(
    problem: ReplicationProblem,
    queues: Sequence[Sequence[int]],
    eviction: EvictionPolicy,
    moves: Iterable[Move] = (),
    moves_model: MovesModel | None = "replay",
    rounds: Sequence[Sequence[int]] = (),
    **options: Any,
) -> ReplicationPlan:
    """The plan in which node i runs ``queues[i]``: task positions, or
    ``-1 - file`` to copy a file.

    *moves* are what the planner meant to transfer; *moves_model* the rules they are
    held to. Between two of *rounds*, where there are any, stands a barrier; *options*
    are others of the plan.
    """
    nodes = [node.id for node in problem.nodes]
    files = [file.id for file in problem.files]
    tasks = [task.id for task in problem.tasks]
    listed = list(moves)
    return ReplicationPlan(
        assign={
            tasks[k]: nodes[i]
            for i, queue in enumerate(queues)
            for k in queue
            if k >= 0
        },
        order={
            nodes[i]: tuple(
                tasks[k] if k >= 0 else CopyEntry(copy=files[-1 - k])  # type: ignore[call-arg]
                for k in queue
            )
            for i, queue in enumerate(queues)
        },
        remote=tuple((files[f], nodes[i]) for f, source, i in listed if source < 0),
        copies=tuple(
            (files[f], nodes[source], nodes[i])
            for f, source, i in listed
            if source >= 0
        ),
        eviction=eviction,
        moves=moves_model,
        rounds=tuple(Round(tasks=tuple(tasks[k] for k in part)) for part in rounds)
        or None,
        barriers=bool(rounds),
        **options,
    )


def workflow_in_file_order(problem: ReplicationProblem) -> ReplicationPlan:
    """Tasks after their predecessors, else in the order of the file, each to
    the first free node.

    A node is free once what it was given has been computed, one task after the other:
    no time to plan more is left.
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
        heappush(free, (seconds + problem.tasks[k].compute_seconds / power, node))
        for row in passed:
            heappush(free, row)
        for j in after[k]:
            waits[j] -= 1
            if not waits[j]:
                heappush(ready, j)
    return build_plan(problem, queues, "farthest-next-use")


def flat(rows: Iterable[Sequence[int]]) -> tuple[list[int], list[int]]:
    """(pointers, entries): row i stands at ``entries[pointers[i]:pointers[i + 1]]``."""
    listed = list(rows)
    return [0, *accumulate(map(len, listed))], list(chain.from_iterable(listed))


def successors(problem: ReplicationProblem) -> list[list[int]]:
    """Per task, those that read what it writes, ascending."""
    after: list[list[int]] = [[] for _ in problem.tasks]
    for k, before in enumerate(problem.predecessors):
        for j in before:
            after[j].append(k)
    return after


def lacking(instance: StaticInstance, assign: Sequence[int]) -> list[tuple[int, int]]:
    """(file, node) of all that is read where it is not held, in order."""
    pairs = read_pairs(instance, assign)
    return sorted(
        (file, node) for file, node in pairs if file not in instance.held[node]
    )


def tiny_batch() -> ReplicationProblem:
    """Two tasks that read one file on one node: what kernels are compiled on."""
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
