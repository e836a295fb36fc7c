"""A relaxation of the replay of small workflows for CP-SAT: tasks and arrivals of files as intervals.

Every replay of every legal plan is a point of it with an objective of at most its makespan, so that
its bound is one of all plans; the order of its starts is a guide to queues. Times are whole ticks,
all rounded down: what starts at t and takes d may be taken to start at floor(t) and to take
floor(d). What is left out: staging for the head alone, sharing of the link but for (8), eviction and spills.

Sets and data: tasks k, nodes i, files f; p(f) the producer; w(k, i) compute time; d(f) least time of a
file through an interface; ES, q heads and tails of workflow rule 18. Variables: x(k, i) 1 where k runs on
i; s(k), e(k) start and end; y(f, i) 1 where f must come to i, from a(f, i) to a(f, i) + d(f) at the last;
g(f) when f, born remote, has come to some node first; C the makespan.

(1) sum over i of x(k, i) = 1
(2) e(k) = s(k) + sum over i of w(k, i) x(k, i); C >= e(k) + q(k)
(3) s(k) >= e(p) for the producers p of its inputs
(4) y(f, i) >= x(k, i) - x(p(f), i) for the readers k of f; without the last term if f is born remote
(5) a(f, i) >= e(p(f)), and s(k) >= a(f, i) + d(f) where k is on i and p(f) is not
(6) on each node tasks take no more than its cores, and outputs and private inputs no more than its disk
(7) on each node at most one file arrives at a time
(8) the first fetches share one link: sum of l(f) g(f) >= half of (sum of l)^2 + sum of l^2 (the mean
    busy time of one machine, whatever the order and the sharing), s(k) >= g(f); what a task and those
    before it read of them has crossed the links before it starts
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from ioopt.models.program import Capacity, Interval, Number, Program
from ioopt.models.replication.workflow_bound import TransferBound
from ioopt.problems.replication import ReplicationProblem

TICKS = 1_000_000
"""Ticks from 0 to the makespan of the plan at hand."""
NO_ROOM = 1 << 40


class IntervalModel:
    """The relaxation of *problem* for plans that end by *upper* seconds."""

    def __init__(self, problem: ReplicationProblem, upper: float) -> None:
        self.problem, self.upper = problem, upper
        self.bounds = TransferBound(problem)
        self.program = Program("workflow intervals")
        self.makespan = self.program.whole("C", self._ticks(self.bounds.seconds), TICKS)
        self.program.objective = {self.makespan: 1}
        tasks, nodes = range(len(problem.tasks)), range(len(problem.nodes))
        self.on = {
            (k, i): self.program.binary(f"x[{k},{i}]")
            for k, i in product(tasks, nodes)
            if problem.fits(k, i)
        }
        self.start = [self.program.whole(f"s[{k}]", self._head(k), TICKS) for k in tasks]
        self.end = [self.program.whole(f"e[{k}]", 0, TICKS) for k in tasks]
        self.comes: dict[tuple[int, int], int] = {}
        self.arrives: dict[tuple[int, int], int] = {}
        self.first: dict[int, int] = {}
        for k in tasks:
            self._task(k)
        for f, i in product(range(len(problem.files)), nodes):
            self._arrival(f, i)
        for i in nodes:
            self._node(i)
        self._link()

    def _ticks(self, seconds: float) -> int:
        """Whole ticks, rounded down; the last digits of *seconds* may be rounding."""
        return max(0, int(seconds / self.upper * TICKS * (1 - 1e-12)))

    def seconds(self, ticks: float) -> float:
        """A bound in ticks as seconds."""
        return ticks * self.upper / TICKS

    def _head(self, k: int) -> int:
        """ES, and the time on the link of all that the task and those before it must fetch first."""
        problem, network = self.problem, self.problem.network
        known, fetched = {k}, [k]
        for other in fetched:
            fetched += [p for p in problem.predecessors[other] if p not in known]
            known.update(fetched)
        files = {f for other in known for f in problem.inputs[other]} & self.bounds.first_touch
        links = 1 if network.remote_link == "shared" else len(problem.nodes)
        rate = links * network.remote_bytes_per_second
        head = sum(problem.files[f].bytes for f in files) / rate
        return min(self._ticks(max(head, self.bounds.earliest_start[k])), TICKS)

    def _work(self, k: int, i: int) -> int:
        problem = self.problem
        return self._ticks(problem.tasks[k].compute_seconds / problem.nodes[i].speed)

    def _wire(self, f: int) -> int:
        return self._ticks(self.problem.files[f].bytes * self.problem.replica_seconds_per_byte)

    def _hosts(self, k: int) -> list[int]:
        return [i for other, i in self.on if other == k]

    def _task(self, k: int) -> None:
        add, hosts = self.program.add, self._hosts(k)
        add(f"(1)[{k}]", [(self.on[k, i], 1) for i in hosts], 1, 1)
        work = [(self.on[k, i], self._work(k, i)) for i in hosts]
        add(f"(2)[{k}]", [(self.end[k], -1), (self.start[k], 1), *work], 0, 0)
        tail = self._ticks(self.bounds.tail[k])
        add(f"(2) tail[{k}]", [(self.makespan, 1), (self.end[k], -1)], tail)
        for p in self.problem.predecessors[k]:
            add(f"(3)[{p},{k}]", [(self.start[k], 1), (self.end[p], -1)], 0)

    def _arrival(self, f: int, i: int) -> None:
        """(4) and (5) for one file and node."""
        problem, program, wire = self.problem, self.program, self._wire(f)
        readers = [k for k in problem.readers[f] if (k, i) in self.on]
        if not readers or f in problem.holds[i]:
            return
        maker = problem.producer[f]
        least = 0
        if maker < 0 and f in self.bounds.first_touch:
            least = max(0, self._ticks(self.bounds.first_arrival(f)) - wire - 1)
        comes = self.comes[f, i] = program.binary(f"y[{f},{i}]")
        at = self.arrives[f, i] = program.whole(f"a[{f},{i}]", min(least, TICKS), TICKS)
        if maker >= 0:
            program.add(f"(5)[{f},{i}]", [(at, 1), (self.end[maker], -1)], 0)
        here = [(self.on[maker, i], 1)] if (maker, i) in self.on else []
        most = TICKS + wire
        for k in readers:
            row = [(comes, 1), (self.on[k, i], -1), *here]
            program.add(f"(4)[{f},{i},{k}]", row, 0)
            free = [(column, most) for column, _ in here]
            row = [(self.start[k], 1), (at, -1), (self.on[k, i], -most), *free]
            program.add(f"(5)[{f},{i},{k}]", row, wire - most)

    def _node(self, i: int) -> None:
        """(6) and (7)."""
        problem, node = self.problem, self.problem.nodes[i]
        tasks = [k for k in range(len(problem.tasks)) if (k, i) in self.on]
        runs = [Interval(self.start[k], self._work(k, i), self.on[k, i]) for k in tasks]
        capacities = self.program.capacities
        cores = [problem.tasks[k].cores for k in tasks]
        capacities.append(Capacity(f"(6) cores[{i}]", runs, cores, node.cores))
        if node.disk_bytes is not None and node.disk_bytes < NO_ROOM:
            own = [self._own_bytes(k) for k in tasks]
            capacities.append(Capacity(f"(6) disk[{i}]", runs, own, node.disk_bytes))
        files = [f for f, other in self.arrives if other == i]
        come = [Interval(self.arrives[f, i], self._wire(f), self.comes[f, i]) for f in files]
        capacities.append(Capacity(f"(7)[{i}]", come, [1] * len(come), 1))

    def _own_bytes(self, k: int) -> int:
        """Outputs of *k* and inputs that nothing else reads: no other task's use covers them."""
        problem = self.problem
        private = [f for f in problem.inputs[k] if problem.readers[f] == (k,)]
        return sum(problem.files[f].bytes for f in (*problem.outputs[k], *private))

    def _link(self) -> None:
        """(8), on a shared link."""
        problem, program = self.problem, self.program
        network = problem.network
        if network.remote_link != "shared":
            return
        lengths = {
            f: self._ticks(problem.files[f].bytes / network.remote_bytes_per_second)
            for f in sorted(self.bounds.first_touch)
        }
        for f in lengths:
            least = min(self._ticks(self.bounds.first_arrival(f)), TICKS)
            self.first[f] = program.whole(f"g[{f}]", least, TICKS)
            for k in problem.readers[f]:
                program.add(f"(8)[{f},{k}]", [(self.start[k], 1), (self.first[f], -1)], 0)
        total, squares = sum(lengths.values()), sum(n * n for n in lengths.values())
        # Each g is rounded down by less than one tick.
        terms: Sequence[tuple[int, Number]] = [(self.first[f], n) for f, n in lengths.items()]
        if terms:
            program.add("(8)", terms, (total * total + squares) // 2 - total)

    def hint(self, schedule: Mapping[str, Any]) -> dict[int, Number]:
        """A replayed schedule as a point, every variable with a value."""
        problem = self.problem
        values: dict[int, Number] = defaultdict(int)
        values |= {at: item.least for at, item in enumerate(self.program.variables)}
        for row in schedule["tasks"]:
            k, i = problem.task_index[row["id"]], problem.node_index[row["node"]]
            values[self.on[k, i]] = 1
            values[self.start[k]] = self._ticks(row["start_seconds"])
            values[self.end[k]] = values[self.start[k]] + self._work(k, i)
        for (f, _), at in self.arrives.items():
            if problem.producer[f] >= 0:
                values[at] = max(values[at], values[self.end[problem.producer[f]]])
        came: dict[int, int] = defaultdict(lambda: TICKS)
        for move in reversed(schedule["transfers"]):
            f, target = problem.file_index[move["file"]], move["destination"]
            if target is None or (f, problem.node_index[target]) not in self.arrives:
                continue
            i = problem.node_index[target]
            wire = problem.files[f].bytes * problem.replica_seconds_per_byte
            at = self.arrives[f, i]
            values[self.comes[f, i]] = 1
            values[at] = max(
                self.program.variables[at].least, self._ticks(move["end_seconds"] - wire)
            )
            came[f] = min(came[f], self._ticks(move["end_seconds"]))
        for f, at in self.first.items():
            values[at] = max(values[at], came[f])
        values[self.makespan] = TICKS
        return values

    def queues(self, values: Mapping[int, Number]) -> list[list[int]]:
        """The tasks of each node by their starts, ties after their predecessors."""
        rank = {k: n for n, k in enumerate(self.bounds.order)}
        rows: list[list[int]] = [[] for _ in self.problem.nodes]
        for k in sorted(rank, key=lambda k: (values[self.start[k]], rank[k])):
            rows[next(i for i in self._hosts(k) if values[self.on[k, i]] > 0.5)].append(k)
        return rows
