"""Send tasks to where their files are, or come soonest; deal tasks without any in
stretches of the order.

The order of the instance should be depth-first, as Dask's is: then those who read the
same file stand together, and meet on one node. A node that idles takes a task that
waits for another node where this saves more time than links spend on its files, and on
sending back what it writes. Ours.
"""

from typing import NamedTuple

from ioopt.decisions.replication import DispatchView, Pair

SHORT_SECONDS = 0.02
"""Tasks shorter than this go first: they delay nobody and let others begin. Ours."""


class Place(NamedTuple):
    """State the node that a ready task waits for, with its seconds there.

    ``coming`` and ``links`` are the seconds of links to have it there and elsewhere.
    """

    home: int
    seconds: float
    coming: float
    links: float


class Homes:
    """Dispatch tasks to their places, and remember the place of each ready task."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}
        self._dealt: dict[int, int] = {}
        self._coming: dict[int, float] = {}
        self._arrived = 0

    def learn(self) -> None:
        """Find all places again, since expected seconds and bytes have changed."""
        self._places.clear()
        self._coming.clear()
        self._arrived = 0

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the first ready task whose node takes it, short ones before others.

        Where there is none, return one that an idle node saves time on.
        """
        nodes = view.open_nodes()
        if not nodes or not view.ready:
            return None
        if len(view.released()) != self._arrived:
            self._arrived = len(view.released())
            self._deal(view)
        waiting: dict[int, list[int]] = {}
        first: Pair | None = None
        for k in view.ready:
            place = self._places.get(k)
            if place is None:
                place = self._places[k] = self._find(view, k)
            home = place.home
            if home in nodes and view.takes(k, home):
                if place.seconds < SHORT_SECONDS:
                    first = k, home
                    break
                first = first or (k, home)
            waiting.setdefault(home, []).append(k)
        pair = first
        if pair is None:
            idle = [i for i in nodes if view.idle_cores(i)]
            pair = self._rescue(view, idle, waiting)
        if pair is not None:
            place = self._places[pair[0]]
            self._coming[place.home] -= place.coming
        return pair

    def _deal(self, view: DispatchView) -> None:
        """Deal the tasks that read no product, in stretches of equal work.

        Work is in proportion to the cores and the speed of the nodes.
        """
        made: set[int] = set()
        for k in view.released():
            made.update(view.outputs(k))
        roots = [k for k in view.released() if made.isdisjoint(view.inputs(k))]
        work = [
            view.task(k).compute_seconds * view.task(k).cores or 1e-9 for k in roots
        ]
        power = [node.cores * node.speed for node in view.nodes]
        whole = sum(work)
        i = 0
        done = 0.0
        limit = power[0] / sum(power) * whole
        for k, seconds in zip(roots, work, strict=True):
            while i + 1 < len(power) and done + seconds / 2 > limit:
                i += 1
                limit += power[i] / sum(power) * whole
            done += seconds
            self._dealt[k] = i

    def _find(self, view: DispatchView, k: int) -> Place:
        """Return the node that has the files of task *k* soonest.

        Among equals the least transfers count; ties: as dealt, then the first.
        """
        missing: dict[int, float] = {}
        costs: dict[int, float] = {}
        for i in range(len(view.nodes)):
            if not view.fits(k, i):
                continue
            seconds = view.missing_seconds(k, i)
            missing[i] = seconds
            costs[i] = seconds
            if seconds:
                staging = view.staging_seconds(k, i)
                costs[i] = seconds + staging + self._coming.get(i, 0.0)
        home = min(costs, key=lambda i: (costs[i], i != self._dealt.get(k), i))
        coming = missing.pop(home)
        self._coming[home] = self._coming.get(home, 0.0) + coming
        away = min(missing.values(), default=0.0)
        own = view.task(k).compute_seconds / view.nodes[home].speed
        return Place(home, own, coming, away + _sending_seconds(view, k))

    def _rescue(
        self, view: DispatchView, idle: list[int], waiting: dict[int, list[int]]
    ) -> Pair | None:
        """Return the pair that saves the most time; None where none saves any.

        Ties: the first home, its first task, the lowest node. Without the task its home
        is done that much earlier, if it is not done later elsewhere; what links spend
        is time that others wait for them.
        """
        best = 0.0
        pair: Pair | None = None
        if not idle:
            return None
        for home, tasks in waiting.items():
            wait, k = self._worth_most(view, home, tasks)
            if k is None:
                continue
            own = self._places[k].seconds
            made = _sending_seconds(view, k)
            for i in idle:
                saved = min(own, wait - view.staging_seconds(k, i) - made)
                saved -= view.missing_seconds(k, i) + made
                if saved > best and view.takes(k, i):
                    best = saved
                    pair = (k, i)
        return pair

    def _worth_most(
        self, view: DispatchView, home: int, tasks: list[int]
    ) -> tuple[float, int | None]:
        """Return the task at *home* whose leaving saves the most, and how long it
        waits.

        The task is None where none saves any time.
        """
        best = 0.0
        found: tuple[float, int | None] = 0.0, None
        ahead = view.unstarted(home)
        node = view.nodes[home]
        wait = view.core_time(tasks[0], home) - view.now
        if ahead is not None:
            wait += view.task(ahead).compute_seconds / node.speed / node.cores
        for k in tasks:
            own = self._places[k].seconds
            links = self._places[k].links
            saved = min(own, wait - links) - links
            if saved > best:
                best = saved
                found = (wait, k)
            wait += own * view.task(k).cores / node.cores
        return found


def _sending_seconds(view: DispatchView, k: int) -> float:
    """Return the seconds in which a link takes what task *k* writes."""
    written = sum(map(view.size, view.outputs(k)))
    return written / view.network.replica_bytes_per_second
