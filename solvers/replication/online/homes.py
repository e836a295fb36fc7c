"""Tasks go where most of their bytes are; tasks without any are dealt in stretches of the order.

The order of the instance is to be depth-first, as Dask's is: then those who read the same file stand
together, and meet on one node. A node that idles takes the last task waiting for another where that
task would wait for longer than its files take to come, and what it writes to go back. Ours.
"""

from ioopt.decisions.replication import DispatchView, Pair


class Homes:
    """The dispatcher; it remembers the node that each ready task waits for."""

    def __init__(self) -> None:
        self._home: dict[int, int] = {}
        self._dealt: dict[int, int] = {}
        self._arrived = 0

    def __call__(self, view: DispatchView) -> Pair | None:
        """The first ready task whose node takes it; else the last that an idle node saves time on."""
        nodes = view.open_nodes()
        if not nodes or not view.ready:
            return None
        if len(view.released()) != self._arrived:
            self._arrived = len(view.released())
            self._deal(view)
        waiting: dict[int, list[int]] = {}
        for k in view.ready:
            home = self._home.get(k)
            if home is None:
                home = self._home[k] = self._find(view, k)
            if home in nodes and view.takes(k, home):
                return k, home
            waiting.setdefault(home, []).append(k)
        return self._rescue(view, [i for i in nodes if view.idle_cores(i)], waiting)

    def _deal(self, view: DispatchView) -> None:
        """Tasks that read no product: stretches of equal work, in proportion to cores and speed."""
        made = {f for k in view.released() for f in view.outputs(k)}
        roots = [k for k in view.released() if made.isdisjoint(view.inputs(k))]
        work = [view.task(k).compute_seconds * view.task(k).cores or 1e-9 for k in roots]
        power = [node.cores * node.speed for node in view.nodes]
        i, done, limit = 0, 0.0, power[0] / sum(power) * sum(work)
        for k, seconds in zip(roots, work):
            while i + 1 < len(power) and done + seconds / 2 > limit:
                i += 1
                limit += power[i] / sum(power) * sum(work)
            done += seconds
            self._dealt[k] = i

    def _find(self, view: DispatchView, k: int) -> int:
        """The node with the most bytes of a task; ties: the one it was dealt to, then the first."""
        here = {i: 0 for i in range(len(view.nodes)) if view.fits(k, i)}
        for f in view.inputs(k):
            for i in here:
                if view.holds(i, f):
                    here[i] += view.size(f)
        return min(here, key=lambda i: (-here[i], i != self._dealt.get(k), i))

    def _rescue(
        self, view: DispatchView, idle: list[int], waiting: dict[int, list[int]]
    ) -> Pair | None:
        """The pair that saves the most time; ties: the lowest node, then the lowest home."""
        best: tuple[float, Pair] | None = None
        for home, tasks in waiting.items() if idle else ():
            k = tasks[-1]
            seconds = sum(view.task(x).compute_seconds for x in tasks[:-1])
            wait = view.core_time(k, home) - view.now
            wait += seconds / view.nodes[home].cores / view.nodes[home].speed
            for i in idle:
                saved = wait - self._toll(view, k, i)
                if saved > 0 and view.takes(k, i) and (best is None or saved > best[0]):
                    best = saved, (k, i)
        return None if best is None else best[1]

    def _toll(self, view: DispatchView, k: int, i: int) -> float:
        """Seconds to bring the files of *k* to node *i*, and to take away what it writes."""
        moved = sum(view.size(f) for f in view.inputs(k) if not view.holds(i, f))
        moved += sum(map(view.size, view.outputs(k)))
        return moved / view.network.replica_bytes_per_second
