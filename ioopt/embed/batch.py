"""Run the simulator's batch queue inside a scheduler to which jobs arrive over time.

>>> cluster = BatchCluster(4, queue="fcfs")
>>> for name, nodes in (("a", 3), ("b", 2), ("c", 1)):
...     cluster.arrive(name, nodes, walltime=60.0, now=0.0)
>>> cluster.run(0.0)
[('a', [0, 1, 2]), ('c', [3])]
>>> cluster.leave("a")
>>> cluster.run(30.0)
[('b', [0, 1])]
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from ioopt import arguments
from ioopt.compiled.memory import Plain
from ioopt.decisions.batch_io import IoPolicy, Limits
from ioopt.errors import UsageError
from ioopt.formats.native import validate
from ioopt.problems.base import LARGEST
from ioopt.problems.batch_io import Machine, QueueOptions
from ioopt.sim.batch_io.agenda import take_slot
from ioopt.sim.batch_io.engine import run_queue
from ioopt.sim.batch_io.initial import clock_of, system_of
from ioopt.sim.batch_io.state import COMPUTING, NOBODY, WORD, Clock, System
from ioopt.sim.batch_io.trace import Trace
from ioopt.sim.batch_io.waiting import arrive, occupy
from ioopt.units import counted

UNFOLLOWED = ("estimate", "pass")
"""Options of an instance that a live queue cannot follow. They need the future I/O of
jobs or one pass for each event, and a live queue knows neither.
"""


@dataclass(eq=False)
class _Known:
    """A job that waits or runs. ``units`` are the allocation units that it occupies; a
    waiting job has none.

    A ``name`` of None stands for a unit out of service. For a waiting job, ``box``
    (start and end in seconds), ``block`` and ``chosen`` are the plan that the last pass
    made for it.
    """

    name: str | None
    nodes: int
    submit: float
    walltime: float
    start: float = math.nan
    units: list[int] = field(default_factory=list)
    box: tuple[float, float] = (-math.inf, -math.inf)
    block: int = NOBODY
    chosen: list[int] = field(default_factory=list)


class BatchCluster:
    """A cluster of *nodes* nodes with a queue of jobs, which works as in the simulator.

    The nodes are numbered from 0. *unit_nodes*, *allocation* and *options*, such as
    ``queue`` and ``backfill``, are those of an ``ioopt/batch-io`` instance. Raises
    UsageError for an option that a live queue cannot follow. The object reads no clock
    and no files, and is not thread-safe. Jobs that have left are forgotten, so that
    memory use depends only on the jobs present.
    """

    def __init__(
        self,
        nodes: int,
        *,
        unit_nodes: int = 1,
        allocation: str = "flat",
        **options: str | int,
    ) -> None:
        # The queue does not use the rates.
        block = {
            "nodes": nodes,
            "unit_nodes": unit_nodes,
            "allocation": allocation,
            "node_bytes_per_second": 1.0,
            "storage_bytes_per_second": 1.0,
        }
        self.machine: Machine = validate(Machine, block, "machine")
        self._options: QueueOptions = validate(QueueOptions, options, "options")
        for key, value in self._options.model_dump(
            by_alias=True, exclude_defaults=True
        ).items():
            if key in UNFOLLOWED:
                raise UsageError(
                    f"{key}={value}: a live queue cannot follow it; leave it out"
                )
        self._freed = False
        self._here: dict[str, _Known] = {}
        self._down: set[int] = set()

    def __repr__(self) -> str:
        running = len(self) - self.waiting
        size = counted(self.machine.nodes, "node")
        return (
            f"{type(self).__name__}({size}, {running} running, {self.waiting} waiting)"
        )

    def __len__(self) -> int:
        return len(self._here)

    @property
    def waiting(self) -> int:
        """Return the number of jobs that have not started."""
        return sum(not job.units for job in self._here.values())

    def arrive(self, job: str, nodes: int, walltime: float, now: float) -> None:
        """Add a job to the queue at time *now* (seconds). *walltime* is in seconds and
        may be infinite.

        Raises UsageError for a job that is present already or needs more nodes than
        there are, and for invalid numbers (None, NaN, fractions of nodes).
        """
        if arguments.key(job, "job") in self._here:
            raise UsageError(f"job {job!r} is here already")
        what = f"job {job!r}"
        nodes = arguments.whole(nodes, f"{what}: nodes", 1, self.machine.nodes)
        walltime = arguments.duration(walltime, f"{what}: walltime")
        now = arguments.seconds(now, f"{what}: now")
        self._here[job] = _Known(job, nodes, now, walltime)

    def leave(self, job: str) -> None:
        """Remove a job that has ended or was withdrawn. Raises UsageError for an
        unknown job.
        """
        if self._here.pop(arguments.key(job, "job"), None) is None:
            raise UsageError(f"job {job!r} is not here")
        self._freed = True

    def take_down(self, nodes: Collection[int]) -> None:
        """Take *nodes* out of service, and put all other nodes into service. Nodes in
        use leave service when their job ends.

        Raises UsageError, and changes nothing, for numbers that are not nodes of this
        cluster.
        """
        most = self.machine.nodes - 1
        given = [
            arguments.whole(node, "take_down", 0, most)
            for node in arguments.names(nodes, "take_down")
        ]
        self._down = {node // self.machine.unit_nodes for node in given}
        self._freed = True

    def can_hold(self, nodes: int) -> bool:
        """Return whether enough nodes are in service for a job of *nodes* nodes, be
        they free or not.
        """
        nodes = arguments.whole(nodes, "can_hold", 0, LARGEST)
        in_service = self.machine.units - len(self._down)
        return self.machine.allocated_units(nodes) <= in_service

    def run(self, now: float) -> list[tuple[str, list[int]]]:
        """Start jobs of the queue at time *now* (seconds), in one pass.

        Returns the jobs that start, each with its nodes.
        """
        now = arguments.seconds(now, "run: now")
        jobs = list(self._here.values())
        used: set[int] = set()
        for job in jobs:
            used.update(job.units)
        # Units out of service are entered as if jobs that never end occupied them.
        for unit in sorted(self._down - used):
            jobs.append(_Known(None, 1, now, math.inf, now, [unit]))
        system, clock = self._system(jobs, now)
        free = sorted(set(range(self.machine.units)) - used - self._down)
        running = clock.num_running
        started = []
        run_queue(system, clock)
        for k in system.agenda.running[running : clock.num_running]:
            job = jobs[k]
            job.start = now
            job.units = _chosen_units(system, k, free)
            free = [unit for unit in free if unit not in set(job.units)]
            assert job.name is not None
            started.append((job.name, self._nodes_of(job)))
        self._freed = clock.freed
        for job, record in zip(jobs, system.jobs):
            job.box = (record.box_start, record.box_end)
            job.block = record.block
            job.chosen = _set_of(system, record.number)
        return started

    def _nodes_of(self, job: _Known) -> list[int]:
        """Return the numbers of the nodes of a job; they lie in the allocation units of
        the job.
        """
        wide = self.machine.unit_nodes
        nodes: list[int] = []
        for unit in job.units:
            nodes += range(unit * wide, (unit + 1) * wide)
        return nodes[: job.nodes]

    def _system(self, jobs: list[_Known], now: float) -> tuple[System, Clock]:
        """Return the simulator's state for *jobs* at time *now*.

        Each job gets a single phase that never ends, since a live queue does not know
        the job's phases.
        """
        machine = self.machine
        every = range(len(jobs))
        units = [len(job.units) or machine.allocated_units(job.nodes) for job in jobs]
        trace = Trace(
            machine=machine,
            options=self._options,
            limits=Limits.of(machine),
            ids=every,
            position=every,
            rank=every,
            submit=[job.submit for job in jobs],
            walltime=[job.walltime for job in jobs],
            nodes=[job.nodes for job in jobs],
            units=units,
            allocated=[count * machine.unit_nodes for count in units],
            peak=[1.0] * len(jobs),
            offset=range(len(jobs) + 1),
            pieces=[(math.inf, 0.0, 1)] * len(jobs),
        )
        make = Plain()
        system = system_of(make, trace, IoPolicy("queue", None))
        clock = clock_of(make, trace.limits, machine.units)
        clock.now = now
        clock.until = now
        clock.freed = self._freed
        words = system.units.words
        chosen = system.units.chosen
        for job, record in zip(jobs, system.jobs):
            own = record.number * words
            if not job.units:
                arrive(system, clock, record)
                record.box_start, record.box_end = job.box
                record.block = job.block
                if job.chosen:
                    chosen[own : own + words] = job.chosen
                continue
            if chosen:
                for unit in job.units:
                    chosen[own + unit // WORD] |= 1 << unit % WORD
            record.start = job.start
            record.status = COMPUTING
            occupy(system, clock, record, job.units[0])
            take_slot(system, clock.num_running, record)
            clock.num_running += 1
        return system, clock


def _set_of(system: System, k: int) -> list[int]:
    """Return the set of the units of job *k*, as words of bits; it is empty where units
    are not numbered or have partitions.
    """
    words = system.units.words
    return system.units.chosen[k * words : (k + 1) * words]


def _chosen_units(system: System, k: int, free: list[int]) -> list[int]:
    """Return the units on which job *k* starts, taken from the units *free*."""
    record = system.jobs[k]
    if system.rules.partition:
        return list(range(record.block, record.block + record.units))
    if system.rules.numbered:
        row = _set_of(system, k)
        return [unit for unit in free if row[unit // WORD] >> unit % WORD & 1]
    return free[: record.units]
