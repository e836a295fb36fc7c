"""Call the kernels of the link-aware search, compiled or in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise, zip_longest

from ioopt.compiled.library import Engine as Kernels
from ioopt.problems.replication import (
    RULES,
    EvictionPolicy,
    ReplayOptions,
    ReplicationProblem,
)
from ioopt.sim.replication.build import (
    POLICIES,
    Noise,
    build_world,
    give_queues,
    maker_for,
)
from ioopt.sim.replication.build import (
    Queues as QueuesOfPlan,
)
from ioopt.solvers.replication.plans import fitting, flat, successors
from ioopt.solvers.replication.search import line_kernel
from ioopt.solvers.replication.search.line_moves import (
    MODULUS,
    Chance,
    Line,
    LineCell,
    LineFile,
    keep_best,
)

Queues = list[list[int]]


class Engine:
    """Combine the records of one problem with the kernels of the search.

    With the same seed, the same calls give the same answers, compiled or not. Scores
    are makespans in seconds, or with *additive* the batch times (13) of the replayed
    transfers. *noise* is the noise of :meth:`noisy_mean`.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        seed: int,
        options: ReplayOptions = RULES,
        additive: bool = False,
        kernels: Kernels = "auto",
        noise: Noise | None = None,
    ) -> None:
        self.problem = problem
        self.make = maker_for(problem, kernels)
        self.options = options
        self.additive = additive
        tasks = range(len(problem.tasks))
        queues = [tasks, *([()] * (len(problem.nodes) - 1))]
        # Room for a plan with a barrier before every task.
        evicted: list[tuple[()]] = [()] * len(tasks)
        self.eviction = problem.default_eviction
        plan = QueuesOfPlan(queues, self.eviction, drops=evicted, options=options)
        moves = 0
        if additive:
            moves = 2 * sum(map(len, problem.inputs)) + 1
        self.world = build_world(problem, plan, self.make, room=moves, noise=noise)
        self.chance = self.make.records(
            Chance, 1, seed=1 + (seed * 7919 + 104729) % (MODULUS - 1)
        )[0]
        self.fetch_cost = problem.remote_seconds_per_byte
        self.copy_cost = 1.0 / problem.copy_bytes_per_second
        self.anneal = self.make.function(line_kernel.anneal)
        self._score = self.make.function(line_kernel.score)
        self._noisy_mean = self.make.function(line_kernel.noisy_mean)
        self.score_line = self.make.function(line_kernel.score_line)

    def line(
        self,
        order: Sequence[int],
        node: Sequence[int],
        by_bytes: bool,
        barriers: bool = False,
    ) -> Line:
        """Return the initial state of a search: the tasks in *order*, with task k on
        ``node[k]``.

        No place has a barrier yet; *barriers* allows them. *by_bytes*: plans are scored
        by the time of their transfers.
        """
        problem = self.problem
        world = self.world
        make = self.make
        tasks = len(order)
        files = 0
        inputs = 0
        if by_bytes:
            files = world.num_files
            inputs = len(world.reads)
        place = [0] * tasks
        for p, k in enumerate(order):
            place[k] = p
        before_ptr, before = map(make.ints, flat(problem.predecessors))
        after_ptr, after = map(make.ints, flat(successors(problem)))
        reader_ptr, readers = map(make.ints, flat(problem.readers))
        none = [0] * tasks
        return make.table(
            Line,
            now=float("inf"),
            best=float("inf"),
            policy=POLICIES[self.eviction],
            most_exact=float("inf"),
            barriers=int(barriers),
            by_bytes=int(by_bytes),
            fetch_cost=self.fetch_cost,
            copy_cost=self.copy_cost,
            chance=self.chance,
            order=make.ints(order),
            place=make.ints(place),
            node=make.ints(node),
            cut=make.ints(none),
            kept_order=make.ints(order),
            kept_node=make.ints(node),
            kept_cut=make.ints(none),
            best_order=make.ints(order),
            best_node=make.ints(node),
            best_cut=make.ints(none),
            before_ptr=before_ptr,
            before=before,
            after_ptr=after_ptr,
            after=after,
            reader_ptr=reader_ptr,
            readers=readers,
            fits=make.ints(fitting(problem)),
            flag=make.ints(none),
            scratch=make.ints(none),
            queued=make.ints([0] * world.num_nodes),
            cells=make.records(LineCell, world.num_nodes * files),
            files=make.records(LineFile, files),
            follow=make.ints([0] * inputs),
            used=make.ints([0] * world.num_nodes),
            num_residents=make.ints([0] * world.num_nodes),
        )

    def score(self, queues: Queues, eviction: EvictionPolicy | None = None) -> float:
        """Return the score of *queues* in seconds; infinite if the queues cannot run.

        The queues must not have copy entries. *eviction* is the policy of the replay
        (None: that of the search, ``self.eviction``).
        """
        give_queues(self.world, queues, eviction or self.eviction)
        return self._score(self.world, self.fetch_cost, self.copy_cost, float("inf"))

    def noisy_mean(
        self,
        queues: Queues,
        eviction: EvictionPolicy,
        rounds: Queues,
        draws: range,
        most: float = float("inf"),
    ) -> float:
        """Return the mean score, in seconds, of replays of a plan under unfair sharing,
        one for each of the numbers *draws*.

        Barriers separate *rounds*; there are none if it is empty. The result is
        infinite if the mean is above *most* seconds.
        """
        give_queues(self.world, queues, eviction, rounds)
        return self._noisy_mean(
            self.world,
            self.fetch_cost,
            self.copy_cost,
            draws.start,
            len(draws),
            most,
        )


class Annealing:
    """Improve one plan in stretches, between which the caller can check the clock.

    The functions :func:`by_replays`, :func:`by_bytes`, :func:`again` and
    :func:`with_barriers` create it.
    """

    def __init__(
        self,
        engine: Engine,
        line: Line,
        steps_per_replay: int,
    ) -> None:
        self._engine = engine
        self.line = line
        self.steps_per_replay = steps_per_replay
        """Number of moves made in the time of one replay."""
        line.now = engine.score_line(engine.world, line, float("inf"))
        line.best = line.now

    def run(
        self,
        steps: int,
        hot: float,
        cold: float,
        target: float,
        first: int = 0,
        total: int = 0,
    ) -> None:
        """Make *steps* moves, the first of which has the number *first*.

        The temperature falls from *hot* to *cold* seconds over *total* moves (0:
        *steps*). The run ends early at a score of *target* seconds.
        """
        engine = self._engine
        aim = 0.0 if self.line.by_bytes else target
        whole = total or steps
        engine.anneal(engine.world, self.line, steps, first, whole, hot, cold, aim)

    def redraw(self, draws: int, first: int) -> None:
        """Score plans from now on by the mean of *draws* noisy replays, the first by
        draw number *first*; 0 draws: by the exact replay.
        """
        line = self.line
        line.draws = draws
        line.first_draw = first
        line.now = self._engine.score_line(self._engine.world, line, float("inf"))
        line.best = line.now

    def exact_score(self) -> float:
        """Return the score of the present plan by its exact replay, in seconds."""
        line = self.line
        if not line.draws:
            return line.now
        draws = line.draws
        line.draws = 0
        seconds = self._engine.score_line(self._engine.world, line, float("inf"))
        line.draws = draws
        return seconds

    def replays(self, steps: int) -> int:
        """Return the number of replays that take as long as *steps* moves."""
        each = self.line.draws + 1 if self.line.draws else 1
        return -(-steps * each // self.steps_per_replay)

    def steps(self, replays: int) -> int:
        """Return the number of moves that take as long as so many *replays*, at least
        1.
        """
        each = self.line.draws + 1 if self.line.draws else 1
        return max(1, replays * self.steps_per_replay // each)

    @property
    def seconds(self) -> float:
        """Return the best score in seconds.

        It is a makespan, or the time of the transfers if ``line.by_bytes``.
        """
        return self.line.best

    @property
    def by_bytes(self) -> bool:
        """Return whether plans are scored by the time of their transfers."""
        return bool(self.line.by_bytes)

    @property
    def best_score(self) -> float:
        """Return the least makespan found, in seconds; infinite if plans are not
        replayed.
        """
        return float("inf") if self.line.by_bytes else self.seconds

    @property
    def evaluations(self) -> int:
        """Return the number of plans scored so far."""
        return self.line.evaluations

    def best_queues(self) -> Queues:
        """Return the queue of each node in the best plan."""
        return self._queues(self.line.best_order, self.line.best_node)

    def best_rounds(self) -> Queues:
        """Return the rounds of the best plan in order, each as a list of tasks.

        Barriers separate the rounds. The list is empty if the plan has no barriers.
        """
        return _rounds(self.line.best_order, self.line.best_cut)

    def present_queues(self) -> Queues:
        """Return the queue of each node in the present plan."""
        return self._queues(self.line.order, self.line.node)

    def present_rounds(self) -> Queues:
        """Return the rounds of the present plan, as :meth:`best_rounds` does."""
        return _rounds(self.line.order, self.line.cut)

    def _queues(self, order: Iterable[int], node: Sequence[int]) -> Queues:
        """Return the queue of each node for the tasks of *order*, task k on
        ``node[k]``.
        """
        queues: Queues = [[] for _ in range(self._engine.world.num_nodes)]
        for k in order:
            queues[node[k]].append(k)
        return queues


def _rounds(order: Iterable[int], cut: Iterable[int]) -> Queues:
    """Return the tasks of *order* in rounds; *cut* is 1 at the places where a round
    begins.
    """
    rounds = Queues([[]])
    for k, begins in zip(order, cut, strict=True):
        if begins and rounds[-1]:
            rounds.append([])
        rounds[-1].append(k)
    return rounds if len(rounds) > 1 else []


def by_replays(engine: Engine, queues: Queues) -> Annealing:
    """Return an annealing that starts from *queues*; plans are scored by replay."""
    order = merged(engine.problem, queues)
    line = engine.line(order, _nodes(engine, queues), False)
    return Annealing(engine, line, 1)


def _nodes(engine: Engine, queues: Queues) -> list[int]:
    """Return the node of each task of *queues*."""
    node = [0] * engine.world.num_tasks
    for i, queue in enumerate(queues):
        for k in queue:
            node[k] = i
    return node


def from_plan(engine: Engine, queues: Queues, rounds: Queues) -> Annealing:
    """Return an annealing by replays that starts from *queues*, with barriers between
    *rounds* if there are any.
    """
    if not rounds:
        return by_replays(engine, queues)
    line = engine.line(list(chain(*rounds)), _nodes(engine, queues), False, True)
    place = 0
    for tasks in rounds:
        line.cut[place] = 1
        place += len(tasks)
    keep_best(line)
    return Annealing(engine, line, 1)


def by_bytes(engine: Engine, order: Sequence[int], in_turn: bool = False) -> Annealing:
    """Return an annealing of one order of a batch, scored by the time of its transfers.

    At first the nodes take the tasks of *order* one by one if *in_turn*, else each
    takes one stretch of *order*.
    """
    nodes = engine.world.num_nodes
    tasks = len(order)
    rows: list[Sequence[int]] = []
    for i in range(nodes):
        if in_turn:
            rows.append(order[i::nodes])
        else:
            rows.append(order[tasks * i // nodes : tasks * (i + 1) // nodes])
    listed = [k for k in chain(*zip_longest(*rows, fillvalue=-1)) if k >= 0]
    line = engine.line(listed, [0] * tasks, True)
    for i, row in enumerate(rows):
        around = [j % nodes for j in range(i, i + nodes)]
        for k in row:
            line.node[k] = next(j for j in around if line.fits[k * nodes + j])
    keep_best(line)
    return Annealing(engine, line, 10)


def again(engine: Engine, ordered: Annealing) -> Annealing:
    """Return an annealing that begins with the best order of *ordered* and scores an
    order by the time of its transfers, without a replay.
    """
    best = ordered.line
    line = engine.line(list(best.best_order), list(best.best_node), True)
    return Annealing(engine, line, 10)


def with_barriers(engine: Engine, ordered: Annealing, every: int) -> Annealing:
    """Return an annealing by replays that continues from the best order of *ordered*.

    At first a barrier stands before every *every*-th task.
    """
    order = list(ordered.line.best_order)
    line = engine.line(order, list(ordered.line.best_node), False, barriers=True)
    for p in range(0, len(order), every):
        line.cut[p] = 1
    keep_best(line)
    return Annealing(engine, line, 1)


def merged(problem: ReplicationProblem, queues: list[list[int]]) -> list[int]:
    """Merge *queues* into one order of all tasks, with producers before readers.

    Of the tasks that may come next, take the one with the smallest share of its queue
    ahead of it.
    """
    after = successors(problem)
    waits = [len(before) for before in problem.predecessors]
    share = [0.0] * len(waits)
    for queue in queues:
        for place, k in enumerate(queue):
            share[k] = place / len(queue)
        for first, second in pairwise(queue):
            after[first].append(second)
            waits[second] += 1
    ready = [(share[k], k) for k, number in enumerate(waits) if not number]
    heapify(ready)
    order = []
    while ready:
        k = heappop(ready)[1]
        order.append(k)
        for j in after[k]:
            waits[j] -= 1
            if not waits[j]:
                heappush(ready, (share[j], j))
    return order
