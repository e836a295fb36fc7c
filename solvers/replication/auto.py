"""Choose a solver: ``exact-workflow`` for few tasks, else ``link-aware``.

Both start from the plans of all cheap planners and score plans by the replay, so the
answer is never worse than the plan of one of these planners. If the measure is the
additive batch time of a batch, ``ip`` solves it, or on small disks ``link-aware``,
which then scores by that time. ``ip`` is used for no other measure: with private links
and ample disks, its plans have a longer makespan on the presets image-85 and sat-85,
and about the same makespan on ppa.
"""

from dataclasses import replace

from ioopt.problems.base import Record
from ioopt.problems.replication import MovesGiven, ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.solvers.replication import workflows
from ioopt.solvers.replication.exact import exact_workflow, ip
from ioopt.solvers.replication.plans import TINY_TASKS, Answer
from ioopt.solvers.replication.search import link_aware


class Settings(Record):
    """Configure the searches among which ``auto`` chooses, and the answer.

    ``robust``: select plans by noisy replays, as ``link-aware`` does. ``moves``: with
    ``schedule`` the plan has the transfers of its replay.
    """

    robust: bool = True
    moves: MovesGiven = "advice"


def solve(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """Solve with the solver that suits the problem; the first note names it and the
    reason.
    """
    settings: Settings = request.settings or Settings()
    robust = settings.robust
    request = replace(request, settings=None)
    tasks = len(problem.tasks)
    additive = request.measure == "additive_seconds"
    if additive and not problem.is_workflow:
        if has_small_disk(problem):
            search = link_aware.Settings(robust=robust)
            outcome = link_aware.solve(problem, replace(request, settings=search))
            chosen = "link-aware (additive_seconds is the measure; disks are small)"
        else:
            outcome = ip.solve(problem, replace(request, settings=ip.Settings()))
            chosen = "ip (additive_seconds is the measure)"
    elif tasks > TINY_TASKS:
        outcome = exact_workflow.searched(problem, request, robust)
        chosen = f"link-aware ({tasks} tasks: too many to enumerate)"
    elif problem.is_shared:
        outcome = exact_workflow.searched(problem, request, robust)
        chosen = "link-aware (all files are on shared storage)"
    elif any(node.staging > 1 for node in problem.nodes):
        outcome = exact_workflow.searched(problem, request, robust)
        chosen = "link-aware (nodes stage several files at a time)"
    else:
        few = exact_workflow.Settings(
            replays=exact_workflow.LIMITS.tiny_replays, robust=robust
        )
        outcome = exact_workflow.solve(problem, replace(request, settings=few))
        chosen = f"exact-workflow ({tasks} tasks: small enough to enumerate)"
    return replace(outcome, notes=(f"auto chose {chosen}", *outcome.notes))


def has_small_disk(problem: ReplicationProblem) -> bool:
    """Return whether some disk cannot store all files that tasks read and its held
    files too.

    Held files count even if no task reads them.
    """
    read = 0
    unread = {}
    for f, file in enumerate(problem.files):
        if problem.readers[f]:
            read += file.bytes
        else:
            unread[f] = file.bytes
    for node, held in zip(problem.nodes, problem.holds, strict=True):
        kept = sum(unread.get(f, 0) for f in held)
        if node.disk_bytes is not None and node.disk_bytes < read + kept:
            return True
    return False


def compared(problem: ReplicationProblem) -> tuple[str, ...]:
    """Return the names of the solvers that ``ioopt compare`` runs by default.

    For a batch, these include ``ip``, or ``two-stage`` if some disk is small.
    """
    if problem.is_workflow:
        return ("auto", *sorted(workflows.PLANNERS))
    exact = "two-stage" if has_small_disk(problem) else "ip"
    return ("auto", exact, "minmin", "job-data-present")
