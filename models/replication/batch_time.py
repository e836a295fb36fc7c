"""Compute the batch time of a plan in seconds, equations (9)-(13) of Khanna et al.

:func:`ioopt.models.replication.static.loads` returns the same loads in whole units.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from ioopt.models.replication.static import Moves, StaticInstance
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem, Round

Fetch = tuple[int, int]
"""A file, and the node that fetches it."""
Copy = tuple[int, int, int]
"""A file, the node that has it, and the node that it is copied to."""


def load_seconds(
    problem: ReplicationProblem,
    assign: Mapping[int, int],
    remote: Iterable[Fetch],
    copies: Iterable[Copy],
) -> list[float]:
    """Return Exec_i of (12) for each node i in seconds: its time for fetches, for
    copies at both ends, and for computing.

    *assign* is the node of each task.
    """
    fetched = [0] * len(problem.nodes)
    copied = [0] * len(problem.nodes)
    compute = [0.0] * len(problem.nodes)
    for file, node in remote:
        fetched[node] += problem.files[file].bytes
    for file, source, target in copies:
        copied[source] += problem.files[file].bytes
        copied[target] += problem.files[file].bytes
    for task in sorted(assign):
        compute[assign[task]] += problem.tasks[task].compute_seconds
    far = problem.network.remote_bytes_per_second
    near = problem.copy_bytes_per_second
    return [
        fetched[i] / far + copied[i] / near + compute[i] / node.speed
        for i, node in enumerate(problem.nodes)
    ]


def moves_seconds(instance: StaticInstance, moves: Moves) -> list[float]:
    """Return Exec_i of (12) for each node i in seconds, for a static solution."""
    files = instance.files
    remote = [(files[file], node) for file, node in moves.remote]
    copies = [(files[file], i, j) for file, i, j in moves.copies]
    assign = dict(enumerate(moves.assign))
    return load_seconds(instance.problem, assign, remote, copies)


def plan_seconds(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    queues: Sequence[Sequence[int]],
    transfers: Iterable[Json],
) -> float:
    """Return the batch time (13) of *plan* in seconds; its tasks are in *queues*.

    The moves are those that the plan states; if it states none, the replayed
    *transfers*. Barriers make every node wait for the longest load of a round. The time
    is infinite if a stated move names an unknown file, node or task.
    """
    assign = {task: node for node, queue in enumerate(queues) for task in queue}
    try:
        if not plan.states_moves:
            remote, copies = _replayed(problem, transfers)
            return max(load_seconds(problem, assign, remote, copies))
        rounds = []
        for part in plan.rounds or (None,):
            remote, copies = _stated(problem, part or plan)
            placed = assign
            if part is not None:
                tasks = [problem.task_index[name] for name in part.tasks]
                placed = {task: assign[task] for task in tasks if task in assign}
            rounds.append(load_seconds(problem, placed, remote, copies))
    except KeyError:
        return inf
    if plan.barriers:
        return sum(max(loads) for loads in rounds)
    totals: list[float] = [sum(loads) for loads in zip(*rounds, strict=True)]
    return max(totals)


def _stated(
    problem: ReplicationProblem, part: ReplicationPlan | Round
) -> tuple[list[Fetch], list[Copy]]:
    """Return the fetches and copies that a plan or a round states.

    Raises KeyError for an unknown file or node.
    """
    files = problem.file_index
    nodes = problem.node_index
    remote = [(files[file], nodes[node]) for file, node in part.remote]
    copies = [(files[file], nodes[i], nodes[j]) for file, i, j in part.copies]
    return remote, copies


def _replayed(
    problem: ReplicationProblem, transfers: Iterable[Json]
) -> tuple[list[Fetch], list[Copy]]:
    """Return the fetches and copies among the *transfers* of a schedule."""
    files = problem.file_index
    nodes = problem.node_index
    remote: list[Fetch] = []
    copies: list[Copy] = []
    for row in transfers:
        file = files[row["file"]]
        target = nodes[row["destination"]]
        if row["source"] is None:
            remote.append((file, target))
        else:
            copies.append((file, nodes[row["source"]], target))
    return remote, copies
