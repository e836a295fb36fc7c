"""Simulate a time-sliced machine under a gang-scheduling policy.

For a policy made of rules (:class:`~ioopt.decisions.gang.rules.Rules`) the phases run
in place on a matrix, in plain Python or compiled. Any other policy is called with a
:class:`~ioopt.decisions.gang.state.State` at every event. In plain Python the same code
runs on floats and on fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from ioopt.arrays import Floats
from ioopt.compiled.memory import Maker, Plain, column
from ioopt.decisions.gang.rules import ADAPTIVE, HDF, RuleNumbers, Rules
from ioopt.decisions.gang.state import Clock, Gang, GangPolicy, State, Timing
from ioopt.errors import SimulationError
from ioopt.sim.gang import clock
from ioopt.sim.gang.matrix import Job, new_matrix, zero_of
from ioopt.sim.gang.results import Trajectory
from ioopt.sim.gang.update import state_of_matrix
from ioopt.sim.pace import Pace

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


def in_place(policy: GangPolicy) -> bool:
    """Return whether the phases of *policy* can run in place on a matrix.

    A queue that is ordered by HDF changes its order as the jobs run.
    """
    return policy.rules is not None and policy.rules.weight != HDF


def largest_number(last_arrival: float, remote: Floats, timing: Timing) -> int:
    """Return a number above every whole number of a simulation: counts of time slices.

    *last_arrival* and *remote*, the run times away from the files, are in seconds.
    """
    seconds = remote.sum() + len(remote) * timing.migration
    seconds = last_arrival + timing.levels * seconds
    return int(seconds / timing.quantum + len(remote)) * timing.levels


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
