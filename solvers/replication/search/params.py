"""Define the settings of the link-aware search, their ranges, and the size of a run."""

from typing import Annotated

from pydantic import Field

from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationProblem

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]


class SearchParams(Record):
    """Set how a link-aware search spends its replays and its time.

    Chosen on ``image-85`` and ``bipartite-85``, seeds 0 to 9.

    *Size of a run*: ``evaluations_per_task`` replays for each task, at least
    ``fewest_evaluations``, if no limit was requested; if orders of ``many_tasks`` pay,
    ``tasks_per_second`` times the limit, divided by the number of tasks. Without a
    limit a run takes ``default_seconds`` at most. There are at most ``most_restarts``
    restarts. The first makes ``first_restart`` replays, every further one twice as many
    as the one before, up to ``evaluations_per_restart`` for each task. A cycle of
    ``cycle`` restarts shares one fresh start; the second half of a cycle continues from
    the best plan of the run.

    *Orders*: a restart of up to ``evaluations_per_round`` replays for each task anneals
    one order, for the share ``order_share`` of these replays by its bytes. The
    temperature begins at one of ``order_hot`` by turns, or at ``order_warm`` if the
    order continues an earlier one. Then the restart anneals with barriers, from
    temperature ``warm`` on. With fewer than ``many_tasks`` tasks every other restart
    anneals queues instead.

    *Starts*: if replays are slow, from ``slow_cells`` inputs x nodes on, MinMin is the
    only planner that is run. For a workflow, the run and every cycle of restarts begin
    with ``workflow_deals`` dispatches by live bytes; each may take ``deal_share`` of
    the time left.

    *Annealing of queues* begins at the temperatures ``heats`` by turns, which fall at
    the rate that leads from the first of them to ``cold``. Temperatures are shares of
    the makespan for up to ``many_tasks`` tasks, and lower for more tasks, because a
    move changes the cost of a few tasks only.

    *Time*: up to ``reserve_share`` of the time left is reserved for the steps after the
    search. Reading, report, check and writing of a workflow take at most
    ``after_proof`` times as long as its bounds. The clock is read every
    ``stretch_seconds`` of annealing. Past the limit no plan is made whose replay takes
    more than ``cheap_seconds``, since the answer is replayed once more. Replays that
    take longer than ``long_replay_seconds`` in plain Python check the clock themselves.
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
    cycle: Annotated[int, Field(ge=2)] = 12
    reserve_share: Share = 0.4
    after_proof: Seconds = 8.0
    stretch_seconds: Seconds = 0.1
    cheap_seconds: Seconds = 0.05
    deal_share: Annotated[float, Field(ge=0, le=1)] = 0.15
    long_replay_seconds: Seconds = 1.0

    def evaluations(
        self, problem: ReplicationProblem, limit: float | None = None
    ) -> int:
        """Return the number of replays for a time *limit* in seconds."""
        tasks = len(problem.tasks)
        few = tasks < self.many_tasks or cells(problem) > self.slow_cells
        if not limit or few or not self.orders_pay(problem):
            return max(self.fewest_evaluations, self.evaluations_per_task * tasks)
        return max(self.fewest_evaluations, int(self.tasks_per_second * limit / tasks))

    def orders_pay(self, problem: ReplicationProblem) -> bool:
        """Return whether small disks cause so many repeated fetches that annealing one
        order pays.
        """
        if problem.is_workflow:
            return False
        read = 0
        for file, readers in zip(problem.files, problem.readers, strict=True):
            if readers:
                read += file.bytes
        return any((node.disk_bytes or read) < read for node in problem.nodes)


PARAMS = SearchParams()


def cells(problem: ReplicationProblem) -> int:
    """Return inputs x nodes: the time of a replay grows with this number."""
    return sum(map(len, problem.inputs)) * len(problem.nodes)
