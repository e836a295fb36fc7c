"""The batch queue of the simulator for a scheduler that learns of its jobs over time.

>>> cluster = BatchCluster(4, queue="fcfs")
>>> for name, nodes in (("a", 3), ("b", 2), ("c", 1)):
...     cluster.arrive(name, nodes, walltime=60.0, now=0.0)
>>> cluster.run(0.0)
[('a', [0, 1, 2]), ('c', [3])]
>>> cluster.leave("a")
>>> cluster.run(30.0)
[('b', [0, 1])]
"""

from __future__ import annotations

import heapq
from typing import Any

from ioopt.decisions.batch_io import Limits
from ioopt.errors import UsageError
from ioopt.formats.native import validate
from ioopt.problems.batch_io import Machine, QueueOptions
from ioopt.sim.batch_io.queue import BatchQueue
from ioopt.sim.batch_io.trace import Trace


class BatchCluster:
    """Nodes 0 .. *nodes* - 1 and the queue before them: the :class:`BatchQueue` of the simulator.

    *queue* (``wfp``, ``fcfs``), *backfill* (``easy``, ``none``), *unit_nodes* and *allocation* are
    those of an ``ioopt/batch-io`` instance. No clock, no files; not thread-safe. What has left is
    forgotten, so memory follows the jobs that are here.
    """

    def __init__(
        self,
        nodes: int,
        *,
        queue: str = "wfp",
        backfill: str = "easy",
        unit_nodes: int = 1,
        allocation: str = "flat",
    ) -> None:
        # the queue does not look at rates
        block = {"nodes": nodes, "unit_nodes": unit_nodes, "allocation": allocation,
                 "node_bytes_per_second": 1.0, "storage_bytes_per_second": 1.0}  # fmt: skip
        self.machine: Machine = validate(Machine, block, "machine")
        options: QueueOptions = validate(
            QueueOptions, {"queue": queue, "backfill": backfill}, "options"
        )
        self._submit: list[float] = []
        self._walltime: list[float] = []
        self._nodes: list[int] = []
        self._units: list[int] = []
        trace = Trace(
            machine=self.machine, options=options, limits=Limits.of(self.machine), ids=[],
            position=[], rank=[], submit=self._submit, walltime=self._walltime, nodes=self._nodes,
            units=self._units, allocated=[], peak=[], offset=[], pieces=[],
        )  # fmt: skip
        self._queue = BatchQueue(trace, self._start)
        self._names: list[Any] = []
        self._slot: dict[Any, int] = {}
        self._unused: list[int] = []
        self._free_units = list(range(self.machine.units))
        self._held: dict[int, list[int]] = {}
        self._started: list[tuple[Any, list[int]]] = []

    def __len__(self) -> int:
        return len(self._slot)

    @property
    def waiting(self) -> int:
        """How many jobs have not started."""
        return len(self._queue)

    def arrive(self, job: Any, nodes: int, walltime: float, now: float) -> None:
        """Put a job into the queue; raises UsageError when it is there or can never run."""
        if job in self._slot:
            raise UsageError(f"job {job!r} is here already")
        if not 1 <= nodes <= self.machine.nodes:
            raise UsageError(f"job {job!r}: nodes {nodes}, but there are {self.machine.nodes}")
        row = (now, walltime, nodes, self.machine.allocated_units(nodes), job)
        columns: tuple[list[Any], ...] = (
            self._submit, self._walltime, self._nodes, self._units, self._names,
        )  # fmt: skip
        if self._unused:
            slot = self._unused.pop()
            for column, value in zip(columns, row):
                column[slot] = value
        else:
            slot = len(self._names)
            for column, value in zip(columns, row):
                column.append(value)
        self._slot[job] = slot
        self._queue.arrive(slot)

    def leave(self, job: Any) -> None:
        """A job has ended, or waits no longer; raises UsageError for an unknown one."""
        slot = self._slot.pop(job, None)
        if slot is None:
            raise UsageError(f"job {job!r} is not here")
        if slot in self._queue.ends:
            self._queue.release(slot)
            for unit in self._held.pop(slot):
                heapq.heappush(self._free_units, unit)
        else:
            self._queue.withdraw(slot)
        self._unused.append(slot)

    def run(self, now: float) -> list[tuple[Any, list[int]]]:
        """One pass of the queue at *now* (seconds): the jobs that start, each with its nodes."""
        self._started = []
        self._queue.run(now)
        return self._started

    def _start(self, slot: int) -> bool:
        """Give the job of a slot its nodes: the block that the queue found, else the lowest free units."""
        place = self._queue.block.get(slot)
        count, wide = self._units[slot], self.machine.unit_nodes
        if place is None:
            units = [heapq.heappop(self._free_units) for _ in range(count)]
        else:
            units = list(range(place, place + count))
            taken = set(units)
            self._free_units = [unit for unit in self._free_units if unit not in taken]
            heapq.heapify(self._free_units)
        self._held[slot] = units
        nodes = [unit * wide + k for unit in units for k in range(wide)]
        self._started.append((self._names[slot], nodes[: self._nodes[slot]]))
        return False
