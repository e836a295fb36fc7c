"""Call the kernels of the link-aware search, compiled or in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise, zip_longest

from ioopt.compiled import boxes, compiled
from ioopt.problems.replication import (
    RULES,
    EvictionPolicy,
    ReplayOptions,
    ReplicationProblem,
)
from ioopt.sim.replication.state import Queues as QueueArrays
from ioopt.sim.replication.state import (
    instance_arrays,
    new_log,
    new_state,
    queue_arrays,
)
from ioopt.solvers.replication.plans import fitting, flat, successors, tiny_batch
from ioopt.solvers.replication.search import line_kernel
from ioopt.solvers.replication.search.line_kernel import Schedule
from ioopt.solvers.replication.search.line_moves import (
    BEST,
    EVALUATIONS,
    MODULUS,
    NOW,
    Line,
    keep_best,
    write_queues,
)

OUR_EVICTION: EvictionPolicy = "farthest-next-use"
Queues = list[list[int]]


def compile_kernels() -> None:
    """Compile every kernel of the search by running it on a batch of two tasks."""
    engine = Engine(tiny_batch(), 0, fast=True)
    engine.score([[0, 1]])
    by_bytes(engine, [0, 1]).run(1, 1.0, 1.0, 0.0)


class Engine:
    """Combine the arrays of one problem with the kernels, which are compiled if *fast*.

    With the same seed, the same calls give the same answers, compiled or not. Scores
    are makespans in seconds, or with *additive* the batch times (13) of the replayed
    transfers.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        seed: int,
        fast: bool,
        options: ReplayOptions = RULES,
        additive: bool = False,
    ) -> None:
        self.problem = problem
        self.fast = fast
        self.options = options
        self.inst = instance_arrays(problem, compiled=fast)
        self._state = new_state(self.inst, self.inst.num_tasks + 1, fast)
        moves = 2 * len(self.inst.files) + 1 if additive else 0
        self._log = new_log(self.inst, moves, moves, fast)
        self.random = boxes(fast)([1 + (seed * 7919 + 104729) % (MODULUS - 1)])
        self._anneal = line_kernel.anneal
        if fast:
            self._anneal = compiled(line_kernel.__name__, "anneal")
        self._nothing = self.line([], [], False)

    def line(self, order: Sequence[int], node: Sequence[int], by_bytes: bool) -> Line:
        """Return the initial state of a search: the tasks in *order*, with task k on
        ``node[k]``.

        There are no barriers. *by_bytes*: allocate the arrays of the score by bytes.
        """
        problem = self.problem
        inst = self.inst
        box = boxes(self.fast)
        tasks = len(order)
        nodes = inst.num_nodes
        files = 0
        inputs = 0
        if by_bytes:
            files = inst.num_files
            inputs = len(inst.files)
        place = [0] * tasks
        for p, k in enumerate(order):
            place[k] = p
        before_ptr, before = map(box, flat(problem.predecessors))
        after_ptr, after = map(box, flat(successors(problem)))
        reader_ptr, readers = map(box, flat(problem.readers))
        none = [0] * tasks
        cells = [0] * (nodes * files)
        costs = [problem.remote_seconds_per_byte, 1.0 / problem.copy_bytes_per_second]
        return Line(
            order=box(order),
            place=box(place),
            node=box(node),
            cut=box(none),
            kept_order=box(order),
            kept_node=box(node),
            kept_cut=box(none),
            best_order=box(order),
            best_node=box(node),
            best_cut=box(none),
            before_ptr=before_ptr,
            before=before,
            after_ptr=after_ptr,
            after=after,
            reader_ptr=reader_ptr,
            readers=readers,
            fits=box(fitting(problem) if order else []),
            flag=box(none),
            scratch=box(none),
            queued=box([0] * (nodes + 1)),
            random=self.random,
            values=box([float("inf")] * 2, real=True),
            counts=box([0]),
            on=box(cells),
            copies=box([0] * files),
            nxt=box([0] * files),
            follow=box([0] * inputs),
            wanted=box([0] * files),
            used=box([0] * nodes),
            residents=box(cells),
            num_residents=box([0] * nodes),
            costs=box(costs, real=True),
            sums=box([0] * 3),
        )

    def arrays(
        self,
        queues: Queues,
        eviction: EvictionPolicy = OUR_EVICTION,
        rounds: bool = False,
    ) -> QueueArrays:
        """Return the arrays of the plan with these *queues*.

        *rounds*: reserve space for as many rounds as there are tasks.
        """
        tasks = 0
        rows = None
        if rounds:
            tasks = self.inst.num_tasks
            rows = [[0] * tasks]
        evicted: list[tuple[()]] = [()] * tasks
        return queue_arrays(queues, eviction, rows, evicted, self.fast, self.options)

    def score(self, queues: Queues, eviction: EvictionPolicy = OUR_EVICTION) -> float:
        """Return the score of *queues* in seconds; infinite if the queues cannot run.

        The queues must not have copy entries.
        """
        return self.value(self.arrays(queues, eviction), self._nothing, 0)

    def value(self, arrays: QueueArrays, line: Line, by_bytes: int) -> float:
        """Return the score of a plan in seconds, without changing the plan."""
        self.run(arrays, line, Schedule(0, 0, 1, 1.0, 1.0, 0.0, by_bytes))
        return float(line.values[NOW])

    def run(self, arrays: QueueArrays, line: Line, schedule: Schedule) -> None:
        """Perform one stretch of annealing."""
        self._anneal(self.inst, arrays, self._state, self._log, line, schedule)


class Annealing:
    """Improve one plan in stretches, between which the caller can check the clock.

    The functions :func:`by_replays`, :func:`by_bytes`, :func:`again` and
    :func:`with_barriers` create it.
    """

    def __init__(
        self,
        engine: Engine,
        arrays: QueueArrays,
        line: Line,
        steps_per_replay: int,
        by_bytes: bool = False,
    ) -> None:
        self._engine = engine
        self.arrays = arrays
        self.line = line
        self.steps_per_replay = steps_per_replay
        """Number of moves made in the time of one replay."""
        self.by_bytes = by_bytes
        self.line.values[BEST] = engine.value(arrays, line, int(by_bytes))

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
        aim = 0.0 if self.by_bytes else target
        schedule = Schedule(
            steps, first, total or steps, hot, cold, aim, int(self.by_bytes)
        )
        self._engine.run(self.arrays, self.line, schedule)

    @property
    def seconds(self) -> float:
        """Return the best score in seconds.

        It is a makespan, or the time of the transfers if ``by_bytes``.
        """
        return float(self.line.values[BEST])

    @property
    def best_score(self) -> float:
        """Return the least makespan found, in seconds; infinite if plans are not
        replayed.
        """
        return float("inf") if self.by_bytes else self.seconds

    @property
    def evaluations(self) -> int:
        """Return the number of plans scored so far."""
        return int(self.line.counts[EVALUATIONS])

    def best_queues(self) -> Queues:
        """Return the queue of each node in the best plan."""
        queues: Queues = [[] for _ in range(self._engine.inst.num_nodes)]
        for k in self.line.best_order:
            queues[int(self.line.best_node[k])].append(int(k))
        return queues

    def best_rounds(self) -> Queues:
        """Return the rounds of the best plan in order, each as a list of tasks.

        Barriers separate the rounds. The list is empty if the plan has no barriers.
        """
        rounds = Queues([[]])
        for k, cut in zip(self.line.best_order, self.line.best_cut):
            if cut and rounds[-1]:
                rounds.append([])
            rounds[-1].append(int(k))
        return rounds if len(rounds) > 1 else []


def by_replays(engine: Engine, queues: Queues) -> Annealing:
    """Return an annealing that starts from *queues*; plans are scored by replay."""
    node = [0] * engine.inst.num_tasks
    for i, queue in enumerate(queues):
        for k in queue:
            node[k] = i
    line = engine.line(merged(engine.problem, queues), node, False)
    return Annealing(engine, engine.arrays(queues), line, 1)


def by_bytes(engine: Engine, order: Sequence[int], in_turn: bool = False) -> Annealing:
    """Return an annealing of one order of a batch, scored by the time of its transfers.

    At first the nodes take the tasks of *order* one by one if *in_turn*, else each
    takes one stretch of *order*.
    """
    nodes = engine.inst.num_nodes
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
    return Annealing(engine, engine.arrays([]), line, 10, by_bytes=True)


def again(engine: Engine, ordered: Annealing) -> Annealing:
    """Return an annealing that begins with the best order of *ordered* and scores an
    order by the time of its transfers, without a replay.
    """
    best = ordered.line
    line = engine.line([*map(int, best.best_order)], [*map(int, best.best_node)], True)
    return Annealing(engine, engine.arrays([]), line, 10, by_bytes=True)


def with_barriers(engine: Engine, ordered: Annealing, every: int) -> Annealing:
    """Return an annealing by replays that continues from the best order of *ordered*.

    At first a barrier stands before every *every*-th task.
    """
    order = [int(k) for k in ordered.line.best_order]
    line = engine.line(order, [int(i) for i in ordered.line.best_node], False)
    for p in range(0, len(order), every):
        line.cut[p] = 1
    empty: Queues = [[] for _ in range(engine.inst.num_nodes - 1)]
    arrays = engine.arrays([order, *empty], rounds=True)
    write_queues(engine.inst, arrays, line)
    keep_best(line)
    return Annealing(engine, arrays, line, 1)


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
