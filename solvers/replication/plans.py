"""Putting a planner's queues and planned transfers into a :class:`ReplicationPlan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioopt.errors import NotApplicableError
from ioopt.problems.replication import (
    CopyEntry,
    EvictionPolicy,
    MovesModel,
    ReplicationPlan,
    ReplicationProblem,
)

Move = tuple[int, int, int]
"""File, source node (-1: remote storage), destination node."""


def require_batch(problem: ReplicationProblem) -> None:
    """Raise NotApplicableError for a workflow, UnsolvableInstanceError for a task that fits no node."""
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
) -> ReplicationPlan:
    """The plan in which node i runs ``queues[i]``: task positions, or ``-1 - file`` to copy a file.

    *moves* are what the planner meant to transfer; *moves_model* the rules they are held to.
    """
    nodes = [node.id for node in problem.nodes]
    files = [file.id for file in problem.files]
    tasks = [task.id for task in problem.tasks]
    listed = list(moves)
    return ReplicationPlan(
        assign={tasks[k]: nodes[i] for i, queue in enumerate(queues) for k in queue if k >= 0},
        order={
            nodes[i]: tuple(
                tasks[k] if k >= 0 else CopyEntry(copy=files[-1 - k])  # type: ignore[call-arg]
                for k in queue
            )
            for i, queue in enumerate(queues)
        },
        remote=tuple((files[f], nodes[i]) for f, source, i in listed if source < 0),
        copies=tuple((files[f], nodes[source], nodes[i]) for f, source, i in listed if source >= 0),
        eviction=eviction,
        moves=moves_model,
    )
