"""Hold the jobs of a batch I/O problem as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from ioopt.arrays import Floats, Ints
from ioopt.problems import base
from ioopt.problems.base import JobId, Json
from ioopt.problems.batch_io import MAX_PHASES, BatchIoProblem, Job, Machine
from ioopt.problems.columns import Columns, Objects, are_unique, labels, names, numbers
from ioopt.problems.job_columns import offsets

LABELS = {
    "wait_seconds": base.Seconds,
    "user": base.JobId,
    "queue": base.JobId,
    "partition": base.JobId,
}
"""Keys from a log that no rule reads, with their types."""


@dataclass(frozen=True, eq=False, repr=False)
class BatchJobs(Columns[Job]):
    """The jobs of a batch I/O problem, with a column for each key.

    ``own_peak`` is ``io_bytes_per_second``; NaN where it is not given. ``steps`` is the
    number of phases of each job, and ``seconds``, ``volume`` (bytes) and ``repeat`` are
    the phases of all jobs, one job after the other.
    """

    RECORD = Job

    ids: Sequence[JobId]
    submit: Floats
    nodes: Ints
    walltime: Floats
    own_peak: Floats
    steps: Ints
    seconds: Floats
    volume: Floats
    repeat: Ints
    wait_seconds: Sequence[float | None]
    user: Sequence[JobId | None]
    queue: Sequence[JobId | None]
    partition: Sequence[JobId | None]

    @classmethod
    def read(cls, rows: Objects) -> BatchJobs:
        """Return the columns of *rows*; see :meth:`Columns.read`."""
        columns: Json = {
            "ids": names(rows.take("id")),
            "submit": numbers(base.Seconds, rows.take("submit_seconds")),
            "nodes": numbers(base.PositiveCount, rows.take("nodes")),
            "walltime": numbers(base.PositiveSeconds, rows.take("walltime_seconds")),
        }
        of_jobs = rows.take("phases")
        if not set(map(type, of_jobs)) <= {list} or not all(of_jobs):
            raise ValueError("phases are no lists, or empty")
        phases = Objects([*chain.from_iterable(of_jobs)])
        repeat = phases.take_optional("repeat", 1)
        own = labels(base.BytesPerSecond, rows.take_optional("io_bytes_per_second"))
        columns |= {
            "own_peak": np.array(own, float),
            "steps": np.array([*map(len, of_jobs)], np.int64),
            "seconds": numbers(base.Seconds, phases.take("compute_seconds")),
            "volume": numbers(base.Amount, phases.take("io_bytes")),
            "repeat": numbers(base.PositiveCount, repeat),
        }
        for key, form in LABELS.items():
            columns[key] = labels(form, rows.take_optional(key))
        rows.keys += phases.keys
        return cls(**columns)

    @classmethod
    def of_records(cls, records: Sequence[Job]) -> BatchJobs:
        """Return the columns of *records*."""
        phases = [phase for job in records for phase in job.phases]
        columns: Json = {key: [getattr(job, key) for job in records] for key in LABELS}
        return cls(
            ids=[job.id for job in records],
            submit=np.array([job.submit_seconds for job in records], float),
            nodes=np.array([job.nodes for job in records], np.int64),
            walltime=np.array([job.walltime_seconds for job in records], float),
            own_peak=np.array([job.io_bytes_per_second for job in records], float),
            steps=np.array([len(job.phases) for job in records], np.int64),
            seconds=np.array([phase.compute_seconds for phase in phases], float),
            volume=np.array([phase.io_bytes for phase in phases], float),
            repeat=np.array([phase.repeat for phase in phases], np.int64),
            **columns,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def offset(self) -> Ints:
        """Return where the phases of each job begin, and their number."""
        return offsets(self.steps)

    @cached_property
    def num_phases(self) -> Ints:
        """Return the number of phases of each job, with repeats counted."""
        if not len(self):
            return np.zeros(0, np.int64)
        return np.add.reduceat(self.repeat, self.offset[:-1])

    def allocated_nodes(self, machine: Machine) -> Ints:
        """Return the smallest legal allocation of each job, in nodes (rule 18)."""
        sizes, place = np.unique(self.nodes, return_inverse=True)
        widths = [machine.allocated_nodes(size) for size in sizes.tolist()]
        return np.array(widths, np.int64)[place]

    def peak(self, machine: Machine) -> Floats:
        """Return the peak rate of each job in bytes per second (rules 5 and 24)."""
        rate = machine.node_bytes_per_second * self.allocated_nodes(machine)
        rate = np.minimum(rate, machine.storage_bytes_per_second)
        return np.asarray(np.fmin(rate, self.own_peak), float)

    def fit(self, machine: Machine) -> bool:
        """Return whether the jobs make a valid problem of *machine*."""
        kinds = set(map(type, self.ids))
        few = float(self.repeat.sum(dtype=float)) <= MAX_PHASES
        narrow = not len(self) or int(self.nodes.max()) <= machine.nodes
        return len(kinds) <= 1 and are_unique(self.ids) and few and narrow

    def rows(self, first: int, last: int) -> list[Json]:
        """Return the jobs from *first* to *last* - 1 as JSON objects."""
        jobs = slice(first, last)
        steps = slice(int(self.offset[first]), int(self.offset[last]))
        columns = self.seconds[steps], self.volume[steps], self.repeat[steps]
        phases: list[Json] = [
            {"compute_seconds": seconds, "io_bytes": volume, "repeat": repeat}
            for seconds, volume, repeat in zip(*(part.tolist() for part in columns))
        ]
        edges = (self.offset[first : last + 1] - self.offset[first]).tolist()
        found: list[Json] = [
            {
                "id": name,
                "submit_seconds": submit,
                "nodes": nodes,
                "walltime_seconds": walltime,
                "phases": phases[edges[k] : edges[k + 1]],
            }
            for k, (name, submit, nodes, walltime) in enumerate(
                zip(
                    self.ids[jobs],
                    self.submit[jobs].tolist(),
                    self.nodes[jobs].tolist(),
                    self.walltime[jobs].tolist(),
                )
            )
        ]
        for key, values in self._optional(jobs).items():
            for row, value in zip(found, values):
                if value is not None:
                    row[key] = value
        return found

    def _optional(self, jobs: slice) -> dict[str, list[Any]]:
        """Return the values of *jobs* for each key that a job may lack."""
        own = self.own_peak[jobs].tolist()
        found: dict[str, list[Any]] = {
            key: list(getattr(self, key)[jobs]) for key in LABELS
        }
        found["io_bytes_per_second"] = [rate if rate == rate else None for rate in own]
        return found


@base.once_a_problem
def jobs_of(problem: BatchIoProblem) -> BatchJobs:
    """Return the jobs of *problem* as columns."""
    return BatchJobs.of(problem.jobs)
