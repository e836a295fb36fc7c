"""From a policy to a solver: simulate a workload, or take the one decision of a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ioopt.errors import OutOfTime, UsageError
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.gang import (
    GangMatrixPlan,
    GangMatrixProblem,
    GangPlan,
    GangProblem,
    PlacedJob,
    nodes_of,
)
from ioopt.protocols import Outcome, Simulation, SolveRequest, SolverFunction
from ioopt.result import StopReason
from ioopt.sim.gang import GangSimulation, Trajectory
from ioopt.sim.gang_history import History
from ioopt.sim.gang_metrics import simulation_of
from ioopt.sim.gang_state import GangPolicy, State, Timing, gangs_of, state_of
from ioopt.solvers.gang.policy import Policy

COMPILE_FROM_JOBS = 30_000
"""Below this, pure Python is done before compiled code has been loaded."""
RECORD_UP_TO_JOBS = 2_000
"""Above this, the history of the matrix is written only when asked for."""


class Settings(Record):
    """``--set`` keys of every gang policy.

    ``recompute=boundary`` holds matrix updates to slice boundaries (rule 2). ``engine`` and
    ``arithmetic`` choose how the simulator computes; ``history`` whether the schedule tells every
    change of the matrix. On a gang-matrix, ``phase`` runs one phase alone.
    """

    recompute: Literal["event", "boundary"] = "event"
    engine: Literal["auto", "python", "compiled"] = "auto"
    arithmetic: Literal["float", "exact"] = "float"
    history: Literal["auto", "yes", "no"] = "auto"
    phase: Literal["all", "clean", "migrate", "compact", "schedule", "fill"] = "all"


PolicyOf = Callable[[Any], Policy]


def solver(policy_of: PolicyOf) -> SolverFunction:
    """The solver function of the policy that *policy_of* makes from the settings."""

    def solve(problem: Any, request: SolveRequest) -> Outcome:
        settings = request.settings or Settings()
        policy = policy_of(settings)
        if isinstance(problem, GangMatrixProblem):
            return Outcome(decide(problem, policy, settings.phase))
        if settings.phase != "all":
            raise UsageError(f"phase={settings.phase} is for ioopt/gang-matrix, not ioopt/gang")
        plan = GangPlan(policy=policy.name, settings=settings.model_dump(mode="json"))
        try:
            simulation = simulate_policy(problem, policy, settings, request.deadline)
        except OutOfTime as stop:
            return Outcome(None, stop=StopReason.TIME, notes=(str(stop),))
        return Outcome(plan, simulation=simulation)

    return solve


def fixed(policy: Policy) -> tuple[PolicyOf, SolverFunction]:
    """The ``policy`` and ``solve`` functions of a policy that has no settings of its own."""

    def policy_of(settings: Settings) -> Policy:
        return policy

    return policy_of, solver(policy_of)


def simulate(problem: GangProblem, plan: GangPlan) -> Simulation:
    """Replay a plan: run its policy on the workload (the family's simulator)."""
    from ioopt import registry
    from ioopt.registry import settings_for

    spec = registry.solver(plan.policy, registry.kind_of_problem(problem))
    module = spec.target.partition(":")[0]
    settings = settings_for(spec, plan.settings)
    policy: GangPolicy = registry.load_target(f"{module}:policy")(settings)
    return simulate_policy(problem, policy, settings)


def simulate_policy(
    problem: GangProblem,
    policy: GangPolicy,
    settings: Settings,
    deadline: Deadline | None = None,
) -> Simulation:
    """Simulate a workload with the engine that *settings* ask for, or the one that suits it.

    Raises OutOfTime when the *deadline* passes.
    """
    num = len(problem.jobs)
    wanted = settings.history == "yes" or (
        settings.history == "auto" and num <= RECORD_UP_TO_JOBS and settings.engine != "compiled"
    )
    timing = Timing.of(problem.machine, settings.arithmetic)
    obstacle = _obstacle(policy, timing, settings)
    compiled = settings.engine == "compiled"
    if compiled and obstacle:
        raise UsageError(f"engine=compiled cannot be used: {obstacle}; say engine=auto")
    if settings.engine == "auto" and not obstacle and not wanted:
        compiled = num >= COMPILE_FROM_JOBS
    if compiled:
        return simulation_of(problem, _compiled(problem, timing, policy, settings, deadline), None)
    gangs = gangs_of(problem, settings.arithmetic)
    history = History([problem.jobs[k].id for k in problem.fcfs]) if wanted else None
    engine = GangSimulation(gangs, timing, policy, settings.recompute, history)
    return simulation_of(problem, engine.run(deadline), history)


def _obstacle(policy: GangPolicy, timing: Timing, settings: Settings) -> str | None:
    if policy.twin is None:
        return f"{policy.name} has no compiled form"
    if settings.arithmetic == "exact":
        return "exact arithmetic needs Python numbers"
    if settings.history == "yes":
        return "only the Python engine records the history of the matrix"
    return "more than 62 rows" if timing.levels > 62 else None


def _compiled(
    problem: GangProblem,
    timing: Timing,
    policy: GangPolicy,
    settings: Settings,
    deadline: Deadline | None,
) -> Trajectory:
    from ioopt.sim.gang_compiled import run
    from ioopt.sim.gang_table import table_of

    assert policy.twin is not None
    return run(table_of(problem), timing, policy.twin, settings.recompute, deadline)


def decide(problem: GangMatrixProblem, policy: Policy, phase: str = "all") -> GangMatrixPlan:
    """One matrix update of a snapshot, by the whole policy or by one of its phases."""
    if phase != "all":
        policy = policy.only(phase)
    after = policy.update(state_of(problem))
    ids = [job.id for job in (*problem.running, *problem.waiting)]
    return plan_of_state(after, ids)


def plan_of_state(state: State, ids: list[Any]) -> GangMatrixPlan:
    """The matrix of *state* as a plan; *ids* by job key."""
    return GangMatrixPlan(
        jobs=tuple(
            PlacedJob(
                id=ids[job.key],
                columns=nodes_of(columns),
                home_row=home,
                rows=nodes_of(span),
                local=columns == job.files,
            )
            for job, columns, home, span in zip(state.jobs, state.columns, state.homes, state.spans)
        )
    )
