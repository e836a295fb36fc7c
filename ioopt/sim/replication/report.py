"""Report a replay of the replication family: metrics, schedule, timeline.

For workflows, the finished schedule is extended for pictures and traces: with the bytes
on disks over time, and the critical path.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from math import inf
from typing import Any

from ioopt.problems.base import Json
from ioopt.problems.replication import (
    LinkModel,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Simulation
from ioopt.sim.replication.world import Run, World
from ioopt.timeline import (
    Interval,
    Timeline,
    replication_timeline,
    slack_of,
    steps_of,
)


@dataclass(frozen=True)
class Listed:
    """The entries of a plan's queues: all tasks, then its copy entries.

    ``names`` and ``nodes`` are those of each entry, ``copy_files`` the file of each
    copy entry, and ``queues`` the entries of each node in order.
    """

    names: Sequence[str]
    nodes: Sequence[int]
    copy_files: Sequence[int]
    queues: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Replay:
    """A replay that has ended: its records, with a log, its entries and its end."""

    world: World
    listed: Listed
    makespan_seconds: float


def report(
    problem: ReplicationProblem,
    link: LinkModel | None,
    replay: Replay,
    actual: Mapping[str, float] | None,
) -> Simulation:
    """Return the schedule, the metrics and the timeline of *replay*.

    *actual* are the compute seconds of tasks that differ from the planned ones, keyed
    by task id.
    """
    makespan = replay.makespan_seconds
    metrics = metrics_of(problem, link, replay.world.run, makespan)
    schedule = schedule_of(problem, replay)
    schedule["link"] = metrics["link_model"]
    if actual is not None:
        schedule["actual_compute_seconds"] = dict(actual)
    if problem.is_workflow:
        metrics["cores_busy"] = cores_busy(problem, schedule["tasks"], makespan)
        tell(problem, schedule)
    return Simulation(schedule, metrics, timeline_of(problem, schedule))


def other_moves(plan: ReplicationPlan, schedule: Json) -> tuple[str, ...]:
    """Return a note if the replay of a plan of the static model made other transfers
    than the plan states; else nothing.

    The additive time of such a plan and its makespan are those of other transfers.
    """
    stated = plan.moves == "static" and plan.rounds is None and not plan.carry_out
    if not stated or plan.barriers:
        return ()
    own: set[tuple[str, str | None, str]] = set(plan.copies)
    own.update((file, None, node) for file, node in plan.remote)
    made: set[tuple[str, str | None, str]] = set()
    for row in schedule["transfers"]:
        made.add((row["file"], row["source"], row["destination"]))
    if own == made:
        return ()
    return (
        "additive is of the plan's transfers, makespan of the replay's, which differ; "
        "`ioopt simulate INSTANCE RESULT --set moves=plan` replays those of the plan",
    )


def cores_busy(
    problem: ReplicationProblem, runs: Sequence[Mapping[str, Any]], makespan: float
) -> float:
    """Return the share of all core-seconds up to the makespan in which tasks
    compute.
    """
    if makespan == 0:
        return 0.0
    used = math.fsum(
        problem.tasks[problem.task_index[run["id"]]].cores
        * (run["end_seconds"] - run["start_seconds"])
        for run in runs
    )
    return used / (makespan * sum(node.cores for node in problem.nodes))


def metrics_of(
    problem: ReplicationProblem,
    link: LinkModel | None,
    run: Run,
    makespan: float,
) -> Json:
    """Return the metrics of a replay that ended at *makespan* seconds."""
    metrics: Json = {
        "makespan_seconds": makespan,
        "link_model": link or problem.network.remote_link,
        "remote_bytes": run.remote_bytes,
        "replica_bytes": run.replica_bytes,
        "remote_transfers": run.fetches,
        "replications": run.transfers - run.fetches - run.saves,
        "evictions": run.evictions,
    }
    if problem.is_workflow:
        metrics |= {
            "saved_bytes": run.saved_bytes,
            "spills": run.spills,
            "products_refetched": run.refetched,
        }
    if problem.is_shared:
        metrics["cached_bytes"] = run.cached_bytes
    return metrics


def schedule_of(problem: ReplicationProblem, replay: Replay) -> Json:
    """Return the schedule of a replay."""
    world = replay.world
    names = replay.listed.names
    owner = replay.listed.nodes
    copy_files = replay.listed.copy_files
    cores = core_numbers(problem, replay)
    nodes = [node.id for node in problem.nodes]
    files = [file.id for file in problem.files]
    num_tasks = len(problem.tasks)

    def place(node: int) -> str | None:
        """Return the id of node number *node*; None for -1, the remote storage."""
        return None if node < 0 else nodes[node]

    def by_start(k: int) -> tuple[float, int]:
        return world.entries[k].start, k

    def by_end(e: int) -> tuple[float, int]:
        return world.entries[e].end, e

    tasks = []
    for k in sorted(range(num_tasks), key=by_start):
        tasks.append(
            {
                "id": names[k],
                "node": nodes[owner[k]],
                "start_seconds": world.entries[k].start,
                "end_seconds": world.entries[k].end,
                "cores": cores[k],
            }
        )
    transfers = []
    for transfer in islice(world.transfers, world.run.transfers):
        transfers.append(
            {
                "file": files[transfer.file],
                "source": place(transfer.source),
                "destination": place(transfer.destination),
                "start_seconds": transfer.start,
                "end_seconds": transfer.end,
            }
        )
    evictions = []
    for eviction in islice(world.evictions, world.run.evictions):
        evictions.append(
            {
                "file": files[eviction.file],
                "node": nodes[eviction.node],
                "seconds": eviction.at,
            }
        )
    schedule: Json = {"tasks": tasks, "transfers": transfers, "evictions": evictions}
    if copy_files:
        done = []
        for e in sorted(range(num_tasks, len(names)), key=by_end):
            done.append(
                {
                    "file": files[copy_files[e - num_tasks]],
                    "node": nodes[owner[e]],
                    "seconds": world.entries[e].end,
                    "cores": cores[e],
                }
            )
        schedule["copy_entries"] = done
    return schedule


def timeline_of(problem: ReplicationProblem, schedule: Json) -> Timeline:
    """Return the schedule of a replay as a timeline of intervals, for traces and
    exports.
    """
    sizes = {file.id: file.bytes for file in problem.files}
    nodes = [n.id for n in problem.nodes]
    timeline = replication_timeline(schedule, nodes, sizes)
    if not problem.is_workflow:
        return timeline
    live = {
        f"{node} live bytes": disk["live"] for node, disk in schedule["disks"].items()
    }
    return replace(timeline, flows=tuple(flows_of(problem, timeline)), counters=live)


def flows_of(
    problem: ReplicationProblem, timeline: Timeline
) -> Iterator[tuple[Interval, Interval]]:
    """Yield arrows from the task that makes a file to each task that reads it.

    An arrow is a pair of intervals. If the file was transferred to the reader's node,
    one arrow leads to the transfer and another from there to the reader.
    """
    came: dict[tuple[str, str], list[Interval]] = {}
    runs: dict[str, Interval] = {}
    for item in sorted(timeline.intervals, key=lambda item: item.end):
        if item.kind == "compute":
            runs.setdefault(item.label, item)
        elif item.kind != "save":
            came.setdefault((item.label, item.resource), []).append(item)
    for f, file in enumerate(problem.files):
        if problem.producer[f] < 0:
            continue
        maker = runs[problem.tasks[problem.producer[f]].id]
        for k in problem.readers[f]:
            reader = runs[problem.tasks[k].id]
            moves = came.get((file.id, reader.resource), ())
            in_time = [move for move in moves if move.end <= reader.start]
            yield from pairwise([maker, *in_time[-1:], reader])


Rows = list[Json]


def tell(problem: ReplicationProblem, schedule: Json) -> None:
    """Add to *schedule* the mark ``critical`` of rows on the critical path, and the key
    ``disks``, which is empty on shared storage.
    """
    schedule["disks"] = {} if problem.is_shared else disks(problem, schedule)
    for row in critical_rows(problem, schedule):
        row["critical"] = True


def core_numbers(problem: ReplicationProblem, replay: Replay) -> list[list[int]]:
    """Return, for each entry, the numbers of the cores of its node that it takes: those
    that have been idle longest (workflow rule 3).

    Ties go to the lowest number. A copy entry takes one core.
    """
    entries = replay.world.entries
    found: list[list[int]] = [[] for _ in entries]
    for node, queue in zip(problem.nodes, replay.listed.queues, strict=True):
        since = [0.0] * node.cores
        for e in queue:
            start = entries[e].start
            by = start + slack_of(start)
            free = [c for c, time in enumerate(since) if time <= by]
            free.sort(key=since.__getitem__)
            found[e] = sorted(free[: entries[e].cores])
            for c in found[e]:
                since[c] = entries[e].end
    return found


def disks(problem: ReplicationProblem, schedule: Mapping[str, Any]) -> Json:
    """Return, for each node, the ``bytes`` of its disk, and the ``used`` and ``live``
    bytes over time.

    ``used`` and ``live`` are lists of [seconds, bytes]. Used bytes are those of
    complete files, of arriving files and of outputs being written (workflow rule 5).
    Live bytes are those used bytes that some unfinished task reads or that must still
    be saved.
    """
    ends = {run["id"]: run["end_seconds"] for run in schedule["tasks"]}
    saved = {
        row["file"]: row["end_seconds"]
        for row in schedule["transfers"]
        if row["destination"] is None
    }
    wanted_until = []
    for f, file in enumerate(problem.files):
        readers = [ends[problem.tasks[k].id] for k in problem.readers[f]]
        kept = file.keep and problem.producer[f] >= 0
        wanted_until.append(
            max([*readers, saved.get(file.id, inf) if kept else 0.0], default=0.0)
        )
    used: dict[str, dict[float, int]] = defaultdict(lambda: defaultdict(int))
    live: dict[str, dict[float, int]] = defaultdict(lambda: defaultdict(int))
    for node, f, start, end in _stays(problem, schedule):
        size = problem.files[f].bytes
        last = min(end, wanted_until[f])
        used[node][start] += size
        used[node][end] -= size
        if last > start:
            live[node][start] += size
            live[node][last] -= size
    return {
        node.id: {
            "bytes": node.disk_bytes,
            "used": steps_of(used[node.id]),
            "live": steps_of(live[node.id]),
        }
        for node in problem.nodes
    }


def _stays(
    problem: ReplicationProblem, schedule: Mapping[str, Any]
) -> Iterator[tuple[str, int, float, float]]:
    """Yield (node, file, from, until) for every copy of a file on a disk; *until* is
    infinity for a copy that stays.
    """
    begun: dict[tuple[str, int], list[float]] = defaultdict(list)
    gone: dict[tuple[str, int], list[float]] = defaultdict(list)
    for holder, held in zip(problem.nodes, problem.holds):
        for f in held:
            begun[holder.id, f].append(0.0)
    for run in schedule["tasks"]:
        for f in problem.outputs[problem.task_index[run["id"]]]:
            begun[run["node"], f].append(run["start_seconds"])
    for row in schedule["transfers"]:
        if row["destination"] is not None:
            f = problem.file_index[row["file"]]
            begun[row["destination"], f].append(row["start_seconds"])
    for row in schedule["evictions"]:
        gone[row["node"], problem.file_index[row["file"]]].append(row["seconds"])
    for (node, f), starts in begun.items():
        left = sorted(gone[node, f])
        for n, start in enumerate(sorted(starts)):
            yield node, f, start, left[n] if n < len(left) else inf


def critical_rows(problem: ReplicationProblem, schedule: Mapping[str, Any]) -> Rows:
    """Return the rows of tasks and transfers that determined the makespan, from the
    last to the first.

    Each row is followed by a row that ended when it began. A task is followed by the
    transfer of an input or by the task that made an input, else by the row that freed
    its cores. A transfer is followed by the row that made or saved its file, else by
    the previous arrival at its node. If there is no such row either, it is followed by
    the row that let the previous task start, because the node could then stage the next
    one. If no such row ended at that time, any row that did follows.
    """
    runs = schedule["tasks"]
    # On shared storage, the reads and writes of a task are part of its time.
    moves = [] if problem.is_shared else schedule["transfers"]
    ending = _Ends([*moves, *runs])
    starting = _Ends(runs, "start_seconds")
    keep = {file.id for file in problem.files if file.keep}
    last = [
        *runs,
        *(row for row in moves if row["destination"] is None and row["file"] in keep),
    ]
    row = max(last, key=lambda row: row["end_seconds"], default=None)
    found: Rows = []
    seen: set[int] = set()
    while row is not None and id(row) not in seen:
        found.append(row)
        seen.add(id(row))
        row = _before(problem, row, ending, starting)
    return found


def _before(
    problem: ReplicationProblem, row: Json, ending: _Ends, starting: _Ends
) -> Json | None:
    """Return the row that let *row* begin; None if *row* began at time 0 or with the
    arrival of a task.
    """
    start = row["start_seconds"]
    ended = [other for other in ending.at(start) if other is not row]
    begun = [row]
    if "id" in row:
        node = row["node"]
    else:
        node = row["destination"] or row["source"]
        begun += [run for run in reversed(starting.at(start)) if run["node"] == node]
    for other in begun:
        cause = _cause(problem, other, node, ended)
        if cause:
            return cause
    return ended[-1] if ended and start > 0 else None


class _Ends:
    """Find rows of a schedule by the instant at which they end, or at which they
    start.
    """

    def __init__(self, rows: Rows, key: str = "end_seconds") -> None:
        self.rows = sorted(rows, key=lambda row: row[key])
        self.times = [row[key] for row in self.rows]

    def at(self, time: float) -> Rows:
        """Return the rows that end (or start) at the instant *time*."""
        low = time - slack_of(time)
        high = time + slack_of(time)
        return self.rows[bisect_left(self.times, low) : bisect_right(self.times, high)]


def _cause(
    problem: ReplicationProblem, row: Mapping[str, Any], node: str, ended: Rows
) -> Json | None:
    """Return the row among *ended* that let *row* begin; None if none of them did.

    *ended* are the rows that ended when *row* began, which is on *node*.
    """
    if "file" in row:
        inputs = {row["file"]}
    else:
        inputs = _files(problem, row["id"])[0]

    def rank(other: Mapping[str, Any]) -> int:
        """Return the rank of *other* as a cause: 0 for the likeliest cause, 4 for no
        cause.
        """
        if "id" in other:
            if inputs & _files(problem, other["id"])[1]:
                return 1
            return 3 if other["node"] == node else 4
        target = other["destination"]
        if other["file"] in inputs and target in (node, None):
            return 0
        return 2 if node in (target, other["source"]) else 4

    best = min(ended, key=rank, default=None)
    if best is None or rank(best) == 4:
        return None
    return best


def _files(problem: ReplicationProblem, task: str) -> tuple[set[str], set[str]]:
    """Return two sets of file ids: the inputs and the outputs of the task with id
    *task*.
    """
    found = problem.tasks[problem.task_index[task]]
    return set(found.inputs), set(found.outputs)
