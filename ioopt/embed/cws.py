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
STRATEGIES = {"fifo": "fifo", "rank": "rolling", "rank_min": "rolling", "rank_max": "rolling",
              "wow": "locality", "wowgroup": "locality"}  # fmt: skip
"""The server's strategies, without what follows "-", and the dispatchers that come closest."""
UNKNOWN_SECONDS = 60.0
"""What a task is expected to take before one of its process has ended."""


class Unknown(UsageError):
    """What a call names is not there (the server's 404)."""


class Run:
    """One execution: the graph of its processes, its tasks and what they have taken so far."""

    def __init__(self, site: Mapping[str, Any], strategy: str) -> None:
        self.policy = STRATEGIES.get(strategy.lower().split("-")[0], strategy)
        try:
            self.dispatcher = WorkflowDispatcher(
                site["network"], site["nodes"], site.get("files", ()), policy=self.policy
            )
        except UsageError as error:
            raise Unknown(f"no scheduler for strategy {strategy!r}: {error}") from None
        self.daemons: Mapping[str, str] = site.get("daemons", {})
        self.vertices: dict[int, Json] = {}
        self.edges: dict[int, tuple[int, int]] = {}
        self.tasks: dict[int, Json] = {}
        self.files: dict[str, tuple[str | None, int]] = {}
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
                              "run_name": config.get("runName"),
                              "process": str(config.get("task", "")), "cores": math.ceil(float(cpus)),
                              "files": {name: size for name in names}}  # fmt: skip
        if self.batch is None:
            self.submit([number])
        else:
            self.batch.append(number)

    def __getitem__(self, number: int) -> Json:
        if number not in self.tasks:
            raise Unknown(f"task {number} is not registered")
        return self.tasks[number]

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
        """By process: edges on the longest way to the end; 0 for all where the graph has a cycle."""
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
        process = self[number]["process"]
        self._seconds.add(process, seconds)
        self.dispatcher.observe({
            str(k): self.expected(process) for k, row in self.tasks.items()
            if row["process"] == process and row["state"] == "UNSCHEDULED"
        })  # fmt: skip

    def next(self, now: float, deadline: float | None) -> list[Json]:
        """The tasks that start now."""
        rows = []
        for step in self.dispatcher.next(now, deadline):
            state = "SCHEDULED" if step.stage else "PREPARED"
            self.tasks[int(step.task)].update(state=state, node=step.node)
            rows.append({"task": int(step.task), "node": step.node, "stage": step.stage})
        return rows

    def prepared(self, run_name: str) -> None:
        """The files of the task of this ``runName`` are where it runs."""
        for row in self.tasks.values():
            if row["run_name"] == run_name and row["state"] == "SCHEDULED":
                row["state"] = "PREPARED"

    def end(self, number: int, now: float, failed: bool, again: bool) -> None:
        """A task has ended; one that failed waits again, or not."""
        state = "UNSCHEDULED" if again else "FINISHED_WITH_ERROR"
        row = self[number]
        (self.dispatcher.failed if failed else self.dispatcher.completed)(str(number), now)
        if failed and not again:
            self.dispatcher.withdraw(str(number))
        row["state"] = state if failed else "FINISHED"

    def locate(self, path: str) -> Json:
        """Where a file is, as nf-cws's ``getFileLocation`` reads it; on no node: the engine has it."""
        known = path in self.files
        node = self.files[path][0] if known else None
        return {"path": path, "sameAsEngine": node is None, "node": node,
                "daemon": self.daemons.get(node or ""), "symlinks": [], "notInContext": not known,
                "locationWrapperID": self.files[path][1] if known else -1}  # fmt: skip

    def add_location(self, given: Mapping[str, Any], node: str | None, method: str) -> None:
        """A file is on *node* too (``add``), or there alone (``overwrite``)."""
        if method not in ("add", "overwrite"):
            raise Unknown(f"method not found: {method}")
        path, wrapper = str(given["path"]), int(given.get("locationWrapperID") or 0)
        if node is not None:
            self.dispatcher.staged(node, path, int(given.get("size") or 0))
            if method == "overwrite":
                for other in {n.id for n in self.dispatcher.nodes} - {node}:
                    self.dispatcher.evicted(other, path)
        self.files[path] = node, wrapper

    def daemon(self, node: str) -> str:
        """Where the daemon of a node listens (``daemons`` of the site)."""
        if node not in self.daemons:
            raise Unknown(f"no daemon for node found: {node}")
        return self.daemons[node]

    def delete(self, number: int) -> None:
        """A task that waits is not wanted any more."""
        if self.batch is not None and number in self.batch:
            self.batch.remove(number)
        elif self[number]["state"] == "UNSCHEDULED":
            self.dispatcher.withdraw(str(number))
        self.tasks[number]["state"] = "DELETED"
