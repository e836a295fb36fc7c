"""Bound the batch time (13) of the static model from below (ours).

See docs/replication-models.md, Bounds. Bounds are in the time units of
:class:`ioopt.models.replication.static.StaticInstance` unless a name says seconds.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ioopt.models.program import Number, Program
from ioopt.models.replication.static import (
    Cycles,
    Moves,
    StaticInstance,
    read_pairs,
    reduce,
)
from ioopt.problems.base import once_a_problem
from ioopt.problems.replication import ReplicationProblem


def area(instance: StaticInstance) -> Fraction:
    """Return the area bound: the mean over the nodes of the time that they must be
    busy.

    This is the time to fetch every file once plus the computing of all tasks on the
    fastest node, divided by the number of nodes. Files that a node holds from the start
    cost nothing.
    """
    free = held_files(instance)
    total = sum(cost for file, cost in enumerate(instance.far) if file not in free)
    for group, least in zip(instance.classes, instance.least_work, strict=True):
        total += group.count * least
    return Fraction(total, instance.num_nodes)


def held_files(instance: StaticInstance) -> set[int]:
    """Return the files, by model index, that some node holds from the start."""
    free: set[int] = set()
    for files in instance.held:
        free |= files
    return free


def area_seconds(problem: ReplicationProblem) -> float:
    """Return the area bound in seconds, slightly lowered for rounding.

    The bound is valid for plans in rounds too, because they fetch no less.
    """
    held = frozenset().union(*problem.holds)
    wanted = sum(
        file.bytes
        for f, file in enumerate(problem.files)
        if problem.readers[f] and f not in held
    )
    fastest = max(node.speed for node in problem.nodes)
    compute = math.fsum(task.compute_seconds for task in problem.tasks) / fastest
    seconds = (wanted * problem.remote_seconds_per_byte + compute) / len(problem.nodes)
    return seconds * (1 - 1e-12)


def largest_task(instance: StaticInstance) -> int:
    """Return the largest time that a single task costs its node at least.

    The time is that of its files, each by the faster kind of transfer, plus its
    computing.
    """
    cheap = [min(pair) for pair in zip(instance.far, instance.near, strict=True)]
    most = 0
    for group, work in zip(instance.classes, instance.work, strict=True):
        costs = []
        for seconds, held in zip(work, instance.held, strict=True):
            files = [cheap[file] for file in group.inputs if file not in held]
            costs.append(sum(files) + seconds)
        most = max(most, min(costs))
    return most


@once_a_problem
def quick(problem: ReplicationProblem) -> float:
    """Return a lower bound of the batch time (13) in seconds, computed in linear time.

    It is the larger of the area bound and of the largest task.
    """
    instance = reduce(problem)
    return instance.seconds(max(math.ceil(area(instance)), largest_task(instance)))


def file_weights(
    instance: StaticInstance, cycles: Cycles, replication: bool
) -> list[Fraction]:
    """Return, for each file, the least cost to a node that fetches it.

    This node also reads the file, or sends it to another node; the cost includes the
    sending or a part of the reader's computing. The cost of a held file is 0.
    """
    free = held_files(instance)
    weights = []
    for file, cost in enumerate(instance.far):
        if file in free:
            weights.append(Fraction(0))
            continue
        share = min(_share(instance, k, file, free) for k in instance.readers[file])
        if not replication:
            extra = share
        elif cycles == "printed":
            extra = Fraction(0)
        else:
            extra = min(Fraction(instance.near[file]), share)
        weights.append(cost + extra)
    return weights


def _share(
    instance: StaticInstance, task_class: int, file: int, free: set[int]
) -> Fraction:
    """Return the part of a task's least computing that counts for *file*.

    The computing is divided among the inputs that no node holds, in proportion to
    bytes.
    """
    inputs = instance.classes[task_class].inputs
    total = sum(instance.sizes[other] for other in inputs if other not in free)
    part = Fraction(instance.sizes[file], total) if total else Fraction(0)
    return instance.least_work[task_class] * part


def partition_model(
    weights: list[Fraction], num_nodes: int, floor: int, most: int = 4_000
) -> Program | None:
    """Return the program of the scheduling problem P||Cmax: assign *weights* to equal
    nodes.

    The largest load of a node, the span, is to be minimised, and is at least *floor*.
    Weights are rounded down, and equal weights become a count. Return None if the
    program would exceed *most* pairs of a weight and a node.
    """
    counts = Counter(int(weight) for weight in weights if weight >= 1)
    if not counts or len(counts) * num_nodes > most:
        return None
    program = Program("partition")
    total = sum(weight * count for weight, count in counts.items())
    span = program.whole("span", max(floor, -(-total // num_nodes)), max(floor, total))
    program.objective[span] = 1
    kinds = sorted(counts, reverse=True)
    before = None
    place: list[list[int]] = [[] for _ in kinds]
    for node in range(num_nodes):
        for w, weight in enumerate(kinds):
            place[w].append(program.whole(f"n_{w}_{node}", 0, counts[weight]))
        terms = [(place[w][node], -weight) for w, weight in enumerate(kinds)]
        load = program.whole(f"load_{node}", 0, max(floor, total))
        program.add(f"sum_{node}", [(load, 1), *terms], 0, 0)
        program.add(f"span_{node}", [(load, 1), (span, -1)], most=0)
        if before is not None:
            program.add(f"order_{node}", [(load, 1), (before, -1)], most=0)
        before = load
    for w, weight in enumerate(kinds):
        program.add(
            f"all_{w}", [(at, 1) for at in place[w]], counts[weight], counts[weight]
        )
    return program


def packing_model(instance: StaticInstance, most: int = 4_000) -> Program | None:
    """Return the program that asks only whether the files fit the disks: each class of
    tasks has a node, and all files that it reads are on this node's disk.

    Return None if the program would exceed *most* pairs of a file or a class and a
    node, or if every file fits every disk together with all others.
    """
    num_nodes, rooms = instance.num_nodes, instance.room
    if all(room is None or sum(instance.sizes) <= room for room in rooms):
        return None
    if (instance.num_files + len(instance.classes)) * num_nodes > most:
        return None
    program = Program("packing")
    runs: list[list[int]] = [[] for _ in instance.classes]
    for i, room in enumerate(rooms):
        there = [program.binary(f"X_{l}_{i}") for l in range(instance.num_files)]
        for l in sorted(instance.held[i]):
            program.add(f"held_{l}_{i}", [(there[l], 1)], least=1)
        for k, tasks in enumerate(instance.classes):
            runs[k].append(program.binary(f"T_{k}_{i}"))
            for l in tasks.inputs:
                program.add(f"in_{k}_{l}_{i}", [(there[l], 1), (runs[k][i], -1)], 0)
        if room is not None:
            sizes = [(there[l], size) for l, size in enumerate(instance.sizes)]
            program.add(f"disk_{i}", sizes, most=room)
    for k, places in enumerate(runs):
        program.add(f"some_{k}", [(at, 1) for at in places], least=1)
    return program


class NodeCut:
    """Bound the batch time by what the files that a node shares cost that node.

    ``program`` chooses the tasks T_k of one node and, for each file l, whether the node
    fetches it (r_l), touches it (b_l: it fetches or reads it), and is the only one to
    touch it (a_l). A file with b_l - a_l = 1 is shared, and ``price[l]`` is the least
    that it costs each node that touches it. The cut of a node is the sum of the prices
    of its shared files. The program minimises it, minus ``multipliers[k]`` for each
    task of class k, both in units divided by ``SCALE``.

    The bound holds for every plan with loads of at most *upper* units. Proof: (a) Let p
    nodes touch a shared file and m >= 1 of them fetch it; each of the others receives a
    copy, which takes ``near`` from two nodes, so beyond one fetch all nodes together
    spend (m - 1) far + 2 (p - m) near >= 2 (p - 1) price >= p price, and the sum of all
    loads is at least ``total`` plus the cuts of all nodes. (b) Each task runs on one
    node, so the cuts of all nodes are the sum of their objectives plus the multipliers
    of all tasks, whatever these are. (c) Every node satisfies the rows, hence each
    objective is at least the minimum of the program, and the largest load is at least
    the mean one.

    Held files are free, all nodes have the largest speed, and disks have room for
    everything. Plans in rounds are covered too: if each node keeps its first copy of
    every file, no load grows.
    """

    SCALE = 100

    def __init__(
        self, instance: StaticInstance, upper: int, replication: bool = True
    ) -> None:
        self.instance = instance
        self.program = Program("node_cut")
        free = held_files(instance)
        self._files = [file for file in range(instance.num_files) if file not in free]
        self.price = [0] * instance.num_files
        for file in self._files:
            self.price[file] = instance.far[file] // 2
            if replication:
                self.price[file] = min(self.price[file], instance.near[file])
        self.total = int(area(instance) * instance.num_nodes)
        self.multipliers = [0] * len(instance.classes)
        self._tasks: list[int] = []
        for k, group in enumerate(instance.classes):
            self._tasks.append(self.program.whole(f"T_{k}", 0, group.count))
        self._alone: dict[int, int] = {}
        self._fetched: dict[int, int] = {}
        self._touched: dict[int, int] = {}
        for file in self._files:
            self._add_file(file, replication)
        self._limit_loads(upper, replication)
        self._target_row = len(self.program.rows)
        self.program.add("target", ())

    def _add_file(self, file: int, replication: bool) -> None:
        """Add the variables of *file*, and say what they mean for its readers."""
        program = self.program
        alone = self._alone[file] = program.binary(f"a_{file}")
        fetched = self._fetched[file] = program.binary(f"r_{file}")
        touched = self._touched[file] = program.binary(f"b_{file}")
        program.add(f"alone_{file}", [(alone, 1), (fetched, -1)], most=0)
        program.add(f"fetched_{file}", [(fetched, 1), (touched, -1)], most=0)
        if not replication:
            program.add(f"no_copy_{file}", [(touched, 1), (fetched, -1)], most=0)
        for k in self.instance.readers[file]:
            tasks = self._tasks[k]
            count = self.instance.classes[k].count
            program.add(f"all_{k}_{file}", [(alone, count), (tasks, -1)], most=0)
            program.add(f"some_{k}_{file}", [(tasks, 1), (touched, -count)], most=0)

    def _limit_loads(self, upper: int, replication: bool) -> None:
        """Limit the load of the node to *upper*, and that of the others together.

        A file that the node touches without fetching it is received, which another node
        sends. A shared file that the node fetched is received or fetched by another.
        """
        far = self.instance.far
        near = self.instance.near if replication else far
        size: Counter[int] = Counter()
        for tasks, work in zip(self._tasks, self.instance.least_work, strict=True):
            size[tasks] = work
        received: Counter[int] = Counter()
        shared: Counter[int] = Counter()
        for file in self._files:
            size[self._fetched[file]] = far[file]
            received[self._touched[file]] = near[file]
            received[self._fetched[file]] = -near[file]
            least = min(far[file], near[file])
            shared[self._fetched[file]] = least
            shared[self._alone[file]] = -least
        own = size.copy()
        own.update(received)
        self.program.add("node", list(own.items()), most=upper)
        others = shared.copy()
        others.update(received)
        others.subtract(size)
        most = (self.instance.num_nodes - 1) * upper - self.total
        self.program.add("others", list(others.items()), most=most)

    def least_load(self, objective: int) -> int:
        """Return the bound, in units, if no node has an objective below *objective*."""
        scaled = self.instance.num_nodes * objective + self._sum_of_multipliers()
        mean = Fraction(scaled, self.SCALE) + self.total
        return math.ceil(mean / self.instance.num_nodes)

    def ask(self, cut: float) -> int:
        """Let the program look for a node whose objective is at most that of nodes with
        cuts of *cut* units on average; return this objective.
        """
        mean = Fraction(self._sum_of_multipliers(), self.instance.num_nodes)
        most = math.floor(self.SCALE * Fraction(cut) - mean)
        self.program.objective.clear()
        for file in self._files:
            price = self.SCALE * self.price[file]
            self.program.objective[self._touched[file]] = price
            self.program.objective[self._alone[file]] = -price
        for tasks, multiplier in zip(self._tasks, self.multipliers, strict=True):
            self.program.objective[tasks] = -multiplier
        terms = list(self.program.objective.items())
        self.program.add("target", terms, most=most)
        self.program.rows[self._target_row] = self.program.rows.pop()
        return most

    def _sum_of_multipliers(self) -> int:
        """Return the sum of the multipliers of all tasks."""
        groups = zip(self.multipliers, self.instance.classes, strict=True)
        return sum(multiplier * group.count for multiplier, group in groups)

    def cuts(self, moves: Moves) -> list[int]:
        """Return the cut of each node of a plan, in units."""
        touching = read_pairs(self.instance, moves.assign) | set(moves.remote)
        nodes = Counter(file for file, _ in touching)
        found = [0] * self.instance.num_nodes
        for file, node in touching:
            if nodes[file] > 1:
                found[node] += self.price[file]
        return found

    def even_out(self, moves: Moves) -> None:
        """Choose the multipliers so that all nodes of a plan have about the same
        objective.

        A node whose cut is above the mean gets the difference from its tasks.
        """
        cuts = self.cuts(moves)
        mean = sum(cuts) / len(cuts)
        tasks = Counter(moves.assign)
        wanted = [0.0] * len(self.multipliers)
        for task, node in enumerate(moves.assign):
            wanted[self.instance.class_of[task]] += (cuts[node] - mean) / tasks[node]
        for k, group in enumerate(self.instance.classes):
            self.multipliers[k] = round(self.SCALE * wanted[k] / group.count)

    def avoid(
        self, values: Mapping[int, Number] | Sequence[Number], cut: float
    ) -> None:
        """Change the multipliers so that the node in *values* gets a larger objective.

        This is a step of the subgradient method, half of the way to an average cut of
        *cut* units.
        """
        nodes = self.instance.num_nodes
        slopes = []
        for tasks, group in zip(self._tasks, self.instance.classes, strict=True):
            slopes.append(group.count - nodes * round(values[tasks]))
        reached = nodes * self.program.value(values) + self._sum_of_multipliers()
        missing = self.SCALE * nodes * cut - reached
        step = 0.5 * missing / max(1, sum(slope * slope for slope in slopes))
        for k, slope in enumerate(slopes):
            self.multipliers[k] += round(step * slope)
