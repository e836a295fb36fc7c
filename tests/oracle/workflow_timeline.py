"""A slow, exact simulator of workflows on Fractions; the tested simulator shares no
code with it.

It is written from the rules of workflows (docs/rules/workflow.md) with plain sets and
lists. It stores no value that can be computed again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

FAR, NEVER = 10**9, 10**12


def number(value: Any) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


@dataclass
class Entry:
    name: str
    inputs: list[str]
    outputs: list[str]
    cores: int
    release: Fraction
    planned: Fraction
    actual: Fraction
    is_task: bool = True
    overhead: Fraction = Fraction(0)
    memory: int = 0
    to_disk: Fraction = Fraction(0)
    part: int = 0
    node: Node | None = None
    begun: Fraction | None = None
    ended: Fraction | None = None


@dataclass
class Move:
    file: str
    source: str | None
    target: str | None
    left: Fraction
    start: Fraction
    end: Fraction | None = None


@dataclass
class Node:
    name: str
    disk: int | None
    speed: Fraction
    complete: set[str]
    idle_since: list[Fraction]
    busy: list[Entry | None]
    queue: list[Entry] = field(default_factory=list)
    last_use: dict[str, Fraction] = field(default_factory=dict)
    incoming: list[Move] = field(default_factory=list)
    saving: Move | None = None
    staging: int = 1
    memory: int | None = None

    def waiting(self) -> list[Entry]:
        return [entry for entry in self.queue if entry.begun is None]

    def computing(self) -> list[Entry]:
        return [e for e in self.queue if e.begun is not None and e.ended is None]

    def idle(self) -> int:
        return self.busy.count(None)

    def idles_for(self, entry: Entry) -> bool:
        """Return whether cores and memory idle for *entry*."""
        held = sum(other.memory for other in self.computing())
        spare = self.memory is None or held + entry.memory <= self.memory
        return spare and self.idle() >= entry.cores


class Run:
    """One replay of an order, or one run of the dispatcher called *policy*."""

    def __init__(
        self,
        instance: dict[str, Any],
        link: str,
        eviction: str,
        order: dict[str, Any] | None = None,
        policy: str | None = None,
        prefetch: bool = False,
        actual: dict[str, float] | None = None,
        options: dict[str, Any] | None = None,
        rounds: Sequence[dict[str, Any]] = (),
        latency: float = 0.0,
        weight: Callable[[int, int], float] = lambda file, receiver: 1.0,
    ) -> None:
        self.latency = number(latency)
        self.weight = weight
        self.size = {row["id"]: row["bytes"] for row in instance["files"]}
        self.index = {name: k for k, name in enumerate(self.size)}
        self.storage = {row["id"]: row.get("storage") for row in instance["files"]}
        self.disks = {
            r["id"]: number(r["bytes_per_second"]) for r in instance.get("storages", [])
        }
        network = instance["network"]
        self.remote = number(network["remote_bytes_per_second"])
        self.nic = number(network["replica_bytes_per_second"])
        self.link, self.eviction, self.policy, self.prefetch = (
            link,
            eviction,
            policy,
            prefetch,
        )
        actual = actual or {}
        self.options = options or {}
        self.tasks = [
            Entry(
                row["id"],
                row.get("inputs", []),
                row.get("outputs", []),
                row.get("cores", 1),
                number(row.get("release_seconds", 0)),
                number(row["compute_seconds"]),
                number(actual.get(row["id"], row["compute_seconds"])),
                overhead=number(row.get("overhead_seconds", 0)),
                memory=row.get("memory_bytes", 0),
            )
            for row in instance["tasks"]
        ]
        self.maker = {name: task for task in self.tasks for name in task.outputs}
        flagged = {row["id"] for row in instance["files"] if row.get("keep")}
        self.keep = flagged & set(self.maker)
        self.saved: set[str] = set()
        self.made: dict[str, Fraction] = {}
        self.nodes = [
            Node(
                row["id"],
                row.get("disk_bytes"),
                number(row.get("speed", 1)),
                set(row.get("holds", [])),
                [Fraction(0)] * row.get("cores", 1),
                [None] * row.get("cores", 1),
                staging=row.get("staging", 1),
                memory=row.get("memory_bytes"),
            )
            for row in instance["nodes"]
        ]
        self.copies: list[Entry] = []
        by_name = {task.name: task for task in self.tasks}
        self.drops = [row["evicted"] for row in rounds]
        parts = {name: k for k, row in enumerate(rounds) for name in row["tasks"]}
        for node in self.nodes:
            part = 0
            for item in (order or {}).get(node.name, []):
                entry = (
                    by_name[item]
                    if isinstance(item, str)
                    else self.copy_entry(item["copy"])
                )
                node.queue.append(entry)
                entry.node = node
                entry.part = part = parts.get(entry.name, part)
        self.cleared: set[int] = set()
        self.rate = {
            row["id"]: min(self.nic, number(row.get("disk_bytes_per_second", self.nic)))
            for row in instance["nodes"]
        }
        self.own_disk = {
            row["id"]: number(row["disk_bytes_per_second"])
            for row in instance["nodes"]
            if instance.get("task_disk") and row.get("disk_bytes_per_second")
        }
        self.part = -1 if rounds else 0
        self.now, self.round = Fraction(0), 0
        self.moves: list[Move] = []
        self.gone: list[tuple[str, str, Fraction]] = []
        self.given: list[tuple[Fraction, int, str, str]] = []

    def copy_entry(self, file: str) -> Entry:
        release = min(
            (t.release for t in self.tasks if file in t.inputs), default=Fraction(0)
        )
        entry = Entry(
            f"copy {file}", [file], [], 1, release, Fraction(0), Fraction(0), False
        )
        self.copies.append(entry)
        return entry

    # the present state

    def holders(self, file: str) -> list[Node]:
        return [node for node in self.nodes if file in node.complete]

    def on_remote(self, file: str) -> bool:
        return file not in self.maker or file in self.saved

    def unread(self, file: str) -> list[Entry]:
        return [
            e for e in self.tasks + self.copies if e.begun is None and file in e.inputs
        ]

    def head(self, node: Node) -> Entry | None:
        waiting = [entry for entry in node.waiting()[:1] if entry.part <= self.part]
        if waiting and self.is_closed(node, waiting[0]):
            return None
        return waiting[0] if waiting and waiting[0].release <= self.now else None

    def is_closed(self, node: Node, entry: Entry) -> bool:
        """Return whether *entry* must wait because *node* cannot yet make room before
        it.

        A node that still computes cannot make this room.
        """
        wanted = self.options.get("room", "missing")
        if id(entry) in self.cleared or wanted == "missing":
            return False
        if node.disk is None or entry in [*self.copies, node.queue[0]]:
            self.cleared.add(id(entry))
            return False
        left = [
            sum(self.size[f] for f in e.inputs)
            for e in node.waiting()
            if e in self.tasks
        ]
        room = {
            "next": left[0],
            "largest": max(left),
            "mean": -(-sum(left) // len(left)),
        }[wanted]
        if room and node.computing():
            return True
        for file in sorted(
            node.complete - self.pinned(node), key=lambda f: self.key(node, f, False)
        ):
            if self.used(node) + room > node.disk:
                node.complete.discard(file)
                self.gone.append((file, node.name, self.now))
        self.cleared.add(id(entry))
        return False

    def used(self, node: Node) -> int:
        arriving = self.arriving(node)
        written = [file for entry in node.computing() for file in entry.outputs]
        return sum(self.size[f] for f in [*node.complete, *arriving, *written])

    def arriving(self, node: Node) -> list[str]:
        return [m.file for m in self.moving() if m.target == node.name]

    def lacks(self, node: Node, entries: list[Entry]) -> int:
        there = node.complete.union(
            self.arriving(node), *(e.outputs for e in node.computing())
        )
        wanted = [f for e in entries for f in [*(set(e.inputs) - there), *e.outputs]]
        return sum(self.size[f] for f in wanted)

    def pinned(self, node: Node) -> set[str]:
        pins = {m.file for m in self.moving() if m.source == node.name}
        for entry in [*node.computing(), *node.waiting()[:1]]:
            if (
                "room" in self.options
                and entry.begun is None
                and id(entry) not in self.cleared
            ):
                continue
            pins |= set(entry.inputs) if entry.part <= self.part else set()
        return pins

    def moving(self) -> list[Move]:
        return [m for m in self.moves if m.end is None]

    def at_risk(self, file: str) -> bool:
        unsaved = file in self.maker and file not in self.saved
        wanted = bool(self.unread(file)) or file in self.keep
        return unsaved and len(self.holders(file)) == 1 and wanted

    def distance(self, node: Node, file: str) -> int:
        if not self.unread(file):
            return NEVER
        places = {
            other.name: [p for p, e in enumerate(other.waiting()) if file in e.inputs]
            for other in self.nodes
        }
        if places[node.name]:
            return places[node.name][0]
        return min((p[0] for p in places.values() if p), default=FAR)

    def key(self, node: Node, file: str, risky: bool) -> Any:
        copies = len(self.holders(file))
        if self.eviction == "popularity":
            readers = [t for t in self.tasks if t.ended is None and file in t.inputs]
            return (Fraction(len(readers) * self.size[file], copies), self.index[file])
        if self.eviction == "lru":
            return (node.last_use.get(file, Fraction(-1)), self.index[file])
        far = -self.distance(node, file)
        if risky:
            return (far, self.index[file])
        if not self.unread(file):
            return (0, 0, self.index[file])
        own = any(file in entry.inputs for entry in node.waiting())
        return (3 if copies == 1 else 2 if own else 1, far, self.index[file])

    # one turn of a node

    def make_room(
        self, node: Node, size: int, aside: bool = False
    ) -> tuple[bool, str | None]:
        """Return whether *size* bytes fit now, and the file to be saved if one must be
        saved first.

        *aside*: the bytes are not for the first entry of the queue.
        """
        if node.disk is None or self.used(node) + size <= node.disk:
            return True, None
        own = {file for entry in node.waiting() for file in entry.inputs}
        allowed = []
        for file in node.complete - self.pinned(node):
            spare = len(self.holders(file)) > 1 and file not in own
            free = not aside and node.idles_for(node.waiting()[0])
            if free or not self.unread(file) or spare:
                allowed.append(file)
        safe = sorted(
            (f for f in allowed if not self.at_risk(f)),
            key=lambda f: self.key(node, f, False),
        )
        risky = sorted(
            (f for f in allowed if self.at_risk(f)),
            key=lambda f: self.key(node, f, True),
        )
        short = self.used(node) + size - node.disk
        taken = []
        for file in [*safe, *risky]:
            if short <= 0:
                break
            taken.append(file)
            short -= self.size[file]
        first = [file for file in taken if file in risky]
        if short > 0 or (aside and first):
            return False, None
        if first:
            return False, first[0]
        for file in taken:
            node.complete.discard(file)
            self.gone.append((file, node.name, self.now))
        return True, None

    def turn(self, node: Node) -> bool:
        acted, wanted = False, []
        head = self.head(node)
        if head and set(head.inputs) <= node.complete and node.idles_for(head):
            fits, request = self.make_room(
                node, sum(self.size[f] for f in head.outputs)
            )
            wanted += [request] if request else []
            if fits:
                self.start(node, head)
                acted = True
        head = self.head(node)
        if head and len(node.incoming) < node.staging:
            acted = self.stage(node, wanted) or acted
        if node.saving is None:
            kept = [
                file
                for file in sorted(
                    node.complete & set(self.made), key=self.index.__getitem__
                )
                if file in self.keep
                and file not in self.saved
                and not any(m.target is None and m.file == file for m in self.moves)
            ]
            kept.sort(key=self.made.__getitem__)
            for file in [*wanted, *kept][:1]:
                node.saving = Move(
                    file, node.name, None, Fraction(self.size[file]), self.now
                )
                self.moves.append(node.saving)
                acted = True
        return acted

    def stage(self, node: Node, wanted: list[str]) -> bool:
        for n, entry in enumerate(node.waiting()[: node.staging]):
            if entry.release > self.now:
                continue
            for file in entry.inputs:
                source = self.source(node, file)
                if source is None:
                    continue
                kept = self.lacks(node, node.waiting()[:n])
                fits, request = self.make_room(node, self.size[file] + kept, n > 0)
                wanted += [request] if request else []
                if fits:
                    origin = None if source == "" else source
                    move = Move(
                        file, origin, node.name, Fraction(self.size[file]), self.now
                    )
                    node.incoming.append(move)
                    self.moves.append(move)
                    return True
        return False

    def source(self, node: Node, file: str) -> str | None:
        """Return the node from which *file* can come, or "" for the remote storage.

        None if the file is on *node*, is arriving there, or cannot come now.
        """
        if file in node.complete or file in self.arriving(node):
            return None
        holders = self.holders(file)
        if holders and self.options.get("sources") == "least-loaded":
            return self.least_loaded(node, file, holders)
        if holders:
            return holders[0].name
        coming = any(m.file == file and m.target is not None for m in self.moving())
        return "" if self.on_remote(file) and not coming else None

    def least_loaded(self, node: Node, file: str, holders: list[Node]) -> str:
        busy: dict[tuple[str, str], int] = {}
        for move in self.moving():
            for resource in self.resources(move) if self.size[move.file] else []:
                busy[resource] = busy.get(resource, 0) + 1
        shares = [
            self.rate[h.name] / (busy.get(("nic", h.name), 0) + 1) for h in holders
        ]
        best = holders[shares.index(max(shares))]
        if self.on_remote(file):
            way = self.resources(Move(file, None, node.name, Fraction(0), self.now))
            far = min(
                self.capacity(r) / (busy.get(r, 0) + 1) for r in way if r[0] != "nic"
            )
            if far > max(shares):
                return ""
        return best.name

    def capacity(self, r: tuple[str, str]) -> Fraction:
        return {"nic": self.rate, "disk": self.disks}.get(r[0], {}).get(
            r[1], self.remote
        )

    def start(self, node: Node, entry: Entry) -> None:
        entry.begun = self.now
        if node.name in self.own_disk:
            files = [*entry.inputs, *entry.outputs]
            entry.to_disk = Fraction(sum(self.size[f] for f in files))
        cores = sorted(
            (c for c, task in enumerate(node.busy) if task is None),
            key=lambda c: (node.idle_since[c], c),
        )
        for c in cores[: entry.cores]:
            node.busy[c] = entry

    # time

    def resources(self, move: Move) -> list[tuple[str, str]]:
        if move.source is not None and move.target is not None:
            return [("nic", move.source), ("nic", move.target)]
        node = move.target or move.source or ""
        link = ("link", "" if self.link == "shared" else node)
        storage = self.storage[move.file]
        return [("nic", node), link, *([("disk", storage)] if storage else [])]

    def is_open(self, move: Move) -> bool:
        """Return whether the bytes of *move* may move: its latency is over."""
        return self.now >= move.start + self.latency

    def weight_of(self, move: Move) -> Fraction:
        """Return the weight of *move* in the sharing of rates."""
        names = [node.name for node in self.nodes]
        receiver = len(names) if move.target is None else names.index(move.target)
        return Fraction(self.weight(self.index[move.file], receiver))

    def rates(self) -> dict[int, Fraction]:
        open_moves = [m for m in self.moving() if m.left > 0 and self.is_open(m)]
        flows = {id(m): self.resources(m) for m in open_moves}
        weight = {id(m): self.weight_of(m) for m in open_moves}
        for way in flows.values():
            doors = [r for r in way if r[0] == "nic" and r[1] in self.own_disk]
            way += [("node disk", name) for _, name in doors]
        for node in self.nodes:
            for entry in node.computing():
                if entry.to_disk > 0 and self.has_begun_to_compute(entry):
                    flows[id(entry)] = [("node disk", node.name)]
                    weight[id(entry)] = Fraction(1)
        room = {r: self.rate_of(r) for used in flows.values() for r in used}
        found: dict[int, Fraction] = {}
        while len(found) < len(flows):
            count = {
                r: sum(weight[j] for j in flows if j not in found and r in flows[j])
                for r in room
            }
            share = min(room[r] / n for r, n in count.items() if n)
            tight = {r for r, n in count.items() if n and room[r] / n == share}
            for j in [j for j in flows if j not in found and tight & set(flows[j])]:
                found[j] = share * weight[j]
                for r in flows[j]:
                    room[r] -= found[j]
        return found

    def rate_of(self, r: tuple[str, str]) -> Fraction:
        """Return the rate of a resource, where the disks of nodes are resources of
        their own.
        """
        if r[0] == "node disk":
            return self.own_disk[r[1]]
        if r[0] == "nic" and r[1] in self.own_disk:
            return self.nic
        return self.capacity(r)

    def has_begun_to_compute(self, entry: Entry) -> bool:
        assert entry.begun is not None
        return self.now >= entry.begun + entry.overhead

    def length(self, entry: Entry) -> Fraction:
        assert entry.node is not None
        return entry.overhead + entry.actual / entry.node.speed

    def completions(self) -> bool:
        ended = False
        for node in self.nodes:
            for entry in node.computing():
                assert entry.begun is not None
                if entry.begun + self.length(entry) > self.now or entry.to_disk > 0:
                    continue
                entry.ended, ended = self.now, True
                for file in [*entry.inputs, *entry.outputs]:
                    node.last_use[file] = self.now
                for file in entry.outputs:
                    node.complete.add(file)
                    self.made[file] = self.now
                for c, task in enumerate(node.busy):
                    if task is entry:
                        node.busy[c], node.idle_since[c] = None, self.now
        for move in self.moving():
            if move.left > 0 or not self.is_open(move):
                continue
            move.end, ended = self.now, True
            for node in self.nodes:
                if move.target == node.name:
                    node.incoming = [m for m in node.incoming if m is not move]
                    node.complete.add(move.file)
                    node.last_use[move.file] = self.now
                if node.saving is move:
                    node.saving = None
                    if move.target is None:
                        self.saved.add(move.file)
        return ended

    def open_parts(self) -> None:
        """With barriers, open the next parts of the queues once the open parts have
        ended.
        """
        while self.part + 1 < len(self.drops) and all(
            entry.ended is not None
            for entry in self.tasks + self.copies
            if entry.part <= self.part
        ):
            self.part += 1
            for file, where in self.drops[self.part]:
                node = next(node for node in self.nodes if node.name == where)
                if file in node.complete:
                    node.complete.discard(file)
                    self.gone.append((file, node.name, self.now))

    def settle(self) -> None:
        while True:
            self.open_parts()
            while any([self.turn(node) for node in self.nodes]):
                pass
            pair = self.ask() if self.policy else None
            if pair is None:
                return
            task, node = pair
            self.given.append((self.now, self.round, task.name, node.name))
            task.node = node
            node.queue.append(task)

    def over(self) -> bool:
        everything = self.tasks + self.copies
        return (
            all(entry.ended is not None for entry in everything)
            and self.keep <= self.saved
            and not self.moving()
        )

    def run(self) -> Fraction:
        """Run to the end; return the makespan in seconds."""
        self.settle()
        while not self.over():
            if self.completions():
                self.round += 1
                self.settle()
                continue
            rates = self.rates()
            times = []
            for m in self.moving():
                if self.is_open(m):
                    times.append(m.left / rates[id(m)])
                else:
                    times.append(m.start + self.latency - self.now)
            for entry in [e for node in self.nodes for e in node.computing()]:
                assert entry.begun is not None
                end = entry.begun + self.length(entry)
                if end > self.now or entry.to_disk == 0:
                    times.append(end - self.now)
                if entry.to_disk > 0 and not self.has_begun_to_compute(entry):
                    times.append(entry.begun + entry.overhead - self.now)
                elif entry.to_disk > 0:
                    times.append(entry.to_disk / rates[id(entry)])
            times += [t.release - self.now for t in self.tasks if t.release > self.now]
            step = min(times)
            for move in self.moving():
                move.left -= step * rates.get(id(move), 0)
            for entry in [e for node in self.nodes for e in node.computing()]:
                entry.to_disk -= step * rates.get(id(entry), 0)
            self.now += step
            self.round = 0
            self.completions()
            self.settle()
        ends = [entry.ended for entry in self.tasks + self.copies]
        ends += [m.end for m in self.moves if m.target is None and m.file in self.keep]
        return max((end for end in ends if end is not None), default=Fraction(0))

    # policies

    def fits(self, task: Entry, node: Node) -> bool:
        room = sum(self.size[f] for f in [*task.inputs, *task.outputs])
        if node.memory is not None and task.memory > node.memory:
            return False
        return task.cores <= len(node.busy) and (node.disk is None or room <= node.disk)

    def core_time(self, task: Entry, node: Node) -> Fraction:
        times = []
        for since, busy in zip(node.idle_since, node.busy, strict=True):
            if busy is None:
                times.append(since)
            else:
                times.append(self.planned_end(busy, node))
        return max(sorted(times)[task.cores - 1], self.memory_time(task, node))

    def planned_end(self, task: Entry, node: Node) -> Fraction:
        assert task.begun is not None
        return max(self.now, task.begun + task.overhead + task.planned / node.speed)

    def memory_time(self, task: Entry, node: Node) -> Fraction:
        if node.memory is None:
            return Fraction(0)
        ends = [(self.planned_end(e, node), e.memory) for e in node.computing()]
        for u in sorted([Fraction(0), *(end for end, _ in ends)]):
            held = sum(memory for end, memory in ends if end > u)
            if held + task.memory <= node.memory:
                return u
        raise AssertionError("after the last end all memory is free")

    def ask(self) -> tuple[Entry, Node] | None:
        ready = [
            task
            for task in self.tasks
            if task.node is None
            and task.release <= self.now
            and all(f not in self.maker or f in self.made for f in task.inputs)
        ]
        pairs = [
            (k, task, i, node)
            for k, task in enumerate(ready)
            for i, node in enumerate(self.nodes)
            if self.fits(task, node)
            and not node.waiting()
            and (self.prefetch or node.idles_for(task))
        ]
        if not pairs:
            return None
        if self.policy == "fifo":
            rank = [(k, self.core_time(task, node), i) for k, task, i, node in pairs]
        elif self.policy == "locality":
            rank = [
                (
                    -sum(self.size[f] for f in task.inputs if f in node.complete),
                    k,
                    -node.idle(),
                    i,
                )
                for k, task, i, node in pairs
            ]
        else:
            rank = [(self.expected(task, node), k, i) for k, task, i, node in pairs]
        _, task, _, node = pairs[rank.index(min(rank))]
        return task, node

    def expected(self, task: Entry, node: Node) -> Fraction:
        end = max(self.now, self.core_time(task, node)) + task.overhead
        end += task.planned / node.speed
        for file in task.inputs:
            if file not in node.complete:
                end += self.size[file] / (
                    self.nic if self.holders(file) else self.remote
                )
        return end


def random_order(rng: random.Random, instance: dict[str, Any]) -> dict[str, list[Any]]:
    """Return random queues that do not wait for each other, on nodes that the tasks
    fit.

    In an order common to all queues, every task follows its predecessors.
    """
    size = {row["id"]: row["bytes"] for row in instance["files"]}
    maker = {
        name: row["id"] for row in instance["tasks"] for name in row.get("outputs", [])
    }
    left = list(instance["tasks"])
    queues: dict[str, list[Any]] = {node["id"]: [] for node in instance["nodes"]}
    done: set[str] = set()

    def hosts(cores: int, wanted: int, memory: int = 0) -> list[str]:
        return [
            node["id"]
            for node in instance["nodes"]
            if node.get("cores", 1) >= cores
            and (node.get("memory_bytes") is None or node["memory_bytes"] >= memory)
            and (
                node["disk_bytes"] is None
                or node["disk_bytes"] >= wanted
                or instance.get("products") == "shared"
            )
        ]

    while left:
        free = [
            t
            for t in left
            if all(f not in maker or maker[f] in done for f in t["inputs"])
        ]
        task = rng.choice(free)
        left.remove(task)
        done.add(task["id"])
        wanted = sum(size[f] for f in [*task["inputs"], *task.get("outputs", [])])
        places = hosts(task.get("cores", 1), wanted, task.get("memory_bytes", 0))
        queues[rng.choice(places)].append(task["id"])
        known = [f for f in size if f not in maker or maker[f] in done]
        if known and rng.random() < 0.12:
            file = rng.choice(known)
            if places := hosts(1, size[file]):
                queues[rng.choice(places)].append({"copy": file})
    return queues


def batch_case(seed: int) -> dict[str, Any]:
    """Return a random batch with copies, and with rounds, barriers and evictions before
    each round.
    """
    from random_replication import random_case

    instance, plan, link = random_case(seed)
    rng = random.Random(f"batch {seed}")
    disks_of_nodes(rng, instance)
    if rng.random() < 0.4 and "rounds" not in plan:
        plan["options"] = {"room": rng.choice(["largest", "mean", "next"])}
    return {"instance": instance, "link": link, **plan}


def disks_of_nodes(rng: random.Random, instance: dict[str, Any]) -> None:
    """Give some nodes disks that are slower or faster than their interfaces."""
    for node in instance["nodes"] if rng.random() < 0.4 else []:
        rate = instance["network"]["replica_bytes_per_second"] * rng.choice(
            [0.25, 0.5, 2]
        )
        node["disk_bytes_per_second"] = rate


def workflow_case(seed: int) -> dict[str, Any]:
    """Return a random workflow, with a random order or dispatcher to run it.

    Some workflows have storage disks, or actual times that differ from the estimates.
    """
    from random_workflows import random_workflow

    rng = random.Random(f"case {seed}")
    instance = random_workflow(seed, 10)
    if rng.random() < 0.35:
        instance["storages"] = [
            {"id": name, "bytes_per_second": rng.choice([2.0, 6, 30])}
            for name in ("s0", "s1")
        ]
        for file in instance["files"]:
            if rng.random() < 0.6:
                file["storage"] = rng.choice(["s0", "s1"])
    case: dict[str, Any] = {
        "instance": instance,
        "link": rng.choice(["shared", "per-node"]),
        "eviction": rng.choice(["farthest-next-use", "popularity", "lru"]),
    }
    if rng.random() < 0.3:
        tasks = [row["id"] for row in instance["tasks"]]
        case["actual"] = {
            name: rng.choice([0, 0.5, 3, 9.25]) for name in tasks if rng.random() < 0.5
        }
    if rng.random() < 0.4:
        case["policy"] = rng.choice(["fifo", "locality", "ready-min-min"])
        case["prefetch"] = rng.random() < 0.4
    else:
        case["order"] = random_order(rng, instance)
    return case


def case_with_options(seed: int) -> dict[str, Any]:
    """Return a random workflow, usually with options that extend the rules."""
    case = workflow_case(seed)
    rng = random.Random(f"options {seed}")
    some = [rng.random() < 0.7 for _ in range(2)]
    case["options"] = {"sources": "least-loaded" if some[0] else "lowest"}
    for node in case["instance"]["nodes"] if some[1] else []:
        node["staging"] = rng.choice([1, 2, 2, 3, 4])
    disks_of_nodes(rng, case["instance"])
    return case


def case_with_needs(seed: int) -> dict[str, Any]:
    """Return a random workflow, usually with overheads, memory, tasks that use their
    disks, and options that extend the rules.
    """
    case = case_with_options(seed)
    rng = random.Random(f"needs {seed}")
    give_needs(rng, case["instance"])
    if rng.random() < 0.6:
        case["instance"]["task_disk"] = True
        for node in case["instance"]["nodes"]:
            if rng.random() < 0.7:
                node["disk_bytes_per_second"] = rng.choice([4.0, 10, 25])
    return case


def give_needs(rng: random.Random, instance: dict[str, Any]) -> None:
    """Give the tasks of *instance* overheads and memory, and its nodes memory; each
    task still fits a node.
    """
    if rng.random() < 0.75:
        for task in instance["tasks"]:
            task["overhead_seconds"] = rng.choice([0, 0, 1, 2.5, 0.1])
    if rng.random() < 0.75:
        for task in instance["tasks"]:
            task["memory_bytes"] = rng.choice([0, 4, 4, 6, 10])
        for node in instance["nodes"]:
            node["memory_bytes"] = rng.choice([None, 10, 10, 12, 20])


def shared_case(seed: int) -> dict[str, Any]:
    """Return a random workflow on shared storage."""
    import shared_timeline

    return shared_timeline.shared_case(seed)


def kind_of_run(instance: dict[str, Any]) -> type[Run]:
    """Return the class of exact runs of *instance*."""
    import shared_timeline

    if instance.get("products") == "shared":
        return shared_timeline.SharedRun
    return Run


CASES = {
    "workflow": workflow_case,
    "options": case_with_options,
    "needs": case_with_needs,
    "shared": shared_case,
    "batch": batch_case,
}


def disagreement(
    seed: int, kind: str = "workflow", engine: str = "python"
) -> tuple[str | None, int, int]:
    """Compare the simulator of ioopt with this one on case *seed*.

    Return the first difference (None: there is none), the number of evictions and the
    number of saves.
    """
    import ioopt
    from ioopt import registry
    from ioopt.problems.replication import ReplayOptions, ReplicationPlan
    from ioopt.sim.replication.dispatch import dispatch
    from ioopt.sim.replication.simulate import simulate
    from ioopt.solving import with_bounds

    case = CASES[kind](seed)
    options = case.get("options", {})
    instance = case["instance"]
    instance["network"]["remote_link"] = case["link"]
    problem = ioopt.load(instance)
    actual = case.get("actual")
    barriers = case.get("barriers", False)
    rounds = case["rounds"] if barriers else ()
    run = kind_of_run(instance)(
        instance,
        case["link"],
        case["eviction"],
        case.get("order"),
        case.get("policy"),
        case.get("prefetch", False),
        actual,
        options,
        rounds,
    )
    last = run.run()
    if "order" in case:
        plan = ReplicationPlan.model_validate(
            {
                "order": case["order"],
                "eviction": case["eviction"],
                "moves": "replay",
                "rounds": rounds or None,
                "barriers": barriers,
                **options,
            }
        )
        found = simulate(problem, plan, engine=engine, actual=actual)
    else:
        row = registry.solver(case["policy"], registry.KINDS["replication"])
        decide = registry.load_target(row.policy or "")(None)
        plan, found = dispatch(
            problem,
            decide,
            engine=engine,
            prefetch=case["prefetch"],
            eviction=case["eviction"],
            options=ReplayOptions(**options),
            actual=actual,
        )
        again = simulate(problem, plan, engine=engine, actual=actual)
        if again.schedule != found.schedule:
            return "the record runs otherwise", 0, 0
        given = [row[1:] for row in plan.dispatches or ()]
        if given != [row[1:] for row in run.given]:
            return f"dispatches {given} but {run.given}", 0, 0
    found = with_bounds(registry.KINDS["replication"], problem, found)
    wrong = _other_events(run, last, found)
    if wrong is None and hasattr(run, "cached"):
        cached = found.metrics["cached_bytes"]
        if cached != run.cached:
            wrong = f"cached bytes {cached} but {run.cached}"
    if wrong is None and not barriers:
        wrong = _checked_otherwise(problem, plan, found)
    if wrong is None and actual is None:
        least, makespan = (
            found.metrics["lower_bound_seconds"],
            found.metrics["makespan_seconds"],
        )
        if least > makespan * (1 + 1e-9) + 1e-9:
            wrong = f"bound {least} above {makespan}"
    return wrong, len(run.gone), sum(m.target is None for m in run.moves)


def noisy_disagreement(seed: int, kind: str, engine: str = "auto") -> str | None:
    """Compare three noisy replays of case *seed*, which has queues, with this simulator
    (timeline rules 9 and 10).

    Return the first difference (None: there is none).
    """
    import math

    import numpy as np

    import ioopt
    from ioopt.problems.replication import ReplicationPlan
    from ioopt.sim.replication.build import Noise
    from ioopt.sim.replication.noisy import noisy_makespans

    case = CASES[kind](seed)
    rng = random.Random(f"noise {seed}")
    latency = rng.choice([0.0, 0.01, 0.5])
    sigma = rng.choice([0.0, 0.1, 0.3])
    instance = case["instance"]
    instance["network"]["remote_link"] = case["link"]
    barriers = case.get("barriers", False)
    options = case.get("options", {})
    plan = ReplicationPlan.model_validate(
        {
            "order": case["order"],
            "eviction": case["eviction"],
            "moves": "replay",
            "rounds": case["rounds"] or None if barriers else None,
            "barriers": barriers,
            **options,
        }
    )
    problem = ioopt.load(instance)
    found = noisy_makespans(problem, plan, Noise(latency, sigma), 3, engine=engine)
    normal = np.random.default_rng(8191).standard_normal(8191)
    for draw, seconds in enumerate(found, 1):

        def weight(file: int, receiver: int, draw: int = draw) -> float:
            place = (7919 * file + 1543 * receiver + 4801 * draw) % 8191
            return math.exp(sigma * normal[place])

        run = kind_of_run(instance)(
            instance,
            case["link"],
            case["eviction"],
            case["order"],
            options=options,
            rounds=case["rounds"] if barriers else (),
            latency=latency,
            weight=weight,
        )
        wanted = float(run.run())
        if abs(seconds - wanted) > 1e-6 * max(1.0, wanted):
            return f"seed {seed}, draw {draw}: {seconds}, exactly {wanted}"
    return None


def _other_events(run: Run, last: Fraction, found: Any) -> str | None:
    rows, own = _expected(run, last), _found(found.schedule)
    makespan = found.metrics["makespan_seconds"]
    own.append(("end", "", "", makespan, makespan))
    if sorted(map(str, (r[:3] for r in own))) != sorted(
        map(str, (r[:3] for r in rows))
    ):
        return f"events {own} but {rows}"
    for a, b in zip(sorted(own, key=_by_time), sorted(rows, key=_by_time), strict=True):
        near = all(
            abs(x - y) <= 1e-9 * max(1, y) for x, y in zip(a[3:], b[3:], strict=True)
        )
        if a[:3] != b[:3] or not near:
            return f"{a} but {b}"
    return None


def _checked_otherwise(problem: Any, plan: Any, found: Any) -> str | None:
    """Return a violation that the checker finds, or a metric that it computes
    differently.
    """
    from ioopt.checks.replication.check import check

    report = check(problem, plan, found.schedule)
    if report.violations:
        return f"the checker says {report.violations}"
    for name, (least, most) in report.ranges.items():
        if not least * (1 - 1e-9) <= found.metrics[name] <= most * (1 + 1e-9) + 1e-9:
            return f"metric {name}: {found.metrics[name]} outside {least} to {most}"
    for name, value in found.metrics.items():
        if name in report.ranges:
            continue
        other = report.metrics[name]
        if other != value and not (
            isinstance(value, float) and abs(other - value) <= 1e-9 * max(1, abs(value))
        ):
            return f"metric {name}: {value} but {other}"
    return None


def _expected(run: Run, last: Any) -> list[Any]:
    """Return the events of the exact simulator as (what, whose, where, start, end)."""
    rows = [
        ("task", t.name, t.node.name if t.node else "", t.begun, t.ended)
        for t in sorted(run.tasks, key=lambda t: (t.begun, run.tasks.index(t)))
    ]
    rows += [(m.file, m.source, m.target, m.start, m.end) for m in run.moves]
    rows += [("gone", file, node, when, when) for file, node, when in run.gone]
    rows.append(("end", "", "", last, last))
    return rows


def _found(schedule: dict[str, Any]) -> list[Any]:
    """Return the events of a schedule in the form of :func:`_expected`, except for the
    end.
    """
    own: list[Any] = [
        ("task", t["id"], t["node"], t["start_seconds"], t["end_seconds"])
        for t in schedule["tasks"]
    ]
    own += [
        (m["file"], m["source"], m["destination"], m["start_seconds"], m["end_seconds"])
        for m in schedule["transfers"]
    ]
    own += [
        ("gone", e["file"], e["node"], e["seconds"], e["seconds"])
        for e in schedule["evictions"]
    ]
    return own


def _by_time(row: Any) -> Any:
    return str(row[:3]), round(float(row[3]), 6)
