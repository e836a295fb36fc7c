"""Registry of job selection: which ready jobs of a workflow start now."""

from __future__ import annotations

from ioopt.registry.types import BOUND, EXACT, ONLINE, KindSpec, SolverSpec

_AT = "ioopt.solvers.job_selection:"
_KIND = ("job-selection",)

KINDS: tuple[KindSpec, ...] = (
    KindSpec(
        kind="job-selection",
        family="replication",
        problem="ioopt.problems.job_selection:JobSelectionProblem",
        plan="ioopt.problems.job_selection:JobSelectionPlan",
        check="ioopt.check.job_selection:check",
        generate="ioopt.generate.job_selection:generate",
        presets="ioopt.generate.job_selection:PRESETS",
        default_solver="select",
        fallback="first-fit",
        objective_name="selection_value",
        sense="max",
        most=("selection_value", "selected_jobs", "selected_cores", "deleted_bytes"),
        compare_solvers=("select", "first-fit"),
        compare_columns=("selected_jobs", "selected_cores", "deleted_bytes"),
        decision=True,
        summary="which ready jobs of a workflow to start now (ours; the value is Snakemake's)",
    ),
)

SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "select",
        _KIND,
        _AT + "solve",
        "greedy, Lagrangean bound and an integer program over classes of alike jobs",
        "ours",
        abilities=frozenset({EXACT, BOUND, ONLINE}),
        backends=("CP-SAT",),
    ),
    SolverSpec(
        "first-fit",
        _KIND,
        _AT + "solve_greedy",
        "in order of priority, cores, temporary bytes and input bytes, as long as they fit",
        "ours",
        abilities=frozenset({ONLINE}),
    ),
)
