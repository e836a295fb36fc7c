"""Eviction between the sub-batches of a static plan (paper 003, Section 4.3).

Files leave in increasing order of popularity, equation (22), until every node has room for a single
task: the largest pending one that its disk can hold. ``lru`` orders by the round of the last use
instead. ``farthest-next-use`` (ours) evicts nothing beforehand: what the next round needs is known
by then, so room is made for that alone, dead files and duplicates first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ioopt.problems.replication import EvictionPolicy, ReplicationProblem

Removal = tuple[int, int]
"""File and node."""


def popularity(access_freq: int, file_bytes: int, num_copies: int) -> Fraction:
    """Equation (22): pending requests x size / copies, exact.

    >>> popularity(3, 64, 2)
    Fraction(96, 1)
    """
    return Fraction(access_freq * file_bytes, max(1, num_copies))


@dataclass
class Disks:
    """Files on every node between rounds, and the round of their last use."""

    problem: ReplicationProblem
    policy: EvictionPolicy
    present: list[set[int]] = field(default_factory=list)
    last_use: dict[Removal, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.present = [set(files) for files in self.problem.holds]

    def used(self, node: int) -> int:
        """Bytes on *node*."""
        return sum(self.problem.files[file].bytes for file in self.present[node])

    def evict_for_one_task(self, pending: Sequence[int]) -> list[Removal]:
        """Make room for the largest pending task on every node; nothing under farthest-next-use."""
        gone: list[Removal] = []
        if self.policy == "farthest-next-use":
            return gone
        sizes = [self.problem.task_bytes(task) for task in pending]
        for node, item in enumerate(self.problem.nodes):
            if item.disk_bytes is None:
                continue
            room = max((size for size in sizes if size <= item.disk_bytes), default=0)
            gone += self.evict_until(node, item.disk_bytes - room, (), pending)
        return gone

    def evict_until(
        self, node: int, most_bytes: int, keep: Iterable[int], pending: Sequence[int]
    ) -> list[Removal]:
        """Evict from *node* until it holds *most_bytes* or only files of *keep*; returns what left.

        *pending* are the tasks not yet in a finished round, which the popularity counts.
        """
        gone: list[Removal] = []
        used = self.used(node)
        kept = set(keep)
        access = self._access(pending) if used > most_bytes else {}
        while used > most_bytes:
            victims = self.present[node] - kept
            if not victims:
                break
            file = min(victims, key=lambda item: (*self._rank(item, node, access), item))
            self.present[node].discard(file)
            used -= self.problem.files[file].bytes
            gone.append((file, node))
        return gone

    def _access(self, pending: Sequence[int]) -> dict[int, int]:
        count: dict[int, int] = {}
        for task in pending:
            for file in self.problem.inputs[task]:
                count[file] = count.get(file, 0) + 1
        return count

    def _rank(self, file: int, node: int, access: dict[int, int]) -> tuple[Any, ...]:
        copies = sum(file in files for files in self.present)
        readers = access.get(file, 0)
        if self.policy == "popularity":
            return (popularity(readers, self.problem.files[file].bytes, copies),)
        if self.policy == "lru":
            return (self.last_use.get((file, node), 0),)
        return (0 if readers == 0 else 1 if copies > 1 else 2, readers)

    def close_round(self, number: int, brought: Iterable[Removal], read: Iterable[Removal]) -> None:
        """Record what round *number* (from 1) put on the disks and what its tasks read there."""
        for file, node in brought:
            self.present[node].add(file)
            self.last_use[file, node] = number
        for file, node in read:
            self.last_use[file, node] = number
