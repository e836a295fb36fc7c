"""Registry of the gang family (Zhang et al.)."""

from ioopt.registry.types import (
    ANYTIME,
    BOUND,
    EXACT,
    ONLINE,
    KindSpec,
    Metric,
    SolverSpec,
)

_AT = "ioopt.solvers.gang."
_BOTH = ("gang", "gang-matrix")
_FOUR = ("gs", "iogs", "adaptive-iogs", "migrate-iogs")
_ONLINE = {ONLINE}
_TRIED = ("index-iogs", "guarded-iogs", "migrate-iogs", "adaptive-iogs", "iogs", "gs")

KINDS: tuple[KindSpec, ...] = (
    KindSpec(
        kind="gang",
        family="gang",
        problem="ioopt.problems.gang:GangProblem",
        plan="ioopt.problems.gang:GangPlan",
        schedule="ioopt.problems.schedules:GangSchedule",
        check="ioopt.check.gang.check:check",
        simulate="ioopt.registry.policies:simulate_gang",
        follows=True,
        generate="ioopt.generate.gang.generate:generate",
        plot="ioopt.plot.matrix:plot_gang",
        pictures={"gantt": "ioopt.plot.gantt:plot_jobs"},
        explain="ioopt.explaining.gang:FAMILY",
        default_solver="auto",
        fallback="migrate-iogs",
        policies=_TRIED,
        metrics=(
            Metric("mean_slowdown", objective=True),
            Metric("mean_wait_seconds"),
            Metric("max_wait_seconds"),
            Metric("local_jobs", "max"),
        ),
        compare_solvers=(*_FOUR, "guarded-iogs", "index-iogs"),
        bound="ioopt.models.gang.slowdown_bound:mean_slowdown_bound",
        summary="jobs in time slices on the nodes that hold their files (Zhang et al.)",
    ),
    KindSpec(
        kind="gang-matrix",
        family="gang",
        problem="ioopt.problems.gang:GangMatrixProblem",
        plan="ioopt.problems.gang:GangMatrixPlan",
        check="ioopt.check.gang.matrix:check",
        plot="ioopt.plot.matrix:plot_decision",
        default_solver="auto",
        fallback="migrate-iogs",
        policies=_TRIED,
        metrics=(
            Metric("value_las", "max", objective=True),
            Metric("model_gap"),
            Metric("value_one", "max"),
            Metric("local_jobs", "max"),
            Metric("matrix_utilisation", "max"),
        ),
        bound="ioopt.solvers.gang.bound:upper_bound",
        limited_bound=True,
        compare_solvers=(
            *_FOUR,
            "guarded-iogs",
            "index-iogs",
            "exact-iogs",
            "exact-iogs:guard=1",
        ),
        decision=True,
        summary="one update of the gang scheduler's matrix (Zhang et al.)",
    ),
)


def _policy(
    name: str, policy: str, summary: str, source: str, settings: str = "run:Settings"
) -> SolverSpec:
    return SolverSpec(
        name,
        _BOTH,
        _AT + "run:solve",
        summary,
        source,
        _AT + settings,
        _AT + policy,
        abilities=_ONLINE,
    )


SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "auto",
        _BOTH,
        "ioopt.registry.policies:best_policy",
        "every policy on the instance, the best answers",
        "ours",
        abilities={ANYTIME},
    ),
    _policy(
        "gs",
        "policy:gs",
        "plain gang scheduling, blind to files",
        "Zhang et al., Section 3.2",
    ),
    _policy(
        "iogs",
        "policy:iogs",
        "jobs start on their file nodes or wait",
        "Zhang et al., Section 3.3",
    ),
    _policy(
        "adaptive-iogs",
        "policy:adaptive_iogs",
        "on the file nodes where free, else anywhere",
        "Zhang et al., Section 3.5",
    ),
    _policy(
        "migrate-iogs",
        "policy:migrate_iogs",
        "adaptive-iogs that moves remote jobs to their files",
        "Zhang et al., Section 3.6",
    ),
    _policy(
        "guarded-iogs",
        "policy:guarded",
        "migrate-iogs that refuses remote starts on a crowded machine",
        "ours",
        "policy:GuardedSettings",
    ),
    _policy(
        "index-iogs",
        "policy:index",
        "least attained service first, guarded, with an age term",
        "ours",
        "policy:IndexSettings",
    ),
    SolverSpec(
        "exact-iogs",
        _BOTH,
        _AT + "exact:solve",
        "every decision an integer program over rows and columns",
        "ours",
        _AT + "exact:Settings",
        _AT + "exact:policy",
        abilities={EXACT, BOUND, ONLINE},
        backends=("CP-SAT", "HiGHS", "CBC"),
    ),
)
"""One row a policy: its name, its file, and what is said of it."""
