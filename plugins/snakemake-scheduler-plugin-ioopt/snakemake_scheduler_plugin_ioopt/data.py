"""Jobs so that the files they write fit a disk:
:class:`ioopt.embed.WorkDirectory` decides.

Jobs are its tasks, the files that they write its products: temporary ones go with their
last reader, others stay. Bytes are the mean of what the rule has written so far, else
its ``disk_mb``, else what the job reads; once a job has ended, those on the disk.
"""

from __future__ import annotations

import os
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
"""A mean that has changed by no more than this part of it is not told again."""


class DataOrder:
    """One run of Snakemake: which jobs run, what rules write, and what decides."""

    def __init__(
        self, dag: Any, temp: TempInputs, quota: int | None, **how: Any
    ) -> None:
        """*quota*: bytes of the files that may lie there at once (None: any);
        *how*: policy, in_flight.
        """
        self._dag, self._temp, self._quota, self._how = dag, temp, quota, how
        self._run = WorkDirectory({"cores": 1}, **how)
        self._jobs: dict[str, Job] = {}
        self._running: dict[str, Job] = {}
        self._idle: dict[str, int] = {}
        self._round, self._kept, self._safe = 0, 0, True
        self._seen: dict[Place, tuple[int, int]] = {}
        self._told: dict[Place, int] = {}
        self.notes: list[str] = []

    def choose(
        self, asked: Question, remaining: Iterable[Job], until: Deadline
    ) -> list[Job]:
        """The jobs to start; at least one where none runs and resources allow it."""
        left, self.notes = {_name(job): job for job in remaining}, []
        self._round += 1
        self._idle = self._idle or asked.free
        self._look(asked)
        if not left.keys() <= self._jobs.keys():
            self._begin(left | self._running)
        rows, free = (
            dict(zip(map(_name, asked.jobs), asked.ready)),
            list(asked.capacities),
        )
        chosen: list[str] = []

        def able(priority: int | None = None) -> list[str]:
            return [
                name
                for name, row in rows.items()
                if priority in (None, row.priority)
                and name not in self._running
                and all(need <= have for need, have in zip(row.resources, free))
            ]

        def start(name: str) -> None:
            self._run.started(name)
            self._running[name] = self._jobs[name]
            chosen.append(name)
            free[:] = [have - need for need, have in zip(rows[name].resources, free)]

        for priority in sorted({row.priority for row in asked.ready}, reverse=True):
            while not (chosen and until.expired()):
                name = self._run.next(among=able(priority))
                if name is None:
                    break
                start(name)
        if not self._running and (names := able()):  # nothing else would ever make room
            self.notes.append(
                f"job {names[0]} starts, though its files may not fit the disk"
            )
            start(names[0])
        return [self._jobs[name] for name in chosen]

    def _look(self, asked: Question) -> None:
        """Take note of what has ended or failed; after a failure for good what
        is left begins anew.
        """
        ready, nothing = set(asked.jobs), asked.free == self._idle
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
                self._jobs = {}

    def _ended(self, name: str, job: Job) -> None:
        found = [(file, at, _size(str(file))) for at, file in enumerate(job.output)]
        there = [
            (file, (_rule(job), at), size)
            for file, at, size in found
            if size is not None
        ]
        self._run.ended(name, self._round, {str(file): size for file, _, size in there})
        self._jobs.pop(name, None)
        for file, place, size in there:  # those without readers have gone
            self._kept += 0 if file.is_flagged("temp") else size
            count, total = self._seen.get(place, (0, 0))
            self._seen[place] = count + 1, total + size
            mean = (total + size) // (count + 1)
            if abs(mean - self._told.get(place, -1)) > SAME * mean:
                self._told[place] = mean
                alike = [
                    other for n, other in self._jobs.items() if n not in self._running
                ]
                files = [str(j.output[place[1]]) for j in alike if _rule(j) == place[0]]
                self._run.expect(dict.fromkeys(files, mean))
                self._jobs = (
                    self._jobs if self._safe else {}
                )  # there may be an order now

    def _begin(self, jobs: dict[str, Job]) -> None:
        """A new instance of *jobs*, those that run among them."""
        reads = {
            name: [*dict.fromkeys(map(str, jobs[name].input))] for name in sorted(jobs)
        }
        writer = {str(file): name for name, job in jobs.items() for file in job.output}
        before = {
            name: [writer[f] for f in files if f in writer]
            for name, files in reads.items()
        }
        size: dict[str, int] = {}
        keep: set[str] = set()
        tasks: dict[str, dict[str, Any]] = {}
        for name in TopologicalSorter(before).static_order():
            job, temp = jobs[name], self._temp[jobs[name]]
            there = {file: _size(file) for file in reads[name] if file not in size}
            if any(there[file] is None for file in there.keys() & temp):
                continue  # who would write it has failed for good
            size |= {file: found or 0 for file, found in there.items()}
            for file in there.keys() & temp:  # a task that has ended wrote it
                tasks[f"there: {file}"] = {"outputs": [file]}
            outputs = [str(file) for file in job.output]
            size |= zip(
                outputs, self._expected(job, sum(size[file] for file in reads[name]))
            )
            keep |= {str(file) for file in job.output if not file.is_flagged("temp")}
            sample = getattr(getattr(job, "wildcards", None), "sample", None)
            tasks[name] = {"inputs": reads[name], "outputs": outputs, "sample": sample}
        instance = {
            "cores": len(tasks) + 1,  # Snakemake counts them
            "quota_bytes": None
            if self._quota is None
            else max(0, self._quota - self._kept),
            "tasks": [
                {"id": name, "compute_seconds": 0, **row} for name, row in tasks.items()
            ],
            "files": [
                {"id": f, "bytes": n, "keep": f in keep} for f, n in size.items()
            ],
        }
        try:
            self._run, self._safe = WorkDirectory(instance, **self._how), True
        except SimulationError as error:
            if self._safe:
                self.notes.append(f"{error}; until more is known, one sample at a time")
            self._run = WorkDirectory(
                instance, self._how["policy"], safe=False, in_flight=1
            )
            self._safe = False
        self._jobs = jobs
        for name in tasks:
            if name not in jobs or name in self._running:
                self._run.started(name)
            if name not in jobs:
                self._run.ended(name, 0)

    def _expected(self, job: Job, reads: int) -> list[int]:
        """Bytes of each output, by what the rule has written, what it states,
        or what the job reads.
        """
        stated, count = job.scheduler_resources.get("disk_mb", 0), len(job.output)
        whole = stated * 10**6 if isinstance(stated, int) and stated else reads
        share = -(-whole // max(1, count))
        return [self._told.get((_rule(job), at), share) for at in range(count)]


def _name(job: Job) -> str:
    return str(getattr(job, "jobid", job))


def _rule(job: Job) -> str:
    return str(getattr(getattr(job, "rule", None), "name", job))


def _size(path: str) -> int | None:
    """Bytes of a file that is there, or of the files of a folder."""
    try:
        if not os.path.isdir(path):
            return os.stat(path).st_size
        rows = ((at, name) for at, _, names in os.walk(path) for name in names)
        return sum(os.path.getsize(os.path.join(*row)) for row in rows)
    except OSError:
        return None
