"""A gang scheduler to embed: the policies of the simulator, driven by arrivals and departures.

Nothing here reads the wall clock or a file, and no call raises: what cannot be done is answered by
a false :class:`~ioopt.embed.guard.Refused`, whose ``why`` also stands in ``notes``. Not
thread-safe: one scheduler thread calls it. The state goes to JSON and back.

>>> from ioopt.embed import GangScheduler
>>> machine = {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}
>>> scheduler = GangScheduler(machine, "migrate-iogs")
>>> scheduler.arrive("a", [0, 1], local_seconds=900.0, remote_seconds=1800.0, now=0.0)
True
>>> [(job["id"], job["columns"], job["rows"]) for job in scheduler.matrix(now=0.0)]
[('a', [0, 1], [0, 1])]
>>> scheduler.arrive("b", [0, 4], local_seconds=900.0, remote_seconds=1800.0, now=0.0).why
"job 'b' refused: its file nodes must be different nodes of 0 .. 3, as many in each set"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from ioopt.decisions.gang.rules import FILE_NODES, Rules
from ioopt.decisions.gang.state import Gang, GangPolicy, State, Timing
from ioopt.embed.guard import Guard, Refused, restoring
from ioopt.errors import UsageError
from ioopt.formats.native import validate
from ioopt.problems.base import LARGEST, Json
from ioopt.problems.gang import Machine, mask_of, nodes_of
from ioopt.registry.policies import gang_policy
from ioopt.sim.gang.board import BUDGET
from ioopt.sim.gang.update import Memory, StandingBoard
from ioopt.solvers.gang.policy import MIGRATE_IOGS as GREEDY
from ioopt.units import counted

JobId = int | str
_MAX_NOTES = 100
SWITCH_SHARE = 0.05
"""Most of a slice that a change of row may cost."""
_rows_of = lru_cache(maxsize=4096)(nodes_of)
"""The rows of a mask; there are few."""
_HOW = ("memory_bytes", "host_nodes", "switch_seconds")


class _Turns:
    """``row`` has the turn ``until`` then, and jobs ``on`` (slots of a board) run; times are seconds."""

    def __init__(self, quantum: float, switch: float) -> None:
        self.length, self._switch = max(quantum, switch / SWITCH_SHARE), switch
        self.row, self._left, self.until, self.last = -1, 0, 0.0, 0.0
        self.on: list[int] = []

    def count(self, board: StandingBoard, now: float) -> None:
        """Count the service of the jobs that are on, up to *now*."""
        passed = max(0.0, now - self.last)
        for slot in self.on:
            board.jobs.attained[slot] += passed / board.gangs[slot].priority
            board.jobs.need[slot] = max(0.0, board.jobs.need[slot] - passed)
        self.last = max(self.last, float(now))

    def take(self, board: StandingBoard, now: float, suspended: int) -> list[int]:
        """The slots that are on from *now*; jobs on the nodes *suspended* have no turn.

        Rows that hold somebody take turns, each as many slices as its highest priority.
        """
        rows = _rows(board, suspended)
        if not rows:
            self.on, self.until = [], now + self.length
            return []
        over = now >= self.until
        self._left -= over
        if self.row not in rows or self._left <= 0:
            self.row = min((row for row in rows if row > self.row), default=min(rows))
            self._left = max(board.gangs[slot].priority for slot in rows[self.row])
            over = True
        if over:
            self.until = now + self.length
        if self.on and rows[self.row] != self.on:
            self.last += self._switch
        self.on = rows[self.row]
        return self.on

    def state(self) -> list[float]:
        """As plain values, without ``on``."""
        return [self.row, self._left, self.until, self.last]

    def restore(self, state: Sequence[float], on: list[int]) -> None:
        """Go on from a :meth:`state`."""
        row, left, until, last = state
        self.row, self._left, self.until, self.last = int(row), int(left), float(until), float(last)
        self.on = on


class GangScheduler:
    """Keeps the Ousterhout matrix of a running machine.

    *machine* is a :class:`~ioopt.problems.gang.Machine` or its dictionary, *policy* the name of a
    gang solver with *settings*, or a policy object. ``arrive``, ``depart`` and ``drain`` only note what
    happened; ``matrix(now)`` runs one update for all of it (simultaneous events are one event).
    ``served`` tells attained service, for policies that weigh it; ``turn(now)`` counts it itself.
    *memory_bytes* are those of a host of *host_nodes* nodes, where all jobs of the matrix keep what
    they have resident; *switch_seconds* is what a change of row costs.
    """

    def __init__(
        self,
        machine: Machine | Mapping[str, object],
        policy: str | GangPolicy = "guarded-iogs",
        settings: Mapping[str, object] | None = None,
        *,
        memory_bytes: float | None = None,
        host_nodes: int = 1,
        switch_seconds: float = 0.0,
    ) -> None:
        given = machine if isinstance(machine, Machine) else validate(Machine, machine, "machine")
        self.machine: Machine = given
        self.policy_name = policy if isinstance(policy, str) else policy.name
        self.settings = dict(settings or {})
        self._policy = gang_policy(policy, self.settings)[0] if isinstance(policy, str) else policy
        rules = self._policy.rules
        amounts = memory_bytes or 0, switch_seconds
        if not _is_number(*amounts) or min(amounts) < 0:
            raise UsageError("memory_bytes and switch_seconds must be 0 or more")
        if not isinstance(host_nodes, int) or host_nodes < 1:
            raise UsageError(f"host_nodes must be 1 or more, not {host_nodes!r:.40}")
        if host_nodes > 1 and (rules is None or rules.place != FILE_NODES):
            raise UsageError(
                "host_nodes above 1 needs a policy that keeps jobs at their files: iogs"
            )
        self._how = dict(zip(_HOW, (memory_bytes, host_nodes, switch_seconds)))
        self._timing = Timing.of(self.machine)
        self.notes: list[str] = []
        self._slots: dict[JobId, int] = {}
        self._ids: dict[int, JobId] = {}
        self._next = 0
        self._dirty = False
        memory = None if memory_bytes is None else Memory(memory_bytes, host_nodes)
        self._board = StandingBoard(self._timing, memory)
        self._suspended = 0
        self._slice, self._budget = -1, self._timing.budget
        self._turns = _Turns(self.machine.quantum_seconds, switch_seconds)
        self._guard = Guard()
        self._shown: dict[int, tuple[int, list[int]]] = {}

    def arrive(
        self,
        job: JobId,
        file_nodes: list[int] | tuple[int, ...],
        local_seconds: float,
        remote_seconds: float,
        now: float,
        *,
        priority: int = 1,
        resident_bytes: float = 0.0,
        replicas: Sequence[Sequence[int]] = (),
    ) -> Literal[True] | Refused:
        """Put a job at the end of the queue; Refused when it cannot be one.

        It stands before those of lower *priority* (rule 18), keeps *resident_bytes* on each of its
        nodes (rule 19), and finds its files on each set of *replicas* as on *file_nodes* (rule 21).
        """
        numbers = local_seconds, remote_seconds, now
        if isinstance(job, (int, str)) and job in self._slots:
            return self._refused(f"job {job!r} refused: a job of that id is here already")
        problem = _not_a_job(
            job, file_nodes, numbers, priority, resident_bytes, replicas,
            self.machine.nodes, self._board.memory,
        )  # fmt: skip
        if problem is not None:
            return self._refused(f"job {job!r} refused: {problem}")
        masks = tuple(map(mask_of, replicas))
        gang = Gang(self._next, len(file_nodes), mask_of(file_nodes), *numbers, priority,
                    float(resident_bytes), masks)  # fmt: skip
        self._next += 1
        slot = self._slots[job] = self._board.add(gang)
        self._ids[slot] = job
        self._dirty = True
        return True

    def depart(self, job: JobId, now: float) -> Literal[True] | Refused:
        """Note that a job has finished (or was withdrawn); Refused for an unknown one."""
        slot = self._slots.pop(job, None) if isinstance(job, (int, str)) else None
        if slot is None:
            return self._refused(f"departure of {job!r} at {now} s ignored: no such job")
        if slot in self._turns.on:
            if _is_number(now):
                self._turns.count(self._board, now)
            self._turns.on.remove(slot)
        self._board.remove(slot)
        del self._ids[slot]
        self._shown.pop(slot, None)
        self._dirty = True
        return True

    def served(
        self, job: JobId, attained_seconds: float, needed_seconds: float
    ) -> Literal[True] | Refused:
        """Tell the service a job has had and what it still needs; Refused for nonsense."""
        slot = self._slots.get(job) if isinstance(job, (int, str)) else None
        if slot is None:
            return self._refused(f"service of {job!r} ignored: no such job")
        if not _is_number(attained_seconds, needed_seconds):
            given = f"{attained_seconds!r:.40} and {needed_seconds!r:.40}"
            return self._refused(f"service of {job!r} ignored: {given} are no times in seconds")
        board = self._board
        board.jobs.attained[slot] = attained_seconds / board.gangs[slot].priority
        board.jobs.need[slot] = needed_seconds
        return True

    def drain(self, nodes: Sequence[int], suspend: bool = False) -> Literal[True] | Refused:
        """*nodes*, and no others, take nobody new (rule 20); Refused for nonsense.

        Jobs there go on, or with *suspend* keep their place, and have no turn.
        """
        if not isinstance(nodes, (list, tuple)) or not all(
            isinstance(node, int) and 0 <= node < self.machine.nodes for node in nodes
        ):
            return self._refused(
                f"drain of {nodes!r:.40} ignored: nodes are 0 .. {self.machine.nodes - 1}"
            )
        self._board.drained = mask_of(nodes)
        self._suspended = self._board.drained if suspend else 0
        self._dirty = True
        return True

    def matrix(self, now: float, deadline: float | None = None) -> list[Json]:
        """The matrix after all that happened up to *now* (seconds), in start order.

        Each job is ``{"id", "columns", "home_row", "rows", "local"}``; those of higher priority come
        first, and one that is suspended has no rows. *deadline* is in seconds;
        a policy that fails, errs or is late is answered by Migrate-IOGS, and a note says so.
        """
        self._bring_up(now, deadline)
        shown, matrix, jobs = self._shown, [], self._board.jobs
        for slot in self._board.running:
            columns, known = jobs.columns[slot], shown.get(slot)
            if known is None or known[0] != columns:
                known = shown[slot] = (columns, list(nodes_of(columns)))
            rows = [] if columns & self._suspended else list(_rows_of(jobs.span[slot]))
            matrix.append(
                {
                    "id": self._ids[slot], "columns": known[1], "home_row": jobs.home[slot],
                    "rows": rows, "local": jobs.local[slot],
                }
            )  # fmt: skip
        return matrix

    def turn(self, now: float, deadline: float | None = None) -> Json:
        """Who runs from *now* on, and when to ask again: ``{"row", "until", "jobs"}`` (rule 22).

        For machines that have no clock of rows. Ask sooner when something has happened.
        """
        if _is_number(now):
            self._turns.count(self._board, now)
        self._bring_up(now, deadline)
        at = float(now) if _is_number(now) else self._turns.last
        slots = self._turns.take(self._board, at, self._suspended)
        row = self._turns.row if slots else None
        jobs = [self._ids[slot] for slot in slots]
        return {"row": row, "until": self._turns.until, "jobs": jobs}

    def _bring_up(self, now: float, deadline: float | None) -> None:
        if not _is_number(now):
            self._note(f"matrix at {now!r}: no time in seconds; the matrix as it was last")
        elif self._dirty:
            if deadline is not None and not _is_number(deadline):
                self._note(f"deadline {deadline!r:.40} ignored: no time in seconds")
                deadline = None
            self._update(now, deadline)

    def _update(self, now: float, deadline: float | None) -> None:
        index = int((now + 1e-7) // self.machine.quantum_seconds)
        if index != self._slice:
            self._slice, self._budget = index, self._timing.budget
        rules, board, budget = self._policy.rules, self._board, self._budget

        def run(how: Rules) -> StandingBoard:  # on a copy: what errs or hangs changes nothing
            return board.copy().update(how, now, budget)

        def asked() -> StandingBoard | State:
            return run(rules) if rules else self._policy.update(board.state(now, budget))

        def wrong(found: StandingBoard | State) -> str | None:
            if isinstance(found, StandingBoard):
                return None
            problem = _unsound(board.state(now, budget), found)
            return problem or board.copy().take(found).wrong_since(board)

        found, notes = self._guard.run(asked, lambda: run(GREEDY.rules), wrong, deadline)
        for note in notes:
            self._note(f"{self.policy_name} at {now:g} s: {note}")
        if isinstance(found, State):
            self._board, self._budget = board.copy().take(found), budget - found.tasks_moved
        else:
            self._board, self._budget = found, found.board.tally[BUDGET]
        self._dirty = False

    @property
    def waiting(self) -> list[JobId]:
        """Ids of the jobs in the queue, those of higher priority first, then in FCFS order."""
        return [self._ids[slot] for slot in self._board.waiting]

    def __repr__(self) -> str:
        machine, board = self.machine, self._board
        size = f"{counted(machine.nodes, 'node')}, {counted(machine.levels, 'row')}"
        held = f"{len(board.running)} running, {len(board.waiting)} waiting"
        return f"{type(self).__name__}({self.policy_name}, {size}, {held})"

    def _refused(self, text: str) -> Refused:
        self._note(text)
        return Refused(text)

    def _note(self, text: str) -> None:
        self.notes.append(text)
        del self.notes[:-_MAX_NOTES]

    def state(self) -> Json:
        """The whole state as plain JSON values, for :meth:`restore`."""
        board, columns = self._board, self._board.jobs
        jobs = []
        for slot in (*board.running, *board.waiting):
            gang = board.gangs[slot]
            job = {
                "key": gang.key, "id": self._ids[slot], "files": list(nodes_of(gang.files)),
                "local": gang.local, "remote": gang.remote, "arrival": gang.arrival,
                "attained": columns.attained[slot], "need": columns.need[slot],
                "priority": gang.priority, "bytes": gang.bytes,
                "replicas": [list(nodes_of(files)) for files in gang.replicas],
            }  # fmt: skip
            jobs.append(job)
        places = [
            [list(nodes_of(columns.columns[j])), columns.home[j], list(nodes_of(columns.span[j]))]
            for j in board.running
        ]
        return {
            "format": "ioopt/gang-scheduler", "version": 1, "policy": self.policy_name,
            "settings": self.settings, "machine": self.machine.model_dump(mode="json"),
            "jobs": jobs, "places": places, "next": self._next, "dirty": self._dirty,
            "slice": self._slice, "budget": self._budget, **self._how,
            "drained": list(nodes_of(board.drained)), "suspend": self._suspended > 0,
            "turn": self._turns.state(), "on": [self._ids[slot] for slot in self._turns.on],
        }  # fmt: skip

    @classmethod
    def restore(cls, state: Json) -> GangScheduler:
        """The scheduler whose :meth:`state` this is; it goes on as that one would have.

        Raises InstanceError when *state* is not what :meth:`state` returns.
        """
        with restoring("gang scheduler"):
            return cls._restored(state)

    @classmethod
    def _restored(cls, state: Json) -> GangScheduler:
        how = {key: state[key] for key in _HOW if key in state}
        made = cls(state["machine"], state["policy"], state["settings"], **how)
        board, keys, slots = made._board, set(), []
        for job in state["jobs"]:
            key = made._next = job["key"]
            more = {
                "priority": job.get("priority", 1), "resident_bytes": job.get("bytes", 0.0),
                "replicas": job.get("replicas", []),
            }  # fmt: skip
            call = job["id"], job["files"], job["local"], job["remote"], job["arrival"]
            if not isinstance(key, int) or not key < state["next"] or key in keys:
                raise ValueError(f"key {key!r}")
            if not made.arrive(*call, **more) or not _is_number(job["attained"], job["need"]):
                raise ValueError(f"job {job['id']!r}: {made.notes or 'attained, need'}")
            keys.add(key)
            slots.append(made._slots[job["id"]])
            board.jobs.attained[slots[-1]] = job["attained"]
            board.jobs.need[slots[-1]] = job["need"]
        if len(slots) < len(state["places"]):
            raise ValueError("more places than jobs")
        before = board.state(0.0, 0)
        jobs = [board.gangs[slot] for slot in slots[: len(state["places"])]]
        masks = [(mask_of(on), home, mask_of(rows)) for on, home, rows in state["places"]]
        columns, homes, spans = zip(*masks) if masks else ((), (), ())
        after = before._replace(
            jobs=jobs, columns=columns, homes=homes, spans=spans, admitted=tuple(jobs)
        )
        problem = _unsound(before, after) or board.take(after).overfull()
        if problem is not None or not made.drain(
            state.get("drained", []), state.get("suspend", False)
        ):
            raise ValueError(problem or "drained")
        made._next, made._dirty = state["next"], state["dirty"]
        made._slice, made._budget = int(state["slice"]), int(state["budget"])
        on = [made._slots[job] for job in state.get("on", ())]
        made._turns.restore(state.get("turn", made._turns.state()), on)
        return made


def _rows(board: StandingBoard, suspended: int) -> dict[int, list[int]]:
    """Row -> slots that have a turn there; a row whose jobs all stand in another is left out."""
    rows: dict[int, list[int]] = {}
    for slot in board.running:
        if not board.jobs.columns[slot] & suspended:
            for row in _rows_of(board.jobs.span[slot]):
                rows.setdefault(row, []).append(slot)
    kept: dict[int, list[int]] = {}
    for row, slots in sorted(rows.items(), key=lambda item: (-len(item[1]), item[0])):
        if not any(set(slots) <= set(others) for others in kept.values()):
            kept[row] = slots
    return kept


def _not_a_job(
    job: object, nodes: Sequence[int], times: Sequence[float], priority: int, size: float,
    more: Sequence[Sequence[int]],
    count: int, memory: Memory | None,
) -> str | None:  # fmt: skip
    """Why this cannot be a job on *count* nodes; None when it can."""
    if not isinstance(job, (int, str)):
        return "its id must be a number or text"
    sets = [nodes, *more] if isinstance(more, (list, tuple)) else [()]
    for one in sets:
        good = isinstance(one, (list, tuple)) and all(
            isinstance(node, int) and 0 <= node < count for node in one
        )
        if not good or not one or len(set(one)) != len(one) or len(one) != len(nodes):
            last = count - 1
            return f"its file nodes must be different nodes of 0 .. {last}, as many in each set"
    if not _is_number(*times) or not 0 < times[0] <= times[1]:
        return "it needs 0 < local_seconds <= remote_seconds"
    if not isinstance(priority, int) or isinstance(priority, bool) or priority < 1:
        return "its priority must be a whole number, 1 or more"
    if not _is_number(size) or size < 0:
        return "its resident_bytes must be 0 or more"
    if memory is not None and not any(
        _most_on_a_host(one, memory.host_nodes) * size <= memory.bytes for one in sets
    ):
        return f"its {size:g} bytes a task are more than a host has"
    return None


def _most_on_a_host(nodes: Sequence[int], wide: int) -> int:
    """Most of *nodes* on one host of so many."""
    return max(Counter(node // wide for node in nodes).values())


def _is_number(*values: object) -> bool:
    """Whether all are finite numbers that can be times."""
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST
        for value in values
    )


def _unsound(before: State, after: State) -> str | None:
    """What is wrong with a matrix, None when it can be run."""
    rows, slots, levels = [0] * len(before.rows), 0, len(before.rows)
    for job, columns, home, span in zip(after.jobs, after.columns, after.homes, after.spans):
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
