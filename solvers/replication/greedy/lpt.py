"""Longest processing time first for tasks that read one file at most (PPA of Khanna et al., Section 5.1).

Tasks of a file form a group; groups go, longest first, to the node where they end first (Graham,
1969). The tail is then evened out between the fullest and the emptiest node (rule 4). Ours.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ioopt.errors import NotApplicableError
from ioopt.models.replication.bounds import area, file_weights
from ioopt.models.replication.static import reduce
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.solvers.replication.plans import Move, build_plan, require_batch

MAX_STEPS = 1000


@dataclass
class _Group:
    """Tasks of one file on one node, longest first; ``split`` once a part has left or arrived."""

    file: int | None
    tasks: list[int]
    source: int | None = None
    split: bool = False


class _Step(NamedTuple):
    """Worse of the two loads afterwards; the group; its partner; how many tasks leave with a copy."""

    worse: float
    group: _Group
    partner: _Group | None
    leaving: int


class _State:
    """Groups and additive seconds of every node."""

    def __init__(self, problem: ReplicationProblem) -> None:
        self.problem = problem
        self.groups: list[list[_Group]] = [[] for _ in problem.nodes]
        self.load = [0.0] * len(problem.nodes)

    def compute(self, tasks: list[int], node: int) -> float:
        seconds = sum(self.problem.tasks[task].compute_seconds for task in tasks)
        return seconds / self.problem.nodes[node].speed

    def cost(self, group: _Group, node: int) -> float:
        """Seconds that *group* adds to *node*; infinite where its file does not fit the disk."""
        seconds = self.compute(group.tasks, node)
        if group.file is None or group.file in self.problem.holds[node]:
            return seconds
        size, disk = self.problem.files[group.file].bytes, self.problem.nodes[node].disk_bytes
        if disk is not None and size > disk:
            return float("inf")
        return seconds + size * self.problem.remote_seconds_per_byte

    def put(self, group: _Group, node: int) -> None:
        self.groups[node].append(group)
        self.load[node] += self.cost(group, node)

    def take(self, group: _Group, node: int) -> None:
        self.groups[node].remove(group)
        self.load[node] -= self.cost(group, node)


def solve(
    problem: ReplicationProblem, request: SolveRequest[None, ReplicationPlan]
) -> Outcome[ReplicationPlan]:
    """Plan by LPT on file groups; raises NotApplicableError where a task reads two files or more."""
    require_batch(problem)
    for task, files in zip(problem.tasks, problem.inputs, strict=True):
        if len(files) > 1:
            raise NotApplicableError(
                f"lpt plans tasks that read one file, but task {task.id!r} reads {len(files)}; "
                "use ip, link-aware or minmin"
            )
    state = _State(problem)
    for group in _groups(problem):
        ends = [state.load[i] + state.cost(group, i) for i in range(len(state.load))]
        state.put(group, ends.index(min(ends)))
    stop = StopReason.FINISHED
    for _ in range(MAX_STEPS):
        if request.deadline.expired():
            stop = StopReason.TIME
            break
        if not _improve(state):
            break
    plan = _plan(state)
    return Outcome(plan, _bound(problem, plan.moves == "static"), stop)


def pigeonhole(weights: Sequence[Fraction], num_nodes: int) -> Fraction:
    """Bound of a partition: of the k C + 1 heaviest items some node has k + 1, the lightest at best.

    >>> int(pigeonhole([Fraction(w) for w in (5, 5, 5, 1)], 2))
    10
    """
    heavy = sorted(weights, reverse=True)
    best = Fraction(0)
    for k in range((len(heavy) - 1) // num_nodes + 1 if heavy else 0):
        first = heavy[: k * num_nodes + 1]
        best = max(best, sum(first[len(first) - k - 1 :], Fraction(0)))
    return best


def _bound(problem: ReplicationProblem, static: bool) -> float:
    """Area and, for a plan without eviction, pigeonhole bound on the weights of the partition."""
    instance = reduce(problem)
    best = area(instance)
    if static:
        weights = file_weights(instance, "acyclic", True)
        best = max(best, pigeonhole(weights, instance.num_nodes))
    return float(best * instance.unit) * (1 - 1e-12)


def _groups(problem: ReplicationProblem) -> list[_Group]:
    """Groups by falling cost at speed 1; tasks without a file go alone. Ties: file, then task."""
    by_file: dict[int, list[int]] = {}
    alone = []
    for task, files in enumerate(problem.inputs):
        if files:
            by_file.setdefault(files[0], []).append(task)
        else:
            alone.append(_Group(None, [task]))
    groups = [
        _Group(file, sorted(tasks, key=lambda task: (-problem.tasks[task].compute_seconds, task)))
        for file, tasks in sorted(by_file.items())
    ]

    def seconds(group: _Group) -> float:
        size = 0 if group.file is None else problem.files[group.file].bytes
        compute = sum(problem.tasks[task].compute_seconds for task in group.tasks)
        return size * problem.remote_seconds_per_byte + compute

    return sorted([*groups, *alone], key=lambda group: -seconds(group))


def _improve(state: _State) -> bool:
    """Apply the best step between the fullest and the emptiest node; False when none helps."""
    nodes = range(len(state.load))
    full = max(nodes, key=lambda i: (state.load[i], -i))
    empty = min(nodes, key=lambda i: (state.load[i], i))
    steps = [*_swaps(state, full, empty), *_splits(state, full, empty)]
    step = min(steps, key=lambda item: item.worse, default=None)
    if step is None or step.worse >= state.load[full] * (1 - 1e-12):
        return False
    if step.leaving:
        _split(state, full, empty, step.group, step.leaving)
        return True
    state.take(step.group, full)
    if step.partner is not None:
        state.take(step.partner, empty)
        state.put(step.partner, full)
    state.put(step.group, empty)
    return True


def _swaps(state: _State, full: int, empty: int) -> Iterator[_Step]:
    """A whole group changes its node, alone or against one of nearly the right weight."""
    whole = [k for k, group in enumerate(state.groups[empty]) if not group.split]
    partners = sorted((state.cost(state.groups[empty][k], full), k) for k in whole)
    weights = [weight for weight, _ in partners]
    half = (state.load[full] - state.load[empty]) / 2
    for group in state.groups[full]:
        if group.split:
            continue
        here, there = state.cost(group, full), state.cost(group, empty)
        yield _Step(max(state.load[full] - here, state.load[empty] + there), group, None, 0)
        at = bisect_left(weights, here - half)
        for weight, k in partners[max(0, at - 1) : at + 2]:
            other = state.groups[empty][k]
            fuller = state.load[full] - here + weight
            emptier = state.load[empty] + there - state.cost(other, empty)
            yield _Step(max(fuller, emptier), group, other, 0)


def _splits(state: _State, full: int, empty: int) -> Iterator[_Step]:
    """Some or all tasks of a group leave with a copy of its file."""
    problem = state.problem
    for group in state.groups[full]:
        if group.file is None or group.source is not None or not group.tasks:
            continue
        if any(other.file == group.file for other in state.groups[empty]):
            continue
        size, disk = problem.files[group.file].bytes, problem.nodes[empty].disk_bytes
        if (disk is not None and size > disk) or group.file in problem.holds[empty]:
            continue
        copy = size * problem.replica_seconds_per_byte
        each = state.compute(group.tasks[:1], full)
        if each <= 0:
            continue
        half = (state.load[full] - state.load[empty]) / 2
        number = len(group.tasks)
        for leaving in sorted({min(number, max(1, int(half / each) + more)) for more in (0, 1)}):
            gone = group.tasks[-leaving:]
            fuller = state.load[full] + copy - state.compute(gone, full)
            emptier = state.load[empty] + copy + state.compute(gone, empty)
            yield _Step(max(fuller, emptier), group, None, leaving)


def _split(state: _State, full: int, empty: int, group: _Group, leaving: int) -> None:
    assert group.file is not None
    copy = state.problem.files[group.file].bytes * state.problem.replica_seconds_per_byte
    gone = group.tasks[-leaving:]
    del group.tasks[-leaving:]
    group.split = True
    state.groups[empty].append(_Group(group.file, gone, full, True))
    state.load[full] += copy - state.compute(gone, full)
    state.load[empty] += copy + state.compute(gone, empty)


def _plan(state: _State) -> ReplicationPlan:
    """Whole groups in the order in which they were put, parts with copies last."""
    problem = state.problem
    moves: list[Move] = []
    queues: list[list[int]] = []
    static = True
    for node, groups in enumerate(state.groups):
        ordered = sorted(groups, key=lambda group: group.source is not None)
        queues.append([task for group in ordered for task in group.tasks])
        present = set(problem.holds[node])
        for group in ordered:
            if group.file is not None and group.file not in present:
                present.add(group.file)
                moves.append((group.file, -1 if group.source is None else group.source, node))
        disk = problem.nodes[node].disk_bytes
        used = sum(problem.files[file].bytes for file in present)
        static = static and (disk is None or used <= disk)
    return build_plan(
        problem,
        queues,
        "farthest-next-use",
        moves if static else (),
        "static" if static else "replay",
    )
