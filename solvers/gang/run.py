"""Run a gang policy as a solver: simulate a workload, or decide on a snapshot."""

from collections.abc import Sequence

from ioopt.compiled.library import maker, why_plain
from ioopt.compiled.memory import Maker, Plain
from ioopt.decisions.gang.state import (
    Gang,
    GangPolicy,
    State,
    Timing,
    gangs_of,
    state_of,
)
from ioopt.errors import BackendMissingError, OutOfTime, UsageError
from ioopt.options import Deadline
from ioopt.problems.gang import (
    GangMatrixPlan,
    GangMatrixProblem,
    GangPlan,
    GangProblem,
    PlacedJob,
    nodes_of,
)
from ioopt.problems.gang_jobs import workload_of
from ioopt.protocols import Outcome, Simulation, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.gang.matrix import Gangs
from ioopt.sim.gang.results import History, simulation_of
from ioopt.sim.gang.simulate import (
    MAX_LEVELS,
    GangSimulation,
    in_place,
    largest_number,
)
from ioopt.sim.pace import Pace
from ioopt.solvers.gang.policy import GS, Policy, Settings

PLAIN_SECONDS_PER_JOB = 2e-4
"""Seconds to simulate a job of a workload in plain Python."""
SECONDS_PER_JOB = 1.5e-5
"""Seconds to write and check a job of a schedule without history."""
RECORD_UP_TO_JOBS = 2_000
"""Largest number of jobs for which ``history=auto`` writes the history of the
matrix.
"""
RECORD_UP_TO_CELLS = 4_000_000
"""Largest number jobs x nodes for which ``history=auto`` writes the history of the
matrix.
"""


def solve(problem: GangProblem | GangMatrixProblem, request: SolveRequest) -> Outcome:
    """Simulate a workload under the policy of *request*, or decide on a snapshot."""
    policy: Policy = request.policy
    settings: Settings = request.settings
    if isinstance(problem, GangMatrixProblem):
        after = policy.update(state_of(problem), settings.phase)
        return Outcome(plan_of_state(problem, after))
    if settings.phase != "all":
        raise UsageError(
            f"phase={settings.phase} is for ioopt/gang-matrix, not ioopt/gang"
        )
    plan = GangPlan(policy=policy.name, settings=settings.model_dump(mode="json"))
    try:
        simulation = simulate_policy(
            problem, policy, settings, request.deadline, drawn=False
        )
    except OutOfTime as late:
        return cheapest(problem, request, policy, late)
    return Outcome(plan, simulation=simulation)


def cheapest(
    problem: GangProblem, request: SolveRequest, slow: GangPolicy, error: OutOfTime
) -> Outcome:
    """Answer with ``gs`` in place of the policy *slow*, which cannot be simulated in
    time.

    There is no answer if ``gs`` is too slow as well.
    """
    late = f"{slow.name}: {error}"
    if slow is GS or request.incumbents.plan is not None:
        return Outcome(None, stop=StopReason.TIME, notes=(late,))
    settings = Settings(
        **request.settings.model_dump(include=set(Settings.model_fields))
    )
    try:
        simulation = simulate_policy(
            problem, GS, settings, request.deadline, drawn=False
        )
    except OutOfTime as last:
        told = f"{GS.name}: {last}"
        return Outcome(None, stop=StopReason.TIME, notes=(late, told))
    plan = GangPlan(policy=GS.name, settings=settings.model_dump(mode="json"))
    note = f"{late}; answered by {GS.name}"
    return Outcome(plan, stop=StopReason.FALLBACK, simulation=simulation, notes=(note,))


def simulate_policy(
    problem: GangProblem,
    policy: GangPolicy,
    settings: Settings,
    deadline: Deadline | None = None,
    drawn: bool = True,
) -> Simulation:
    """Simulate a workload with the engine of *settings*; a timeline is made only if the
    answer will be *drawn*.

    ``auto`` takes compiled code where it can run the simulation, and plain Python
    otherwise. Raise UsageError if the compiled engine is asked for something that it
    cannot do, BackendMissingError if nothing was compiled, and OutOfTime at the
    *deadline*.
    """
    deadline = deadline or Deadline(None)
    deadline = deadline.with_overtime(SECONDS_PER_JOB * len(problem.jobs))
    timing = Timing.of(problem.machine, settings.arithmetic, settings.recompute)
    obstacle = _obstacle(policy, timing, settings)
    if settings.engine == "compiled" and obstacle:
        raise UsageError(f"engine=compiled cannot be used: {obstacle}; use engine=auto")
    record = _records_history(problem, settings)
    make: Maker = Plain()
    if settings.engine != "python" and not obstacle and not record:
        workload = workload_of(problem)
        last = float(workload.arrival.max(initial=0.0))
        make = maker(largest_number(last, workload.remote, timing))
    if settings.engine == "compiled" and why_plain():
        raise BackendMissingError(f"engine=compiled cannot be used: {why_plain()}")
    seconds = PLAIN_SECONDS_PER_JOB * len(problem.jobs) / make.times
    pace = Pace(deadline, seconds, policy is GS)
    history = None
    if record:
        history = History([problem.jobs[k].id for k in problem.fcfs])
    gangs: Sequence[Gang]
    if make.compiled:
        gangs = Gangs(workload_of(problem))
    else:
        gangs = gangs_of(problem, settings.arithmetic)
    # The simulation is not kept, because its matrix takes much memory.
    trajectory = GangSimulation(gangs, timing, policy, history, make).run(pace)
    return simulation_of(problem, trajectory, history, drawn)


def _records_history(problem: GangProblem, settings: Settings) -> bool:
    """Return whether the schedule lists every change of the matrix."""
    if settings.history != "auto":
        return settings.history == "yes"
    jobs = len(problem.jobs)
    cells = jobs * problem.machine.nodes
    small = jobs <= RECORD_UP_TO_JOBS and cells <= RECORD_UP_TO_CELLS
    return small and settings.engine != "compiled"


def _obstacle(policy: GangPolicy, timing: Timing, settings: Settings) -> str | None:
    """Return why the compiled engine cannot run *policy*; None if it can."""
    if not in_place(policy):
        return f"{policy.name} has no compiled form"
    if settings.arithmetic == "exact":
        return "arithmetic=exact needs the Python engine"
    if settings.history == "yes":
        return "only the Python engine records the history of the matrix"
    if timing.levels > MAX_LEVELS:
        return f"the matrix has more than {MAX_LEVELS} rows"
    return None


def plan_of_state(problem: GangMatrixProblem, state: State) -> GangMatrixPlan:
    """Return the matrix of *state* as a plan of *problem*, the snapshot that it came
    from.
    """
    ids = [job.id for job in (*problem.running, *problem.waiting)]
    rows = zip(state.jobs, state.columns, state.homes, state.spans)
    placed = [
        PlacedJob(
            id=ids[job.key],
            columns=nodes_of(columns),
            home_row=home,
            rows=nodes_of(span),
            local=columns == job.files,
        )
        for job, columns, home, span in rows
    ]
    return GangMatrixPlan(jobs=tuple(placed))
