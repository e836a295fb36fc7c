"""Jobs so that the files they write fit a disk: :class:`ioopt.embed.WorkDirectory` decides.

The jobs are its tasks, the files that they write its products: temporary ones go with their last
reader, others stay. Bytes are the mean of what the rule has written so far, else its ``disk_mb``, else
what the job reads; once a job has ended, those on the disk.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

from ioopt.embed import WorkDirectory
from ioopt.errors import SimulationError
from ioopt.options import Deadline

if TYPE_CHECKING:
    from snakemake_scheduler_plugin_ioopt import Job, Question, TempInputs

Place = tuple[str, int]
"""A rule, and which of its outputs."""
SAME = 0.1
"""Means that are no further apart than this part of them are not told again."""


class DataOrder:
    """One run of Snakemake: which jobs run, what rules write, and what decides."""

    def __init__(
        self, dag: Any, temp: TempInputs, quota: int | None, policy: str, in_flight: int | None
    ) -> None:
        """*quota*: bytes of the files that may lie there at once (None: any)."""
        self._dag, self._temp, self._quota = dag, temp, quota
        self._how: dict[str, Any] = {"policy": policy, "in_flight": in_flight}
        self._run = WorkDirectory({"cores": 1}, **self._how)
        self._round = 0
        self._running: dict[str, Job] = {}
        self._known: set[str] = set()
        self._lost: set[str] = set()
        self._idle: list[int] | None = None
        self._kept = 0
        self._seen: dict[Place, tuple[int, int]] = {}
        self._told: dict[Place, int] = {}
        self._coming: dict[Place, dict[str, str]] = defaultdict(dict)
        self.notes: list[str] = []

    def choose(self, asked: Question, remaining: Iterable[Job], until: Deadline) -> list[Job]:
        """The jobs to start; at least one where none runs and resources allow it."""
        left, self.notes = list(remaining), []
        self._round += 1
        if self._idle is None:
            self._idle = list(asked.capacities)
        lost = self._look(asked)
        if lost or not self._known.issuperset(map(_name, left)):
            self._begin(left)
        free, chosen = list(asked.capacities), []
        rows = {_name(job): (job, row) for job, row in zip(asked.jobs, asked.ready)}

        def able(priority: int | None = None) -> list[str]:
            return [
                name for name, (_, row) in rows.items()
                if priority in (None, row.priority)
                and all(need <= have for need, have in zip(row.resources, free))
            ]  # fmt: skip

        def start(name: str) -> None:
            job, row = rows.pop(name)
            self._run.started(name)
            self._running[name] = job
            chosen.append(job)
            free[:] = [have - need for need, have in zip(row.resources, free)]

        for priority in sorted({row.priority for row in asked.ready}, reverse=True):
            while not (chosen and until.expired()):
                name = self._run.next(among=able(priority))
                if name is None:
                    break
                start(name)
        if not self._running and (names := able()):  # nothing else would ever make room
            self.notes.append(f"job {names[0]} starts, though its files may not fit the disk")
            start(names[0])
        return chosen

    def _look(self, asked: Question) -> bool:
        """Take note of what has ended, or failed; whether jobs have failed for good."""
        ready, nothing = set(asked.jobs), asked.capacities == self._idle
        for name, job in [*self._running.items()]:
            ended = self._dag.finished(job)
            if not (ended or job in ready or nothing):
                continue
            del self._running[name]
            if ended:
                self._ended(name, job)
            elif job in ready:
                self._run.failed(name)
            else:
                self._lost.add(name)
        return nothing and not self._lost.isdisjoint(self._known)

    def _ended(self, name: str, job: Job) -> None:
        files = {str(file): _size(str(file)) for file in job.output}
        sizes = {file: size for file, size in files.items() if size is not None}
        self._run.ended(name, self._round, sizes)
        for at, file in enumerate(job.output):
            place, size = (_rule(job), at), sizes.get(str(file))
            self._coming[place].pop(str(file), None)
            if size is None:  # one without readers has gone
                continue
            self._kept += 0 if file.is_flagged("temp") else size
            count, total = self._seen.get(place, (0, 0))
            self._seen[place] = count + 1, total + size
            mean = (total + size) // (count + 1)
            if abs(mean - self._told.get(place, -1)) > SAME * mean:
                self._told[place] = mean
                going = {f: mean for f, n in self._coming[place].items() if n not in self._running}
                self._run.expect(going)

    def _begin(self, left: list[Job]) -> None:
        """A new instance of what is left: at first, where jobs are new, and where some failed for good."""
        jobs = {_name(job): job for job in sorted((*left, *self._running.values()), key=_name)}
        self._known = set(jobs)
        writer = {str(file): name for name, job in jobs.items() for file in job.output}
        reads = {name: [*dict.fromkeys(map(str, job.input))] for name, job in jobs.items()}
        before = {name: [writer[f] for f in files if f in writer] for name, files in reads.items()}
        size: dict[str, int] = {}
        keep: set[str] = set()
        tasks: dict[str, dict[str, Any]] = {}
        self._coming.clear()
        for name in TopologicalSorter(before).static_order():
            job, outputs = jobs[name], [str(file) for file in jobs[name].output]
            if any(other not in tasks for other in before[name]) or self._reads_lost(job):
                continue
            for file in reads[name]:
                if file not in size:
                    size[file] = _size(file) or 0
                    if file in self._temp[job]:  # what an earlier run has left lies there too
                        tasks[f"there: {file}"] = {"outputs": [file]}
            own = self._expected(job, outputs, sum(size[file] for file in reads[name]))
            size |= dict(zip(outputs, own))
            keep |= {str(file) for file in job.output if not file.is_flagged("temp")}
            for at, file in enumerate(outputs):
                self._coming[_rule(job), at][file] = name
            sample = getattr(getattr(job, "wildcards", None), "sample", None)
            tasks[name] = {"inputs": reads[name], "outputs": outputs, "sample": sample}
        instance = {
            "cores": len(tasks) + 1,  # Snakemake counts them
            "quota_bytes": None if self._quota is None else max(0, self._quota - self._kept),
            "tasks": [{"id": name, "compute_seconds": 0, **row} for name, row in tasks.items()],
            "files": [{"id": f, "bytes": n, "keep": f in keep} for f, n in size.items()],
        }  # fmt: skip
        try:
            self._run = WorkDirectory(instance, **self._how)
        except SimulationError as error:
            self.notes.append(f"{error}; jobs start where their files fit")
            self._run = WorkDirectory(instance, safe=False, **self._how)
        for name in tasks:
            if name not in jobs or name in self._running:
                self._run.started(name)
            if name not in jobs:
                self._run.ended(name, 0)

    def _reads_lost(self, job: Job) -> bool:
        members = getattr(job, "jobs", (job,))
        return any(
            _name(made) in self._lost for each in members for made in self._dag.job_dependencies(each)
        )  # fmt: skip

    def _expected(self, job: Job, outputs: list[str], reads: int) -> list[int]:
        """Bytes of each output, by what the rule has written, what it states, or what the job reads."""
        stated = job.scheduler_resources.get("disk_mb", 0)
        whole = stated * 10**6 if isinstance(stated, int) and stated else reads
        share = -(-whole // max(1, len(outputs)))
        return [self._told.get((_rule(job), at), share) for at in range(len(outputs))]


def _name(job: Job) -> str:
    return str(getattr(job, "jobid", job))


def _rule(job: Job) -> str:
    return str(getattr(getattr(job, "rule", None), "name", job))


def _size(path: str) -> int | None:
    """Bytes of a file that is there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
