"""Define the gang family (Zhang et al.): workloads in time slices, and single updates
of the scheduler's matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING, Any

from ioopt.families import (
    ANYTIME,
    BOUND,
    EXACT,
    ONLINE,
    Kind,
    Loader,
    MadePolicy,
    Metric,
    Solve,
    SolverSpec,
    Turn,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ioopt.decisions.gang.state import GangPolicy
    from ioopt.options import Deadline
    from ioopt.plot.result_page import Contents
    from ioopt.problems.base import Rows
    from ioopt.problems.columns import Objects
    from ioopt.problems.gang import (
        GangMatrixPlan,
        GangMatrixProblem,
        GangPlan,
        GangProblem,
    )
    from ioopt.problems.gang_jobs import GangJobs
    from ioopt.problems.schedules import GangSchedule
    from ioopt.protocols import CheckReport, Schedule, Simulation
    from ioopt.result import Result
    from ioopt.solvers.model_files import Models

_BOTH = ("gang", "gang-matrix")
_FOUR = ("gs", "iogs", "adaptive-iogs", "migrate-iogs")
_ONLINE = {ONLINE}
_TRIED = ("index-iogs", "guarded-iogs", "migrate-iogs", "adaptive-iogs", "iogs", "gs")
_RENAMED = {"dedicated": "iogs"}


class Gang(Kind["GangProblem", "GangPlan"]):
    """The problem of deciding which jobs share a time slice, and on which nodes each of
    them runs.
    """

    kind = "gang"
    family = "gang"
    summary = "jobs in time slices on the nodes that hold their files (Zhang et al.)"
    default_solver = "auto"
    fallback = "migrate-iogs"
    policies = _TRIED
    metrics = (
        Metric("mean_slowdown", objective=True),
        Metric("mean_wait_seconds"),
        Metric("max_wait_seconds"),
        Metric("local_jobs", "max"),
    )
    compare_solvers = (*_FOUR, "guarded-iogs", "index-iogs")
    follows = True
    judged_by_schedule = True
    undrawn: Mapping[str, object] = {"drawn": False}
    renamed = _RENAMED

    def problem_class(self) -> type[GangProblem]:
        from ioopt.problems.gang import GangProblem

        return GangProblem

    def columns_class(self) -> type[GangJobs]:
        from ioopt.problems.gang_jobs import GangJobs

        return GangJobs

    def plan_class(self) -> type[GangPlan]:
        from ioopt.problems.gang import GangPlan

        return GangPlan

    def schedule_class(self) -> type[GangSchedule]:
        from ioopt.problems.schedules import GangSchedule

        return GangSchedule

    def rows_reader(self) -> Callable[[Objects], Rows]:
        from ioopt.problems.gang_rows import GangRows

        return GangRows.read

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.gang.generate import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> GangProblem:
        from ioopt.generate.gang.generate import generate

        return generate(preset, settings, seed)

    def load(self) -> None:
        import ioopt.checks.gang.check
        import ioopt.models.gang.slowdown_bound
        import ioopt.solvers.gang.run  # noqa: F401

    def check(
        self, problem: GangProblem, plan: GangPlan | None, schedule: Schedule | None
    ) -> CheckReport:
        from ioopt.checks.gang.check import check

        return check(problem, plan, schedule)

    def policy_of(self, plan: GangPlan) -> str:
        return plan.policy

    def policy_settings(self, plan: GangPlan, known: Set[str]) -> Mapping[str, object]:
        return plan.settings

    def simulate(
        self,
        problem: GangProblem,
        plan: GangPlan,
        *,
        policy: MadePolicy | None = None,
        **options: Any,
    ) -> Simulation:
        """Simulate the time slices under *policy*. A *deadline* is ignored.

        Raises UsageError for an engine that cannot do what the settings ask, and
        BackendMissingError for compiled code where none is.
        """
        from ioopt.solvers.gang.run import simulate_policy

        assert policy is not None, "a plan of this kind names its policy"
        options.pop("deadline", None)
        return simulate_policy(problem, policy.policy, policy.settings, **options)

    def bound(
        self, problem: GangProblem, deadline: Deadline | None = None
    ) -> float | None:
        """Return a lower bound of the mean slowdown; *deadline* is not needed."""
        from ioopt.models.gang.slowdown_bound import mean_slowdown_bound

        return mean_slowdown_bound(problem)

    def page(self, result: Result) -> Contents:
        from ioopt.plot.panels import gang_contents

        return gang_contents(result)

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        from ioopt.plot.gantt import plot_jobs
        from ioopt.plot.matrix import plot_gang

        return {"default": plot_gang, "gantt": plot_jobs}

    def explain(self, problem: GangProblem, result: Result) -> list[str]:
        from ioopt.sentences.gang import told

        return told(problem, result)

    def knobs(self) -> Mapping[str, Turn]:
        from ioopt.sentences.gang import KNOBS

        return KNOBS


class GangMatrix(Kind["GangMatrixProblem", "GangMatrixPlan"]):
    """The problem of deciding where the waiting jobs of a snapshot are placed, and
    which jobs move.
    """

    kind = "gang-matrix"
    family = "gang"
    summary = "one update of the gang scheduler's matrix (Zhang et al.)"
    default_solver = "auto"
    fallback = "migrate-iogs"
    policies = _TRIED
    metrics = (
        Metric("value_las", "max", objective=True),
        Metric("model_gap"),
        Metric("value_one", "max"),
        Metric("local_jobs", "max"),
        Metric("matrix_utilisation", "max"),
    )
    compare_solvers = (
        *_FOUR,
        "guarded-iogs",
        "index-iogs",
        "exact-iogs",
        "exact-iogs:guard=1",
    )
    decision = True
    exports = frozenset({"lp", "mps"})
    renamed = _RENAMED

    def problem_class(self) -> type[GangMatrixProblem]:
        from ioopt.problems.gang import GangMatrixProblem

        return GangMatrixProblem

    def plan_class(self) -> type[GangMatrixPlan]:
        from ioopt.problems.gang import GangMatrixPlan

        return GangMatrixPlan

    def load(self) -> None:
        import ioopt.checks.gang.matrix
        import ioopt.solvers.gang.bound  # noqa: F401

    def check(
        self,
        problem: GangMatrixProblem,
        plan: GangMatrixPlan,
        schedule: Schedule | None,
    ) -> CheckReport:
        from ioopt.checks.gang.matrix import check

        return check(problem, plan, schedule)

    def bound(
        self, problem: GangMatrixProblem, deadline: Deadline | None = None
    ) -> float:
        """Return an upper bound of ``value_las`` that holds for every policy; close to
        *deadline* it is weaker.
        """
        from ioopt.solvers.gang.bound import upper_bound

        return upper_bound(problem, deadline=deadline)

    def page(self, result: Result) -> Contents:
        from ioopt.plot.panels import decision_contents

        return decision_contents(result)

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        from ioopt.plot.matrix import plot_decision

        return {"default": plot_decision}

    def models(self) -> Models:
        from ioopt.solvers.gang.exported import MODELS

        return MODELS


KINDS = (Gang(), GangMatrix())


@Loader
def _auto() -> Solve:
    from ioopt.families.best_policy import best_of

    return best_of(KINDS, SOLVERS)


@Loader
def _run() -> Solve:
    from ioopt.solvers.gang.run import solve

    return solve


@Loader
def _plain_settings() -> type[BaseModel]:
    from ioopt.solvers.gang.policy import Settings

    return Settings


@Loader
def _gs() -> Callable[[Any], GangPolicy]:
    from ioopt.solvers.gang.policy import gs

    return gs


@Loader
def _iogs() -> Callable[[Any], GangPolicy]:
    from ioopt.solvers.gang.policy import iogs

    return iogs


@Loader
def _adaptive_iogs() -> Callable[[Any], GangPolicy]:
    from ioopt.solvers.gang.policy import adaptive_iogs

    return adaptive_iogs


@Loader
def _migrate_iogs() -> Callable[[Any], GangPolicy]:
    from ioopt.solvers.gang.policy import migrate_iogs

    return migrate_iogs


@Loader
def _guarded_iogs() -> Callable[[Any], GangPolicy]:
    from ioopt.solvers.gang.policy import guarded

    return guarded


@Loader
def _guarded_settings() -> type[BaseModel]:
    from ioopt.solvers.gang.policy import GuardedSettings

    return GuardedSettings


@Loader
def _index_iogs() -> Callable[[Any], GangPolicy]:
    from ioopt.solvers.gang.policy import index

    return index


@Loader
def _index_settings() -> type[BaseModel]:
    from ioopt.solvers.gang.policy import IndexSettings

    return IndexSettings


@Loader
def _exact_iogs() -> Solve:
    from ioopt.solvers.gang.exact import solve

    return solve


@Loader
def _exact_settings() -> type[BaseModel]:
    from ioopt.solvers.gang.exact import Settings

    return Settings


@Loader
def _exact_policy() -> Callable[[Any], GangPolicy]:
    from ioopt.solvers.gang.exact import policy

    return policy


def _policy(
    name: str,
    policy: Loader[Callable[[Any], GangPolicy]],
    summary: str,
    source: str,
    settings: Loader[type[BaseModel]] = _plain_settings,
) -> SolverSpec:
    """Return the row of a solver that runs one gang policy
    (:mod:`ioopt.solvers.gang.run`).
    """
    return SolverSpec(
        name,
        _BOTH,
        _run,
        summary,
        source,
        settings,
        policy,
        abilities=_ONLINE,
    )


SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "auto",
        _BOTH,
        _auto,
        "every policy on the instance; returns the best plan",
        "ours",
        abilities={ANYTIME},
    ),
    _policy(
        "gs",
        _gs,
        "plain gang scheduling, blind to files",
        "Zhang et al., Section 3.2",
    ),
    _policy(
        "iogs",
        _iogs,
        "jobs start on their file nodes or wait",
        "Zhang et al., Section 3.3",
    ),
    _policy(
        "adaptive-iogs",
        _adaptive_iogs,
        "on the file nodes where free, else anywhere",
        "Zhang et al., Section 3.5",
    ),
    _policy(
        "migrate-iogs",
        _migrate_iogs,
        "adaptive-iogs that moves remote jobs to their files",
        "Zhang et al., Section 3.6",
    ),
    _policy(
        "guarded-iogs",
        _guarded_iogs,
        "migrate-iogs that refuses remote starts on a crowded machine",
        "ours",
        _guarded_settings,
    ),
    _policy(
        "index-iogs",
        _index_iogs,
        "least attained service first, guarded, with an age term",
        "ours",
        _index_settings,
    ),
    SolverSpec(
        "exact-iogs",
        _BOTH,
        _exact_iogs,
        "every decision an integer program over rows and columns",
        "ours",
        _exact_settings,
        _exact_policy,
        abilities={EXACT, BOUND, ONLINE},
        backends=("CP-SAT", "HiGHS", "CBC"),
    ),
)
"""One row for each solver: its name, its function, and its description."""
