"""Hold the jobs of a gang problem as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ioopt.problems import base
from ioopt.problems.base import JobId, Json
from ioopt.problems.columns import Columns, Objects, are_unique, names, numbers
from ioopt.problems.gang import DERIVED, Job, Machine
from ioopt.problems.job_columns import Reals, Wholes, offsets


@dataclass(frozen=True, eq=False, repr=False)
class GangJobs(Columns[Job]):
    """The jobs of a gang problem that state their times L and R.

    ``sizes`` is the number of file nodes of each job, and ``files`` are the file nodes
    of all jobs, one job after the other.
    """

    RECORD = Job

    ids: Sequence[JobId]
    arrival: Reals
    local: Reals
    remote: Reals
    sizes: Wholes
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
        """Return the columns of *records*. Raises TypeError for other times."""
        files = [node for job in records for node in job.file_nodes]
        return cls(
            ids=[job.id for job in records],
            arrival=np.array([job.arrival_seconds for job in records], float),
            local=np.array([job.local_seconds for job in records], float),
            remote=np.array([job.remote_seconds for job in records], float),
            sizes=np.array([job.size for job in records], np.int64),
            files=np.array(files, np.int32),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def offset(self) -> Wholes:
        """Return where the file nodes of each job begin, and their number."""
        return offsets(self.sizes)

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
