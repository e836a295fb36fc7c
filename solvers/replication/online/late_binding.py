"""Assign ready tasks to nodes as late as possible (ours).

The ready task with the longest path to the end is next, on the node where it ends
first. This is list scheduling by the ranks of HEFT (workflow rule 15) while tasks run.
No task waits because a plan was made with wrong estimates, and no task is assigned to
busy cores.
"""

from collections.abc import Collection, Sequence
from graphlib import TopologicalSorter

from ioopt.decisions.replication import DispatchView, Pair
from ioopt.solvers.replication.dispatch import expected_end


class LateBinding:
    """Dispatch tasks in order of rank, and remember the order of the tasks that have
    arrived.
    """

    def __init__(self) -> None:
        self._place: dict[int, int] = {}

    def order(self, given: Collection[int]) -> list[int]:
        """Return the tasks that have arrived, without those *given*, in order."""
        left = [k for k in self._place if k not in given]
        return sorted(left, key=self._place.__getitem__)

    def resume(self, order: Sequence[int]) -> None:
        """Continue with the tasks in the *order* that :meth:`order` returned."""
        self._place = {k: place for place, k in enumerate(order)}

    def append(self, tasks: Sequence[int]) -> None:
        """Put *tasks* behind all others, because ranking all anew takes long."""
        first = 1 + max(self._place.values(), default=-1)
        self._place.update({k: first + n for n, k in enumerate(tasks)})

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the ready task with the largest rank that fits idle cores of some
        node, and the node where it ends first.

        Ties go to the first task, then to the first node.
        """
        nodes = view.open_nodes()
        if not nodes or not view.ready:
            return None
        if not self._place.keys() >= set(view.ready):
            self._place = places(view)
        idle = {i: cores for i in nodes if (cores := view.idle_cores(i))}
        if not idle:
            return None
        first = min(view.ready, key=self._place.__getitem__)
        i = _node_for(view, first, idle)
        if i is not None:
            return first, i
        # Only now is it worth sorting: mostly the first task fits somewhere.
        for k in sorted(view.ready, key=self._place.__getitem__)[1:]:
            i = _node_for(view, k, idle)
            if i is not None:
                return k, i
        return None


def _node_for(view: DispatchView, k: int, idle: dict[int, int]) -> int | None:
    """Return the node on which task *k* ends first, of those that take it now; *idle*
    gives the idle cores of each open node.
    """
    cores = view.task(k).cores
    rows = [
        (expected_end(view, k, i), i)
        for i, there in idle.items()
        if cores <= there and view.takes(k, i)
    ]
    return min(rows)[1] if rows else None


def places(view: DispatchView) -> dict[int, int]:
    """Return the place of each task that has arrived in the order of ranks; of equal
    ranks, the first task comes first.
    """
    found = ranks(view)
    in_order = sorted(found, key=lambda k: (-found[k], k))
    return {k: place for place, k in enumerate(in_order)}


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
