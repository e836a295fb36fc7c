"""Define the state of a gang scheduler: its jobs, the Ousterhout matrix and the queue.

Sets of nodes and of rows are Python integers used as bitmasks: bit k stands for node or
row k. Times are floats. In exact arithmetic fractions take their place: the code is the
same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

from ioopt.decisions.gang.rules import (
    UNLIMITED,
    WEIGHTS,
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

SAME_INSTANT_SECONDS = 1e-7
SAME_INSTANT_RELATIVE = 2.0**-50
"""Between 4 and 8 ulps of a time; more than 1e-7 s after 3.6 years."""


class Gang(NamedTuple):
    """A job in the form that the phases of a matrix update use.

    ``key`` is its FCFS position. ``files`` is the mask of its file nodes. ``local`` and
    ``remote`` are its run times in seconds on its file nodes and elsewhere.
    """

    key: int
    size: int
    files: int
    local: float
    remote: float
    arrival: float = 0.0


class Clock(NamedTuple):
    """The time of a decision, and the service that jobs have received; times are in
    seconds.

    ``attained`` and ``need`` are lists (or mappings) indexed by job key: the scheduled
    time that a job has received, and the scheduled time that it still needs at its
    present speed. ``migration`` is the time that a migration costs a job.
    """

    now: float
    quantum: float
    attained: Sequence[float] | Mapping[int, float]
    need: Sequence[float] | Mapping[int, float]
    migration: float = 0.0


class State(NamedTuple):
    """The matrix and the queue between two phases; each phase returns a new state.

    ``jobs`` are the running jobs in start order. ``columns``, ``homes`` and ``spans``
    have one item for each of them: the nodes that the job occupies, its home row, and
    the mask of all rows that hold it, home included. ``rows`` are the occupied nodes of
    each row. ``waiting`` is the queue in FCFS order, and ``admitted`` are those of its
    jobs that start now. ``moved`` are the keys of the jobs that migrated, and
    ``tasks_moved`` is the number of their tasks. ``budget`` is the number of tasks that
    may still migrate in this slice.
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

    ``name`` is its name in the registry. ``rules`` are its choices for the phases of
    :mod:`ioopt.sim.gang.update`. Simulators then run these phases in place, compiled or
    not. ``rules`` is None for a policy that does anything else.
    """

    @property
    def name(self) -> str:
        """Return the name of the policy on the command line."""
        ...

    @property
    def rules(self) -> Rules | None:
        """Return the choices for the phases of an update; None if they do not describe
        this policy.
        """
        ...

    def update(self, state: State) -> State:
        """Return the state after one matrix update."""
        ...


@dataclass(slots=True)
class Timing:
    """The shape of the matrix and the times of the machine, all as floats or all as
    Fractions.

    ``quantum`` is T and ``migration`` is C, in seconds. ``budget`` is Q, the number of
    tasks that may migrate in each slice. Times that differ by at most ``tolerance``
    seconds, or by ``relative`` times the time if that is more, are equal (rule 3). If
    ``at_boundary``, the matrix is updated at slice boundaries only (rule 2).
    """

    nodes: int
    levels: int
    quantum: float
    migration: float
    budget: int
    tolerance: float
    relative: float = 0.0
    at_boundary: bool = False

    @classmethod
    def of(
        cls, machine: Machine, arithmetic: str = "float", recompute: str = "event"
    ) -> Timing:
        """Return the timing of *machine*, as floats or, if *arithmetic* is ``exact``,
        as Fractions.
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
            tolerance=number(SAME_INSTANT_SECONDS),
            relative=number(SAME_INSTANT_RELATIVE),
            at_boundary=recompute == "boundary",
        )


def tolerance_at(timing: Timing, now: float) -> float:
    """Return by how many seconds a time may differ from *now* and still be the same
    instant (rule 3).

    The part that grows with *now* stays above rounding errors: without it, a job
    that needs less than an ulp of *now* would run forever after 17 years.
    """
    return max(timing.tolerance, timing.relative * now)


def gangs_of(problem: GangProblem, arithmetic: str = "float") -> list[Gang]:
    """Return the jobs of a workload in FCFS order; the key of each is its position in
    the list.
    """
    number = _number_of(arithmetic)
    times = problem.times
    if arithmetic == "exact":
        times = cast(tuple[tuple[float, float], ...], problem.exact_times)
    gangs = []
    for key, k in enumerate(problem.fcfs):
        job = problem.jobs[k]
        local, remote = times[k]
        arrival = number(job.arrival_seconds)
        files = mask_of(job.file_nodes)
        gangs.append(Gang(key, job.size, files, local, remote, arrival))
    return gangs


def _number_of(arithmetic: str) -> Callable[[float], float]:
    """Return the function that converts a float to a number of the *arithmetic*."""
    if arithmetic == "exact":
        return cast(Callable[[float], float], exact)
    return float


def state_of(problem: GangMatrixProblem) -> State:
    """Return the state that a snapshot describes, without replicas: each job is in its
    home row only.

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


def weights(kind: Weight, jobs: Iterable[Gang], clock: Clock) -> list[float]:
    """Return the weights of *jobs* as docs/gang.md defines them ("The mathematics")."""
    code = WEIGHTS[kind]
    attained = clock.attained
    need = clock.need
    return [
        weight_of(code, job.local, attained[job.key], need[job.key], clock.quantum)
        for job in jobs
    ]


def move_speed(clock: Clock) -> float:
    """Return the speed of a job that migrates in this update: 1 - C/(2T), with C for
    the time of a migration and T for the quantum.
    """
    return 1 - clock.migration / (2 * clock.quantum)


def value_of(state: State, kind: Weight) -> float:
    """Return the value of the matrix in *state*, which follows an update: the sum over
    its jobs of weight times speed times number of rows.
    """
    total: float = 0
    heavy = weights(kind, state.jobs, state.clock)
    for weight, job, columns, span in zip(
        heavy, state.jobs, state.columns, state.spans
    ):
        if columns != job.files:
            speed: float = job.local / job.remote
        else:
            if job.key in state.moved:
                speed = move_speed(state.clock)
            else:
                speed = 1
        total += weight * speed * span.bit_count()
    return total
