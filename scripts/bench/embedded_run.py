"""Print the processor time of a whole run of ``WorkflowDispatcher``, as the second
table of docs/embedding.md.

1,000 tasks in chains of 4 run on 8 nodes of 8 cores with disks of 2 GB. Four nodes are
lost for 50 s, two join, 5 % of the tasks fail, and 3 % of the messages come twice. The
run is in virtual time, without a deadline.
"""

import heapq
import json
import random
import time
from typing import Literal

from ioopt.embed import WorkflowDispatcher
from ioopt.embed.workflow import Placement
from ioopt.problems.base import Json

LINKS: Json = {"remote_bytes_per_second": 12.5e6, "replica_bytes_per_second": 1e9}
CHAINS = 250
LENGTH = 4
INPUTS = 50
NODES = 8
EVENTS = [(at, "lose") for at in (40.0, 90.0, 150.0, 260.0)]
EVENTS += [(at, "join") for at in (60.0, 200.0)]
FAILING = 0.05
TWICE = 0.03
Products = Literal["storage", "nodes"]


def node(name: str) -> Json:
    """Return a node of 8 cores."""
    return {"id": name, "cores": 8, "disk_bytes": 2_000_000_000}


class Loop:
    """An engine in virtual time; it saves and restores the run after every *restore*
    events, 0: never.
    """

    def __init__(self, policy: str, products: Products, restore: int) -> None:
        self.draw = random.Random(1)
        self.restore = restore
        self.restores = 0
        self.restore_seconds = 0.0
        self.placed = 0
        self.done: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.queue: list[tuple[float, int, str, Placement | None]] = []
        self.pushed = 0
        nodes = [node(f"n{i}") for i in range(NODES)]
        self.run = WorkflowDispatcher(LINKS, nodes, policy=policy, products=products)
        tasks = self.tasks()
        files = [{"id": name, "bytes": size} for name, size in self.sizes.items()]
        self.run.submit(tasks, files)
        for at, what in [(0.0, "begin"), *EVENTS]:
            self.push(at, what)

    def tasks(self) -> list[Json]:
        """Return the tasks, and note their times and the sizes of their files."""
        found: list[Json] = []
        for k in range(INPUTS):
            self.sizes[f"in{k}"] = self.draw.randint(1, 64) * 1_000_000
        for c in range(CHAINS):
            reads = [f"in{self.draw.randrange(INPUTS)}"]
            for s in range(LENGTH):
                name, product = f"t{c}-{s}", f"o{c}-{s}"
                self.sizes[product] = self.draw.randint(1, 20) * 1_000_000
                self.seconds[name] = float(self.draw.randint(5, 60))
                task: Json = {"id": name, "compute_seconds": self.seconds[name]}
                found.append(task | {"inputs": reads, "outputs": [product]})
                reads = [product]
        return found

    def push(self, at: float, what: str, step: Placement | None = None) -> None:
        """Let something happen *at* a time in seconds."""
        self.pushed += 1
        heapq.heappush(self.queue, (at, self.pushed, what, step))

    def go(self) -> None:
        """Run until nothing happens any more."""
        while self.queue:
            now, count, what, step = heapq.heappop(self.queue)
            if step is not None:
                self.report(step, now)
            elif what == "lose":
                name = f"n{count % NODES}"
                self.done.difference_update(self.run.lost(name, now))
                self.push(now + 50.0, name)
            elif what == "join":
                self.run.joined(node(f"j{count}"))
            elif what != "begin":
                self.run.back(what)
            if self.restore and count % self.restore == 0:
                self.save_and_restore()
            for placement in self.run.next(now):
                self.start(placement, now)

    def report(self, step: Placement, now: float) -> None:
        """Report that an attempt has ended or failed, now and then twice."""
        ran = {"node": step.node, "attempt": step.attempt}
        key = (step.task, step.node, step.attempt)
        runs = key in {(r.task, r.node, r.attempt) for r in self.run.running()}
        if runs and self.draw.random() < FAILING:
            self.run.failed(step.task, now, **ran)
        else:
            self.run.completed(step.task, now, **ran)
            if runs:
                self.done.add(step.task)
        if runs and self.draw.random() < TWICE:
            self.push(now + 20.0, "again", step)

    def start(self, step: Placement, now: float) -> None:
        """Note when a placed task will end."""
        self.placed += 1
        seconds = self.seconds[step.task] * self.draw.uniform(0.8, 1.5)
        for file, source in step.stage:
            rate = "remote" if source is None else "replica"
            seconds += self.sizes[file] / LINKS[f"{rate}_bytes_per_second"]
        self.push(now + seconds, "end", step)

    def save_and_restore(self) -> None:
        """Go on with a run that was saved as text and restored."""
        begun = time.process_time()
        text = json.dumps(self.run.state())
        self.run = WorkflowDispatcher.restore(json.loads(text))
        self.restores += 1
        self.restore_seconds += time.process_time() - begun


def main(quick: bool) -> None:
    """Print a row for each policy, place of products and number of restores; if
    *quick*, one row.
    """
    policies = ("locality",) if quick else ("rolling", "locality")
    places: tuple[Products, ...] = ("storage",) if quick else ("storage", "nodes")
    for policy in policies:
        for products in places:
            for restore in (5,) if quick else (0, 5):
                loop = Loop(policy, products, restore)
                begun = time.process_time()
                loop.go()
                rest = time.process_time() - begun - loop.restore_seconds
                assert len(loop.done) == CHAINS * LENGTH
                each = 1000 * loop.restore_seconds / max(1, loop.restores)
                saved = f"{loop.restores} | {each:.0f}" if restore else "none | -"
                row = f"| `{policy}` | {products} | {loop.placed:,} | {rest:.1f}"
                print(f"{row} | {saved} |", flush=True)
