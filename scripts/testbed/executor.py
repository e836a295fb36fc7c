"""Carry a plan out: start what is due, wait for what really ends, and keep a record.

The decisions come from an object, either the graph of a bound schedule or the timeline
rules (:class:`ioopt.sim.replication.live.LiveReplay`). All times come from the agents.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.live import Action
from testbed.cluster import STORAGE, Answer, CarryingFault, Cluster

SILENT_SECONDS = 300.0
"""How long nothing may end before a run counts as stuck."""


class Decisions(Protocol):
    """What decides: it is told what has ended, and says what begins."""

    def begin_due(self, now: float) -> list[Action]:
        """Return what begins at time *now*, evictions first."""

    def ended(self, action: Action, now: float) -> None:
        """Record that *action*, which is not an eviction, has ended at time *now*."""

    def next_arrival(self) -> float:
        """Return when the next task arrives; infinity if none does."""

    def over(self) -> bool:
        """Return whether everything has ended."""


@dataclass
class Record:
    """What really happened; times in seconds since the start of the run.

    ``schedule`` has the form of the schedules of results. ``started`` lists the
    actions in the order in which they were begun. ``peaks`` has the most bytes that
    each node's disk has held.
    """

    makespan_seconds: float = 0.0
    schedule: Json = field(
        default_factory=lambda: {"tasks": [], "transfers": [], "evictions": []}
    )
    started: list[Action] = field(default_factory=list)
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
    problem: ReplicationProblem, decisions: Decisions, cluster: Cluster
) -> Record:
    """Carry out *decisions* on the agents of *cluster*, which has the nodes of *problem*
    and the storage; return what happened.

    Raises CarryingFault if an agent reports a fault, or if nothing goes on.
    """
    lay_out(problem, cluster)
    return _Run(problem, decisions, cluster).to_the_end()


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


class _Run:
    """One run: the actions that are under way, by the ids of their orders."""

    def __init__(
        self, problem: ReplicationProblem, decisions: Decisions, cluster: Cluster
    ) -> None:
        self.problem = problem
        self.decisions = decisions
        self.cluster = cluster
        self.record = Record()
        self.under_way: dict[int, Action] = {}
        self.begin = time.monotonic()

    def to_the_end(self) -> Record:
        """Run until all has ended; return the record."""
        self._start_due()
        while not self.decisions.over():
            self._wait()
            self._start_due()
        while self.under_way:  # evictions at the end
            self._wait()
        return self.record

    def _now(self) -> float:
        return time.monotonic() - self.begin

    def _start_due(self) -> None:
        """Order what is due now."""
        for action in self.decisions.begin_due(self._now()):
            self.record.started.append(action)
            self.under_way[self._order(action)] = action

    def _order(self, action: Action) -> int:
        """Give the order for *action* to its agent; return the id of the order."""
        node = action.node
        if action.kind == "eviction":
            return self.cluster.order(node, "evict", file=action.name)
        if action.kind == "task":
            return self._order_task(action)
        size = self.problem.files[self.problem.file_index[action.name]].bytes
        peer = STORAGE if action.kind == "save" else action.source
        do = "put" if action.kind == "save" else "get"
        return self.cluster.order(node, do, file=action.name, bytes=size, peer=peer)

    def _order_task(self, action: Action) -> int:
        """Order a task with the sizes of its files."""
        k = self.problem.task_index[action.name]
        speed = self.problem.nodes[self.problem.node_index[action.node]].speed
        files = self.problem.files
        return self.cluster.order(
            action.node,
            "run",
            seconds=self.problem.tasks[k].compute_seconds / speed,
            inputs=[(files[f].id, files[f].bytes) for f in self.problem.inputs[k]],
            outputs=[(files[f].id, files[f].bytes) for f in self.problem.outputs[k]],
        )

    def _wait(self) -> None:
        """Wait until something has ended or a task arrives, and take all that has
        ended by then.
        """
        arrival = self.decisions.next_arrival()
        if not self.under_way and arrival == inf:
            raise CarryingFault("nothing is under way, and nothing can begin")
        seconds = max(0.0, min(SILENT_SECONDS, arrival - self._now()))
        answer = self.cluster.answer(seconds)
        if answer is None and seconds == SILENT_SECONDS:
            raise CarryingFault(f"nothing has ended in {seconds:g} s")
        while answer is not None:
            self._take(answer)
            answer = self.cluster.answer(0.0)

    def _take(self, answer: Answer) -> None:
        """Record that an order is done, and tell the decisions."""
        action = self.under_way.pop(answer.id)
        start = answer.start - self.begin
        end = answer.end - self.begin
        if action.kind != "save":
            peak = max(self.record.peaks.get(action.node, 0), answer.peak)
            self.record.peaks[action.node] = peak
        schedule = self.record.schedule
        if action.kind == "eviction":
            schedule["evictions"].append(
                {"file": action.name, "node": action.node, "seconds": start}
            )
            return
        times = {"start_seconds": start, "end_seconds": end}
        if action.kind == "task":
            schedule["tasks"].append({"id": action.name, "node": action.node, **times})
        else:
            schedule["transfers"].append({**_ends_of(action), **times})
        if self._counts(action):
            latest = max(self.record.makespan_seconds, end)
            self.record.makespan_seconds = latest
        self.decisions.ended(action, self._now())

    def _counts(self, action: Action) -> bool:
        """Return whether the makespan includes the end of *action*: that of a task, or
        of a save of a file to keep.
        """
        if action.kind == "save":
            return self.problem.files[self.problem.file_index[action.name]].keep
        return action.kind == "task"


def _ends_of(action: Action) -> dict[str, str | None]:
    """Return file, source and destination of a transfer or a save."""
    if action.kind == "save":
        return {"file": action.name, "source": action.node, "destination": None}
    return {
        "file": action.name,
        "source": action.source,
        "destination": action.node,
    }
