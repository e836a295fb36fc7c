"""The ready task with the longest path to the end goes where it ends first, and no sooner than needed.

List scheduling by the ranks of heft (workflow rule 15) while tasks run: nobody waits for a plan that
has not come true. A task is bound to busy cores only where its files take a while to come. Ours.
"""

from graphlib import TopologicalSorter

from ioopt.decisions.replication import DispatchView, Pair
from ioopt.solvers.replication.dispatch import expected_end

EARLY = 2.0
"""A task may be bound to cores so many times as long before they idle as its files take to come."""
WINDOW = 40
"""Of so many tasks, the first by rank, files may come to busy nodes."""


class LateBinding:
    """The dispatcher; it remembers the ranks of the tasks that have arrived."""

    def __init__(self) -> None:
        self._rank: dict[int, float] = {}

    def __call__(self, view: DispatchView) -> Pair | None:
        """A task that some node takes, the one of largest rank (ties: task), and that node."""
        nodes = view.open_nodes()
        if not nodes or not view.ready:
            return None
        if not self._rank.keys() >= set(view.ready):
            self._rank = ranks(view)
        idle = {i: view.idle_cores(i) for i in nodes}
        ordered = sorted(view.ready, key=lambda k: (-self._rank[k], k))
        for place, k in enumerate(ordered):
            cores = view.task(k).cores
            rows = [
                (expected_end(view, k, i), i)
                for i in nodes
                if view.takes(k, i) and (cores <= idle[i] or (place < WINDOW and _soon(view, k, i)))
            ]
            if rows:
                return k, min(rows)[1]
        return None


def _soon(view: DispatchView, k: int, i: int) -> bool:
    """Whether the files of *k* may start to come, as its cores on node *i* are to idle soon."""
    free = max(view.now, view.core_time(k, i))
    compute = view.task(k).compute_seconds / view.nodes[i].speed
    return free - view.now <= EARLY * (expected_end(view, k, i) - free - compute)


def ranks(view: DispatchView) -> dict[int, float]:
    """By task that has arrived: seconds of the longest path from its start to the end of all."""
    released = view.released()
    producer = {f: k for k in released for f in view.outputs(k)}
    after: dict[int, dict[int, int]] = {k: {} for k in released}
    for j in released:
        for f in view.inputs(j):
            if f in producer:
                rows = after[producer[f]]
                rows[j] = rows.get(j, 0) + view.size(f)
    slowness = sum(1.0 / node.speed for node in view.nodes) / len(view.nodes)
    rate = view.network.replica_bytes_per_second
    found: dict[int, float] = {}
    for k in TopologicalSorter(after).static_order():  # successors first
        longest = max((n / rate + found[j] for j, n in after[k].items()), default=0.0)
        found[k] = view.task(k).compute_seconds * slowness + longest
    return found
