"""Registry of the flexgang family (Lee et al.): features F1 to F3."""

from __future__ import annotations

from ioopt.registry.types import KindSpec, SolverSpec

_AT = "ioopt.solvers.flexgang."

_QUANTUM_MODEL = KindSpec(
    kind="quantum-model",
    family="flexgang",
    problem="ioopt.problems.flexgang.quantum_model:QuantumModelProblem",
    plan="ioopt.problems.flexgang.quantum_model:QuantumModelPlan",
    schedule="ioopt.problems.schedules:QuantumModelSchedule",
    check="ioopt.check.flexgang.quantum_model:check",
    simulate="ioopt.measure.quantum_model:simulate",
    limited_replay=True,
    generate="ioopt.generate.flexgang.quantum_model:generate",
    presets="ioopt.generate.flexgang.quantum_model:PRESETS",
    plot="ioopt.plot.tradeoff:plot_quantum_model",
    default_solver="chain",
    fallback="event",
    objective_name="slowdown",
    compare_solvers=("chain", "event"),
    compare_columns=("fragmentation", "response_seconds", "useful"),
    summary="an I/O gang and a compute gang in alternating quanta (Lee et al., Figures 2 and 3)",
)

_PERTURBATION = KindSpec(
    kind="perturbation",
    family="flexgang",
    problem="ioopt.problems.flexgang.perturbation:PerturbationProblem",
    plan="ioopt.problems.flexgang.perturbation:PerturbationPlan",
    schedule="ioopt.problems.schedules:PerturbationSchedule",
    check="ioopt.check.flexgang.perturbation:check",
    simulate="ioopt.measure.perturbation:simulate",
    limited_replay=True,
    generate="ioopt.generate.flexgang.perturbation:generate",
    presets="ioopt.generate.flexgang.perturbation:PRESETS",
    plot="ioopt.plot.characteristic:plot_perturbation",
    default_solver="laboratory",
    objective_name="mean_gamma_sub",
    summary="what a gang loses when one processor loses or gains a quantum (Lee et al., Section 4)",
)

_MESSAGE_COUNTS = KindSpec(
    kind="message-counts",
    family="flexgang",
    problem="ioopt.problems.flexgang.message_counts:MessageCountsProblem",
    plan="ioopt.problems.flexgang.message_counts:GangednessPlan",
    check="ioopt.check.flexgang.gangedness:check",
    generate="ioopt.generate.flexgang.message_counts:generate",
    presets="ioopt.generate.flexgang.message_counts:PRESETS",
    plot="ioopt.plot.gangedness:plot_message_counts",
    default_solver="gangedness",
    objective_name="unknown_applications",
    summary="messages received in gang and in disturbed quanta (Lee et al., Section 5)",
)

KINDS: tuple[KindSpec, ...] = (_QUANTUM_MODEL, _PERTURBATION, _MESSAGE_COUNTS)

_MODEL = ("quantum-model",)

SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "chain", _MODEL, _AT + "chain:solve",
        "stationary Markov chain of the completion phase", "ours; model of Lee et al., Section 3.2",
    ),
    SolverSpec(
        "event", _MODEL, _AT + "event:solve",
        "event simulation in whole nanoseconds, one random stream a process", "Lee et al., Section 3.2",
    ),
    SolverSpec(
        "laboratory", ("perturbation",), _AT + "laboratory:solve",
        "slopes of run time against perturbations, Sub and Add, FX and RR", "Lee et al., Section 4",
        _AT + "laboratory:Settings",
    ),
    SolverSpec(
        "gangedness", ("message-counts",), _AT + "gangedness:solve",
        "LOW, HIGH or UNKNOWN need of gang scheduling, with the evidence", "Lee et al., Section 5",
        _AT + "gangedness:Settings",
    ),
)  # fmt: skip
