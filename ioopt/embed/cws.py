"""Runs registered by the calls of the Common Workflow Scheduler, as nf-cws and its server make them.

Source: CommonWorkflowScheduler/KubernetesScheduler (SchedulerRestController) and nf-cws
(SchedulerClient) on GitHub; Lehmann et al., "How Workflow Engines Should Talk to Resource Managers"
(CCGrid 2023). ``next`` and ``completed`` are ours: there the server watches and binds pods itself.
"""

import math
from collections.abc import Mapping
from typing import Any

from ioopt.embed.history import History
from ioopt.embed.workflow import WorkflowDispatcher
from ioopt.errors import InstanceError, UsageError
from ioopt.problems import base
from ioopt.problems.base import Json

MAX_RUNS = 64
UNKNOWN_SECONDS = 60.0
"""What a task is expected to take before one of its process has ended."""


class Run:
    """One execution: the graph of its processes, its tasks and what they have taken so far."""

    def __init__(self, site: Mapping[str, Any], policy: str) -> None:
        self.dispatcher = WorkflowDispatcher(
            site["network"], site["nodes"], site.get("files", ()), policy=policy
        )
        self.vertices: dict[int, Json] = {}
        self.edges: dict[int, tuple[int, int]] = {}
        self.tasks: dict[int, Json] = {}
        self.batch: list[int] | None = None
        self._seconds: History[str] = History()

    def add_task(self, number: int, config: Mapping[str, Any]) -> None:
        """Register a task; in a batch it is decided on when the batch ends."""
        if number in self.tasks:
            raise UsageError(f"task {number} is registered already")
        files, cpus = config.get("inputs", {}).get("fileInputs", []), config.get("cpus") or 1
        names = list(dict.fromkeys(str(row["value"]["storePath"]) for row in files))
        size = math.ceil(float(config.get("inputSize") or 0) / max(1, len(names)))
        self.tasks[number] = {"state": "RECEIVED_CONFIG", "node": None,
                              "process": str(config.get("task", "")), "cores": math.ceil(float(cpus)),
                              "files": {name: size for name in names}}  # fmt: skip
        if self.batch is None:
            self.submit([number])
        else:
            self.batch.append(number)

    def submit(self, numbers: list[int]) -> None:
        """Give tasks to the dispatcher, those of the longest way to the end of the graph first."""
        rank = self.ranks()
        for number in sorted(numbers, key=lambda n: (-rank.get(self.tasks[n]["process"], 0), n)):
            row = self.tasks[number]
            known = self.dispatcher.knows
            new = [{"id": f, "bytes": b} for f, b in row["files"].items() if not known(f)]
            task = {"id": str(number), "cores": row["cores"], "inputs": list(row["files"]),
                    "compute_seconds": self.expected(row["process"])}  # fmt: skip
            try:
                self.dispatcher.submit([task], new)
            except (InstanceError, UsageError) as error:
                row.update(state="ERROR", error=str(error))
                continue
            row["state"] = "UNSCHEDULED"

    def ranks(self) -> dict[str, int]:
        """By process: edges on the longest way to the end; 0 for all where the graph has a circle."""
        after: dict[int, list[int]] = {uid: [] for uid in self.vertices}
        for source, target in self.edges.values():
            after.setdefault(source, []).append(target)
            after.setdefault(target, [])
        if base.find_cycle(after):
            return {}
        found: dict[int, int] = {}
        stack = list(after)
        while stack:
            uid = stack[-1]
            ahead = [v for v in after[uid] if v not in found]
            if ahead:
                stack += ahead
                continue
            found[stack.pop()] = max((found[v] + 1 for v in after[uid]), default=0)
        return {str(self.vertices.get(uid, {}).get("label")): rank for uid, rank in found.items()}

    def expected(self, process: str) -> float:
        """Mean seconds of the tasks of a process that have ended."""
        return self._seconds.mean(process, UNKNOWN_SECONDS)

    def observe(self, number: int, seconds: float) -> None:
        """A task has taken *seconds*: those of its process that wait or come are expected to."""
        process = self.tasks[number]["process"]
        self._seconds.add(process, seconds)
        self.dispatcher.observe({
            str(k): self.expected(process) for k, row in self.tasks.items()
            if row["process"] == process and row["state"] == "UNSCHEDULED"
        })  # fmt: skip

    def next(self, now: float, deadline: float | None) -> list[Json]:
        """The tasks that start now."""
        rows = []
        for step in self.dispatcher.next(now, deadline):
            self.tasks[int(step.task)].update(state="SCHEDULED", node=step.node)
            rows.append({"task": int(step.task), "node": step.node, "stage": step.stage})
        return rows

    def end(self, number: int, now: float, failed: bool) -> None:
        """A task has ended; one that failed waits again."""
        (self.dispatcher.failed if failed else self.dispatcher.completed)(str(number), now)
        self.tasks[number].update(state="UNSCHEDULED" if failed else "FINISHED")

    def delete(self, number: int) -> None:
        """A task that waits is not wanted any more."""
        if self.batch is not None and number in self.batch:
            self.batch.remove(number)
        elif self.tasks[number]["state"] == "UNSCHEDULED":
            self.dispatcher.withdraw(str(number))
        self.tasks[number]["state"] = "DELETED"
