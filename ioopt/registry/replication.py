"""Registry of the replication family (Khanna et al.)."""

from __future__ import annotations

from ioopt.registry.types import ANYTIME, BOUND, EXACT, WARM_START, KindSpec, SolverSpec

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
        limited_replay=True,
        generate="ioopt.generate.replication.generate:generate",
        presets="ioopt.generate.replication.generate:PRESETS",
        plot="ioopt.plot.gantt:plot_replication",
        default_solver="auto",
        fallback="minmin",
        objective_name="additive_seconds",
        choose_solvers="ioopt.solvers.replication.auto:compared",
        compare_columns=(
            "makespan_seconds",
            "additive_seconds",
            "remote_bytes",
            "replica_bytes",
            "evictions",
        ),
        measure="makespan_seconds",
        bound_metrics={"makespan_seconds": "lower_bound_seconds"},
        summary="tasks that share input files, on nodes with disks (Khanna et al.)",
    ),
)

_PULP = ("CBC", "HiGHS", "SCIP", "GLPK")

SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "auto", _KIND, _AT + "auto:solve",
        "picks a solver by disk limit, link model, size and deadline; its note says why",
        "ours", abilities=frozenset({BOUND, ANYTIME, WARM_START}),
    ),
    SolverSpec(
        "ip", _KIND, _AT + "exact.ip:solve",
        "integer program, aggregated formulation: bounds, annealing start, CP-SAT and HiGHS",
        "Khanna et al., Section 4.1; aggregated form ours", _AT + "exact.ip:Settings",
        abilities=frozenset({EXACT, BOUND, ANYTIME, WARM_START}), backends=("CP-SAT", "HiGHS", "CBC"),
    ),
    SolverSpec(
        "ip-printed", _KIND, _AT + "exact.ip_printed:solve",
        "integer program with equations (1)-(13) as printed, through PuLP",
        "Khanna et al., Section 4.1, (1)-(13)", _AT + "exact.ip_printed:Settings",
        abilities=frozenset({EXACT, BOUND, WARM_START}), backends=("HiGHS", "CBC", "SCIP", "GLPK"),
    ),
    SolverSpec(
        "ip-no-replication", _KIND, _AT + "exact.ip:solve",
        "integer program without copies between nodes", "Khanna et al., Figure 4(a)",
        _AT + "exact.ip:Settings", fixed={"replication": False}, variant_of="ip",
        abilities=frozenset({EXACT, BOUND, ANYTIME, WARM_START}), backends=("CP-SAT", "HiGHS", "CBC"),
    ),
    SolverSpec(
        "minmin", _KIND, _AT + "greedy.minmin:solve",
        "least completion time first, implicit replication, popularity eviction",
        "Khanna et al., Section 3", _AT + "greedy.minmin:Settings",
    ),
    SolverSpec(
        "minmin-no-replication", _KIND, _AT + "greedy.minmin:solve",
        "MinMin in which every file comes from remote storage",
        "Khanna et al., Section 3", _AT + "greedy.minmin:Settings", fixed={"replication": False},
        variant_of="minmin",
    ),
    SolverSpec(
        "job-data-present", _KIND, _AT + "greedy.job_data_present:solve",
        "task to the node with the least to transfer; DataLeastLoaded copies; LRU eviction",
        "Khanna et al., Section 3", _AT + "greedy.job_data_present:Settings",
    ),
    SolverSpec(
        "heft", _KIND, _AT + "greedy.heft:solve",
        "workflows: the longest path with its files first, into the first gap of the node's cores",
        "Topcuoglu et al. 2002; files and cores ours", _AT + "greedy.heft:Settings",
    ),
    SolverSpec(
        "b-level", _KIND, _AT + "greedy.b_level:solve",
        "workflows: the longest path of computing first, behind what the cores have",
        "Kwok and Ahmad 1999; files and cores ours", _AT + "greedy.b_level:Settings",
    ),
    SolverSpec(
        "fifo", _KIND, _AT + "dispatch.run:solve",
        "workflows: a dispatcher; the first ready task to the core that has idled longest", "ours",
        _AT + "dispatch.run:Settings", policy=_AT + "dispatch.fifo:policy",
    ),
    SolverSpec(
        "locality", _KIND, _AT + "dispatch.run:solve",
        "workflows: a dispatcher; the ready task with the most input bytes on a node", "ours",
        _AT + "dispatch.run:Settings", policy=_AT + "dispatch.locality:policy",
    ),
    SolverSpec(
        "ready-min-min", _KIND, _AT + "greedy.ready_min_min:solve",
        "workflows: MinMin over the tasks whose producers are planned; on a batch, minmin",
        "Khanna et al., Section 3; workflows ours", _AT + "greedy.ready_min_min:Settings",
        policy=_AT + "dispatch.ready_min_min:policy",
    ),
    SolverSpec(
        "two-stage", _KIND, _AT + "rounds.two_stage:solve",
        "rounds under a disk limit: select a sub-batch, allocate it, evict by popularity",
        "Khanna et al., Sections 4.2 and 4.3, (14)-(22)", _AT + "rounds.two_stage:Settings",
        abilities=frozenset({BOUND}),
    ),
    SolverSpec(
        "hierarchical", _KIND, _AT + "rounds.hierarchical:solve",
        "two-stage over a tree of virtual nodes, such as hierarchy=4:2",
        "Khanna et al., Section 4.4", _AT + "rounds.hierarchical:Settings",
        abilities=frozenset({BOUND}),
    ),
    SolverSpec(
        "anneal", _KIND, _AT + "search.anneal:solve",
        "simulated annealing of the additive objective, the start of ip", "ours",
        _AT + "search.anneal:Settings", abilities=frozenset({BOUND}),
    ),
    SolverSpec(
        "lpt", _KIND, _AT + "greedy.lpt:solve",
        "longest file group first, for tasks that read one file (PPA); milliseconds",
        "ours; Graham 1969", abilities=frozenset({BOUND}),
    ),
    SolverSpec(
        "lp-rounding", _KIND, _AT + "greedy.lp_rounding:solve",
        "linear relaxation, rounded; the paper's future work, here for comparison",
        "Khanna et al., Section 7; rounding ours", _AT + "greedy.lp_rounding:Settings",
        abilities=frozenset({BOUND}), backends=("HiGHS", "CBC", "GLPK"),
    ),
    SolverSpec(
        "link-aware", _KIND, _AT + "search.link_aware:solve",
        "spectral order, windowed dispatch, annealing scored by the simulator; never above MinMin",
        "ours", _AT + "search.link_aware:Settings", abilities=frozenset({BOUND, ANYTIME, WARM_START}),
    ),
)  # fmt: skip
