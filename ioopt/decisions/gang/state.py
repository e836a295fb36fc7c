"""Define the state of a gang scheduler: jobs, the Ousterhout matrix, the queue.

Sets of nodes and of rows are Python integers used as bitmasks (bit k is node or row k).
Numbers are floats or, in exact arithmetic, Fractions; the code is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ioopt.decisions.gang.rules import (
    UNLIMITED,
    WEIGHTS,
    Number,
    Rules,
    Weight,
    weight_of,
)
from ioopt.problems.gang import (
    GangMatrixProblem,
    GangProblem,
    Machine,
    RunningJob,
    mask_of,
)
from ioopt.units import exact


class Gang(NamedTuple):
    """A job in the form that the phases use.

    ``key`` is its FCFS position, ``files`` the mask of its file nodes.
    """

    key: int
    size: int
    files: int
    local: Number
    remote: Number
    arrival: Number = 0.0


class Clock(NamedTuple):
    """The instant of a decision, and the service that jobs have received.

    ``attained`` and ``need`` are lists (or mappings) by job key: scheduled seconds
    received, and scheduled seconds still needed at the present speed.
    """

    now: Number
    quantum: Number
    attained: Sequence[Number] | Mapping[int, Number]
    need: Sequence[Number] | Mapping[int, Number]
    migration: Number = 0.0


class State(NamedTuple):
    """The matrix and the queue between two phases; a phase returns a new one.

    ``jobs`` are the running jobs in start order; ``columns``, ``homes`` and ``spans``
    (the mask of all rows that hold the job, home included) are parallel to it. ``rows``
    are the occupied nodes of each row. ``waiting`` is the queue in FCFS order and
    ``admitted`` its jobs that start now. ``moved`` are the keys of jobs that migrated,
    ``tasks_moved`` the number of their tasks, and ``budget`` how many tasks may still
    migrate in this slice.
    """

    nodes: int
    jobs: Sequence[Gang]
    columns: Sequence[int]
    homes: Sequence[int]
    spans: Sequence[int]
    rows: Sequence[int]
    waiting: Sequence[Gang]
    clock: Clock
    budget: int = UNLIMITED
    admitted: tuple[Gang, ...] = ()
    moved: tuple[int, ...] = ()
    tasks_moved: int = 0


class GangPolicy(Protocol):
    """A scheduler that computes one matrix update from the present state.

    ``name`` is that of the registry. ``rules`` are the choices for the phases of
    :mod:`ioopt.sim.gang.phases`, which simulators then run in place, compiled or not;
    None for a policy that does anything else.
    """

    @property
    def name(self) -> str:
        """Return the name on the command line."""
        ...

    @property
    def rules(self) -> Rules | None:
        """Return the choices for the phases of an update; None if they do not describe
        this policy.
        """
        ...

    def update(self, state: State) -> State:
        """Run all phases once."""
        ...


class Timing(NamedTuple):
    """T, C, Q and the shape of the matrix, all as floats or all as Fractions.

    Instants that differ by at most ``tolerance`` are equal. ``at_boundary``: the matrix
    is updated at slice boundaries only (rule 2).
    """

    nodes: int
    levels: int
    quantum: Number
    migration: Number
    budget: int
    tolerance: Number
    at_boundary: bool = False

    @classmethod
    def of(
        cls, machine: Machine, arithmetic: str = "float", recompute: str = "event"
    ) -> Timing:
        """Return the numbers of *machine* as floats or, with ``exact``, as
        Fractions.
        """
        number = _number_of(arithmetic)
        budget = machine.migration_tasks_per_quantum
        if budget is None:
            budget = UNLIMITED
        return cls(
            nodes=machine.nodes,
            levels=machine.levels,
            quantum=number(machine.quantum_seconds),
            migration=number(machine.migration_seconds),
            budget=budget,
            tolerance=number(1e-7),
            at_boundary=recompute == "boundary",
        )


def gangs_of(problem: GangProblem, arithmetic: str = "float") -> list[Gang]:
    """Return the jobs of a workload in FCFS order; their keys are their positions."""
    number = _number_of(arithmetic)
    times: Sequence[tuple[Number, Number]] = problem.times
    if arithmetic == "exact":
        times = problem.exact_times
    gangs = []
    for key, k in enumerate(problem.fcfs):
        job = problem.jobs[k]
        local, remote = times[k]
        arrival = number(job.arrival_seconds)
        files = mask_of(job.file_nodes)
        gangs.append(Gang(key, job.size, files, local, remote, arrival))
    return gangs


def _number_of(arithmetic: str) -> Callable[[float], Number]:
    """Return the function that converts a float to the *arithmetic*."""
    if arithmetic == "exact":
        return exact
    return float


def state_of(problem: GangMatrixProblem) -> State:
    """Return the state that a snapshot describes, without replicas of jobs in other
    rows.

    The running jobs have the lowest keys.
    """
    everyone = [*problem.running, *problem.waiting]
    now = problem.now_seconds or 0.0
    gangs = []
    need = []
    for key, job in enumerate(everyone):
        files = mask_of(job.file_nodes)
        arrival = job.arrival_seconds
        if arrival is None:
            arrival = now
        local = job.local_seconds
        remote = job.remote_seconds
        gangs.append(Gang(key, job.size, files, local, remote, arrival))
        seconds = local
        if isinstance(job, RunningJob) and mask_of(job.columns) != files:
            seconds = remote
        need.append(job.stall_seconds + job.remaining_fraction * seconds)
    columns = [mask_of(job.columns) for job in problem.running]
    homes = [job.home_row for job in problem.running]
    rows = [0] * problem.machine.levels
    for mask, home in zip(columns, homes):
        rows[home] |= mask
    machine = problem.machine
    clock = Clock(
        now,
        machine.quantum_seconds,
        [job.attained_seconds for job in everyone],
        need,
        machine.migration_seconds,
    )
    left = problem.tasks_left
    count = len(problem.running)
    return State(
        machine.nodes,
        gangs[:count],
        columns,
        homes,
        [1 << home for home in homes],
        rows,
        gangs[count:],
        clock,
        UNLIMITED if left is None else left,
    )


def weights(kind: Weight, jobs: Iterable[Gang], clock: Clock) -> list[Number]:
    """Return the weights of *jobs* (docs/gang.md, The mathematics): ``las``, ``hdf``,
    or 1 for each.
    """
    code = WEIGHTS[kind]
    attained = clock.attained
    need = clock.need
    return [
        weight_of(code, job.local, attained[job.key], need[job.key], clock.quantum)
        for job in jobs
    ]


def move_speed(clock: Clock) -> Number:
    """Return the speed of a job that migrates in this update: 1 - C/(2T)."""
    return 1 - clock.migration / (2 * clock.quantum)


def value_of(state: State, kind: Weight) -> Number:
    """Return the value of a matrix: the sum over the jobs of *state*, after an update,
    of weight x speed x rows.
    """
    total: Number = 0
    heavy = weights(kind, state.jobs, state.clock)
    for weight, job, columns, span in zip(
        heavy, state.jobs, state.columns, state.spans
    ):
        if columns != job.files:
            speed: Number = job.local / job.remote
        else:
            if job.key in state.moved:
                speed = move_speed(state.clock)
            else:
                speed = 1
        total += weight * speed * span.bit_count()
    return total
