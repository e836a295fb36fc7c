"""Check a replayed schedule against rules that hold for every planner.

Options beyond the rules (workflow rules 21 and 22) are also checked from the schedule.
A schedule does not record the order of events within one instant. A choice is therefore
a violation only if it is one in every such order.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ioopt.checks import Load, overloads, time_slack, too_fast
from ioopt.checks.replication.workflow import (
    Stay,
    Stays,
    arrivals,
    cores,
    late,
    memory,
    saved_at,
    times_of,
    workflow_violations,
)
from ioopt.problems.replication import (
    File,
    Node,
    ReplicationPlan,
    ReplicationProblem,
    Room,
)
from ioopt.protocols import Schedule
from ioopt.result import Violation, violation


def schedule_violations(
    problem: ReplicationProblem,
    queues: Mapping[str, Sequence[str]],
    schedule: Schedule,
    copies: Mapping[tuple[str, str], int],
    relays: bool = False,
) -> list[Violation]:
    """Return all violations in *schedule*, which lists tasks, transfers and evictions.

    *queues* has, for each node id, the ids of its tasks in order. *copies* counts how
    often each pair (file id, node id) is a copy entry of a queue. If *relays*, a file
    may come to a node only to be sent on.
    """
    unknown = [*_unknown(problem, schedule), *_instants(schedule)]
    if unknown:
        return unknown
    if problem.is_shared:
        from ioopt.checks.replication.shared import shared_violations

        return [
            *_tasks(problem, queues, schedule),
            *_rates(problem, schedule),
            *_core_numbers(problem, schedule),
            *cores(problem, schedule),
            *memory(problem, schedule),
            *arrivals(problem, schedule, {}),
            *shared_violations(problem, schedule, copies),
        ]
    stays = stays_of(problem, schedule)
    found = [
        *_tasks(problem, queues, schedule),
        *_staging(problem, schedule, stays),
        *_copy_entries(schedule, stays, copies),
        *_transfers(problem, schedule, stays),
        *_rates(problem, schedule),
        *_core_numbers(problem, schedule),
        *(item for item in stays.found if item.rule == "eviction"),
        *_disks(problem, stays),
    ]
    if problem.is_workflow:
        found += workflow_violations(problem, schedule, stays, relays)
    return found


def _unknown(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    """Yield a violation for each name in the schedule that the problem does not
    have.
    """

    def missing(where: str, what: str, name: str) -> Violation:
        return violation(
            "unknown", str(name), f"{where} names it, but there is no such {what}"
        )

    for part, what, key in (
        ("tasks", "task", "id"),
        ("tasks", "node", "node"),
        ("transfers", "file", "file"),
        ("evictions", "file", "file"),
        ("evictions", "node", "node"),
        ("copy_entries", "file", "file"),
        ("copy_entries", "node", "node"),
    ):
        index = problem.index_of(what)
        for row in schedule.get(part, ()):
            if row[key] not in index:
                yield missing(f"schedule.{part}", what, row[key])
    for row in schedule.get("transfers", ()):
        source = row["source"]
        target = row["destination"]
        # None is the remote storage: any file may come from there; only a save of
        # a workflow goes there, from a node.
        if source is not None and source not in problem.node_index:
            yield missing("schedule.transfers", "node", source)
        is_save = target is None and problem.is_workflow and source is not None
        if not is_save and target not in problem.node_index:
            yield missing("schedule.transfers", "node", target)
    for name in schedule.get("actual_compute_seconds") or ():
        if name not in problem.task_index:
            yield missing("schedule.actual_compute_seconds", "task", name)


def _instants(schedule: Schedule) -> Iterable[Violation]:
    """Check that every time is a number of at least 0, and that nothing ends before it
    starts.
    """
    for part, name in (("tasks", "id"), ("transfers", "file")):
        for row in schedule.get(part, ()):
            start = row["start_seconds"]
            end = row["end_seconds"]
            if not 0 <= start <= end < math.inf:
                text = f"is said to last from {start!r} to {end!r} s"
                yield violation("instants", str(row[name]), text)
    for part in ("evictions", "copy_entries"):
        for row in schedule.get(part, ()):
            if not 0 <= row["seconds"] < math.inf:
                text = f"is said to happen at {row['seconds']!r} s"
                yield violation("instants", str(row["file"]), text)


def stays_of(problem: ReplicationProblem, schedule: Schedule) -> Stays:
    """Return the periods in which each file was on each node, and the contradictions
    between them.
    """
    stays = Stays()
    for node in problem.nodes:
        for file in node.holds:
            stays.of[file, node.id].append(Stay(0.0, 0.0))
    for row in schedule.get("tasks", ()):
        for file in problem.tasks[problem.task_index[row["id"]]].outputs:
            stay = Stay(row["start_seconds"], row["end_seconds"])
            stays.of[file, row["node"]].append(stay)
    for move in schedule.get("transfers", ()):
        if move["destination"] is None:
            continue
        stay = Stay(move["start_seconds"], move["end_seconds"])
        stays.of[move["file"], move["destination"]].append(stay)
    for listed in stays.of.values():
        listed.sort(key=lambda stay: (stay.start, stay.ready))
    for key, times in times_of(schedule, "evictions").items():
        _match(stays, key, sorted(times))
    for (file, where), listed in stays.of.items():
        for before, after in pairwise(listed):
            if late(before.end, after.start):
                text = f"brought to {where} at {after.start:g} s, where it is already"
                stays.found.append(violation("transfer", file, text))
    return stays


def _match(stays: Stays, key: tuple[str, str], times: list[float]) -> None:
    """Let each stay of a file on a node end with the first eviction after its arrival.

    *key* is (file id, node id), and *times* are the times of the evictions in order.
    """
    listed = iter(stays.of.get(key, []))
    stay = next(listed, None)
    for time in times:
        if stay is None or late(stay.ready, time):
            text = f"evicted from {key[1]} at {time:g} s, where it is not complete"
            stays.found.append(violation("eviction", key[0], text))
            continue
        stay.end = time
        stay = next(listed, None)


def _tasks(
    problem: ReplicationProblem, queues: Mapping[str, Sequence[str]], schedule: Schedule
) -> Iterable[Violation]:
    """Check that each task runs once, on its node, in the order of the node's queue.

    A task must last its overhead and its compute time divided by the node's speed. A
    node with one core must run one task at a time.
    """
    rows_of: dict[str, list[_Run]] = defaultdict(list)
    seen: set[str] = set()
    actual = schedule.get("actual_compute_seconds") or {}
    for row in schedule.get("tasks", ()):
        name = row["id"]
        start = row["start_seconds"]
        end = row["end_seconds"]
        if name in seen:
            yield violation("schedule", name, "runs twice")
        seen.add(name)
        rows_of[row["node"]].append(_Run(start, end, name))
        node = problem.nodes[problem.node_index[row["node"]]]
        task = problem.tasks[problem.task_index[name]]
        computing = actual.get(name, task.compute_seconds) / node.speed
        wanted = task.overhead_seconds + computing
        if problem.is_shared:
            continue  # its reads and writes take part of the time
        right = math.isclose(end - start, wanted, rel_tol=1e-6, abs_tol=time_slack(end))
        if _disk_use(problem, row) is not None:
            # The task may wait for its disk, whose rate is checked with the transfers.
            right = right or end - start > wanted
        if not right:
            text = f"computes {end - start:g} s on {node.id}, which takes {wanted:g} s"
            yield violation("duration", name, text, abs(end - start - wanted))
    for task in problem.tasks:
        if task.id not in seen:
            yield violation("schedule", task.id, "never runs")
    for node in problem.nodes:
        yield from _queue_order(node, queues.get(node.id, ()), rows_of[node.id])


def _disk_use(problem: ReplicationProblem, row: Schedule) -> Load | None:
    """Return what the task of *row* reads and writes on the disk of its node while it
    computes (workflow rule 25); None if nothing limits it.
    """
    k = problem.task_index[row["id"]]
    rate = problem.nodes[problem.node_index[row["node"]]].disk_bytes_per_second
    size = sum(
        problem.files[f].bytes for f in (*problem.inputs[k], *problem.outputs[k])
    )
    if not problem.task_disk or rate is None or size == 0:
        return None
    begun = row["start_seconds"] + problem.tasks[k].overhead_seconds
    return Load(min(begun, row["end_seconds"]), row["end_seconds"], size, row["id"])


class _Run(NamedTuple):
    """One run of a task on a node; times are in seconds."""

    start: float
    end: float
    task: str


def _queue_order(
    node: Node, queue: Sequence[str], runs: list[_Run]
) -> Iterable[Violation]:
    """Check that the runs on a node begin in the order of its queue."""
    place = {name: k for k, name in enumerate(queue)}
    for run in runs:
        if run.task not in place:
            yield violation("order", run.task, f"not in the queue of {node.id}")
    alone = node.cores == 1

    def by_start(run: _Run) -> tuple[float, float, int]:
        """Return the key that sorts runs by start; on a single core, tasks without
        duration come first.
        """
        end = run.end if alone else 0.0
        return run.start, end, place.get(run.task, 0)

    for before, after in pairwise(sorted(runs, key=by_start)):
        if place.get(before.task, -1) > place.get(after.task, len(place)):
            text = f"runs on {node.id} before {after.task}, which is queued ahead of it"
            yield violation("order", before.task, text)
        if alone and late(before.end, after.start):
            text = f"starts on {node.id} while {before.task} still computes"
            yield violation("overlap", after.task, text, before.end - after.start)


def _core_numbers(
    problem: ReplicationProblem, schedule: Schedule
) -> Iterable[Violation]:
    """Check the numbers of the cores that tasks and copy entries take, where they are
    stated: as many as they need, of their node, and each for one task at a time.
    """
    taken: dict[tuple[str, int], list[_Run]] = defaultdict(list)
    for row in (*schedule.get("tasks", ()), *schedule.get("copy_entries", ())):
        numbers = row.get("cores")
        if numbers is None:
            continue
        node = problem.nodes[problem.node_index[row["node"]]]
        name = row["id"] if "id" in row else row["file"]
        yield from _core_counts(problem, node, name, row)
        # A node with one core is checked to run one task at a time.
        for core in numbers if "id" in row and node.cores > 1 else ():
            run = _Run(row["start_seconds"], row["end_seconds"], name)
            taken[node.id, core].append(run)
    for (node_id, core), runs in taken.items():
        for before, after in pairwise(sorted(runs)):
            if late(before.end, after.start):
                text = f"takes core {core} of {node_id} while {before.task} computes"
                yield violation("cores", after.task, text, before.end - after.start)


def _core_counts(
    problem: ReplicationProblem, node: Node, name: str, row: Schedule
) -> Iterable[Violation]:
    """Check that a task or a copy entry takes as many different cores as it needs, of
    those that its node has.
    """
    numbers = row["cores"]
    wanted = 1
    if "id" in row:
        wanted = problem.tasks[problem.task_index[name]].cores
    if len({*numbers}) != wanted or len(numbers) != wanted:
        text = f"takes the cores {[*numbers]} of {node.id}, but needs {wanted}"
        yield violation("cores", name, text)
    for core in numbers:
        if core >= node.cores:
            text = f"takes core {core} of {node.id}, which has {node.cores}"
            yield violation("cores", name, text)


def _staging(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """Check that all inputs of a task are complete on its node from its start to its
    end.
    """
    for row in schedule.get("tasks", ()):
        for file in problem.tasks[problem.task_index[row["id"]]].inputs:
            if not stays.covers(
                file, row["node"], row["start_seconds"], row["end_seconds"]
            ):
                text = (
                    f"computes on {row['node']} without its input {file} all the while"
                )
                yield violation("staging", row["id"], text)


def _copy_entries(
    schedule: Schedule, stays: Stays, copies: Mapping[tuple[str, str], int]
) -> Iterable[Violation]:
    """Check that every copy entry of a queue is done once, at a time when its file is
    complete on the node.
    """
    left = dict(copies)
    for row in schedule.get("copy_entries", ()):
        file = row["file"]
        node = row["node"]
        at = row["seconds"]
        left[file, node] = left.get((file, node), 0) - 1
        if not stays.covers(file, node, at, at):
            text = (
                f"is said to be copied to {node} by {at:g} s, where it is not "
                "complete then"
            )
            yield violation("copy entry", file, text)
    for (file, node), count in left.items():
        if count:
            text = (
                f"the queue of {node} asks for {abs(count)} "
                f"{'more' if count > 0 else 'fewer'} copies of it"
            )
            yield violation("copy entry", file, text, abs(count))


def _transfers(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """Check that each copy comes from a node on which the file is complete until the
    copy has ended.

    A node must not receive more files at a time than its staging option allows.
    """
    yield from (v for v in stays.found if v.rule == "transfer")
    into: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for move in schedule.get("transfers", ()):
        file = move["file"]
        source = move["source"]
        start = move["start_seconds"]
        if move["destination"] is None:
            continue
        into[move["destination"]].append((start, move["end_seconds"], file))
        if source == move["destination"]:
            yield violation("transfer", file, f"copied from {source} to itself")
        elif source is not None and not stays.covers(
            file, source, start, move["end_seconds"]
        ):
            text = (
                f"copied at {start:g} s from {source}, which does not hold it all the "
                "while"
            )
            yield violation("transfer", file, text)
    for node, rows in into.items():
        coming: list[tuple[float, float, str]] = []
        for after in sorted(rows):
            coming = [row for row in coming if late(row[1], after[0])]
            if len(coming) >= problem.nodes[problem.node_index[node]].staging:
                before = min(coming, key=lambda row: row[1])
                text = f"starts to arrive at {node} while {before[2]} is arriving"
                yield violation("transfer", after[2], text, before[1] - after[0])
            coming.append(after)


def _rates(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    """Check that no transfer is faster than its slowest pipe allows, and that each pipe
    can carry its transfers.
    """
    pipes: dict[str, tuple[float, list[Load]]] = {}
    for move in schedule.get("transfers", ()):
        file = problem.files[problem.file_index[move["file"]]]
        load = Load(move["start_seconds"], move["end_seconds"], file.bytes, file.id)
        through = pipes_of(problem, move, file)
        short = too_fast([rate for _, rate in through], load)
        if short:
            seconds = f"{load.end - load.start:g} s"
            text = (
                f"{file.bytes} bytes reach {move['destination'] or 'storage'} in "
                f"{seconds}, too fast"
            )
            yield violation("rate", file.id, text, short)
            continue
        for pipe, rate in through:
            pipes.setdefault(pipe, (rate, []))[1].append(load)
    for row in schedule.get("tasks", ()):
        use = _disk_use(problem, row)
        if use is None:
            continue
        pipe, rate = _doors(problem, row["node"])[-1]
        short = too_fast([rate], use)
        if short:
            text = (
                f"reads and writes {use.size} bytes in {use.end - use.start:g} s on "
                f"{row['node']}, too fast for its disk"
            )
            yield violation("rate", row["id"], text, short)
            continue
        pipes.setdefault(pipe, (rate, []))[1].append(use)
    for pipe, (rate, loads) in pipes.items():
        for load, left in overloads(rate, loads):
            text = f"at {rate:g} bytes/s it cannot end {load.item} by {load.end:g} s"
            yield violation("rate", pipe, text, left)


def pipes_of(
    problem: ReplicationProblem, move: Schedule, file: File
) -> list[tuple[str, float]]:
    """Return (name, bytes/s) of each pipe that a transfer passes (timeline rule 5).

    Pipes are the interfaces and disks of nodes, the remote link, and the disk of a
    storage.
    """
    network = problem.network
    target = move["destination"]
    source = move["source"]
    if target is None:  # a save uses the pipes of a fetch to the node that saves
        target = source
        source = None

    through = _doors(problem, target)
    if source is not None:
        if source != target:
            through += _doors(problem, source)
        return through
    link = "the remote link"
    if network.remote_link == "per-node":
        link = f"the remote link of {target}"
    through.append((link, network.remote_bytes_per_second))
    if file.storage is not None:
        speeds = {storage.id: storage.bytes_per_second for storage in problem.storages}
        through.append((f"storage {file.storage}", speeds[file.storage]))
    return through


def _doors(problem: ReplicationProblem, name: str) -> list[tuple[str, float]]:
    """Return (name, bytes/s) of the slower of a node's interface and disk, because
    transfers pass both; and of both if tasks use the disk too.
    """
    disk = problem.nodes[problem.node_index[name]].disk_bytes_per_second
    interface = problem.network.replica_bytes_per_second
    doors = [(f"the interface of {name}", interface)]
    if disk is None:
        return doors
    if problem.task_disk:
        return [*doors, (f"the disk of {name}", disk)]
    return [(f"the disk of {name}", disk)] if disk < interface else doors


def _disks(problem: ReplicationProblem, stays: Stays) -> Iterable[Violation]:
    """Check that at every instant the files on a node, including arriving ones, fit its
    disk.
    """
    sizes = {file.id: file.bytes for file in problem.files}
    changes: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for (file, where), listed in stays.of.items():
        for stay in listed:
            changes[where].append((stay.start, sizes[file]))
            if stay.end < math.inf:
                changes[where].append((stay.end, -sizes[file]))
    for node in problem.nodes:
        if node.disk_bytes is None:
            continue
        used = worst = 0
        when = 0.0
        # Files evicted at an instant are gone before other files start to arrive at
        # that instant.
        for time, change in sorted(changes[node.id]):
            used += change
            if used > worst:
                worst = used
                when = time
        if worst > node.disk_bytes:
            text = (
                f"holds {worst} bytes at {when:g} s, but its disk holds "
                f"{node.disk_bytes}"
            )
            yield violation("(21) disk", node.id, text, worst - node.disk_bytes)


SAME_RATE = 1e-9
"""Relative difference below which rates count as equal."""


def option_violations(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule
) -> list[Violation]:
    """Return the violations in *schedule* of the options that *plan* sets.

    All names in the schedule must be known.
    """
    if plan.bound_moves is not None:
        from ioopt.checks.replication.bound import bound_violations

        return bound_violations(problem, plan, schedule)
    found: list[Violation] = []
    if problem.is_shared:
        return found  # nothing is staged or copied
    if plan.dispatches is None:
        found.extend(_depths(problem, schedule))
    if plan.carry_out:
        return [*found, *_carried(plan, schedule)]
    if plan.sources == "least-loaded":
        found += _sources(problem, schedule, stays_of(problem, schedule))
    by_entries = bool(schedule.get("copy_entries"))
    if plan.room != "missing" and not plan.barriers and not by_entries:
        found += _rooms(problem, plan, schedule, stays_of(problem, schedule))
    return found


def _carried(plan: ReplicationPlan, schedule: Schedule) -> Iterator[Violation]:
    """Check timeline rule 7: the schedule makes each move of the plan as often as the
    plan states, and no other move.
    """
    wanted: Counter[tuple[str, str | None, str]] = Counter()
    for remote, copies in plan.moves_by_round():
        wanted.update((file, None, node) for file, node in remote)
        wanted.update(copies)
    done = Counter(
        (row["file"], row["source"], row["destination"])
        for row in schedule.get("transfers", ())
    )
    for file, source, target in sorted(wanted.keys() | done.keys(), key=str):
        more = done[file, source, target] - wanted[file, source, target]
        if more:
            text = (
                f"the number of moves from {source or 'the storage'} to {target} "
                f"differs from the plan by {more:+}"
            )
            yield violation("carry out", file, text, abs(more))


def _rooms(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule, stays: Stays
) -> Iterator[Violation]:
    """Check timeline rule 8: when a task ends, enough bytes are free for the tasks that
    follow on its node.

    Files that are being sent at that instant may stay in addition.
    """
    size_of = {task.id: problem.task_bytes(k) for k, task in enumerate(problem.tasks)}
    ends = {row["id"]: row["end_seconds"] for row in schedule.get("tasks", ())}
    round_of: dict[str, int] = {}
    for number, part in enumerate(plan.rounds or ()):
        for name in part.tasks:
            round_of[name] = number
    for node in problem.nodes:
        if node.disk_bytes is None:
            continue
        queue = [
            entry for entry in plan.order.get(node.id, ()) if isinstance(entry, str)
        ]
        for place, (before, after) in enumerate(pairwise(queue), start=1):
            if plan.rounds and round_of.get(before) == round_of.get(after):
                continue
            room = _room_wanted(plan.room, [size_of[name] for name in queue[place:]])
            kept = _bytes_kept(problem, schedule, stays, node.id, ends[before])
            if kept + room > node.disk_bytes:
                text = (
                    f"keeps {kept} bytes after {before}, where {room} of "
                    f"{node.disk_bytes} are to be free"
                )
                yield violation("room", node.id, text, kept + room - node.disk_bytes)


def _room_wanted(room: Room, waiting: Sequence[int]) -> int:
    """Return the number of bytes that the option *room* frees for the waiting tasks.

    *waiting* holds the bytes of each waiting task.
    """
    if room == "next":
        return waiting[0]
    if room == "mean":
        return math.ceil(sum(waiting) / len(waiting))
    return max(waiting)


def _files_sent(schedule: Schedule, node: str, time: float) -> set[str]:
    """Return the ids of the files that *node* is sending at *time*."""
    sent = set()
    for row in schedule.get("transfers", ()):
        begun = not late(row["start_seconds"], time)
        ended = late(time, row["end_seconds"])
        if row["source"] == node and begun and not ended:
            sent.add(row["file"])
    return sent


def _bytes_kept(
    problem: ReplicationProblem,
    schedule: Schedule,
    stays: Stays,
    node: str,
    time: float,
) -> int:
    """Return the number of bytes of the files that are on *node* both just before and
    just after *time*.

    Files that the node is sending at *time* do not count.
    """
    sent = _files_sent(schedule, node, time)
    total = 0
    for (file, where), listed in stays.of.items():
        if where != node or file in sent:
            continue
        if any(late(time, stay.start) and late(stay.end, time) for stay in listed):
            total += problem.files[problem.file_index[file]].bytes
    return total


def _depths(problem: ReplicationProblem, schedule: Schedule) -> Iterator[Violation]:
    """Check how far ahead files arrive on nodes that receive several files at once.

    Each file must be an input of one of the first n unstarted tasks in the node's
    queue, where n is the ``staging`` option of the node.
    """
    if schedule.get("copy_entries"):
        return  # copy entries queue with tasks, but no row says when they began to wait
    starts: dict[str, list[float]] = defaultdict(list)
    readers: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in schedule.get("tasks", ()):
        starts[run["node"]].append(run["start_seconds"])
        for file in problem.tasks[problem.task_index[run["id"]]].inputs:
            readers[file, run["node"]].append(run["start_seconds"])
    for times in starts.values():
        times.sort()
    for row in schedule.get("transfers", ()):
        target = row["destination"]
        if target is None:
            continue
        depth = problem.nodes[problem.node_index[target]].staging
        start = row["start_seconds"]
        after = [
            time
            for time in readers[row["file"], target]
            if not late(row["end_seconds"], time)
        ]
        before = bisect_right(starts[target], start + time_slack(start))
        first = bisect_left(starts[target], min(after, default=math.inf))
        if depth > 1 and first >= before + depth:
            text = (
                f"comes to {target} at {start:g} s for a task that is not among the "
                f"first {depth} in the queue"
            )
            yield violation("staging", row["file"], text)


def _holders(
    problem: ReplicationProblem, stays: Stays, file: str, time: float
) -> list[str]:
    """Return the ids of the nodes on which *file* is complete both just before and just
    after *time*.
    """
    return [
        node.id
        for node in problem.nodes
        if any(
            late(time, s.ready) and late(s.end, time)
            for s in stays.of.get((file, node.id), ())
        )
    ]


class _Loads:
    """Count the transfers that cross each pipe at an instant."""

    def __init__(self, problem: ReplicationProblem, moves: Iterable[Schedule]) -> None:
        self._problem = problem
        self._of: dict[str, tuple[list[float], list[float]]] = defaultdict(
            lambda: ([], [])
        )
        for row in moves:
            file = problem.files[problem.file_index[row["file"]]]
            for pipe, _ in pipes_of(problem, row, file) if file.bytes else ():
                self._of[pipe][0].append(row["start_seconds"])
                self._of[pipe][1].append(row["end_seconds"])
        for starts, ends in self._of.values():
            starts.sort()
            ends.sort()

    def share(self, pipe: tuple[str, float], time: float, most: bool) -> float:
        """Return the largest possible share, in bytes/s, of a pipe's rate that one more
        transfer can get at *time*.

        If *most* is False, return the least possible share. Transfers that begin or end
        exactly at *time* may or may not count.
        """
        name, rate = pipe
        starts, ends = self._of[name]
        slack = time_slack(time)
        if most:
            count = bisect_left(starts, time - slack) - bisect_right(ends, time + slack)
        else:
            count = bisect_right(starts, time + slack) - bisect_left(ends, time - slack)
        return rate / (max(0, count) + 1)

    def rate(
        self, file: File, source: str | None, target: str, time: float, most: bool
    ) -> float:
        """Return the largest possible rate, in bytes/s, at which *file* could come from
        *source* to *target* at *time*.

        If *most* is False, return the least possible rate. The target's own interface
        is left out, because all sources share it.
        """
        move = {"source": source, "destination": target}
        own = len(_doors(self._problem, target))
        way = pipes_of(self._problem, move, file)[own:]
        return min(self.share(pipe, time, most) for pipe in way)


def _sources(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterator[Violation]:
    """Check for each transfer that no other source would have been faster (workflow
    rule 22).

    The rate of a pipe is divided equally among the transfers that were crossing it.
    """
    moves = schedule.get("transfers", ())
    saved = saved_at(schedule)
    loads = _Loads(problem, moves)
    for row in moves:
        target = row["destination"]
        if target is None:
            continue
        name = row["file"]
        time = row["start_seconds"]
        file = problem.files[problem.file_index[name]]
        others: list[str | None] = []
        for node in _holders(problem, stays, name, time):
            if node != target and node != row["source"]:
                others.append(node)
        product = problem.producer[problem.file_index[name]] >= 0
        if row["source"] and (not product or late(time, saved.get(name, math.inf))):
            others.append(None)
        own = loads.rate(file, row["source"], target, time, most=True)
        for source in others:
            rate = loads.rate(file, source, target, time, most=False)
            if rate > own * (1 + SAME_RATE):
                text = (
                    f"comes to {target} at {time:g} s from a source slower than "
                    f"{source or 'the storage'}"
                )
                yield violation("source", name, text)
