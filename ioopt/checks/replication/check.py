"""Check replication plans independently of the solvers.

The module imports the problem and the plan, never a solver. Which checks apply depends
on ``plan.moves`` (see :class:`ioopt.problems.replication.ReplicationPlan`). Static
moves are checked round by round: against the constraints (1)-(8) and (21) of Khanna et
al., for files that are already held, and for copies in a cycle.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from ioopt.checks.replication.metrics import schedule_metrics
from ioopt.checks.replication.schedule import option_violations, schedule_violations
from ioopt.checks.replication.workflow import dispatch_violations
from ioopt.problems.base import Json
from ioopt.problems.replication import (
    CopyEntry,
    ReplicationPlan,
    ReplicationProblem,
    Round,
)
from ioopt.protocols import CheckReport, Schedule
from ioopt.result import Violation, violation


@dataclass(frozen=True)
class Stage:
    """One round of a plan, with indices in place of ids: where its tasks run and which
    files it moves.

    ``assign`` maps the tasks of the round to nodes. ``present`` has, for each node, the
    files on its disk before the round. ``remote`` has (file, node) pairs, and
    ``copies`` has (file, source, destination). ``wanted`` has the (file, node) pairs
    that a ``{"copy": file}`` entry of a queue asks for. ``forest`` is False if copies
    may form a cycle. ``where`` names the round in messages.
    """

    assign: Mapping[int, int]
    present: Sequence[frozenset[int]]
    remote: Sequence[tuple[int, int]]
    copies: Sequence[tuple[int, int, int]]
    wanted: frozenset[tuple[int, int]] = frozenset()
    forest: bool = True
    where: str = ""

    def on_disk(self) -> list[set[int]]:
        """Return, for each node, the files on its disk after all transfers (the
        variables X of the model).
        """
        have = [set(files) for files in self.present]
        for file, node in self.remote:
            have[node].add(file)
        for file, _, node in self.copies:
            have[node].add(file)
        return have


def check(
    problem: ReplicationProblem,
    plan: ReplicationPlan | Json,
    schedule: Schedule | None = None,
) -> CheckReport:
    """Check a plan, and the schedule of its replay if there is one.

    The objectives are ``additive_seconds``, equation (13), ``makespan_seconds``, the
    end of the last task or copy entry of the schedule, and for a plan in rounds
    ``first_round_tasks``, equation (20). ``additive_seconds`` is left
    out if the plan names unknown items, or if it has neither moves nor a schedule. The
    ``transfer_bound_seconds`` that the result of a workflow states must lie between the
    bound of workflow rule 18 and the makespan. The metrics are ``compute_imbalance``
    (the largest compute time of a node divided by the mean, minus 1) and those of
    :func:`ioopt.checks.replication.metrics.schedule_metrics`.
    """
    if isinstance(plan, Mapping):
        plan = ReplicationPlan.model_validate(plan)
    reader = _PlanReader(problem, plan)
    stages = reader.stages()
    found = reader.found
    found.extend(_move_violations(reader, stages))
    metrics: Json = {"compute_imbalance": _compute_imbalance(problem, reader.assign)}
    objectives: dict[str, float] = {}
    if plan.rounds is not None:
        metrics["rounds"] = len(plan.rounds)
        selected = len(plan.rounds[0].tasks) if plan.rounds else 0
        objectives["first_round_tasks"] = metrics["first_round_tasks"] = selected
    if schedule is not None:
        replayed = _replay_metrics(reader, schedule)
        metrics |= replayed
        if replayed:
            objectives["makespan_seconds"] = replayed["makespan_seconds"]
    elif plan.bound_moves is not None:
        from ioopt.checks.replication.bound import bound_violations

        found.extend(bound_violations(problem, plan, None))
    if plan.dispatches is not None:
        found.extend(dispatch_violations(problem, plan, reader.queues, schedule))
    additive = _additive_of(reader, stages, schedule)
    if additive is not None:
        objectives["additive_seconds"] = additive
        metrics["additive_seconds"] = additive
    rounding = 1e-14 * max(objectives.values(), default=0.0)
    ranges = _bound_ranges(problem, metrics, schedule)
    limits = _least_values(problem, metrics, schedule)
    return CheckReport(tuple(found), objectives, metrics, ranges, rounding, limits)


def _move_violations(reader: _PlanReader, stages: list[Stage]) -> Iterable[Violation]:
    """Check the moves of a plan.

    Static moves are checked round by round. For any other plan, check only that the
    files and the cores of each task fit its node.
    """
    problem = reader.problem
    plan = reader.plan
    if problem.is_workflow:
        if plan.rounds is not None or plan.moves_model in ("static", "printed"):
            text = (
                "rounds and static moves are for batches; plans of workflows are "
                "replayed"
            )
            yield violation("moves", plan.moves_model or "rounds", text)
        yield from _too_big(problem, reader.assign)
        return
    if plan.moves_model == "replay" or not plan.states_moves:
        yield from _too_big(problem, reader.assign)
        return
    if reader.complete():
        for stage in stages:
            yield from stage_violations(problem, stage)


def _replay_metrics(reader: _PlanReader, schedule: Schedule) -> Json:
    """Check the schedule of the replay and return its metrics.

    The result is empty if the schedule names unknown items or has impossible times,
    because nothing can be computed from such a schedule.
    """
    problem = reader.problem
    broken = schedule_violations(
        problem,
        reader.queues,
        schedule,
        reader.copies_wanted(),
        relays=reader.plan.bound_moves is not None,
    )
    reader.found.extend(broken)
    if any(item.rule in ("unknown", "instants") for item in broken):
        return {}
    reader.found.extend(option_violations(problem, reader.plan, schedule))
    return dict(schedule_metrics(problem, schedule))


def _additive_of(
    reader: _PlanReader, stages: list[Stage], schedule: Schedule | None
) -> float | None:
    """Return the batch time in seconds, equation (13), of the moves that the plan
    states, or else of the replayed moves.

    Return None for workflows, for plans with unknown names, and if no moves are known.
    """
    problem = reader.problem
    if problem.is_workflow or not reader.complete():
        return None
    if reader.plan.states_moves:
        return _additive_seconds(problem, reader.plan, stages)
    if schedule is None:
        return None
    return _additive_seconds(problem, reader.plan, [_replayed(reader, schedule)])


def _bound_ranges(
    problem: ReplicationProblem, metrics: Json, schedule: Schedule | None
) -> dict[str, tuple[float, float]]:
    """Return the interval in which the transfer bound stated for a workflow must lie,
    keyed by the name of that metric.
    """
    if not problem.is_workflow or "makespan_seconds" not in metrics:
        return {}
    assert schedule is not None
    most = metrics["makespan_seconds"]
    if schedule.get("actual_compute_seconds"):
        most = math.inf  # bounds are valid for planned times only
    return {"transfer_bound_seconds": (metrics["lower_bound_seconds"], most)}


def _least_values(
    problem: ReplicationProblem, metrics: Json, schedule: Schedule | None
) -> dict[str, float]:
    """Return a lower bound on each measure, valid for every plan of this problem."""
    least: dict[str, float] = {}
    if not problem.is_workflow:
        least["additive_seconds"] = _least_additive_seconds(problem)
    least |= dict.fromkeys(("remote_bytes", "replica_bytes", "evictions"), 0.0)
    if schedule is not None and not schedule.get("actual_compute_seconds"):
        least["makespan_seconds"] = metrics.get("lower_bound_seconds", 0.0)
    return least


def _least_additive_seconds(problem: ReplicationProblem) -> float:
    """Return a lower bound on the batch time, equation (13), in seconds: the mean load
    of the nodes.

    Each file that is read and that no node holds is fetched at least once, and every
    task runs at the speed of the fastest node.
    """
    held = {name for node in problem.nodes for name in node.holds}
    read = {name for task in problem.tasks for name in task.inputs}
    missing = read - held
    fetched = sum(file.bytes for file in problem.files if file.id in missing)
    fastest = max(node.speed for node in problem.nodes)
    compute = math.fsum(task.compute_seconds for task in problem.tasks) / fastest
    transfer = fetched / problem.network.remote_bytes_per_second
    return (transfer + compute) / len(problem.nodes)


@dataclass
class _PlanReader:
    """Translate the ids of a plan to indices; record violations of its names, its
    assignment and its queues.
    """

    problem: ReplicationProblem
    plan: ReplicationPlan
    found: list[Violation] = field(default_factory=list)
    assign: dict[int, int] = field(default_factory=dict)
    queues: dict[str, list[str]] = field(default_factory=dict)
    copy_entries: list[tuple[int, int]] = field(default_factory=list)
    unknown: int = 0

    def __post_init__(self) -> None:
        self._read_queues()
        self._compare_assign()

    def complete(self) -> bool:
        """Return whether every name in the plan is known, so that its moves can be
        checked.
        """
        return self.unknown == 0

    def copies_wanted(self) -> dict[tuple[str, str], int]:
        """Count how often each pair (file id, node id) is a copy entry of a queue."""
        files = self.problem.files
        nodes = self.problem.nodes
        return Counter(
            (files[file].id, nodes[node].id) for file, node in self.copy_entries
        )

    def _find(self, what: str, name: str) -> int | None:
        index = self.problem.index_of(what)
        if name not in index:
            self.unknown += 1
            self.found.append(
                violation("unknown", name, f"the instance has no such {what}")
            )
        return index.get(name)

    def _read_queues(self) -> None:
        self.queues = {node.id: [] for node in self.problem.nodes}
        for node_id, queue in self.plan.order.items():
            node = self._find("node", node_id)
            for entry in queue:
                if isinstance(entry, CopyEntry):
                    file = self._find("file", entry.copy_file)
                    if file is not None and node is not None:
                        self.copy_entries.append((file, node))
                    continue
                task = self._find("task", entry)
                if task is not None and node is not None:
                    self._queue(task, node)
        for task, item in enumerate(self.problem.tasks):
            if task not in self.assign:
                self._broken("(4) one node", item.id, "stands in no node's queue")

    def _queue(self, task: int, node: int) -> None:
        name = self.problem.tasks[task].id
        where = self.problem.nodes[node].id
        if task in self.assign:
            first = self.problem.nodes[self.assign[task]].id
            self._broken(
                "(4) one node",
                name,
                f"stands in the queue of {first} and again in that of {where}",
            )
            return
        self.assign[task] = node
        self.queues[where].append(name)

    def _broken(self, rule: str, item: str, message: str) -> None:
        self.found.append(violation(rule, item, message))

    def _compare_assign(self) -> None:
        for name, node_id in self.plan.assign.items():
            task = self._find("task", name)
            node = self._find("node", node_id)
            queued = None if task is None else self.assign.get(task)
            if node is not None and queued is not None and queued != node:
                where = self.problem.nodes[queued].id
                self._broken(
                    "order", name, f"assigned to {node_id}, but in the queue of {where}"
                )
        if self.plan.assign:
            for task in sorted(self.assign):
                name = self.problem.tasks[task].id
                if name not in self.plan.assign:
                    self._broken(
                        "(4) one node", name, "is in a queue but not in assign"
                    )

    def _remote(self, moves: tuple[tuple[str, str], ...]) -> list[tuple[int, int]]:
        pairs = [
            (self._find("file", file), self._find("node", node)) for file, node in moves
        ]
        return [(f, i) for f, i in pairs if f is not None and i is not None]

    def _copies(
        self, moves: tuple[tuple[str, str, str], ...]
    ) -> list[tuple[int, int, int]]:
        rows = [
            (
                self._find("file", file),
                self._find("node", source),
                self._find("node", target),
            )
            for file, source, target in moves
        ]
        return [
            (f, i, j)
            for f, i, j in rows
            if f is not None and i is not None and j is not None
        ]

    def stages(self) -> list[Stage]:
        """Return the rounds of the plan as stages.

        A plan without rounds becomes one stage; before it only the held files are on
        the disks.
        """
        forest = self.plan.moves_model != "printed"
        remote = self._remote(self.plan.remote)
        copies = self._copies(self.plan.copies)
        wanted = frozenset(self.copy_entries)
        if self.plan.rounds is None:
            return [
                Stage(self.assign, self.problem.holds, remote, copies, wanted, forest)
            ]
        stages: list[Stage] = []
        present = [set(files) for files in self.problem.holds]
        for number, part in enumerate(self.plan.rounds, start=1):
            where = f"round {number}"
            self._evict(part, present, where)
            tasks = [self._find("task", name) for name in part.tasks]
            assign = {
                task: self.assign[task]
                for task in tasks
                if task is not None and task in self.assign
            }
            stage = Stage(
                assign,
                [frozenset(files) for files in present],
                self._remote(part.remote),
                self._copies(part.copies),
                wanted,
                forest,
                where,
            )
            stages.append(stage)
            present = stage.on_disk()
        self._compare_rounds(stages, remote, copies)
        return stages

    def _evict(self, part: Round, present: list[set[int]], where: str) -> None:
        for file, node in self._remote(part.evicted):
            name = self.problem.files[file].id
            node_id = self.problem.nodes[node].id
            if file not in present[node]:
                self._broken("eviction", f"{where}: {name}", f"is not on {node_id}")
            present[node].discard(file)

    def _compare_rounds(
        self,
        stages: list[Stage],
        remote: list[tuple[int, int]],
        copies: list[tuple[int, int, int]],
    ) -> None:
        """Check that the rounds agree with the rest of the plan.

        Every task must be in one round. The queues must keep the order of the rounds.
        If the plan lists moves itself, they must be those of its rounds.
        """
        assert self.plan.rounds is not None
        round_of = self._rounds_of_tasks(self.plan.rounds)
        for queue in self.queues.values():
            self._compare_queue(queue, round_of)
        fetched: list[tuple[int, int]] = []
        copied: list[tuple[int, int, int]] = []
        for stage in stages:
            fetched.extend(stage.remote)
            copied.extend(stage.copies)
        same = sorted(remote) == sorted(fetched) and sorted(copies) == sorted(copied)
        if (remote or copies) and not same:
            text = "remote and copies of the plan differ from its rounds'"
            self._broken("rounds", "moves", text)

    def _rounds_of_tasks(self, rounds: Sequence[Round]) -> dict[str, int]:
        """Return the first round of each task, counted from 1; record contradictions as
        violations.
        """
        round_of: dict[str, int] = {}
        for number, part in enumerate(rounds, start=1):
            for name in part.tasks:
                if name in round_of:
                    text = f"is in rounds {round_of[name]} and {number}"
                    self._broken("rounds", name, text)
                round_of.setdefault(name, number)
            for name, node_id in part.assign.items():
                if self.plan.assign.get(name, node_id) != node_id:
                    text = f"round {number} assigns it to {node_id}"
                    self._broken("rounds", name, text)
        return round_of

    def _compare_queue(self, queue: Sequence[str], round_of: Mapping[str, int]) -> None:
        """Check that every task in a queue is in a round, and that the queue follows
        the order of the rounds.
        """
        for name in queue:
            if name not in round_of:
                self._broken("rounds", name, "is in no round")
        for before, after in pairwise(queue):
            if 0 < round_of.get(after, 0) < round_of.get(before, 0):
                text = f"is queued behind {before} of a later round"
                self._broken("rounds", after, text)


def _too_big(problem: ReplicationProblem, assign: Mapping[int, int]) -> list[Violation]:
    """Check single tasks: the node of a task must have room for its files (constraint
    (21)), enough cores and enough memory.

    A node that evicts on demand still needs room for all files of one task.
    """
    found = []
    for task, node in sorted(assign.items()):
        limit = None if problem.is_shared else problem.nodes[node].disk_bytes
        need = problem.task_bytes(task)
        more = problem.tasks[task].cores - problem.nodes[node].cores
        if more > 0:
            text = f"takes {more} cores more than {problem.nodes[node].id} has"
            found.append(violation("cores", problem.tasks[task].id, text))
        memory = problem.nodes[node].memory_bytes
        wanted = problem.tasks[task].memory_bytes
        if memory is not None and wanted > memory:
            text = (
                f"takes {wanted} bytes of memory, but {problem.nodes[node].id} has "
                f"{memory}"
            )
            item = problem.tasks[task].id
            found.append(violation("memory", item, text, wanted - memory))
        if limit is not None and need > limit:
            text = (
                f"reads {need} bytes on {problem.nodes[node].id}, whose disk holds "
                f"{limit}"
            )
            found.append(
                violation("(21) disk", problem.tasks[task].id, text, need - limit)
            )
    return found


def _replayed(reader: _PlanReader, schedule: Schedule) -> Stage:
    """Return the moves of the replay as one stage."""
    problem = reader.problem
    files = problem.file_index
    nodes = problem.node_index
    remote = []
    copies = []
    for move in schedule.get("transfers", ()):
        file = files.get(move["file"])
        target = nodes.get(move["destination"])
        if file is None or target is None:
            continue
        if move["source"] is None:
            remote.append((file, target))
        elif move["source"] in nodes:
            copies.append((file, nodes[move["source"]], target))
    return Stage(reader.assign, problem.holds, remote, copies)


def _additive_seconds(
    problem: ReplicationProblem, plan: ReplicationPlan, stages: list[Stage]
) -> float:
    """Return the batch time in seconds, equation (13).

    With barriers the batch time is the sum over the rounds of the longest load of a
    node. Without barriers each node adds up its loads, and the longest sum counts.
    """
    per_round = [[row.total for row in stage_times(problem, stage)] for stage in stages]
    if plan.barriers:
        return sum(max(seconds) for seconds in per_round)
    totals = [sum(seconds) for seconds in zip(*per_round, strict=True)]
    return max(totals, default=0.0)


def _compute_imbalance(problem: ReplicationProblem, assign: Mapping[int, int]) -> float:
    """Return the largest compute time of a node divided by the mean over the nodes,
    minus 1; 0 if no task computes.
    """
    seconds = [0.0] * len(problem.nodes)
    for task, node in sorted(assign.items()):
        seconds[node] += problem.tasks[task].compute_seconds / problem.nodes[node].speed
    total = sum(seconds)
    if total <= 0:
        return 0.0
    return max(seconds) * len(seconds) / total - 1.0


def stage_violations(problem: ReplicationProblem, stage: Stage) -> list[Violation]:
    """Return the violations of the static constraints in *stage*, named by their
    equation numbers.
    """
    have = stage.on_disk()
    found = [
        *_sources(problem, stage, have),
        *_for_readers(problem, stage),
        *_arrivals(problem, stage),
        *_inputs(problem, stage, have),
        *_fetched(problem, stage),
        *_forest(problem, stage),
        *_disk(problem, have),
    ]
    if not stage.where:
        return found
    return [v.model_copy(update={"item": f"{stage.where}: {v.item}"}) for v in found]


def _names(problem: ReplicationProblem, file: int, node: int) -> tuple[str, str]:
    return problem.files[file].id, problem.nodes[node].id


def _sources(
    problem: ReplicationProblem, stage: Stage, have: Sequence[set[int]]
) -> Iterable[Violation]:
    """Check constraint (1): a node copies only files that it has, and not to itself."""
    for file, source, target in stage.copies:
        name, node = _names(problem, file, source)
        if source == target:
            yield violation("(1) source", name, f"copied from {node} to itself")
        elif file not in have[source]:
            text = (
                f"copied from {node} to {problem.nodes[target].id}, but {node} never "
                "has it"
            )
            yield violation("(1) source", name, text)


def _for_readers(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """Check constraint (2): a file is copied only to a node where a task reads it or
    whose queue asks for it.
    """
    for file, _, target in stage.copies:
        read = any(stage.assign.get(task) == target for task in problem.readers[file])
        if not read and (file, target) not in stage.wanted:
            name, node = _names(problem, file, target)
            yield violation(
                "(2) reader", name, f"copied to {node}, where no task reads it"
            )


def _arrivals(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """Check constraints (3), (5) and (6): a file reaches a node at most once, and never
    a node that already has it.
    """
    fetched = Counter(stage.remote)
    copied = Counter((file, node) for file, _, node in stage.copies)
    for file, node in sorted(fetched.keys() | copied.keys()):
        name, where = _names(problem, file, node)
        far = fetched[file, node]
        near = copied[file, node]
        if file in stage.present[node]:
            yield violation("held", name, f"brought to {where}, which already holds it")
        if near > 1:
            yield violation(
                "(3) one source", name, f"copied to {where} {near} times", near - 1
            )
        if far > 1:
            yield violation(
                "(5) one fetch", name, f"fetched to {where} {far} times", far - 1
            )
        if far and near:
            yield violation(
                "(6) remote or copy", name, f"both fetched and copied to {where}"
            )


def _inputs(
    problem: ReplicationProblem, stage: Stage, have: Sequence[set[int]]
) -> Iterable[Violation]:
    """Check constraint (7): all inputs of a task are on the node of the task."""
    for task, node in sorted(stage.assign.items()):
        for file in problem.inputs[task]:
            if file not in have[node]:
                name, where = _names(problem, file, node)
                text = f"runs on {where}, which never gets its input {name}"
                yield violation("(7) inputs", problem.tasks[task].id, text)


def _fetched(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """Check constraint (8): every file that is read and that no node holds is fetched
    at least once.
    """
    read: set[int] = set()
    for task in stage.assign:
        read.update(problem.inputs[task])
    roots = {file for file, _ in stage.remote}
    for files in stage.present:
        roots.update(files)
    for file in sorted(read - roots):
        text = "read, held by no node, and never fetched from remote storage"
        yield violation("(8) remote transfer", problem.files[file].id, text)


def _forest(problem: ReplicationProblem, stage: Stage) -> Iterable[Violation]:
    """Check the forest rule: every copy descends from a remote transfer or from a held
    file.
    """
    if not stage.forest:
        return
    for file, cycle in stage_cycles(stage).items():
        names = ", ".join(problem.nodes[node].id for node in cycle)
        text = f"its copies on {names} descend from no remote transfer or held file"
        yield violation("forest", problem.files[file].id, text, len(cycle))


def stage_cycles(stage: Stage) -> dict[int, list[int]]:
    """Return, for each file, the nodes whose copy descends neither from a remote
    transfer nor from a held file.

    Files without such nodes are left out.
    """
    sends: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for file, source, target in stage.copies:
        sends[file].append((source, target))
    fetched: dict[int, set[int]] = defaultdict(set)
    for file, node in stage.remote:
        fetched[file].add(node)
    cycles = {}
    for file in sorted(sends):
        reached = {node for node, files in enumerate(stage.present) if file in files}
        reached |= fetched[file]
        grown = True
        while grown:
            new = {
                target for source, target in sends[file] if source in reached
            } - reached
            grown = bool(new)
            reached |= new
        lost = sorted({target for _, target in sends[file]} - reached)
        if lost:
            cycles[file] = lost
    return cycles


def _disk(problem: ReplicationProblem, have: Sequence[set[int]]) -> Iterable[Violation]:
    """Check constraint (21): the files on a node fit its disk."""
    for node, files in enumerate(have):
        limit = problem.nodes[node].disk_bytes
        used = sum(problem.files[file].bytes for file in files)
        if limit is not None and used > limit:
            text = f"is given {used} bytes of files, but its disk holds {limit}"
            yield violation("(21) disk", problem.nodes[node].id, text, used - limit)


class NodeTime(NamedTuple):
    """The seconds that the additive objective counts for one node: what it fetches from
    remote storage (11), receives and sends as copies (9), and computes (10).
    """

    node: str
    fetches: float
    copies: float
    computing: float

    @property
    def total(self) -> float:
        """Return the load of the node, Exec_i of equation (12)."""
        return self.fetches + self.copies + self.computing


def node_times(
    problem: ReplicationProblem, plan: ReplicationPlan
) -> list[NodeTime] | None:
    """Return the time of each node whose largest sum is the additive objective of
    *plan*.

    Return None if the plan states no moves, or if the objective is no sum over a node,
    because all nodes wait at the end of each round.
    """
    reader = _PlanReader(problem, plan)
    if problem.is_workflow or not reader.complete() or not plan.states_moves:
        return None
    stages = reader.stages()
    if plan.barriers and len(stages) > 1:
        return None
    found = []
    for rows in zip(*(stage_times(problem, stage) for stage in stages), strict=True):
        parts = zip(*(row[1:] for row in rows), strict=True)
        found.append(NodeTime(rows[0].node, *map(math.fsum, parts)))
    return found


def stage_times(problem: ReplicationProblem, stage: Stage) -> list[NodeTime]:
    """Return the time of each node in *stage*.

    Equations (9) and (11) are printed without the file size; here costs are per byte. A
    copy counts at both ends, and takes the time of the slowest disk or interface on its
    way (rule 1). Compute time is divided by the node's speed.
    """
    disks = (node.disk_bytes_per_second or math.inf for node in problem.nodes)
    far = problem.network.remote_bytes_per_second
    near = min(problem.network.replica_bytes_per_second, *disks)
    fetched = [0] * len(problem.nodes)
    copied = [0] * len(problem.nodes)
    compute = [0.0] * len(problem.nodes)
    for file, node in stage.remote:
        fetched[node] += problem.files[file].bytes
    for file, source, target in stage.copies:
        copied[source] += problem.files[file].bytes
        copied[target] += problem.files[file].bytes
    for task, node in sorted(stage.assign.items()):
        compute[node] += problem.tasks[task].compute_seconds
    return [
        NodeTime(node.id, fetched[i] / far, copied[i] / near, compute[i] / node.speed)
        for i, node in enumerate(problem.nodes)
    ]
