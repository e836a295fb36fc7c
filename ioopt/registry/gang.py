"""Registry of the gang family (Zhang et al.)."""

from __future__ import annotations

from ioopt.registry.types import BOUND, EXACT, ONLINE, KindSpec, SolverSpec

_AT = "ioopt.solvers.gang."
_BOTH = ("gang", "gang-matrix")
_FOUR = ("gs", "iogs", "adaptive-iogs", "migrate-iogs")
_SETTINGS = _AT + "run:Settings"
_ONLINE = frozenset({ONLINE})

KINDS: tuple[KindSpec, ...] = (
    KindSpec(
        kind="gang",
        family="gang",
        problem="ioopt.problems.gang:GangProblem",
        plan="ioopt.problems.gang:GangPlan",
        schedule="ioopt.problems.schedules:GangSchedule",
        check="ioopt.check.gang.check:check",
        simulate="ioopt.registry.policies:simulate_gang",
        generate="ioopt.generate.gang.generate:generate",
        presets="ioopt.generate.gang.generate:PRESETS",
        plot="ioopt.plot.matrix:plot_gang",
        pictures={"gantt": "ioopt.plot.jobs:plot_jobs"},
        default_solver="guarded-iogs",
        fallback="migrate-iogs",
        objective_name="mean_slowdown",
        compare_solvers=(*_FOUR, "guarded-iogs", "index-iogs"),
        compare_columns=("mean_wait_seconds", "max_wait_seconds", "local_jobs"),
        most=("local_jobs",),
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
        default_solver="guarded-iogs",
        fallback="migrate-iogs",
        objective_name="value_las",
        sense="max",
        most=("value_one", "local_jobs", "matrix_utilisation"),
        bound="ioopt.solvers.gang.bound:upper_bound",
        compare_solvers=(*_FOUR, "guarded-iogs", "index-iogs", "exact-iogs", "exact-iogs:guard=1"),
        compare_columns=("model_gap", "value_one", "local_jobs", "matrix_utilisation"),
        decision=True,
        summary="one update of the gang scheduler's matrix (Zhang et al.)",
    ),
)

SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "gs", _BOTH, _AT + "gs:solve",
        "plain gang scheduling, blind to files", "Zhang et al., Section 3.2", _SETTINGS, abilities=_ONLINE,
    ),
    SolverSpec(
        "iogs", _BOTH, _AT + "iogs:solve",
        "jobs start on their file nodes or wait", "Zhang et al., Section 3.3", _SETTINGS, abilities=_ONLINE,
    ),
    SolverSpec(
        "adaptive-iogs", _BOTH, _AT + "adaptive_iogs:solve",
        "on the file nodes where free, else anywhere", "Zhang et al., Section 3.5", _SETTINGS,
        abilities=_ONLINE,
    ),
    SolverSpec(
        "migrate-iogs", _BOTH, _AT + "migrate_iogs:solve",
        "adaptive-iogs that moves remote jobs to their files", "Zhang et al., Section 3.6", _SETTINGS,
        abilities=_ONLINE,
    ),
    SolverSpec(
        "guarded-iogs", _BOTH, _AT + "guarded:solve",
        "migrate-iogs that refuses remote starts on a crowded machine", "ours",
        _AT + "guarded:Settings", abilities=_ONLINE,
    ),
    SolverSpec(
        "index-iogs", _BOTH, _AT + "index:solve",
        "least attained service first, guarded, with an age term", "ours",
        _AT + "index:Settings", abilities=_ONLINE,
    ),
    SolverSpec(
        "dedicated", ("gang",), _AT + "dedicated:solve",
        "each job alone on its file nodes, without slices: a plan in closed form", "ours", _SETTINGS,
    ),
    SolverSpec(
        "exact-iogs", _BOTH, _AT + "exact:solve",
        "every decision an integer program over rows and columns", "ours",
        _AT + "exact:Settings", abilities=frozenset({EXACT, BOUND, ONLINE}),
        backends=("CP-SAT", "HiGHS", "CBC"),
    ),
)  # fmt: skip
