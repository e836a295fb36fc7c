"""Plans that use all disks as one cache: a file a node has no room for is handed on to another node.

Cooperative caching with singlet forwarding (Dahlin et al., OSDI 1994): the last copy of a file that
somebody still reads is not thrown out but sent to a disk with room, as a copy between nodes costs a small
part of a fetch over the shared link. The tasks of an order run in rounds, at most one and those that read
nothing else on a node, and a barrier between rounds. What is handed on at the end of a round and what leaves
a disk before the next one is settled here, so that in the replay no node throws out what another counts on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from itertools import islice

from ioopt.problems.replication import ReplicationPlan, ReplicationProblem, Round
from ioopt.solvers.replication.plans import Move, build_plan


def forwarded(
    problem: ReplicationProblem, order: Sequence[int], most: int, window: int
) -> ReplicationPlan:
    """The plan for an *order* of all tasks, on at most so many nodes a round.

    A round takes the tasks of which the fewest bytes lie on no disk, among the first *window* times as many.
    """
    pool = _Pool(problem, order, most, window)
    head = 0
    while head < len(order):
        if pool.done[head]:
            head += 1
        else:
            pool.add_round(head)
    return pool.plan()


class _Pool:
    """The disks of a batch while its tasks are planned; sizes in bytes, tasks by their places in the order.

    ``on``: files by node, ``holders``: nodes by file; ``uses``: places of a file's pending readers, the next
    one last; ``queues`` take tasks and, as ``-1 - file``, copies; ``active``: the nodes of the last round.
    """

    def __init__(
        self, problem: ReplicationProblem, order: Sequence[int], most: int, window: int
    ) -> None:
        self.problem, self.order, self.most, self.window = problem, order, most, window
        self.size = [file.bytes for file in problem.files]
        self.disk = [
            float("inf") if node.disk_bytes is None else node.disk_bytes for node in problem.nodes
        ]
        self.on = [set(held) for held in problem.holds]
        self.holders: list[set[int]] = [set() for _ in problem.files]
        for i, files in enumerate(self.on):
            for f in files:
                self.holders[f].add(i)
        self.uses: list[list[int]] = [[] for _ in problem.files]
        for p in range(len(order) - 1, -1, -1):
            for f in problem.inputs[order[p]]:
                self.uses[f].append(p)
        self.done = [False] * len(order)
        self.queues: list[list[int]] = [[] for _ in problem.nodes]
        self.rounds: list[list[int]] = []
        self.moves: list[list[Move]] = []
        self.drops: list[list[tuple[int, int]]] = []
        self.active: list[int] = []

    def add_round(self, head: int) -> None:
        """One round more, of tasks from place *head* on."""
        placed = self._placed(head)
        needs = {i: self.problem.inputs[self.order[p]] for i, p in placed.items()}
        kept = self._kept(needs)
        drops: list[tuple[int, int]] = []
        for i, files in enumerate(self.on):
            gone = sorted(files.difference(kept[i], needs.get(i, ())))
            files.difference_update(gone)
            for f in gone:
                self.holders[f].discard(i)
            drops += [(f, i) for f in gone if self.uses[f]]
        self.drops.append(drops)
        self.moves.append(
            [self._bring(f, i) for i in needs for f in needs[i] if f not in self.on[i]]
        )
        for p in placed.values():
            self.done[p] = True
        tasks: list[int] = []
        for i, p in placed.items():
            riders = [p, *self._riders(set(needs[i]))]
            self.queues[i] += [self.order[q] for q in riders]
            tasks += riders
        self.rounds.append([self.order[p] for p in tasks])
        for f in {f for files in needs.values() for f in files}:
            while self.uses[f] and self.done[self.uses[f][-1]]:
                self.uses[f].pop()
        self.active = list(placed)

    def _bring(self, f: int, i: int) -> Move:
        """File *f* comes to node *i*."""
        source = min(self.holders[f], default=-1)
        self.holders[f].add(i)
        self.on[i].add(f)
        return f, source, i

    def _riders(self, files: set[int]) -> list[int]:
        """Pending tasks that read no other *files* than those that a node reads anyway; done from now on."""
        inputs, order = self.problem.inputs, self.order
        found = {p for f in files for p in self.uses[f] if not self.done[p]}
        riders = sorted(p for p in found if files.issuperset(inputs[order[p]]))
        for p in riders:
            self.done[p] = True
        return riders

    def _placed(self, head: int) -> dict[int, int]:
        """A task for each node of a round, where most of its bytes are, else where least is lost."""
        left = (p for p in range(head, len(self.order)) if not self.done[p])
        tasks = nsmallest(self.most, islice(left, self.window * self.most), key=self._missing)
        placed: dict[int, int] = {}
        overlaps = [pair for p in tasks for pair in self._overlaps(p)]
        for _, p, i in sorted(overlaps):
            if i not in placed and p in tasks and self.problem.fits(self.order[p], i):
                placed[i] = p
                tasks.remove(p)
        useful = [sum([self.size[f] for f in files if self.uses[f]]) for files in self.on]
        free = sorted(set(range(len(self.on))).difference(placed), key=lambda i: useful[i])
        for p in tasks:
            i = next((i for i in free if self.problem.fits(self.order[p], i)), -1)
            if i >= 0:
                placed[i] = p
                free.remove(i)
        return dict(sorted(placed.items()))

    def _missing(self, p: int) -> int:
        """Bytes that the task at place *p* reads and no disk holds."""
        files = self.problem.inputs[self.order[p]]
        return sum([self.size[f] for f in files if not self.holders[f]])

    def _overlaps(self, p: int) -> list[tuple[int, int, int]]:
        """(- bytes there, task, node) of the nodes that hold files of the task at place *p*."""
        there: dict[int, int] = {}
        for f in self.problem.inputs[self.order[p]]:
            for i in self.holders[f]:
                there[i] = there.get(i, 0) + self.size[f]
        return [(-size, p, i) for i, size in there.items()]

    def _kept(self, needs: Mapping[int, Sequence[int]]) -> list[set[int]]:
        """Files that each node keeps for later rounds beside its *needs*, and hands others on.

        The next to be read come first (Belady). A copy goes to a node of the last round, behind its task
        there, and finds room beside all that is still read; ``on`` and ``queues`` have it from now on.
        """
        room, spare = list(self.disk), [-1.0] * len(self.disk)
        wanted: dict[int, list[int]] = {}
        for i, files in needs.items():
            room[i] -= sum([self.size[f] for f in files])
            for f in files:
                wanted.setdefault(f, []).append(i)
        for i in self.active:
            spare[i] = self.disk[i] - sum([self.size[f] for f in self.on[i] if self.uses[f]])
        kept: list[set[int]] = [set() for _ in room]
        pooled = {f for files in self.on for f in files if self.uses[f]}
        for f in sorted(pooled, key=lambda f: (self.uses[f][-1], f)):
            size, holders, here = self.size[f], self.holders[f], wanted.get(f, ())
            if any(i in holders for i in here):
                continue
            i = max((i for i in here if spare[i] >= size), key=spare.__getitem__, default=-1)
            if i < 0:
                i = max((i for i in holders if room[i] >= size), key=room.__getitem__, default=-1)
                if i < 0:
                    both = {j: min(spare[j], room[j]) for j in self.active}
                    i = max((j for j in both if both[j] >= size), key=both.__getitem__, default=-1)
                if i < 0:
                    continue
                room[i] -= size
                kept[i].add(f)
            if i not in holders:
                spare[i] -= size
                self.queues[i].append(-1 - f)
                self.moves[-1].append(self._bring(f, i))
        return kept

    def plan(self) -> ReplicationPlan:
        """The plan of all rounds."""
        plan = build_plan(self.problem, self.queues, "farthest-next-use", rounds=self.rounds)
        files = [file.id for file in self.problem.files]
        nodes = [node.id for node in self.problem.nodes]
        rounds = tuple(
            Round(
                tasks=part.tasks,
                remote=tuple((files[f], nodes[i]) for f, source, i in moves if source < 0),
                copies=tuple((files[f], nodes[j], nodes[i]) for f, j, i in moves if j >= 0),
                evicted=tuple((files[f], nodes[i]) for f, i in drops),
            )
            for part, moves, drops in zip(plan.rounds or (), self.moves, self.drops, strict=True)
        )
        return plan.model_copy(update={"rounds": rounds})
