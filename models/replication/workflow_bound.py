"""Lower bounds of the makespan of workflows (workflow rule 18), valid for every plan and dispatch.

A task cannot start before what it waits for, nor the makespan come before what waits for it: the
critical path. What is left after an instant needs cores; what must cross a link or a storage's disk
needs time there, between the first task that asks for it and the last that uses it.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

from ioopt.problems.replication import LinkModel, ReplicationProblem


@dataclass(frozen=True)
class WorkflowBound:
    """The three bounds of one workflow in seconds; *link* overrides its link model."""

    problem: ReplicationProblem
    link_model: LinkModel | None = None

    @property
    def seconds(self) -> float:
        """The largest of the three."""
        return max(self.critical_path, self.core_area, self.link)

    @cached_property
    def critical_path(self) -> float:
        """The longest chain of arrivals, fetches, computing and saves."""
        ends = zip(self.earliest_end, self.tail, strict=True)
        return max((end + tail for end, tail in ends), default=0.0)

    @cached_property
    def core_area(self) -> float:
        """Computing that starts at some instant or later, or is followed by some time, on all cores."""
        tasks, nodes = self.problem.tasks, self.problem.nodes
        power = sum(node.cores * node.speed for node in nodes)
        area = [task.cores * task.compute_seconds / power for task in tasks]
        best = total = 0.0
        for k in sorted(range(len(tasks)), key=self.earliest_start.__getitem__, reverse=True):
            total += area[k]
            best = max(best, self.earliest_start[k] + total)
        total, first = 0.0, float("inf")
        for k in sorted(range(len(tasks)), key=self.tail.__getitem__, reverse=True):
            total += area[k]
            first = min(first, self.earliest_start[k])
            best = max(best, first + total + self.tail[k])
        return best

    @cached_property
    def link(self) -> float:
        """All that must cross the remote link (all private links together) or one storage's disk."""
        network, files = self.problem.network, self.problem.files
        rate = network.remote_bytes_per_second
        if (self.link_model or network.remote_link) != "shared":
            rate *= len(self.problem.nodes)
        kept = [f for f, k in enumerate(self.problem.producer) if k >= 0 and files[f].keep]
        best = self._crossing(self.first_touch, kept, rate)
        for storage in self.problem.storages:
            own = [f for f, file in enumerate(files) if file.storage == storage.id]
            fetched = [f for f in own if f in self.first_touch]
            best = max(best, self._crossing(
                fetched, [f for f in own if f in set(kept)], storage.bytes_per_second
            ))  # fmt: skip
        return best

    def _crossing(self, fetched: Iterable[int], kept: Iterable[int], rate: float) -> float:
        """*fetched* files come in and *kept* products go out through one resource of that rate."""
        problem = self.problem
        fetched, kept = list(fetched), list(kept)
        far = sum(problem.files[f].bytes for f in fetched) / rate
        out = sum(problem.files[f].bytes for f in kept) / rate
        begun = min((self._asked[f] for f in fetched), default=float("inf"))
        made = min((self.earliest_end[problem.producer[f]] for f in kept), default=float("inf"))
        best = 0.0
        if fetched:
            readers = {k for f in fetched for k in problem.readers[f]}
            best = begun + far + min(self.seconds_on_fastest[k] + self.tail[k] for k in readers)
        if kept:
            best = max(best, made + out)
        if fetched and kept:
            best = max(best, min(begun, made) + far + out)
        return best

    @cached_property
    def order(self) -> list[int]:
        """The tasks, each after its predecessors."""
        return list(TopologicalSorter(dict(enumerate(self.problem.predecessors))).static_order())

    @cached_property
    def seconds_on_fastest(self) -> list[float]:
        """Compute time of each task on the fastest node that it fits."""
        nodes = self.problem.nodes
        return [
            task.compute_seconds
            / max((nodes[i].speed for i in hosts), default=max(n.speed for n in nodes))
            for task, hosts in zip(self.problem.tasks, self.problem.hosts, strict=True)
        ]

    @cached_property
    def first_touch(self) -> frozenset[int]:
        """Files that must come from remote storage: born there, read, and held by no node."""
        problem = self.problem
        held = frozenset().union(*problem.holds)
        makers = enumerate(problem.producer)
        return frozenset(f for f, k in makers if k < 0 and problem.readers[f] and f not in held)

    @cached_property
    def _asked(self) -> list[float]:
        """Per file, the arrival of its first reader: nobody asks for it before."""
        tasks = self.problem.tasks
        return [
            min((tasks[k].release_seconds for k in readers), default=0.0)
            for readers in self.problem.readers
        ]

    @cached_property
    def rates(self) -> list[float]:
        """Per file, the most that a transfer from or to the remote storage can carry."""
        network = self.problem.network
        disks = {storage.id: storage.bytes_per_second for storage in self.problem.storages}
        pipe = min(network.remote_bytes_per_second, network.replica_bytes_per_second)
        return [
            pipe if file.storage is None else min(pipe, disks[file.storage])
            for file in self.problem.files
        ]

    def first_arrival(self, f: int) -> float:
        """When file *f*, born remote, can be on a node first."""
        return self._asked[f] + self.problem.files[f].bytes / self.rates[f]

    @cached_property
    def earliest_start(self) -> list[float]:
        """ES: a task's arrival, predecessors, and its born-remote inputs, one by one and together."""
        problem = self.problem
        start = [0.0] * len(problem.tasks)
        for k in self.order:
            times = [problem.tasks[k].release_seconds]
            times += [start[p] + self.seconds_on_fastest[p] for p in problem.predecessors[k]]
            born = [f for f in problem.inputs[k] if problem.producer[f] < 0]
            for f in born:
                if f in self.first_touch:
                    times.append(self.first_arrival(f))
            if born and problem.hosts[k]:
                missing = min(
                    sum(problem.files[f].bytes for f in born if f not in held)
                    for held in {problem.holds[i] for i in problem.hosts[k]}
                )
                begun = min(self._asked[f] for f in born)
                times.append(begun + missing * problem.replica_seconds_per_byte)
            start[k] = max(times)
        return start

    @cached_property
    def earliest_end(self) -> list[float]:
        """EF: the earliest start and the computing."""
        return [s + w for s, w in zip(self.earliest_start, self.seconds_on_fastest, strict=True)]

    @cached_property
    def tail(self) -> list[float]:
        """q: what must follow the end of a task: its successors, and saves of what it keeps."""
        problem = self.problem
        after = [0.0] * len(problem.tasks)
        for k in reversed(self.order):
            for f in problem.outputs[k]:
                if problem.files[f].keep:
                    after[k] = max(after[k], problem.files[f].bytes / self.rates[f])
            for p in problem.predecessors[k]:
                after[p] = max(after[p], self.seconds_on_fastest[k] + after[k])
        return after


def makespan_bound_seconds(problem: ReplicationProblem, link: LinkModel | None = None) -> float:
    """The largest of four bounds, in seconds: files over links and off storages, all computing, one task."""
    if problem.is_workflow:
        return WorkflowBound(problem, link).seconds
    network, tasks = problem.network, problem.tasks
    if not tasks:
        return 0.0
    held = frozenset().union(*problem.holds)
    missing = {f for f, readers in enumerate(problem.readers) if readers and f not in held}
    fastest = max(node.speed for node in problem.nodes)
    least = min(task.compute_seconds for task in tasks) / fastest
    nodes = len(problem.nodes)
    pipe = min(network.remote_bytes_per_second, network.replica_bytes_per_second)
    shared = (link or network.remote_link) == "shared"
    total_rate = nodes * pipe
    if shared:
        total_rate = min(network.remote_bytes_per_second, nodes * network.replica_bytes_per_second)
    sizes = [file.bytes for file in problem.files]
    bounds = [sum(sizes[f] for f in missing) / total_rate + least]
    by_storage: dict[str, int] = defaultdict(int)
    for f in missing:
        if (storage := problem.files[f].storage) is not None:
            by_storage[storage] += sizes[f]
    rates = {storage.id: storage.bytes_per_second for storage in problem.storages}
    bounds.extend(total / rates[name] + least for name, total in by_storage.items())
    bounds.append(sum(task.compute_seconds for task in tasks) / sum(n.speed for n in problem.nodes))
    for k, task in enumerate(tasks):
        first = max((sizes[f] for f in problem.inputs[k] if f in missing), default=0) / pipe
        bounds.append(first + task.compute_seconds / fastest)
    return max(bounds)
