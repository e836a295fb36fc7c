"""``locality``: the ready task with the most bytes of its inputs on a node goes there."""

from __future__ import annotations

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair


def policy(settings: object) -> Dispatcher:
    """The dispatcher; it has no settings of its own."""
    return decide


def decide(view: DispatchView) -> Pair | None:
    """Ties go to the first task, the most idle cores, the first node (workflow rule 13)."""
    nodes = view.open_nodes()
    best: tuple[int, int, int, int] | None = None
    for k in view.ready if nodes else ():
        files = [(f, view.size(f)) for f in view.inputs(k)]
        if best is not None and sum(size for _, size in files) < -best[0]:
            continue
        for i in nodes:
            if view.takes(k, i):
                there = sum([size for f, size in files if view.holds(i, f)])
                key = (-there, k, -view.idle_cores(i), i)
                if best is None or key < best:
                    best = key
    return None if best is None else (best[1], best[3])
