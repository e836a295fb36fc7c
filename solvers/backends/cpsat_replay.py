"""Bound the makespan by a relaxation of the replay, written for CP-SAT.

Every replay of every plan is a point of the relaxation. Copy entries, dispatches and
evictions are covered: an arrival is the first one of a file on a node, whatever its
reason. Times are whole ticks of a common divisor or, if these would be too many,
rounded down. A replay with all times rounded down is still a point: a constraint says
only that one event follows another by a fixed time, or that intervals do not overlap.

Proofs stand next to the constraints (docs/replication-models.md has them in formulas).
The relaxation ignores how the link is shared, which node sends a copy and what else it
sends, repeated fetches, and disks. The bound does not hold for
``sources=least-loaded``, nor for plans with transfers to carry out: in both, nodes
fetch files that others have.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from ioopt.models.replication.workflow_bound import TransferBound
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.result import Status
from ioopt.solvers.backends.answer import LEAST_SECONDS, BackendLimits
from ioopt.solvers.backends.cpsat_program import load_cp_model, solve_cpsat
from ioopt.units import exact

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import (
        BoolVarT,
        CpModel,
        IntervalVar,
        IntVar,
        LinearExprT,
    )

MOST_TICKS = 10**12
"""Most ticks of a makespan. Rounding down loses less than one tick for each time on a
path. All of that is less than 1e-9 of the makespan, within which a bound proves a plan.
"""
FLOAT_ERROR = Fraction(1, 10**10)
"""Relative error of times that are given as floats."""
MOST_PAIRS = 4000
"""Most pairs of a task or a file with a node; larger models take too long to build."""
MOST_SECONDS = 20.0
"""Wall-clock seconds for all searches."""
WORK = 3.0
"""Seconds of CP-SAT's deterministic time for all searches, so that runs repeat."""
SEARCHES: tuple[tuple[float, dict[str, object]], ...] = (
    (0.3, {"optimize_with_core": True}),
    (1.0, {"optimize_with_lb_tree_search": True}),
)
"""Share of the time and parameters of each search. The first search ends soon if the
other bounds are near the optimum; the second one raises the bound most.
"""


def relaxed_seconds(
    problem: ReplicationProblem, upper: float, request: SolveRequest, seconds: float
) -> float:
    """Return a lower bound of the makespan of all plans; 0 for large problems.

    *upper* is the makespan of a known plan. The call takes at most *seconds* of
    wall-clock time, including the building of the model.
    """
    deadline = request.deadline.within(min(seconds, MOST_SECONDS))
    pairs = len(problem.nodes) * (len(problem.tasks) + len(problem.files))
    if pairs > MOST_PAIRS or not 0.0 < upper < math.inf:
        return 0.0
    relaxation = Relaxation(problem, upper)
    asked = request.options
    best = 0.0
    for share, search in SEARCHES:
        limits = BackendLimits(
            max(LEAST_SECONDS, share * deadline.remaining()),
            threads=asked.threads,
            seed=asked.seed,
            log=asked.log,
            work=share * WORK,
        )
        search = {"symmetry_level": 0, **search}
        answer = solve_cpsat(relaxation.model, limits, parameters=search)
        if answer.bound is not None:
            best = max(best, relaxation.ticks.seconds(answer.bound))
        if answer.status in (Status.OPTIMAL, Status.INFEASIBLE):
            break
    return min(best, upper)


class Ticks:
    """Choose a unit of time that divides all *times*; *upper* has ``MOST_TICKS`` at
    most.

    If there is no such unit, times are rounded down.
    """

    def __init__(self, times: Iterable[Fraction], upper: float) -> None:
        some = {time for time in times if time}
        base = math.lcm(*(time.denominator for time in some))
        fine = Fraction(base, math.gcd(*(int(time * base) for time in some)) or 1)
        self.per_second = min(fine, MOST_TICKS / exact(upper))
        self.slack = int(self.per_second < fine)
        """Most ticks by which rounding may exchange the order of two ends."""

    def of(self, seconds: Fraction) -> int:
        """Return *seconds* in ticks, rounded down."""
        return int(seconds * self.per_second)

    def near(self, seconds: float) -> int:
        """Return *seconds*, a computed float, in ticks; ignore its error, then round
        down.
        """
        return int(exact(seconds) * self.per_second * (1 + FLOAT_ERROR))

    def seconds(self, ticks: float) -> float:
        """Return the nearest float to a bound in *ticks*.

        The bound is a whole number but for errors of floats.
        """
        return float(round(ticks) / self.per_second)


class Relaxation:
    """Build the relaxation of *problem* for plans that end by *upper* seconds.

    It minimises ``makespan``.
    """

    def __init__(self, problem: ReplicationProblem, upper: float) -> None:
        self.problem = problem
        self.bounds = TransferBound(problem)
        self.model: CpModel = load_cp_model().CpModel()
        network = problem.network
        self.remote = exact(network.remote_bytes_per_second)
        self.replica = exact(network.replica_bytes_per_second)
        self.disks = {
            storage.id: exact(storage.bytes_per_second) for storage in problem.storages
        }
        work: dict[tuple[int, int], Fraction] = {}
        for k, hosts in enumerate(problem.hosts):
            seconds = exact(problem.tasks[k].compute_seconds)
            for i in hosts:
                work[k, i] = seconds / exact(problem.nodes[i].speed)
        times = [exact(task.release_seconds) for task in problem.tasks]
        for rate in (self.remote, self.replica, *self.disks.values()):
            times += [file.bytes / rate for file in problem.files]
        self.ticks = Ticks([*work.values(), *times], upper)
        self.end = self.ticks.near(upper)
        self.work = {pair: self.ticks.of(seconds) for pair, seconds in work.items()}
        self.makespan = self._time(self.ticks.near(self.bounds.seconds))
        self.first: dict[int, LinearExprT] = {}
        self.arrivals: dict[int, list[IntervalVar]] = defaultdict(list)
        self._tasks()
        self._equals()
        for f, file in enumerate(problem.files):
            if file.bytes and problem.readers[f]:
                self._file(f)
        self._nodes()
        self._links()
        self.model.minimize(self.makespan)

    def _time(self, least: int = 0) -> IntVar:
        return self.model.new_int_var(min(least, self.end), self.end, "")

    def _after(self, late: LinearExprT, early: LinearExprT, *where: BoolVarT) -> None:
        """Constrain *late* to be no earlier than *early* if all conditions *where* are
        true.
        """
        self.model.add(late - early >= 0).only_enforce_if(*where)

    def _tasks(self) -> None:
        """Put each task on one node after its producers; use starts and tails of
        workflow rule 18.
        """
        problem = self.problem
        model = self.model
        ticks = self.ticks
        self.on = {pair: model.new_bool_var("") for pair in self.work}
        self.start = [
            self._time(ticks.near(seconds)) for seconds in self.bounds.earliest_start
        ]
        self.stop = [self._time() for _ in problem.tasks]
        for k, hosts in enumerate(problem.hosts):
            model.add_exactly_one(self.on[k, i] for i in hosts)
            long = sum(self.work[k, i] * self.on[k, i] for i in hosts)
            model.add(self.stop[k] == self.start[k] + long)
            self._after(self.makespan, self.stop[k] + ticks.near(self.bounds.tail[k]))
            for p in problem.predecessors[k]:
                self._after(self.start[k], self.stop[p])

    def _equals(self) -> None:
        """Break symmetries: order equal tasks by start, and equal nodes by first use.

        No constraint distinguishes them: exchanging two gives another point of the same
        value.
        """
        last: dict[object, int] = {}
        for k, task in enumerate(self.problem.tasks):
            key: object = task.model_copy(update={"id": ""})
            if not task.outputs:
                self._after(self.start[k], self.start[last.get(key, k)])
                last[key] = k
        before: dict[object, int] = {}
        for i, node in enumerate(self.problem.nodes):
            key = node.model_copy(update={"id": "", "holds": tuple(sorted(node.holds))})
            if key in before:
                hosted = [k for k in range(len(self.start)) if (k, i) in self.on]
                for k in hosted:
                    earlier = [self.on[m, before[key]] for m in hosted if m < k]
                    self.model.add(sum(earlier) >= self.on[k, i])
            before[key] = i

    def _file(self, f: int) -> None:
        """Add the first arrival of *f* on any node, and on each other node with a
        reader.
        """
        problem = self.problem
        model = self.model
        maker = problem.producer[f]
        wire = self.ticks.of(problem.files[f].bytes / self.replica)
        holders = [i for i, held in enumerate(problem.holds) if f in held]
        has: dict[int, BoolVarT] = dict.fromkeys(holders, True)
        first: LinearExprT = 0
        if f in self.bounds.first_touch:
            has = self._first_arrivals(f)
            first = self.first[f]
        elif maker >= 0:
            first = self.stop[maker]
            has = {i: self.on[maker, i] for i in problem.hosts[maker]}
        early = []
        for i in set(range(len(problem.nodes))).difference(holders):
            readers = [k for k in problem.readers[f] if (k, i) in self.on]
            begun = self._time()
            soon = model.new_bool_var("")
            comes = self._arrives(i, begun, wire)
            self._after(begun, first, comes)
            self._after(begun, first + wire, comes, ~soon)
            early.append(soon)
            for k in readers:
                model.add(comes + has.get(i, 0) >= self.on[k, i])
                self._after(self.start[k], begun + wire, self.on[k, i], comes)
        # Copies that complete before first + 2 wire began before first + wire, when
        # only the first holders had the file; the interface of each sends one in that
        # time. If all of them have lost the file, one node fetches it, which takes at
        # least a wire, and the others wait for that.
        model.add(sum(early) <= max(1, len(holders)))

    def _first_arrivals(self, f: int) -> dict[int, BoolVarT]:
        """Let one node fetch *f* first from remote storage; return that choice by
        node.
        """
        rate = min(self.remote, self.replica)
        storage = self.problem.files[f].storage
        if storage:
            rate = min(rate, self.disks[storage])
        begun = self._time()
        long = self.ticks.of(self.problem.files[f].bytes / rate)
        first = begun + long
        self.first[f] = first
        self._after(
            first + self.ticks.slack, self.ticks.near(self.bounds.first_arrival(f))
        )
        nodes = range(len(self.problem.nodes))
        arrives = {i: self._arrives(i, begun, long) for i in nodes}
        self.model.add_exactly_one(arrives.values())
        for k in self.problem.readers[f]:
            self._after(self.start[k], first)
        return arrives

    def _arrives(self, i: int, begun: IntVar, long: int) -> BoolVarT:
        """Return a variable: whether a transfer of *long* ticks from *begun* on arrives
        on node *i*.
        """
        comes = self.model.new_bool_var("")
        span = self.model.new_optional_fixed_size_interval_var(begun, long, comes, "")
        self.arrivals[i].append(span)
        return comes

    def _nodes(self) -> None:
        """Limit each node's cores, and allow one arrival at a time while no task
        starts.
        """
        optional = self.model.new_optional_fixed_size_interval_var
        for i, node in enumerate(self.problem.nodes):
            tasks = [(k, here) for (k, other), here in self.on.items() if other == i]
            spans = [
                optional(self.start[k], self.work[k, i], here, "") for k, here in tasks
            ]
            cores = [self.problem.tasks[k].cores for k, _ in tasks]
            self.model.add_cumulative(spans, cores, node.cores)
            if node.staging == 1:
                starts = [optional(self.start[k], 0, here, "") for k, here in tasks]
                self.model.add_no_overlap([*self.arrivals[i], *starts])

    def _links(self) -> None:
        """Add that transfers over a shared link or from a storage do not overlap.

        Any replay can be reordered so that they follow one another. First come first
        arrivals in the order of their ends: the bytes of all up to one of them have
        crossed by its end. Then come saves in the order of their producers' ends: those
        of one and of all later ones cross after it, and all together by the makespan.
        """
        problem = self.problem
        shared = []
        if problem.network.remote_link == "shared":
            shared.append((self.remote, list(range(len(problem.files)))))
        for name, rate in self.disks.items():
            shared.append(
                (rate, [f for f, x in enumerate(problem.files) if x.storage == name])
            )
        for rate, files in shared:
            spans = []
            for f in files:
                begun = self._time()
                long = self.ticks.of(problem.files[f].bytes / rate)
                span = self.model.new_fixed_size_interval_var(begun, long, "")
                if f in self.first:
                    self._after(self.first[f] + self.ticks.slack, begun + long)
                elif problem.producer[f] >= 0 and problem.files[f].keep:
                    self._after(begun, self.stop[problem.producer[f]])
                    self._after(self.makespan, begun + long)
                else:
                    continue
                spans.append(span)
            self.model.add_no_overlap(spans)
