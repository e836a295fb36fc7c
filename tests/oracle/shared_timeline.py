"""A slow, exact simulator of workflows on shared storage, on Fractions; the tested
simulator shares no code with it (workflow rules 26 to 29).
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from workflow_timeline import (
    FAR,
    NEVER,
    Entry,
    Move,
    Node,
    Run,
    case_with_options,
    give_needs,
    random_order,
)

Step = tuple[str, str]
"""What a task does next ("overhead", "read", "compute" or "write"), and the file."""


class SharedRun(Run):
    """One replay of an order, or one run of a dispatcher, on shared storage."""

    def __init__(self, instance: dict[str, Any], *given: Any, **named: Any) -> None:
        super().__init__(instance, *given, **named)
        self.caches_made = instance.get("cache", "made-and-read") == "made-and-read"
        self.keep = set()
        self.at: dict[int, int] = {}
        self.due: dict[int, Fraction] = {}
        self.flow: dict[int, Move] = {}
        self.work: dict[int, Fraction] = {}
        self.cached = 0

    def steps(self, entry: Entry) -> list[Step]:
        reads = [("read", file) for file in entry.inputs]
        writes = [("write", file) for file in entry.outputs]
        return [("overhead", ""), *reads, ("compute", ""), *writes]

    def running(self, node: Node) -> list[Entry]:
        return node.computing()

    # the start of tasks, and their steps

    def turn(self, node: Node) -> bool:
        head = self.head(node)
        if head is None or not node.idles_for(head):
            return False
        if any(file in self.maker and file not in self.made for file in head.inputs):
            return False
        self.work[id(head)] = self.work_of(head, node)
        self.start(node, head)
        self.at[id(head)] = 0
        self.begin(head)
        return True

    def begin(self, entry: Entry) -> None:
        """Begin the step of *entry* that comes next, past what takes no round."""
        node = entry.node
        assert node is not None
        while True:
            what, file = self.steps(entry)[self.at[id(entry)]]
            if what == "read" and file in node.complete:
                node.last_use[file] = self.now
                self.cached += self.size[file]
            elif what != "overhead" or entry.overhead > 0:
                break
            self.at[id(entry)] += 1
        if what == "overhead":
            self.due[id(entry)] = self.now + entry.overhead
        elif what == "compute":
            self.due[id(entry)] = self.now + entry.actual / node.speed
        else:
            ends = (None, node.name) if what == "read" else (node.name, None)
            move = Move(file, *ends, Fraction(self.size[file]), self.now)
            self.flow[id(entry)] = move
            self.moves.append(move)

    def step_is_over(self, entry: Entry) -> bool:
        move = self.flow.get(id(entry))
        if move is None:
            return self.due[id(entry)] <= self.now
        return move.left <= 0 and self.is_open(move)

    def completions(self) -> bool:
        going_on = []
        ended = False
        for node in self.nodes:
            for entry in [e for e in self.running(node) if self.step_is_over(e)]:
                ended = True
                move = self.flow.pop(id(entry), None)
                if move is not None:
                    move.end = self.now
                    if move.source is None or self.caches_made:
                        self.enter(node, move.file)
                if self.at[id(entry)] + 1 < len(self.steps(entry)):
                    going_on.append(entry)
                    continue
                entry.ended = self.now
                for file in entry.outputs:
                    self.made[file] = self.now
                for c, task in enumerate(node.busy):
                    if task is entry:
                        node.busy[c], node.idle_since[c] = None, self.now
        for entry in going_on:
            self.at[id(entry)] += 1
            self.begin(entry)
        return ended

    # caches

    def enter(self, node: Node, file: str) -> None:
        if file not in node.complete:
            left = sorted(
                [*node.complete, file], key=lambda f: self.order_of(node, f, file)
            )
            used = sum(self.size[f] for f in left)
            out = []
            while node.disk is not None and used > node.disk:
                out.append(left.pop(0))
                used -= self.size[out[-1]]
            if file in out:
                return
            for victim in out:
                node.complete.discard(victim)
                self.gone.append((victim, node.name, self.now))
            node.complete.add(file)
        node.last_use[file] = self.now

    def order_of(self, node: Node, file: str, entering: str) -> Any:
        if self.eviction == "lru":
            last = node.last_use.get(file, Fraction(-1))
            return (self.now if file == entering else last, self.index[file])
        if self.eviction == "popularity":
            readers = [t for t in self.tasks if t.ended is None and file in t.inputs]
            copies = len(self.holders(file)) + (file == entering)
            return (Fraction(len(readers) * self.size[file], copies), self.index[file])
        return (-self.next_use(node, file), self.index[file])

    def next_use(self, node: Node, file: str) -> int:
        for entry in self.running(node):
            # Up to its present step, or the one that is over now, turns have come.
            if ("read", file) in self.steps(entry)[self.at[id(entry)] + 1 :]:
                return -1
        places = [p for p, e in enumerate(node.waiting()) if file in e.inputs]
        if places:
            return places[0]
        unassigned = [
            t
            for t in self.tasks
            if t.node is None and t.begun is None and file in t.inputs
        ]
        return FAR if unassigned else NEVER

    # time

    def run(self) -> Fraction:
        self.settle()
        while not self.over():
            if self.completions():
                self.round += 1
                self.settle()
                continue
            rates = self.rates()
            times = []
            for entry in [e for node in self.nodes for e in self.running(node)]:
                move = self.flow.get(id(entry))
                if move is None:
                    times.append(self.due[id(entry)] - self.now)
                elif self.is_open(move):
                    times.append(move.left / rates[id(move)])
                else:
                    times.append(move.start + self.latency - self.now)
            times += [t.release - self.now for t in self.tasks if t.release > self.now]
            step = min(times)
            for move in self.moving():
                move.left -= step * rates.get(id(move), 0)
            self.now += step
            self.round = 0
            self.completions()
            self.settle()
        ends = [entry.ended for entry in self.tasks + self.copies]
        return max((end for end in ends if end is not None), default=Fraction(0))

    # policies

    def fits(self, task: Entry, node: Node) -> bool:
        if node.memory is not None and task.memory > node.memory:
            return False
        return task.cores <= len(node.busy)

    def work_of(self, task: Entry, node: Node) -> Fraction:
        byte = max(1 / self.remote, 1 / self.nic)
        lacks = [f for f in task.inputs if f not in node.complete]
        moved = sum(self.size[f] for f in [*lacks, *task.outputs])
        return task.overhead + moved * byte + task.planned / node.speed

    def planned_end(self, task: Entry, node: Node) -> Fraction:
        assert task.begun is not None
        return max(self.now, task.begun + self.work[id(task)])

    def expected(self, task: Entry, node: Node) -> Fraction:
        start = max(self.now, self.core_time(task, node))
        return start + self.work_of(task, node)


def shared_case(seed: int) -> dict[str, Any]:
    """Return a random workflow on shared storage, with caches of all sizes."""
    case = case_with_options(seed)
    rng = random.Random(f"shared {seed}")
    instance = case["instance"]
    instance["products"] = "shared"
    if rng.random() < 0.7:
        instance["cache"] = rng.choice(["read", "read", "made-and-read"])
    if rng.random() < 0.6:
        give_needs(rng, instance)
    size = {row["id"]: row["bytes"] for row in instance["files"]}
    for node in instance["nodes"]:
        held = sum(size[name] for name in node["holds"])
        room = rng.choice([None, 0, 10, 20, 30, 50, 80])
        node["disk_bytes"] = None if room is None else room + held
    if "order" in case:
        case["order"] = random_order(rng, instance)
    return case
