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
from pathlib import Path
from typing import Any

from ioopt.embed.gang import GangScheduler
from ioopt.errors import UsageError
from ioopt.problems.base import Json

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


class ProcessGangs:
    """Time slices for process groups. ``tick`` is called at least once a quantum; reads no clock.

    *machine* is that of :class:`GangScheduler`, whose ``turn`` says who is on; processes cannot move, so
    the policy is ``iogs`` with the processes' nodes for file nodes. A job waits, those of higher priority
    first, while the resident bytes of all that have been placed would pass *memory_bytes*: stopped
    processes keep theirs. ``switches`` counts changes of row, ``seconds(job)`` is the time that a
    job was on. A slice is at least twenty times *switch_seconds* long.
    """

    def __init__(
        self,
        machine: Json,
        *,
        memory_bytes: float | None = None,
        switch_seconds: float = 0.0,
        switch: Switch = by_signal,
    ) -> None:
        self._scheduler = GangScheduler(
            machine, "iogs", memory_bytes=memory_bytes, switch_seconds=switch_seconds,
            host_nodes=machine["nodes"],
        )  # fmt: skip
        self._switch = switch
        self._groups: dict[str, dict[int, int]] = {}
        self._seconds: dict[str, float] = {}
        self._on: set[str] = set()
        self._last = 0.0
        self.switches = 0

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def notes(self) -> list[str]:
        """What the scheduler could not do."""
        return self._scheduler.notes

    def seconds(self, job: str) -> float:
        """How long a job has been on."""
        return self._seconds[job]

    def add(
        self, job: str, groups: Mapping[int, int], *, expected_seconds: float = 1e6, priority: int = 1,
        resident_bytes: float = 0,
    ) -> None:  # fmt: skip
        """A job whose process group on a node is ``groups[node]``; it is stopped until its turn.

        *resident_bytes* are those of all its groups. Raises UsageError for what cannot be a job.
        """
        share = resident_bytes / max(1, len(groups))
        if not self._scheduler.arrive(
            job, sorted(groups), expected_seconds, expected_seconds, self._last, priority=priority,
            resident_bytes=share,
        ):  # fmt: skip
            raise UsageError(self._scheduler.notes.pop())
        self._groups[job], self._seconds[job] = dict(groups), 0.0
        self._set(job, False)

    def end(self, job: str, now: float) -> float:
        """A job has ended, or is no longer ours; its groups go on. Returns how long it was on."""
        self._count(now)
        self._scheduler.depart(job, now)
        self._on.discard(job)
        self._set(job, True)
        del self._groups[job]
        return self._seconds.pop(job)

    def drain(self, nodes: Sequence[int]) -> None:
        """Jobs on *nodes*, and no others, have no turn: somebody else needs these."""
        self._scheduler.drain(nodes, suspend=True)

    def tick(self, now: float) -> float:
        """Give the slice at hand to its row; returns when the next call is due."""
        self._count(now)
        turn = self._scheduler.turn(now)
        self._show(set(turn["jobs"]))
        return float(turn["until"])

    def _show(self, jobs: set[str]) -> None:
        """Stop first, then continue, so that never two jobs are on a node."""
        self.switches += jobs != self._on
        for job in self._on - jobs:
            self._set(job, False)
        for job in jobs - self._on:
            self._set(job, True)
        self._on = jobs

    def _set(self, job: str, on: bool) -> None:
        for group in self._groups[job].values():
            self._switch(group, on)

    def _count(self, now: float) -> None:
        for job in self._on:
            self._seconds[job] += max(0.0, now - self._last)
        self._last = max(self._last, now)

    def close(self) -> None:
        """Let everything go on, whatever has happened."""
        for job in self._groups:
            self._set(job, True)
        self._on = set(self._groups)


def run(
    commands: Mapping[str, Sequence[Sequence[str]]],
    machine: Json,
    *,
    wait: Callable[[float], None] = time.sleep,
    **options: Any,
) -> dict[str, float]:
    """Start *commands* (job -> a command for node 0, one for node 1, ...) and take turns to the end.

    Returns when each job ended, in seconds from the start. What still runs when this ends, by an
    error or Ctrl-C, is killed. *options*: :class:`ProcessGangs`.
    """
    turns, began = ProcessGangs(machine, **options), time.monotonic()
    ended: dict[str, float] = {}
    tasks: dict[str, list[subprocess.Popen[bytes]]] = {}
    try:
        for job, rows in commands.items():
            tasks[job] = [subprocess.Popen(row, start_new_session=True) for row in rows]
            turns.add(job, {node: task.pid for node, task in enumerate(tasks[job])})
        while len(ended) < len(tasks):
            now = time.monotonic() - began
            for job, row in tasks.items():
                if job not in ended and all(task.poll() is not None for task in row):
                    turns.end(job, now)
                    ended[job] = now
            wait(min(max(turns.tick(now) - now, 0.0), 0.004) or 0.001)
    finally:
        for task in (task for row in tasks.values() for task in row if task.poll() is None):
            os.killpg(task.pid, signal.SIGKILL)
            task.wait()
    return ended
