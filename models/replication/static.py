"""The static replication problem as the models see it: files that are read,
tasks merged, integers.

Times are whole multiples of one ``unit``, chosen so that nothing is rounded where
that is possible; otherwise they are rounded down, so that a bound of the integer
problem stays a bound.
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
"""Whether copies descend from a fetch, or may run in a cycle (rule 3)."""
MOST_UNITS = 1 << 46
"""No sum of times may exceed this many units (CP-SAT needs room
for sums and products).
"""


@dataclass(frozen=True)
class TaskClass:
    """Tasks that are alike: positions of the tasks, their files (by model
    index), seconds at speed 1.
    """

    tasks: tuple[int, ...]
    inputs: tuple[int, ...]
    seconds: Fraction

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return len(self.tasks)


@dataclass(frozen=True)
class StaticInstance:
    """A replication problem reduced to what the static model needs.

    ``files[l]`` is the position of file l in the problem, ``sizes`` bytes,
    ``readers[l]`` the classes that read it; ``held[i]`` files on node i from the start;
    ``room[i]`` bytes left on the disk beside held files that nobody reads (None:
    unlimited). In units of ``unit`` seconds: ``far[l]`` = t_rem x size, ``near[l]`` =
    t_rep x size, ``work[k][i]`` = compute of one task of class k on node i. ``exact``
    says that none of them was rounded.
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
        """C."""
        return len(self.room)

    @property
    def num_files(self) -> int:
        """L, files that nobody reads not counted."""
        return len(self.files)

    @cached_property
    def least_work(self) -> tuple[int, ...]:
        """Per class, the compute time of a task on the fastest node."""
        return tuple(min(row) for row in self.work)

    @cached_property
    def class_of(self) -> list[int]:
        """By task, the position of its class."""
        pairs = sorted(
            (task, k) for k, group in enumerate(self.classes) for task in group.tasks
        )
        return [k for _, k in pairs]

    def holders(self, file: int) -> list[int]:
        """Nodes that hold file *file* (model index) from the start."""
        return [node for node in range(self.num_nodes) if file in self.held[node]]

    def seconds(self, units: float) -> float:
        """Units as seconds, rounded once."""
        return float(Fraction(units) * self.unit)

    def lift(self, seconds: float) -> float:
        """The least multiple of the unit that a lower bound of
        *seconds* proves, when exact.

        A slack of 1e-9 relative (or a millionth of a unit) absorbs
        the backend's rounding.
        """
        if not self.exact:
            return seconds
        units = seconds / float(self.unit)
        return self.seconds(math.ceil(units - max(1e-6, 1e-9 * abs(units))))


@dataclass(frozen=True)
class Moves:
    """A solution of the static model by positions.

    ``assign`` node of each task; ``remote`` (file, node) and ``copies`` (file, source,
    destination) with files by model index.
    """

    assign: tuple[int, ...]
    remote: tuple[tuple[int, int], ...]
    copies: tuple[tuple[int, int, int], ...]


def reduce(problem: ReplicationProblem, merge: bool = True) -> StaticInstance:
    """The static instance of *problem*; with ``merge`` equal tasks become
    one class with a count.
    """
    problem.require_batch("the static model")
    kept = tuple(file for file, readers in enumerate(problem.readers) if readers)
    index = {file: l for l, file in enumerate(kept)}
    classes = _classes(problem, index, merge)
    readers: list[list[int]] = [[] for _ in kept]
    for k, group in enumerate(classes):
        for file in group.inputs:
            readers[file].append(k)
    room: list[int | None] = []
    for node, files in zip(problem.nodes, problem.holds, strict=True):
        dead = sum(problem.files[file].bytes for file in files if file not in index)
        room.append(None if node.disk_bytes is None else node.disk_bytes - dead)
    sizes = tuple(problem.files[file].bytes for file in kept)
    far = [size / exact(problem.network.remote_bytes_per_second) for size in sizes]
    near = [size / exact(problem.copy_bytes_per_second) for size in sizes]
    speeds = [exact(node.speed) for node in problem.nodes]
    # Few compute times and speeds differ, and exact division is slow:
    # once for each pair.
    rows = {
        seconds: {speed: seconds / speed for speed in set(speeds)}
        for seconds in {group.seconds for group in classes}
    }
    total = sum(group.count * max(rows[group.seconds].values()) for group in classes)
    unit, is_exact = _unit(
        [*far, *near], rows, Fraction(total + len(speeds) * (sum(far) + 2 * sum(near)))
    )
    units = {
        seconds: {speed: math.floor(time / unit) for speed, time in row.items()}
        for seconds, row in rows.items()
    }
    work = {
        seconds: tuple(row[speed] for speed in speeds) for seconds, row in units.items()
    }
    return StaticInstance(
        problem,
        kept,
        sizes,
        tuple(tuple(r) for r in readers),
        tuple(
            frozenset(index[f] for f in files if f in index) for files in problem.holds
        ),
        tuple(room),
        classes,
        unit,
        is_exact,
        tuple(math.floor(t / unit) for t in far),
        tuple(math.floor(t / unit) for t in near),
        tuple(work[group.seconds] for group in classes),
    )


def _classes(
    problem: ReplicationProblem, index: dict[int, int], merge: bool
) -> tuple[TaskClass, ...]:
    groups: dict[object, list[int]] = {}
    for task, files in enumerate(problem.inputs):
        alike = (frozenset(files), problem.tasks[task].compute_seconds)
        groups.setdefault(alike if merge else task, []).append(task)
    return tuple(
        TaskClass(
            tuple(tasks),
            tuple(sorted(index[file] for file in problem.inputs[tasks[0]])),
            exact(problem.tasks[tasks[0]].compute_seconds),
        )
        for tasks in groups.values()
    )


def _unit(
    transfers: Sequence[Fraction],
    work: Mapping[Fraction, Mapping[Fraction, Fraction]],
    total: Fraction,
) -> tuple[Fraction, bool]:
    """The largest unit of which every time is a multiple; a rounder one
    where sums get too large.
    """
    times = {
        t
        for t in (*transfers, *(t for row in work.values() for t in row.values()))
        if t
    }
    if not times:
        return Fraction(1, 1000), True
    bottom = math.lcm(*(t.denominator for t in times))
    top = math.gcd(*(t.numerator * (bottom // t.denominator) for t in times))
    unit = Fraction(top, bottom)
    if total / unit <= MOST_UNITS:
        return unit, True
    digits = math.floor(math.log10(MOST_UNITS / total))
    return Fraction(1, 10**digits) if digits >= 0 else Fraction(10**-digits), False


def tidied(instance: StaticInstance, moves: Moves) -> Moves:
    """*moves* without transfers that serve nothing, in order; the last fetch
    of a file stays (8).
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
    """(file, node) of all that is read when task k is on node ``assign[k]``."""
    rows = zip(assign, instance.class_of, strict=True)
    return {(file, node) for node, k in rows for file in instance.classes[k].inputs}


def _surplus(
    instance: StaticInstance, remote: set[tuple[int, int]], needed: set[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Fetches that nothing needs, one of each file spared when no other
    fetch or holder is left.
    """
    idle = remote - needed
    served = {file for file, _ in remote & needed} | {
        f for files in instance.held for f in files
    }
    spared = {
        min(move for move in idle if move[0] == f)
        for f in {f for f, _ in idle} - served
    }
    return idle - spared


def loads(instance: StaticInstance, moves: Moves) -> list[int]:
    """Exec_i of (12) per node in units."""
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
    """Whether *moves* keep every disk (21)."""
    if all(room is None for room in instance.room):
        return True
    there = {*moves.remote, *((file, target) for file, _, target in moves.copies)}
    used = [sum(instance.sizes[file] for file in held) for held in instance.held]
    for file, node in there:
        used[node] += instance.sizes[file]
    return all(
        room is None or amount <= room
        for room, amount in zip(instance.room, used, strict=True)
    )


def enough_disk(instance: StaticInstance) -> bool:
    """Whether all disks together hold every file once; False proves that
    one round cannot do.
    """
    if any(room is None for room in instance.room):
        return True
    held = sum(instance.sizes[f] for files in instance.held for f in files)
    anywhere = set().union(*instance.held) if instance.held else set()
    wanted = sum(
        size for file, size in enumerate(instance.sizes) if file not in anywhere
    )
    return held + wanted <= sum(room for room in instance.room if room is not None)


def queue_order(instance: StaticInstance, tasks: Iterable[int]) -> list[int]:
    """A sequence for the tasks of one node: always the one with the least
    bytes not there yet.
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
    """The plan of a static solution; ``printed`` holds it to the
    rules that allow cycles.
    """
    problem = instance.problem
    nodes = [node.id for node in problem.nodes]
    ids = [problem.files[file].id for file in instance.files]
    queues: list[list[int]] = [[] for _ in nodes]
    for task, node in enumerate(moves.assign):
        queues[node].append(task)
    return ReplicationPlan(
        assign={
            problem.tasks[k].id: nodes[node] for k, node in enumerate(moves.assign)
        },
        order={
            nodes[i]: tuple(problem.tasks[k].id for k in queue_order(instance, queue))
            for i, queue in enumerate(queues)
        },
        remote=tuple((ids[file], nodes[node]) for file, node in moves.remote),
        copies=tuple((ids[file], nodes[i], nodes[j]) for file, i, j in moves.copies),
        moves="printed" if printed else "static",
    )


def from_plan(instance: StaticInstance, plan: ReplicationPlan) -> Moves | None:
    """The moves that *plan* states, for warm starts; None when it leaves tasks out."""
    problem = instance.problem
    index = {problem.files[file].id: k for k, file in enumerate(instance.files)}
    node_of: dict[str, str] = dict(plan.assign)
    for node_id, queue in plan.order.items():
        node_of.update({entry: node_id for entry in queue if isinstance(entry, str)})
    assign = [
        problem.node_index.get(node_of.get(task.id, "")) for task in problem.tasks
    ]
    known = [node for node in assign if node is not None]
    if len(known) != len(assign):
        return None
    nodes = problem.node_index
    remote = {(index[f], nodes[i]) for f, i in plan.remote if f in index and i in nodes}
    copies = {
        (index[f], nodes[i], nodes[j])
        for f, i, j in plan.copies
        if f in index and i in nodes and j in nodes
    }
    return Moves(tuple(known), tuple(sorted(remote)), tuple(sorted(copies)))


def roomy(instance: StaticInstance) -> bool:
    """Whether every disk takes all files at once, so that no plan is the
    better for evicting one.
    """
    total = sum(instance.sizes)
    return all(room is None or room >= total for room in instance.room)


def relays_matter(instance: StaticInstance) -> bool:
    """Whether a node may gain by passing on a copy that it does not
    read, which (2) forbids.

    Copy entries ask for such copies. One that is passed on once is saved by sending
    past the node, so there must be a sender, the node and two receivers.
    """
    return instance.num_nodes > 3


def past_relays(instance: StaticInstance, moves: Moves) -> Moves:
    """*moves* in which senders send past the nodes that get a copy and do not
    read it, as (2) asks.
    """
    read = read_pairs(instance, moves.assign)
    copies = set(moves.copies)
    while relays := {move for move in copies if (move[0], move[2]) not in read}:
        file, source, relay = min(relays)
        onward = {move for move in copies if move[:2] == (file, relay)}
        copies -= onward | {(file, source, relay)}
        copies |= {(file, source, target) for *_, target in onward}
    return Moves(moves.assign, moves.remote, tuple(sorted(copies)))
