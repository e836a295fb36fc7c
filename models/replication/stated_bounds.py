"""Collect the bounds of the makespan that every replay of the replication family is
compared with.
"""

from ioopt.models.replication.workflow_bound import (
    WorkflowBound,
    bounds_of,
    makespan_bound_seconds,
    transfer_bound_seconds,
)
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Schedule


def stated_bounds(problem: ReplicationProblem, schedule: Schedule) -> Json:
    """Return the bounds, in seconds, that hold for the plan of *schedule*, by name.

    The schedule says under which link model it was replayed, and which files its copy
    entries name. The bound of the link is None if each node has a link of its own.
    """
    own = problem.network.remote_link
    replayed = schedule.get("link", own)
    # Bounds are kept by link model, and None stands for the instance's own.
    link = None if replayed == own else replayed
    copied = {
        problem.file_index[row["file"]] for row in schedule.get("copy_entries", ())
    }
    bounds: Json = {
        "link_bound_seconds": None,
        "lower_bound_seconds": makespan_bound_seconds(problem, link, copied),
    }
    if replayed == "shared":
        bounds["link_bound_seconds"] = link_bound_seconds(problem)
    if problem.is_workflow:
        seconds = transfer_bound_seconds(problem, link, copied)
        bounds["transfer_bound_seconds"] = seconds
    return bounds


def link_bound_seconds(problem: ReplicationProblem) -> float:
    """Return a lower bound on the makespan of every plan, in seconds, if all nodes
    fetch over one shared link.

    The bound is the number of bytes to fetch divided by the link's rate, plus the least
    compute time of a task. Each file that tasks read, and that no node holds or makes,
    counts once.
    """
    wanted = sum(
        problem.files[f].bytes for f in bounds_of(WorkflowBound, problem).first_touch
    )
    fastest = max(node.speed for node in problem.nodes)
    least = min((task.compute_seconds for task in problem.tasks), default=0.0) / fastest
    return wanted / problem.network.remote_bytes_per_second + least
