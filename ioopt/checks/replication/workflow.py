"""Check the rules that apply only to schedules of workflows: cores, arrivals, saves,
lost products, dispatches.

A task must start after the tasks that write its inputs have ended. The staging check
covers this, because a product can be read on a node only from the end of its task on.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from ioopt.checks import time_slack
from ioopt.problems.replication import (
    Node,
    ReplicationPlan,
    ReplicationProblem,
    Task,
)
from ioopt.protocols import Schedule
from ioopt.result import Violation, violation


def late(first: float, second: float) -> bool:
    """Return whether time *first* is later than time *second* by more than rounding
    errors.
    """
    return first > second + time_slack(second)


@dataclass
class Stay:
    """One stay of a file on a node; times are in seconds.

    The file takes space from ``start`` on, and can be read from ``ready`` to ``end``.
    """

    start: float
    ready: float
    end: float = math.inf


@dataclass
class Stays:
    """All stays of files on nodes, keyed by (file, node) in order of time, and the
    contradictions found in them.
    """

    of: dict[tuple[str, str], list[Stay]] = field(
        default_factory=lambda: defaultdict(list)
    )
    found: list[Violation] = field(default_factory=list)

    def covers(self, file: str, node: str, start: float, end: float) -> bool:
        """Return whether *file* is complete on *node* from *start* to *end*, in
        seconds.
        """
        return any(
            not late(stay.ready, start) and not late(end, stay.end)
            for stay in self.of.get((file, node), ())
        )


def workflow_violations(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays, relays: bool = False
) -> list[Violation]:
    """Return the violations in a schedule of the rules for cores, memory, arrivals,
    saves and lost products.

    All names in the schedule must be known. If *relays*, a file may come to a node only
    to be sent on.
    """
    return [
        *cores(problem, schedule),
        *memory(problem, schedule),
        *arrivals(problem, schedule, {}, relays),
        *saves(problem, schedule, stays),
        *refetches(problem, schedule),
        *losses(problem, schedule, stays),
    ]


def times_of(
    schedule: Schedule, part: Literal["evictions", "copy_entries"]
) -> dict[tuple[str, str], list[float]]:
    """Return the times in a *part* of the schedule in seconds, keyed by file and
    node.
    """
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in schedule.get(part, ()):
        found[row["file"], row["node"]].append(row["seconds"])
    return found


def cores(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    """Check that tasks never use more cores of a node than it has."""
    for node, at, busy, task in _at_starts(problem, schedule, attrgetter("cores")):
        if busy > node.cores:
            text = f"{busy} cores of {node.id} are taken at {at}, it has {node.cores}"
            yield violation("overlap", task, text, busy - node.cores)


def memory(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    """Check that tasks never hold more memory of a node than it has."""
    taken_by = attrgetter("memory_bytes")
    for node, at, held, task in _at_starts(problem, schedule, taken_by):
        if node.memory_bytes is not None and held > node.memory_bytes:
            text = (
                f"{held} bytes of memory of {node.id} are taken at {at}, it has "
                f"{node.memory_bytes}"
            )
            yield violation("memory", task, text, held - node.memory_bytes)


def _at_starts(
    problem: ReplicationProblem, schedule: Schedule, taken_by: Callable[[Task], int]
) -> Iterator[tuple[Node, str, int, str]]:
    """Yield, for each start of a task that takes something of a node: the node, the
    time as text, what is taken of the node then, and the task.
    """
    changes: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for row in schedule.get("tasks", ()):
        taken = taken_by(problem.tasks[problem.task_index[row["id"]]])
        start = row["start_seconds"]
        end = row["end_seconds"]
        if end > start and taken:
            # A start overlaps an end only if the difference is more than rounding.
            begun = start + min(time_slack(start), end - start)
            changes[row["node"]].append((begun, taken, row["id"]))
            changes[row["node"]].append((end, -taken, row["id"]))
    for node in problem.nodes:
        total = 0
        for time, change, task in sorted(changes[node.id]):
            total += change
            if change > 0:
                yield node, f"{time:g} s", total, task


def arrivals(
    problem: ReplicationProblem,
    schedule: Schedule,
    given: Mapping[str, float],
    relays: bool = False,
) -> Iterable[Violation]:
    """Check that no task starts, and no file is moved for it, before the task is
    available.

    A task is available once it has arrived. If *given* has the time of its dispatch, it
    is available only from then on. If *relays*, a file may come to a node where no task
    reads it.
    """
    begins: dict[str, float] = {}
    for task in problem.tasks:
        begins[task.id] = max(task.release_seconds, given.get(task.id, 0.0))
    readers: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for row in schedule.get("tasks", ()):
        name = row["id"]
        start = row["start_seconds"]
        if late(begins[name], start):
            text = f"starts at {start:g} s, but may not before {begins[name]:g} s"
            yield violation("release", name, text, begins[name] - start)
        for file in problem.tasks[problem.task_index[name]].inputs:
            readers[file, row["node"]].append((start, name))
    if problem.is_shared:
        return  # tasks read after their start
    wanted = {(row["file"], row["node"]) for row in schedule.get("copy_entries", ())}
    for move in schedule.get("transfers", ()):
        node = move["destination"]
        if node is None:
            continue
        key = move["file"], node
        may = _may_come(problem, readers[key], node, move["end_seconds"], begins)
        if key in wanted:
            may = min(may, _first_arrival(problem, move["file"]))
        relayed = relays and may == math.inf
        if late(may, move["start_seconds"]) and not relayed:
            text = (
                f"moves to {node} at {move['start_seconds']:g} s, but no task waits "
                "for it there"
            )
            yield violation("release", move["file"], text)


def _may_come(
    problem: ReplicationProblem,
    readers: list[tuple[float, str]],
    node: str,
    arrival: float,
    begins: Mapping[str, float],
) -> float:
    """Return the time in seconds from which a file may come to *node* for one of its
    *readers* there.

    *readers* are (start, task id). The file arrives at the time *arrival*. It comes for
    the first reader that starts later. If the node stages the files of several tasks,
    it may come for any later reader. *begins* is the time from which each task is
    available.
    """
    after = [(start, name) for start, name in readers if not late(arrival, start)]
    if not after:
        return math.inf
    soonest = min(start for start, _ in after)
    several = problem.nodes[problem.node_index[node]].staging > 1
    return min(begins[name] for start, name in after if several or start == soonest)


def _first_arrival(problem: ReplicationProblem, file: str) -> float:
    """Return the time in seconds at which the first reader of *file* arrives; 0 if no
    task reads it.
    """
    tasks = problem.readers[problem.file_index[file]]
    return min((problem.tasks[k].release_seconds for k in tasks), default=0.0)


def saves(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """Check saves: only products are saved, each at most once, and from a complete
    copy.

    All files to keep must be saved. A node saves one file at a time.
    """
    out: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    seen: set[str] = set()
    for move in schedule.get("transfers", ()):
        file = move["file"]
        source = move["source"]
        start = move["start_seconds"]
        end = move["end_seconds"]
        if move["destination"] is not None:
            continue
        if problem.producer[problem.file_index[file]] < 0:
            yield violation("save", file, "is saved, but no task writes it")
        if file in seen:
            yield violation("save", file, "is saved twice")
        seen.add(file)
        if not stays.covers(file, source, start, end):
            text = (
                f"is saved at {start:g} s from {source}, which does not hold it all "
                "the while"
            )
            yield violation("save", file, text)
        out[source].append((start, end, file))
    for node, rows in out.items():
        for before, after in pairwise(sorted(rows)):
            if late(before[1], after[0]):
                text = f"is saved from {node} while {before[2]} is being saved"
                yield violation("save", after[2], text)
    for file, maker in zip(problem.files, problem.producer, strict=True):
        if maker >= 0 and file.keep and file.id not in seen:
            yield violation("keep", file.id, "is to be kept, but never saved")


def saved_at(schedule: Schedule) -> dict[str, float]:
    """Return the time in seconds at which the save of each file ended, keyed by file
    id.
    """
    rows = schedule.get("transfers", ())
    return {
        row["file"]: row["end_seconds"] for row in rows if row["destination"] is None
    }


def refetches(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    """Check that a product is fetched from remote storage only after it was saved."""
    saved = saved_at(schedule)
    for move in schedule.get("transfers", ()):
        file = move["file"]
        start = move["start_seconds"]
        product = problem.producer[problem.file_index[file]] >= 0
        if not product or move["source"] is not None:
            continue
        if late(saved.get(file, math.inf), start):
            text = (
                f"is fetched at {start:g} s from the storage, where it is not saved "
                "by then"
            )
            yield violation("save", file, text)


def losses(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """Check that the last copy of a product is evicted only after its save or its last
    read.

    If the product is a file to keep, its missing save is a second violation.
    """
    saved = saved_at(schedule)
    starts = {row["id"]: row["start_seconds"] for row in schedule.get("tasks", ())}
    copies: dict[str, list[Stay]] = defaultdict(list)
    for (file, _), listed in stays.of.items():
        copies[file] += listed
    for row in schedule.get("evictions", ()):
        name = row["file"]
        time = row["seconds"]
        f = problem.file_index[name]
        if problem.producer[f] < 0 or not late(saved.get(name, math.inf), time):
            continue
        if any(stay.ready <= time < stay.end for stay in copies[name]):
            continue
        unread = [problem.tasks[k].id for k in problem.readers[f]]
        unread = [task for task in unread if late(starts.get(task, -math.inf), time)]
        if unread:
            text = f"its last copy leaves {row['node']} at {time:g} s unsaved"
            yield violation(
                "at risk", name, f"{text}, and {unread[0]} has yet to read it"
            )


def dispatch_violations(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    queues: Mapping[str, Sequence[str]],
    schedule: Schedule | None,
) -> list[Violation]:
    """Check the record of a dispatch (workflow rule 11).

    The queues must follow from the recorded dispatches, and each dispatch must be
    allowed.
    """
    found: list[Violation] = []
    made: dict[str, list[str]] = {node.id: [] for node in problem.nodes}
    last = (0.0, 0)
    for seconds, number, task, node in plan.dispatches or ():
        if task not in problem.task_index or node not in made:
            text = f"the record gives it to {node}: no such task or node"
            found.append(violation("unknown", task, text))
            continue
        if (seconds, number) < last:
            text = f"given at {seconds:g} s, but listed after a later dispatch"
            found.append(violation("dispatch", task, text))
        last = seconds, number
        made[node].append(task)
    for node, tasks in made.items():
        if tasks != list(queues.get(node, ())):
            text = "its queue differs from the recorded dispatches"
            found.append(violation("dispatch", node, text))
    if not found and schedule is not None:
        found.extend(_legal(problem, plan, schedule))
        given = {task: seconds for seconds, _, task, _ in plan.dispatches or ()}
        found.extend(arrivals(problem, schedule, given))
    return found


def _legal(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule
) -> Iterable[Violation]:
    """Check that each task is dispatched when it is ready, to a node that may take it.

    Such a node has enough idle cores, and no other task assigned to it has yet to
    start.
    """
    runs = {row["id"]: row for row in schedule.get("tasks", ())}
    before: dict[str, list[str]] = defaultdict(list)
    for seconds, _, name, node in plan.dispatches or ():
        k = problem.task_index[name]
        for task in (problem.tasks[p].id for p in problem.predecessors[k]):
            if task in runs and late(runs[task]["end_seconds"], seconds):
                text = f"given at {seconds:g} s, before {task} has written its input"
                yield violation("dispatch", name, text)
        earlier = [runs[task] for task in before[node] if task in runs]
        before[node].append(name)
        if any(late(row["start_seconds"], seconds) for row in earlier):
            text = (
                f"given to {node} at {seconds:g} s, where another task has yet to start"
            )
            yield violation("dispatch", name, text)
        if plan.prefetch:
            continue
        lacks = _lacks(problem, k, node, _running(problem, earlier, seconds))
        if lacks:
            text = f"given to {node} at {seconds:g} s, where {lacks}"
            yield violation("dispatch", name, text)


def _running(
    problem: ReplicationProblem, runs: Sequence[Schedule], seconds: float
) -> list[Task]:
    """Return the tasks of *runs* that run at the time *seconds*."""
    found = []
    for row in runs:
        ended = not late(row["end_seconds"], seconds)
        if row["start_seconds"] <= seconds and not ended:
            found.append(problem.tasks[problem.task_index[row["id"]]])
    return found


def _lacks(
    problem: ReplicationProblem, k: int, node_id: str, running: Sequence[Task]
) -> str:
    """Return what a node lacks for task *k* beside those *running*; empty text if it
    has all.
    """
    node = problem.nodes[problem.node_index[node_id]]
    cores = node.cores - sum(task.cores for task in running)
    if problem.tasks[k].cores > cores:
        return f"{cores} cores idle"
    if node.memory_bytes is None:
        return ""
    memory = node.memory_bytes - sum(task.memory_bytes for task in running)
    if problem.tasks[k].memory_bytes > memory:
        return f"{memory} bytes of memory are free"
    return ""
