"""Reduce a replication problem to the data of the static models.

Only files that are read are kept, equal tasks are merged, and times are integers: whole
multiples of one ``unit``. If no unit divides all times, they are rounded down, so that
a bound of the integer problem stays a bound.
"""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.units import exact

Cycles = Literal["acyclic", "printed"]
"""Rule of copies: each descends from a fetch, or copies may form a cycle (rule 3)."""
MOST_UNITS = 1 << 46
"""Largest sum of times in units, because CP-SAT needs room for sums and products."""


@dataclass(frozen=True)
class TaskClass:
    """Represent tasks with the same files and compute time.

    ``tasks`` are positions in the problem, ``inputs`` are files by model index.
    ``seconds`` is the compute time at speed 1.
    """

    tasks: tuple[int, ...]
    inputs: tuple[int, ...]
    seconds: Fraction

    @property
    def count(self) -> int:
        """Return the number of tasks in the class."""
        return len(self.tasks)


@dataclass(frozen=True)
class StaticInstance:
    """Hold the data of a replication problem that the static models need.

    Lists have one entry for each file l, node i or class of tasks k.

    - ``files[l]`` is the position of file l in the problem; l is its model index.
    - ``sizes[l]`` is its size in bytes.
    - ``readers[l]`` are the classes of tasks that read it.
    - ``held[i]`` are the files that node i holds from the start.
    - ``room[i]`` are the bytes of its disk without held files that nobody reads (None:
      unlimited).
    - ``far[l]`` is the time of a fetch, t_rem x size, in units of ``unit`` seconds.
    - ``near[l]`` is the time of a copy, t_rep x size, in units.
    - ``work[k][i]`` is the computing of one task of class k on node i, in units.

    ``exact`` says that none of these times was rounded.
    """

    problem: ReplicationProblem
    files: tuple[int, ...]
    sizes: tuple[int, ...]
    readers: tuple[tuple[int, ...], ...]
    held: tuple[frozenset[int], ...]
    room: tuple[int | None, ...]
    classes: tuple[TaskClass, ...]
    unit: Fraction
    exact: bool
    far: tuple[int, ...]
    near: tuple[int, ...]
    work: tuple[tuple[int, ...], ...]

    @property
    def num_nodes(self) -> int:
        """Return the number of nodes, C."""
        return len(self.room)

    @property
    def num_files(self) -> int:
        """Return the number of files that are read, L."""
        return len(self.files)

    @cached_property
    def least_work(self) -> tuple[int, ...]:
        """Return, for each class, the computing of one task on the fastest node, in
        units.
        """
        return tuple(min(row) for row in self.work)

    @cached_property
    def class_of(self) -> list[int]:
        """Return, for each task, the position of its class."""
        found = [0] * sum(group.count for group in self.classes)
        for k, group in enumerate(self.classes):
            for task in group.tasks:
                found[task] = k
        return found

    def holders(self, file: int) -> list[int]:
        """Return the nodes that hold *file* (model index) from the start."""
        return [node for node in range(self.num_nodes) if file in self.held[node]]

    def seconds(self, units: float) -> float:
        """Convert units to seconds, rounded once."""
        return float(Fraction(units) * self.unit)

    def lift(self, seconds: float) -> float:
        """Round a lower bound in *seconds* up to a whole number of units, if times are
        exact.

        A relative slack of 1e-9, or of a millionth of a unit, absorbs rounding of the
        backend.
        """
        if not self.exact:
            return seconds
        units = seconds / float(self.unit)
        return self.seconds(math.ceil(units - max(1e-6, 1e-9 * abs(units))))


@dataclass(frozen=True)
class Moves:
    """Represent a solution of the static model.

    ``assign`` is the node of each task. ``remote`` are the fetches (file, node),
    ``copies`` the copies (file, source node, destination node). Files are model
    indexes.
    """

    assign: tuple[int, ...]
    remote: tuple[tuple[int, int], ...]
    copies: tuple[tuple[int, int, int], ...]


def reduce(problem: ReplicationProblem, merge: bool = True) -> StaticInstance:
    """Return the static instance of *problem*.

    With *merge* equal tasks form one class; otherwise each task is a class of its own.
    """
    problem.require_batch("the program of replication")
    kept = tuple(file for file, readers in enumerate(problem.readers) if readers)
    index = {file: l for l, file in enumerate(kept)}
    classes = _classes(problem, index, merge)
    sizes = tuple(problem.files[file].bytes for file in kept)
    far = [size / exact(problem.network.remote_bytes_per_second) for size in sizes]
    near = [size / exact(problem.copy_bytes_per_second) for size in sizes]
    speeds = [exact(node.speed) for node in problem.nodes]
    times = _compute_times(classes, set(speeds))
    moving = len(speeds) * (sum(far) + 2 * sum(near))
    computing = sum(
        group.count * max(times[group.seconds].values()) for group in classes
    )
    unit, is_exact = _unit([*far, *near], times, Fraction(moving + computing))
    work = {
        seconds: tuple(math.floor(by_speed[speed] / unit) for speed in speeds)
        for seconds, by_speed in times.items()
    }
    return StaticInstance(
        problem,
        kept,
        sizes,
        _reading_classes(classes, len(kept)),
        _held_files(problem, index),
        _room(problem, index),
        classes,
        unit,
        is_exact,
        tuple(math.floor(seconds / unit) for seconds in far),
        tuple(math.floor(seconds / unit) for seconds in near),
        tuple(work[group.seconds] for group in classes),
    )


def _compute_times(
    classes: Sequence[TaskClass], speeds: set[Fraction]
) -> dict[Fraction, dict[Fraction, Fraction]]:
    """Return the compute time of each class at each speed: table[seconds at speed
    1][speed].

    Exact division is slow, so each pair is divided once.
    """
    times: dict[Fraction, dict[Fraction, Fraction]] = {}
    for group in classes:
        if group.seconds not in times:
            times[group.seconds] = {speed: group.seconds / speed for speed in speeds}
    return times


def _reading_classes(
    classes: Sequence[TaskClass], num_files: int
) -> tuple[tuple[int, ...], ...]:
    """Return, for each file, the classes that read it."""
    readers: list[list[int]] = [[] for _ in range(num_files)]
    for k, group in enumerate(classes):
        for file in group.inputs:
            readers[file].append(k)
    return tuple(tuple(found) for found in readers)


def _held_files(
    problem: ReplicationProblem, index: Mapping[int, int]
) -> tuple[frozenset[int], ...]:
    """Return, for each node, the files that it holds and some task reads, by model
    index.
    """
    held = []
    for files in problem.holds:
        held.append(frozenset(index[file] for file in files if file in index))
    return tuple(held)


def _room(
    problem: ReplicationProblem, index: Mapping[int, int]
) -> tuple[int | None, ...]:
    """Return, for each node, the bytes of its disk without held files that nobody
    reads.

    None means unlimited.
    """
    room: list[int | None] = []
    for node, files in zip(problem.nodes, problem.holds, strict=True):
        if node.disk_bytes is None:
            room.append(None)
            continue
        unread = sum(problem.files[file].bytes for file in files if file not in index)
        room.append(node.disk_bytes - unread)
    return tuple(room)


def _classes(
    problem: ReplicationProblem, index: dict[int, int], merge: bool
) -> tuple[TaskClass, ...]:
    """Return the classes of equal tasks; without *merge*, one class for each task."""
    groups: dict[object, list[int]] = {}
    for task, files in enumerate(problem.inputs):
        key: object = task
        if merge:
            key = frozenset(files), problem.tasks[task].compute_seconds
        groups.setdefault(key, []).append(task)
    classes = []
    for tasks in groups.values():
        first = tasks[0]
        inputs = sorted(index[file] for file in problem.inputs[first])
        seconds = exact(problem.tasks[first].compute_seconds)
        classes.append(TaskClass(tuple(tasks), tuple(inputs), seconds))
    return tuple(classes)


def _unit(
    transfers: Sequence[Fraction],
    work: Mapping[Fraction, Mapping[Fraction, Fraction]],
    total: Fraction,
) -> tuple[Fraction, bool]:
    """Return the unit in seconds, and whether all times are whole multiples of it.

    It is the largest number that divides every time. If sums of such units would be too
    large, return a decimal unit, which does not divide all times.
    """
    times = {*transfers}
    for row in work.values():
        times.update(row.values())
    times.discard(Fraction(0))
    if not times:
        return Fraction(1, 1000), True
    bottom = math.lcm(*(time.denominator for time in times))
    top = math.gcd(*(time.numerator * (bottom // time.denominator) for time in times))
    unit = Fraction(top, bottom)
    if total / unit <= MOST_UNITS:
        return unit, True
    digits = math.floor(math.log10(MOST_UNITS / total))
    if digits >= 0:
        return Fraction(1, 10**digits), False
    return Fraction(10**-digits), False


def tidied(instance: StaticInstance, moves: Moves) -> Moves:
    """Return *moves* sorted and without unnecessary transfers.

    The last fetch of a file is never removed, because of (8).
    """
    read = read_pairs(instance, moves.assign)
    remote = set(moves.remote)
    copies = set(moves.copies)
    while True:
        needed = read | {(file, source) for file, source, _ in copies}
        idle_far = _surplus(instance, remote, needed)
        idle_near = {move for move in copies if (move[0], move[2]) not in needed}
        if not idle_far and not idle_near:
            return Moves(moves.assign, tuple(sorted(remote)), tuple(sorted(copies)))
        remote -= idle_far
        copies -= idle_near


def read_pairs(instance: StaticInstance, assign: Sequence[int]) -> set[tuple[int, int]]:
    """Return (file, node) for all files that tasks read on their nodes.

    *assign* is the node of each task.
    """
    pairs = set()
    for node, k in zip(assign, instance.class_of, strict=True):
        for file in instance.classes[k].inputs:
            pairs.add((file, node))
    return pairs


def _surplus(
    instance: StaticInstance, remote: set[tuple[int, int]], needed: set[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Return the fetches that can be removed: those not in *needed*.

    Of a file that has no needed fetch and no holder, the fetch to the first node is
    kept.
    """
    idle = remote - needed
    served = {file for file, _ in remote & needed}
    for held in instance.held:
        served |= held
    spared: dict[int, int] = {}
    for file, node in sorted(idle):
        if file not in served:
            spared.setdefault(file, node)
    return idle - set(spared.items())


def loads(instance: StaticInstance, moves: Moves) -> list[int]:
    """Return, for each node i, Exec_i of (12): its time for transfers and computing, in
    units.
    """
    total = [0] * instance.num_nodes
    for file, node in moves.remote:
        total[node] += instance.far[file]
    for file, source, target in moves.copies:
        total[source] += instance.near[file]
        total[target] += instance.near[file]
    for node, k in zip(moves.assign, instance.class_of, strict=True):
        total[node] += instance.work[k][node]
    return total


def fits(instance: StaticInstance, moves: Moves) -> bool:
    """Return whether the files that arrive with *moves* fit on every disk (21)."""
    if all(room is None for room in instance.room):
        return True
    arriving = set(moves.remote)
    arriving.update((file, target) for file, _, target in moves.copies)
    used = [sum(instance.sizes[file] for file in held) for held in instance.held]
    for file, node in arriving:
        used[node] += instance.sizes[file]
    for room, amount in zip(instance.room, used, strict=True):
        if room is not None and amount > room:
            return False
    return True


def is_feasible(instance: StaticInstance, moves: Moves, cycles: Cycles) -> bool:
    """Return whether *moves* satisfy (1)-(8) and (21), and bring no file to a node that
    holds it.

    With *cycles* ``acyclic``, copies must also descend from fetches or held files.
    """
    held = _held_pairs(instance)
    copied = [(file, target) for file, _, target in moves.copies]
    arrivals = [*moves.remote, *copied]
    here = held.union(arrivals)
    read = read_pairs(instance, moves.assign)
    rooted = {file for file, _ in held.union(moves.remote)}
    # (3), (5) and (6): a file arrives once.
    if len(set(arrivals)) < len(arrivals) or not held.isdisjoint(arrivals):
        return False
    # (2), and (7) with (8).
    if not read.issuperset(copied) or not here.issuperset(read):
        return False
    if not rooted.issuperset(file for file, _ in read):
        return False
    for file, source, target in moves.copies:  # (1)
        if source == target or (file, source) not in here:
            return False
    if cycles == "acyclic" and copied_in_cycles(instance, moves):
        return False
    return fits(instance, moves)


def copied_in_cycles(instance: StaticInstance, moves: Moves) -> list[int]:
    """Return the files with a copy that descends from no fetch and no held file, in
    order.
    """
    arrived = _held_pairs(instance).union(moves.remote)
    while True:
        new = set()
        for file, source, target in moves.copies:
            if (file, source) in arrived and (file, target) not in arrived:
                new.add((file, target))
        if not new:
            break
        arrived |= new
    return sorted(
        {file for file, _, target in moves.copies if (file, target) not in arrived}
    )


def _held_pairs(instance: StaticInstance) -> set[tuple[int, int]]:
    """Return (file, node) for all files that nodes hold from the start."""
    return {(file, node) for node, held in enumerate(instance.held) for file in held}


def enough_disk(instance: StaticInstance) -> bool:
    """Return whether all disks together have room for every file once.

    If not, no plan of one round exists.
    """
    rooms = [room for room in instance.room if room is not None]
    if len(rooms) < len(instance.room):
        return True
    wanted = set(range(instance.num_files))
    used = 0
    for files in instance.held:
        used += sum(instance.sizes[file] for file in files)
        wanted -= files
    return used + sum(instance.sizes[file] for file in wanted) <= sum(rooms)


def queue_order(instance: StaticInstance, tasks: Iterable[int]) -> list[int]:
    """Return *tasks*, all of one node, in a good order of execution.

    The next task is always the one whose inputs lack the fewest bytes on the node.
    """
    problem = instance.problem
    missing = {task: problem.task_bytes(task) for task in tasks}
    heap = [(size, task) for task, size in missing.items()]
    heapq.heapify(heap)
    here: set[int] = set()
    order: list[int] = []
    while heap:
        size, task = heapq.heappop(heap)
        if missing.get(task) != size:
            continue
        del missing[task]
        order.append(task)
        for file in problem.inputs[task]:
            if file in here:
                continue
            here.add(file)
            for reader in problem.readers[file]:
                if reader in missing and problem.files[file].bytes:
                    missing[reader] -= problem.files[file].bytes
                    heapq.heappush(heap, (missing[reader], reader))
    return order


def to_plan(
    instance: StaticInstance, moves: Moves, printed: bool = False
) -> ReplicationPlan:
    """Return the plan of a static solution.

    With *printed* its copies may form a cycle.
    """
    problem = instance.problem
    tasks = [task.id for task in problem.tasks]
    nodes = [node.id for node in problem.nodes]
    files = [problem.files[file].id for file in instance.files]
    queues: list[list[int]] = [[] for _ in nodes]
    for task, node in enumerate(moves.assign):
        queues[node].append(task)
    order = {}
    for name, queue in zip(nodes, queues, strict=True):
        order[name] = tuple(tasks[k] for k in queue_order(instance, queue))
    return ReplicationPlan(
        assign={tasks[k]: nodes[node] for k, node in enumerate(moves.assign)},
        order=order,
        remote=tuple((files[file], nodes[node]) for file, node in moves.remote),
        copies=tuple((files[file], nodes[i], nodes[j]) for file, i, j in moves.copies),
        moves="printed" if printed else "static",
    )


def from_plan(instance: StaticInstance, plan: ReplicationPlan) -> Moves | None:
    """Return the moves of *plan*, for a warm start; None if the plan omits a task.

    Moves of unknown files and nodes are left out.
    """
    problem = instance.problem
    files = {problem.files[file].id: k for k, file in enumerate(instance.files)}
    nodes = problem.node_index
    node_of: dict[str, str] = dict(plan.assign)
    for node_id, queue in plan.order.items():
        for entry in queue:
            if isinstance(entry, str):
                node_of[entry] = node_id
    assign = []
    for task in problem.tasks:
        node = nodes.get(node_of.get(task.id, ""))
        if node is None:
            return None
        assign.append(node)
    remote = set()
    for file, target in plan.remote:
        if file in files and target in nodes:
            remote.add((files[file], nodes[target]))
    copies = set()
    for file, source, target in plan.copies:
        if file in files and source in nodes and target in nodes:
            copies.add((files[file], nodes[source], nodes[target]))
    return Moves(tuple(assign), tuple(sorted(remote)), tuple(sorted(copies)))


def roomy(instance: StaticInstance) -> bool:
    """Return whether every disk can hold all files at once.

    Then eviction cannot improve a plan.
    """
    total = sum(instance.sizes)
    return all(room is None or room >= total for room in instance.room)


def relays_matter(instance: StaticInstance) -> bool:
    """Return whether a node may gain by receiving a copy only to send it on.

    Equation (2) forbids such a relay, but the copies of a plan may use one. A relay
    that sends on a single copy is worse than the direct copy. So a useful relay needs a
    sender, the relay and two receivers: four nodes.
    """
    return instance.num_nodes > 3


def past_relays(instance: StaticInstance, moves: Moves) -> Moves:
    """Return *moves* without relays, so that they satisfy (2).

    The sender of a relay sends directly to the relay's receivers instead.
    """
    read = read_pairs(instance, moves.assign)
    copies = set(moves.copies)
    while True:
        relays = {move for move in copies if (move[0], move[2]) not in read}
        if not relays:
            return Moves(moves.assign, moves.remote, tuple(sorted(copies)))
        file, source, relay = min(relays)
        onward = {move for move in copies if move[:2] == (file, relay)}
        copies -= onward | {(file, source, relay)}
        copies |= {(file, source, target) for *_, target in onward}
