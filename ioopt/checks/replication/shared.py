"""Check schedules of workflows whose files are all on shared storage, and recompute the
bound of their makespan (workflow rules 26 to 30).

A schedule does not say which task a read belongs to, nor which files a cache refused.
Reads are therefore matched with the steps of tasks by their times, and a cache is
refuted only if no order of the events of an instant, and no choice of what it keeps,
explains the schedule.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from ioopt.checks import time_slack
from ioopt.checks.replication.workflow import late, times_of
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Schedule
from ioopt.result import Violation, violation

Key = tuple[str, str]
"""The ids of a file and of a node."""


class Interval(NamedTuple):
    """A time in seconds during which a file was surely in the cache of a node."""

    start: float
    end: float


def same(first: float, second: float) -> bool:
    """Return whether two times differ by rounding errors only."""
    return not late(first, second) and not late(second, first)


class _Reader:
    """Match the reads and writes of *schedule* with the steps of its tasks.

    ``cached`` lists the times at which tasks passed over a file, because they found it
    in the cache. ``found`` lists the violations.
    """

    def __init__(self, problem: ReplicationProblem, schedule: Schedule) -> None:
        self.problem = problem
        self.schedule = schedule
        self.found: list[Violation] = []
        self.cached: dict[Key, list[float]] = defaultdict(list)
        self.reads: dict[Key, list[Schedule]] = defaultdict(list)
        self.writes: dict[Key, list[Schedule]] = defaultdict(list)
        for row in schedule.get("transfers", ()):
            source = row["source"]
            target = row["destination"]
            if source is not None and target is not None:
                text = f"is copied from {source} to {target}, but nodes send no files"
                self.found.append(violation("transfer", row["file"], text))
            elif source is None:
                self.reads[row["file"], target].append(row)
            else:
                self.writes[row["file"], source].append(row)
        for row in schedule.get("tasks", ()):
            self._follow(row)

    def _take(
        self, rows: list[Schedule], time: float, key: str = "start_seconds"
    ) -> Schedule | None:
        """Remove and return a row that begins at *time*, or one whose *key* is that."""
        for row in rows:
            if same(row[key], time):
                rows.remove(row)
                return row
        return None

    def _follow(self, run: Schedule) -> None:
        """Follow one task through its steps, and compare the end."""
        problem = self.problem
        name = run["id"]
        where = run["node"]
        task = problem.tasks[problem.task_index[name]]
        node = problem.nodes[problem.node_index[where]]
        actual = self.schedule.get("actual_compute_seconds") or {}
        time = run["start_seconds"] + task.overhead_seconds
        for file in task.inputs:
            read = self._take(self.reads[file, where], time)
            if read is None:
                self.cached[file, where].append(time)
            else:
                time = read["end_seconds"]
        time += actual.get(name, task.compute_seconds) / node.speed
        for file in task.outputs:
            write = self._take(self.writes[file, where], time)
            if write is None:
                text = f"does not write {file} from {time:g} s on"
                self.found.append(violation("write", name, text))
                return
            time = write["end_seconds"]
        end = run["end_seconds"]
        if not math.isclose(end, time, rel_tol=1e-6, abs_tol=time_slack(end)):
            text = f"ends on {where} at {end:g} s, but its steps end at {time:g} s"
            self.found.append(violation("duration", name, text, abs(end - time)))

    def copy_entries(self) -> None:
        """Match what is left of the reads with the copy entries of the queues."""
        for row in self.schedule.get("copy_entries", ()):
            key = row["file"], row["node"]
            read = self._take(self.reads[key], row["seconds"], "end_seconds")
            if read is None:
                self.cached[key].append(row["seconds"])

    def left_over(self) -> Iterator[Violation]:
        """Yield a violation for each read or write that belongs to no task."""
        for what, rows_of in (("read", self.reads), ("written", self.writes)):
            for (file, node), rows in rows_of.items():
                for row in rows:
                    text = (
                        f"is {what} on {node} at {row['start_seconds']:g} s by no task"
                    )
                    yield violation("transfer", file, text)


def shared_violations(
    problem: ReplicationProblem,
    schedule: Schedule,
    copies: Mapping[tuple[str, str], int],
) -> list[Violation]:
    """Return the violations in *schedule* of the rules for shared storage.

    *copies* counts how often each pair (file id, node id) is a copy entry of a queue.
    """
    reader = _Reader(problem, schedule)
    reader.copy_entries()
    return [
        *reader.found,
        *reader.left_over(),
        *_copies_done(schedule, copies),
        *_made_before(problem, schedule),
        *_caches(problem, schedule, reader.cached),
    ]


def _copies_done(
    schedule: Schedule, copies: Mapping[tuple[str, str], int]
) -> Iterator[Violation]:
    """Check that every copy entry of a queue is done as often as it stands there."""
    left = dict(copies)
    for row in schedule.get("copy_entries", ()):
        key = row["file"], row["node"]
        left[key] = left.get(key, 0) - 1
    for (file, node), count in left.items():
        if count:
            text = f"the queue of {node} asks for {count} more reads of it"
            yield violation("copy entry", file, text, abs(count))


def _made_before(
    problem: ReplicationProblem, schedule: Schedule
) -> Iterator[Violation]:
    """Check that a task starts after the tasks that write its inputs have ended."""
    ends = {row["id"]: row["end_seconds"] for row in schedule.get("tasks", ())}
    for row in schedule.get("tasks", ()):
        k = problem.task_index[row["id"]]
        for p in problem.predecessors[k]:
            maker = problem.tasks[p].id
            if late(ends.get(maker, math.inf), row["start_seconds"]):
                text = (
                    f"starts at {row['start_seconds']:g} s, before {maker} has written "
                    "its input"
                )
                yield violation("made", row["id"], text)


def _caches(
    problem: ReplicationProblem,
    schedule: Schedule,
    cached: Mapping[Key, Sequence[float]],
) -> Iterator[Violation]:
    """Check that caches have what tasks find in them, that tasks read nothing that is
    there, and that caches are never too full.
    """
    entered = _entered(problem, schedule)
    gone = times_of(schedule, "evictions")
    surely: dict[Key, list[Interval]] = defaultdict(list)
    for key, times in cached.items():
        for time in times:
            start = _last_before(entered.get(key, ()), time)
            left = _last_before(gone.get(key, ()), time - time_slack(time))
            if start == -math.inf or late(left, start):
                text = f"is not read at {time:g} s on {key[1]}, whose cache lacks it"
                yield violation("cache", key[0], text)
            else:
                surely[key].append(Interval(start, time))
    for key, times in gone.items():
        unlimited = problem.nodes[problem.node_index[key[1]]].disk_bytes is None
        for time in times:
            start = _last_before(entered.get(key, ()), time)
            if start == -math.inf or unlimited:
                text = f"is evicted at {time:g} s from the cache of {key[1]}, without "
                why = "need" if unlimited else "being there"
                yield violation("eviction", key[0], text + why)
            else:
                surely[key].append(Interval(start, time))
    for key, times in entered.items():
        if problem.nodes[problem.node_index[key[1]]].disk_bytes is None:
            surely[key].append(Interval(min(times), math.inf))
    yield from _read_again(schedule, surely)
    yield from _too_full(problem, surely)


def _entered(problem: ReplicationProblem, schedule: Schedule) -> dict[Key, list[float]]:
    """Return, for each file and node, the times at which the file came to the node's
    cache.
    """
    entered: dict[Key, list[float]] = defaultdict(list)
    for node in problem.nodes:
        for file in node.holds:
            entered[file, node.id].append(0.0)
    for row in schedule.get("transfers", ()):
        node_id = row["destination"]
        if node_id is None and problem.caches_made:
            node_id = row["source"]
        if node_id is not None:
            entered[row["file"], node_id].append(row["end_seconds"])
    return entered


def _last_before(times: Iterable[float], time: float) -> float:
    """Return the last of *times* that is not after *time*; minus infinity without
    one.
    """
    return max((at for at in times if not late(at, time)), default=-math.inf)


def _read_again(
    schedule: Schedule, surely: Mapping[Key, Sequence[Interval]]
) -> Iterator[Violation]:
    """Check that no task reads a file while the cache of its node has it."""
    for row in schedule.get("transfers", ()):
        time = row["start_seconds"]
        if row["source"] is not None:
            continue
        for part in surely.get((row["file"], row["destination"]), ()):
            if late(time, part.start) and late(part.end, time):
                text = (
                    f"is read at {time:g} s on {row['destination']}, whose cache has it"
                )
                yield violation("cache", row["file"], text)
                break


def _too_full(
    problem: ReplicationProblem, surely: Mapping[Key, Sequence[Interval]]
) -> Iterator[Violation]:
    """Check that the files that are surely in a cache at an instant fit it."""
    sizes = {file.id: file.bytes for file in problem.files}
    for node in problem.nodes:
        if node.disk_bytes is None:
            continue
        changes: list[tuple[float, int]] = []
        for (file, where), parts in surely.items():
            if where == node.id:
                for start, end in _merged(parts):
                    begun = start + time_slack(start)
                    if late(end, begun):
                        changes += [(begun, sizes[file]), (end, -sizes[file])]
        used = 0
        for time, change in sorted(changes):
            used += change
            if used > node.disk_bytes and change > 0:
                text = (
                    f"has {used} bytes in its cache at {time:g} s, which holds "
                    f"{node.disk_bytes}"
                )
                yield violation("cache", node.id, text, used - node.disk_bytes)
                break


def _merged(parts: Sequence[Interval]) -> list[Interval]:
    """Return *parts* in order, with those that overlap made into one."""
    merged: list[Interval] = []
    for part in sorted(parts):
        if merged and part.start <= merged[-1].end:
            merged[-1] = Interval(merged[-1].start, max(merged[-1].end, part.end))
        else:
            merged.append(part)
    return merged


def cached_bytes(problem: ReplicationProblem, schedule: Schedule) -> int:
    """Return the bytes of inputs that tasks and copy entries found in caches: those of
    all inputs, less those read.
    """
    size = {file.id: file.bytes for file in problem.files}
    total = 0
    for row in schedule.get("tasks", ()):
        inputs = problem.tasks[problem.task_index[row["id"]]].inputs
        total += sum(size[name] for name in inputs)
    for row in schedule.get("copy_entries", ()):
        total += size[row["file"]]
    for row in schedule.get("transfers", ()):
        if row["source"] is None:
            total -= size[row["file"]]
    return total


class SharedTimes:
    """Recompute the bound of the makespan on shared storage, in seconds.

    *copied* are the indices of files that copy entries name. For each task, ``rd`` and
    ``wr`` are the least seconds of its reads and writes, ``comp`` those of its
    computing, ``q`` the least seconds after its end.
    """

    def __init__(
        self, problem: ReplicationProblem, copied: Collection[int] = ()
    ) -> None:
        self.problem = problem
        self.copied = copied
        self.quickest = self._least_seconds()
        held = frozenset[int]().union(*problem.holds)
        self.products = {f for files in problem.outputs for f in files}
        read = {f for files in problem.inputs for f in files}
        self.must = read - held - self.products
        if not problem.caches_made:
            self.must |= read & self.products
        self.rd: list[float] = []
        self.wr: list[float] = []
        self.comp: list[float] = []
        self.hold: list[float] = []
        for k in range(len(problem.tasks)):
            self._add_lengths(k)
        graph = TopologicalSorter(dict(enumerate(problem.predecessors)))
        order = list(graph.static_order())
        self._forward(order)
        self.q = [0.0] * len(problem.tasks)
        for k in reversed(order):
            for p in problem.predecessors[k]:
                self.q[p] = max(self.q[p], self._whole(k) + self.q[k])

    def _least_seconds(self) -> list[float]:
        """Return, for each file, the least seconds in which it is read or written."""
        problem = self.problem
        network = problem.network
        disks = {storage.id: storage.bytes_per_second for storage in problem.storages}
        found = []
        for file in problem.files:
            rates = [network.remote_bytes_per_second, network.replica_bytes_per_second]
            if file.storage is not None:
                rates.append(disks[file.storage])
            found.append(file.bytes / min(rates))
        return found

    def _add_lengths(self, k: int) -> None:
        """Add the least seconds of the steps of task *k*, which comes next."""
        problem = self.problem
        task = problem.tasks[k]
        hosts = problem.hosts[k] or range(len(problem.nodes))
        own = [f for f in problem.inputs[k] if self._is_read_by_it(f, k)]
        rows = []
        for i in hosts:
            lacks = [f for f in own if f not in problem.holds[i]]
            rows.append(sum(self.quickest[f] for f in lacks))
        self.rd.append(min(rows))
        self.wr.append(sum(self.quickest[f] for f in problem.outputs[k]))
        speeds = [problem.nodes[i].speed for i in hosts]
        self.comp.append(task.compute_seconds / max(speeds))
        beside = task.overhead_seconds + self.rd[k] + self.wr[k]
        self.hold.append(task.compute_seconds + beside * min(speeds))

    def _is_read_by_it(self, f: int, k: int) -> bool:
        """Return whether task *k* must read its input *f* itself, on a node that does
        not hold it.
        """
        excused = self.problem.caches_made and f in self.products
        alone = self.problem.readers[f] == (k,)
        return alone and not excused and f not in self.copied

    def _whole(self, k: int) -> float:
        """Return the least seconds from the start of task *k* to its end."""
        overhead = self.problem.tasks[k].overhead_seconds
        return overhead + self.rd[k] + self.comp[k] + self.wr[k]

    def _forward(self, order: Sequence[int]) -> None:
        """Set the least starts, starts of computing and ends of all tasks."""
        problem = self.problem
        tasks = problem.tasks
        first = [task.release_seconds for task in tasks]
        for k in order:
            for p in problem.predecessors[k]:
                first[k] = max(first[k], first[p] + self._whole(p))
        self.es = [task.release_seconds for task in tasks]
        self.cs = [0.0] * len(tasks)
        self.ef = [0.0] * len(tasks)
        self.begin: dict[int, float] = {}
        for k in order:
            for p in problem.predecessors[k]:
                self.es[k] = max(self.es[k], self.ef[p])
            self.cs[k] = self.es[k] + tasks[k].overhead_seconds + self.rd[k]
            for f in self.must.intersection(problem.inputs[k]):
                self.begin[f] = self._begin(f, first)
                self.cs[k] = max(self.cs[k], self.begin[f] + self.quickest[f])
            self.ef[k] = self.cs[k] + self.comp[k] + self.wr[k]

    def _begin(self, f: int, first: Sequence[float]) -> float:
        """Return the earliest time at which file *f* can begin to be read; *first* are
        the least starts of tasks.
        """
        tasks = self.problem.tasks
        readers = self.problem.readers[f]
        if f in self.copied:
            begun = min(tasks[k].release_seconds for k in readers)
        else:
            begun = min(first[k] + tasks[k].overhead_seconds for k in readers)
        maker = self.problem.producer[f]
        return begun if maker < 0 else max(begun, self.ef[maker])

    def crossing(self, files: Collection[int], rate: float) -> float:
        """Return the bound of the reads and writes of *files* through a pipe of *rate*
        bytes/s.
        """
        problem = self.problem
        starts: dict[str, list[float]] = {"read": [], "write": []}
        tails: dict[str, list[float]] = {"read": [], "write": []}
        total = {"read": 0, "write": 0}
        for f in files:
            size = problem.files[f].bytes
            maker = problem.producer[f]
            if f in self.must:
                total["read"] += size
                if f in self.copied:
                    starts["read"].append(self.begin[f])
                for k in problem.readers[f]:
                    overhead = problem.tasks[k].overhead_seconds
                    starts["read"].append(self.es[k] + overhead)
                    tails["read"].append(self.comp[k] + self.wr[k] + self.q[k])
            if maker >= 0:
                total["write"] += size
                starts["write"].append(self.cs[maker] + self.comp[maker])
                tails["write"].append(self.q[maker])
        best = 0.0
        for what in ("read", "write"):
            if starts[what]:
                seconds = total[what] / rate
                best = max(best, min(starts[what]) + seconds + min(tails[what]))
        if starts["read"] and starts["write"]:
            both = starts["read"] + starts["write"]
            after = tails["read"] + tails["write"]
            best = max(best, min(both) + sum(total.values()) / rate + min(after))
        return best


def shared_lower_bound(
    problem: ReplicationProblem, copied: Collection[int] = ()
) -> float:
    """Return a lower bound on the makespan on shared storage, in seconds.

    The bound is the largest of the critical path, the areas of cores and of memory, and
    the bytes over the link and over the disks of the storages.
    """
    if not problem.tasks:
        return 0.0
    times = SharedTimes(problem, copied)
    path = max(end + tail for end, tail in zip(times.ef, times.q, strict=True))
    return max(path, _areas(times), _pipes(times))


def _areas(times: SharedTimes) -> float:
    """Return the larger bound of those from the cores and from the memory."""
    nodes = times.problem.nodes
    taken = [task.cores for task in times.problem.tasks]
    power = sum(node.cores * node.speed for node in nodes)
    best = _area(times, taken, power)
    sizes = [node.memory_bytes for node in nodes]
    power = sum((node.memory_bytes or 0) * node.speed for node in nodes)
    if None in sizes or power == 0:
        return best
    return max(best, _area(times, [x.memory_bytes for x in times.problem.tasks], power))


def _pipes(times: SharedTimes) -> float:
    """Return the largest bound of those from the link and from each storage disk."""
    problem = times.problem
    network = problem.network
    nodes = len(problem.nodes)
    remote = network.remote_bytes_per_second
    replica = network.replica_bytes_per_second
    rate = min(remote, nodes * replica)
    if network.remote_link == "per-node":
        rate = nodes * min(remote, replica)
    best = times.crossing(range(len(problem.files)), rate)
    for storage in problem.storages:
        own = [f for f, x in enumerate(problem.files) if x.storage == storage.id]
        best = max(best, times.crossing(own, storage.bytes_per_second))
    return best


def _area(times: SharedTimes, taken: Sequence[int], power: float) -> float:
    """Return the bound from what all tasks hold, *taken* of *power* each."""
    share = [n * hold / power for n, hold in zip(taken, times.hold, strict=True)]
    tasks = range(len(share))
    best = total = 0.0
    for k in sorted(tasks, key=lambda k: -times.es[k]):
        total += share[k]
        best = max(best, times.es[k] + total)
    first = math.inf
    total = 0.0
    for k in sorted(tasks, key=lambda k: -times.q[k]):
        first = min(first, times.es[k])
        total += share[k]
        best = max(best, first + total + times.q[k])
    return best
