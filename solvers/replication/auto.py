"""``auto``: pick a solver by disk limit, link model, size and deadline, and say why.

Where disks bind, or where all remote transfers share one link, the makespan is decided by what is
fetched and when, which the static model does not see: ``link-aware``. With private links and ample
disk the static model fits the machine and ``ip`` proves how good its answer is. Whatever was
picked, the answer's simulated makespan is held against MinMin's.
"""

from dataclasses import replace

from ioopt.errors import OutOfTime
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Incumbents, Outcome, SolveRequest
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication import workflows
from ioopt.solvers.replication.greedy.minmin import plan_minmin
from ioopt.solvers.replication.search import link_aware
from ioopt.units import format_bytes

TOLERANCE = 1e-3
"""How much worse than MinMin an answer may be in simulation before ``link-aware`` takes over."""
IP_COLUMNS_PER_SECOND = 2_000
IP_SHARE = 0.6


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome[ReplicationPlan]:
    """Solve with the picked solver; the first note says which and why.

    Raises UnsolvableInstanceError for a task that fits no node.
    """
    problem.require_room()
    # By the limit and not by what is left of it, so that a run can be repeated.
    solver, why = pick(problem, request.options.time_limit_seconds or float("inf"))
    note = f"auto: {solver}, because {why}"
    if solver == "link-aware":
        outcome = link_aware.solve(problem, replace(request, settings=link_aware.Settings()))
        return replace(outcome, notes=(note, *outcome.notes))
    return _integer_program(problem, request, note)


def pick(problem: ReplicationProblem, seconds: float) -> tuple[str, str]:
    """The solver for *problem* with *seconds* to go, and the reason in words."""
    if problem.is_workflow:
        return "link-aware", "it takes workflows and is never above their planners"
    if (small := small_disk(problem)) is not None:
        return "link-aware", small
    if problem.network.remote_link == "shared":
        return "link-aware", "all remote transfers share one link, which the order of tasks decides"
    columns = 2 * len(problem.nodes) * len(problem.files) + len(problem.nodes) * len(problem.tasks)
    if columns > IP_COLUMNS_PER_SECOND * seconds:
        return "link-aware", (
            f"{columns} columns are too many for an integer program in {seconds:.3g} s"
        )
    return "ip", "disks are ample and links are private, as in the static model"


def small_disk(problem: ReplicationProblem) -> str | None:
    """A node whose disk cannot hold all files that are read, in words; None where disks are ample."""
    read = sum(file.bytes for f, file in enumerate(problem.files) if problem.readers[f])
    for i, node in enumerate(problem.nodes):
        kept = {f for f in problem.holds[i] if not problem.readers[f]}
        room = read + sum(problem.files[f].bytes for f in kept)
        if node.disk_bytes is not None and node.disk_bytes < room:
            return (
                f"the disk of {node.id} ({format_bytes(node.disk_bytes)}) cannot hold the "
                f"{format_bytes(room)} of the batch"
            )
    return None


def compared(problem: ReplicationProblem) -> tuple[str, ...]:
    """What ``ioopt compare`` runs by default: ``ip`` only where one round may hold the batch."""
    if problem.is_workflow:
        return ("auto", *sorted(workflows.PLANNERS))
    exact = "ip" if small_disk(problem) is None else "two-stage"
    return ("auto", exact, "minmin", "job-data-present")


def _integer_program(problem: ReplicationProblem, request: SolveRequest, note: str) -> Outcome:
    """``ip`` for most of the time; ``link-aware`` for the rest if MinMin's replay beats its plan's."""
    from ioopt.solvers.replication.exact import ip

    part = request.deadline.within(IP_SHARE * request.deadline.remaining())
    asked = replace(request, settings=ip.Settings(), deadline=part)
    outcome = ip.solve(problem, asked)
    plan = outcome.plan
    try:
        greedy = plan_minmin(problem, deadline=request.deadline)[0]
        baseline = simulate(problem, greedy, deadline=request.deadline).metrics["makespan_seconds"]
    except OutOfTime:
        return replace(outcome, notes=(note, *outcome.notes))
    if isinstance(plan, ReplicationPlan):
        replayed = simulate(problem, plan)
        seconds = replayed.metrics["makespan_seconds"]
        if seconds <= baseline * (1.0 + TOLERANCE):
            return replace(outcome, simulation=replayed, notes=(note, *outcome.notes))
        reason = f"its plan replays in {seconds:.6g} s, MinMin's in {baseline:.6g} s"
    else:
        reason = "it found no plan in its time"
    again = replace(
        request, settings=link_aware.Settings(), start=plan,
        incumbents=Incumbents(request.deadline, listener=request.incumbents.listener),
    )  # fmt: skip
    repaired = link_aware.solve(problem, again)
    request.incumbents.plan = repaired.plan
    return replace(repaired, notes=(note, f"then link-aware: {reason}", *repaired.notes))
