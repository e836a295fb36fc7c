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

import heapq
import itertools
import math
from collections.abc import Collection, Hashable
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from ioopt.decisions.batch_io import Limits
from ioopt.errors import UsageError
from ioopt.formats.native import validate
from ioopt.problems.batch_io import Machine, QueueOptions
from ioopt.quantities import counted
from ioopt.sim.batch_io.queue import run_queue
from ioopt.sim.batch_io.queue_lists import arrive, occupy, vacate, withdraw
from ioopt.sim.batch_io.state import COMPUTING, NOBODY, WAITING, Moment, World

JobT = TypeVar("JobT", bound=Hashable)


class BatchCluster(Generic[JobT]):
    """Nodes 0 .. *nodes* - 1 and the queue before them, which is that of the simulator.

    *queue* (``wfp``, ``fcfs``, ``sjf``), *backfill* (``easy``, ``none``), *unit_nodes* and *allocation* are
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
        if options.queue == "plan" or options.backfill == "conservative":
            raise UsageError(
                f"queue={queue}, backfill={backfill}: a live queue plans no boxes; it knows wfp, fcfs and "
                "sjf, easy and none"
            )
        self._world = World(self.machine, options, Limits.of(self.machine), self._start)
        self._world.jobs = {}
        self._moment = Moment()
        self._moment.free = self.machine.units
        self._numbers = itertools.count()
        self._here: dict[JobT, Any] = {}
        self._free_units = list(range(self.machine.units))
        self._started: list[tuple[JobT, list[int]]] = []
        self._down: set[int] = set()
        self._outages: dict[int, Any] = {}

    def __repr__(self) -> str:
        running = len(self) - self.waiting
        size = counted(self.machine.nodes, "node")
        return f"{type(self).__name__}({size}, {running} running, {self.waiting} waiting)"

    def __len__(self) -> int:
        return len(self._here)

    @property
    def waiting(self) -> int:
        """How many jobs have not started."""
        return self._moment.waiting

    def arrive(self, job: JobT, nodes: int, walltime: float, now: float) -> None:
        """Put a job into the queue; raises UsageError when it is there or can never run."""
        if job in self._here:
            raise UsageError(f"job {job!r} is here already")
        if not 1 <= nodes <= self.machine.nodes:
            raise UsageError(f"job {job!r}: nodes {nodes}, but there are {self.machine.nodes}")
        record: Any = SimpleNamespace(
            name=job, job=next(self._numbers), submit=now, walltime=walltime, asked_nodes=nodes,
            units=self.machine.allocated_units(nodes), block=NOBODY, status=WAITING, held=[],
            length=walltime,
        )  # fmt: skip
        self._here[job] = self._world.jobs[record.job] = record
        arrive(self._world, self._moment, record)

    def leave(self, job: JobT) -> None:
        """A job has ended, or waits no longer; raises UsageError for an unknown one."""
        record = self._here.pop(job, None)
        if record is None:
            raise UsageError(f"job {job!r} is not here")
        if record.status == WAITING:
            withdraw(self._world, self._moment, record)
        else:
            vacate(self._world, self._moment, record)
            for unit in record.held:
                heapq.heappush(self._free_units, unit)
            self._close_units()
        del self._world.jobs[record.job]

    def take_down(self, nodes: Collection[int]) -> None:
        """*nodes*, and no others, are out of service; those in use go when their job has left."""
        self._down = {node // self.machine.unit_nodes for node in nodes}
        for unit in self._outages.keys() - self._down:
            vacate(self._world, self._moment, self._outages.pop(unit))
            heapq.heappush(self._free_units, unit)
        self._close_units()

    def _close_units(self) -> None:
        """Give free units that are out of service to somebody who never ends."""
        closed = [unit for unit in self._free_units if unit in self._down]
        for unit in closed:
            record: Any = SimpleNamespace(
                job=next(self._numbers), units=1, walltime=math.inf, block=NOBODY
            )
            occupy(self._world, self._moment, record, unit)
            self._outages[unit] = record
            self._free_units.remove(unit)
        heapq.heapify(self._free_units)

    def can_hold(self, nodes: int) -> bool:
        """Whether the nodes in service are enough for a job of *nodes*."""
        return self.machine.allocated_units(nodes) <= self.machine.units - len(self._down)

    def run(self, now: float) -> list[tuple[JobT, list[int]]]:
        """One pass of the queue at *now* (seconds): the jobs that start, each with its nodes."""
        self._started = []
        self._moment.now = now
        run_queue(self._world, self._moment)
        return self._started

    def _start(self, world: World, moment: Moment, record: Any) -> None:
        """Give a job its nodes: the block that the queue found, else the lowest free units."""
        wide = self.machine.unit_nodes
        if record.block == NOBODY:
            record.held = [heapq.heappop(self._free_units) for _ in range(record.units)]
        else:
            record.held = list(range(record.block, record.block + record.units))
            taken = set(record.held)
            self._free_units = [unit for unit in self._free_units if unit not in taken]
            heapq.heapify(self._free_units)
        record.status = COMPUTING
        nodes = [unit * wide + k for unit in record.held for k in range(wide)]
        self._started.append((record.name, nodes[: record.asked_nodes]))
