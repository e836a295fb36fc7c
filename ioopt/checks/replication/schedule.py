"""Check of a replayed schedule: what no timeline may do, whatever
planner and policy made it.

Options beyond the rules (workflow rules 21 and 22) are judged from the schedule too.
What happens within one instant has an order that it does not tell, so a choice is wrong
only if it is, whatever the order.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from ioopt.checks import Load, overloads, time_slack, too_fast
from ioopt.checks.replication.workflow import (
    Stay,
    Stays,
    late,
    saved_at,
    workflow_violations,
)
from ioopt.problems.replication import File, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Schedule
from ioopt.result import Violation, violation


def schedule_violations(
    problem: ReplicationProblem,
    queues: Mapping[str, Sequence[str]],
    schedule: Schedule,
    copies: Mapping[tuple[str, str], int],
) -> list[Violation]:
    """Everything that *schedule* (tasks, transfers, evictions) does wrong.

    *queues* are the tasks of each node in order, by id; *copies* how often each (file,
    node) is a copy entry of a queue.
    """
    unknown = [*_unknown(problem, schedule), *_instants(schedule)]
    if unknown:
        return unknown
    stays = stays_of(problem, schedule)
    return [
        *_tasks(problem, queues, schedule),
        *_staging(problem, schedule, stays),
        *_copy_entries(schedule, stays, copies),
        *_transfers(problem, schedule, stays),
        *_rates(problem, schedule),
        *(v for v in stays.found if v.rule == "eviction"),
        *_disks(problem, stays),
        *(workflow_violations(problem, schedule, stays) if problem.is_workflow else ()),
    ]


def _unknown(problem: ReplicationProblem, schedule: Schedule) -> Iterable[Violation]:
    def missing(where: str, what: str, name: str) -> Violation:
        return violation("unknown", str(name), f"{where} names no {what}")

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
        ends = row["source"], row["destination"]
        # From the remote storage to a node, between nodes or, a save
        # of a workflow, back.
        saved = problem.is_workflow and ends[0] is not None
        for name, remote in zip(ends, (True, saved), strict=True):
            if not (name is None and remote) and name not in problem.node_index:
                yield missing("schedule.transfers", "node", name)
    for name in schedule.get("actual_compute_seconds") or ():
        if name not in problem.task_index:
            yield missing("schedule.actual_compute_seconds", "task", name)


def _instants(schedule: Schedule) -> Iterable[Violation]:
    """Every instant is a number from 0 on, and nothing ends before it starts."""
    for part, name in (("tasks", "id"), ("transfers", "file")):
        for row in schedule.get(part, ()):
            start, end = row["start_seconds"], row["end_seconds"]
            if not 0 <= start <= end < math.inf:
                text = f"is said to last from {start!r} to {end!r} s"
                yield violation("instants", str(row[name]), text)
    for part in ("evictions", "copy_entries"):
        for row in schedule.get(part, ()):
            if not 0 <= row["seconds"] < math.inf:
                text = f"is said to happen at {row['seconds']!r} s"
                yield violation("instants", str(row["file"]), text)


def stays_of(problem: ReplicationProblem, schedule: Schedule) -> Stays:
    """When each file was on each node, and what of that does not fit together."""
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
    gone: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in schedule.get("evictions", ()):
        gone[row["file"], row["node"]].append(row["seconds"])
    for key, times in gone.items():
        _match(stays, key, sorted(times))
    for (file, where), listed in stays.of.items():
        for before, after in pairwise(listed):
            if late(before.end, after.start):
                text = f"brought to {where} at {after.start:g} s, where it is already"
                stays.found.append(violation("transfer", file, text))
    return stays


def _match(stays: Stays, key: tuple[str, str], times: list[float]) -> None:
    """End each stay by the first eviction that follows its arrival."""
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
    """Each task once, on its node, in queue order, one at a time, for
    compute / speed seconds.
    """
    ran: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    seen: set[str] = set()
    actual = schedule.get("actual_compute_seconds") or {}
    for row in schedule.get("tasks", ()):
        name, start, end = row["id"], row["start_seconds"], row["end_seconds"]
        if name in seen:
            yield violation("schedule", name, "runs twice")
        seen.add(name)
        ran[row["node"]].append((start, end, name))
        node = problem.nodes[problem.node_index[row["node"]]]
        planned = problem.tasks[problem.task_index[name]].compute_seconds
        wanted = actual.get(name, planned) / node.speed
        if not math.isclose(end - start, wanted, rel_tol=1e-6, abs_tol=time_slack(end)):
            text = f"computes {end - start:g} s on {node.id}, which takes {wanted:g} s"
            yield violation("duration", name, text, abs(end - start - wanted))
    for task in problem.tasks:
        if task.id not in seen:
            yield violation("schedule", task.id, "never runs")
    for node in problem.nodes:
        place = {name: k for k, name in enumerate(queues.get(node.id, ()))}
        rows = ran[node.id]
        for _, _, name in rows:
            if name not in place:
                yield violation("order", name, f"not in the queue of {node.id}")
        alone = node.cores == 1
        rows.sort(
            key=lambda row: (row[0], row[1] if alone else 0.0, place.get(row[2], 0))
        )
        for before, after in pairwise(rows):
            if place.get(before[2], -1) > place.get(after[2], len(place)):
                text = (
                    f"runs on {node.id} before {after[2]}, which is queued ahead of it"
                )
                yield violation("order", before[2], text)
            if alone and late(before[1], after[0]):
                text = f"starts on {node.id} while {before[2]} still computes"
                yield violation("overlap", after[2], text, before[1] - after[0])


def _staging(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """All inputs are complete on the node from the start of the task to its end."""
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
    """Every copy entry of a queue is done once, at an instant at which its
    file is complete there.
    """
    left = dict(copies)
    for row in schedule.get("copy_entries", ()):
        file, node, at = row["file"], row["node"], row["seconds"]
        left[file, node] = left.get((file, node), 0) - 1
        if not stays.covers(file, node, at, at):
            text = (
                f"is said to be copied to {node} by {at:g} s, where it is not "
                "complete then"
            )
            yield violation("copy entry", file, text)
    for (file, node), count in left.items():
        if count:
            text = f"the queue of {node} asks for {count} more copies of it"
            yield violation("copy entry", file, text, abs(count))


def _transfers(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterable[Violation]:
    """Copies come from complete holders that keep the file; so many at a
    time as a node stages.
    """
    yield from (v for v in stays.found if v.rule == "transfer")
    into: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for move in schedule.get("transfers", ()):
        file, source, start = move["file"], move["source"], move["start_seconds"]
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
    """No transfer is faster than its slowest pipe; at every instant each
    pipe can carry its own.
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
    for pipe, (rate, loads) in pipes.items():
        for load, left in overloads(rate, loads):
            text = f"at {rate:g} bytes/s it cannot end {load.item} by {load.end:g} s"
            yield violation("rate", pipe, text, left)


def pipes_of(
    problem: ReplicationProblem, move: Schedule, file: File
) -> list[tuple[str, float]]:
    """Names and rates of what a transfer passes (timeline rule 5): nodes,
    remote link, storage disk.
    """
    network, target, source = problem.network, move["destination"], move["source"]
    if target is None:  # a save crosses what a fetch to its sender would
        target, source = source, None

    def door(name: str) -> tuple[str, float]:
        """What of a node is slower, its interface or its disk: the same
        transfers pass both.
        """
        disk = problem.nodes[problem.node_index[name]].disk_bytes_per_second or math.inf
        nic = network.replica_bytes_per_second
        return (
            f"the {'disk' if disk < nic else 'interface'} of {name}",
            min(nic, disk),
        )

    through = [door(target)]
    if source is not None:
        return through if source == target else [*through, door(source)]
    owner = f" of {target}" if network.remote_link == "per-node" else ""
    through.append((f"the remote link{owner}", network.remote_bytes_per_second))
    if file.storage is not None:
        speeds = {storage.id: storage.bytes_per_second for storage in problem.storages}
        through.append((f"storage {file.storage}", speeds[file.storage]))
    return through


def _disks(problem: ReplicationProblem, stays: Stays) -> Iterable[Violation]:
    """At every instant the files on a node, arriving ones included, fit its disk."""
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
        # What is evicted at an instant is gone before what starts to
        # arrive at that instant.
        for time, change in sorted(changes[node.id]):
            used += change
            if used > worst:
                worst, when = used, time
        if worst > node.disk_bytes:
            text = (
                f"holds {worst} bytes at {when:g} s, but its disk holds "
                f"{node.disk_bytes}"
            )
            yield violation("(21) disk", node.id, text, worst - node.disk_bytes)


SAME_RATE = 1e-9
"""Rates that differ by a smaller share are the same."""


def option_violations(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule
) -> list[Violation]:
    """What *schedule*, whose names are all known, does that the options of
    *plan* do not allow.
    """
    found = list(_depths(problem, schedule)) if plan.dispatches is None else []
    if plan.carry_out:
        return [*found, *_carried(plan, schedule)]
    if plan.sources == "least-loaded":
        found += _sources(problem, schedule, stays_of(problem, schedule))
    if (
        plan.room != "missing"
        and not plan.barriers
        and not schedule.get("copy_entries")
    ):
        found += _rooms(problem, plan, schedule, stays_of(problem, schedule))
    return found


def _carried(plan: ReplicationPlan, schedule: Schedule) -> Iterator[Violation]:
    """Timeline rule 7: the moves of the plan, each as often as it
    states it, and no others.
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
                f"comes from {source or 'the storage'} to {target} {more:+} times "
                "more than planned"
            )
            yield violation("carry out", file, text, abs(more))


def _rooms(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule, stays: Stays
) -> Iterator[Violation]:
    """Timeline rule 8: as a task ends, so many bytes are free
    beside what is being sent.
    """
    sizes = {file.id: file.bytes for file in problem.files}
    size_of = {task.id: problem.task_bytes(k) for k, task in enumerate(problem.tasks)}
    part_of = {
        name: r for r, part in enumerate(plan.rounds or ()) for name in part.tasks
    }
    ends = {row["id"]: row["end_seconds"] for row in schedule.get("tasks", ())}
    moves = schedule.get("transfers", ())
    for node in problem.nodes:
        if node.disk_bytes is None:
            continue
        queue = [
            entry for entry in plan.order.get(node.id, ()) if isinstance(entry, str)
        ]
        for place, (before, after) in enumerate(pairwise(queue), start=1):
            if plan.rounds and part_of.get(before) == part_of.get(after):
                continue
            waiting = [size_of[name] for name in queue[place:]]
            mean = math.ceil(sum(waiting) / len(waiting))
            room = {"next": waiting[0], "mean": mean, "largest": max(waiting)}[
                plan.room
            ]
            time = ends[before]
            sent = {
                row["file"]
                for row in moves
                if row["source"] == node.id
                and not late(row["start_seconds"], time)
                and not late(time, row["end_seconds"])
            }
            kept = sum(
                sizes[file]
                for (file, where), listed in stays.of.items()
                if where == node.id
                and file not in sent
                and any(late(time, s.start) and late(s.end, time) for s in listed)
            )
            if kept + room > node.disk_bytes:
                text = (
                    f"keeps {kept} bytes after {before}, where {room} of "
                    f"{node.disk_bytes} are to be free"
                )
                yield violation("room", node.id, text, kept + room - node.disk_bytes)


def _depths(problem: ReplicationProblem, schedule: Schedule) -> Iterator[Violation]:
    """Where several files may come in at once: each for one of the first so
    many unstarted tasks.
    """
    if schedule.get("copy_entries"):
        return  # they stand in the queues too, and no row tells when they began to wait
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
        depth, start = (
            problem.nodes[problem.node_index[target]].staging,
            row["start_seconds"],
        )
        after = [
            t for t in readers[row["file"], target] if not late(row["end_seconds"], t)
        ]
        before = bisect_right(starts[target], start + time_slack(start))
        first = bisect_left(starts[target], min(after, default=math.inf))
        if depth > 1 and first >= before + depth:
            text = (
                f"comes to {target} at {start:g} s for a task behind the first "
                f"{depth} there"
            )
            yield violation("staging", row["file"], text)


def _holders(
    problem: ReplicationProblem, stays: Stays, file: str, time: float
) -> list[str]:
    """The nodes on which a file is complete just before and just after an instant."""
    return [
        node.id
        for node in problem.nodes
        if any(
            late(time, s.ready) and late(s.end, time)
            for s in stays.of.get((file, node.id), ())
        )
    ]


class _Loads:
    """How many transfers cross each pipe at an instant."""

    def __init__(self, problem: ReplicationProblem, moves: Iterable[Schedule]) -> None:
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
        """The most, or least, that one more transfer gets of a pipe by
        what may be under way.
        """
        name, rate = pipe
        starts, ends = self._of[name]
        slack = time_slack(time)
        if most:
            count = bisect_left(starts, time - slack) - bisect_right(ends, time + slack)
        else:
            count = bisect_right(starts, time + slack) - bisect_left(ends, time - slack)
        return rate / (max(0, count) + 1)


def _sources(
    problem: ReplicationProblem, schedule: Schedule, stays: Stays
) -> Iterator[Violation]:
    """No other source would have been faster, by equal shares of what was under way."""
    moves, saved = schedule.get("transfers", ()), saved_at(schedule)
    loads = _Loads(problem, moves)
    for row in moves:
        name, target, time = row["file"], row["destination"], row["start_seconds"]
        if target is None:
            continue
        holders = [
            node for node in _holders(problem, stays, name, time) if node != target
        ]
        file = problem.files[problem.file_index[name]]
        product = problem.producer[problem.file_index[name]] >= 0
        others: list[str | None] = [node for node in holders if node != row["source"]]
        if row["source"] and (not product or late(time, saved.get(name, math.inf))):
            others.append(None)

        def rate(source: str | None, most: bool) -> float:
            way = pipes_of(problem, {"source": source, "destination": target}, file)[1:]  # noqa: B023
            return min(loads.share(pipe, time, most) for pipe in way)  # noqa: B023

        own = rate(row["source"], True)
        for source in others:
            if rate(source, False) > own * (1 + SAME_RATE):
                text = (
                    f"comes to {target} at {time:g} s from a source slower than "
                    f"{source or 'the storage'}"
                )
                yield violation("source", name, text)
