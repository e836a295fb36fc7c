"""Gangs of real processes on one machine: the smallest true gang scheduler.

A job is one process group a node (core, GPU). The rows of :class:`ioopt.embed.GangScheduler` take
turns; groups outside the row at hand are stopped, by SIGSTOP or by a cgroup v2's ``cgroup.freeze``.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioopt.embed.gang import GangScheduler
from ioopt.errors import UsageError

AWAY = 1000.0
"""Processes cannot move: a job elsewhere than its processes is taken to be so many times slower."""
Switch = Callable[[int, bool], None]
"""Stops (False) or continues (True) a group."""


def by_signal(group: int, on: bool) -> None:
    """Signal a process group; one that has ended is left alone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGCONT if on else signal.SIGSTOP)


def by_cgroup(folders: Mapping[int, str]) -> Switch:
    """Freeze the cgroup (v2) of each group; by signal where its file cannot be written."""

    def switch(group: int, on: bool) -> None:
        try:
            Path(folders[group], "cgroup.freeze").write_text("0" if on else "1")
        except (KeyError, OSError):
            by_signal(group, on)

    return switch


@dataclass
class _Gang:
    """``groups`` by node, ``priority`` slices a turn, resident ``bytes`` of all its groups."""

    groups: dict[int, int]
    arrival: tuple[Sequence[int], float, float]
    priority: int
    bytes: int
    placed: bool = False
    seconds: float = 0.0


class ProcessGangs:
    """Time slices for process groups. ``tick`` is called at least once a quantum; reads no clock.

    *machine* and *policy* are those of :class:`GangScheduler`. A row has as many slices a turn as the
    highest priority in it. A job waits, those of higher priority first, while the resident bytes
    of all that have been placed would pass *memory_bytes*: stopped processes keep theirs.
    ``switches`` counts changes of row, ``seconds(job)`` is the time that a job was on.
    """

    def __init__(
        self,
        machine: Mapping[str, Any],
        policy: str = "guarded-iogs",
        *,
        memory_bytes: int | None = None,
        switch: Switch = by_signal,
    ) -> None:
        self._scheduler, self._memory, self._switch = (
            GangScheduler(machine, policy),
            memory_bytes,
            switch,
        )
        self._quantum = self._scheduler.machine.quantum_seconds
        self._jobs: dict[str, _Gang] = {}
        self._row, self._left, self._until, self._last = -1, 0, 0.0, 0.0
        self._on: set[str] = set()
        self._drained: set[int] = set()
        self._dirty = False
        self.switches = 0

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def notes(self) -> list[str]:
        """What the scheduler could not do."""
        return self._scheduler.notes

    def seconds(self, job: str) -> float:
        """How long a job has been on."""
        return self._jobs[job].seconds

    def add(
        self, job: str, groups: Mapping[int, int], *, expected_seconds: float = 1e6,
        remote_seconds: float | None = None, priority: int = 1, resident_bytes: int = 0,
    ) -> None:  # fmt: skip
        """A job whose process group on a node is ``groups[node]``; it is stopped until its turn.

        Processes cannot move, so a placement on other nodes is read as a row alone. Raises UsageError.
        """
        nodes = self._scheduler.machine.nodes
        if job in self._jobs or not groups or not all(0 <= node < nodes for node in groups):
            raise UsageError(
                f"job {job!r}: there already, or its nodes are not among 0 .. {nodes - 1}"
            )
        if priority < 1 or (self._memory is not None and resident_bytes > self._memory):
            raise UsageError(f"job {job!r}: priority below 1, or more bytes than there are")
        arrival = sorted(groups), expected_seconds, remote_seconds or AWAY * expected_seconds
        self._jobs[job] = _Gang(dict(groups), arrival, priority, resident_bytes)
        self._set(job, False)
        self._dirty = True

    def end(self, job: str, now: float) -> float:
        """A job has ended, or is no longer ours; its groups go on. Returns how long it was on."""
        self._count(now)
        gang = self._jobs.pop(job)
        if gang.placed:
            self._scheduler.depart(job, now)
        for group in gang.groups.values():
            self._switch(group, True)
        self._on.discard(job)
        self._dirty = True
        return gang.seconds

    def drain(self, nodes: Sequence[int]) -> None:
        """Jobs on *nodes*, and no others, have no turn: somebody else needs these."""
        self._drained, self._dirty = set(nodes), True

    def tick(self, now: float) -> float:
        """Give the slice at hand to its row; returns when the next call is due."""
        self._count(now)
        if not self._dirty and now < self._until:
            return self._until
        self._admit(now)
        rows = self._rows(now)
        if not rows:
            self._show(set())
        elif self._dirty or now >= self._until:
            self._turn(rows, now)
        self._dirty = False
        return self._until if rows else now + self._quantum

    def _turn(self, rows: dict[int, set[str]], now: float) -> None:
        """The row at hand while it has slices left, then the next that holds somebody."""
        if now >= self._until:
            self._left -= 1
        if self._row not in rows or self._left <= 0:
            later = [row for row in sorted(rows) if row > self._row]
            self._row = later[0] if later else min(rows)
            self._left = max(self._jobs[job].priority for job in rows[self._row])
            self._until = now + self._quantum
        elif now >= self._until:
            self._until = now + self._quantum
        self._show(rows[self._row])

    def _admit(self, now: float) -> None:
        used = sum(gang.bytes for gang in self._jobs.values() if gang.placed)
        waiting = [(name, gang) for name, gang in self._jobs.items() if not gang.placed]
        for name, gang in sorted(waiting, key=lambda row: -row[1].priority):
            if self._memory is not None and used + gang.bytes > self._memory:
                break  # nobody passes it
            used += gang.bytes
            nodes, local, remote = gang.arrival
            gang.placed = self._scheduler.arrive(name, list(nodes), local, remote, now)

    def _rows(self, now: float) -> dict[int, set[str]]:
        """Row -> jobs; those whose processes are elsewhere have rows of their own, past the others."""
        rows: dict[int, set[str]] = {}
        extra = self._scheduler.machine.levels
        for row in self._scheduler.matrix(now):
            job, groups = row["id"], self._jobs[row["id"]].groups
            if self._drained & groups.keys():
                continue
            if set(row["columns"]) == groups.keys():
                for number in row["rows"]:
                    rows.setdefault(number, set()).add(job)
            else:
                rows[extra] = {job}
                extra += 1
        # a job that fills empty rows has its own turn once
        kept: dict[int, set[str]] = {}
        for number, jobs in sorted(rows.items(), key=lambda row: (-len(row[1]), row[0])):
            if not any(jobs <= others for others in kept.values()):
                kept[number] = jobs
        return kept

    def _show(self, jobs: set[str]) -> None:
        """Stop first, then continue, so that never two jobs are on a node."""
        if jobs != self._on:
            self.switches += 1
        for job in self._on - jobs:
            self._set(job, False)
        for job in jobs - self._on:
            self._set(job, True)
        self._on = set(jobs)

    def _set(self, job: str, on: bool) -> None:
        for group in self._jobs[job].groups.values():
            self._switch(group, on)

    def _count(self, now: float) -> None:
        for job in self._on:
            self._jobs[job].seconds += max(0.0, now - self._last)
        self._last = max(self._last, now)

    def close(self) -> None:
        """Let everything go on, whatever has happened."""
        for job in self._jobs:
            self._set(job, True)
        self._on = set(self._jobs)


def run(
    commands: Mapping[str, Sequence[Sequence[str]]],
    machine: Mapping[str, Any],
    *,
    gangs: bool = True,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
    **options: Any,
) -> dict[str, float]:
    """Start *commands* (job -> a command for node 0, one for node 1, ...) and take turns to the end.

    Returns when each job ended, in seconds from the start. What still runs when this ends, by an
    error or Ctrl-C, is killed. Without *gangs* nobody is ever stopped. *options*: :class:`ProcessGangs`.
    """
    turns, began = ProcessGangs(machine, **options), clock()
    ended: dict[str, float] = {}
    tasks: dict[str, list[subprocess.Popen[bytes]]] = {}
    try:
        for job, rows in commands.items():
            tasks[job] = [subprocess.Popen(row, start_new_session=True) for row in rows]
            turns.add(job, {node: task.pid for node, task in enumerate(tasks[job])})
        if not gangs:
            turns.close()
        while len(ended) < len(tasks):
            now = clock() - began
            for job, row in tasks.items():
                if job not in ended and all(task.poll() is not None for task in row):
                    turns.end(job, now)
                    ended[job] = now
            due = turns.tick(now) if gangs else now
            wait(min(max(due - now, 0.0), 0.01) or 0.001)
    finally:
        for task in (task for row in tasks.values() for task in row if task.poll() is None):
            os.killpg(task.pid, signal.SIGKILL)
            task.wait()
    return ended
