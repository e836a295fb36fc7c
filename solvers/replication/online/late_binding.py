"""Assign ready tasks to nodes as late as possible (ours).

The ready task with the longest path to the end is next, on the node where it ends
first. This is list scheduling by the ranks of HEFT (workflow rule 15) while tasks run.
No task waits because a plan was made with wrong estimates, and no task is assigned to
busy cores.
"""

from graphlib import TopologicalSorter

from ioopt.decisions.replication import DispatchView, Pair
from ioopt.solvers.replication.dispatch import expected_end


class LateBinding:
    """Dispatch tasks in order of rank, and remember the ranks of the tasks that have
    arrived.
    """

    def __init__(self) -> None:
        self._rank: dict[int, float] = {}

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the ready task with the largest rank that fits idle cores of some
        node, and the node where it ends first.

        Ties go to the first task, then to the first node.
        """
        nodes = view.open_nodes()
        if not nodes or not view.ready:
            return None
        if not self._rank.keys() >= set(view.ready):
            self._rank = ranks(view)
        idle = {i: view.idle_cores(i) for i in nodes}
        for k in sorted(view.ready, key=lambda k: (-self._rank[k], k)):
            cores = view.task(k).cores
            rows = [
                (expected_end(view, k, i), i)
                for i in nodes
                if cores <= idle[i] and view.takes(k, i)
            ]
            if rows:
                return k, min(rows)[1]
        return None


def ranks(view: DispatchView) -> dict[int, float]:
    """Return the rank in seconds of each task that has arrived.

    The rank is the longest path from the start of the task to the end of the workflow.
    """
    released = view.released()
    producer: dict[int, int] = {}
    for k in released:
        producer.update(dict.fromkeys(view.outputs(k), k))
    after: dict[int, dict[int, int]] = {k: {} for k in released}
    for j in released:
        for f in view.inputs(j):
            if f in producer:
                rows = after[producer[f]]
                rows[j] = rows.get(j, 0) + view.size(f)
    slowness = sum(1.0 / node.speed for node in view.nodes) / len(view.nodes)
    rate = view.network.replica_bytes_per_second
    if view.products == "shared":
        rate = 1.0 / view.shared_seconds_per_byte
    found: dict[int, float] = {}
    for k in TopologicalSorter(after).static_order():  # successors first
        longest = 0.0
        for j, size in after[k].items():
            longest = max(longest, size / rate + found[j])
        task = view.task(k)
        seconds = task.overhead_seconds + task.compute_seconds * slowness
        found[k] = seconds + view.writing_seconds(k) + longest
    return found
