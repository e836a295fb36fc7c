"""Simulate a time-sliced machine under a gang-scheduling policy.

For a policy made of rules (:class:`~ioopt.decisions.gang.rules.Rules`) the phases run
in place on a matrix, in plain Python or compiled. Any other policy is called with a
:class:`~ioopt.decisions.gang.state.State` at every event. In plain Python the same code
runs on floats and on fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from ioopt.compiled.memory import Maker, Plain, column
from ioopt.decisions.gang.rules import ADAPTIVE, HDF, RuleNumbers, Rules
from ioopt.decisions.gang.state import Clock, Gang, GangPolicy, State, Timing
from ioopt.errors import SimulationError
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem, nodes_of
from ioopt.protocols import Simulation
from ioopt.sim.gang import clock
from ioopt.sim.gang.matrix import Job, new_matrix, zero_of
from ioopt.sim.gang.update import state_of_matrix
from ioopt.sim.pace import Pace
from ioopt.timeline import Interval, Timeline

STEPS_PER_LOOK = 64
"""Steps of the event loop between two checks of the deadline in plain Python; compiled,
the number is ``Maker.times`` as large.
"""
MAX_LEVELS = 62
"""Largest number of rows of a matrix in compiled code, where a set of rows is one
number of 64 bits with a sign.
"""

Observer = Callable[[float, int, State, "tuple[int, ...]"], None]
"""Function called after each update with (time, slice number, new state, keys of jobs
that left).
"""


@dataclass
class Trajectory:
    """Store the result of a simulation. Lists are indexed by job key (FCFS position);
    times are in seconds.

    ``occupied`` is the integral over time of the number of occupied slots (node, row),
    replicas included.
    """

    start: list[float]
    finish: list[float]
    local: list[bool]
    tasks_moved: int = 0
    occupied: float = 0.0
    updates: int = 0


def in_place(policy: GangPolicy) -> bool:
    """Return whether the phases of *policy* can run in place on a matrix.

    A queue that is ordered by HDF changes its order as the jobs run.
    """
    return policy.rules is not None and policy.rules.weight != HDF


def largest_number(gangs: Sequence[Gang], timing: Timing) -> int:
    """Return a number above every whole number of a simulation: counts of time
    slices.
    """
    seconds = gangs[-1].arrival if gangs else 0.0
    for gang in gangs:
        seconds += timing.levels * (gang.remote + timing.migration)
    return int(seconds / timing.quantum + len(gangs)) * timing.levels


class ByKey(Mapping[int, float]):
    """Read one field of the jobs by their keys, as it is at that moment."""

    __slots__ = ("_field", "_jobs")

    def __init__(self, jobs: Sequence[Job], field: str) -> None:
        self._jobs = jobs
        self._field = field

    def __getitem__(self, key: int) -> float:
        value: float = getattr(self._jobs[key], self._field)
        return value

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._jobs)))

    def __len__(self) -> int:
        return len(self._jobs)


class GangSimulation:
    """Simulate jobs in FCFS order on a machine under a policy.

    *make* chooses between plain Python and compiled code. A run with an *observer*, and
    one of a policy whose phases do not run in place, need plain Python.
    """

    def __init__(
        self,
        gangs: Sequence[Gang],
        timing: Timing,
        policy: GangPolicy,
        observer: Observer | None = None,
        make: Maker | None = None,
    ) -> None:
        self.gangs = gangs
        self.policy = policy
        self.observer = observer
        self.make = make or Plain()
        self.in_place = in_place(policy)
        assert not self.make.compiled or (self.in_place and observer is None)
        rules = policy.rules or Rules(ADAPTIVE)
        zero = zero_of(timing.quantum)
        numbers = rules.numbers(timing.nodes, timing.levels, timing.quantum)
        self.timing = self.make.table(Timing, **asdict(timing))
        self.rules = self.make.table(RuleNumbers, **asdict(numbers))
        self.matrix = new_matrix(
            gangs, timing.nodes, timing.levels, rules, self.make, zero
        )
        self._simulate = self.make.function(clock.simulate)

    def run(self, pace: Pace | None = None) -> Trajectory:
        """Simulate until the last job has finished.

        Raises SimulationError if the queue can never proceed, and OutOfTime if *pace*
        ends the run.
        """
        matrix = self.matrix
        total = len(self.gangs)
        steps = round(STEPS_PER_LOOK * self.make.times)
        while matrix.num_done < total:
            self._pass(steps)
            if matrix.num_done == total:
                break
            if pace:
                pace.look(matrix.queue_tail, matrix.num_done, total)
            self._require_progress()
        return Trajectory(
            start=column(matrix.jobs, "start"),
            finish=column(matrix.jobs, "finish"),
            local=list(map(bool, column(matrix.jobs, "local"))),
            tasks_moved=matrix.tasks_moved,
            occupied=matrix.slot_seconds,
            updates=matrix.updates,
        )

    def _require_progress(self) -> None:
        """Raise SimulationError if jobs wait although the matrix is empty and no
        further job will arrive.
        """
        matrix = self.matrix
        all_arrived = matrix.queue_tail == len(self.gangs)
        waiting = matrix.queue_head < len(self.gangs)
        empty = matrix.num_running + matrix.num_gone == 0
        if all_arrived and waiting and empty:
            head = self.gangs[matrix.queue[matrix.queue_head]]
            raise SimulationError(
                f"{self.policy.name}: the job at FCFS position {head.key} with "
                f"{head.size} tasks fits no row of an empty matrix"
            )

    def _pass(self, steps: int) -> None:
        """Make at most *steps* steps of the event loop."""
        matrix = self.matrix
        jobs = matrix.jobs
        timing = self.timing
        if self.in_place and self.observer is None:
            self._simulate(matrix, timing, self.rules, steps)
            return
        while steps > 0 and matrix.num_done < len(self.gangs):
            steps = clock.advance(matrix, timing, steps)
            if not matrix.update_due:
                continue
            if not self.in_place:
                after = self._ask()
            else:
                before = self._state(ByKey(jobs, "attained"), ByKey(jobs, "need"))
                clock.update(matrix, timing, self.rules)
                after = state_of_matrix(matrix, self.gangs, matrix.filled, before)
            if self.observer is not None:
                gone = tuple(matrix.gone[: matrix.num_left])
                self.observer(matrix.now, matrix.slice_number, after, gone)

    def _state(self, attained: Mapping[int, float], need: Mapping[int, float]) -> State:
        """Return the state of the machine for a policy; its ``rows`` are left empty."""
        matrix = self.matrix
        timing = self.timing
        jobs = matrix.jobs
        run = matrix.running[: matrix.num_running]
        waiting = matrix.queue[matrix.queue_head : matrix.queue_tail]
        return State(
            nodes=timing.nodes,
            jobs=[self.gangs[j] for j in run],
            columns=[matrix.columns[j] for j in run],
            homes=[jobs[j].home for j in run],
            spans=[jobs[j].span for j in run],
            rows=[0] * timing.levels,
            waiting=[self.gangs[j] for j in waiting],
            clock=Clock(matrix.now, timing.quantum, attained, need, timing.migration),
            budget=matrix.tasks_left,
        )

    def _ask(self) -> State:
        """Update the matrix by calling the policy; return the new state."""
        matrix = self.matrix
        clock.open_update(matrix, self.timing, self.rules)
        jobs = matrix.jobs
        keys = [
            *matrix.running[: matrix.num_running],
            *matrix.queue[matrix.queue_head : matrix.queue_tail],
        ]
        attained = {j: jobs[j].attained for j in keys}
        need = {j: jobs[j].need for j in keys}
        after = self.policy.update(self._state(attained, need))
        matrix.num_running = len(after.jobs)
        matrix.num_before = len(after.jobs) - len(after.admitted)
        matrix.running[: matrix.num_running] = [job.key for job in after.jobs]
        matrix.order[: matrix.num_running] = [job.key for job in after.jobs]
        for gang, columns, home, span in zip(
            after.jobs, after.columns, after.homes, after.spans
        ):
            job = jobs[gang.key]
            matrix.columns[gang.key] = columns
            job.home = home
            job.span = span
            job.rows = span.bit_count()
            job.local = columns == gang.files
        matrix.num_moved = len(after.moved)
        matrix.moved[: matrix.num_moved] = after.moved
        matrix.tasks_left -= after.tasks_moved
        matrix.tasks_moved += after.tasks_moved
        matrix.slots = sum(row.bit_count() for row in after.rows)
        started = {job.key for job in after.admitted}
        waiting = [
            j
            for j in matrix.queue[matrix.queue_head : matrix.queue_tail]
            if j not in started
        ]
        matrix.queue_head = matrix.queue_tail - len(waiting)
        matrix.queue[matrix.queue_head : matrix.queue_tail] = waiting
        clock.close_update(matrix, self.timing)
        return after


class History:
    """Record the updates of a simulation for the optional key ``updates`` of the
    schedule.

    Each update is ``{"seconds", "left": [id], "placed": [{"id", "columns", "home_row",
    "rows", "local"}]}`` and names only the jobs whose place changed. *ids* are the ids
    of the jobs, indexed by job key.
    """

    def __init__(self, ids: Sequence[Any]) -> None:
        self.ids = ids
        self.updates: list[Json] = []
        self._places: dict[int, tuple[int, int, int]] = {}

    def __call__(
        self, now: float, index: int, state: State, gone: tuple[int, ...]
    ) -> None:
        """Record which jobs left and which changed their place in one update."""
        for key in gone:
            del self._places[key]
        placed = []
        for job, columns, home, span in zip(
            state.jobs, state.columns, state.homes, state.spans
        ):
            if self._places.get(job.key) != (columns, home, span):
                self._places[job.key] = (columns, home, span)
                placed.append(
                    {
                        "id": self.ids[job.key],
                        "columns": list(nodes_of(columns)),
                        "home_row": home,
                        "rows": list(nodes_of(span)),
                        "local": columns == job.files,
                    }
                )
        left = [self.ids[key] for key in gone]
        self.updates.append({"seconds": float(now), "left": left, "placed": placed})


BIG_JOB_TASKS = 64
"""Least number of tasks of a job that counts in the metric ``big_job_slowdown``."""


def simulation_of(
    problem: GangProblem, trajectory: Trajectory, history: History | None
) -> Simulation:
    """Return the schedule, the metrics and the timeline of a simulation, with jobs in
    the order of the instance.
    """
    order = sorted(range(len(problem.jobs)), key=problem.fcfs.__getitem__)
    start = [trajectory.start[key] for key in order]
    finish = [trajectory.finish[key] for key in order]
    local = [trajectory.local[key] for key in order]
    jobs: list[Json] = []
    for k, job in enumerate(problem.jobs):
        entry = {
            "id": job.id,
            "start_seconds": float(start[k]),
            "finish_seconds": float(finish[k]),
            "local": bool(local[k]),
        }
        if isinstance(finish[k], Fraction):
            entry |= {"start_exact": str(start[k]), "finish_exact": str(finish[k])}
        jobs.append(entry)
    schedule: Json = {"jobs": jobs}
    if history is not None:
        schedule["updates"] = history.updates
    metrics = metrics_of(problem, [float(t) for t in start], [float(t) for t in finish])
    metrics["local_jobs"] = sum(local)
    metrics["migrated_tasks"] = trajectory.tasks_moved
    metrics["matrix_utilisation"] = None
    if problem.jobs:
        machine = problem.machine
        first = min(job.arrival_seconds for job in problem.jobs)
        span = metrics["makespan_seconds"] - first
        slots = machine.nodes * machine.levels * span
        metrics["matrix_utilisation"] = float(trajectory.occupied) / slots
    metrics["matrix_updates"] = trajectory.updates
    return Simulation(schedule, metrics, _timeline(jobs))


def metrics_of(problem: GangProblem, start: list[float], finish: list[float]) -> Json:
    """Return the metrics that follow from the start and finish times of the jobs, in
    seconds.

    Slowdowns count from the arrival (rule 16).
    """
    import numpy as np

    quantum = problem.machine.quantum_seconds
    arrival = np.array([job.arrival_seconds for job in problem.jobs])
    floor = np.maximum(np.array([local for local, _ in problem.times]), quantum)
    begun = np.array(start)
    ended = np.array(finish)
    slowdown = np.maximum(ended - arrival, quantum) / floor
    wait = begun - arrival
    big = np.array([job.size >= BIG_JOB_TASKS for job in problem.jobs], dtype=bool)

    def mean(values: np.ndarray) -> float | None:
        if not len(values):
            return None
        return float(values.mean())

    metrics: Json = {
        "mean_slowdown": mean(slowdown),
        "mean_slowdown_from_start": mean(np.maximum(ended - begun, quantum) / floor),
        "p99_slowdown": None,
        "big_job_slowdown": mean(slowdown[big]),
        "mean_wait_seconds": mean(wait),
        "max_wait_seconds": None,
        "makespan_seconds": None,
    }
    if problem.jobs:
        metrics["p99_slowdown"] = float(np.quantile(slowdown, 0.99))
        metrics["max_wait_seconds"] = float(wait.max())
        metrics["makespan_seconds"] = float(ended.max())
    return metrics


def _timeline(jobs: list[Json]) -> Timeline:
    """Return one interval for each job, from its start to its finish, each on a
    resource of its own.
    """
    rows = {f"job {job['id']}": job for job in jobs}
    intervals = []
    for name, job in rows.items():
        kind = "remote"
        if job["local"]:
            kind = "local"
        start = job["start_seconds"]
        finish = job["finish_seconds"]
        intervals.append(Interval(start, finish, name, kind, str(job["id"])))
    return Timeline.of(intervals, rows)
