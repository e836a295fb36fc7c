"""A slow, exact reference of the timeline simulator, on Fractions, sharing no code with it.

Written from the rules in plain sets and dictionaries; every quantity is recomputed from scratch
whenever it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ioopt.units import exact


@dataclass
class Entry:
    """A queue entry: a task, or the copy of a file."""

    name: str
    inputs: tuple[str, ...]
    length: Fraction
    is_task: bool
    round: int = 0
    begun: Fraction | None = None
    ended: Fraction | None = None


@dataclass
class Transfer:
    file: str
    source: str | None
    target: str
    left: Fraction
    start: Fraction
    end: Fraction | None = None


@dataclass
class Node:
    name: str
    disk: int | None
    queue: list[Entry]
    complete: set[str]
    last_use: dict[str, Fraction] = field(default_factory=dict)
    running: Entry | None = None
    incoming: Transfer | None = None

    def unstarted(self) -> list[Entry]:
        return [entry for entry in self.queue if entry.begun is None]


class Reference:
    """One replay; ``run`` returns (tasks, transfers, evictions, makespan), times exact."""

    def __init__(self, instance: dict[str, Any], plan: dict[str, Any], link: str) -> None:
        self.size = {row["id"]: row["bytes"] for row in instance["files"]}
        self.storage = {row["id"]: row.get("storage") for row in instance["files"]}
        self.disk_rate = {
            r["id"]: exact(r["bytes_per_second"]) for r in instance.get("storages", [])
        }
        self.remote = exact(instance["network"]["remote_bytes_per_second"])
        self.nic = exact(instance["network"]["replica_bytes_per_second"])
        self.link, self.policy = link, plan["eviction"]
        tasks = {row["id"]: row for row in instance["tasks"]}
        rounds = plan.get("rounds") if plan.get("barriers") else None
        self.drops = [row.get("evicted", []) for row in rounds or []]
        self.nodes = []
        for row in instance["nodes"]:
            speed, queue, now = exact(row.get("speed", 1)), [], 0
            for item in plan["order"].get(row["id"], []):
                if isinstance(item, dict):
                    queue.append(Entry("", (item["copy"],), Fraction(0), False, now))
                    continue
                if rounds:
                    now = next(r for r, part in enumerate(rounds) if item in part["tasks"])
                length = exact(tasks[item]["compute_seconds"]) / speed
                queue.append(Entry(item, tuple(tasks[item]["inputs"]), length, True, now))
            held = set(row.get("holds", []))
            self.nodes.append(Node(row["id"], row.get("disk_bytes"), queue, held))
        self.by_name = {node.name: node for node in self.nodes}
        self.index = {name: k for k, name in enumerate(self.size)}
        self.now = Fraction(0)
        self.round = -1
        self.transfers: list[Transfer] = []
        self.evictions: list[tuple[str, str, Fraction]] = []

    def open_rounds(self) -> None:
        while self.round + 1 < max(1, len(self.drops)) and not any(
            entry.ended is None
            for node in self.nodes
            for entry in node.queue
            if entry.round <= self.round
        ):
            self.round += 1
            for file, where in self.drops[self.round] if self.drops else []:
                if file in self.by_name[where].complete:
                    self.drop(self.by_name[where], file)

    def drop(self, node: Node, file: str) -> None:
        node.complete.discard(file)
        self.evictions.append((file, node.name, self.now))

    def staged(self, node: Node) -> Entry | None:
        waiting = node.unstarted()
        return waiting[0] if waiting and waiting[0].round <= self.round else None

    def pinned(self, node: Node) -> set[str]:
        pins = {t.file for t in self.flying() if t.source == node.name}
        for entry in (node.running, self.staged(node)):
            pins |= set(entry.inputs) if entry else set()
        return pins

    def flying(self) -> list[Transfer]:
        return [node.incoming for node in self.nodes if node.incoming]

    def used(self, node: Node) -> int:
        incoming = self.size[node.incoming.file] if node.incoming else 0
        return sum(self.size[f] for f in node.complete) + incoming

    def key(self, node: Node, file: str) -> Any:
        holders = [other for other in self.nodes if file in other.complete]
        if self.policy == "popularity":
            readers = [
                entry
                for other in self.nodes
                for entry in other.queue
                if entry.is_task and entry.ended is None and file in entry.inputs
            ]
            return (Fraction(len(readers) * self.size[file], len(holders)), self.index[file])
        if self.policy == "lru":
            return (node.last_use.get(file, Fraction(-1)), self.index[file])
        places = {
            other.name: [p for p, e in enumerate(other.unstarted()) if file in e.inputs]
            for other in self.nodes
        }
        if not any(places.values()):
            return (0, 0, self.index[file])
        own = places[node.name]
        distance = min(own) if own else min(min(p) for p in places.values() if p)
        group = (2 if own else 1) if len(holders) > 1 else 3
        return (group, -distance, self.index[file])

    def make_room(self, node: Node, size: int) -> bool:
        if node.disk is None or self.used(node) + size <= node.disk:
            return True
        victims = []
        for file in node.complete - self.pinned(node):
            wanted = [
                other.name
                for other in self.nodes
                for entry in other.unstarted()
                if file in entry.inputs
            ]
            copied = any(file in other.complete for other in self.nodes if other is not node)
            allowed = not wanted or (copied and node.name not in wanted)
            if node.running is None or allowed:
                victims.append(file)
        free = node.disk - self.used(node) + sum(self.size[f] for f in victims)
        if free < size:
            return False
        for file in sorted(victims, key=lambda f: self.key(node, f)):
            if self.used(node) + size <= node.disk:
                break
            self.drop(node, file)
        return True

    def begin_task(self, node: Node) -> bool:
        entry = self.staged(node)
        if node.running or entry is None or not set(entry.inputs) <= node.complete:
            return False
        entry.begun, node.running = self.now, entry
        return True

    def begin_transfer(self, node: Node) -> bool:
        entry = self.staged(node)
        if node.incoming or entry is None:
            return False
        for file in entry.inputs:
            if file in node.complete:
                continue
            holders = [other.name for other in self.nodes if file in other.complete]
            if not holders and any(t.file == file for t in self.flying()):
                continue
            if not self.make_room(node, self.size[file]):
                continue
            source = holders[0] if holders else None
            transfer = Transfer(file, source, node.name, Fraction(self.size[file]), self.now)
            node.incoming = transfer
            self.transfers.append(transfer)
            return True
        return False

    def rates(self) -> dict[int, Fraction]:
        flows = {id(t): self.resources(t) for t in self.flying() if t.left > 0}
        capacity: dict[Any, Fraction] = {}
        for resources in flows.values():
            for resource in resources:
                kind = resource[0]
                capacity[resource] = (
                    self.nic if kind == "nic"
                    else self.remote if kind == "link"
                    else self.disk_rate[resource[1]]
                )  # fmt: skip
        out: dict[int, Fraction] = {}
        while len(out) < len(flows):
            shares = {
                resource: left / n
                for resource, left in capacity.items()
                if (n := sum(resource in flows[j] for j in flows if j not in out))
            }
            share = min(shares.values())
            tight = {resource for resource, value in shares.items() if value == share}
            for j, resources in flows.items():
                if j not in out and tight & set(resources):
                    out[j] = share
                    for resource in resources:
                        capacity[resource] -= share
        return out

    def resources(self, transfer: Transfer) -> list[tuple[str, str]]:
        if transfer.source is not None:
            return [("nic", transfer.target), ("nic", transfer.source)]
        storage = self.storage[transfer.file]
        link = ("link", "" if self.link == "shared" else transfer.target)
        return [("nic", transfer.target), link, *([("storage", storage)] if storage else [])]

    def complete_all(self) -> bool:
        any_done = False
        for node in self.nodes:
            entry = node.running
            if entry and entry.begun is not None and entry.begun + entry.length <= self.now:
                entry.ended, node.running, any_done = self.now, None, True
                for file in entry.inputs:
                    node.last_use[file] = self.now
            transfer = node.incoming
            if transfer and transfer.left <= 0:
                transfer.end, node.incoming, any_done = self.now, None, True
                node.complete.add(transfer.file)
                node.last_use[transfer.file] = self.now
        return any_done

    def settle(self) -> None:
        while True:
            self.open_rounds()
            changed = True
            while changed:
                turns = [(self.begin_task(node), self.begin_transfer(node)) for node in self.nodes]
                changed = any(map(any, turns))
            if not self.complete_all():
                return

    def run(self) -> tuple[dict[str, Any], list[Transfer], list[Any], Fraction]:
        self.settle()
        while any(entry.ended is None for node in self.nodes for entry in node.queue):
            rates = self.rates()
            ends = [t.left / rates[id(t)] for t in self.flying()]
            ends += [
                node.running.begun + node.running.length - self.now
                for node in self.nodes
                if node.running and node.running.begun is not None
            ]
            step = min(ends)
            for transfer in self.flying():
                transfer.left -= rates[id(transfer)] * step
            self.now += step
            self.complete_all()
            self.settle()
        entries = [entry for node in self.nodes for entry in node.queue]
        tasks = {entry.name: (entry.begun, entry.ended) for entry in entries if entry.is_task}
        last = max((entry.ended or Fraction(0) for entry in entries), default=Fraction(0))
        return tasks, self.transfers, self.evictions, last
