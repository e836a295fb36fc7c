"""Bound the batch time (13) of the static model from below (ours).

See docs/replication-models.md, Bounds. Bounds are in the time units of
:class:`ioopt.models.replication.static.StaticInstance` unless a name says seconds.
"""

import math
from collections import Counter
from fractions import Fraction

from ioopt.models.program import Program
from ioopt.models.replication.static import Cycles, StaticInstance, reduce
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
