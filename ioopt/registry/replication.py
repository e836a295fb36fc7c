"""Registry of the replication family (Khanna et al.)."""

from typing import Any

from ioopt.registry.types import (
    ANYTIME,
    BOUND,
    EXACT,
    THREADS,
    WARM_START,
    KindSpec,
    SolverSpec,
)

_AT = "ioopt.solvers.replication."
_KIND = ("replication",)

KINDS = (
    KindSpec(
        kind="replication",
        family="replication",
        problem="ioopt.problems.replication:ReplicationProblem",
        plan="ioopt.problems.replication:ReplicationPlan",
        schedule="ioopt.problems.schedules:ReplicationSchedule",
        check="ioopt.check.replication.check:check",
        bound="ioopt.models.replication.bounds:quick",
        simulate="ioopt.sim.replication.simulate:simulate",
        follows=True,
        beyond="ioopt.problems.replication:beyond",
        limited_replay=True,
        generate="ioopt.generate.replication.generate:generate",
        plot="ioopt.plot.gantt:plot_replication",
        explain="ioopt.explaining.replication:FAMILY",
        default_solver="auto",
        fallback="ready-min-min",
        objective_name="additive_seconds",
        choose_solvers="ioopt.solvers.replication.auto:compared",
        compare_columns=(
            "makespan_seconds",
            "remote_bytes",
            "replica_bytes",
            "evictions",
        ),
        measure="makespan_seconds",
        bound_metrics={"makespan_seconds": "lower_bound_seconds"},
        proven_metrics={"makespan_seconds": "transfer_bound_seconds"},
        summary="tasks that share input files, on nodes with disks (Khanna et al.)",
    ),
)


def _solver(
    name: str, module: str, what: str, source: str, function: str = "solve", **more: Any
) -> SolverSpec:
    """The row of a solver with function and settings in one module."""
    parts: dict[str, Any] = {"settings": f"{_AT}{module}:Settings"} | more
    return SolverSpec(name, _KIND, f"{_AT}{module}:{function}", what, source, **parts)


SOLVERS: tuple[SolverSpec, ...] = (
    _solver(
        "auto",
        "auto",
        "all cheap plans, then every queue of a few tasks, or the link-aware search",
        "ours",
        settings=None,
        abilities={BOUND, ANYTIME, WARM_START, THREADS},
    ),
    _solver(
        "ip",
        "exact.ip",
        "integer program, aggregated formulation: bounds, annealing start, "
        "CP-SAT and HiGHS",
        "Khanna et al., Section 4.1; aggregated form ours",
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
        backends=("CP-SAT", "HiGHS", "CBC"),
    ),
    _solver(
        "ip-printed",
        "exact.ip_printed",
        "integer program with equations (1)-(13) as printed, through PuLP",
        "Khanna et al., Section 4.1, (1)-(13)",
        abilities={EXACT, BOUND, WARM_START, THREADS},
        backends=("HiGHS", "CBC", "SCIP", "GLPK"),
    ),
    _solver(
        "ip-no-replication",
        "exact.ip",
        "integer program without copies between nodes",
        "Khanna et al., Figure 4(a)",
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
        backends=("CP-SAT", "HiGHS", "CBC"),
        fixed={"replication": False},
        variant_of="ip",
    ),
    _solver(
        "minmin",
        "greedy.minmin",
        "least completion time first, implicit replication, popularity eviction",
        "Khanna et al., Section 3",
    ),
    _solver(
        "minmin-no-replication",
        "greedy.minmin",
        "MinMin in which every file comes from remote storage",
        "Khanna et al., Section 3",
        fixed={"replication": False},
        variant_of="minmin",
    ),
    _solver(
        "job-data-present",
        "greedy.job_data_present",
        "task to the node with the least to transfer; DataLeastLoaded copies; "
        "LRU eviction",
        "Khanna et al., Section 3",
    ),
    _solver(
        "heft",
        "workflows",
        "workflows: the longest path with its files first, into the first gap of "
        "the node's cores",
        "Topcuoglu et al. 2002; files and cores ours",
        function="solve_heft",
    ),
    _solver(
        "b-level",
        "workflows",
        "workflows: the longest path of computing first, behind what the cores have",
        "Kwok and Ahmad 1999; files and cores ours",
        function="solve_b_level",
    ),
    _solver(
        "fifo",
        "dispatch",
        "workflows: a dispatcher; the first ready task to the core that has "
        "idled longest",
        "ours",
        policy=_AT + "dispatch:FIFO",
    ),
    _solver(
        "locality",
        "dispatch",
        "workflows: a dispatcher; the ready task with the most input bytes on a node",
        "ours",
        policy=_AT + "dispatch:LOCALITY",
    ),
    _solver(
        "ready-min-min",
        "workflows",
        "workflows: MinMin over the tasks whose producers are planned; on a "
        "batch, minmin",
        "Khanna et al., Section 3; workflows ours",
        function="solve_ready_min_min",
        settings=_AT + "workflows:ReadySettings",
        policy=_AT + "dispatch:READY_MIN_MIN",
    ),
    _solver(
        "rolling",
        "online.rolling",
        "workflows: a dispatcher; a plan of what is left, made anew as tasks "
        "arrive or go",
        "ours",
        policy=_AT + "online.rolling:policy",
    ),
    _solver(
        "exact-workflow",
        "exact.exact_workflow",
        "workflows and batches of some 12 tasks: branch and bound over all "
        "queues, by replay",
        "ours",
        abilities={EXACT, BOUND, ANYTIME, WARM_START},
    ),
    _solver(
        "two-stage",
        "rounds.two_stage",
        "rounds under a disk limit: select a sub-batch, allocate it, evict by "
        "popularity",
        "Khanna et al., Sections 4.2 and 4.3, (14)-(22)",
        abilities={BOUND, THREADS},
    ),
    _solver(
        "hierarchical",
        "rounds.two_stage",
        "two-stage over a tree of virtual nodes, such as hierarchy=4:2",
        "Khanna et al., Section 4.4",
        abilities={BOUND, THREADS},
        function="solve_hierarchical",
        settings=_AT + "rounds.two_stage:TreeSettings",
    ),
    _solver(
        "link-aware",
        "search.link_aware",
        "annealing of the queues by their replay; never above MinMin nor the "
        "planners of workflows",
        "ours",
        abilities={BOUND, ANYTIME, WARM_START, THREADS},
    ),
)
