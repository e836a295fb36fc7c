"""Tasks in the order of the file, each to the first free node (ours): a plan at once."""

import heapq
from collections import OrderedDict

from ioopt.models.replication.bounds import area_seconds
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome
from ioopt.result import StopReason
from ioopt.solvers.replication.plans import Move, build_plan, require_batch


def answer_in_file_order(problem: ReplicationProblem, what: str) -> Outcome:
    """The answer where the time limit is too short for *what*; the bound is the area bound.

    Raises UnsolvableInstanceError for a task that no disk can hold.
    """
    short = f"the time limit is too short for {what}"
    note = f"{short}: tasks in the order of the file, each to the first free node"
    plan = plan_in_file_order(problem)
    return Outcome(plan, area_seconds(problem), StopReason.TIME, notes=(note,))


def plan_in_file_order(problem: ReplicationProblem) -> ReplicationPlan:
    """The plan, its transfers stated; linear in the inputs.

    Raises UnsolvableInstanceError for a task that no disk can hold.
    """
    require_batch(problem)
    network = problem.network
    copying = network.replica_bytes_per_second > network.remote_bytes_per_second
    sizes = [file.bytes for file in problem.files]
    disks = [OrderedDict.fromkeys(sorted(held)) for held in problem.holds]
    used = [sum(sizes[f] for f in held) for held in problem.holds]
    holders: list[set[int]] = [set() for _ in sizes]
    for i, disk in enumerate(disks):
        for f in disk:
            holders[f].add(i)
    queues: list[list[int]] = [[] for _ in disks]
    moves: list[Move] = []
    free = [(0.0, i) for i in range(len(disks))]
    for k, task in enumerate(problem.tasks):
        busy, i, passed = *heapq.heappop(free), []
        room = problem.nodes[i].disk_bytes
        while room is not None and problem.task_bytes(k) > room:
            passed.append((busy, i))
            busy, i = heapq.heappop(free)
            room = problem.nodes[i].disk_bytes
        disk = disks[i]
        missing = [f for f in problem.inputs[k] if f not in disk]
        for f in problem.inputs[k]:
            if f in disk:
                disk.move_to_end(f)
        for f in missing:
            while room is not None and used[i] + sizes[f] > room:
                gone, _ = disk.popitem(last=False)
                used[i] -= sizes[gone]
                holders[gone].discard(i)
            copied = copying and bool(holders[f])
            moves.append((f, min(holders[f]) if copied else -1, i))
            rate = network.replica_bytes_per_second if copied else network.remote_bytes_per_second
            busy += sizes[f] / rate
            disk[f] = None
            used[i] += sizes[f]
            holders[f].add(i)
        queues[i].append(k)
        heapq.heappush(free, (busy + task.compute_seconds / problem.nodes[i].speed, i))
        for item in passed:
            heapq.heappush(free, item)
    return build_plan(problem, queues, "farthest-next-use", moves)
