"""Evict files between the rounds of a plan (Khanna et al., Section 4.3; rule 7)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from ioopt.problems.replication import EvictionPolicy, ReplicationProblem, Room

Removal = tuple[int, int]
"""A file and a node that it leaves, or at which it arrives."""


def popularity(access_freq: int, file_bytes: int, num_copies: int) -> Fraction:
    """Return the popularity of a file by equation (22): pending requests x size /
    copies.

    The result is exact.

    >>> popularity(3, 64, 2)
    Fraction(96, 1)
    """
    return Fraction(access_freq * file_bytes, max(1, num_copies))


class Disks:
    """Track the files on every node between rounds, and the round in which each file
    was last used there.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        policy: EvictionPolicy,
        room: Room = "largest",
    ) -> None:
        self.problem = problem
        self.policy = policy
        self.room = room
        self.present = [set(files) for files in problem.holds]
        self.last_use: dict[Removal, int] = {}
        self.access: Counter[int] = Counter()
        self.copies: Counter[int] = Counter()
        self.sizes = [problem.task_bytes(task) for task in range(len(problem.tasks))]

    def open_round(self, pending: Sequence[int]) -> None:
        """Count the copies of every file, and the tasks in *pending* that read it."""
        self.access = Counter()
        for task in pending:
            self.access.update(self.problem.inputs[task])
        self.copies = Counter()
        for files in self.present:
            self.copies.update(files)

    def evict_for_one_task(self, pending: Sequence[int]) -> list[Removal]:
        """Begin a round: make room for one pending task on every node; return the
        evicted files.

        The result lists (file, node). The paper does not say which task this is.
        ``room`` selects the largest task that fits, the mean of those that fit, or the
        next task. Nothing is evicted with the policy farthest-next-use.
        """
        self.open_round(pending)
        gone: list[Removal] = []
        if self.policy == "farthest-next-use" or self.room == "missing":
            return gone
        sizes = [self.sizes[task] for task in pending]
        room: dict[int, int] = {}
        for node, item in enumerate(self.problem.nodes):
            disk = item.disk_bytes
            if disk is None:
                continue
            if disk not in room:
                fitting = [size for size in sizes if size <= disk] or [0]
                mean = -(-sum(fitting) // len(fitting))
                wanted = {"largest": max(fitting), "mean": mean, "next": fitting[0]}
                room[disk] = wanted[self.room]
            gone += self.evict_until(node, disk - room[disk], ())
        return gone

    def evict_until(
        self, node: int, most_bytes: int, keep: Iterable[int]
    ) -> list[Removal]:
        """Evict files from *node* until it holds at most *most_bytes*, or only files in
        *keep*.

        Return (file, node) for every evicted file.
        """
        gone: list[Removal] = []
        used = sum(self.problem.files[file].bytes for file in self.present[node])
        kept = set(keep)
        while used > most_bytes:
            victims = self.present[node] - kept
            if not victims:
                break
            file = min(victims, key=lambda item: (*self._rank(item, node), item))
            self.present[node].discard(file)
            self.copies[file] -= 1
            used -= self.problem.files[file].bytes
            gone.append((file, node))
        return gone

    def _rank(self, file: int, node: int) -> tuple[Fraction | int, ...]:
        """Return the sort key for eviction of *file* from *node*; the smallest key
        leaves first.

        The key depends on the policy. With farthest-next-use, files without waiting
        readers leave first, then files with copies on other nodes, then the others.
        Within each of these classes, files with few readers leave first.
        """
        copies = self.copies[file]
        readers = self.access[file]
        if self.policy == "popularity":
            return (popularity(readers, self.problem.files[file].bytes, copies),)
        if self.policy == "lru":
            return (self.last_use.get((file, node), 0),)
        if readers == 0:
            return 0, readers
        if copies > 1:
            return 1, readers
        return 2, readers

    def close_round(
        self, number: int, brought: Sequence[Removal], read: Sequence[Removal]
    ) -> None:
        """Record the files that round *number* (from 1) put on disks, and those that
        its tasks read.

        Both *brought* and *read* list (file, node).
        """
        for file, node in brought:
            self.present[node].add(file)
        self.last_use |= dict.fromkeys([*brought, *read], number)
