"""A slow, exact simulator of bound plans on Fractions, written from timeline rule 12.

It shares no code with ioopt. It builds no graph: at every instant it asks of everything
that has not started whether it may start, by counting what has happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

NEVER = Fraction(10**12)


def exactly(value: Any) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


@dataclass
class Thing:
    """An entry, a move or an eviction; ``place`` orders those of a node."""

    kind: str
    node: str
    file: str
    place: tuple[int, int, int]
    reads: list[str]
    writes: list[str]
    number: int = 0
    source: str | None = None
    target: str | None = None
    cores: int = 0
    memory: int = 0
    release: Fraction = Fraction(0)
    left: Fraction = Fraction(0)
    begun: Fraction | None = None
    ended: Fraction | None = None

    def running(self) -> bool:
        return self.begun is not None and self.ended is None


class BoundReference:
    """One run of a bound plan with ``moves_after``."""

    def __init__(
        self,
        instance: dict[str, Any],
        plan: dict[str, Any],
        latency: float = 0.0,
        weight: Callable[[int, int], float] = lambda file, receiver: 1.0,
        actual: dict[str, float] | None = None,
    ) -> None:
        self.instance, self.plan = instance, plan
        self.latency, self.weight = exactly(latency), weight
        self.files = {row["id"]: row for row in instance["files"]}
        self.file_number = {name: k for k, name in enumerate(self.files)}
        self.nodes = {row["id"]: row for row in instance["nodes"]}
        self.node_number = {name: k for k, name in enumerate(self.nodes)}
        self.tasks = {row["id"]: row for row in instance["tasks"]}
        self.maker = {
            name: task["id"]
            for task in instance["tasks"]
            for name in task.get("outputs", [])
        }
        self.actual = actual or {}
        self.now = Fraction(0)
        self.entries = {name: self.read_queue(name) for name in self.nodes}
        self.moves = [self.read_move(n) for n in range(len(plan["moves"]))]
        self.gone = [self.read_eviction(n) for n in range(len(plan["evictions"]))]
        self.gone.sort(key=lambda thing: (thing.node, thing.place, thing.number))
        for move in self.moves:
            move.release = self.arrival_for(move)

    def read_queue(self, node: str) -> list[Thing]:
        found = []
        for place, item in enumerate(self.plan["order"].get(node, [])):
            if isinstance(item, dict):
                name = item["copy"]
                arrivals = [
                    exactly(t.get("release_seconds", 0))
                    for t in self.tasks.values()
                    if name in t.get("inputs", [])
                ]
                entry = Thing("copy", node, name, (place, 1, 0), [name], [], cores=1)
                entry.release = min(arrivals, default=Fraction(0))
            else:
                task = self.tasks[item]
                entry = Thing(
                    "task",
                    node,
                    item,
                    (place, 1, 0),
                    task.get("inputs", []),
                    task.get("outputs", []),
                    cores=task.get("cores", 1),
                    memory=task.get("memory_bytes", 0),
                )
                entry.release = exactly(task.get("release_seconds", 0))
                seconds = self.actual.get(item, task["compute_seconds"])
                speed = exactly(self.nodes[node].get("speed", 1))
                overhead = exactly(task.get("overhead_seconds", 0))
                entry.left = overhead + exactly(seconds) / speed
            found.append(entry)
        return found

    def read_move(self, n: int) -> Thing:
        node, file, source = self.plan["moves"][n]
        where = source if node is None else node
        place = (self.plan["moves_after"][n], 0, n)
        move = Thing("move", where, file, place, [], [], n, source, node)
        move.left = Fraction(self.files[file]["bytes"])
        return move

    def read_eviction(self, n: int) -> Thing:
        node, file, before = self.plan["evictions"][n]
        place = (10**9, 0, 0)
        if isinstance(before, int):
            place = self.moves[before].place
        elif before is not None:
            place = next(e.place for e in self.entries[node] if e.file == before)
        return Thing("eviction", node, file, place, [], [], n)

    # which stay of a file on a node something uses: the first is number 1

    def first_stays(self, node: str, file: str) -> int:
        if file in self.nodes[node].get("holds", []):
            return 1
        maker = self.maker.get(file)
        return sum(e.file == maker and e.kind == "task" for e in self.entries[node])

    def stay_of_reader(self, entry: Thing, file: str) -> int:
        earlier = [m for m in self.moves if m.target == entry.node and m.file == file]
        return self.first_stays(entry.node, file) + sum(
            m.place < entry.place for m in earlier
        )

    def stay_of_sender(self, move: Thing) -> int:
        assert move.source is not None
        earlier = self.moves[: move.number]
        came = [m for m in earlier if (m.target, m.file) == (move.source, move.file)]
        return self.first_stays(move.source, move.file) + len(came)

    def stay_of_move(self, move: Thing) -> int:
        earlier = self.moves[: move.number]
        same = [m for m in earlier if (m.target, m.file) == (move.target, move.file)]
        return self.first_stays(move.node, move.file) + len(same) + 1

    def came(self, node: str, file: str) -> int:
        """Count the stays of *file* on *node* that have been complete."""
        count = int(file in self.nodes[node].get("holds", []))
        for entry in self.entries[node]:
            count += file in entry.writes and entry.ended is not None
        for move in self.moves:
            same = (move.target, move.file) == (node, file)
            count += same and move.ended is not None
        return count

    def arrival_for(self, move: Thing) -> Fraction:
        if move.target is None:
            return Fraction(0)
        stay = self.stay_of_move(move)
        readers = []
        for entry in self.entries[move.node]:
            reads = move.file in entry.reads
            if reads and self.stay_of_reader(entry, move.file) == stay:
                readers.append(entry)
        window = move.place[0] + self.nodes[move.node].get("staging", 1)
        near = [e.release for e in readers[1:] if e.place[0] < window]
        return min([e.release for e in readers[:1]] + near, default=Fraction(0))

    # may it start?

    def room_made(self, thing: Thing) -> bool:
        wanted = [e for e in self.gone if e.node == thing.node]
        return all(e.ended is not None for e in wanted if e.place <= thing.place)

    def entry_may(self, entry: Thing) -> bool:
        queue = self.entries[entry.node]
        busy = sum(other.cores for other in queue if other.running())
        idle = self.nodes[entry.node].get("cores", 1) - busy
        return (
            entry.release <= self.now
            and all(e.begun is not None for e in queue[: entry.place[0]])
            and entry.cores <= idle
            and self.has_memory(entry)
            and (not entry.writes or self.room_made(entry))
            and all(
                self.came(entry.node, file) >= self.stay_of_reader(entry, file)
                for file in entry.reads
            )
        )

    def has_memory(self, entry: Thing) -> bool:
        memory = self.nodes[entry.node].get("memory_bytes")
        running = [e for e in self.entries[entry.node] if e.running()]
        held = sum(other.memory for other in running)
        return memory is None or held + entry.memory <= memory

    def move_may(self, move: Thing) -> bool:
        if move.release > self.now:
            return False
        queue = self.entries[move.node]
        if any(e.begun is None for e in queue[: move.place[0]]):
            return False
        same = (move.node, move.target is None)
        earlier = [
            m for m in self.moves[: move.number] if (m.node, m.target is None) == same
        ]
        if move.target is None:
            if any(m.ended is None for m in earlier):
                return False
        else:
            slots = self.nodes[move.node].get("staging", 1)
            if any(m.begun is None for m in earlier):
                return False
            if sum(m.running() for m in earlier) >= slots or not self.room_made(move):
                return False
        if move.source is not None:
            return self.came(move.source, move.file) >= self.stay_of_sender(move)
        if move.file not in self.maker:
            return True
        saves = [m for m in self.moves if m.target is None and m.file == move.file]
        return any(m.ended is not None for m in saves)

    def eviction_may(self, gone: Thing) -> bool:
        mine = [e for e in self.gone if e.node == gone.node]
        before = mine[: mine.index(gone)]
        stay = 1 + sum(e.file == gone.file for e in before)
        if any(e.ended is None for e in before):
            return False
        if self.came(gone.node, gone.file) < stay:
            return False
        for entry in self.entries[gone.node]:
            waits = gone.file in entry.reads and entry.ended is None
            if waits and self.stay_of_reader(entry, gone.file) == stay:
                return False
        for move in self.moves:
            sends = (move.source, move.file) == (gone.node, gone.file)
            if sends and self.stay_of_sender(move) == stay and move.ended is None:
                return False
        return True

    def begin_all(self) -> None:
        asked = {
            "task": self.entry_may,
            "copy": self.entry_may,
            "move": self.move_may,
            "eviction": self.eviction_may,
        }
        again = True
        while again:
            again = False
            for thing in self.things():
                if thing.begun is None and asked[thing.kind](thing):
                    thing.begun = self.now
                    again = True
                    if thing.kind == "eviction":
                        thing.ended = self.now
            for name, node in self.nodes.items():
                room = node.get("disk_bytes")
                assert room is None or self.used(name) <= room, (self.now, name)

    def used(self, node: str) -> int:
        files = list(self.nodes[node].get("holds", []))
        for entry in self.entries[node]:
            files += entry.writes if entry.begun is not None else []
        for move in self.moves:
            if move.target == node and move.begun is not None:
                files.append(move.file)
        used = sum(self.files[file]["bytes"] for file in files)
        for gone in self.gone:
            if gone.node == node and gone.ended is not None:
                used -= self.files[gone.file]["bytes"]
        return int(used)

    def things(self) -> list[Thing]:
        return [
            *(entry for queue in self.entries.values() for entry in queue),
            *self.moves,
            *self.gone,
        ]

    # rates, by weighted progressive filling

    def pipes(self, move: Thing) -> list[tuple[str, str]]:
        if move.source is not None and move.target is not None:
            return [("node", move.source), ("node", move.target)]
        link = self.instance["network"].get("remote_link", "shared")
        found = [("node", move.node), ("link", "" if link == "shared" else move.node)]
        storage = self.files[move.file].get("storage")
        return [*found, ("storage", storage)] if storage else found

    def rate_of(self, pipe: tuple[str, str]) -> Fraction:
        kind, name = pipe
        network = self.instance["network"]
        if kind == "link":
            return exactly(network["remote_bytes_per_second"])
        if kind == "storage":
            rows = self.instance["storages"]
            row = next(row for row in rows if row["id"] == name)
            return exactly(row["bytes_per_second"])
        interface = exactly(network["replica_bytes_per_second"])
        disk = self.nodes[name].get("disk_bytes_per_second")
        return interface if disk is None else min(interface, exactly(disk))

    def opens(self, move: Thing) -> Fraction:
        assert move.begun is not None
        return move.begun + self.latency

    def rates(self) -> dict[int, Fraction]:
        flows = {}
        for move in self.moves:
            if move.running() and move.left > 0 and self.opens(move) <= self.now:
                flows[move.number] = move
        weights = {}
        for number, move in flows.items():
            receiver = len(self.nodes)
            if move.target is not None:
                receiver = self.node_number[move.target]
            weights[number] = exactly(
                float(self.weight(self.file_number[move.file], receiver))
            )
        free = {p: self.rate_of(p) for m in flows.values() for p in self.pipes(m)}
        found: dict[int, Fraction] = {}
        while len(found) < len(flows):
            crossing: dict[tuple[str, str], Fraction] = {}
            for number, move in flows.items():
                if number not in found:
                    for pipe in self.pipes(move):
                        known = crossing.get(pipe, Fraction(0))
                        crossing[pipe] = known + weights[number]
            share = min(free[pipe] / crossing[pipe] for pipe in crossing)
            full = {p for p in crossing if free[p] / crossing[p] == share}
            for number, move in flows.items():
                if number not in found and full & set(self.pipes(move)):
                    found[number] = share * weights[number]
                    for pipe in self.pipes(move):
                        free[pipe] -= found[number]
        return found

    def run(self) -> Fraction:
        """Run to the end; return the makespan."""
        for _ in range(100_000):
            self.begin_all()
            if all(thing.ended is not None for thing in self.things()):
                return self.makespan()
            rates = self.rates()
            self.advance(self.step(rates), rates)
        raise AssertionError("it does not end")

    def step(self, rates: dict[int, Fraction]) -> Fraction:
        waits = []
        for thing in self.things():
            if thing.begun is None and thing.release > self.now:
                waits.append(thing.release - self.now)
            if not thing.running():
                continue
            if thing.kind != "move":
                waits.append(thing.left)
            elif self.opens(thing) > self.now:
                waits.append(self.opens(thing) - self.now)
            elif thing.left == 0:
                waits.append(Fraction(0))
            else:
                waits.append(thing.left / rates[thing.number])
        assert waits, f"stuck at {self.now}"
        return min(waits)

    def advance(self, step: Fraction, rates: dict[int, Fraction]) -> None:
        running = [thing for thing in self.things() if thing.running()]
        self.now += step
        for thing in running:
            if thing.kind == "move":
                thing.left -= step * rates.get(thing.number, Fraction(0))
                over = thing.left == 0 and self.opens(thing) <= self.now
            else:
                thing.left -= step
                over = thing.left == 0
            if over:
                thing.ended = self.now

    def makespan(self) -> Fraction:
        ends = [e.ended for queue in self.entries.values() for e in queue]
        for move in self.moves:
            if move.target is None and self.files[move.file].get("keep"):
                ends.append(move.ended)
        return max([end for end in ends if end is not None], default=Fraction(0))
