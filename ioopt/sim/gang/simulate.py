"""Simulate a time-sliced machine under a gang-scheduling policy.

For a policy made of rules (:class:`~ioopt.decisions.gang.rules.Rules`) the phases run
in place on a board. Any other policy is called with a
:class:`~ioopt.decisions.gang.state.State` at every event. The same code runs on floats
and on Fractions. :mod:`ioopt.sim.gang.compiled` runs it as machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ioopt.decisions.gang.rules import ADAPTIVE, HDF, Number, Rules
from ioopt.decisions.gang.state import Clock, Gang, GangPolicy, State, Timing
from ioopt.errors import SimulationError
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem, nodes_of
from ioopt.protocols import Simulation
from ioopt.sim.gang import board as at
from ioopt.sim.gang.board import make_board, make_jobs
from ioopt.sim.gang.clock import advance, close_update, open_update, simulate, update
from ioopt.sim.gang.update import state_of_board
from ioopt.sim.pace import Pace
from ioopt.timeline import Interval, Timeline

STEPS_PER_LOOK = 64
"""Steps of the event loop between two checks of the deadline."""

Observer = Callable[[Number, int, State, "tuple[int, ...]"], None]
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

    start: list[Any]
    finish: list[Any]
    local: list[bool]
    tasks_moved: int = 0
    occupied: Number = 0.0
    updates: int = 0


class GangSimulation:
    """Simulate jobs in FCFS order on a machine under a policy."""

    def __init__(
        self,
        gangs: Sequence[Gang],
        timing: Timing,
        policy: GangPolicy,
        observer: Observer | None = None,
    ) -> None:
        self.gangs = gangs
        self.timing = timing
        self.policy = policy
        self.observer = observer
        rules = policy.rules
        # A queue that is ordered by HDF changes its order as the jobs run.
        self.in_place = rules is not None and rules.weight != HDF
        self.rules = rules or Rules(ADAPTIVE)
        self.jobs = make_jobs(gangs, self.rules)
        zero: Number = 0.0
        if isinstance(timing.quantum, Fraction):
            zero = Fraction(0)
        self.board = make_board(len(gangs), timing.nodes, timing.levels, zero)

    def run(self, pace: Pace | None = None) -> Trajectory:
        """Simulate until the last job has finished.

        Raises SimulationError if the queue can never proceed, and OutOfTime if *pace*
        ends the run.
        """
        tally = self.board.tally
        total = len(self.gangs)
        while tally[at.DONE] < total:
            self._pass(STEPS_PER_LOOK)
            if tally[at.DONE] == total:
                break
            if pace:
                pace.look(tally[at.TAIL], tally[at.DONE], total)
            self._require_progress()
        jobs = self.jobs
        moved = tally[at.TASKS]
        updates = tally[at.UPDATES]
        occupied = self.board.clock[at.SLOT_SECONDS]
        return Trajectory(jobs.start, jobs.finish, jobs.local, moved, occupied, updates)

    def _require_progress(self) -> None:
        """Raise SimulationError if jobs wait although the matrix is empty and no
        further job will arrive.
        """
        tally = self.board.tally
        all_arrived = tally[at.TAIL] == len(self.gangs)
        waiting = tally[at.HEAD] < len(self.gangs)
        empty = tally[at.RUNNING] + tally[at.GONE] == 0
        if all_arrived and waiting and empty:
            head = self.gangs[self.board.queue[tally[at.HEAD]]]
            raise SimulationError(
                f"{self.policy.name}: the job at FCFS position {head.key} with "
                f"{head.size} tasks fits no row of an empty matrix"
            )

    def _pass(self, steps: int) -> None:
        """Make at most *steps* steps of the event loop."""
        board = self.board
        jobs = self.jobs
        timing = self.timing
        rules = self.rules.numbers(timing.nodes, timing.levels, timing.quantum)
        if self.in_place and self.observer is None:
            simulate(board, jobs, timing, rules, steps)
            return
        while steps > 0 and board.tally[at.DONE] < len(self.gangs):
            steps = advance(board, jobs, timing, steps)
            if not board.tally[at.DUE]:
                continue
            if not self.in_place:
                after = self._ask()
            else:
                before = self._state()
                update(board, jobs, timing, rules)
                after = state_of_board(board, jobs, self.gangs, board.filled, before)
            if self.observer is not None:
                gone = tuple(board.gone[: board.tally[at.LEFT]])
                self.observer(board.clock[at.NOW], board.tally[at.SLICE], after, gone)

    def _state(self) -> State:
        """Return the state of the machine for a policy; its ``rows`` are left empty."""
        board = self.board
        jobs = self.jobs
        timing = self.timing
        tally = board.tally
        run = board.run[: tally[at.RUNNING]]
        now = board.clock[at.NOW]
        return State(
            nodes=timing.nodes,
            jobs=[self.gangs[j] for j in run],
            columns=[jobs.columns[j] for j in run],
            homes=[jobs.home[j] for j in run],
            spans=[jobs.span[j] for j in run],
            rows=[0] * timing.levels,
            waiting=[
                self.gangs[j] for j in board.queue[tally[at.HEAD] : tally[at.TAIL]]
            ],
            clock=Clock(
                now, timing.quantum, jobs.attained, jobs.need, timing.migration
            ),
            budget=tally[at.BUDGET],
        )

    def _ask(self) -> State:
        """Update the matrix by calling the policy; return the new state."""
        board = self.board
        jobs = self.jobs
        tally = self.board.tally
        open_update(board, jobs, self.timing)
        after = self.policy.update(self._state())
        tally[at.RUNNING] = len(after.jobs)
        tally[at.STARTED] = len(after.jobs) - len(after.admitted)
        board.run[: tally[at.RUNNING]] = [job.key for job in after.jobs]
        for job, columns, home, span in zip(
            after.jobs, after.columns, after.homes, after.spans
        ):
            jobs.columns[job.key] = columns
            jobs.home[job.key] = home
            jobs.span[job.key] = span
            jobs.local[job.key] = columns == job.files
        tally[at.MOVED] = len(after.moved)
        board.moved[: tally[at.MOVED]] = after.moved
        tally[at.BUDGET] -= after.tasks_moved
        tally[at.TASKS] += after.tasks_moved
        tally[at.SLOTS] = sum(row.bit_count() for row in after.rows)
        started = {job.key for job in after.admitted}
        waiting = [
            j for j in board.queue[tally[at.HEAD] : tally[at.TAIL]] if j not in started
        ]
        tally[at.HEAD] = tally[at.TAIL] - len(waiting)
        board.queue[tally[at.HEAD] : tally[at.TAIL]] = waiting
        close_update(board, jobs, self.timing)
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
        self, now: Number, index: int, state: State, gone: tuple[int, ...]
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
