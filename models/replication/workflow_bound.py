"""Bound the makespan of workflows from below (workflow rule 18), for every plan and
every dispatch.

The bounds are valid for batches too. *Critical path*: a task starts only after its
predecessors, and its successors must follow. *Cores*: the computing that cannot start
before an instant takes time on the cores after it. *Links*: the bytes that must cross a
link or the disk of a storage take time there, after the first task that reads them has
arrived and before the last one ends. *Memory*: as for cores.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from typing import TypeVar

from ioopt.problems.base import Json, once_a_problem
from ioopt.problems.replication import LinkModel, Node, ReplicationProblem
from ioopt.protocols import Schedule

BoundT = TypeVar("BoundT", bound="WorkflowBound")


@once_a_problem
def _known_bounds(
    problem: ReplicationProblem,
) -> dict[tuple[type["WorkflowBound"], LinkModel | None], "WorkflowBound"]:
    """Return the bounds of *problem* so far, by their class and link model."""
    return {}


def keep(bound: BoundT) -> BoundT:
    """Return *bound*, and keep it for :func:`bounds_of`."""
    _known_bounds(bound.problem)[type(bound), bound.link_model] = bound
    return bound


def bounds_of(
    kind: type[BoundT], problem: ReplicationProblem, link: LinkModel | None = None
) -> BoundT:
    """Return the bounds of *problem* of the class *kind*; they are computed once for
    all solvers and replays of a problem.

    *link* replaces the instance's own model of the remote link.
    """
    bound = _known_bounds(problem).get((kind, link))
    if isinstance(bound, kind):
        return bound
    return keep(kind(problem, link))


@dataclass(frozen=True)
class WorkflowBound:
    """Compute the four bounds of one instance, in seconds.

    *link_model* replaces the instance's own model of the remote link.
    """

    problem: ReplicationProblem
    link_model: LinkModel | None = None

    @property
    def seconds(self) -> float:
        """Return the largest of the four bounds; on shared storage, that of
        :class:`SharedBound`.
        """
        if self.problem.is_shared:
            return makespan_bound_seconds(self.problem, self.link_model)
        return max(self.critical_path, self.core_area, self.memory_area, self.link)

    @cached_property
    def critical_path(self) -> float:
        """Return the bound of the longest chain: arrival, fetches, computing and
        saves.
        """
        ends = zip(self.earliest_end, self.tail, strict=True)
        return max((end + tail for end, tail in ends), default=0.0)

    @cached_property
    def core_area(self) -> float:
        """Return the bound of the computing: core seconds divided by the power of all
        cores.

        Two bounds are combined. One counts the tasks that cannot start before some
        instant. The other counts tasks with a long tail: after all of them, the
        shortest of their tails must follow.
        """
        tasks = self.problem.tasks
        nodes = self.problem.nodes
        power = sum(node.cores * node.speed for node in nodes)
        rows = zip(tasks, self.hold, strict=True)
        return self._area([task.cores * hold / power for task, hold in rows])

    @cached_property
    def memory_area(self) -> float:
        """Return the bound of the memory: byte seconds divided by all memory, as for
        cores; 0 if some node has no limit (workflow rule 24).
        """
        power = 0.0
        for node in self.problem.nodes:
            if node.memory_bytes is None:
                return 0.0
            power += node.memory_bytes * node.speed
        if power == 0.0:
            return 0.0
        rows = zip(self.problem.tasks, self.hold, strict=True)
        return self._area([task.memory_bytes * hold / power for task, hold in rows])

    def _area(self, area: Sequence[float]) -> float:
        """Return the bound of what tasks hold; *area* has, for each task, the seconds
        for which it would take all that the nodes have.
        """
        tasks = self.problem.tasks
        best = 0.0
        total = 0.0
        last_first = sorted(
            range(len(tasks)), key=self.earliest_start.__getitem__, reverse=True
        )
        for k in last_first:
            total += area[k]
            best = max(best, self.earliest_start[k] + total)
        total = 0.0
        first = float("inf")
        for k in sorted(range(len(tasks)), key=self.tail.__getitem__, reverse=True):
            total += area[k]
            first = min(first, self.earliest_start[k])
            best = max(best, first + total + self.tail[k])
        return best

    @cached_property
    def link(self) -> float:
        """Return the bound of the transfers over the remote link, or over the disk of
        one storage.

        All private links together count as one link.
        """
        network = self.problem.network
        files = self.problem.files
        nodes = len(self.problem.nodes)
        links = 1 if (self.link_model or network.remote_link) == "shared" else nodes
        # What crosses the links crosses the interfaces of nodes, too.
        rate = min(
            network.remote_bytes_per_second * links,
            network.replica_bytes_per_second * nodes,
        )
        kept = [
            f for f, k in enumerate(self.problem.producer) if k >= 0 and files[f].keep
        ]
        best = self._crossing(self.first_touch, kept, rate)
        for storage in self.problem.storages:
            own = [f for f, file in enumerate(files) if file.storage == storage.id]
            fetched = [f for f in own if f in self.first_touch]
            saved = [f for f in own if f in set(kept)]
            seconds = self._crossing(fetched, saved, storage.bytes_per_second)
            best = max(best, seconds)
        return best

    def _crossing(
        self, fetched: Collection[int], kept: Collection[int], rate: float
    ) -> float:
        """Return the bound of all transfers through one resource of *rate* bytes per
        second.

        The *fetched* files come in, the products *kept* go out.
        """
        problem = self.problem
        far = sum(problem.files[f].bytes for f in fetched) / rate
        out = sum(problem.files[f].bytes for f in kept) / rate
        begun = min((self._asked[f] for f in fetched), default=float("inf"))
        made = min(
            (self.earliest_end[problem.producer[f]] for f in kept), default=float("inf")
        )
        best = 0.0
        if fetched:
            readers: set[int] = set()
            for f in fetched:
                readers.update(problem.readers[f])
            after = min(self.seconds_on_fastest[k] + self.tail[k] for k in readers)
            best = begun + far + after
        if kept:
            best = max(best, made + out)
        if fetched and kept:
            best = max(best, min(begun, made) + far + out)
        return best

    @cached_property
    def order(self) -> list[int]:
        """Return the tasks in an order in which each comes after its predecessors."""
        return list(
            TopologicalSorter(dict(enumerate(self.problem.predecessors))).static_order()
        )

    @cached_property
    def seconds_on_fastest(self) -> list[float]:
        """Return, for each task, its overhead and its compute time on the fastest node
        that it fits, in seconds.
        """
        rows = zip(self.problem.tasks, self.computing, strict=True)
        return [task.overhead_seconds + seconds for task, seconds in rows]

    @cached_property
    def computing(self) -> list[float]:
        """Return, for each task, its compute time on the fastest node that it fits, in
        seconds.
        """
        nodes = self.problem.nodes
        fastest = max(node.speed for node in nodes)
        found = []
        for task, hosts in zip(self.problem.tasks, self.problem.hosts, strict=True):
            speed = max((nodes[i].speed for i in hosts), default=fastest)
            found.append(task.compute_seconds / speed)
        return found

    @cached_property
    def hold(self) -> list[float]:
        """Return, for each task, the least seconds, times speed, for which it holds its
        cores: its computing, and its overhead on the slowest node that it fits.
        """
        nodes = self.problem.nodes
        found = []
        for task, hosts in zip(self.problem.tasks, self.problem.hosts, strict=True):
            speed = min((nodes[i].speed for i in hosts), default=0.0)
            found.append(task.compute_seconds + task.overhead_seconds * speed)
        return found

    @cached_property
    def first_touch(self) -> frozenset[int]:
        """Return the files that must come from remote storage.

        They are not produced by a task, some task reads them, and no node holds them.
        """
        problem = self.problem
        held = frozenset().union(*problem.holds)
        makers = enumerate(problem.producer)
        return frozenset(
            f for f, k in makers if k < 0 and problem.readers[f] and f not in held
        )

    @cached_property
    def _asked(self) -> list[float]:
        """Return, for each file, the arrival of the first task that reads it, in
        seconds.
        """
        tasks = self.problem.tasks
        found = []
        for readers in self.problem.readers:
            arrivals = [tasks[k].release_seconds for k in readers]
            found.append(min(arrivals, default=0.0))
        return found

    @cached_property
    def rates(self) -> list[float]:
        """Return, for each file, its highest rate from or to remote storage, in bytes
        per second.
        """
        network = self.problem.network
        pipe = min(network.remote_bytes_per_second, network.replica_bytes_per_second)
        disks: dict[str | None, float] = {None: pipe}
        for storage in self.problem.storages:
            disks[storage.id] = storage.bytes_per_second
        return [min(pipe, disks[file.storage]) for file in self.problem.files]

    def first_arrival(self, f: int) -> float:
        """Return the earliest time, in seconds, at which file *f* can arrive on any
        node.

        *f* must be a file that comes from remote storage.
        """
        return self._asked[f] + self.problem.files[f].bytes / self.rates[f]

    @cached_property
    def earliest_start(self) -> list[float]:
        """Return ES: for each task, the earliest time at which it can start, in
        seconds.

        It waits for its own arrival, its predecessors, and its inputs from remote
        storage. The inputs are counted one by one, and all together through the
        interface of a node.
        """
        problem = self.problem
        start = [0.0] * len(problem.tasks)
        for k in self.order:
            times = [problem.tasks[k].release_seconds]
            times += [
                start[p] + self.seconds_on_fastest[p] for p in problem.predecessors[k]
            ]
            born = [f for f in problem.inputs[k] if problem.producer[f] < 0]
            for f in born:
                if f in self.first_touch:
                    times.append(self.first_arrival(f))
            if born and problem.hosts[k]:
                missing = []
                for held in {problem.holds[i] for i in problem.hosts[k]}:
                    sizes = [problem.files[f].bytes for f in born if f not in held]
                    missing.append(sum(sizes))
                begun = min(self._asked[f] for f in born)
                times.append(begun + min(missing) * problem.replica_seconds_per_byte)
            start[k] = max(times)
        return start

    @cached_property
    def earliest_end(self) -> list[float]:
        """Return EF: for each task, the earliest time at which it can end, in
        seconds.
        """
        rows = zip(self.earliest_start, self.seconds_on_fastest, strict=True)
        return [start + work for start, work in rows]

    @cached_property
    def tail(self) -> list[float]:
        """Return q: for each task, the least time from its end to the end of the run,
        in seconds.

        Its successors and the saves of its outputs must follow.
        """
        problem = self.problem
        after = [0.0] * len(problem.tasks)
        for k in reversed(self.order):
            for f in problem.outputs[k]:
                if problem.files[f].keep:
                    after[k] = max(after[k], problem.files[f].bytes / self.rates[f])
            for p in problem.predecessors[k]:
                after[p] = max(after[p], self.seconds_on_fastest[k] + after[k])
        return after


def makespan_bound_seconds(
    problem: ReplicationProblem,
    link: LinkModel | None = None,
    copied: Collection[int] = (),
) -> float:
    """Return the makespan bound of :class:`WorkflowBound` in seconds; batches are
    allowed.

    *copied* are the files that copy entries of the plan name. They matter on shared
    storage alone (workflow rule 30).
    """
    if not problem.is_shared:
        return bounds_of(WorkflowBound, problem, link).seconds
    if copied:
        return SharedBound(problem, link, frozenset(copied)).seconds
    return bounds_of(SharedBound, problem, link).seconds


def transfer_bound_seconds(
    problem: ReplicationProblem,
    link: LinkModel | None = None,
    copied: Collection[int] = (),
) -> float:
    """Return the makespan bound of :class:`TransferBound` in seconds; *copied* as in
    :func:`makespan_bound_seconds`.
    """
    if problem.is_shared and copied:
        return CacheBound(problem, link, frozenset(copied)).seconds
    return bounds_of(TransferBound, problem, link).seconds


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


Share = tuple[float, float]
"""Two times of one item, in seconds: on the cores of a node if the item stays there,
and on the interface of the node if it moves.
"""


def least_of_both(shares: Iterable[Share], stay: float, move: float) -> float:
    """Divide items between the cores and the interface of a node.

    Return the earliest time at which both have ended. The cores are free from *stay*
    on, the interface from *move* on. Each item stays, moves, or is divided. In the best
    division the items stay whose time on the interface is longest relative to their
    computing.

    >>> least_of_both([(4.0, 4.0), (4.0, 1.0)], 0.0, 0.0)
    2.5
    """
    moving = 0.0
    rows = []
    for cores, wire in shares:
        moving += wire
        if cores == 0.0:
            moving -= wire
        elif cores < float("inf") and wire > 0.0:
            rows.append((wire / cores, cores, wire))
    move += moving
    for _, cores, wire in sorted(rows, reverse=True):
        if stay + cores >= move - wire:
            part = max(0.0, (move - stay) / (cores + wire))
            return max(move - part * wire, stay)
        stay += cores
        move -= wire
    return max(stay, move)


@dataclass(frozen=True)
class TransferBound(WorkflowBound):
    """Strengthen :class:`WorkflowBound` by the transfers between nodes and by the
    disks; on shared storage, where neither counts, by :class:`CacheBound`.

    A task and its producer share a node, and both take its cores; or bytes pass the
    interface of the task's node. The same holds for the readers of its products. The
    relaxation chooses which tasks share a node, in fractions if needed, so the bound is
    valid for every plan and every dispatch.
    """

    @property
    def seconds(self) -> float:
        """Return the largest of the five bounds; on shared storage, that of
        :class:`CacheBound`.
        """
        if self.problem.is_shared:
            return bounds_of(CacheBound, self.problem, self.link_model).seconds
        return max(super().seconds, self.disk_area)

    @cached_property
    def disk_area(self) -> float:
        """Return the bound of the disks of a workflow: byte seconds divided by all
        disks, as for cores; 0 if some disk has no limit.

        While a task computes, its disk holds its inputs, which are pinned, and its
        outputs (workflow rules 5 and 7). Tasks that compute on a node at the same time
        have different outputs. At most m of them read file f, m being the number of its
        readers, or of those that the cores of a node suffice for. So a reader may count
        1/m of f: at any time, what the tasks on a node count is on its disk. With
        speed v of a node, a task that counts b bytes and computes w at speed 1 has at
        least b w of the sum over the nodes of v x disk x the makespan. This holds for
        any set of tasks, thus also after their least start and before their least tail.
        """
        problem = self.problem
        power = 0.0
        for node in problem.nodes:
            if node.disk_bytes is None:
                return 0.0
            power += node.disk_bytes * node.speed
        if power == 0.0 or not problem.is_workflow:
            return 0.0
        cores = max(node.cores for node in problem.nodes)
        counted = [float(file.bytes) for file in problem.files]
        for f, readers in enumerate(problem.readers):
            if readers:
                fewest = min(problem.tasks[k].cores for k in readers)
                together = max(1, cores // fewest) if fewest else len(readers)
                counted[f] /= min(len(readers), together)
        area = []
        for k, task in enumerate(problem.tasks):
            held = sum(counted[f] for f in problem.inputs[k])
            held += sum(problem.files[f].bytes for f in problem.outputs[k])
            area.append(held * task.compute_seconds / power)
        return self._area(area)

    @cached_property
    def critical_path(self) -> float:
        """Return the largest bound of a single task: head, computing and tail together.

        Each task is counted on the kind of node where this sum is least.
        """
        heads = self._heads
        tails = self._tails
        least = (
            min(heads[k][c] + self._work(k, node) + tails[k][c] for c, node in places)
            for k, places in enumerate(self._places)
            if places
        )
        return max(least, default=0.0)

    @cached_property
    def core_area(self) -> float:
        """Return the larger of the area bound and of a bound that counts tasks on one
        core.

        If m C + 1 tasks run on C cores, some core runs at least m + 1 of them.
        """
        best = super().core_area
        quick = self.seconds_on_fastest
        all_cores = sum(node.cores for node in self.problem.nodes)
        longest = sorted(range(len(quick)), key=quick.__getitem__, reverse=True)
        start = float("inf")
        tail = float("inf")
        for place, k in enumerate(longest):
            start = min(start, self.earliest_start[k])
            tail = min(tail, self.tail[k])
            if place and place % all_cores == 0:
                shortest = longest[place - place // all_cores : place + 1]
                best = max(best, start + sum(quick[j] for j in shortest) + tail)
        return best

    @cached_property
    def earliest_start(self) -> list[float]:
        """Return ES: for each task, the least head over all kinds of nodes, in
        seconds.
        """
        heads = zip(self._heads, self._plain_start, strict=True)
        return [min(row.values(), default=s) for row, s in heads]

    @cached_property
    def tail(self) -> list[float]:
        """Return q: for each task, the least tail over all kinds of nodes, in
        seconds.
        """
        return [min(row.values(), default=0.0) for row in self._tails]

    @cached_property
    def _plain_start(self) -> list[float]:
        """Return, for each task, the earliest start if transfers between nodes took no
        time.
        """
        return bounds_of(WorkflowBound, self.problem).earliest_start

    @cached_property
    def _classes(self) -> list[Node]:
        """Return the first node of each kind.

        Nodes of a kind have equal speed, cores, disk and memory; the files that they
        hold do not matter.
        """
        kinds = {}
        for node in reversed(self.problem.nodes):
            kind = (node.speed, node.cores, node.disk_bytes, node.memory_bytes)
            kinds[kind] = node
        return list(kinds.values())

    @cached_property
    def _places(self) -> list[list[tuple[int, Node]]]:
        """Return, for each task, the kinds of nodes that it fits: (number of the kind,
        first node).
        """
        found = []
        for k in range(len(self.problem.tasks)):
            row = []
            for c, node in enumerate(self._classes):
                if self.problem.fits(k, self.problem.node_index[node.id]):
                    row.append((c, node))
            found.append(row)
        return found

    def _work(self, k: int, node: Node) -> float:
        """Return the seconds for which task *k* holds its cores on *node*."""
        task = self.problem.tasks[k]
        return task.overhead_seconds + task.compute_seconds / node.speed

    def _cores(self, tasks: Iterable[int], c: int) -> float:
        """Return the seconds for which *tasks* keep all cores of a node of kind *c*
        busy.

        It is infinite if one of them does not fit.
        """
        node = self._classes[c]
        total = 0.0
        for k in tasks:
            if all(c != other for other, _ in self._places[k]):
                return float("inf")
            task = self.problem.tasks[k]
            seconds = task.overhead_seconds * node.speed + task.compute_seconds
            total += task.cores * seconds
        return total / (node.cores * node.speed)

    @cached_property
    def earliest_end(self) -> list[float]:
        """Return EF: for each task, the least end over all kinds of nodes, in
        seconds.
        """
        found = []
        for k, start in enumerate(self.earliest_start):
            head = self._heads[k]
            ends = [head[c] + self._work(k, node) for c, node in self._places[k]]
            found.append(min(ends, default=start))
        return found

    @cached_property
    def _heads(self) -> list[dict[int, float]]:
        """Return, for each task, its earliest start on each kind of node that it
        fits.
        """
        plain = self._plain_start
        rows: list[dict[int, float]] = [{} for _ in plain]
        end = list(plain)
        for k in self.order:
            rows[k] = {
                c: max(plain[k], self._head(k, c, rows, end))
                for c, _ in self._places[k]
            }
            ends = (rows[k][c] + self._work(k, node) for c, node in self._places[k])
            end[k] = min(ends, default=plain[k])
        return rows

    def _head(
        self, k: int, c: int, heads: list[dict[int, float]], end: list[float]
    ) -> float:
        """Return the earliest start of task *k* on a node of kind *c*, in seconds.

        Each of its producers ran on that node, or the producer's files had to be
        transferred. *heads* are the starts of earlier tasks, *end* their least ends.
        """
        problem = self.problem
        byte = self.problem.replica_seconds_per_byte
        wires = {p: 0.0 for p in problem.predecessors[k]}
        for f in problem.inputs[k]:
            if problem.producer[f] >= 0:
                wires[problem.producer[f]] += problem.files[f].bytes * byte
        best = 0.0
        shares = []
        for p, wire in wires.items():
            here = end[p] + wire
            if c in heads[p]:
                here = min(here, heads[p][c] + self._work(p, self._classes[c]))
            best = max(best, here)
            shares.append((self._cores([p], c), wire))
        if not wires:
            return best
        stay = min(min(heads[p].values(), default=0.0) for p in wires)
        return max(best, least_of_both(shares, stay, min(end[p] for p in wires)))

    @cached_property
    def _tails(self) -> list[dict[int, float]]:
        """Return, for each task, the least time that must follow its end on each kind
        of node.
        """
        rows: list[dict[int, float]] = [{} for _ in self.problem.tasks]
        least = [0.0] * len(rows)
        for k in reversed(self.order):
            rows[k] = {c: self._tail(k, c, rows, least) for c, _ in self._places[k]}
            least[k] = min(rows[k].values(), default=0.0)
        return rows

    def _tail(
        self, k: int, c: int, tails: list[dict[int, float]], tail: list[float]
    ) -> float:
        """Return the least seconds that must follow the end of *k* on a node of kind
        *c*.

        The outputs of *k* are read on the same node, or first sent to another. *tails*
        are the tails of later tasks, *tail* the least of each.
        """
        problem = self.problem
        byte = self.problem.replica_seconds_per_byte
        node = self._classes[c]
        quick = self.seconds_on_fastest
        best = 0.0
        shares = []
        seen = set[int]()
        after: list[float] = []
        stay: list[float] = []
        for f in problem.outputs[k]:
            if problem.files[f].keep:
                best = max(best, problem.files[f].bytes / self.rates[f])
            readers = problem.readers[f]
            wire = problem.files[f].bytes * byte
            for j in readers:
                least = wire + quick[j] + tail[j]
                if c in tails[j]:
                    least = min(least, self._work(j, node) + tails[j][c])
                best = max(best, least)
                after.append(quick[j] + tail[j])
                stay.append(tail[j])
            if readers:
                shares.append((self._cores(set(readers) - seen, c), wire))
                if self._cores(readers, c) == float("inf"):
                    shares[-1] = (float("inf"), wire)
                seen |= set(readers)
        if not shares:
            return best
        return max(best, least_of_both(shares, min(stay), min(after)))

    def _crossing(
        self, fetched: Collection[int], kept: Collection[int], rate: float
    ) -> float:
        """Return the larger of the bound of workflow rule 18 and a sharper one.

        The sharper bound takes the *fetched* files in order of the time that must
        follow the arrival of each, longest first. After each file, all files taken so
        far have crossed, and the time that must follow this file is added.
        """
        best = super()._crossing(fetched, kept, rate)
        total = 0.0
        begun = min((self._asked[f] for f in fetched), default=0.0)
        after = {}
        for f in fetched:
            readers = self.problem.readers[f]
            after[f] = max(self.seconds_on_fastest[k] + self.tail[k] for k in readers)
        for f in sorted(fetched, key=after.__getitem__, reverse=True):
            total += self.problem.files[f].bytes
            best = max(best, begun + total / rate + after[f])
        return best


@dataclass(frozen=True)
class SharedBound(WorkflowBound):
    """Compute the four bounds of one instance on shared storage, in seconds (workflow
    rule 30).

    Every task reads its inputs from the storage, unless the cache of its node has them,
    and writes all its outputs there, while it holds its cores. *copied* are the files
    that copy entries of a plan name. Such an entry may bring a file into a cache before
    any task reads it.
    """

    copied: frozenset[int] = frozenset()

    @property
    def seconds(self) -> float:
        """Return the largest of the four bounds."""
        return max(self.critical_path, self.core_area, self.memory_area, self.link)

    @cached_property
    def to_read(self) -> frozenset[int]:
        """Return F, the files of which some task must read a copy from the storage.

        These are the files that no node holds and no task makes, and the products too
        if caches do not take what is written.
        """
        problem = self.problem
        if problem.caches_made:
            return self.first_touch
        read = {f for f, readers in enumerate(problem.readers) if readers}
        products = {f for f in read if problem.producer[f] >= 0}
        return self.first_touch | products

    @cached_property
    def writing(self) -> list[float]:
        """Return wr: for each task, the least seconds in which it writes its
        outputs.
        """
        return [self._moving(files) for files in self.problem.outputs]

    def _moving(self, files: Collection[int]) -> float:
        """Return the least seconds that *files* take one after the other."""
        return sum(self.problem.files[f].bytes / self.rates[f] for f in files)

    @cached_property
    def reading(self) -> list[float]:
        """Return rd: for each task, the least seconds in which it reads its inputs, on
        the node that it fits where these are least.
        """
        found = []
        for k, hosts in enumerate(self.problem.hosts):
            rows = [self._moving(self._read_there(k, i)) for i in self._kinds(hosts)]
            found.append(min(rows, default=0.0))
        return found

    def _kinds(self, hosts: Iterable[int]) -> Iterable[int]:
        """Return one of *hosts* for each kind of node: those that hold the same files
        and have caches of one size.
        """
        problem = self.problem
        kinds = {(problem.holds[i], problem.nodes[i].disk_bytes): i for i in hosts}
        return kinds.values()

    def _read_there(self, k: int, i: int) -> list[int]:
        """Return the inputs that task *k* surely reads itself on node *i*.

        These are the inputs that no other task reads, the node does not hold, and no
        cache has from their producer.
        """
        problem = self.problem
        found = []
        for f in problem.inputs[k]:
            made = problem.caches_made and problem.producer[f] >= 0
            alone = len(problem.readers[f]) == 1 and f not in self.copied
            if alone and not made and f not in problem.holds[i]:
                found.append(f)
        return found

    @cached_property
    def seconds_on_fastest(self) -> list[float]:
        """Return, for each task, the least seconds from its start to its end."""
        tasks = self.problem.tasks
        found = []
        for k, task in enumerate(tasks):
            before = task.overhead_seconds + self.reading[k]
            found.append(before + self.computing[k] + self.writing[k])
        return found

    @cached_property
    def hold(self) -> list[float]:
        """Return, for each task, the least seconds, times speed, for which it holds its
        cores.
        """
        nodes = self.problem.nodes
        found = []
        for k, task in enumerate(self.problem.tasks):
            hosts = self.problem.hosts[k]
            speed = min((nodes[i].speed for i in hosts), default=0.0)
            beside = task.overhead_seconds + self.reading[k] + self.writing[k]
            found.append(task.compute_seconds + beside * speed)
        return found

    @cached_property
    def _first_start(self) -> list[float]:
        """Return, for each task, the earliest start if it waited for no file but those
        of its own predecessors.
        """
        problem = self.problem
        start = [0.0] * len(problem.tasks)
        for k in self.order:
            times = [problem.tasks[k].release_seconds]
            for p in problem.predecessors[k]:
                times.append(start[p] + self.seconds_on_fastest[p])
            start[k] = max(times)
        return start

    def _first_read(self, f: int) -> float:
        """Return the earliest time at which some entry can begin to read file *f*; its
        producer is not counted.
        """
        tasks = self.problem.tasks
        readers = self.problem.readers[f]
        if f in self.copied:
            return min((tasks[k].release_seconds for k in readers), default=0.0)
        return min(self._first_start[k] + tasks[k].overhead_seconds for k in readers)

    @cached_property
    def _times(self) -> tuple[list[float], list[float], list[float]]:
        """Return, for each task, the earliest times at which it starts, computes and
        ends, in seconds.
        """
        problem = self.problem
        start = [0.0] * len(problem.tasks)
        compute = list(start)
        end = list(start)
        for k in self.order:
            task = problem.tasks[k]
            times = [task.release_seconds]
            times += [end[p] for p in problem.predecessors[k]]
            start[k] = max(times)
            ready = [start[k] + task.overhead_seconds + self.reading[k]]
            for f in problem.inputs[k]:
                if f in self.to_read:
                    begun = self._first_read(f)
                    if problem.producer[f] >= 0:
                        begun = max(begun, end[problem.producer[f]])
                    ready.append(begun + problem.files[f].bytes / self.rates[f])
            compute[k] = max(ready)
            end[k] = compute[k] + self.computing[k] + self.writing[k]
        return start, compute, end

    @cached_property
    def earliest_start(self) -> list[float]:
        """Return ES: for each task, the earliest time at which it can start, in
        seconds.
        """
        return self._times[0]

    @cached_property
    def earliest_end(self) -> list[float]:
        """Return EF: for each task, the earliest time at which it can end, in
        seconds.
        """
        return self._times[2]

    @cached_property
    def tail(self) -> list[float]:
        """Return q: for each task, the least time from its end to the end of the run,
        in seconds.
        """
        after = [0.0] * len(self.problem.tasks)
        for k in reversed(self.order):
            for p in self.problem.predecessors[k]:
                after[p] = max(after[p], self.seconds_on_fastest[k] + after[k])
        return after

    @cached_property
    def link(self) -> float:
        """Return the bound of the reads and writes over the shared link, or over the
        disk of one storage.

        All private links together count as one link.
        """
        problem = self.problem
        network = problem.network
        remote = network.remote_bytes_per_second
        replica = network.replica_bytes_per_second
        nodes = len(problem.nodes)
        rate = min(remote, nodes * replica)
        if (self.link_model or network.remote_link) == "per-node":
            rate = nodes * min(remote, replica)
        everything = range(len(problem.files))
        best = self._through(everything, rate)
        for storage in problem.storages:
            own = [f for f in everything if problem.files[f].storage == storage.id]
            best = max(best, self._through(own, storage.bytes_per_second))
        return best

    def _through(self, files: Collection[int], rate: float) -> float:
        """Return the bound of all reads and writes of *files* through one resource of
        *rate* bytes per second.
        """
        problem = self.problem
        read = [f for f in files if self._times_read(f)]
        written = [f for f in files if problem.producer[f] >= 0]
        came = sum(problem.files[f].bytes * self._times_read(f) for f in read) / rate
        went = sum(problem.files[f].bytes for f in written) / rate
        begun = []
        after_read = []
        for f in read:
            begun.append(self._read_from(f))
            for k in problem.readers[f]:
                rest = self.computing[k] + self.writing[k]
                after_read.append(rest + self.tail[k])
        made = []
        after_write = []
        for f in written:
            k = problem.producer[f]
            made.append(self._times[1][k] + self.computing[k])
            after_write.append(self.tail[k])
        best = 0.0
        if read:
            best = max(best, min(begun) + came + min(after_read))
        if written:
            best = max(best, min(made) + went + min(after_write))
        if read and written:
            first = min(*begun, *made)
            last = min(*after_read, *after_write)
            best = max(best, first + (came + went) + last)
        return best

    def _times_read(self, f: int) -> int:
        """Return how often file *f* is read at least."""
        return int(f in self.to_read)

    def _read_from(self, f: int) -> float:
        """Return the earliest time at which file *f* can begin to cross the link to a
        node.
        """
        problem = self.problem
        if f not in self.copied:
            starts = []
            for k in problem.readers[f]:
                overhead = problem.tasks[k].overhead_seconds
                starts.append(self.earliest_start[k] + overhead)
            return min(starts)
        begun = self._first_read(f)
        if problem.producer[f] >= 0:
            begun = max(begun, self.earliest_end[problem.producer[f]])
        return begun


@dataclass(frozen=True)
class CacheBound(SharedBound):
    """Strengthen :class:`SharedBound` by the files that are larger than caches: a file
    that never stays in the cache of a node is read there by every task (workflow rule
    31).
    """

    def _too_large(self, f: int, i: int) -> bool:
        """Return whether file *f* never stays in the cache of node *i*."""
        cache = self.problem.nodes[i].disk_bytes
        return cache is not None and self.problem.files[f].bytes > cache

    def _read_there(self, k: int, i: int) -> list[int]:
        """Return the inputs that task *k* surely reads itself on node *i*: also those
        that are larger than the cache.
        """
        alone = super()._read_there(k, i)
        for f in self.problem.inputs[k]:
            if f not in alone and self._too_large(f, i):
                alone.append(f)
        return alone

    @cached_property
    def _reads(self) -> list[int]:
        """Return, for each file, how many tasks surely read it themselves, because it
        is larger than the caches of all nodes that they fit.
        """
        problem = self.problem
        found = []
        for f, readers in enumerate(problem.readers):
            hosts = [problem.hosts[k] for k in readers]
            whole = [all(self._too_large(f, i) for i in nodes) for nodes in hosts]
            found.append(sum(whole))
        return found

    def _times_read(self, f: int) -> int:
        """Return how often file *f* is read at least."""
        return max(super()._times_read(f), self._reads[f])
