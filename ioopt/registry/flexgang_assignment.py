"""Registry of the flexgang family, features F4 to F6: quantum selection and flexible assignment."""

from __future__ import annotations

from ioopt.registry.types import ANYTIME, BOUND, EXACT, WARM_START, KindSpec, SolverSpec

_AT = "ioopt.solvers.flexgang."

_QUANTUM_SELECTION = KindSpec(
    kind="quantum-selection",
    family="flexgang",
    problem="ioopt.problems.flexgang.quantum_selection:QuantumSelectionProblem",
    plan="ioopt.problems.flexgang.quantum_selection:QuantumPlan",
    schedule="ioopt.problems.schedules:QuantumCycle",
    check="ioopt.check.flexgang.quantum_selection:check",
    simulate="ioopt.sim.flexgang.quantum_selection:simulate",
    limited_replay=True,
    generate="ioopt.generate.flexgang.quantum_selection:generate",
    presets="ioopt.generate.flexgang.quantum_selection:PRESETS",
    plot="ioopt.plot.quantum_cycle:plot_quantum_cycle",
    default_solver="quantum-ip",
    fallback="quantum-greedy",
    objective_name="predicted_cost",
    compare_solvers=("quantum-greedy", "quantum-dp", "quantum-ip"),
    compare_columns=("realised", "cycle_seconds", "gain"),
    measured=True,
    summary="a quantum and visits a cycle for every job (after Lee et al., Section 3.2)",
)

_FLEXIBLE_GANG = KindSpec(
    kind="flexible-gang",
    family="flexgang",
    problem="ioopt.problems.flexgang.flexible_gang:FlexibleGangProblem",
    plan="ioopt.problems.flexgang.flexible_gang:FlexibleGangPlan",
    schedule="ioopt.problems.schedules:FlexibleFrame",
    check="ioopt.check.flexgang.flexible_gang:check",
    simulate="ioopt.sim.flexgang.flexible_gang:simulate",
    limited_replay=True,
    generate="ioopt.generate.flexgang.flexible_gang:generate",
    presets="ioopt.generate.flexgang.flexible_gang:PRESETS",
    plot="ioopt.plot.flexible_frame:plot_flexible_frame",
    sense="max",
    default_solver="exact",
    fallback="strict-fill",
    objective_name="weighted_progress",
    compare_solvers=("exact", "greedy", "strict-fill", "strict"),
    compare_columns=(
        "simulated_objective", "cpu_utilisation", "compute_progress", "io_slowdown", "floors_kept",
    ),
    measured=True,
    most=("simulated_objective", "cpu_utilisation", "compute_progress"),
    summary="strict rows and loose windows for gangs and I/O jobs (Lee et al., Section 7)",
)  # fmt: skip

KINDS: tuple[KindSpec, ...] = (_QUANTUM_SELECTION, _FLEXIBLE_GANG)

SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "quantum-greedy", ("quantum-selection",), _AT + "quantum_greedy:solve",
        "best uniform quantum, then coordinate descent over the menu", "ours",
    ),
    SolverSpec(
        "quantum-dp", ("quantum-selection",), _AT + "quantum_dp:solve",
        "a multiple-choice knapsack per cycle length, by dynamic programming", "ours",
        abilities=frozenset({EXACT, BOUND}),
    ),
    SolverSpec(
        "quantum-ip", ("quantum-selection",), _AT + "quantum_ip:solve",
        "options and cycle length as an integer program", "ours",
        abilities=frozenset({EXACT, BOUND, WARM_START}),
        backends=("HiGHS", "CP-SAT", "CBC", "SCIP", "GLPK"),
    ),
    SolverSpec(
        "strict", ("flexible-gang",), _AT + "strict:solve",
        "strict gang scheduling: one row a job, first-fit decreasing", "Lee et al., Section 2",
        _AT + "strict:Settings",
    ),
    SolverSpec(
        "strict-fill", ("flexible-gang",), _AT + "strict:solve",
        "strict rows, fragments and idle cells shared equally by gangs that can use them",
        "ours; Lee et al., Section 3.1", _AT + "strict:Settings", fixed={"fill": True},
    ),
    SolverSpec(
        "greedy", ("flexible-gang",), _AT + "greedy:solve",
        "loose I/O and low gangedness, first-fit decreasing, replicated rows, tau by linear program",
        "ours; Lee et al., Section 7", abilities=frozenset({ANYTIME}),
    ),
    SolverSpec(
        "exact", ("flexible-gang",), _AT + "exact:solve",
        "one integer program a pattern under one deadline, re-ranked by simulation",
        "ours; Lee et al., Section 7", _AT + "exact:Settings",
        abilities=frozenset({EXACT, BOUND, ANYTIME, WARM_START}),
        backends=("HiGHS", "CP-SAT", "CBC", "SCIP", "GLPK"),
    ),
)  # fmt: skip
