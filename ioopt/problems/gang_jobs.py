"""Hold the jobs of a gang problem as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ioopt.arrays import Floats, Ints
from ioopt.problems import base
from ioopt.problems.base import JobId, Json
from ioopt.problems.columns import Columns, Objects, are_unique, names, numbers
from ioopt.problems.gang import DERIVED, GangProblem, Job, Machine
from ioopt.problems.job_columns import offsets


@dataclass(frozen=True, eq=False, repr=False)
class GangJobs(Columns[Job]):
    """The jobs of a gang problem in the order of the instance.

    ``local`` and ``remote`` are L and R of rule 6, in seconds. ``sizes`` is the number
    of file nodes of each job, and ``files`` are the file nodes of all jobs, one job
    after the other.
    """

    RECORD = Job

    ids: Sequence[JobId]
    arrival: Floats
    local: Floats
    remote: Floats
    sizes: Ints
    files: NDArray[np.int32]

    @classmethod
    def read(cls, rows: Objects) -> GangJobs:
        """Return the columns of *rows*; see :meth:`Columns.read`."""
        of_jobs = rows.take("file_nodes")
        if not set(map(type, of_jobs)) <= {list}:
            raise ValueError("file nodes are no lists")
        files = numbers(base.Count, [*chain.from_iterable(of_jobs)])
        if len(files) and files.max() >= base.MAX_NODES:
            raise ValueError("a file node is outside of every machine")
        found = cls(
            ids=names(rows.take("id")),
            arrival=numbers(base.Seconds, rows.take("arrival_seconds")),
            local=numbers(base.PositiveSeconds, rows.take("local_seconds")),
            remote=numbers(base.PositiveSeconds, rows.take("remote_seconds")),
            sizes=np.array([*map(len, of_jobs)], np.int64),
            files=files.astype(np.int32),
        )
        for key in DERIVED:
            if any(value is not None for value in rows.take_optional(key)):
                raise ValueError("a job states other times")
        return found

    @classmethod
    def of_records(cls, records: Sequence[Job]) -> GangJobs:
        """Return the columns of *records*; times that one does not state are NaN."""
        files = chain.from_iterable(job.file_nodes for job in records)
        return cls(
            ids=[job.id for job in records],
            arrival=np.array([job.arrival_seconds for job in records], float),
            local=np.array([job.local_seconds for job in records], float),
            remote=np.array([job.remote_seconds for job in records], float),
            sizes=np.array([job.size for job in records], np.int64),
            files=np.array([*files], np.int32),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def fcfs(self) -> Ints:
        """Return the positions of the jobs in order of arrival; jobs that arrive at the
        same time are in the order of the instance.
        """
        return np.argsort(self.arrival, kind="stable")

    @cached_property
    def keys(self) -> Ints:
        """Return the position of each job in the order of arrival."""
        found = np.empty(len(self), np.int64)
        found[self.fcfs] = np.arange(len(self))
        return found

    @cached_property
    def offset(self) -> Ints:
        """Return where the file nodes of each job begin, and their number."""
        return offsets(self.sizes)

    def files_of(self, job: int) -> list[int]:
        """Return the file nodes of one job."""
        nodes: list[int] = self.files[self.offset[job] : self.offset[job + 1]].tolist()
        return nodes

    def fit(self, machine: Machine) -> bool:
        """Return whether the jobs make a valid problem of *machine*."""
        if not len(self):
            return True
        good = len(set(map(type, self.ids))) == 1 and are_unique(self.ids)
        good &= bool((self.local <= self.remote).all())
        good &= bool(self.sizes.min() > 0)
        return good and self.files.max() < machine.nodes and self._differ()

    def _differ(self) -> bool:
        """Return whether no job has a file node twice."""
        files = self.files
        step = np.diff(files)
        # Most lists ascend; the others are sorted to compare neighbours.
        falls = np.flatnonzero(step <= 0) + 1
        owners = np.searchsorted(self.offset, falls, side="right") - 1
        owners = np.unique(owners[self.offset[owners] < falls])
        for job in owners.tolist():
            nodes = files[self.offset[job] : self.offset[job + 1]]
            if len(np.unique(nodes)) < len(nodes):
                return False
        return True

    def rows(self, first: int, last: int) -> list[Json]:
        """Return the jobs from *first* to *last* - 1 as JSON objects."""
        jobs = slice(first, last)
        files = self.files[self.offset[first] : self.offset[last]].tolist()
        edges = (self.offset[first : last + 1] - self.offset[first]).tolist()
        return [
            {
                "id": name,
                "arrival_seconds": arrival,
                "file_nodes": files[edges[k] : edges[k + 1]],
                "local_seconds": local,
                "remote_seconds": remote,
            }
            for k, (name, arrival, local, remote) in enumerate(
                zip(
                    self.ids[jobs],
                    self.arrival[jobs].tolist(),
                    self.local[jobs].tolist(),
                    self.remote[jobs].tolist(),
                )
            )
        ]


@base.once_a_problem
def workload_of(problem: GangProblem) -> GangJobs:
    """Return the jobs of *problem* as columns, also if they state the quantities of
    Section 2.3 in place of their times.
    """
    jobs = GangJobs.of(problem.jobs)
    if not np.isnan(jobs.local).any():
        return jobs
    local, remote = np.array(problem.times, float).T
    return replace(
        jobs, local=np.ascontiguousarray(local), remote=np.ascontiguousarray(remote)
    )
