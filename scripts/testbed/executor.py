"""Carry a plan out: start what is due, wait for what really ends, and keep a record.

The decisions are those of a bound plan (:class:`ioopt.sim.replication.bound.BoundRun`),
or of the timeline rules, which decide again whenever something ends
(:class:`ioopt.sim.replication.live.LiveRun`). All times come from the agents.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.bound import Action, BoundRun, graph_of
from ioopt.sim.replication.live import LiveRun
from testbed.cluster import STORAGE, Answer, CarryingFault, Cluster

SILENT_SECONDS = 300.0
"""How long nothing may end before a run counts as stuck."""


KNOWN = {
    "instance": {"name", "meta", "network", "storages", "nodes", "files", "tasks"},
    "nodes": {
        "id",
        "disk_bytes",
        "speed",
        "holds",
        "cores",
        "staging",
        "memory_bytes",
    },
    "files": {"id", "bytes", "storage", "keep"},
    "tasks": {
        "id",
        "compute_seconds",
        "inputs",
        "outputs",
        "cores",
        "release_seconds",
        "memory_bytes",
        "overhead_seconds",
    },
}
"""The keys of instances that a run takes into account, and names."""


class Run(Protocol):
    """What decides: it says which actions start, by their numbers, and is told what
    happens.
    """

    def is_over(self) -> bool:
        """Return whether every action has ended."""

    def ready(self, seconds: float) -> list[int]:
        """Return the actions that may start at the time *seconds*."""

    def next_release(self, seconds: float) -> float | None:
        """Return when the next task arrives; None if none does."""

    def started(self, number: int) -> None:
        """Note that an action has started."""

    def ended(self, number: int) -> None:
        """Note that an action has ended."""


Event = tuple[Literal["start", "end"], int]


@dataclass
class Record:
    """What really happened; times in seconds since the start of the run.

    ``schedule`` has the form of the schedules of results. ``events`` has every start
    and every end of an action, by its number, in the order in which they were ordered
    and told. ``peaks`` has the most bytes that each node's disk has held.
    """

    makespan_seconds: float = 0.0
    schedule: Json = field(
        default_factory=lambda: {"tasks": [], "transfers": [], "evictions": []}
    )
    events: list[Event] = field(default_factory=list)
    peaks: dict[str, int] = field(default_factory=dict)

    def moves(self) -> list[tuple[str, str, str]]:
        """Return (file, source, destination) of all transfers and saves, sorted; None,
        the remote storage, is the empty name.
        """
        found = []
        for row in self.schedule["transfers"]:
            found.append(move_of(row))
        return sorted(found)


def move_of(row: Json) -> tuple[str, str, str]:
    """Return (file, source, destination) of a transfer in a schedule."""
    return row["file"], row["source"] or "", row["destination"] or ""


def carry_out(
    problem: ReplicationProblem, plan: ReplicationPlan, cluster: Cluster
) -> Record:
    """Carry *plan* out on the agents of *cluster*, which are the nodes of *problem* and
    the storage; return what happened.

    A bound plan is followed; in any other plan the timeline rules decide while it
    runs. Raises CarryingFault for an instance with keys that agents do not know, if an
    agent reports a fault, and if nothing goes on; SimulationError for a plan that
    cannot be carried out.
    """
    require_known(problem)
    run: Run
    actions: Sequence[Action]
    if plan.bound_moves is not None:
        graph = graph_of(problem, plan)
        run = BoundRun(graph)
        actions = graph.actions
    else:
        run = live = LiveRun(problem, plan)
        actions = live.actions
    lay_out(problem, cluster)
    return _Carrying(problem, run, actions, cluster).to_the_end()


def require_known(problem: ReplicationProblem) -> None:
    """Raise CarryingFault if an item of *problem* has a key that agents do not know,
    with another value than its default: ignoring the key would misread the instance.
    """
    groups = {
        "instance": (problem,),
        "nodes": problem.nodes,
        "files": problem.files,
        "tasks": problem.tasks,
    }
    for group, items in groups.items():
        for item in items:
            for key, described in type(item).model_fields.items():
                value = getattr(item, key)
                if key not in KNOWN[group] and value != described.default:
                    raise CarryingFault(
                        f"{group}: {key} = {value!r} cannot be carried out"
                    )


def require_space(problem: ReplicationProblem, folder: str) -> None:
    """Raise CarryingFault if the file system of *folder* has too little room for the
    files of *problem*, on the storage and on every node.
    """
    everything = sum(file.bytes for file in problem.files)
    wanted = everything * (1 + len(problem.nodes))
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise CarryingFault(
            f"{folder} has {free} bytes free, and up to {wanted} are needed; set TMPDIR"
        )


def lay_out(problem: ReplicationProblem, cluster: Cluster) -> None:
    """Set the sizes of the disks, and write the files that are there before the run."""
    size = {file.id: file.bytes for file in problem.files}
    for node in problem.nodes:
        cluster.do(node.id, "open", disk=node.disk_bytes)
        for name in node.holds:
            cluster.do(node.id, "make", file=name, bytes=size[name])
    cluster.do(STORAGE, "open", disk=None)
    for f, name in enumerate(size):
        if problem.producer[f] < 0:
            cluster.do(STORAGE, "make", file=name, bytes=size[name])


class _Carrying:
    """The orders that are under way, keyed by the ids of the orders, and the record."""

    def __init__(
        self,
        problem: ReplicationProblem,
        run: Run,
        actions: Sequence[Action],
        cluster: Cluster,
    ) -> None:
        self.problem = problem
        self.run = run
        self.actions = actions
        self.cluster = cluster
        self.record = Record(peaks={node.id: 0 for node in problem.nodes})
        self.under_way: dict[int, int] = {}
        self.begin = time.monotonic()
        self.decided = 0.0

    def to_the_end(self) -> Record:
        """Start what is ready and wait, until all has ended; return the record."""
        self._start_ready()
        while not self.run.is_over():
            self._wait()
            self._start_ready()
        while self.under_way:  # the answers to the last evictions
            self._wait()
        return self.record

    def _now(self) -> float:
        return time.monotonic() - self.begin

    def _start_ready(self) -> None:
        """Order everything that may start now."""
        more = True
        while more:
            self.decided = self._now()
            numbers = self.run.ready(self.decided)
            more = bool(numbers)
            for number in numbers:
                self.run.started(number)
                self.record.events.append(("start", number))
                self._order(number)

    def _order(self, number: int) -> None:
        """Give the order for an action to its agent.

        An agent evicts before it reads its next order, so an eviction ends at once.
        """
        action = self.actions[number]
        if action.kind == "copy entry":
            self._ends(number)
            return
        node = self.problem.nodes[action.node].id
        order = self.cluster.order(node, **self._details(action))
        self.under_way[order] = number
        if action.kind == "eviction":
            self._ends(number)

    def _ends(self, number: int) -> None:
        """Tell the run that an action has ended."""
        self.record.events.append(("end", number))
        self.run.ended(number)

    def _details(self, action: Action) -> Json:
        """Return the order for *action*, in the words of the agents."""
        if action.kind == "task":
            return self._task(action)
        file = self.problem.files[action.file]
        if action.kind == "eviction":
            return {"do": "evict", "file": file.id}
        if action.kind == "save":
            return {"do": "put", "file": file.id, "bytes": file.bytes, "peer": STORAGE}
        peer = STORAGE
        if action.source >= 0:
            peer = self.problem.nodes[action.source].id
        return {"do": "get", "file": file.id, "bytes": file.bytes, "peer": peer}

    def _task(self, action: Action) -> Json:
        """Return the order for a task."""
        task = self.problem.tasks[action.task]
        files = self.problem.files
        computing = task.compute_seconds / self.problem.nodes[action.node].speed
        return {
            "do": "run",
            "seconds": task.overhead_seconds + computing,
            "inputs": [
                (files[f].id, files[f].bytes) for f in self.problem.inputs[action.task]
            ],
            "outputs": [
                (files[f].id, files[f].bytes) for f in self.problem.outputs[action.task]
            ],
        }

    def _wait(self) -> None:
        """Wait until something has ended or a task arrives, and take all that has
        ended by then.
        """
        seconds = SILENT_SECONDS
        # An arrival after the last decision must not be missed, even if it is past.
        release = self.run.next_release(self.decided)
        if release is not None:
            seconds = min(seconds, max(0.0, release - self._now()))
        elif not self.under_way:
            raise CarryingFault("nothing is under way, and nothing can start")
        answer = self.cluster.answer(seconds)
        if answer is None and seconds == SILENT_SECONDS:
            raise CarryingFault(f"nothing has ended in {seconds:g} s")
        while answer is not None:
            self._take(answer)
            answer = self.cluster.answer(0.0)

    def _take(self, answer: Answer) -> None:
        """Record that an order is done, and tell the run."""
        number = self.under_way.pop(answer.id)
        action = self.actions[number]
        node = self.problem.nodes[action.node].id
        start = answer.start - self.begin
        end = answer.end - self.begin
        self.record.peaks[node] = max(self.record.peaks[node], answer.peak)
        schedule = self.record.schedule
        if action.kind == "eviction":
            file = self.problem.files[action.file].id
            schedule["evictions"].append({"file": file, "node": node, "seconds": start})
            return
        times = {"start_seconds": start, "end_seconds": end}
        if action.kind == "task":
            task = self.problem.tasks[action.task].id
            schedule["tasks"].append({"id": task, "node": node, **times})
        else:
            schedule["transfers"].append({**self._way(action), **times})
        if self._counts(action):
            latest = max(self.record.makespan_seconds, end)
            self.record.makespan_seconds = latest
        self._ends(number)

    def _counts(self, action: Action) -> bool:
        """Return whether the makespan includes the end of *action*: that of a task, or
        of a save of a file to keep.
        """
        if action.kind == "save":
            return self.problem.files[action.file].keep
        return action.kind == "task"

    def _way(self, action: Action) -> dict[str, str | None]:
        """Return file, source and destination of a transfer or a save."""
        node = self.problem.nodes[action.node].id
        source = None
        if action.source >= 0:
            source = self.problem.nodes[action.source].id
        file = self.problem.files[action.file].id
        if action.kind == "save":
            return {"file": file, "source": node, "destination": None}
        return {"file": file, "source": source, "destination": node}
