"""Registry of the flexgang family (Lee et al.): decisions F4 and F5,
measurements F1 to F3.
"""

from typing import Any

from ioopt.registry.types import (
    ANYTIME,
    BOUND,
    EXACT,
    THREADS,
    WARM_START,
    KindSpec,
    MeasuredKind,
    SolverSpec,
)

_AT = "ioopt.solvers.flexgang."
_BACKENDS = ("HiGHS", "CBC", "SCIP")


def _kind(kind: str, plan: str, schedule: str, **more: Any) -> KindSpec:
    """A kind whose problem, checker and generator stand in modules of its own name."""
    stem = kind.replace("-", "_")
    problems, made = (
        f"ioopt.problems.flexgang.{stem}:",
        f"ioopt.generate.flexgang.{stem}:generate",
    )
    parts: dict[str, Any] = {
        "problem": problems + kind.title().replace("-", "") + "Problem",
        "check": f"ioopt.check.flexgang.{stem}:check",
        "generate": made,
        "schedule": "ioopt.problems.schedules:" + schedule,
        "plot": f"ioopt.plot.flexgang:plot_{stem}",
        "limited_replay": True,
    }
    return KindSpec(
        kind=kind, family="flexgang", plan=problems + plan, **(parts | more)
    )


KINDS: tuple[KindSpec, ...] = (
    _kind(
        "quantum-selection",
        "QuantumPlan",
        "QuantumCycle",
        bound="ioopt.models.flexgang.quantum:least_cost",
        simulate="ioopt.sim.flexgang.quantum_selection:simulate",
        default_solver="quantum-ip",
        fallback="quantum-greedy",
        objective_name="predicted_cost",
        compare_solvers=("quantum-greedy", "quantum-ip"),
        compare_columns=("realised", "cycle_seconds"),
        follows=True,
        summary="a quantum and visits a cycle for every job (after Lee et al., Section "
        "3.2)",
    ),
    _kind(
        "flexible-gang",
        "FlexibleGangPlan",
        "FlexibleFrame",
        simulate="ioopt.sim.flexgang.flexible_gang:simulate",
        sense="max",
        default_solver="flex-exact",
        fallback="strict-fill",
        objective_name="weighted_progress",
        bound="ioopt.solvers.flexgang.linear:upper_bound",
        limited_bound=True,
        compare_solvers=("flex-exact", "greedy", "strict-fill", "strict"),
        compare_columns=(
            "simulated_objective",
            "cpu_utilisation",
            "compute_progress",
            "io_slowdown",
            "floors_kept",
        ),
        follows=True,
        most=("simulated_objective", "cpu_utilisation", "compute_progress"),
        summary="strict rows and loose windows for gangs and I/O jobs (Lee et al., "
        "Section 7)",
    ),
)


def _measured(kind: str, module: str, summary: str) -> MeasuredKind:
    stem = kind.replace("-", "_")
    return MeasuredKind(
        kind=kind,
        family="flexgang",
        problem=f"ioopt.problems.flexgang.{stem}:{kind.title().replace('-', '')}Problem",
        generate=f"ioopt.generate.flexgang.{stem}:generate",
        measure=f"ioopt.measure.{module}:measure",
        plot=f"ioopt.plot.measured:plot_{stem}",
        summary=summary,
    )


MEASURED = (
    _measured(
        "quantum-model",
        "quantum_model",
        "an I/O gang and a compute gang in alternating quanta (Lee et al., "
        "Figures 2 and 3)",
    ),
    _measured(
        "perturbation",
        "laboratory",
        "what a gang loses when one processor loses or gains a quantum (Lee et "
        "al., Section 4)",
    ),
    _measured(
        "message-counts",
        "gangedness",
        "messages received in gang and in disturbed quanta (Lee et al., Section 5)",
    ),
)


def _solver(
    name: str, kind: str, module: str, what: str, source: str, **more: Any
) -> SolverSpec:
    """The row of a solver with function and settings in one module."""
    parts: dict[str, Any] = {"settings": f"{_AT}{module}:Settings"} | more
    return SolverSpec(name, (kind,), f"{_AT}{module}:solve", what, source, **parts)


SOLVERS: tuple[SolverSpec, ...] = (
    _solver(
        "quantum-greedy",
        "quantum-selection",
        "quantum_greedy",
        "best uniform quantum, then coordinate descent over the menu",
        "ours",
        settings=None,
    ),
    _solver(
        "quantum-ip",
        "quantum-selection",
        "quantum_ip",
        "options and cycle length as an integer program",
        "ours",
        settings=None,
        abilities={EXACT, BOUND, WARM_START, THREADS},
        backends=_BACKENDS,
    ),
    _solver(
        "strict",
        "flexible-gang",
        "strict",
        "strict gang scheduling: one row a job, first-fit decreasing",
        "Lee et al., Section 2",
    ),
    _solver(
        "strict-fill",
        "flexible-gang",
        "strict",
        "strict rows, fragments and idle cells shared equally by gangs that can "
        "use them",
        "ours; Lee et al., Section 3.1",
        fixed={"fill": True},
    ),
    _solver(
        "greedy",
        "flexible-gang",
        "greedy",
        "loose I/O and low gangedness, first-fit decreasing, replicated rows, "
        "tau by linear program",
        "ours; Lee et al., Section 7",
        settings=None,
        abilities={ANYTIME},
    ),
    _solver(
        "flex-exact",
        "flexible-gang",
        "exact",
        "one integer program a pattern under one deadline, re-ranked by simulation",
        "ours; Lee et al., Section 7",
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
        backends=_BACKENDS,
    ),
)
