"""Dispatch each task to its home: the node that has its input files or gets them
soonest (ours).

Tasks that read no outputs of other tasks are divided among the nodes: each node gets a
stretch of consecutive tasks of the instance. The tasks of the instance should therefore
be in depth-first order, as Dask's are: then readers of the same file are neighbours and
run on one node. An idle node takes a task whose home is another node if this saves more
time than the links need to move its input files and to send its outputs back.
"""

from typing import NamedTuple

from ioopt.decisions.replication import DispatchView, Pair

SHORT_SECONDS = 0.02
"""Tasks with less compute time than this, in seconds, are dispatched first (ours).

They delay other tasks little, and the tasks that wait for them can start.
"""


class Place(NamedTuple):
    """The home of a ready task, and what a move of the task to another node would cost.

    ``home``: position of the node. ``seconds``: compute time of the task there.
    ``coming``: link time, in seconds, to bring the missing inputs to the home.
    ``links``: least link time to bring the missing inputs to any other node and to send
    the outputs back.
    """

    home: int
    seconds: float
    coming: float
    links: float


class Homes:
    """Dispatch tasks to their home nodes, and remember the home of each ready task."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}
        self._dealt: dict[int, int] = {}
        self._coming: dict[int, float] = {}
        self._arrived = 0

    def learn(self) -> None:
        """Forget all homes, so that they are computed again with the new estimates of
        time and size.
        """
        self._places.clear()
        self._coming.clear()
        self._arrived = 0

    def __call__(self, view: DispatchView) -> Pair | None:
        """Return the first ready task whose home accepts it, and its home; short tasks
        come first.

        If there is no such task, return a task that an idle node can take with a gain
        of time, and that node.
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
        """Assign every task without producers to a node, in stretches of consecutive
        tasks.

        The work of a stretch is proportional to the cores and the speed of its node.
        """
        made: set[int] = set()
        for k in view.released():
            made.update(view.outputs(k))
        roots = [k for k in view.released() if made.isdisjoint(view.inputs(k))]
        work = []
        for k in roots:
            task = view.task(k)
            seconds = task.overhead_seconds + task.compute_seconds
            work.append(seconds * task.cores or 1e-9)
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
        """Return the home of task *k*: the node on which its inputs can be complete
        soonest.

        In a tie, the node to which :meth:`_deal` assigned the task comes first, if it
        assigned the task to one; then the node with the lowest number.
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
        task = view.task(k)
        own = task.overhead_seconds + task.compute_seconds / view.nodes[home].speed
        return Place(home, own, coming, away + _sending_seconds(view, k))

    def _rescue(
        self, view: DispatchView, idle: list[int], waiting: dict[int, list[int]]
    ) -> Pair | None:
        """Return the task whose move to an idle node saves the most time, and that
        node; None if no move saves time.

        *waiting* lists the waiting tasks of each home. The saving is the smaller of two
        times: the compute time of the task at its home, and the time by which the task
        ends earlier on the idle node. The link time of the move is subtracted, because
        other tasks wait for the links. Ties go to the first home, then to its first
        task, then to the first node.
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
        """Return (waiting time in seconds, task) for the task whose departure from
        *home* saves the most time.

        The waiting time ends when the task could start at its home. The task is None if
        no departure saves time.
        """
        best = 0.0
        found: tuple[float, int | None] = 0.0, None
        ahead = view.unstarted(home)
        node = view.nodes[home]
        wait = view.core_time(tasks[0], home) - view.now
        if ahead is not None:
            task = view.task(ahead)
            seconds = task.overhead_seconds + task.compute_seconds / node.speed
            wait += seconds / node.cores
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
    """Return the link time, in seconds, to send the outputs of task *k* to another
    node.
    """
    written = sum(map(view.size, view.outputs(k)))
    return written / view.network.replica_bytes_per_second
