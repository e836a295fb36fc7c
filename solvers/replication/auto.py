"""Run the solver ``auto``: ``exact-workflow`` for few tasks, else ``link-aware``.

Both begin from all cheap plans and score by the replay, so that the answer is never
behind a planner. Where the additive batch time is the measure, ``ip`` solves, or on
small disks ``link-aware``, which scores by it. Otherwise ``ip`` is not asked: with
private links and ample disks the plans of ``ip`` end later on presets image-85 and
sat-85, and about as early on ppa.
"""

from dataclasses import replace

from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.solvers.replication import workflows
from ioopt.solvers.replication.exact import exact_workflow, ip
from ioopt.solvers.replication.plans import TINY_TASKS, Answer
from ioopt.solvers.replication.search import link_aware


def solve(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """Solve with the chosen solver; the first note says which and why."""
    tasks = len(problem.tasks)
    additive = request.measure == "additive_seconds"
    if additive and not problem.is_workflow:
        if has_small_disk(problem):
            outcome = link_aware.solve(problem, request)
            chosen = "link-aware (additive_seconds is the measure; disks are small)"
        else:
            outcome = ip.solve(problem, replace(request, settings=ip.Settings()))
            chosen = "ip (additive_seconds is the measure)"
    elif tasks > TINY_TASKS:
        outcome = exact_workflow.searched(problem, request)
        chosen = f"link-aware ({tasks} tasks: too many to enumerate)"
    elif any(node.staging > 1 for node in problem.nodes):
        outcome = exact_workflow.searched(problem, request)
        chosen = "link-aware (nodes stage several files at a time)"
    else:
        few = exact_workflow.Settings(replays=exact_workflow.LIMITS.plain_replays)
        outcome = exact_workflow.solve(problem, replace(request, settings=few))
        chosen = f"exact-workflow ({tasks} tasks: small enough to enumerate)"
    return replace(outcome, notes=(f"auto chose {chosen}", *outcome.notes))


def has_small_disk(problem: ReplicationProblem) -> bool:
    """Return whether some disk is too small for its held files and all files that are
    read.

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
    """Return the solvers that ``ioopt compare`` runs by default.

    ``ip`` is included only if one round may hold the whole batch.
    """
    if problem.is_workflow:
        return ("auto", *sorted(workflows.PLANNERS))
    exact = "two-stage" if has_small_disk(problem) else "ip"
    return ("auto", exact, "minmin", "job-data-present")
