"""Plan with the shared link in view (ours): search queues with the least makespan.

The solver ``link-aware`` serves batches and workflows. On a shared link, the makespan
is at least the transfer time of the distinct bytes. Most time beyond that is due to
files that were evicted while still needed. A spectral order therefore puts tasks that
share bytes next to each other. Then annealing improves one order of all tasks,
producers before readers (:mod:`ioopt.solvers.replication.search.line_moves`), scored by
the bytes that it moves or by the timeline simulator. The eviction policy is
farthest-next-use, or lru where products are shared. The plans of all cheap planners are
among the starts, also under their own eviction policy, so the answer is never worse
than the plans of these planners.

For a workflow on small disks, the live bytes decide: the outputs that must still be
read. If a plan starts more tasks than the disks can hold, it must write outputs back
over the link. A depth-first order (:mod:`ioopt.solvers.replication.search.flow_deal`)
then takes the place of the spectral order.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from pydantic import Field

from ioopt.errors import OutOfTime
from ioopt.models.replication.bounds import area_seconds
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import (
    MovesGiven,
    ReplayOptions,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Incumbents, Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.replication.build import maker_for, replay_seconds
from ioopt.sim.replication.simulate import (
    replay_fits,
    report_seconds,
)
from ioopt.solvers.replication import workflows
from ioopt.solvers.replication.greedy import minmin
from ioopt.solvers.replication.greedy.minmin import planning_seconds
from ioopt.solvers.replication.search.flow_run import FlowRun
from ioopt.solvers.replication.search.link_run import LinkAwareRun
from ioopt.solvers.replication.search.params import PARAMS, cells

SEEDS_APART = 1_000_003
"""Difference between the seeds of consecutive threads."""
NO_TIME_SECONDS = 0.03
"""If the greedy plan and its replay take less, in seconds, there is time to search."""

PLANNING_SECONDS_PER_TASK = 1e-4
"""Seconds per task for the bound and the first planner of a workflow (measured)."""
WORKFLOW_REPLAY = 4.0
"""Time to replay a workflow, as a multiple of that of a batch (measured).

It is longer because of saves and tasks with several cores.
"""
SHARE_OF_PLANNING = 0.5
"""Largest share of the time left that planning without a search may take."""


class Settings(ReplayOptions):
    """Configure the length of the search, and the options of its replays.

    ``evaluations``: number of replays (None: by the number of tasks). A run that ends
    by this number can be repeated exactly, on any machine, compiled or not. Without the
    number, the run ends by the clock if the deadline comes first. With several threads,
    each searches from other random numbers, and the best plan is the answer.
    ``robust``: select plans by their mean over noisy replays, which count as
    evaluations. The answer then holds under unfair sharing. Otherwise plans are
    selected by their exact replay.
    ``moves``: with ``schedule`` the plan has the transfers of its replay.
    """

    moves: MovesGiven = "advice"
    evaluations: int | None = Field(default=None, ge=1)
    robust: bool = True


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Search for the least simulated makespan until a limit ends the search.

    The limits are the number of replays, the lower bound or requested gap, and the
    deadline.
    """
    problem.require_room()
    if problem.is_workflow and _too_large_workflow(problem, request):
        return _planned_only(problem, request)
    if not problem.is_workflow and _too_large(problem, request):
        return _greedy(problem, request)
    runs = _runs(problem, request)
    build = request.deadline.elapsed()
    try:
        _search_together(runs)
    except (KeyboardInterrupt, OutOfTime):
        # The best plan may be of another thread, or newer than the last report.
        runs[0].elites.best = _best_of(runs).elites.best
        runs[0].tell()
        raise
    for run in runs:
        run.finish()
    search = _best_of(runs)
    # The choice among the finalists may be a plan that was not reported.
    runs[0].elites.best = search.elites.best
    runs[0].tell()
    return Outcome(
        search.best_plan(),
        search.bound,
        search.stop(),
        objective_name=search.objective_name,
        build_seconds=build,
        notes=search.notes(),
        metrics={"evaluations": sum(run.budget.evaluations for run in runs)},
    )


def steadiest(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    makespan: float,
    options: SolveOptions,
    deadline: Deadline,
) -> ReplicationPlan:
    """Return, of the plans with the *makespan* of *plan*, which is the least in
    seconds, one that holds best under noise.

    A short search looks for such plans.
    """
    alone = replace(options, threads=1, gap=None)
    asked = SolveRequest[Any, ReplicationPlan](alone, deadline, start=plan)
    kind = FlowRun if problem.is_workflow else LinkAwareRun
    evaluations = PARAMS.patience * len(problem.tasks)
    run = kind(problem, asked, max(PARAMS.fewest_judged, evaluations), bound=makespan)
    _search(run)
    run.finish()
    if run.elites.best.score > makespan * (1 + 1e-9):
        return plan
    return run.best_plan()


def _runs(problem: ReplicationProblem, request: SolveRequest) -> list[LinkAwareRun]:
    """Return one run for each thread, each with its own random numbers.

    The first run is the same as with a single thread. Threads run machine code in
    parallel but not plain Python. Large batches, which get few replays, therefore get
    one run.
    """
    kind = FlowRun if problem.is_workflow else LinkAwareRun
    settings = request.settings or Settings()
    evaluations = settings.evaluations
    robust = settings.robust
    runs: list[LinkAwareRun] = [kind(problem, request, evaluations, robust)]
    threads = request.options.threads
    if cells(problem) > PARAMS.slow_cells:
        threads = 1
    for turn in range(1, threads):
        options = replace(
            request.options, seed=request.options.seed + turn * SEEDS_APART
        )
        apart = replace(
            request, options=options, incumbents=Incumbents(request.deadline)
        )
        runs.append(kind(problem, apart, evaluations, robust))
    return runs


def _search_together(runs: Sequence[LinkAwareRun]) -> None:
    """Let every run search, the first in this thread; the others end with it, unless it
    ends by its number of replays.
    """
    with ThreadPoolExecutor(len(runs)) as pool:
        others = [pool.submit(_search, run) for run in runs[1:]]
        stopped = True
        try:
            _search(runs[0])
            stopped = runs[0].stop() is not StopReason.ITERATIONS
        finally:
            for run in runs[1:] if stopped else ():
                run.budget.give_up()
        for other in others:
            other.result()


def _search(run: LinkAwareRun) -> None:
    run.start()
    run.improve()


def _best_of(runs: Sequence[LinkAwareRun]) -> LinkAwareRun:
    """Return the run with the best plan; the first of equals."""
    return min(runs, key=lambda run: run.elites.key(run.elites.best))


def _too_large(problem: ReplicationProblem, request: SolveRequest) -> bool:
    """Return whether the time limit is too short for MinMin's plan and two replays of
    it.

    The second replay is the one that ``ioopt.solve`` makes of every answer.
    """
    left = request.deadline.remaining()
    replaying = replay_seconds(problem, maker_for(problem))
    planning = planning_seconds(problem)
    if replaying + planning < NO_TIME_SECONDS or left == float("inf"):
        return False
    return planning + 2.0 * replaying > left - report_seconds(problem)


def _too_large_workflow(problem: ReplicationProblem, request: SolveRequest) -> bool:
    """Return whether the time limit is too short for a bound, a plan and two replays of
    it.

    The second replay is the one that ``ioopt.solve`` makes of every answer.
    """
    left = request.deadline.remaining()
    replaying = WORKFLOW_REPLAY * replay_seconds(problem, maker_for(problem))
    planning = PLANNING_SECONDS_PER_TASK * len(problem.tasks)
    if planning < NO_TIME_SECONDS or left == float("inf"):
        return False
    return planning + 2.0 * replaying > left - report_seconds(problem)


def _planned_only(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Return the plan of ``b-level``, if there is no time to search.

    Without time for ``b-level``, the tasks are planned in the order of the instance.
    """
    short = "the time limit is too short to search"
    planning = PLANNING_SECONDS_PER_TASK * len(problem.tasks)
    if planning > SHARE_OF_PLANNING * request.deadline.remaining():
        found = workflows.in_file_order(problem, "b-level")
        return replace(found, notes=(short, *found.notes))
    try:
        found = workflows.solve_b_level(problem, replace(request, settings=None))
    except OutOfTime:
        found = workflows.in_file_order(problem, "b-level")
    return replace(
        found, stop=StopReason.TIME, notes=(f"{short}: b-level's plan", *found.notes)
    )


def _greedy(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Return MinMin's plan, if there is no time to search.

    Without time for MinMin, the tasks are planned in the order of the instance.
    """
    greedy = minmin.solve(problem, replace(request, settings=None, start=None))
    how = ", ".join(greedy.notes) or "MinMin's plan"
    note = f"the time limit is too short to search: {how}"
    greedy = replace(greedy, stop=StopReason.TIME, notes=(note,))
    if not replay_fits(problem, request.deadline):
        # Without a replay, the plan has a batch time (13) but no known makespan.
        return replace(greedy, bound=area_seconds(problem))
    bound = makespan_bound_seconds(problem)
    return replace(greedy, bound=bound, objective_name="makespan_seconds")
