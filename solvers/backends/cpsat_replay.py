"""Bound the makespan of replication plans by a relaxation of the replay, on CP-SAT.

Every replay of every plan is a solution of the relaxation. Copies in plans, dispatches
and evictions are covered: an arrival is the first one of a file on a node, whatever its
reason. Times are whole ticks of a common divisor. If these would be too many, times are
rounded down. A replay stays a solution then, because a constraint only says that one
event follows another by a fixed time, or that intervals do not overlap.

Proofs stand next to the constraints (docs/replication-models.md has them in formulas).
The relaxation ignores several things: how the link is shared, which node sends a copy
and what else it sends, repeated fetches, and disks. The bound is not valid for
``sources=least-loaded``, nor for plans that prescribe transfers. In both cases, nodes
may fetch files that other nodes have.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from ioopt.errors import OutOfTime
from ioopt.models.replication.workflow_bound import TransferBound, bounds_of
from ioopt.options import Deadline
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
"""Largest number of ticks of a makespan.

Rounding down loses less than one tick for each time on a path. All of this is less than
1e-9 of the makespan, within which a bound proves a plan.
"""
FLOAT_ERROR = Fraction(1, 10**10)
"""Relative error of times that were computed as floats."""
MOST_PAIRS = 4000
"""Largest number of pairs of a task or file with a node; larger models take too long to
build.
"""
MOST_SECONDS = 20.0
"""Limit of all searches together, in wall-clock seconds."""
WORK = 3.0
"""Limit of all searches together in seconds of CP-SAT's deterministic time, so that
runs can be repeated.
"""
SEARCHES: tuple[tuple[float, dict[str, object]], ...] = (
    (0.3, {"optimize_with_core": True}),
    (1.0, {"optimize_with_lb_tree_search": True}),
)
"""For each search, its share of the time and its parameters.

The first search ends soon if the other bounds are near the optimum. The second one
raises the bound most.
"""


class Relaxed(NamedTuple):
    """What CP-SAT found about a problem.

    ``seconds`` is a lower bound of the makespan of all plans; 0 if the problem is too
    large. ``queues`` has the tasks of each node in the best solution found, in order of
    their starts; it is empty if none was found.
    """

    seconds: float
    queues: list[list[int]]


def relaxed(
    problem: ReplicationProblem, upper: float, request: SolveRequest, seconds: float
) -> Relaxed:
    """Bound the makespan of all plans.

    *upper* is the makespan of a known plan. Building the model and all searches take at
    most *seconds* of wall-clock time. The answer is the same in each run, unless this
    limit comes before that of CP-SAT's deterministic time.
    """
    deadline = request.deadline.within(min(seconds, MOST_SECONDS))
    pairs = len(problem.nodes) * (len(problem.tasks) + len(problem.files))
    if pairs > MOST_PAIRS or not 0.0 < upper < math.inf:
        return Relaxed(0.0, [])
    try:
        relaxation = Relaxation(problem, upper, deadline)
    except OutOfTime:
        return Relaxed(0.0, [])
    asked = request.options
    best = 0.0
    queues: list[list[int]] = []
    for share, search in SEARCHES:
        if deadline.expired():
            break
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
        if answer.found:
            queues = relaxation.queues(answer.values)
        if answer.status in (Status.OPTIMAL, Status.INFEASIBLE):
            break
    return Relaxed(min(best, upper), queues)


class Ticks:
    """Unit of time that divides all *times*, so that they are whole ticks.

    If *upper* would have more than ``MOST_TICKS`` such ticks, a coarser unit is taken,
    and times are rounded down.
    """

    def __init__(self, times: Iterable[Fraction], upper: float) -> None:
        some = {time for time in times if time}
        base = math.lcm(*(time.denominator for time in some))
        fine = Fraction(base, math.gcd(*(int(time * base) for time in some)) or 1)
        self.per_second = min(fine, MOST_TICKS / exact(upper))
        self.slack = int(self.per_second < fine)
        """Ticks by which rounding may exchange the order of two ends, at most."""

    def of(self, seconds: Fraction) -> int:
        """Return *seconds* in ticks, rounded down."""
        return int(seconds * self.per_second)

    def near(self, seconds: float) -> int:
        """Return a computed float of *seconds* in ticks, rounded down.

        A float just below a whole number of ticks counts as this number.
        """
        return int(exact(seconds) * self.per_second * (1 + FLOAT_ERROR))

    def seconds(self, ticks: float) -> float:
        """Return a bound in *ticks* as seconds.

        The bound is a whole number except for errors of floats, so it is rounded first.
        """
        return float(round(ticks) / self.per_second)


class Relaxation:
    """Build the relaxation of *problem* for plans that end by *upper* seconds.

    ``model`` minimises ``makespan``, in ticks. Raises OutOfTime once *deadline* has
    passed.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        upper: float,
        deadline: Deadline | None = None,
    ) -> None:
        self.problem = problem
        self.deadline = deadline or Deadline(None)
        self.bounds = bounds_of(TransferBound, problem)
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
            overhead = exact(problem.tasks[k].overhead_seconds)
            for i in hosts:
                work[k, i] = overhead + seconds / exact(problem.nodes[i].speed)
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
        self._require_time()
        self._equals()
        for f, file in enumerate(problem.files):
            self._require_time()
            if file.bytes and problem.readers[f]:
                self._file(f)
        self._nodes()
        self._require_time()
        self._links()
        self.model.minimize(self.makespan)

    def queues(self, values: Mapping[int, float]) -> list[list[int]]:
        """Return the tasks of each node in order of their starts, in a solution with
        these *values* of the variables, keyed by index.
        """
        queues: list[list[int]] = [[] for _ in self.problem.nodes]
        for k in sorted(self.bounds.order, key=lambda k: values[self.start[k].index]):
            for i in self.problem.hosts[k]:
                if values[self.on[k, i].index] > 0.5:
                    queues[i].append(k)
        return queues

    def _require_time(self) -> None:
        """Raise OutOfTime if the deadline has passed."""
        if self.deadline.expired():
            raise OutOfTime("the relaxation was not built in time")

    def _time(self, least: int = 0) -> IntVar:
        return self.model.new_int_var(min(least, self.end), self.end, "")

    def _after(self, late: LinearExprT, early: LinearExprT, *where: BoolVarT) -> None:
        """Require *late* >= *early* if all conditions in *where* are true."""
        self.model.add(late - early >= 0).only_enforce_if(*where)

    def _tasks(self) -> None:
        """Put each task on one node, after its producers.

        The starts and tails of workflow rule 18 limit the variables.
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
        """Break symmetries: order equal tasks by start, and equal nodes by their first
        task.

        No constraint distinguishes equal tasks or nodes. Exchanging two of them gives
        another solution of the same value.
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
        """Add the first arrival of file *f* on any node, and that on each node with a
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
        # A copy takes at least `wire` ticks. So a copy that ends before first + 2 wire
        # began before first + wire, when only the first holders had the file. Until
        # first + 2 wire the interface of each holder sends only one such copy. If all
        # holders have lost the file, one node fetches it, which takes at least `wire`
        # ticks too, and the other nodes wait for that node.
        model.add(sum(early) <= max(1, len(holders)))

    def _first_arrivals(self, f: int) -> dict[int, BoolVarT]:
        """Let exactly one node be the first to fetch file *f* from remote storage.

        Return, for each node, the variable that says whether it is that node.
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
        """Add an optional transfer to node *i*, which takes *long* ticks from *begun*
        on.

        Return the variable that says whether it takes place.
        """
        comes = self.model.new_bool_var("")
        span = self.model.new_optional_fixed_size_interval_var(begun, long, comes, "")
        self.arrivals[i].append(span)
        return comes

    def _nodes(self) -> None:
        """Limit the cores of each node, and the arrivals on nodes that stage one task
        at a time.

        On such a node arrivals do not overlap, and no task starts during an arrival.
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
        """Require that transfers over a shared link, or from one storage, do not
        overlap.

        Any replay can be reordered so that they follow one another. First come the
        first arrivals, in the order of their ends: by the end of one, the bytes of all
        up to it have crossed. Then come the saves, in the order in which their
        producers end: those of one producer and of all later ones cross after its end,
        and all cross by the makespan.
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
