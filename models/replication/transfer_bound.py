"""Lower bounds of the makespan of workflows that know transfers between nodes (workflow rule 18).

A task and its producer share a node, where both take cores, or bytes pass the interface of the
node; likewise for what reads its products. Which of them share is left to the relaxation, in parts if
need be, so that the bound holds for every plan and dispatch. It is never below :class:`WorkflowBound`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ioopt.models.replication.workflow_bound import WorkflowBound
from ioopt.problems.replication import Node

Share = tuple[float, float]
"""Seconds that something takes on the cores of a node if it stays, on its interface if it does not."""


def least_of_both(shares: Iterable[Share], stay: float, move: float) -> float:
    """The least end of both cores and interface, free at *stay* and *move*, over all divisions.

    Each share stays, moves, or does so in part. Those that move longest for their computing stay.

    >>> least_of_both([(4.0, 4.0), (4.0, 1.0)], 0.0, 0.0)
    2.5
    """
    moving = 0.0
    rows = []
    for cores, wire in shares:
        moving += wire
        if cores == 0.0:
            moving -= wire
        elif cores < float("inf") and wire > 0.0:
            rows.append((wire / cores, cores, wire))
    move += moving
    for _, cores, wire in sorted(rows, reverse=True):
        if stay + cores >= move - wire:
            part = max(0.0, (move - stay) / (cores + wire))
            return max(move - part * wire, stay)
        stay += cores
        move -= wire
    return max(stay, move)


@dataclass(frozen=True)
class TransferBound(WorkflowBound):
    """The bounds of :class:`WorkflowBound` with earlier starts and tails that know transfers."""

    @property
    def seconds(self) -> float:
        """The largest of all."""
        return max(self.critical_path, self.core_area, self.link)

    @cached_property
    def critical_path(self) -> float:
        """The largest over the tasks of the least over the nodes: what comes before, itself, what follows."""
        return max(
            (
                min(
                    self._heads[k][c] + self._work(k, node) + self._tails[k][c]
                    for c, node in self._places[k]
                )
                for k in range(len(self.problem.tasks))
                if self._places[k]
            ),
            default=0.0,
        )

    @cached_property
    def core_area(self) -> float:
        """As in workflow rule 18; and of m C + 1 tasks on C cores some core runs m + 1."""
        best = super().core_area
        quick, all_cores = self.seconds_on_fastest, sum(node.cores for node in self.problem.nodes)
        longest = sorted(range(len(quick)), key=quick.__getitem__, reverse=True)
        start = tail = float("inf")
        for place, k in enumerate(longest):
            start, tail = min(start, self.earliest_start[k]), min(tail, self.tail[k])
            if place and place % all_cores == 0:
                shortest = longest[place - place // all_cores : place + 1]
                best = max(best, start + sum(quick[j] for j in shortest) + tail)
        return best

    @cached_property
    def earliest_start(self) -> list[float]:
        """The least head over the nodes."""
        heads = zip(self._heads, self._plain_start, strict=True)
        return [min(row.values(), default=s) for row, s in heads]

    @cached_property
    def tail(self) -> list[float]:
        """The least tail over the nodes."""
        return [min(row.values(), default=0.0) for row in self._tails]

    @cached_property
    def _plain_start(self) -> list[float]:
        return WorkflowBound(self.problem).earliest_start

    @cached_property
    def _classes(self) -> list[Node]:
        """One node of each kind: held files apart, bounds see no more of a node."""
        kinds = {(n.speed, n.cores, n.disk_bytes): n for n in reversed(self.problem.nodes)}
        return list(kinds.values())

    @cached_property
    def _places(self) -> list[list[tuple[int, Node]]]:
        """Per task, the kinds of nodes that it fits, numbered."""
        where = [self.problem.node_index[node.id] for node in self._classes]
        pairs = list(enumerate(self._classes))
        return [
            [pairs[c] for c, i in enumerate(where) if self.problem.fits(k, i)]
            for k in range(len(self.problem.tasks))
        ]

    def _work(self, k: int, node: Node) -> float:
        return self.problem.tasks[k].compute_seconds / node.speed

    def _cores(self, tasks: Iterable[int], c: int) -> float:
        """Seconds that *tasks* take on all cores of a node of kind *c*; infinite if one does not fit."""
        node, total = self._classes[c], 0.0
        for k in tasks:
            if all(c != other for other, _ in self._places[k]):
                return float("inf")
            total += self.problem.tasks[k].cores * self.problem.tasks[k].compute_seconds
        return total / (node.cores * node.speed)

    @cached_property
    def earliest_end(self) -> list[float]:
        """The least head and computing over the nodes."""
        return [
            min((row[c] + self._work(k, node) for c, node in self._places[k]), default=start)
            for k, (row, start) in enumerate(zip(self._heads, self.earliest_start, strict=True))
        ]

    @cached_property
    def _heads(self) -> list[dict[int, float]]:
        """Per task: by kind of node, when it can start there."""
        plain = self._plain_start
        rows: list[dict[int, float]] = [{} for _ in plain]
        end = list(plain)
        for k in self.order:
            rows[k] = {c: max(plain[k], self._head(k, c, rows, end)) for c, _ in self._places[k]}
            ends = (rows[k][c] + self._work(k, node) for c, node in self._places[k])
            end[k] = min(ends, default=plain[k])
        return rows

    def _head(self, k: int, c: int, heads: list[dict[int, float]], end: list[float]) -> float:
        """When *k* can start on a node of kind *c*: its producers ran there, or their files came."""
        problem, byte = self.problem, self.problem.replica_seconds_per_byte
        wires = {p: 0.0 for p in problem.predecessors[k]}
        for f in problem.inputs[k]:
            if problem.producer[f] >= 0:
                wires[problem.producer[f]] += problem.files[f].bytes * byte
        best, shares = 0.0, []
        for p, wire in wires.items():
            here = end[p] + wire
            if c in heads[p]:
                here = min(here, heads[p][c] + self._work(p, self._classes[c]))
            best = max(best, here)
            shares.append((self._cores([p], c), wire))
        if not wires:
            return best
        stay = min(min(heads[p].values(), default=0.0) for p in wires)
        return max(best, least_of_both(shares, stay, min(end[p] for p in wires)))

    @cached_property
    def _tails(self) -> list[dict[int, float]]:
        """Per task: by kind of node, what must follow its end."""
        rows: list[dict[int, float]] = [{} for _ in self.problem.tasks]
        least = [0.0] * len(rows)
        for k in reversed(self.order):
            rows[k] = {c: self._tail(k, c, rows, least) for c, _ in self._places[k]}
            least[k] = min(rows[k].values(), default=0.0)
        return rows

    def _tail(self, k: int, c: int, tails: list[dict[int, float]], tail: list[float]) -> float:
        """What follows *k* on a node of kind *c*: readers of its files there, or the files leave."""
        problem, byte = self.problem, self.problem.replica_seconds_per_byte
        node, quick = self._classes[c], self.seconds_on_fastest
        best, shares, seen = 0.0, [], set[int]()
        after: list[float] = []
        stay: list[float] = []
        for f in problem.outputs[k]:
            if problem.files[f].keep:
                best = max(best, problem.files[f].bytes / self.rates[f])
            readers, wire = problem.readers[f], problem.files[f].bytes * byte
            for j in readers:
                least = wire + quick[j] + tail[j]
                if c in tails[j]:
                    least = min(least, self._work(j, node) + tails[j][c])
                best = max(best, least)
                after.append(quick[j] + tail[j])
                stay.append(tail[j])
            if readers:
                shares.append((self._cores(set(readers) - seen, c), wire))
                if self._cores(readers, c) == float("inf"):
                    shares[-1] = (float("inf"), wire)
                seen |= set(readers)
        if not shares:
            return best
        return max(best, least_of_both(shares, min(stay), min(after)))

    def _crossing(self, fetched: Iterable[int], kept: Iterable[int], rate: float) -> float:
        """As in workflow rule 18; and what is fetched for some time to follow leaves that time after it."""
        fetched = list(fetched)
        best, total = super()._crossing(fetched, kept, rate), 0.0
        begun = min((self._asked[f] for f in fetched), default=0.0)
        after = {
            f: max(self.seconds_on_fastest[k] + self.tail[k] for k in self.problem.readers[f])
            for f in fetched
        }
        for f in sorted(fetched, key=after.__getitem__, reverse=True):
            total += self.problem.files[f].bytes
            best = max(best, begun + total / rate + after[f])
        return best
