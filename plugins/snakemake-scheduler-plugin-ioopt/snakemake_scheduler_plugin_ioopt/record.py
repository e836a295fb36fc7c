"""Record a run of Snakemake as an ``ioopt/work-directory`` instance.

Snakemake logs when jobs start and end, before it removes temporary files. The recorder
listens to this log, and measures the files of a job when the job has ended. At the end
of the process it writes the instance, which ``ioopt budget`` reads.
"""

from __future__ import annotations

import atexit
import logging
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from ioopt.budget import SNAKEMAKE
from ioopt.budget.recorded import OBSERVED, observed
from ioopt.formats.native import dump_json, validate, write_text
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.units import counted
from snakemake_scheduler_plugin_ioopt.data import (
    in_samples,
    inputs_of,
    rule_of,
    sample_of,
    size_of,
)

if TYPE_CHECKING:
    from snakemake_scheduler_plugin_ioopt import Job


class Recorder(logging.Handler):
    """Record when the jobs of a run started and ended, and the bytes of their files.

    *target* is the file to write at the end of the process.
    """

    def __init__(self, dag: Any, target: str, logger: logging.Logger) -> None:
        super().__init__(logging.INFO)
        self._dag = dag
        # A run may change the working directory.
        self._target = str(Path(target).absolute())
        self._cores = 1
        self._starts: dict[int, float] = {}
        self._jobs: dict[int, Job] = {}
        self._tasks: dict[str, dict[str, Any]] = {}
        self._spans: dict[str, tuple[float, float]] = {}
        self._files: dict[str, dict[str, Any]] = {}
        self._failed = 0
        self._gone: list[str] = []
        logger.addHandler(self)
        atexit.register(self.write)

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line of Snakemake's log: jobs that start, or a job that has ended."""
        event = getattr(getattr(record, "event", None), "value", "")
        if event == "job_started":
            for number in getattr(record, "jobs", None) or ():
                self._starts[number] = record.created
        elif event == "job_finished":
            self._ended(getattr(record, "job_id", -1), record.created)
        elif event == "job_error":
            self._failed += 1

    def chosen(self, jobs: Iterable[Job], cores: int) -> None:
        """Record that *jobs* were chosen to start, on a machine with *cores* cores or
        more.
        """
        self._cores = max(self._cores, cores)
        for job in _members(jobs):
            self._jobs[job.jobid] = job
            self._starts[job.jobid] = time()

    def look(self) -> None:
        """Record the jobs that have ended without a line in the log."""
        for number, job in [*self._jobs.items()]:
            if self._dag.finished(job):
                self._ended(number, time())

    def _ended(self, number: int, now: float) -> None:
        """Record that the job with this *number* has ended at *now*, with its files."""
        job = self._jobs.pop(number, None)
        if job is None or not job.output:  # a target, such as rule all
            return
        for file in inputs_of(job):
            self._files.setdefault(file, {"id": file, "bytes": size_of(file) or 0})
        for file in job.output:
            size = size_of(str(file))
            if size is None:
                self._gone.append(str(file))
            kept = {} if file.is_flagged("temp") else {"keep": True}
            row = {"id": str(file), "bytes": size or 0, **kept}
            self._files[str(file)] = row
        name = _name(job)
        task = {
            "id": name if name not in self._tasks else f"{name} #{number}",
            "compute_seconds": round(max(0.0, now - self._starts[number]), 3),
            "cores": max(1, int(job.scheduler_resources.get("_cores", 1))),
            "inputs": inputs_of(job),
            "outputs": [str(file) for file in job.output],
        }
        sample = sample_of(job)
        if sample is not None:
            task["sample"] = sample
        self._tasks[task["id"]] = task
        self._spans[task["id"]] = (min(now, self._starts[number]), now)

    def write(self) -> None:
        """Write the instance, unless no job has ended; say so on standard error,
        because Snakemake's log is closed by then.
        """
        self.look()
        if not self._tasks:
            print(
                f"ioopt: {self._target}: not written: no job has run", file=sys.stderr
            )
            return
        instance = {
            "name": Path(self._target).stem,
            "cores": max(self._cores, *(t["cores"] for t in self._tasks.values()), 1),
            "tasks": [*self._tasks.values()],
            "files": [*self._files.values()],
        }
        problem = in_samples(validate(WorkDirectoryProblem, instance, self._target))
        meta = {"source": SNAKEMAKE, OBSERVED: observed(problem, self._spans)}
        problem = problem.model_copy(update={"meta": meta})
        write_text(self._target, dump_json(problem.model_dump(by_alias=True)))
        failed = f"; {self._failed} failed and are not in it" if self._failed else ""
        if self._gone:
            print(
                f"ioopt: {counted(len(self._gone), 'file')} gone before the end of the "
                f"job was known, with 0 bytes in the record: {self._gone[0]}",
                file=sys.stderr,
            )
        print(
            f"ioopt: record of {counted(len(self._tasks), 'job')}{failed}; next: ioopt "
            f"budget {self._target} --quota BYTES",
            file=sys.stderr,
        )


def _members(jobs: Iterable[Job]) -> Iterator[Job]:
    """Yield *jobs*, and the jobs of those that are groups."""
    for job in jobs:
        yield from getattr(job, "jobs", (job,))


def _name(job: Job) -> str:
    """Return the name of a task: the rule and, in brackets, its wildcards."""
    wildcards = getattr(job, "wildcards_dict", None) or {}
    if not wildcards:
        return rule_of(job)
    return f"{rule_of(job)} ({', '.join(map(str, wildcards.values()))})"
