"""Hold gangs as columns: the jobs of a workload, and the rows ``schedule.jobs``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ioopt.problems.base import JobId, Json, Real, Rows, once_a_problem
from ioopt.problems.columns import Objects, names, numbers
from ioopt.problems.gang import GangProblem, Job
from ioopt.problems.gang_jobs import GangJobs
from ioopt.problems.job_columns import Flags, Reals, Wholes, joined


@dataclass(frozen=True, eq=False)
class Workload:
    """The jobs of a workload in the order of the instance: ids, times in seconds, and
    numbers of file nodes.

    ``local`` and ``remote`` are L and R of rule 6.
    """

    jobs: Sequence[Job]
    ids: Sequence[JobId]
    arrival: Reals
    local: Reals
    remote: Reals
    sizes: Wholes

    def __len__(self) -> int:
        return len(self.ids)

    def files(self) -> NDArray[np.int32]:
        """Return the file nodes of all jobs, one job after the other."""
        if isinstance(self.jobs, GangJobs):
            return self.jobs.files
        nodes = chain.from_iterable(job.file_nodes for job in self.jobs)
        return np.fromiter(nodes, np.int32, int(self.sizes.sum()))

    @cached_property
    def fcfs(self) -> Wholes:
        """Return the positions of the jobs in order of arrival; jobs that arrive at the
        same time are in the order of the instance.
        """
        return np.argsort(self.arrival, kind="stable")

    @cached_property
    def keys(self) -> Wholes:
        """Return the position of each job in the order of arrival."""
        found = np.empty(len(self), np.int64)
        found[self.fcfs] = np.arange(len(self))
        return found


@once_a_problem
def workload_of(problem: GangProblem) -> Workload:
    """Return the jobs of *problem* as columns."""
    jobs = problem.jobs
    if isinstance(jobs, GangJobs):
        columns = jobs.ids, jobs.arrival, jobs.local, jobs.remote, jobs.sizes
        return Workload(jobs, *columns)
    local, remote = (
        np.array([*map(attrgetter(name), jobs)], float)
        for name in ("local_seconds", "remote_seconds")
    )
    if np.isnan(local).any():  # jobs that state the quantities of Section 2.3
        local, remote = np.array(problem.times, float).T
    return Workload(
        jobs=jobs,
        ids=[job.id for job in jobs],
        arrival=np.array([job.arrival_seconds for job in jobs], float),
        local=np.ascontiguousarray(local),
        remote=np.ascontiguousarray(remote),
        sizes=np.array([len(job.file_nodes) for job in jobs], np.int64),
    )


@dataclass(frozen=True, eq=False)
class GangRows(Rows):
    """Runs of gangs as columns: the rows ``schedule.jobs`` of a workload.

    Times are in seconds. A row that was read and has no id has the id None.
    """

    ids: Sequence[JobId | None]
    start: Reals
    finish: Reals
    local: Flags

    @classmethod
    def read(cls, rows: Objects) -> GangRows:
        """Return the columns of *rows*, which are those that ioopt writes. Raises one
        of ``UNUSUAL`` for other rows.
        """
        return cls(
            ids=names(rows.take("id")),
            start=numbers(Real, rows.take("start_seconds")),
            finish=numbers(Real, rows.take("finish_seconds")),
            local=np.array(rows.take_truths("local"), bool),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all *parts*, one part after the other."""
        return cls(
            ids=joined([part.ids for part in parts]),
            start=joined([part.start for part in parts]),
            finish=joined([part.finish for part in parts]),
            local=joined([part.local for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def taken(self, places: Wholes) -> GangRows:
        """Return the rows at *places*, in that order."""
        return GangRows(
            [self.ids[k] for k in places],
            self.start[places],
            self.finish[places],
            self.local[places],
        )

    def rows(self, first: int = 0, last: int | None = None) -> list[Json]:
        """Return the rows from *first* to *last* - 1 as dictionaries."""
        part = slice(first, last)
        return [
            {
                "id": name,
                "start_seconds": start,
                "finish_seconds": finish,
                "local": local,
            }
            for name, start, finish, local in zip(
                self.ids[part],
                self.start[part].tolist(),
                self.finish[part].tolist(),
                self.local[part].tolist(),
            )
        ]
