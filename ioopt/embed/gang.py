"""Embed a gang scheduler: the policies of the simulator decide when jobs arrive and
depart.

The scheduler reads neither the wall clock nor a file, and no call raises. A call that
cannot be carried out returns :class:`~ioopt.embed.guard.Refused`, which is false; its
``why`` gives the reason, which is also added to ``notes``. The scheduler is not
thread-safe: one thread must make all calls. The state can be saved as JSON and
restored.

>>> from ioopt.embed import GangScheduler
>>> machine = {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}
>>> scheduler = GangScheduler(machine, "migrate-iogs")
>>> scheduler.arrive("a", [0, 1], local_seconds=900.0, remote_seconds=1800.0, now=0.0)
True
>>> [(job["id"], job["columns"], job["rows"]) for job in scheduler.matrix(now=0.0)]
[('a', [0, 1], [0, 1])]
>>> refused = scheduler.arrive("b", [0, 4], 900.0, 1800.0, now=0.0)
>>> refused.why
"job 'b' refused: its file nodes must be different nodes of 0 .. 3"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Literal

from typing_extensions import TypedDict

from ioopt import arguments
from ioopt.decisions.gang.state import (
    Clock,
    Gang,
    GangPolicy,
    State,
    Timing,
    tolerance_at,
)
from ioopt.embed.guard import Guard, Notes, Refused, restoring
from ioopt.formats.native import validate
from ioopt.problems.base import LARGEST, Json
from ioopt.problems.gang import Machine, mask_of, nodes_of
from ioopt.registry.policies import NameOf, gang_policy
from ioopt.solvers.gang.policy import MIGRATE_IOGS as GREEDY
from ioopt.units import counted

JobId = int | str


class Placed(TypedDict):
    """A job in the matrix: its nodes (``columns``), the row in which it was placed, all
    rows (time slices) in which it runs, and whether it runs on its file nodes.
    """

    id: JobId
    columns: list[int]
    home_row: int
    rows: list[int]
    local: bool


STATE_VERSION = 2
"""The version of saved states. States of version 1 contained priorities, memory and
drained nodes.
"""
_rows_of = lru_cache(maxsize=4096)(nodes_of)
"""A function that returns the rows in a bit mask; cached, because only few different
masks occur.
"""


class GangScheduler:
    """Maintain the Ousterhout matrix of a running machine.

    *machine* is a :class:`~ioopt.problems.gang.Machine` or a dictionary of its fields.
    *policy* is the name of a gang solver, whose *settings* may be given, or a policy
    object. ``arrive`` and ``depart`` only record an event. ``matrix(now)`` updates the
    matrix once for all recorded events, as if they had occurred at the same time.
    ``served`` records the service that jobs have received, for policies that use it as
    a weight.
    """

    def __init__(
        self,
        machine: Machine | Mapping[str, object],
        policy: Annotated[str, NameOf("gang")] | GangPolicy = "guarded-iogs",
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.machine: Machine = validate(Machine, machine, "machine")
        if isinstance(policy, str):
            self.policy_name = policy
        else:
            self.policy_name = policy.name
        self.settings = dict(settings or {})
        if isinstance(policy, str):
            self._policy = gang_policy(policy, self.settings)
        else:
            self._policy = policy
        self._timing = Timing.of(self.machine)
        self.notes = Notes()
        self._gangs: dict[JobId, Gang] = {}
        self._ids: dict[int, JobId] = {}
        self._attained: dict[int, float] = {}
        self._need: dict[int, float] = {}
        self._next = 0
        self._dirty = False
        clock = Clock(0.0, self._timing.quantum, {}, {}, self._timing.migration)
        rows = (0,) * self.machine.levels
        self._state = State(self.machine.nodes, (), (), (), (), rows, (), clock)
        self._slice = -1
        self._budget = self._timing.budget
        self._guard = Guard()
        self._shown: dict[int, tuple[int, list[int]]] = {}

    def arrive(
        self,
        job: JobId,
        file_nodes: list[int] | tuple[int, ...],
        local_seconds: float,
        remote_seconds: float,
        now: float,
    ) -> Literal[True] | Refused:
        """Add *job*, an id, at the end of the queue at time *now* (seconds) and return
        True; return Refused for an invalid job.

        The job has one task for each of *file_nodes*, the nodes that hold its files. It
        takes *local_seconds* on exactly these nodes and *remote_seconds* on other
        nodes.
        """
        times = local_seconds, remote_seconds, now
        problem = self._not_a_job(job, file_nodes, times)
        if problem is not None:
            return self._refused(f"job {job!r} refused: {problem}")
        key = self._next
        self._next = self._next + 1
        gang = self._gangs[job] = Gang(
            key, len(file_nodes), mask_of(file_nodes), *times
        )
        self._ids[key], self._attained[key], self._need[key] = job, 0.0, local_seconds
        self._state = self._state._replace(waiting=(*self._state.waiting, gang))
        self._dirty = True
        return True

    def _not_a_job(
        self, job: object, nodes: Sequence[int], times: tuple[float, float, float]
    ) -> str | None:
        """Return why the arguments do not describe a new job; None when they do."""
        if not isinstance(job, (int, str)) or isinstance(job, bool):
            return "its id must be a number or text"
        if job in self._gangs:
            return "a job of that id is here already"
        good = isinstance(nodes, (list, tuple)) and all(
            type(node) is int and 0 <= node < self.machine.nodes for node in nodes
        )
        if not good or not nodes or len(set(nodes)) != len(nodes):
            return (
                "its file nodes must be different nodes of 0 .. "
                f"{self.machine.nodes - 1}"
            )
        if not _is_number(times[2]):
            return f"now must be a number of seconds, not {times[2]!r:.40}"
        if not _is_number(*times) or not 0 < times[0] <= times[1]:
            return "it needs 0 < local_seconds <= remote_seconds"
        return None

    def depart(self, job: JobId, now: float) -> Literal[True] | Refused:
        """Remove *job*, the id of one that has finished or was withdrawn at time *now*
        (seconds), and return True; return Refused for an unknown job.
        """
        if not _is_number(now):
            return self._refused(
                f"departure of {job!r:.40} at {now!r:.40} ignored: the time must be a "
                "number of seconds"
            )
        if isinstance(job, (int, str)):
            gang = self._gangs.pop(job, None)
        else:
            gang = None
        if gang is None:
            return self._refused(
                f"departure of {job!r} at {now} s ignored: no such job"
            )
        self._state = _without(self._state, gang)
        for known in (self._ids, self._attained, self._need, self._shown):
            known.pop(gang.key, None)
        self._dirty = True
        return True

    def served(
        self, job: JobId, attained_seconds: float, needed_seconds: float
    ) -> Literal[True] | Refused:
        """Record that *job*, an id, has received *attained_seconds* of service and
        still needs *needed_seconds*. Return True, or Refused for invalid values.
        """
        if isinstance(job, (int, str)):
            gang = self._gangs.get(job)
        else:
            gang = None
        if gang is None:
            return self._refused(f"service of {job!r} ignored: no such job")
        times = attained_seconds, needed_seconds
        if not _is_number(*times) or min(times) < 0:
            given = f"{attained_seconds!r:.40} and {needed_seconds!r:.40}"
            return self._refused(
                f"service of {job!r} ignored: {given} are not times in seconds"
            )
        self._attained[gang.key], self._need[gang.key] = (
            attained_seconds,
            needed_seconds,
        )
        return True

    def matrix(self, now: float, deadline: float | None = None) -> list[Placed]:
        """Return the jobs in the matrix after all events up to *now* (seconds), in the
        order in which they started.

        *deadline*, in seconds, is for the decision. When the policy raises, returns an
        invalid matrix or is late, Migrate-IOGS decides instead, and a note says so.
        """
        if not _is_number(now):
            self.notes.add(
                f"matrix at {now!r}: not a number of seconds; the last matrix is kept",
            )
        elif self._dirty:
            deadline, ignored = arguments.usable_deadline(deadline)
            for text in ignored:
                self.notes.add(text)
            self._update(now, deadline)
        shown = self._shown
        matrix: list[Placed] = []
        state = self._state
        for gang, columns, home, span in zip(
            state.jobs, state.columns, state.homes, state.spans
        ):
            known = shown.get(gang.key)
            if known is None or known[0] != columns:
                known = shown[gang.key] = (columns, list(nodes_of(columns)))
            matrix.append(
                {
                    "id": self._ids[gang.key],
                    "columns": known[1],
                    "home_row": home,
                    "rows": list(_rows_of(span)),
                    "local": columns == gang.files,
                }
            )
        return matrix

    def _update(self, now: float, deadline: float | None) -> None:
        near = tolerance_at(self._timing, now)
        index = int((now + near) // self.machine.quantum_seconds)
        if index != self._slice:
            self._slice = index
            self._budget = self._timing.budget
        timing = self._timing
        # Pass copies, so that a policy that fails or hangs changes nothing.
        attained = self._attained.copy()
        need = self._need.copy()
        clock = Clock(now, timing.quantum, attained, need, timing.migration)
        before = self._state._replace(clock=clock, budget=self._budget)

        def wrong(found: State) -> str | None:
            if self._policy.rules is None:
                return _unsound(before, found)
            return None  # policies made of rules produce only valid matrices

        after, notes = self._guard.run(
            lambda: self._policy.update(before),
            lambda: GREEDY.update(before),
            wrong,
            deadline,
        )
        for why in notes:
            self.notes.add(f"{self.policy_name} at {now:g} s: {why}")
        started = {gang.key for gang in after.admitted}
        self._budget -= after.tasks_moved
        self._state = before._replace(
            jobs=after.jobs,
            columns=after.columns,
            homes=after.homes,
            spans=after.spans,
            waiting=tuple(gang for gang in before.waiting if gang.key not in started),
        )
        self._dirty = False

    @property
    def _is_unlimited(self) -> bool:
        """Whether any number of tasks may migrate in a quantum."""
        return self.machine.migration_tasks_per_quantum is None

    @property
    def waiting(self) -> list[JobId]:
        """Return the ids of the jobs in the queue, in order of arrival."""
        return [self._ids[gang.key] for gang in self._state.waiting]

    def __repr__(self) -> str:
        machine = self.machine
        state = self._state
        size = f"{counted(machine.nodes, 'node')}, {counted(machine.levels, 'row')}"
        held = f"{len(state.jobs)} running, {len(state.waiting)} waiting"
        return f"{type(self).__name__}({self.policy_name}, {size}, {held})"

    def _refused(self, text: str) -> Refused:
        self.notes.add(text)
        return Refused(text)

    def state(self) -> Json:
        """Return the state of the scheduler as plain JSON values, for
        :meth:`restore`.
        """
        state = self._state
        jobs = [
            {
                "key": gang.key,
                "id": self._ids[gang.key],
                "files": list(nodes_of(gang.files)),
                "local": gang.local,
                "remote": gang.remote,
                "arrival": gang.arrival,
                "attained": self._attained[gang.key],
                "need": self._need[gang.key],
            }
            for gang in (*state.jobs, *state.waiting)
        ]
        places = [
            [list(nodes_of(columns)), home, list(nodes_of(span))]
            for columns, home, span in zip(state.columns, state.homes, state.spans)
        ]
        return {
            "format": "ioopt/gang-scheduler",
            "version": STATE_VERSION,
            "policy": self.policy_name,
            "settings": self.settings,
            "machine": self.machine.model_dump(mode="json"),
            "jobs": jobs,
            "places": places,
            "next": self._next,
            "dirty": self._dirty,
            "slice": self._slice,
            # Beyond 2^53 a number is not exact in every reader of JSON.
            "budget": None if self._is_unlimited else self._budget,
        }

    @classmethod
    def restore(cls, state: Json) -> GangScheduler:
        """Return a scheduler in the saved *state*.

        Raises InstanceError when *state* is not a return value of :meth:`state`.
        """
        with restoring("gang scheduler"):
            if state["version"] != STATE_VERSION:
                raise ValueError(
                    f"version {state['version']!r:.20}, not {STATE_VERSION}"
                )
            made = cls(state["machine"], state["policy"], state["settings"])
            for job in state["jobs"]:
                made._restore_job(job, state["next"])
            made._restore_places(state["places"])
            made._next = state["next"]
            made._dirty = state["dirty"]
            made._slice = int(state["slice"])
            if not made._is_unlimited:
                made._budget = int(state["budget"])
        return made

    def _restore_job(self, job: Json, end: int) -> None:
        """Add a saved job with its saved key to the queue. Raises ValueError unless the
        key is unused and below *end*.
        """
        key = self._next = job["key"]
        if not isinstance(key, int) or key >= end or key in self._ids:
            raise ValueError(f"key {key!r}")
        arrived = self.arrive(
            job["id"], job["files"], job["local"], job["remote"], job["arrival"]
        )
        if not arrived or not self.served(job["id"], job["attained"], job["need"]):
            raise ValueError(self.notes[-1])

    def _restore_places(
        self, places: Sequence[tuple[list[int], int, list[int]]]
    ) -> None:
        """Move the first jobs of the restored queue into the matrix, one for each of
        *places* (columns, home row, rows).
        """
        gangs = self._state.waiting
        count = len(places)
        if len(gangs) < count:
            raise ValueError("more places than jobs")
        self._state = self._state._replace(
            jobs=gangs[:count],
            columns=tuple(mask_of(columns) for columns, _, _ in places),
            homes=tuple(home for _, home, _ in places),
            spans=tuple(mask_of(rows) for _, _, rows in places),
            waiting=gangs[count:],
        )
        problem = _unsound(self._state, self._state)
        if problem is not None:
            raise ValueError(problem)


def _without(state: State, gang: Gang) -> State:
    """Return *state* after *gang* has left the queue or the matrix."""
    if gang in state.waiting:
        return state._replace(
            waiting=tuple(job for job in state.waiting if job != gang)
        )
    stay = [at for at, job in enumerate(state.jobs) if job != gang]
    return state._replace(
        jobs=tuple(state.jobs[at] for at in stay),
        columns=tuple(state.columns[at] for at in stay),
        homes=tuple(state.homes[at] for at in stay),
        spans=tuple(state.spans[at] for at in stay),
    )


def _is_number(*values: object) -> bool:
    """Return whether all *values* are finite numbers that can be times in seconds."""
    for value in values:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return False
        if not abs(value) <= LARGEST:  # NaN too
            return False
    return True


def _unsound(before: State, after: State) -> str | None:
    """Return what is wrong with the matrix in state *after*, which follows state
    *before*; None when the matrix is valid.
    """
    rows = [0] * len(before.rows)
    slots = 0
    levels = len(before.rows)
    for job, columns, home, span in zip(
        after.jobs, after.columns, after.homes, after.spans
    ):
        if columns.bit_count() != job.size or columns >> before.nodes:
            return f"a job of {job.size} tasks on the nodes {nodes_of(columns)}"
        if not span >> home & 1 or span >> levels:
            return f"home row {home} is not among the rows {nodes_of(span)}"
        held = _rows_of(span)
        slots += job.size * len(held)
        for row in held:
            rows[row] ^= columns
    # A cell that two jobs occupy cancels out in the XOR of its row, so that the sum
    # below is too small.
    if sum(row.bit_count() for row in rows) != slots:
        return "two jobs on one node of a row"
    known = {job.key for job in (*before.jobs, *after.admitted)}
    if len(after.jobs) != len(known) or any(job.key not in known for job in after.jobs):
        return "running jobs were lost or invented"
    if after.tasks_moved > before.budget:
        return f"{after.tasks_moved} tasks migrate, but only {before.budget} may"
    return None
