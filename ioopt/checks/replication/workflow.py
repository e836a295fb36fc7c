"""What only schedules of workflows can do wrong: cores, arrivals, saves, lost
products, dispatches.

That a task starts after those that write its inputs is part of the staging check: a
product's first stay begins, readable, at the end of its task.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ioopt.checks import time_slack
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Schedule
from ioopt.result import Violation, violation


def late(first: float, second: float) -> bool:
    """Whether *first* lies after *second* by more than rounding."""
    return first > second + time_slack(second)


@dataclass
class Stay:
    """One stay of a file on a node: space counts from ``start``,
    readable in [ready, end].
    """

    start: float
    ready: float
    end: float = math.inf


@dataclass
class Stays:
    """All stays by (file, node) in time order, and what does not fit together."""

    of: dict[tuple[str, str], list[Stay]] = field(
        default_factory=lambda: defaultdict(list)
    )
    found: list[Violation] = field(default_factory=list)

    def covers(self, file: str, node: str, start: float, end: float) -> bool:
        """Whether *file* is complete on *node* from *start* to *end* seconds."""
        return any(
            not late(stay.ready, start) and not late(end, stay.end)
            for stay in self.of.get((file, node), ())
        )


def workflow_violations(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> list[Violation]:
    """Cores, arrivals, saves and lost products of a schedule whose
    names are all known.
    """
    return [
        *cores(problem, schedule),
        *arrivals(problem, schedule, {}),
        *saves(problem, schedule, stays),
        *refetches(problem, schedule),
        *losses(problem, schedule, stays),
    ]


def cores(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    """At every instant the tasks that compute on a node take no
    more cores than it has.
    """
    changes: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for row in schedule.get("tasks", ()):
        taken = problem.tasks[problem.task_index[row["id"]]].cores
        if row["end_seconds"] > row["start_seconds"]:
            start = row["start_seconds"] + min(
                time_slack(row["start_seconds"]),
                row["end_seconds"] - row["start_seconds"],
            )
            changes[row["node"]].append((start, taken, row["id"]))
            changes[row["node"]].append((row["end_seconds"], -taken, row["id"]))
    for node in problem.nodes:
        busy = 0
        for time, change, task in sorted(changes[node.id]):
            busy += change
            if busy > node.cores and change > 0:
                text = (
                    f"{busy} cores of {node.id} are taken at {time:g} s, it has "
                    f"{node.cores}"
                )
                yield violation("overlap", task, text, busy - node.cores)


def arrivals(
    problem: ReplicationProblem, schedule: Schedule, given: Mapping[str, float]
) -> Iterable[Violation]:
    """No task starts, and nothing is staged for it, before it has arrived and
    (*given*) was given.

    Files come for the next reader, or for any later one where tasks
    are staged behind it.
    """
    begins = {
        task.id: max(task.release_seconds, given.get(task.id, 0.0))
        for task in problem.tasks
    }
    readers: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for row in schedule.get("tasks", ()):
        name, start = row["id"], row["start_seconds"]
        if late(begins[name], start):
            text = f"starts at {start:g} s, before {begins[name]:g} s, when it may"
            yield violation("release", name, text, begins[name] - start)
        for file in problem.tasks[problem.task_index[name]].inputs:
            readers[file, row["node"]].append((start, name))
    first = {
        file.id: min((problem.tasks[k].release_seconds for k in tasks), default=0.0)
        for file, tasks in zip(problem.files, problem.readers, strict=True)
    }
    wanted = {(row["file"], row["node"]) for row in schedule.get("copy_entries", ())}
    several = {node.id for node in problem.nodes if node.staging > 1}
    for move in schedule.get("transfers", ()):
        key = move["file"], move["destination"]
        after = [
            (start, name)
            for start, name in readers[key]
            if not late(move["end_seconds"], start)
        ]
        soonest = min((start for start, _ in after), default=math.inf)
        possible = [
            name for start, name in after if start == soonest or key[1] in several
        ]
        may = min((begins[name] for name in possible), default=math.inf)
        if key in wanted:
            may = min(may, first[move["file"]])
        if key[1] is not None and late(may, move["start_seconds"]):
            text = (
                f"moves to {key[1]} at {move['start_seconds']:g} s for no task that "
                "waits there"
            )
            yield violation("release", move["file"], text)


def saves(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """Products alone are saved, once, from a complete copy; all to keep are; a node
    saves one at a time.
    """
    out: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    seen: set[str] = set()
    for move in schedule.get("transfers", ()):
        file, source = move["file"], move["source"]
        start, end = move["start_seconds"], move["end_seconds"]
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
                text = f"is saved from {node} while {before[2]} is"
                yield violation("save", after[2], text)
    for file, maker in zip(problem.files, problem.producer, strict=True):
        if maker >= 0 and file.keep and file.id not in seen:
            yield violation("keep", file.id, "is to be kept, but never saved")


def saved_at(schedule: Schedule) -> dict[str, float]:
    """When the save of each file ended, in seconds."""
    rows = schedule.get("transfers", ())
    return {
        row["file"]: row["end_seconds"] for row in rows if row["destination"] is None
    }


def refetches(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    """A product comes from the remote storage only after its save has ended."""
    saved = saved_at(schedule)
    for move in schedule.get("transfers", ()):
        file, start = move["file"], move["start_seconds"]
        product = problem.producer[problem.file_index[file]] >= 0
        if (
            product
            and move["source"] is None
            and late(saved.get(file, math.inf), start)
        ):
            text = (
                f"is fetched at {start:g} s from the storage, where it is not saved "
                "by then"
            )
            yield violation("save", file, text)


def losses(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """The last copy of a product leaves only when it is saved, or read no more.

    One that is to be kept then lacks its save, which is a violation of its own.
    """
    saved = saved_at(schedule)
    starts = {row["id"]: row["start_seconds"] for row in schedule.get("tasks", ())}
    copies: dict[str, list[Stay]] = defaultdict(list)
    for (file, _), listed in stays.of.items():
        copies[file] += listed
    for row in schedule.get("evictions", ()):
        name, time = row["file"], row["seconds"]
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
    """The record of a dispatch (workflow rule 11): the queues it makes, and that
    each pair was legal.
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
            text = f"given at {seconds:g} s, after something given later"
            found.append(violation("dispatch", task, text))
        last = seconds, number
        made[node].append(task)
    for node, tasks in made.items():
        if tasks != list(queues.get(node, ())):
            text = "its queue is not what the dispatches make it"
            found.append(violation("dispatch", node, text))
    if not found and schedule is not None:
        found.extend(_legal(problem, plan, schedule))
        given = {task: seconds for seconds, _, task, _ in plan.dispatches or ()}
        found.extend(arrivals(problem, schedule, given))
    return found


def _legal(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule
) -> Iterable[Violation]:
    """Each task is given when it is ready, to a node without unstarted task
    and with idle cores.
    """
    runs = {row["id"]: row for row in schedule.get("tasks", ())}
    before: dict[str, list[str]] = defaultdict(list)
    for seconds, _, name, node in plan.dispatches or ():
        k = problem.task_index[name]
        waits = [problem.tasks[p].id for p in problem.predecessors[k]]
        for task in waits:
            if task in runs and late(runs[task]["end_seconds"], seconds):
                text = (
                    f"given at {seconds:g} s, before {task} has written what it reads"
                )
                yield violation("dispatch", name, text)
        earlier = [runs[task] for task in before[node] if task in runs]
        before[node].append(name)
        if any(late(row["start_seconds"], seconds) for row in earlier):
            text = f"given to {node} at {seconds:g} s, where another has not started"
            yield violation("dispatch", name, text)
        busy = sum(
            problem.tasks[problem.task_index[row["id"]]].cores
            for row in earlier
            if row["start_seconds"] <= seconds and late(row["end_seconds"], seconds)
        )
        room = problem.nodes[problem.node_index[node]].cores - busy
        if not plan.prefetch and problem.tasks[k].cores > room:
            text = f"given to {node} at {seconds:g} s, where {room} cores idle"
            yield violation("dispatch", name, text)
