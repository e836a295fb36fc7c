"""``auto``: every queue of a few tasks tried (``exact-workflow``), else ``link-aware``.

Both begin from all cheap plans and score by the replay, so that the answer is never
behind a planner. Where the additive batch time is the measure: ``ip``, or on small
disks ``link-aware``, which scores by it. ``ip`` minimises another quantity, the
additive batch time, and is not among them: with private links and ample disks its plans
end later on presets image-85 and sat-85, and about as soon on ppa.
"""

from dataclasses import replace

from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.solvers.replication import workflows
from ioopt.solvers.replication.exact import exact_workflow, ip
from ioopt.solvers.replication.plans import TINY_TASKS, Answer
from ioopt.solvers.replication.search import link_aware


def solve(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """Solve with the picked solver; the first note says which and why."""
    tasks = len(problem.tasks)
    additive = request.measure == "additive_seconds"
    if additive and not problem.is_workflow and has_small_disk(problem):
        outcome = link_aware.solve(problem, request)
        note = (
            "auto: link-aware, because additive_seconds is the measure and disks are "
            "small"
        )
    elif additive and not problem.is_workflow:
        outcome = ip.solve(problem, replace(request, settings=ip.Settings()))
        note = "auto: ip, because additive_seconds is the measure"
    elif tasks <= TINY_TASKS and all(node.staging == 1 for node in problem.nodes):
        few = exact_workflow.Settings(replays=exact_workflow.PLAIN_REPLAYS)
        outcome = exact_workflow.solve(problem, replace(request, settings=few))
        note = (
            f"auto: exact-workflow, because {tasks} tasks are few enough to try every "
            "queue"
        )
    else:
        outcome = exact_workflow.searched(problem, request)
        note = (
            f"auto: link-aware, because {tasks} tasks are too many to try every queue"
        )
    return replace(outcome, notes=(note, *outcome.notes))


def has_small_disk(problem: ReplicationProblem) -> bool:
    """Whether some node's disk cannot hold all files that are read
    beside what it keeps.
    """
    read = sum(file.bytes for f, file in enumerate(problem.files) if problem.readers[f])
    unread = [
        0 if by else file.bytes for file, by in zip(problem.files, problem.readers)
    ]
    return any(
        node.disk_bytes is not None
        and node.disk_bytes < read + sum(unread[f] for f in held)
        for node, held in zip(problem.nodes, problem.holds)
    )


def compared(problem: ReplicationProblem) -> tuple[str, ...]:
    """What ``ioopt compare`` runs by default: ``ip`` only where one
    round may hold the batch.
    """
    if problem.is_workflow:
        return ("auto", *sorted(workflows.PLANNERS))
    exact = "two-stage" if has_small_disk(problem) else "ip"
    return ("auto", exact, "minmin", "job-data-present")
