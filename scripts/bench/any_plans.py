"""Plans of replication that no solver made, each accepted by the checker: dealt at random and perturbed.

Static plans of one round may evict what nodes hold and pass copies on through nodes that do not read
them; queues may have copy entries anywhere. Whatever a bound forgets is likely to be among them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import ioopt
from ioopt import registry
from ioopt.errors import IooptError
from ioopt.solving import check_plan

Queues = dict[str, list[Any]]


class Value(NamedTuple):
    """What a plan comes to by one measure; whether it copies, and to nodes that do not read the file."""

    seconds: float
    who: str
    copies: bool = True
    relays: bool = True


def values(problem: Any, plan: dict[str, Any], who: str) -> dict[str, Value]:
    """All measures of *plan* by the checker; none where it breaks a rule or cannot be carried out."""
    kind, replay = registry.KINDS["replication"], plan.get("moves") != "static"
    with suppress(IooptError):
        schedule = ioopt.simulate(problem, plan).schedule if replay else None
        report = check_plan(kind, problem, plan, schedule)
        if not report.violations:
            copies, relays = traits(problem, plan, schedule)
            return {m: Value(v, who, copies, relays) for m, v in report.objectives.items()}
    return {}


def traits(problem: Any, plan: dict[str, Any], schedule: Any) -> tuple[bool, bool]:
    """Whether nodes copy to each other, and whether one gets a file that no task there reads."""
    node_of = {
        task: node
        for node, queue in plan["order"].items()
        for task in queue
        if isinstance(task, str)
    }
    reads = {(f, node_of[t.id]) for t in problem.tasks for f in t.inputs if t.id in node_of}
    made = [(file, to) for file, _, to in plan.get("copies") or ()]
    if plan.get("moves") == "replay" or not (made or plan.get("remote") or plan.get("rounds")):
        moves = (schedule or {}).get("transfers", ())
        made = [(m["file"], m["destination"]) for m in moves if m["source"] and m["destination"]]
    return bool(made), any(arrival not in reads for arrival in made)


def queues(
    problem: Any, best: dict[str, Any] | None, rng: random.Random, count: int
) -> Iterator[dict[str, Value]]:
    """*count* plans dealt at random, and as many on the way down from *best* by small changes."""
    from workflow_bounds import random_plan

    for _ in range(count):
        plan = random_plan(problem, rng).model_dump(by_alias=True, exclude_none=True)
        yield values(problem, plan, "a random plan")
    if best is None:
        return
    order: Queues = {node.id: list(best["order"].get(node.id, ())) for node in problem.nodes}
    least = float("inf")
    for _ in range(count):
        changed = _changed(problem, order, rng)
        found = values(
            problem, {"order": changed, "eviction": best.get("eviction")}, "a perturbed plan"
        )
        yield found
        if "makespan_seconds" in found and found["makespan_seconds"].seconds <= least:
            order, least = changed, found["makespan_seconds"].seconds


def _changed(problem: Any, order: Queues, rng: random.Random) -> Queues:
    """*order* with one entry elsewhere, or with one more copy entry, or without one."""
    changed = {node: list(queue) for node, queue in order.items()}
    entries = [(node, at) for node, queue in changed.items() for at in range(len(queue))]
    target = changed[rng.choice(list(changed))]
    if problem.files and (not entries or rng.random() < 0.3):
        entry: Any = {"copy": rng.choice(problem.files).id}
    else:
        node, at = rng.choice(entries)
        entry = changed[node].pop(at)
        if not isinstance(entry, str) and rng.random() < 0.5:
            return changed
    target.insert(rng.randint(0, len(target)), entry)
    return changed


class Static:
    """One static plan of one round: a node for every task, what held files go, and ways of all files."""

    def __init__(self, problem: Any, rng: random.Random) -> None:
        self.problem, self.rng = problem, rng
        self.nodes = range(len(problem.nodes))
        self.on = [rng.choice(self.nodes) for _ in problem.tasks]
        self.gone: set[tuple[int, int]] = set()
        self.ways: dict[int, list[tuple[int, int]]] = {}
        self.route(range(len(problem.files)))

    def route(self, files: Any) -> None:
        """New ways for *files*: (node, source, -1 for a fetch) in the order in which they get there."""
        for f in files:
            has = [i for i in self.nodes if f in self.problem.holds[i] and (f, i) not in self.gone]
            wanted = [i for i in {self.on[k] for k in self.problem.readers[f]} if i not in has]
            self.rng.shuffle(wanted)
            others = [i for i in self.nodes if i not in has and i not in wanted]
            if wanted and others and self.rng.random() < 0.3:
                wanted.insert(self.rng.randint(0, 1), self.rng.choice(others))
            self.ways[f] = way = []
            for i in wanted:
                way.append((i, self.rng.choice(has) if has and self.rng.random() < 0.8 else -1))
                has.append(i)

    def changed(self) -> Static:
        """One task on another node, one held file gone or back, or another way for a file."""
        other = object.__new__(Static)
        other.__dict__ |= self.__dict__ | {
            "on": [*self.on],
            "gone": {*self.gone},
            "ways": {**self.ways},
        }
        held = [(f, i) for i in self.nodes for f in self.problem.holds[i]]
        draw = self.rng.random()
        if draw < 0.3 and self.on:
            task = self.rng.randrange(len(self.on))
            other.on[task] = self.rng.choice(self.nodes)
            other.route(self.problem.inputs[task])
        elif draw < 0.5 and held:
            pair = self.rng.choice(held)
            other.gone ^= {pair}
            other.route([pair[0]])
        elif self.problem.files:
            other.route([self.rng.randrange(len(self.problem.files))])
        return other

    def plan(self) -> dict[str, Any]:
        """As a plan in one round, with copy entries for what comes to nodes that do not read it."""
        node, file = [n.id for n in self.problem.nodes], [f.id for f in self.problem.files]
        order: Queues = {name: [] for name in node}
        for f, way in self.ways.items():
            for i, source in way:
                if source >= 0 and all(self.on[k] != i for k in self.problem.readers[f]):
                    order[node[i]].append({"copy": file[f]})
        tasks = [task.id for task in self.problem.tasks]
        for task, i in zip(tasks, self.on, strict=True):
            order[node[i]].append(task)
        moves = {
            "remote": [(file[f], node[i]) for f, way in self.ways.items() for i, s in way if s < 0],
            "copies": [
                (file[f], node[s], node[i]) for f, way in self.ways.items() for i, s in way if s >= 0
            ],
        }  # fmt: skip
        assign = dict(zip(tasks, (node[i] for i in self.on), strict=True))
        only = {
            "tasks": tasks,
            "assign": assign,
            "evicted": [(file[f], node[i]) for f, i in self.gone],
            **moves,
        }
        return {"assign": assign, "order": order, "rounds": [only], "moves": "static", **moves}


def static_plans(problem: Any, rng: random.Random, count: int) -> Iterator[dict[str, Value]]:
    """*count* static plans on the way down from a random one, by small changes."""
    at, least = Static(problem, rng), float("inf")
    for _ in range(count):
        other = at.changed()
        found = values(problem, other.plan(), "a static plan")
        yield found
        if not found or found["additive_seconds"].seconds <= least:
            # What breaks a rule is left behind only for what does not.
            if found or least == float("inf"):
                at = other
            if found:
                least = found["additive_seconds"].seconds
