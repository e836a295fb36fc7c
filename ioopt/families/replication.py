"""Define the replication family (Khanna et al.): batches and workflows whose tasks
share files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ioopt.families import (
    ANYTIME,
    BOUND,
    EXACT,
    REFERENCE,
    THREADS,
    WARM_START,
    Kind,
    Loader,
    Metric,
    Solve,
    SolverSpec,
    Turn,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ioopt.decisions.replication import Dispatcher
    from ioopt.options import Deadline
    from ioopt.plot.result_page import Contents
    from ioopt.problems.base import Json
    from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
    from ioopt.problems.schedules import ReplicationSchedule
    from ioopt.protocols import (
        CheckReport,
        Outcome,
        Schedule,
        Simulation,
        SolveRequest,
    )
    from ioopt.result import Result
    from ioopt.solvers.model_files import Models

_RENAMED = {"lpt": "auto"}
_REMOVED = dict.fromkeys(
    ("anneal", "lp-rounding"), "--solver ip or --measure additive_seconds"
)
_KNOB_UNITS = {"the remote link": "bandwidth", "the nodes' network": "bandwidth"}


class Replication(Kind["ReplicationProblem", "ReplicationPlan"]):
    """The problem of deciding which node runs each task, in which order, and which
    files are copied between nodes.
    """

    kind = "replication"
    family = "replication"
    summary = "tasks that share input files, on nodes with disks (Khanna et al.)"
    default_solver = "auto"
    fallback = "ready-min-min"
    metrics = (
        Metric(
            "makespan_seconds",
            bounded_by="lower_bound_seconds",
            raised_by="transfer_bound_seconds",
        ),
        Metric("noisy_mean_seconds"),
        Metric(
            "additive_seconds",
            objective=True,
            defined_in="equation 13",
            meaning="the transfers and tasks of the busiest node, without waiting",
        ),
        Metric("remote_bytes"),
        Metric("replica_bytes"),
        Metric("evictions"),
        Metric("first_round_tasks", "max", defined_in="equation 20"),
    )
    follows = True
    replay_options = frozenset(
        {
            "--link",
            "--actual",
            "--actual-noise",
            "--sharing-noise",
            "--latency",
            "--draws",
            "--solver",
            "--set",
        }
    )
    exports = frozenset({"lp", "mps", "wfformat"})
    renamed = _RENAMED
    removed = _REMOVED
    knob_units = _KNOB_UNITS

    def problem_class(self) -> type[ReplicationProblem]:
        from ioopt.problems.replication import ReplicationProblem

        return ReplicationProblem

    def plan_class(self) -> type[ReplicationPlan]:
        from ioopt.problems.replication import ReplicationPlan

        return ReplicationPlan

    def schedule_class(self) -> type[ReplicationSchedule]:
        from ioopt.problems.schedules import ReplicationSchedule

        return ReplicationSchedule

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.replication.generate import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> ReplicationProblem:
        from ioopt.generate.replication.generate import generate

        return generate(preset, settings, seed)

    def load(self) -> None:
        import ioopt.checks.replication.check
        import ioopt.models.replication.bounds
        import ioopt.models.replication.workflow_bound
        import ioopt.sim.replication.noisy
        import ioopt.sim.replication.simulate  # noqa: F401

    def check(
        self,
        problem: ReplicationProblem,
        plan: ReplicationPlan,
        schedule: Schedule | None,
    ) -> CheckReport:
        from ioopt.checks.replication.check import check

        return check(problem, plan, schedule)

    def simulate(
        self, problem: ReplicationProblem, plan: ReplicationPlan, **options: Any
    ) -> Simulation:
        """Replay *plan*, by its queues or, if it lists its transfers, by these.

        *options* are ``link``, ``engine``, ``actual`` (compute seconds by task) and
        ``deadline``. Raises SimulationError for queues that cannot be carried out,
        UsageError for wrong ``actual`` times, and OutOfTime.
        """
        if plan.bound_moves is not None:
            from ioopt.sim.replication.follow import follow

            return follow(problem, plan, **options)
        from ioopt.sim.replication.simulate import simulate

        return simulate(problem, plan, **options)

    def under_noise(
        self, problem: ReplicationProblem, plan: ReplicationPlan, seconds: float
    ) -> Json:
        from ioopt.sim.replication.noisy import noisy_metrics

        return noisy_metrics(problem, plan, seconds=seconds)

    def noise_again(
        self,
        problem: ReplicationProblem,
        plan: ReplicationPlan,
        told: Mapping[str, object],
        name: str,
    ) -> Json:
        from ioopt.formats.native import validate
        from ioopt.problems.replication import NoisyRuns
        from ioopt.sim.replication.noisy import noisy_metrics

        stated = validate(NoisyRuns, told["noise"], f"{name}: metrics.noise")
        return noisy_metrics(problem, plan, stated)

    def start(self, plan: ReplicationPlan) -> ReplicationPlan:
        """Return the queues of *plan*; rules decide its transfers."""
        return plan.by_rules()

    def plan_meant(
        self, problem: ReplicationProblem, answer: object, name: str
    ) -> object:
        from ioopt.solvers.replication.own import plan_meant

        return plan_meant(problem, answer, name)

    def as_asked(
        self, problem: ReplicationProblem, request: SolveRequest, outcome: Outcome
    ) -> Outcome:
        if getattr(request.settings, "moves", None) != "schedule":
            return outcome
        from ioopt.sim.replication.bind import bound_outcome

        return bound_outcome(problem, outcome, request.deadline)

    def bound(
        self, problem: ReplicationProblem, deadline: Deadline | None = None
    ) -> float:
        """Return a lower bound of the batch time (13) in seconds, in linear time."""
        from ioopt.models.replication.bounds import quick

        return quick(problem)

    def stated_bounds(
        self,
        problem: ReplicationProblem,
        schedule: Schedule,
        deadline: Deadline | None = None,
    ) -> Json:
        """Return the bounds in seconds that hold for *schedule*; *deadline* is not
        needed.
        """
        from ioopt.models.replication.workflow_bound import stated_bounds

        return stated_bounds(problem, schedule)

    def beyond(
        self,
        problem: ReplicationProblem,
        plan: ReplicationPlan | None,
        schedule: Schedule | None,
    ) -> Json:
        """Return the model of the remote link, and the number of tasks with other
        compute times than the instance's.
        """
        from ioopt.problems.replication import beyond

        return beyond(problem, plan, schedule)

    def as_replayed(
        self, problem: ReplicationProblem, told: Mapping[str, object]
    ) -> ReplicationProblem:
        """Return *problem* with the model of the remote link that *told* names."""
        if "link" not in told:
            return problem
        network = problem.network.model_copy(update={"remote_link": told["link"]})
        return problem.model_copy(update={"network": network})

    def solvers_to_compare(self, problem: ReplicationProblem) -> tuple[str, ...]:
        from ioopt.solvers.replication.auto import compared

        return compared(problem)

    def page(self, result: Result) -> Contents:
        from ioopt.plot.panels import replication_contents

        return replication_contents(result)

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        from ioopt.plot.gantt import plot_replication

        return {"default": plot_replication}

    def explain(self, problem: ReplicationProblem, result: Result) -> list[str]:
        from ioopt.sentences.replication import told

        return told(problem, result)

    def short_proof(
        self, problem: ReplicationProblem, plan: ReplicationPlan, name: str
    ) -> float | None:
        """Return the bound of ``additive_seconds`` in seconds for a batch, None for a
        workflow or another metric.
        """
        if name != "additive_seconds" or problem.is_workflow:
            return None
        from ioopt.protocols import Outcome
        from ioopt.solvers.replication.exact.ip import proven_shortly

        return proven_shortly(problem, Outcome(plan)).bound

    def addends(
        self, problem: ReplicationProblem, result: Result
    ) -> Mapping[str, Mapping[str, float]]:
        from ioopt.sentences.replication import addends

        return addends(problem, result)

    def assumed(self, problem: ReplicationProblem) -> Mapping[str, tuple[str, str]]:
        from ioopt.sentences.replication import assumed

        return assumed(problem)

    def knobs(self) -> Mapping[str, Turn]:
        from ioopt.sentences.replication import KNOBS

        return KNOBS

    def counted_search(
        self, problem: ReplicationProblem
    ) -> tuple[str, Mapping[str, int]]:
        tasks = max(1, len(problem.tasks))
        # Not in proportion: above some 1,000 tasks only the list schedulers plan.
        return "link-aware", {"evaluations": max(8, min(1000, 8 * 10**9 // tasks**3))}

    def models(self) -> Models:
        from ioopt.solvers.replication.exported import MODELS

        return MODELS


KINDS = (Replication(),)


@Loader
def _auto() -> Solve:
    from ioopt.solvers.replication.auto import solve

    return solve


@Loader
def _auto_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.auto import Settings

    return Settings


@Loader
def _ip() -> Solve:
    from ioopt.solvers.replication.exact.ip import solve

    return solve


@Loader
def _ip_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.exact.ip import Settings

    return Settings


@Loader
def _ip_printed() -> Solve:
    from ioopt.solvers.replication.exact.ip_printed import solve

    return solve


@Loader
def _ip_printed_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.exact.ip_printed import Settings

    return Settings


@Loader
def _minmin() -> Solve:
    from ioopt.solvers.replication.greedy.minmin import solve

    return solve


@Loader
def _minmin_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.greedy.minmin import Settings

    return Settings


@Loader
def _job_data_present() -> Solve:
    from ioopt.solvers.replication.greedy.job_data_present import solve

    return solve


@Loader
def _job_data_present_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.greedy.job_data_present import Settings

    return Settings


@Loader
def _heft() -> Solve:
    from ioopt.solvers.replication.workflows import solve_heft

    return solve_heft


@Loader
def _b_level() -> Solve:
    from ioopt.solvers.replication.workflows import solve_b_level

    return solve_b_level


@Loader
def _workflow_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.workflows import Settings

    return Settings


@Loader
def _dispatch() -> Solve:
    from ioopt.solvers.replication.dispatch import solve

    return solve


@Loader
def _dispatch_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.dispatch import Settings

    return Settings


@Loader
def _fifo_policy() -> Callable[[Any], Dispatcher]:
    from ioopt.solvers.replication.dispatch import FIFO

    return FIFO


@Loader
def _locality_policy() -> Callable[[Any], Dispatcher]:
    from ioopt.solvers.replication.dispatch import LOCALITY

    return LOCALITY


@Loader
def _ready_min_min() -> Solve:
    from ioopt.solvers.replication.workflows import solve_ready_min_min

    return solve_ready_min_min


@Loader
def _ready_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.workflows import ReadySettings

    return ReadySettings


@Loader
def _ready_policy() -> Callable[[Any], Dispatcher]:
    from ioopt.solvers.replication.dispatch import READY_MIN_MIN

    return READY_MIN_MIN


@Loader
def _rolling() -> Solve:
    from ioopt.solvers.replication.online.rolling import solve

    return solve


@Loader
def _rolling_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.online.rolling import Settings

    return Settings


@Loader
def _rolling_policy() -> Callable[[Any], Dispatcher]:
    from ioopt.solvers.replication.online.rolling import policy

    return policy


@Loader
def _exact_workflow() -> Solve:
    from ioopt.solvers.replication.exact.exact_workflow import solve

    return solve


@Loader
def _exact_workflow_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.exact.exact_workflow import Settings

    return Settings


@Loader
def _two_stage() -> Solve:
    from ioopt.solvers.replication.rounds.two_stage import solve

    return solve


@Loader
def _two_stage_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.rounds.two_stage import Settings

    return Settings


@Loader
def _hierarchical() -> Solve:
    from ioopt.solvers.replication.rounds.two_stage import solve_hierarchical

    return solve_hierarchical


@Loader
def _hierarchical_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.rounds.two_stage import TreeSettings

    return TreeSettings


@Loader
def _link_aware() -> Solve:
    from ioopt.solvers.replication.search.link_aware import solve

    return solve


@Loader
def _link_aware_settings() -> type[BaseModel]:
    from ioopt.solvers.replication.search.link_aware import Settings

    return Settings


def _search_libraries(problem: ReplicationProblem) -> None:
    from ioopt.solvers.replication.exact.exact_workflow import load_libraries

    load_libraries(problem)


def _solver(
    name: str,
    target: Loader[Solve],
    summary: str,
    source: str,
    **more: Any,
) -> SolverSpec:
    """Return the row of a solver that takes replication instances."""
    return SolverSpec(name, ("replication",), target, summary, source, **more)


SOLVERS: tuple[SolverSpec, ...] = (
    _solver(
        "auto",
        _auto,
        "all quick heuristics, then every queue if there are few tasks, else "
        "the link-aware search",
        "ours",
        abilities={BOUND, ANYTIME, WARM_START, THREADS},
        settings=_auto_settings,
        libraries=_search_libraries,
        settings_are_new=True,
    ),
    _solver(
        "ip",
        _ip,
        "integer program, aggregated formulation: bounds, annealing start, "
        "CP-SAT and HiGHS",
        "Khanna et al., Section 4.1; aggregated form ours",
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
        backends=("CP-SAT", "HiGHS", "CBC"),
        settings=_ip_settings,
    ),
    _solver(
        "ip-printed",
        _ip_printed,
        "integer program with equations (1)-(13) as printed, through PuLP",
        "Khanna et al., Section 4.1, (1)-(13)",
        # As printed, copies may form a cycle, which no plan can carry out.
        abilities={EXACT, BOUND, WARM_START, THREADS, REFERENCE},
        backends=("HiGHS", "CBC", "SCIP"),
        settings=_ip_printed_settings,
    ),
    _solver(
        "ip-no-replication",
        _ip,
        "integer program without copies between nodes",
        "Khanna et al., Figure 4(a)",
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
        backends=("CP-SAT", "HiGHS", "CBC"),
        fixed={"replication": False},
        variant_of="ip",
        settings=_ip_settings,
    ),
    _solver(
        "minmin",
        _minmin,
        "least completion time first, implicit replication, popularity eviction",
        "Khanna et al., Section 3; Ibarra and Kim 1977; Maheswaran et al. 1999",
        settings=_minmin_settings,
    ),
    _solver(
        "minmin-no-replication",
        _minmin,
        "MinMin in which every file comes from remote storage",
        "Khanna et al., Section 3",
        fixed={"replication": False},
        variant_of="minmin",
        settings=_minmin_settings,
    ),
    _solver(
        "job-data-present",
        _job_data_present,
        "task to the node with the least to transfer; DataLeastLoaded copies; "
        "LRU eviction",
        "Khanna et al., Section 3; Ranganathan and Foster 2002",
        settings=_job_data_present_settings,
    ),
    _solver(
        "heft",
        _heft,
        "workflows: the longest path with its files first, into the first gap of "
        "the node's cores",
        "Topcuoglu et al. 2002; files and cores ours",
        settings=_workflow_settings,
    ),
    _solver(
        "b-level",
        _b_level,
        "workflows: the longest path of computing first, at the end of a core's queue",
        "Kwok and Ahmad 1999; files and cores ours",
        settings=_workflow_settings,
    ),
    _solver(
        "fifo",
        _dispatch,
        "workflows: a dispatcher; the first ready task to the core that has "
        "idled longest",
        "ours",
        settings=_dispatch_settings,
        policy=_fifo_policy,
    ),
    _solver(
        "locality",
        _dispatch,
        "workflows: a dispatcher; the ready task with the most input bytes on a node",
        "ours",
        settings=_dispatch_settings,
        policy=_locality_policy,
    ),
    _solver(
        "ready-min-min",
        _ready_min_min,
        "workflows: MinMin over the tasks whose producers are planned; on a "
        "batch, minmin",
        "Khanna et al., Section 3; workflows ours",
        settings=_ready_settings,
        policy=_ready_policy,
    ),
    _solver(
        "rolling",
        _rolling,
        "workflows: a dispatcher that plans the remaining tasks anew as tasks "
        "arrive or end",
        "ours",
        settings=_rolling_settings,
        policy=_rolling_policy,
    ),
    _solver(
        "exact-workflow",
        _exact_workflow,
        "workflows and batches of some 12 tasks: branch and bound over all "
        "queues, by replay",
        "ours",
        abilities={EXACT, BOUND, ANYTIME, WARM_START},
        settings=_exact_workflow_settings,
        libraries=_search_libraries,
    ),
    _solver(
        "two-stage",
        _two_stage,
        "rounds under a disk limit: select a sub-batch, allocate it, evict by "
        "popularity",
        "Khanna et al., Sections 4.2 and 4.3, (14)-(22)",
        abilities={BOUND, THREADS},
        settings=_two_stage_settings,
    ),
    _solver(
        "hierarchical",
        _hierarchical,
        "two-stage over a tree of virtual nodes, such as hierarchy=4:2",
        "Khanna et al., Section 4.4",
        abilities={BOUND, THREADS},
        settings=_hierarchical_settings,
    ),
    _solver(
        "link-aware",
        _link_aware,
        "annealing of the queues by their replay; never above MinMin nor the "
        "planners of workflows",
        "ours",
        abilities={BOUND, ANYTIME, WARM_START, THREADS},
        settings=_link_aware_settings,
        libraries=_search_libraries,
    ),
)
