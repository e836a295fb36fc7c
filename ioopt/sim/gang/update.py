"""How policies decide live: a matrix update, or some of its phases, from state to state or in place.

The board of a machine that runs is kept from event to event. Its phases are those of the simulator, in
place. Priorities, memory, drained nodes and several sets of file nodes (rules 18 to 21) are seen to
there, job by job, for those machines and jobs that have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile
from operator import eq
from typing import Any, NamedTuple, Self, TypeVar

from ioopt.decisions.gang.rules import (
    ADAPTIVE,
    FILE_NODES,
    UNLIMITED,
    UNWEIGHTED,
    Number,
    RuleNumbers,
    Rules,
    weight_of,
)
from ioopt.decisions.gang.state import Clock, Gang, State, Timing
from ioopt.problems.gang import nodes_of
from ioopt.sim.gang.board import (
    BUDGET,
    HEAD,
    MOVED,
    RUNNING,
    STARTED,
    TAIL,
    Board,
    Jobs,
    make_board,
    make_jobs,
)
from ioopt.sim.gang.nodes import drop
from ioopt.sim.gang.phases import (
    add_replicas,
    clean,
    compact,
    fill,
    migrate,
    passes,
    place,
    put,
    schedule,
    sort_by_worth,
    take_out,
)

Item = TypeVar("Item")
Phase = Callable[[Board, Jobs, RuleNumbers, Number], None]

PHASES: dict[str, Phase] = {
    "clean": clean,
    "migrate": migrate,
    "compact": compact,
    "schedule": schedule,
    "fill": fill,
}
"""The phases of an update, in order; ``migrate`` only where the rules say so."""


def phases_of(rules: Rules) -> dict[str, Phase]:
    """The phases that a policy of these rules runs."""
    return {name: run for name, run in PHASES.items() if name != "migrate" or rules.migrate}


def updated(state: State, rules: Rules, phases: Sequence[Phase], full: bool) -> State:
    """*state* after *phases* under *rules*; replicas in it are ignored, as CleanMatrix does.

    *full* says that the last phase is FillMatrix.
    """
    gangs = [*state.jobs, *_queue(state, rules)]
    board, jobs = _begin(state, gangs, rules)
    board.tally[TAIL] = len(gangs)
    numbers = rules.numbers(state.nodes, len(state.rows), state.clock.quantum)
    for phase in phases:
        if phase is not clean:  # a board begins with home instances only
            phase(board, jobs, numbers, state.clock.now)
    rows = board.filled if full else board.homes
    return state_of_board(board, jobs, gangs, rows, state)


def with_replicas(state: State, rules: Rules) -> State:
    """*state*, replicas and all, with the cells that are left filled under *rules*."""
    board, jobs = _begin(state, state.jobs, rules)
    board.filled[:] = state.rows
    jobs.span[:] = state.spans
    add_replicas(board, jobs, rules.numbers(state.nodes, len(state.rows), state.clock.quantum))
    return state._replace(spans=jobs.span, rows=board.filled)


def state_of_board(
    board: Board, jobs: Jobs, gangs: Sequence[Gang], rows: Sequence[int], before: State
) -> State:
    """The state that *board* has come to from *before*; *gangs* are its jobs by key."""
    tally = board.tally
    run = board.run[: tally[RUNNING]]

    def of(column: Sequence[Item]) -> list[Item]:
        return [column[j] for j in run]

    return before._replace(
        jobs=of(gangs),
        columns=of(jobs.columns),
        homes=of(jobs.home),
        spans=of(jobs.span),
        rows=rows,
        budget=tally[BUDGET],
        admitted=tuple(gangs[j] for j in run[tally[STARTED] :]),
        moved=tuple(gangs[j].key for j in board.moved[: tally[MOVED]]),
        tasks_moved=before.budget - tally[BUDGET],
    )


def _begin(state: State, gangs: Sequence[Gang], rules: Rules) -> tuple[Board, Jobs]:
    """The home instances of *state* on a board; *gangs* are its running jobs first."""
    board, jobs = make_board(len(gangs), state.nodes, len(state.rows)), make_jobs(gangs, rules)
    count = len(state.jobs)
    board.run[:count] = range(count)
    jobs.columns[:count], jobs.home[:count] = state.columns, state.homes
    jobs.local[:count] = map(eq, state.columns, jobs.files)
    homes, span = board.homes, jobs.span
    for j, (own, home) in enumerate(zip(state.columns, state.homes)):
        homes[home] |= own
        span[j] = 1 << home
    board.population[:] = [row.bit_count() for row in homes]
    if rules.weight != UNWEIGHTED:
        attained, need = state.clock.attained, state.clock.need
        jobs.attained[:] = [attained[job.key] for job in gangs]
        jobs.need[:] = [need[job.key] for job in gangs]
    tally = board.tally
    tally[RUNNING] = tally[STARTED] = tally[HEAD] = count
    tally[BUDGET] = state.budget
    return board, jobs


def _queue(state: State, rules: Rules) -> Sequence[Gang]:
    """The waiting jobs that may start, in the order in which they may.

    Of a queue that stops at the first job that does not fit, only those can start that together fit
    in the free slots.
    """
    waiting = state.waiting
    if rules.free_queue:
        _, _, attained, need, _ = clock = state.clock
        return sorted(
            waiting, key=lambda job: free_order(rules, job, attained[job.key], need[job.key], clock)
        )
    if rules.patience < UNLIMITED:
        return waiting  # the guard may refuse some, which then take no slots
    free = state.nodes * len(state.rows) - sum(job.size for job in state.jobs)
    sums = accumulate(job.size for job in waiting)
    return waiting[: sum(1 for _ in takewhile(lambda total: total <= free, sums))]


def free_order(
    rules: Rules, job: Gang, attained: Number, need: Number, clock: Clock
) -> tuple[bool, Number]:
    """Where *job* stands in a free queue: overdue ones first, then the heaviest."""
    if rules.age > 0 and clock.now - job.arrival > rules.age:
        return False, 0
    return True, -weight_of(rules.weight, job.local, attained, need, clock.quantum)


NOBODY = Gang(-1, 0, 0, 1.0, 1.0)
_ROOM = 16
_SLACK = 1 + 1e-9


class Memory(NamedTuple):
    """Bytes of every host, and how many nodes a host has: the first so many, the next, ..."""

    bytes: float
    host_nodes: int = 1


class StandingBoard:
    """Jobs by slot; a slot is used again when its job has left. Times are seconds.

    ``gangs`` are the jobs, ``waiting`` the slots of the queue in order, ``drained`` the mask of nodes
    that take nobody new. Nothing here validates: see :class:`ioopt.embed.GangScheduler`.
    """

    def __init__(self, timing: Timing, memory: Memory | None = None) -> None:
        self.timing, self.memory = timing, memory
        self.gangs: list[Gang] = []
        self.waiting: list[int] = []
        self.drained = 0
        self._empty: list[int] = []
        self._limited = memory is not None
        self._ranked = False
        hosts = -(-timing.nodes // memory.host_nodes) if memory else 0
        self._held = [0.0] * hosts
        self.board: Board = make_board(0, timing.nodes, timing.levels)
        self.jobs: Jobs = make_jobs((NOBODY,), Rules(ADAPTIVE))
        for column in self.jobs:
            column.clear()

    def copy(self) -> Self:
        """The same board, on which changes may be tried."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        for name in ("gangs", "waiting", "_empty", "_held"):
            setattr(made, name, getattr(self, name).copy())
        made.board = Board._make([x if isinstance(x, int) else x.copy() for x in self.board])
        made.jobs = Jobs._make([column.copy() for column in self.jobs])
        return made

    @property
    def running(self) -> list[int]:
        """Slots of the jobs in the matrix, those of higher priority first, then in start order."""
        return self.board.run[: self.board.tally[RUNNING]]

    def add(self, gang: Gang) -> int:
        """Put a job at its place in the queue; its slot."""
        if not self._empty:
            self._grow()
        slot = self._empty.pop()
        self.gangs[slot] = gang
        column: Any
        value: Any
        for column, value in zip(self.jobs, make_jobs((gang,), Rules(ADAPTIVE))):
            column[slot] = value[0]
        self._limited |= len(gang.replicas) > 0
        self._ranked |= gang.priority != 1
        self.waiting.append(slot)
        if self._ranked:
            self.waiting.sort(key=lambda j: (-self.gangs[j].priority, self.gangs[j].key))
        return slot

    def _grow(self) -> None:
        count = max(_ROOM, len(self.gangs))
        self._empty = list(range(len(self.gangs) + count - 1, len(self.gangs) - 1, -1))
        self.gangs += [NOBODY] * count
        column: Any
        more: Any
        for column, more in zip(self.jobs, make_jobs([NOBODY] * count, Rules(ADAPTIVE))):
            column.extend(more)
        board = self.board
        for keys in (board.run, board.queue, board.moved, board.gone, board.group):
            keys.extend([0] * count)
        board.worth.extend([0.0] * count)

    def remove(self, slot: int) -> None:
        """A job has left."""
        if slot in self.waiting:
            self.waiting.remove(slot)
        else:
            take_out(self.board, self.jobs, slot)
            drop(self.board.run, self.board.tally[RUNNING], slot)
            self.board.tally[RUNNING] -= 1
            self._hold(slot, -1)
        self._empty.append(slot)

    def stand(self, slot: int, columns: int, home: int, span: int) -> None:
        """A job of the queue has this place in the matrix."""
        self.waiting.remove(slot)
        board, jobs = self.board, self.jobs
        board.run[board.tally[RUNNING]] = slot
        board.tally[RUNNING] += 1
        jobs.columns[slot], jobs.local[slot] = columns, columns in self.sets(slot)
        put(board, jobs, slot, home)
        jobs.span[slot] = span
        self._hold(slot, 1)

    def sets(self, slot: int) -> tuple[int, ...]:
        """The sets of nodes on which a job is local (rule 21)."""
        return (self.gangs[slot].files, *self.gangs[slot].replicas)

    def update(self, rules: Rules, now: Number, budget: int) -> Self:
        """Run the phases once; *budget* tasks may migrate."""
        board, jobs, tally = self.board, self.jobs, self.board.tally
        timing = self.timing
        nodes = timing.nodes - self.drained.bit_count()
        numbers = rules.numbers(nodes, timing.levels, timing.quantum)
        if rules.pack_ratio:
            above, below = rules.pack_ratio.as_integer_ratio()
            for j in (*self.running, *self.waiting):
                jobs.packed[j] = jobs.remote[j] * below <= jobs.at_files[j] * above
        tally[STARTED], tally[MOVED], tally[BUDGET] = tally[RUNNING], 0, budget
        queue = self._in_order(rules, now)
        board.queue[: len(queue)] = queue
        tally[HEAD], tally[TAIL] = 0, len(queue)
        limited = self._limited or self.drained
        clean(board, jobs, numbers, now)
        if rules.migrate:
            (self._migrate if limited else migrate)(board, jobs, numbers, now)
        compact(board, jobs, numbers, now)
        (self._schedule if limited else schedule)(board, jobs, numbers, now)
        self._settle()
        fill(board, jobs, numbers, now)
        return self

    def _in_order(self, rules: Rules, now: Number) -> list[int]:
        """The queue; a free one has overdue jobs first, then the heaviest."""
        if not rules.free_queue:
            return self.waiting
        attained, need = self.jobs.attained, self.jobs.need
        clock, gangs = Clock(now, self.timing.quantum, attained, need), self.gangs
        return sorted(
            self.waiting, key=lambda j: free_order(rules, gangs[j], attained[j], need[j], clock)
        )

    def _settle(self) -> None:
        """Those that have started leave the queue; the running ones stand by priority (rule 18)."""
        tally, run = self.board.tally, self.board.run
        started = set(run[tally[STARTED] : tally[RUNNING]])
        if started:
            self.waiting = [j for j in self.waiting if j not in started]
        if self._ranked:
            run[: tally[RUNNING]] = sorted(self.running, key=lambda j: -self.gangs[j].priority)

    def _migrate(self, board: Board, jobs: Jobs, numbers: RuleNumbers, now: Number) -> None:
        """MigrateMatrix of one job after the other, to the sets that may take it (rules 19 to 21)."""
        tally, run = board.tally, self.running
        if numbers.weight != UNWEIGHTED:
            board.group[: len(run)] = run
            sort_by_worth(board, jobs, numbers, len(run))
            run = board.group[: len(run)]
        moved = -1
        while moved != tally[MOVED]:
            moved = tally[MOVED]
            for j in run:
                if jobs.local[j] or jobs.packed[j]:
                    continue
                self._hold(j, -1)
                for files in self.sets(j):
                    if not jobs.local[j] and not files & self.blocked(j, files):
                        jobs.files[j], tally[RUNNING] = files, 1
                        migrate(board._replace(run=[j]), jobs, numbers._replace(weight=0), now)
                self._hold(j, 1)
                tally[RUNNING] = len(run)

    def _schedule(self, board: Board, jobs: Jobs, numbers: RuleNumbers, now: Number) -> None:
        """Schedule on what nodes can take of each job; one kept out by drained nodes alone is passed."""
        tally = board.tally
        for j in board.queue[: tally[TAIL]]:
            found = [self._place(j, files, numbers, now) for files in self.sets(j)]
            local, _, row, columns = max(found, key=lambda place: place[:2])
            if row >= 0:
                jobs.columns[j], jobs.local[j] = columns, local
                put(board, jobs, j, row)
                board.run[tally[RUNNING]] = j
                tally[RUNNING] += 1
                self._hold(j, 1)
            elif not self._is_shut_out(j, numbers) and not passes(jobs, numbers, now, j, row):
                break

    def _place(
        self, j: int, files: int, numbers: RuleNumbers, now: Number
    ) -> tuple[bool, int, int, int]:
        """Whether local, population, row (negative: none) and columns of a waiting job with these file nodes.

        What cannot take the job looks occupied to it, and the guard does not count that.
        """
        board, jobs = self.board, self.jobs
        blocked = self.blocked(j, files)
        homes = [row | blocked for row in board.homes]
        seen = board._replace(homes=homes, population=[row.bit_count() for row in homes])
        more = sum(seen.population) - sum(board.population)
        jobs.files[j] = files
        row = place(seen, jobs, numbers._replace(hidden=more), now, j)
        columns = jobs.columns[j]
        return columns in self.sets(j), board.population[row] if row >= 0 else row, row, columns

    def _is_shut_out(self, j: int, numbers: RuleNumbers) -> bool:
        """Whether drained nodes alone keep a job out, however empty the matrix is."""
        if not all(files & self.drained for files in self.sets(j)):
            return False
        left = self.timing.nodes - self.drained.bit_count()
        return numbers.place == FILE_NODES or left < self.jobs.size[j]

    def blocked(self, slot: int, files: int) -> int:
        """The nodes that do not take a job: drained, or of hosts short of bytes for its tasks there.

        Of a host so many tasks are counted as it has *files*, and one at least.
        """
        size, mask = self.gangs[slot].bytes, self.drained
        if self.memory is None or not size:
            return mask
        wide = self.memory.host_nodes
        whole = (1 << wide) - 1
        for host, held in enumerate(self._held):
            tasks = max(1, (files >> host * wide & whole).bit_count())
            if held + tasks * size > self.memory.bytes * _SLACK:
                mask |= whole << host * wide
        return mask & (1 << self.timing.nodes) - 1

    def _hold(self, slot: int, sign: int) -> None:
        """A job's bytes come to the hosts of its columns, or go."""
        size = self.gangs[slot].bytes
        if self.memory is not None and size:
            for node in nodes_of(self.jobs.columns[slot]):
                self._held[node // self.memory.host_nodes] += sign * size

    def state(self, now: Number, budget: int) -> State:
        """What a policy of any kind sees; jobs by their keys."""
        jobs, gangs, run, timing = self.jobs, self.gangs, self.running, self.timing
        attained = {gangs[j].key: jobs.attained[j] for j in (*run, *self.waiting)}
        need = {gangs[j].key: jobs.need[j] for j in (*run, *self.waiting)}
        clock = Clock(now, timing.quantum, attained, need, timing.migration)
        columns, homes, spans = (
            [column[j] for j in run] for column in (jobs.columns, jobs.home, jobs.span)
        )
        return State(
            timing.nodes, [gangs[j] for j in run], columns, homes, spans, [0] * timing.levels,
            [gangs[j] for j in self.waiting], clock, budget,
        )  # fmt: skip

    def take(self, after: State) -> Self:
        """The jobs of *after*, each of which was here, are in the matrix as it says."""
        slots = {self.gangs[j].key: j for j in (*self.running, *self.waiting)}
        for j in self.running:
            take_out(self.board, self.jobs, j)
            self._hold(j, -1)
        gone = self.running
        self.board.tally[RUNNING] = 0
        self.waiting = [*gone, *self.waiting]
        for job, columns, home, span in zip(after.jobs, after.columns, after.homes, after.spans):
            self.stand(slots[job.key], columns, home, span)
        return self

    def wrong_since(self, before: Self) -> str | None:
        """What rules 19 and 20 forbid of this board, as made from *before*; None when all is well."""
        for j in self.running:
            columns = self.jobs.columns[j]
            moved = j not in before.running or before.jobs.columns[j] != columns
            if moved and columns & self.drained:
                return f"a job begins on the drained nodes {nodes_of(columns & self.drained)}"
        return self.overfull()

    def overfull(self) -> str | None:
        """Which host holds more than it has, None when all is well."""
        for host, held in enumerate(self._held):
            if self.memory is not None and held > self.memory.bytes * _SLACK**2:
                return f"host {host} holds {held:g} of {self.memory.bytes:g} bytes"
        return None
