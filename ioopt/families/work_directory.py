"""Define the work-directory family: workflows in a directory with a quota. The model is
ioopt's own (docs/rules/work-directory.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ioopt.families import (
    ANYTIME,
    BOUND,
    EXACT,
    THREADS,
    WARM_START,
    Kind,
    Loader,
    Metric,
    Solve,
    SolverSpec,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ioopt.options import Deadline
    from ioopt.plot.result_page import Contents
    from ioopt.problems.base import Json
    from ioopt.problems.schedules import WorkDirectorySchedule
    from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
    from ioopt.protocols import CheckReport, Schedule, Simulation
    from ioopt.result import Result
    from ioopt.solvers.model_files import Models


class WorkDirectory(Kind["WorkDirectoryProblem", "WorkDirectoryPlan"]):
    """The problem of deciding when each task of a workflow starts, so that its files
    fit the quota.
    """

    kind = "work-directory"
    family = "work-directory"
    summary = "a workflow on one machine whose work directory has a quota"
    default_solver = "auto"
    fallback = "in-flight"
    metrics = (
        Metric("makespan_seconds", bounded_by="lower_bound_seconds", objective=True),
        Metric("peak_bytes", bounded_by="peak_bound_bytes"),
        Metric("mean_bytes"),
        Metric("cores_busy", "max"),
    )
    compare_solvers = ("search", "in-flight", "depth-first", "submission")
    follows = True
    replay_options = frozenset({"--actual", "--actual-noise"})
    exports = frozenset({"lp", "mps"})

    def problem_class(self) -> type[WorkDirectoryProblem]:
        from ioopt.problems.work_directory import WorkDirectoryProblem

        return WorkDirectoryProblem

    def plan_class(self) -> type[WorkDirectoryPlan]:
        from ioopt.problems.work_directory import WorkDirectoryPlan

        return WorkDirectoryPlan

    def schedule_class(self) -> type[WorkDirectorySchedule]:
        from ioopt.problems.schedules import WorkDirectorySchedule

        return WorkDirectorySchedule

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.work_directory import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> WorkDirectoryProblem:
        from ioopt.generate.work_directory import generate

        return generate(preset, settings, seed)

    def load(self) -> None:
        import ioopt.checks.work_directory
        import ioopt.models.work_directory.bounds
        import ioopt.sim.work_directory.replay  # noqa: F401

    def check(
        self,
        problem: WorkDirectoryProblem,
        plan: WorkDirectoryPlan,
        schedule: Schedule | None,
    ) -> CheckReport:
        from ioopt.checks.work_directory import check

        return check(problem, plan, schedule)

    def simulate(
        self, problem: WorkDirectoryProblem, plan: WorkDirectoryPlan, **options: Any
    ) -> Simulation:
        """Replay *plan*; *options* are ``actual`` (compute seconds by task) and
        ``deadline``, with which no timeline is made.
        """
        from ioopt.sim.work_directory.replay import simulate

        return simulate(problem, plan, **options)

    def bound(
        self, problem: WorkDirectoryProblem, deadline: Deadline | None = None
    ) -> float:
        """Return a lower bound of the makespan under the instance's quota, in
        seconds.
        """
        from ioopt.models.work_directory.bounds import least_makespan

        return least_makespan(problem)

    def stated_bounds(
        self,
        problem: WorkDirectoryProblem,
        schedule: Schedule,
        deadline: Deadline | None = None,
    ) -> Json:
        """Return the bounds of the peak in bytes and of the makespan in seconds that
        hold for *schedule*.
        """
        from ioopt.models.work_directory.bounds import stated_bounds

        return stated_bounds(problem, schedule, deadline)

    def models(self) -> Models:
        from ioopt.solvers.work_directory.exported import MODELS

        return MODELS

    def beyond(
        self,
        problem: WorkDirectoryProblem,
        plan: WorkDirectoryPlan | None,
        schedule: Schedule | None,
    ) -> Json:
        """Return whether the quota was kept or ignored, and the number of tasks with
        other compute times than the instance's.
        """
        from ioopt.problems.work_directory import beyond

        return beyond(problem, plan, schedule)

    def page(self, result: Result) -> Contents:
        from ioopt.plot.panels import work_directory_contents

        return work_directory_contents(result)

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        from ioopt.plot.work_directory import plot_use

        return {"default": plot_use}


KINDS = (WorkDirectory(),)


@Loader
def _auto() -> Solve:
    from ioopt.solvers.work_directory.exact import solve_auto

    return solve_auto


@Loader
def _search_settings() -> type[BaseModel]:
    from ioopt.solvers.work_directory.search import Settings

    return Settings


@Loader
def _submission() -> Solve:
    from ioopt.solvers.work_directory.dispatch import solve_submission

    return solve_submission


@Loader
def _depth_first() -> Solve:
    from ioopt.solvers.work_directory.dispatch import solve_depth_first

    return solve_depth_first


@Loader
def _dispatch_settings() -> type[BaseModel]:
    from ioopt.solvers.work_directory.dispatch import Settings

    return Settings


@Loader
def _in_flight() -> Solve:
    from ioopt.solvers.work_directory.dispatch import solve_in_flight

    return solve_in_flight


@Loader
def _search() -> Solve:
    from ioopt.solvers.work_directory.search import solve

    return solve


@Loader
def _exact() -> Solve:
    from ioopt.solvers.work_directory.exact import solve

    return solve


def _solver(
    name: str,
    target: Loader[Solve],
    summary: str,
    **more: Any,
) -> SolverSpec:
    """Return the row of a solver that takes work-directory instances."""
    return SolverSpec(name, ("work-directory",), target, summary, "ours", **more)


SOLVERS = (
    _solver(
        "auto",
        _auto,
        "in-flight, then search; exact on small instances",
        settings=_search_settings,
        abilities={BOUND, ANYTIME, WARM_START, THREADS},
    ),
    _solver(
        "submission",
        _submission,
        "the task that has been ready longest, where it fits (as Nextflow submits)",
        settings=_dispatch_settings,
    ),
    _solver(
        "depth-first",
        _depth_first,
        "the ready task of the greatest level first",
        settings=_dispatch_settings,
    ),
    _solver(
        "in-flight",
        _in_flight,
        "the best safe run over all caps on samples in flight and both policies",
    ),
    _solver(
        "search",
        _search,
        "priorities of tasks and the cap, perturbed; begins at in-flight",
        settings=_search_settings,
        abilities={BOUND, ANYTIME, WARM_START},
    ),
    _solver(
        "exact",
        _exact,
        "constraint programming: small instances and least peaks",
        settings=_search_settings,
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
    ),
)
