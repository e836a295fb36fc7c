"""A gang scheduler to embed: the policies of the simulator, driven by arrivals and departures.

Nothing here reads the wall clock or a file, and no call raises: what cannot be done is said in
``notes``. Not thread-safe: one scheduler thread calls it. The state goes to JSON and back.

>>> from ioopt.embed import GangScheduler
>>> machine = {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}
>>> scheduler = GangScheduler(machine, "migrate-iogs")
>>> scheduler.arrive("a", [0, 1], local_seconds=900.0, remote_seconds=1800.0, now=0.0)
True
>>> [(job["id"], job["columns"], job["rows"]) for job in scheduler.matrix(now=0.0)]
[('a', [0, 1], [0, 1])]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ioopt.decisions.gang.state import Clock, Gang, GangPolicy, State, Timing
from ioopt.embed.guard import Guard
from ioopt.errors import InstanceError
from ioopt.formats.native import validate
from ioopt.problems.base import LARGEST
from ioopt.problems.gang import Machine, mask_of, nodes_of
from ioopt.registry.policies import gang_policy
from ioopt.solvers.gang.migrate_iogs import POLICY as GREEDY

_MAX_NOTES = 100
_rows_of = lru_cache(maxsize=4096)(nodes_of)


class GangScheduler:
    """Keeps the Ousterhout matrix of a running machine.

    *machine* is a :class:`~ioopt.problems.gang.Machine` or its dictionary, *policy* the name of a
    gang solver with *settings*, or a policy object. ``arrive`` and ``depart`` only note what
    happened; ``matrix(now)`` runs one update for all of it (simultaneous events are one event).
    ``served`` tells attained service, for policies that weigh it.
    """

    def __init__(
        self,
        machine: Machine | Mapping[str, Any],
        policy: str | GangPolicy = "guarded-iogs",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        given = machine if isinstance(machine, Machine) else validate(Machine, machine, "machine")
        self.machine: Machine = given
        self.policy_name = policy if isinstance(policy, str) else policy.name
        self.settings = dict(settings or {})
        self._policy = gang_policy(policy, self.settings)[0] if isinstance(policy, str) else policy
        self._timing = Timing.of(self.machine)
        self.notes: list[str] = []
        self._ids: dict[int, Any] = {}
        self._keys: dict[Any, int] = {}
        self._next = 0
        self._queue: list[Gang] = []
        self._gone: set[int] = set()
        self._dirty = False
        self._attained: dict[int, float] = {}
        self._need: dict[int, float] = {}
        clock = Clock(0.0, self._timing.quantum, self._attained, self._need, self._timing.migration)
        rows = [0] * self.machine.levels
        self._matrix = State(self.machine.nodes, [], [], [], [], rows, self._queue, clock)
        self._slice, self._budget = -1, self._timing.budget
        self._guard = Guard()
        self._shown: dict[int, tuple[int, list[int]]] = {}

    def arrive(
        self,
        job: Any,
        file_nodes: list[int] | tuple[int, ...],
        local_seconds: float,
        remote_seconds: float,
        now: float,
    ) -> bool:
        """Put a job at the end of the queue; False, with a note, when it cannot be one."""
        problem = self._refusal(job, file_nodes, local_seconds, remote_seconds, now)
        if problem is not None:
            self._note(f"job {job!r} refused: {problem}")
            return False
        key, self._next = self._next, self._next + 1
        self._ids[key], self._keys[job] = job, key
        size, files = len(file_nodes), mask_of(file_nodes)
        self._queue.append(Gang(key, size, files, local_seconds, remote_seconds, now))
        self._attained[key], self._need[key] = 0.0, local_seconds
        self._dirty = True
        return True

    def _refusal(self, job: Any, nodes: Any, local: Any, remote: Any, now: Any) -> str | None:
        if not isinstance(job, (int, str)):
            return "its id must be a number or text"
        if job in self._keys:
            return "a job of that id is here already"
        good = isinstance(nodes, (list, tuple)) and all(
            isinstance(node, int) and 0 <= node < self.machine.nodes for node in nodes
        )
        if not good or not nodes or len(set(nodes)) != len(nodes):
            return f"its file nodes must be different nodes of 0 .. {self.machine.nodes - 1}"
        if not _is_number(local, remote, now) or not 0 < local <= remote:
            return "it needs 0 < local_seconds <= remote_seconds"
        return None

    def depart(self, job: Any, now: float) -> bool:
        """Note that a job has finished (or was withdrawn); False, with a note, for an unknown one."""
        key = self._keys.pop(job, None) if isinstance(job, (int, str)) else None
        if key is None:
            self._note(f"departure of {job!r} at {now} s ignored: no such job")
            return False
        del self._ids[key], self._attained[key], self._need[key]
        self._shown.pop(key, None)
        self._gone.add(key)
        self._dirty = True
        return True

    def served(self, job: Any, attained_seconds: float, needed_seconds: float) -> bool:
        """Tell the service a job has had and what it still needs; False, with a note, for nonsense."""
        key = self._keys.get(job) if isinstance(job, (int, str)) else None
        if key is None:
            self._note(f"service of {job!r} ignored: no such job")
            return False
        if not _is_number(attained_seconds, needed_seconds):
            given = f"{attained_seconds!r:.40} and {needed_seconds!r:.40}"
            self._note(f"service of {job!r} ignored: {given} are no times in seconds")
            return False
        self._attained[key], self._need[key] = attained_seconds, needed_seconds
        return True

    def matrix(self, now: float, deadline: float | None = None) -> list[dict[str, Any]]:
        """The matrix after all that happened up to *now* (seconds), in start order.

        Each job is ``{"id", "columns", "home_row", "rows", "local"}``. *deadline* is in seconds;
        a policy that fails, errs or is late is answered by Migrate-IOGS, and a note says so.
        """
        if not _is_number(now):
            self._note(f"matrix at {now!r}: no time in seconds; the matrix as it was last")
        elif self._dirty:
            if deadline is not None and not _is_number(deadline):
                self._note(f"deadline {deadline!r:.40} ignored: no time in seconds")
                deadline = None
            self._drop_departed()
            self._update(now, deadline)
        shown, matrix = self._shown, []
        for job, columns, home, span in _places(self._matrix):
            known = shown.get(job.key)
            if job.key in self._gone:
                continue
            if known is None or known[0] != columns:
                known = shown[job.key] = (columns, list(nodes_of(columns)))
            matrix.append(
                {
                    "id": self._ids[job.key], "columns": known[1], "home_row": home,
                    "rows": list(_rows_of(span)), "local": columns == job.files,
                }
            )  # fmt: skip
        return matrix

    def _drop_departed(self) -> None:
        if not self._gone:
            return
        self._queue = [job for job in self._queue if job.key not in self._gone]
        stay = [place for place in _places(self._matrix) if place[0].key not in self._gone]
        jobs, columns, homes, spans = zip(*stay) if stay else ((), (), (), ())
        self._matrix = self._matrix._replace(jobs=jobs, columns=columns, homes=homes, spans=spans)
        self._gone.clear()

    def _update(self, now: float, deadline: float | None) -> None:
        quantum = self.machine.quantum_seconds
        index = int((now + 1e-7) // quantum)
        if index != self._slice:
            self._slice, self._budget = index, self._timing.budget
        state = self._matrix._replace(
            waiting=self._queue, clock=self._matrix.clock._replace(now=now), budget=self._budget
        )
        after, notes = self._guard.run(
            lambda: self._policy.update(state), lambda: GREEDY.update(state),
            lambda value: _unsound(state, value), deadline,
        )  # fmt: skip
        for note in notes:
            self._note(f"{self.policy_name} at {now:g} s: {note}")
        self._budget -= after.tasks_moved
        self._matrix = self._matrix._replace(
            jobs=after.jobs, columns=after.columns, homes=after.homes, spans=after.spans
        )
        started = {job.key for job in after.admitted}
        if started:
            self._queue = [job for job in self._queue if job.key not in started]
        self._dirty = False

    @property
    def waiting(self) -> list[Any]:
        """Ids of the jobs in the queue, in FCFS order."""
        return [self._ids[job.key] for job in self._queue if job.key not in self._gone]

    def _note(self, text: str) -> None:
        self.notes.append(text)
        del self.notes[:-_MAX_NOTES]

    def state(self) -> dict[str, Any]:
        """The whole state as plain JSON values, for :meth:`restore`."""
        self._drop_departed()
        jobs = [
            {
                "key": job.key, "id": self._ids[job.key], "files": list(nodes_of(job.files)),
                "local": job.local, "remote": job.remote, "arrival": job.arrival,
                "attained": self._attained[job.key], "need": self._need[job.key],
            }
            for job in (*self._matrix.jobs, *self._queue)
        ]  # fmt: skip
        places = [
            [list(nodes_of(columns)), home, list(nodes_of(span))]
            for _, columns, home, span in _places(self._matrix)
        ]
        return {
            "format": "ioopt/gang-scheduler", "version": 1, "policy": self.policy_name,
            "settings": self.settings, "machine": self.machine.model_dump(mode="json"),
            "jobs": jobs, "places": places, "next": self._next, "dirty": self._dirty,
            "slice": self._slice, "budget": self._budget,
        }  # fmt: skip

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> GangScheduler:
        """The scheduler whose :meth:`state` this is; it goes on as that one would have.

        Raises InstanceError when *state* is not what :meth:`state` returns.
        """
        try:
            return cls._restored(state)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            text = f"{type(error).__name__}: {error}"
            raise InstanceError(f"not a saved gang scheduler ({text})") from None

    @classmethod
    def _restored(cls, state: Mapping[str, Any]) -> GangScheduler:
        scheduler = cls(state["machine"], state["policy"], state["settings"])
        gangs = []
        for job in state["jobs"]:
            key = job["key"]
            if not isinstance(key, int) or not key < state["next"] or key in scheduler._ids:
                raise ValueError(f"key {key!r}")
            wrong = scheduler._refusal(
                job["id"], job["files"], job["local"], job["remote"], job["arrival"]
            )
            if wrong is not None or not _is_number(job["attained"], job["need"]):
                raise ValueError(f"job {job['id']!r}: {wrong or 'attained, need'}")
            scheduler._ids[key], scheduler._keys[job["id"]] = job["id"], key
            scheduler._attained[key], scheduler._need[key] = job["attained"], job["need"]
            gangs.append(
                Gang(
                    key, len(job["files"]), mask_of(job["files"]), job["local"], job["remote"],
                    job["arrival"],
                )
            )  # fmt: skip
        count = len(state["places"])
        scheduler._queue = gangs[count:]
        scheduler._matrix = scheduler._matrix._replace(
            jobs=gangs[:count],
            columns=[mask_of(columns) for columns, _, _ in state["places"]],
            homes=[home for _, home, _ in state["places"]],
            spans=[mask_of(rows) for _, _, rows in state["places"]],
        )
        scheduler._next, scheduler._dirty = state["next"], state["dirty"]
        scheduler._slice, scheduler._budget = int(state["slice"]), int(state["budget"])
        if len(gangs) < count:
            raise ValueError("more places than jobs")
        problem = _unsound(scheduler._matrix, scheduler._matrix)
        if problem is not None:
            raise ValueError(problem)
        return scheduler


def _is_number(*values: Any) -> bool:
    """Whether all are finite numbers that can be times."""
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST
        for value in values
    )


def _places(matrix: State) -> Iterator[tuple[Gang, int, int, int]]:
    """(job, columns, home, span) of every running job, in start order."""
    return zip(matrix.jobs, matrix.columns, matrix.homes, matrix.spans)


def _unsound(before: State, after: State) -> str | None:
    """What is wrong with a matrix, None when it can be run."""
    rows, slots, levels = [0] * len(before.rows), 0, len(before.rows)
    for job, columns, home, span in _places(after):
        if columns.bit_count() != job.size or columns >> before.nodes:
            return f"a job of {job.size} tasks on the nodes {nodes_of(columns)}"
        if not span >> home & 1 or span >> levels:
            return f"home row {home} is not among the rows {nodes_of(span)}"
        held = _rows_of(span)
        slots += job.size * len(held)
        for row in held:
            rows[row] ^= columns
    # A cell that two jobs hold cancels out.
    if sum(row.bit_count() for row in rows) != slots:
        return "two jobs on one node of a row"
    known = {job.key for job in (*before.jobs, *after.admitted)}
    if len(after.jobs) != len(known) or any(job.key not in known for job in after.jobs):
        return "running jobs were lost or invented"
    if after.tasks_moved > before.budget:
        return f"{after.tasks_moved} tasks migrate, but only {before.budget} may"
    return None
