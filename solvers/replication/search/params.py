"""The knobs of the link-aware search, with their ranges, and the size of
a run that they give.
"""

from typing import Annotated

from pydantic import Field

from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationProblem

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]


class SearchParams(Record):
    """How a link-aware search spends its replays; chosen on ``image-85`` and
    ``bipartite-85``, seeds 0 to 9.

    *Size of a run*: ``evaluations_per_task`` replays a task, at least
    ``fewest_evaluations``, where no limit was asked for; where orders of
    ``many_tasks`` pay, ``tasks_per_second`` times the limit over them. Without a limit
    it takes ``default_seconds`` at most. Restarts, ``most_restarts`` at most, grow
    from ``first_restart`` replays on, each twice as many, up to
    ``evaluations_per_restart`` a task.

    *Orders*: a restart of up to ``evaluations_per_round`` replays a task anneals one
    for ``order_share`` of them by its bytes, from ``order_hot`` on by turns, or
    ``order_warm`` where it goes on from another, then with barriers, from ``warm`` on.
    Below ``many_tasks`` every other restart anneals queues instead.

    *Starts*: where replays are slow, from ``slow_cells`` inputs x nodes on, MinMin is
    the only planner asked. ``workflow_deals`` dispatches by live bytes begin a
    workflow, and every cycle of restarts.

    *Annealing of queues* begins at each of ``heats`` by turns and falls as from the
    first to ``cold``; temperatures are shares of the makespan for up to ``many_tasks``
    tasks, less for more: a move changes what a few tasks cost.
    """

    evaluations_per_task: int = Field(default=200, ge=0)
    fewest_evaluations: Count = 500
    tasks_per_second: Seconds = 1e6
    default_seconds: Seconds = 60.0
    most_restarts: Count = 1_000_000
    first_restart: Count = 100
    evaluations_per_restart: Count = 200
    many_tasks: Count = 100
    slow_cells: Count = 90_000
    evaluations_per_round: Count = 500
    workflow_deals: Count = 6
    order_share: Share = 0.6
    order_hot: tuple[Share, Share] = (5e-3, 1e-2)
    order_warm: Share = 3e-3
    warm: Share = 1e-3
    heats: tuple[Share, Share] = (5e-3, 1e-3)
    cold: Share = 1e-4
    most_steps: Count = 100_000

    def evaluations(
        self, problem: ReplicationProblem, limit: float | None = None
    ) -> int:
        """Replays of a run with a time *limit* in seconds."""
        tasks = len(problem.tasks)
        few = tasks < self.many_tasks or cells(problem) > self.slow_cells
        if not limit or few or not self.orders_pay(problem):
            return max(self.fewest_evaluations, self.evaluations_per_task * tasks)
        return max(self.fewest_evaluations, int(self.tasks_per_second * limit / tasks))

    def orders_pay(self, problem: ReplicationProblem) -> bool:
        """Whether one order of all tasks decides what small disks fetch twice."""
        read = sum(file.bytes for file, by in zip(problem.files, problem.readers) if by)
        small = any((node.disk_bytes or read) < read for node in problem.nodes)
        return small and not problem.is_workflow


PARAMS = SearchParams()


def cells(problem: ReplicationProblem) -> int:
    """Inputs x nodes: what the time of a replay grows with."""
    return sum(map(len, problem.inputs)) * len(problem.nodes)
