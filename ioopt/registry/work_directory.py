"""Registry of the work-directory family, a model of our
own (docs/rules/work-directory.md).
"""

from typing import Any

from ioopt.registry.types import (
    ANYTIME,
    BOUND,
    EXACT,
    THREADS,
    WARM_START,
    KindSpec,
    Metric,
    SolverSpec,
)

_AT = "ioopt.solvers.work_directory."

KINDS = (
    KindSpec(
        kind="work-directory",
        family="work-directory",
        problem="ioopt.problems.work_directory:WorkDirectoryProblem",
        plan="ioopt.problems.work_directory:WorkDirectoryPlan",
        schedule="ioopt.problems.schedules:WorkDirectorySchedule",
        check="ioopt.check.work_directory:check",
        bound="ioopt.models.work_directory.bounds:least_makespan",
        simulate="ioopt.sim.work_directory.replay:simulate",
        follows=True,
        limited_replay=True,
        beyond="ioopt.problems.work_directory:beyond",
        generate="ioopt.generate.work_directory:generate",
        plot="ioopt.plot.work_directory:plot_use",
        default_solver="auto",
        fallback="in-flight",
        metrics=(
            Metric(
                "makespan_seconds", bounded_by="lower_bound_seconds", objective=True
            ),
            Metric("peak_bytes", bounded_by="peak_bound_bytes"),
            Metric("mean_bytes"),
            Metric("cores_busy", "max"),
        ),
        compare_solvers=("search", "in-flight", "depth-first", "submission"),
        summary="a workflow on one machine whose work directory has a quota",
    ),
)


def _solver(name: str, module: str, what: str, **more: Any) -> SolverSpec:
    """The row of a solver of this kind."""
    return SolverSpec(name, ("work-directory",), f"{_AT}{module}", what, "ours", **more)


SOLVERS = (
    _solver(
        "auto",
        "exact:solve_auto",
        "in-flight, then search; where it is small, exact",
        settings=_AT + "search:Settings",
        abilities={BOUND, ANYTIME, WARM_START, THREADS},
    ),
    _solver(
        "submission",
        "dispatch:solve_submission",
        "the task that has been ready longest, where it fits (as Nextflow submits)",
        settings=_AT + "dispatch:Settings",
    ),
    _solver(
        "depth-first",
        "dispatch:solve_depth_first",
        "the ready task of the greatest level first",
        settings=_AT + "dispatch:Settings",
    ),
    _solver(
        "in-flight",
        "dispatch:solve_in_flight",
        "the best safe run over all caps on samples in flight and both policies",
    ),
    _solver(
        "search",
        "search:solve",
        "priorities of tasks and the cap, perturbed; begins at in-flight",
        settings=_AT + "search:Settings",
        abilities={BOUND, ANYTIME, WARM_START},
    ),
    _solver(
        "exact",
        "exact:solve",
        "constraint programming: small instances and least peaks",
        settings=_AT + "search:Settings",
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
    ),
)
