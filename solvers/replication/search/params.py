"""Parameters of the link-aware search: their ranges, and the length of a run."""

from typing import Annotated

from pydantic import Field

from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationProblem

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]


class SearchParams(Record):
    """Set how a link-aware search uses its replays and its time.

    The values were chosen on ``image-85`` and ``bipartite-85``, seeds 0 to 9. An
    *order* is one list of all tasks from which the queues of all nodes follow.

    *Length of a run*: if the user requests no time limit, a run makes
    ``evaluations_per_task`` replays for each task, but at least ``fewest_evaluations``.
    For ``many_tasks`` or more tasks on small disks, this number is instead
    ``tasks_per_second`` times the default limit, divided by the number of tasks.
    Without any limit a run takes at most ``default_seconds``. There are at most
    ``most_restarts`` restarts. The first makes ``first_restart`` replays, and each
    further one twice as many as the one before, up to ``evaluations_per_restart`` for
    each task. A cycle of ``cycle`` restarts shares its starts; the second half of a
    cycle continues from the best plan of the run.

    *Annealing of orders*: if disks are small, a restart of up to
    ``evaluations_per_round`` replays for each task anneals one order. For the share
    ``order_share`` of these replays, the order is scored by its bytes. The first
    temperature alternates between the two values of ``order_hot``; it is ``order_warm``
    if the restart continues from an earlier order. Then the restart anneals with
    barriers, from temperature ``warm`` on. With fewer than ``many_tasks`` tasks, every
    other restart anneals queues instead.

    *Starts*: MinMin is the only planner used if replays are slow, that is, if the
    number of inputs times the number of nodes exceeds ``slow_cells``. For a workflow,
    the run and every cycle begin with ``workflow_deals`` dispatches by live bytes; each
    may take ``deal_share`` of the time left.

    *Annealing of queues*: the first temperature alternates between the two values of
    ``heats``. It falls to the share ``cold / heats[0]`` of the first temperature.
    Temperatures are shares of the makespan for up to ``many_tasks`` tasks, and lower
    for more tasks, because a move changes the cost of a few tasks only.

    *Time*: at most ``reserve_share`` of the time left is reserved for the steps after
    the search. For a workflow, these steps take at most ``after_proof`` times as long
    as the computation of its bound. The clock is read every ``stretch_seconds`` of
    annealing, and after ``most_steps`` moves. After the limit, a planner is used only
    if a replay takes at most ``cheap_seconds``, since the answer is replayed once more.
    Replays in plain Python that take longer than ``long_replay_seconds`` check the
    clock themselves.

    *Robust plans*: annealing judges its present plan every ``judged_every`` moves, and
    every ``judged_proven`` once a plan meets the bound. A plan whose score is above
    ``hopeless`` times the best mean so far is passed over. Others are judged by
    ``few_draws`` noisy replays, and if their mean is at most ``give_up`` times the best
    mean, by ``all_draws``. At the end the finalists are judged by ``final_draws`` other
    noisy replays: at most ``finalists`` plans of the least means, all within ``near``
    times the least one, and so few that this takes at most the share ``final_share`` of
    all replays. A run that can make fewer than ``fewest_judged`` replays does not judge
    plans. A plan that meets the bound or the requested gap ends the run at once if its
    mean is at most ``steady`` times its score, else after ``patience`` more replays for
    each task.

    *Annealing under noise*: a robust run of ``fewest_steady`` replays or more anneals
    by exact replays for the share ``exact_share`` of them only. Then restarts of
    ``steady_replays`` replays each anneal from the best plan. Their plans are scored by
    ``steady_draws`` noisy replays after an exact one, which rejects plans above
    ``dearer`` times the least exact score. The first temperature is ``steady_hot``
    times the makespan, and falls to the share ``steady_cold`` of itself. These values
    were chosen on the first set of instances of ``scripts/bench.py robust``.
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
    judged_every: Count = 100
    judged_proven: Count = 10
    few_draws: Count = 3
    all_draws: Count = 12
    hopeless: Annotated[float, Field(ge=1)] = 1.05
    give_up: Annotated[float, Field(ge=1)] = 1.01
    final_draws: Count = 24
    finalists: Count = 20
    near: Annotated[float, Field(ge=1)] = 1.003
    final_share: Share = 0.05
    fewest_judged: Count = 500
    steady: Annotated[float, Field(ge=1)] = 1.0001
    patience: Count = 200
    fewest_steady: Count = 8000
    exact_share: Share = 0.5
    steady_replays: Count = 8000
    steady_draws: Count = 3
    steady_hot: Share = 1e-3
    steady_cold: Share = 0.1
    dearer: Annotated[float, Field(ge=1)] = 1.02

    def evaluations(
        self, problem: ReplicationProblem, limit: float | None = None
    ) -> int:
        """Return the number of replays of a run for which the user requested no time
        limit.

        *limit* is the default time limit in seconds, or None if there is none.
        """
        tasks = len(problem.tasks)
        few = tasks < self.many_tasks or cells(problem) > self.slow_cells
        if not limit or few or not self.orders_pay(problem):
            return max(self.fewest_evaluations, self.evaluations_per_task * tasks)
        return max(self.fewest_evaluations, int(self.tasks_per_second * limit / tasks))

    def orders_pay(self, problem: ReplicationProblem) -> bool:
        """Return whether it pays to anneal one order: in a batch, if some disk cannot
        hold all files.
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
    """Return the number of inputs of all tasks times the number of nodes.

    The time of a replay grows with this number.
    """
    return sum(map(len, problem.inputs)) * len(problem.nodes)
