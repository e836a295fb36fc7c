"""A relaxation of the replay for CP-SAT: every replay of every plan is a point of it.

Copy entries, dispatches and evictions are covered: an arrival is the first one of a
file on a node, for whatever reason it comes. Times are whole ticks that divide them all
or, where these would be too many, rounded down. A replay is a point with each of its
times rounded down too: that keeps every row, for a row says only that one thing comes
after another by a fixed time, or that intervals are apart.

Proofs stand beside the rows (docs/replication-models.md has them in formulas). Left
out: how the link is shared, which node sends a copy and what else it sends, fetching
again, and disks. Not for ``sources=least-loaded``, nor for moves that a plan carries
out: there nodes fetch what others have.
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
"""Of a makespan. Rounding down loses less than one for each of the times in a row: all
of it less than the 1e-9 within which a bound proves a plan."""
FLOAT_ERROR = Fraction(1, 10**10)
"""Relative, of times that are given as floats."""
MOST_PAIRS = 4000
"""Of tasks and files with nodes; larger models are not built in a moment."""
MOST_SECONDS, WORK = 20.0, 3.0
"""Of the clock, and of CP-SAT's own time, by which it repeats."""
SEARCHES: tuple[tuple[float, dict[str, object]], ...] = (
    (0.3, {"optimize_with_core": True}),
    (1.0, {"optimize_with_lb_tree_search": True}),
)
"""Shares and parameters. The first soon ends where today's bounds are near, the
second raises them most.
"""


def relaxed_seconds(
    problem: ReplicationProblem, upper: float, request: SolveRequest, seconds: float
) -> float:
    """A bound of the makespans of all plans, of which one ends after *upper*
    seconds; 0 for large ones.

    Takes *seconds* of the clock at most, the writing of the model among them.
    """
    deadline = request.deadline.within(min(seconds, MOST_SECONDS))
    pairs = len(problem.nodes) * (len(problem.tasks) + len(problem.files))
    if pairs > MOST_PAIRS or not 0.0 < upper < math.inf:
        return 0.0
    relaxation = Relaxation(problem, upper)
    asked, best = request.options, 0.0
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
    """Whole units of time that divide all *times*, at most ``MOST_TICKS``
    up to *upper* seconds.
    """

    def __init__(self, times: Iterable[Fraction], upper: float) -> None:
        some = {time for time in times if time}
        base = math.lcm(*(time.denominator for time in some))
        fine = Fraction(base, math.gcd(*(int(time * base) for time in some)) or 1)
        self.per_second = min(fine, MOST_TICKS / exact(upper))
        self.slack = int(self.per_second < fine)
        """Ticks by which two ends that were both rounded may be out of order."""

    def of(self, seconds: Fraction) -> int:
        """*seconds*, rounded down."""
        return int(seconds * self.per_second)

    def near(self, seconds: float) -> int:
        """A float of *seconds*, rounded down but for its own last digits."""
        return int(exact(seconds) * self.per_second * (1 + FLOAT_ERROR))

    def seconds(self, ticks: float) -> float:
        """The nearest float to a bound in *ticks*, which is a whole number but
        for its last digits.
        """
        return float(round(ticks) / self.per_second)


class Relaxation:
    """The model of *problem* for plans that end by *upper* seconds;
    ``makespan`` is minimised.
    """

    def __init__(self, problem: ReplicationProblem, upper: float) -> None:
        self.problem, self.bounds = problem, TransferBound(problem)
        self.model: CpModel = load_cp_model().CpModel()
        network = problem.network
        self.remote = exact(network.remote_bytes_per_second)
        self.replica = exact(network.replica_bytes_per_second)
        self.disks = {s.id: exact(s.bytes_per_second) for s in problem.storages}
        work = {
            (k, i): exact(problem.tasks[k].compute_seconds)
            / exact(problem.nodes[i].speed)
            for k, hosts in enumerate(problem.hosts)
            for i in hosts
        }
        rates = (self.remote, self.replica, *self.disks.values())
        moved = [file.bytes / rate for file in problem.files for rate in rates]
        late = [exact(task.release_seconds) for task in problem.tasks]
        self.ticks = Ticks([*work.values(), *moved, *late], upper)
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
        """*late* is no earlier than *early*, if all of *where* hold."""
        self.model.add(late - early >= 0).only_enforce_if(*where)

    def _tasks(self) -> None:
        """A task is on one node, behind its producers, with the starts and tails
        of workflow rule 18.
        """
        problem, model, ticks = self.problem, self.model, self.ticks
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
        """Equal tasks start in order, and each of equal nodes is first
        used by a later task.

        No row tells one from the other: exchanged, they make another point as good.
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
            hosted = [k for k in range(len(self.start)) if (k, i) in self.on]
            for k in hosted if key in before else ():
                earlier = [self.on[m, before[key]] for m in hosted if m < k]
                self.model.add(sum(earlier) >= self.on[k, i])
            before[key] = i

    def _file(self, f: int) -> None:
        """When *f* is first on a node, and on each other node with a reader."""
        problem, model, ticks = self.problem, self.model, self.ticks
        size, maker = problem.files[f].bytes, problem.producer[f]
        wire = ticks.of(size / self.replica)
        holders = [i for i, held in enumerate(problem.holds) if f in held]
        has: dict[int, BoolVarT] = dict.fromkeys(holders, True)
        first: LinearExprT = 0
        if f in self.bounds.first_touch:
            # Some node has it first, a reader's or one with a copy entry: from remote
            # storage, at this rate.
            storage = problem.files[f].storage
            rate = min(
                self.remote, self.replica, *[self.disks[s] for s in [storage] if s]
            )
            begun, far = self._time(), ticks.of(size / rate)
            first = self.first[f] = begun + far
            self._after(first + ticks.slack, ticks.near(self.bounds.first_arrival(f)))
            has = {i: self._arrives(i, begun, far) for i in range(len(problem.nodes))}
            model.add_exactly_one(has.values())
            for k in problem.readers[f]:
                self._after(self.start[k], first)
        elif maker >= 0:
            first = self.stop[maker]
            has = {i: self.on[maker, i] for i in problem.hosts[maker]}
        early = []
        for i in set(range(len(problem.nodes))).difference(holders):
            readers = [k for k in problem.readers[f] if (k, i) in self.on]
            begun, soon = self._time(), model.new_bool_var("")
            comes = self._arrives(i, begun, wire)
            self._after(begun, first, comes)
            self._after(begun, first + wire, comes, ~soon)
            early.append(soon)
            for k in readers:
                model.add(comes + has.get(i, 0) >= self.on[k, i])
                self._after(self.start[k], begun + wire, self.on[k, i], comes)
        # Copies complete before first + 2 wire began before first + wire, when only
        # the first holders had it; the interface of each sends one in that time. If
        # all of them have lost it, one node fetches it, in a wire at least, and the
        # others wait for that.
        model.add(sum(early) <= max(1, len(holders)))

    def _arrives(self, i: int, begun: IntVar, long: int) -> BoolVarT:
        """Whether something arrives on node *i* that takes *long* from *begun* on."""
        comes = self.model.new_bool_var("")
        span = self.model.new_optional_fixed_size_interval_var(begun, long, comes, "")
        self.arrivals[i].append(span)
        return comes

    def _nodes(self) -> None:
        """The cores of a node; one arrival at a time, for its head,
        while nothing starts.
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
        """Transfers that share a link or a storage's disk may be put one after another.

        First arrivals in the order of their ends: the bytes of all up to one of them
        have crossed by its end. Then saves in that of their producers' ends: those of
        one and of all later ones cross after it, and all together by the makespan.
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
                begun, long = self._time(), self.ticks.of(problem.files[f].bytes / rate)
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
