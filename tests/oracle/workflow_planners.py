"""HEFT, b-level and ready-min-min for workflows, slow and exact, from the rules W14 to
W17 alone.

The code shares nothing with the solvers. It reads the instance as plain data, computes
with fractions, and considers every pair of a task and a node anew.
"""

from fractions import Fraction
from typing import Any

Planned = dict[str, tuple[Fraction, Fraction]]


class Oracle:
    def __init__(self, instance: dict[str, Any]) -> None:
        self.size = {file["id"]: file["bytes"] for file in instance["files"]}
        self.index = {name: at for at, name in enumerate(self.size)}
        self.tasks = {task["id"]: task for task in instance["tasks"]}
        self.nodes = {node["id"]: node for node in instance["nodes"]}
        net = instance["network"]
        self.far = 1 / Fraction(str(net["remote_bytes_per_second"]))
        self.near = 1 / Fraction(str(net["replica_bytes_per_second"]))
        self.shared = instance.get("products") == "shared"
        self.keeps_made = instance.get("cache", "made-and-read") == "made-and-read"
        self.byte = max(self.far, self.near)
        self.has = {
            name: set(node.get("holds", ())) for name, node in self.nodes.items()
        }
        self.done: list[tuple[str, str]] = []  # (task, node) in the order of commitment
        self.times: Planned = {}
        self.free = {
            name: [Fraction(0)] * self.cores(node) for name, node in self.nodes.items()
        }
        self.evicted: list[tuple[str, str]] = []

    def cores(self, item: dict[str, Any]) -> int:
        return int(item.get("cores", 1))

    def reads(self, task: str) -> list[str]:
        return list(self.tasks[task].get("inputs", ()))

    def writes(self, task: str) -> list[str]:
        return list(self.tasks[task].get("outputs", ()))

    def before(self, task: str) -> list[str]:
        return [p for p in self.tasks if set(self.writes(p)) & set(self.reads(task))]

    def speed(self, node: str) -> Fraction:
        return Fraction(str(self.nodes[node].get("speed", 1)))

    def overhead(self, task: str) -> Fraction:
        return Fraction(str(self.tasks[task].get("overhead_seconds", 0)))

    def memory(self, task: str) -> int:
        return int(self.tasks[task].get("memory_bytes", 0))

    def work(self, task: str, node: str) -> Fraction:
        computing = Fraction(str(self.tasks[task]["compute_seconds"]))
        seconds = self.overhead(task) + computing / self.speed(node)
        if self.shared:
            lacks = [f for f in self.reads(task) if f not in self.has[node]]
            moved = sum(self.size[f] for f in [*lacks, *self.writes(task)])
            seconds += moved * self.byte
        return seconds

    def fits(self, task: str, node: str) -> bool:
        row, disk = self.tasks[task], self.nodes[node].get("disk_bytes")
        limit = self.nodes[node].get("memory_bytes")
        if limit is not None and self.memory(task) > limit:
            return False
        need = sum(self.size[f] for f in self.reads(task) + self.writes(task))
        return self.cores(row) <= self.cores(self.nodes[node]) and (
            disk is None or need <= disk or self.shared
        )

    def cost(self, task: str, node: str) -> Fraction:
        total = Fraction(0)
        if self.shared:
            return total
        for f in self.reads(task):
            if f not in self.has[node]:
                somewhere = any(f in held for held in self.has.values())
                total += self.size[f] * (self.near if somewhere else self.far)
        return total

    def base(self, task: str) -> Fraction:
        ends = [self.times[p][1] for p in self.before(task)]
        return max([Fraction(str(self.tasks[task].get("release_seconds", 0))), *ends])

    def open(self) -> list[str]:
        return [
            t
            for t in self.tasks
            if t not in self.times and all(p in self.times for p in self.before(t))
        ]

    def rank(self, task: str, near: Fraction) -> Fraction:
        mean = sum((1 / self.speed(n) for n in self.nodes), Fraction(0)) / len(
            self.nodes
        )
        tails = [Fraction(0)]
        for j in self.tasks:
            if task in self.before(j):
                moved = sum(
                    self.size[f] for f in set(self.writes(task)) & set(self.reads(j))
                )
                tails.append(near * moved + self.rank(j, near))
        computing = Fraction(str(self.tasks[task]["compute_seconds"]))
        own = self.overhead(task) + computing * mean + max(tails)
        if self.shared:
            own += sum(self.size[f] for f in self.writes(task)) * self.byte
        return own

    def kept(self, task: str) -> list[str]:
        """The files that are on the node of *task* once it is committed."""
        if self.shared and not self.keeps_made:
            return self.reads(task)
        return self.reads(task) + self.writes(task)

    # The start of a task on a node.

    def gap(self, task: str, node: str) -> Fraction:
        at, length = self.base(task) + self.cost(task, node), self.work(task, node)
        mine = [
            (self.times[t], self.cores(self.tasks[t]))
            for t, n in self.done
            if n == node
        ]
        held = [(self.times[t], self.memory(t)) for t, n in self.done if n == node]
        spare = self.nodes[node].get("memory_bytes")
        limit = self.cores(self.nodes[node]) - self.cores(self.tasks[task])

        def used(u: Fraction) -> int:
            return sum(count for (start, end), count in mine if start <= u < end)

        def has_memory(u: Fraction) -> bool:
            now = sum(size for (start, end), size in held if start <= u < end)
            return spare is None or now + self.memory(task) <= spare

        for s in sorted([at, *(end for (_, end), _ in mine if end > at)]):
            looks = [s, *(start for (start, _), _ in mine if s < start < s + length)]
            if all(used(u) <= limit and has_memory(u) for u in looks):
                return s
        raise AssertionError("after the last end every core is free")

    def behind(self, task: str, node: str) -> Fraction:
        free = sorted(self.free[node])[self.cores(self.tasks[task]) - 1]
        start = max(self.base(task) + self.cost(task, node), free)
        return max(start, self.memory_time(task, node))

    def memory_time(self, task: str, node: str) -> Fraction:
        limit = self.nodes[node].get("memory_bytes")
        if limit is None:
            return Fraction(0)
        ends = [(self.times[t][1], self.memory(t)) for t, n in self.done if n == node]
        for u in sorted([Fraction(0), *(end for end, _ in ends)]):
            if sum(size for end, size in ends if end > u) + self.memory(task) <= limit:
                return u
        raise AssertionError("after the last end all memory is free")

    def commit(self, task: str, node: str, start: Fraction, end: Fraction) -> None:
        self.times[task] = (start, end)
        self.done.append((task, node))
        busy = sorted(self.free[node])
        count = self.cores(self.tasks[task])
        self.free[node] = [end] * count + busy[count:]

    def queues(self, by_start: bool) -> dict[str, list[str]]:
        rows = [
            (self.times[t][0] if by_start else 0, at, t, n)
            for at, (t, n) in enumerate(self.done)
        ]
        return {
            name: [t for _, _, t, n in sorted(rows) if n == name] for name in self.nodes
        }


def by_rank(
    instance: dict[str, Any], planner: str
) -> tuple[dict[str, list[str]], Planned]:
    """Return the queues and the planned times of ``heft`` or ``b-level``."""
    o = Oracle(instance)
    near = o.near if planner == "heft" else Fraction(0)
    if planner == "heft" and o.shared:
        near = o.byte
    rank = {t: o.rank(t, near) for t in o.tasks}
    place = {t: at for at, t in enumerate(o.tasks)}
    while ready := o.open():
        task = min(ready, key=lambda t: (-rank[t], place[t]))
        found = []
        for at, node in enumerate(o.nodes):
            if o.fits(task, node):
                start = (o.gap if planner == "heft" else o.behind)(task, node)
                found.append((start + o.work(task, node), at, start, node))
        end, _, start, node = min(found)
        o.commit(task, node, start, end)
        o.has[node].update(o.kept(task))
    return o.queues(True), o.times


def ready_min_min(
    instance: dict[str, Any],
) -> tuple[dict[str, list[str]], dict[str, Fraction], list[tuple[str, str]]]:
    """Return the queues, the last planned end on each node, and the evictions (file,
    node).
    """
    o = Oracle(instance)
    while ready := o.open():
        found = []
        for k, task in enumerate(o.tasks):
            for i, node in enumerate(o.nodes):
                if task in ready and o.fits(task, node):
                    free = sorted(o.free[node])[o.cores(o.tasks[task]) - 1]
                    end = (
                        max(free, o.base(task), o.memory_time(task, node))
                        + o.cost(task, node)
                        + o.work(task, node)
                    )
                    found.append((end, k, i, task, node))
        end, _, _, task, node = min(found)
        o.commit(task, node, end, end)
        own = o.kept(task)
        for f in own:
            if f in o.has[node]:
                continue
            disk = None if o.shared else o.nodes[node].get("disk_bytes")
            while (
                disk is not None
                and sum(o.size[g] for g in o.has[node]) + o.size[f] > disk
            ):

                def popularity(g: str) -> tuple[Fraction, int]:
                    wanted = sum(g in o.reads(t) for t in o.tasks if t not in o.times)
                    copies = sum(g in held for held in o.has.values())
                    return Fraction(wanted * o.size[g], copies), o.index[g]

                victim = min(o.has[node] - set(own), key=popularity)
                o.has[node].remove(victim)
                o.evicted.append((victim, node))
            o.has[node].add(f)
    return o.queues(False), {n: max(free) for n, free in o.free.items()}, o.evicted


def compare(seed: int, needs: bool = False, shared: bool = False) -> int:
    """Compare the three planners with the oracle on one random workflow, whose tasks
    may have overheads and take memory (*needs*), or whose files are all on *shared*
    storage.

    Return the number of planned evictions.
    """
    import random

    from random_workflows import random_workflow
    from workflow_timeline import give_needs

    import ioopt
    from ioopt.solvers.replication.greedy.list_scheduler import (
        B_LEVEL,
        HEFT,
        MIN_MIN,
        ListScheduler,
    )

    instance = random_workflow(seed)
    if needs:
        give_needs(random.Random(seed), instance)
    if shared:
        instance["products"] = "shared"
        instance["cache"] = random.Random(seed).choice(["read", "made-and-read"])
    problem = ioopt.load(instance)
    for name, components in (("heft", HEFT), ("b-level", B_LEVEL)):
        queues, times = by_rank(instance, name)
        plan = ListScheduler(problem, components).run()
        second = plan.ticks.second
        got = {
            task.id: (Fraction(plan.start[k], second), Fraction(plan.end[k], second))
            for k, task in enumerate(problem.tasks)
        }
        assert got == times, (seed, name)
        assert named(plan) == queues, (seed, name)
    wanted, ready, evicted = ready_min_min(instance)
    plan = ListScheduler(problem, MIN_MIN).run()
    assert last_ends(plan) == list(ready.values()), seed
    assert named(plan) == wanted, seed
    return len(evicted)


def named(plan: Any) -> dict[str, list[str]]:
    """Return the queues of a list scheduler by the names of nodes and tasks."""
    problem = plan.problem
    tasks = [[problem.tasks[k].id for k in queue] for queue in plan.queues()]
    return {node.id: queue for node, queue in zip(problem.nodes, tasks, strict=True)}


def last_ends(plan: Any) -> list[Fraction]:
    """Return, for each node, the last planned end."""
    ends = [0] * len(plan.problem.nodes)
    for k, i in plan.order:
        ends[i] = max(ends[i], plan.end[k])
    return [Fraction(end, plan.ticks.second) for end in ends]
