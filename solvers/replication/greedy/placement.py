"""Tasks placed one after another by the bytes they bring and the load they make (ours)."""

from collections.abc import Mapping

from ioopt.models.replication.bounds import area
from ioopt.models.replication.static import StaticInstance


class Placement:
    """Counts of every task class fixed on every node so far, and what the nodes hold and carry."""

    def __init__(self, instance: StaticInstance) -> None:
        self.instance = instance
        nodes = range(instance.num_nodes)
        self.fixed = [[0] * len(nodes) for _ in instance.classes]
        self.files = [set(files) for files in instance.held]
        self.bytes = [self._held_bytes(i) for i in nodes]
        self.load = [0] * len(nodes)
        self.needed = [sum(instance.sizes[f] for f in group.inputs) for group in instance.classes]
        self.ceiling = area(instance)

    def _held_bytes(self, node: int) -> int:
        return sum(self.instance.sizes[file] for file in self.instance.held[node])

    def open(self, k: int) -> int:
        """Tasks of class *k* that are not fixed."""
        return self.instance.classes[k].count - sum(self.fixed[k])

    def waiting(self) -> bool:
        """Whether any task is not fixed."""
        return any(self.open(k) for k in range(len(self.fixed)))

    def gain(self, k: int, node: int) -> int:
        """Bytes that class *k* would bring to *node*."""
        missing = set(self.instance.classes[k].inputs) - self.files[node]
        return sum(self.instance.sizes[file] for file in missing)

    def able(self, k: int, node: int) -> bool:
        """Whether the files of class *k* fit on *node* alone; where not, it can never run (21)."""
        disk = self.instance.problem.nodes[node].disk_bytes
        return disk is None or self.needed[k] <= disk

    def fits(self, k: int, node: int) -> bool:
        """Whether the files of class *k* fit on *node* beside what is fixed there."""
        room = self.instance.room[node]
        beside = room is None or self.bytes[node] + self.gain(k, node) <= room
        return beside and self.able(k, node)

    def slowed(self, k: int, node: int) -> int:
        """The load of *node* with what a task of class *k* would take longer there than elsewhere."""
        return self.load[node] + self.instance.work[k][node] - self.instance.least_work[k]

    def fix(self, k: int, node: int, number: int) -> None:
        """Fix *number* tasks of class *k* on *node*; a new file weighs as if it were fetched once."""
        for file in set(self.instance.classes[k].inputs) - self.files[node]:
            new = not any(file in files for files in self.files)
            self.load[node] += self.instance.far[file] if new else self.instance.near[file]
            self.files[node].add(file)
            self.bytes[node] += self.instance.sizes[file]
        self.fixed[k][node] += number
        self.load[node] += number * self.instance.work[k][node]

    def plant(self) -> None:
        """One task a node: at first the one with most bytes, then those that share the least."""
        for node in range(self.instance.num_nodes):
            seen = set().union(*self.files)
            rated = [
                (
                    sum(self.instance.sizes[f] for f in set(group.inputs) - seen),
                    -sum(self.instance.sizes[f] for f in set(group.inputs) & seen),
                    -k,
                )
                for k, group in enumerate(self.instance.classes)
                if self.open(k) and self.fits(k, node) and self.slowed(k, node) <= self.ceiling
            ]
            if rated:
                self.fix(-max(rated)[2], node, 1)

    def follow(self, shares: Mapping[tuple[int, int], float], number: int) -> None:
        """Fix about *number* tasks where *shares* (counts by class and node) lean, clearest first."""
        rated = sorted(
            ((value / self.instance.classes[k].count, -self.gain(k, i), -k, -i), k, i, value)
            for (k, i), value in shares.items()
            if value > 1e-6
        )
        while rated and number > 0:
            _, k, i, value = rated.pop()
            wanted = min(self.open(k), max(1, round(value)) - self.fixed[k][i])
            if wanted > 0 and self.slowed(k, i) <= self.ceiling and self.fits(k, i):
                self.fix(k, i, wanted)
                number -= wanted

    def finish(self) -> None:
        """Put what is left where it brings the fewest bytes, on nodes below the average first."""
        nodes = range(self.instance.num_nodes)
        for k in sorted(range(len(self.fixed)), key=lambda k: (-sum(self.instance.work[k]), k)):
            while self.open(k):

                def rank(i: int, k: int = k) -> tuple[int, ...]:
                    load = self.slowed(k, i)
                    misfit = not self.able(k, i), not self.fits(k, i)
                    return *misfit, load > self.ceiling, self.gain(k, i), load, i

                self.fix(k, min(nodes, key=rank), 1)

    def assign(self) -> list[int]:
        """Node of every task."""
        where = [0] * len(self.instance.problem.tasks)
        for group, row in zip(self.instance.classes, self.fixed, strict=True):
            tasks = iter(group.tasks)
            for node, number in enumerate(row):
                for _ in range(number):
                    where[next(tasks)] = node
        return where
