"""``locality``: the ready task with the most bytes of its inputs on a node goes there."""

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair


def policy(settings: object) -> Dispatcher:
    """The dispatcher; it has no settings of its own."""
    return decide


def decide(view: DispatchView) -> Pair | None:
    """Ties go to the first task, the most idle cores, the first node (workflow rule 13)."""
    nodes = view.open_nodes() if view.ready else []
    best: tuple[int, int, int, int] | None = None
    for i in nodes:
        idle = view.idle_cores(i)
        for k, there in _bytes_there(view, i).items():
            if (best is None or (-there, k, -idle, i) < best) and view.takes(k, i):
                best = (-there, k, -idle, i)
    if best is None or not best[0]:
        best = _first(view, nodes)
    return None if best is None else (best[1], best[3])


def _bytes_there(view: DispatchView, i: int) -> dict[int, int]:
    """The ready tasks that read files of node *i*, and how many bytes."""
    there: dict[int, int] = {}
    for f in view.complete(i):
        for k in view.ready_readers(f):
            there[k] = there.get(k, 0) + view.size(f)
    return there


def _first(view: DispatchView, nodes: list[int]) -> tuple[int, int, int, int] | None:
    """The first ready task that some of *nodes* takes, where no node has any of its bytes."""
    for k in view.ready if nodes else ():
        rows = [(0, k, -view.idle_cores(i), i) for i in nodes if view.takes(k, i)]
        if rows:
            return min(rows)
    return None
