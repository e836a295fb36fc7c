"""Jobs by the data they leave behind: temporary files are to go soon, and to fit a disk.

Ready jobs stand in this order: priority; those that let go of more than they write, the most bytes
first; then those that became ready last, whose inputs were just written (depth first). They start as
resources allow. Under a budget, temporary files that exist, those that running jobs will write, and
those of the job must fit; a job that lets nothing go also leaves room for the largest one that does.
Bytes of temporary outputs are the mean of what the rule has written so far, else its ``disk_mb``,
else what the job reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snakemake_scheduler_plugin_ioopt import Job, Question


class DataOrder:
    """What has been seen of a run: when jobs became ready, what rules write, which jobs run."""

    def __init__(self, dag: Any, budget: int | None) -> None:
        """*budget*: bytes of temporary files that may lie there at once (None: any)."""
        self._dag, self._budget = dag, budget
        self._round = 0
        self._since: dict[Job, int] = {}
        self._running: dict[Job, int] = {}
        self._idle: list[int] = []
        self._live: dict[str, int] = {}
        self._rules: dict[str, tuple[int, int]] = {}

    def choose(self, asked: Question, remaining: Iterable[Job]) -> list[Job]:
        """The jobs to start; at least one where none runs and resources allow it."""
        left_over = list(remaining)
        if not self._round:  # what an earlier run has left lies there too
            self._idle, makers = list(asked.capacities), map(self._dag.job_dependencies, left_over)
            found = {str(f): _size(str(f)) for m in makers for job in m for f in _temp(job)}
            self._live |= {name: size for name, size in found.items() if size is not None}
        self._look(asked)
        writes = [self._writes(job, row.input_bytes) for job, row in zip(asked.jobs, asked.ready)]
        frees = [
            sum(asked.temp_bytes[name] for name in row.temp if asked.readers[name] <= 1)
            for row in asked.ready
        ]

        def rank(k: int) -> tuple[object, ...]:
            row, net = asked.ready[k], frees[k] - writes[k]
            return -row.priority, -max(net, 0), -self._since[asked.jobs[k]], -row.input_bytes, k

        room = float("inf")
        if self._budget is not None:
            room = self._budget - sum(self._live.values()) - sum(self._running.values())
        step = max([self._expected(job) for job in left_over if self._reads_temp(job)], default=0)
        reserve = step or max(writes, default=0)
        left, chosen = list(asked.capacities), []
        for k in sorted(range(len(asked.jobs)), key=rank):
            needs = asked.ready[k].resources
            if any(need > have for need, have in zip(needs, left)):
                continue
            stuck = not self._running  # nothing else would ever make room
            if stuck or not writes[k] or writes[k] + (0 if frees[k] else reserve) <= room:
                chosen.append(asked.jobs[k])
                self._running[asked.jobs[k]] = writes[k]
                room -= writes[k]
                left = [have - need for need, have in zip(needs, left)]
        return chosen

    def _look(self, asked: Question) -> None:
        """Take note of what has become ready, has ended, and is on the disk."""
        self._round += 1
        self._since = {job: self._since.get(job, self._round) for job in asked.jobs}
        ready = set(asked.jobs)
        for job in [job for job in self._running if job in ready or self._dag.finished(job)]:
            del self._running[job]
            made = {str(file): _size(str(file)) for file in _temp(job)}
            there = {name: size for name, size in made.items() if size is not None}
            self._live |= there
            if there and len(there) == len(made):  # else some had no reader, and are gone
                count, total = self._rules.get(_rule(job), (0, 0))
                self._rules[_rule(job)] = count + 1, total + sum(there.values())
        if self._idle and asked.capacities == self._idle:
            self._running.clear()  # nothing runs: who neither ended nor is ready has failed for good
        self._live |= asked.temp_bytes
        self._live = {name: size for name, size in self._live.items() if os.path.exists(name)}

    def _writes(self, job: Job, reads: int) -> int:
        return (self._expected(job) or reads) if _temp(job) else 0

    def _expected(self, job: Job) -> int:
        """Bytes by what the rule has written, else by what it states; 0 where neither is known."""
        count, total = self._rules.get(_rule(job), (0, 0))
        stated = job.scheduler_resources.get("disk_mb", 0)
        return total // count if count else stated * 10**6 if isinstance(stated, int) else 0

    def _reads_temp(self, job: Job) -> bool:
        return bool(_temp(job)) and any(_temp(made) for made in self._dag.job_dependencies(job))


def _temp(job: Job) -> list[Any]:
    return [file for file in job.output if file.is_flagged("temp")]


def _rule(job: Job) -> str:
    return str(getattr(getattr(job, "rule", None), "name", job))


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
