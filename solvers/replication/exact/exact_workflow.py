"""Find and prove the queues with the least makespan, for a small workflow or batch.

The objective is the makespan of the replay. First come all queues of tasks without copy
entries, replayed under any of the three eviction policies. The search starts from a
plan of ``link-aware``. Then a branch and bound along the exact replay
(:mod:`ioopt.solvers.replication.exact.queue_kernel`) takes one policy after the other;
one policy suffices if no file ever has to make room for another. The bound proven for
these queues is the metric ``queues_bound_seconds``. Plans with copy entries or a record
of dispatches may have a shorter makespan; the bound of the result is valid for those
too. So copy entries are searched for at the end
(:mod:`ioopt.solvers.replication.exact.copy_search`), unless the bound is met.

Equal nodes are not exchanged in the search over queues, because the replay breaks ties
by their numbers. In CP-SAT's relaxation they are ordered.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, takewhile
from typing import Annotated, Any

from pydantic import Field

from ioopt.compiled.library import Engine
from ioopt.errors import NotApplicableError, OutOfTime
from ioopt.models.replication.workflow_bound import TransferBound, bounds_of
from ioopt.options import SolveOptions
from ioopt.problems.base import Record
from ioopt.problems.replication import (
    EvictionPolicy,
    MovesGiven,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason, relative_gap
from ioopt.sim.fluid import Flow
from ioopt.sim.replication.build import Queues, build_world, maker_for
from ioopt.sim.replication.simulate import simulate
from ioopt.sim.replication.world import (
    Cell,
    Core,
    File,
    Node,
    Place,
    Read,
    Run,
)
from ioopt.solvers.backends.cpsat_program import load_cp_model
from ioopt.solvers.backends.cpsat_replay import relaxed
from ioopt.solvers.replication.exact import queue_kernel as kernel
from ioopt.solvers.replication.exact.copy_search import CopySearch, copies_in
from ioopt.solvers.replication.exact.queue_bound import (
    Path,
    PathCore,
    PathFile,
    PathTask,
)
from ioopt.solvers.replication.plans import (
    TINY_TASKS,
    Answer,
    build_plan,
    fitting,
)
from ioopt.solvers.replication.search import link_aware, spectral

POLICIES: tuple[EvictionPolicy, ...] = ("farthest-next-use", "popularity", "lru")
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


class QueueLimits(Record):
    """Divide the time and the replays of a solve among its steps.

    The values were chosen on the sweep ``workflow-exact`` and on the bundled instances
    of up to 12 tasks.

    *Size*: instances of more than ``most_tasks`` tasks are refused, because a proof is
    unlikely and the saved states of all branches get large.

    *Start*: the link-aware search may use ``start_share`` of the time limit and
    ``start_replays`` replays. For a tiny instance, only the plans of the planners are
    replayed, and the search over queues makes the ``start_replays`` replays. In plain
    Python they take about as long as loading CP-SAT and bounding a tiny instance.

    *Pieces*: the clock and the gap are looked at every ``piece`` replays. For a tiny
    instance, ``auto`` makes ``tiny_replays`` at most.

    *Relaxation*: after the start, CP-SAT may use ``relax_share`` of the time left. If
    only ``link-aware`` searches, the share ``relax_kept`` of the time limit is kept for
    CP-SAT. Nothing is kept if this share is less than ``least_relaxed`` seconds, the
    time in which CP-SAT is loaded.

    *Copies*: each of the two searches for copy entries makes ``copy_replays`` replays
    at most, about a third of a second if compiled.

    *Answer*: ``answer_seconds`` are reserved for writing the plan.
    """

    most_tasks: Count = 40
    start_share: Share = 0.2
    start_replays: Count = 500
    piece: Count = 64
    tiny_replays: Count = 5_000
    relax_share: Share = 0.4
    copy_replays: Count = 20_000
    relax_kept: Share = 0.2
    least_relaxed: Seconds = 1.0
    answer_seconds: Seconds = 0.05


LIMITS = QueueLimits()


class Settings(Record):
    """Configure the limit of the search.

    ``replays``: largest number of replays (None: until the time limit). A run that ends
    by this count can be repeated exactly. ``robust``: of the plans with the least
    makespan, prefer one that holds under noise. ``moves``: with ``schedule`` the plan
    has the transfers of its replay.
    """

    replays: int | None = None
    robust: bool = True
    moves: MovesGiven = "advice"


def solve(
    problem: ReplicationProblem, request: SolveRequest[Settings, ReplicationPlan]
) -> Answer:
    """Find the queues with the least makespan, and a lower bound of the makespan of
    every plan.

    The bound also holds for plans with copy entries.
    """
    problem.require_products_on_nodes("the search over queues")
    problem.require_room()
    if len(problem.tasks) > LIMITS.most_tasks:
        raise NotApplicableError(
            f"the search over queues accepts up to {LIMITS.most_tasks} tasks, and the "
            f"instance has {len(problem.tasks)}"
        )
    if any(node.staging > 1 for node in problem.nodes):
        raise NotApplicableError(
            "the search over queues replays one staged file at a time, and nodes "
            "have staging above 1; use link-aware"
        )
    request.incumbents.objective_name = "makespan_seconds"
    run = _Run(problem, request)
    run.start()
    if problem.tasks:
        run.search()
        run.hold()
    return run.outcome()


def load_libraries(problem: ReplicationProblem) -> None:
    """Import the libraries that a search for queues of *problem* uses: CP-SAT for its
    bound, and those of the spectral order for its starts.
    """
    tasks = len(problem.tasks)
    if tasks <= LIMITS.most_tasks:
        load_cp_model()
    if tasks > TINY_TASKS:
        spectral.load_libraries()


def least_makespan(problem: ReplicationProblem, request: SolveRequest) -> Answer:
    """Return the answer of the solver ``ip`` if the measure is the makespan.

    For few tasks their queues are enumerated; for more tasks ``link-aware`` searches.
    """
    one_at_a_time = all(node.staging == 1 for node in problem.nodes)
    asked = replace(request, settings=None)
    if one_at_a_time and len(problem.tasks) <= LIMITS.most_tasks:
        return solve(problem, asked)
    found = searched(problem, asked)
    bound = max(found.bound or 0.0, bounds_of(TransferBound, problem).seconds)
    return replace(found, bound=bound)


def searched(
    problem: ReplicationProblem, request: SolveRequest, robust: bool = True
) -> Answer:
    """Return the answer of ``link-aware``, with a better bound for few tasks.

    If time is left, CP-SAT computes this bound by a relaxation. *robust* is the setting
    of ``link-aware``.
    """
    limit = request.deadline
    few = len(problem.tasks) <= LIMITS.most_tasks
    if few and LIMITS.relax_kept * limit.remaining() >= LIMITS.least_relaxed:
        limit = limit.within((1 - LIMITS.relax_kept) * limit.remaining())
    settings = link_aware.Settings(robust=robust)
    asked = replace(request, settings=settings, deadline=limit)
    found = link_aware.solve(problem, asked)
    if not few:
        return found
    run = _Run(problem, replace(request, settings=None))
    run._offer(found.plan)
    ended = found.stop in (StopReason.ITERATIONS, StopReason.TIME)
    if ended and run.deadline.remaining() >= LIMITS.least_relaxed:
        run.relax(1.0)
    stop = StopReason.FINISHED if run.met else found.stop
    return replace(found, bound=run.floor, stop=stop)


class _Run:
    """Track one solve: the best plan, the bounds, and what each policy's search has
    proven.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        request: SolveRequest[Settings, ReplicationPlan],
    ) -> None:
        self.problem = problem
        self.request = request
        self.floor = bounds_of(TransferBound, problem).seconds
        self.upper = float("inf")
        self.plan: ReplicationPlan | None = None
        self.proven: list[float] = []
        self.stop = StopReason.FINISHED
        self.replays = 0
        settings = request.settings or Settings()
        self.robust = settings.robust
        self.most = 1 << 60 if settings.replays is None else settings.replays
        left = request.deadline.remaining()
        self.deadline = request.deadline.within(max(0.0, left - LIMITS.answer_seconds))
        self.guess: list[list[int]] = []
        self.relaxed = False
        self.relaxed_upper = float("inf")
        self.tiny = len(problem.tasks) <= TINY_TASKS
        self.relax_after = LIMITS.start_replays if self.tiny else 0

    def start(self) -> None:
        """Offer the best plan of a short link-aware search, and then the warm start of
        the request.
        """
        deadline = self.deadline.within(LIMITS.start_share * self.deadline.remaining())
        replays = 1 if self.tiny else LIMITS.start_replays
        how = link_aware.Settings(evaluations=replays)
        asked = SolveRequest[Any, ReplicationPlan](SolveOptions(), deadline, how)
        self._offer(link_aware.solve(self.problem, asked).plan)
        self._offer(self.request.start)

    def _offer(self, plan: ReplicationPlan | None) -> None:
        """Make *plan* the best plan if the makespan of its replay is less."""
        if plan is None:
            return
        try:
            seconds = simulate(self.problem, plan).metrics["makespan_seconds"]
        except OutOfTime:
            seconds = float("inf")
        if self.plan is None or seconds < self.upper:
            self.plan = plan
            self.upper = seconds
            self.request.incumbents.report(plan, seconds, self.floor)

    def search(self) -> None:
        """Search under one eviction policy after the other until the best plan is
        proven optimal.

        Each search starts from the best makespan so far. CP-SAT computes its bound
        before a long search, which may be cut short or not be needed. For a tiny
        instance it computes another one if a better plan was found since.
        """
        for policy in POLICIES:
            if self.met:
                break
            tree = QueueSearch(self.problem, policy, self.upper)
            ended = self._run(tree, policy)
            self.proven.append(tree.bound)
            if not ended and policy != POLICIES[-1]:
                # Nothing is proven about the policies that were not searched.
                self.proven.append(self.floor)
            if not ended or not tree.pressed:
                break
        if self.stop is not StopReason.GAP:
            self.relax(1.0)
            self._copy()
        if self.met:
            self.stop = StopReason.FINISHED
        elif self.stop is StopReason.FINISHED:
            self.stop = StopReason.SEARCHED

    def _copy(self) -> None:
        """Search for copy entries from the best plan, and from the queues of the
        solution that CP-SAT found.
        """
        plan = self.plan
        if plan is None or plan.rounds or plan.dispatches or plan.carry_out:
            return
        if plan.room != "missing":
            return
        starts = [plan]
        if self.guess:
            starts.append(build_plan(self.problem, self.guess, plan.eviction))
        for start in starts:
            if self.met or self.problem.is_shared:
                return
            search = CopySearch(self.problem, start, self.request.options.seed)
            least = self.floor * (1 + kernel.CLOSE_ENOUGH)
            search.run(least, LIMITS.copy_replays, self.deadline)
            if search.seconds < self.upper:
                self._offer(search.plan)

    def hold(self) -> None:
        """Exchange the best plan for one with the same makespan that holds better under
        noise, if the search for queues is complete or made all its replays.
        """
        ended = self.stop not in (StopReason.TIME, StopReason.GAP)
        if not self.robust or not ended or self.plan is None:
            return
        if copies_in(self.plan):
            return  # The search for steadier plans has no copy entries.
        self.plan = link_aware.steadiest(
            self.problem, self.plan, self.upper, self.request.options, self.deadline
        )

    @property
    def met(self) -> bool:
        """Return whether the lower bound proves that no plan has a shorter makespan
        than the best.
        """
        return self.upper <= self.floor * (1 + kernel.CLOSE_ENOUGH)

    def relax(self, share: float) -> None:
        """Compute CP-SAT's bound of all plans in *share* of the time left.

        This is done once a solve, and for a tiny instance once for each best plan.
        """
        plan = self.plan
        ruled = plan is not None and plan.sources == "lowest" and not plan.carry_out
        if self.problem.is_shared:
            return
        due = self.relaxed_upper == float("inf")
        if self.tiny:
            due = self.upper < self.relaxed_upper
        if ruled and due and not (self.met or self.deadline.expired()):
            self.relaxed_upper = self.upper
            seconds = share * self.deadline.remaining()
            found = relaxed(self.problem, self.upper, self.request, seconds)
            self.floor = max(self.floor, found.seconds)
            self.guess = found.queues

    def _run(self, tree: QueueSearch, policy: EvictionPolicy) -> bool:
        """Continue *tree* until it is complete or the best plan is proven optimal;
        return True then.

        After the first ``relax_after`` replays CP-SAT computes its bound. Return False
        if the time, the number of replays or the requested gap ends the search.
        """
        before = self.replays
        while True:
            if not self.relaxed and self.replays >= self.relax_after:
                self.relaxed = True
                self.relax(LIMITS.relax_share)
                if self.met:
                    return True
            ended = tree.run(self._next_replays())
            self.replays = before + tree.visited
            if tree.upper < self.upper:
                queues = tree.best_queues()
                assert queues is not None
                self._offer(build_plan(self.problem, queues, policy))
                self.upper = min(self.upper, tree.upper)
            if ended or self.met:
                return True
            if self._close_enough(tree if policy == POLICIES[-1] else None):
                self.stop = StopReason.GAP
                return False
            if self.deadline.expired():
                self.stop = StopReason.TIME
                return False
            if self.replays >= self.most:
                self.stop = StopReason.ITERATIONS
                return False

    def _next_replays(self) -> int:
        """Return how many replays to make before the clock is read, or before CP-SAT
        computes its bound.
        """
        piece = LIMITS.piece
        if not self.relaxed:
            piece = min(piece, self.relax_after - self.replays)
        return max(0, min(piece, self.most - self.replays))

    def _close_enough(self, last: QueueSearch | None) -> bool:
        """Return whether the gap between the bound and the best plan is at most the
        requested one.

        If *last* is the search under the last policy, its bound counts too.
        """
        asked = self.request.options.gap
        if not asked:
            return False
        bound = self.floor
        if last is not None:
            bound = max(bound, last.bound)
        return (relative_gap(self.upper, bound) or 0.0) <= asked

    def outcome(self) -> Answer:
        """Return the best plan and its bound, with a note that says what is proven."""
        made = f"{self.replays} partial simulations"
        if self.replays == 1:
            made = "1 partial simulation"
        note = f"{made}, not enough for a proof"
        if self.stop is StopReason.FINISHED:
            note = f"proven optimal after {made}"
            if not self.replays:
                note = "proven optimal by the lower bound"
        if self.stop is StopReason.SEARCHED:
            note = (
                f"no queues of tasks end sooner (proven by {made}); the bound also "
                "holds for plans that queue copies"
            )
            if self.deadline.expired():
                note += ", and the time ended before it was finished"
        least_of_policies = min(self.proven, default=0.0)
        proven = max(self.floor, least_of_policies)
        metrics = {"replays": self.replays, "queues_bound_seconds": proven}
        return Outcome(
            self.plan,
            self.floor,
            self.stop,
            objective_name="makespan_seconds",
            notes=(note,),
            metrics=metrics,
        )


class QueueSearch:
    """Search all queues of *problem* under one eviction policy.

    The search can be interrupted and resumed. It looks only for plans with a makespan
    below *upper* seconds.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        eviction: EvictionPolicy,
        upper: float,
        engine: Engine = "auto",
    ) -> None:
        self.problem = problem
        self.make = maker_for(problem, engine)
        tasks = range(len(problem.tasks))
        queues = Queues([tasks] * len(problem.nodes), eviction)
        self._world = build_world(problem, queues, self.make)
        self._world.growing = 1
        self._bounds = bounds_of(TransferBound, problem)
        self._path = self._paths()
        self._tree = self._stack(upper)
        self._search = self.make.function(kernel.search)

    def _paths(self) -> Path:
        """Return the data from which the lower bounds of a branch are computed."""
        problem = self.problem
        bounds = self._bounds
        make = self.make
        tasks = len(problem.tasks)
        urgent = sorted(range(tasks), key=lambda k: -bounds.tail[k])
        links = 1
        if problem.network.remote_link != "shared":
            links = len(problem.nodes)
        rows = zip(problem.files, bounds.rates, strict=True)
        far = [file.bytes / rate for file, rate in rows]
        return make.table(
            Path,
            near=problem.replica_seconds_per_byte,
            remote_rate=links * problem.network.remote_bytes_per_second,
            tasks=make.records(
                PathTask, tasks, quick=bounds.seconds_on_fastest, tail=bounds.tail
            ),
            files=make.records(
                PathFile, len(far), far=far, producer=list(problem.producer)
            ),
            cores=make.records(PathCore, len(self._world.cores)),
            order=make.ints(bounds.order),
            urgent=make.ints([*urgent, kernel.CLOSE]),
            fits=make.ints(fitting(problem)),
        )

    def _stack(self, upper: float) -> kernel.Tree:
        """Return the empty stack of a search for makespans below *upper* seconds."""
        problem = self.problem
        make = self.make
        tasks = len(problem.tasks)
        depths = tasks + len(problem.nodes) + 2
        rows = depths * (tasks + 2)
        below = [0] * tasks
        for k in reversed(self._bounds.order):
            for p in problem.predecessors[k]:
                below[p] |= below[k] | 1 << k
        return make.table(
            kernel.Tree,
            upper=upper,
            kept=self._states(1 + rows),
            branchings=make.records(kernel.Branching, depths),
            children=make.records(kernel.Child, rows),
            below=make.ints(below),
            fits=self._path.fits,
            best=make.ints([0] * len(self._world.places)),
        )

    def _states(self, rows: int) -> kernel.States:
        """Return room for *rows* states of the world."""
        world = self._world
        make = self.make
        return make.table(
            kernel.States,
            runs=make.records(Run, rows),
            files=make.records(File, rows * len(world.files)),
            nodes=make.records(Node, rows * len(world.nodes)),
            cells=make.records(Cell, rows * len(world.cells)),
            reads=make.records(Read, rows * len(world.reads)),
            cores=make.records(Core, rows * len(world.cores)),
            flows=make.records(Flow, rows * len(world.fluid.flows)),
            places=make.records(Place, rows * len(world.places)),
            finished=make.ints([0] * (rows * len(world.finished))),
        )

    def run(self, visits: int) -> bool:
        """Replay about *visits* more children of branchings; return whether the search
        is complete.
        """
        limit = self.visited + visits
        ended = self._search(self._world, self._tree, self._path, limit)
        return ended == kernel.DONE

    @property
    def visited(self) -> int:
        """Return the number of children replayed so far."""
        return self._tree.visited

    @property
    def upper(self) -> float:
        """Return the least makespan known, in seconds."""
        return self._tree.upper

    @property
    def pressed(self) -> bool:
        """Return whether a file was ever evicted or saved to make room.

        If not, all eviction policies give the same replays.
        """
        return self._tree.pressed == 1

    @property
    def bound(self) -> float:
        """Return a lower bound, in seconds, of the makespan of all queues.

        It is the least bound of the open branches, or the best makespan if that is
        less.
        """
        tree = self._tree
        width = len(self.problem.tasks) + 2
        if not tree.begun:
            return 0.0
        least = self.upper
        for depth in range(tree.depth + 1):
            branching = tree.branchings[depth]
            first = depth * width
            for x in range(first + branching.at, first + branching.children):
                least = min(least, tree.children[x].bound)
        return least

    def best_queues(self) -> list[list[int]] | None:
        """Return the best queues found, whose makespan is :attr:`upper`; None if none
        were found.
        """
        if not self._tree.found:
            return None
        tasks = len(self.problem.tasks)
        queues = []
        for first in range(0, len(self._tree.best), tasks):
            row = islice(self._tree.best, first, first + tasks)
            queues.append(list(takewhile(lambda k: k >= 0, row)))
        return queues
