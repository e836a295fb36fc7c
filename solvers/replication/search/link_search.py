"""Driving the link-aware kernels: score queues, deal an order, anneal; compiled or pure Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise, zip_longest
from random import Random
from types import ModuleType
from typing import Any

from ioopt.compiled import boxes, compiled
from ioopt.problems.replay_options import RULES, ReplayOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.state import instance_arrays, new_log, new_state, queue_arrays
from ioopt.solvers.replication.plans import flat, tiny_batch
from ioopt.solvers.replication.search import deal_kernel, order_kernel
from ioopt.solvers.replication.search import link_kernel as kernel
from ioopt.solvers.replication.search.flow_arrays import flow_arrays
from ioopt.solvers.replication.search.flow_kernel import MODULUS

OUR_EVICTION = "farthest-next-use"
Queues = list[list[int]]
CODE_BITS = 48
"""Two sets of files on disks have one sum of codes with probability 2 to the minus that."""
MOST_MARKED = 400_000
"""Room for the files on disks at marked places of an order; a batch too large for a mark has none."""


def compile_kernels() -> None:
    """Compile every kernel of the search, by running each on a batch of two tasks."""
    engine = Engine(tiny_batch(), 0, fast=True)
    queues = engine.deal([0, 1], deal_kernel.Dealing(1, 0.0, 0.0, 0.0))
    assert queues is not None
    engine.score(queues)
    OrderAnnealing(engine, [0, 1]).run(1, 1.0, 1.0, 0.0)


def rows(ptr: Any, entries: Any) -> Queues:
    """The queues that lie in *entries* one after the other."""
    return [[int(k) for k in entries[first:last]] for first, last in pairwise(ptr)]


class Engine:
    """The arrays of one problem and the kernels over them, compiled if *fast*.

    The same seed and calls give the same answers, compiled or not.
    """

    def __init__(
        self, problem: ReplicationProblem, seed: int, fast: bool, options: ReplayOptions = RULES
    ) -> None:
        self.problem, self.fast, self.options = problem, fast, options
        self._allocate(1 + (seed * 7919 + 104729) % (MODULUS - 1))

    def go_fast(self) -> None:
        """Go on with compiled kernels, exactly as the plain ones would have gone on."""
        self.fast = True
        self._allocate(int(self.random[0]))

    def _allocate(self, seed: int) -> None:
        problem, fast = self.problem, self.fast
        self.inst = instance_arrays(problem, compiled=fast)
        self._state = new_state(self.inst, self.inst.num_tasks + 1, fast)
        self._log = new_log(self.inst, 0, 0, fast)
        self.box = boxes(fast)
        self.reader_ptr, self.readers = map(self.box, flat(problem.readers))
        self.random = self.box([seed])
        self._work = self._dispatch_arrays()
        self._dispatch = self._function(deal_kernel, "dispatch")
        self._anneal = self._function(kernel, "anneal")
        self._order = self._function(order_kernel, "anneal_order")
        self._scoring = self.search([0] * (self.inst.num_nodes + 1), [], float("inf"))

    def _function(self, module: ModuleType, name: str) -> Any:
        return compiled(module.__name__, name) if self.fast else getattr(module, name)

    def search(self, ptr: list[int], entries: list[int], score: float) -> kernel.Search:
        """The state of an annealing that begins from these queues."""
        return kernel.Search(
            reader_ptr=self.reader_ptr, readers=self.readers,
            best_ptr=self.box(ptr), best_entry=self.box(entries),
            kept_ptr=self.box(ptr), kept_entry=self.box(entries),
            block=self.box([0] * kernel.LONGEST_BLOCK), random=self.random,
            values=self.box([score, score], real=True), counts=self.box([0, 0, 0]),
            flow=flow_arrays(self.problem, rows(ptr, entries), self.fast), line=self.line([], []),
        )  # fmt: skip

    def line(self, order: Sequence[int], node: Sequence[int]) -> order_kernel.Order:
        """The state of a search that begins from *order*, task k on node ``node[k]``, without barriers."""
        box, network, files = self.box, self.problem.network, self.inst.num_files
        place, nodes = [0] * len(order), self.inst.num_nodes
        for p, k in enumerate(order):
            place[k] = p
        kept = [box(row) for _ in range(2) for row in (order, node, [0] * len(order))]
        costs = [1.0 / network.remote_bytes_per_second, 1.0 / network.replica_bytes_per_second]
        rng = Random(0)
        codes = [rng.getrandbits(CODE_BITS) for _ in range(nodes * files if order else 0)]
        marks = min(len(order), MOST_MARKED // max(1, nodes * files))
        return order_kernel.Order(
            self.reader_ptr, self.readers, box(order), box(place), box(node), box([0] * len(order)),
            kept_order=kept[0], kept_node=kept[1], kept_cut=kept[2], best_order=kept[3],
            best_node=kept[4], best_cut=kept[5], queued=box([0] * (nodes + 1)),
            on=box([0] * (nodes * files)), copies=box([0] * files), nxt=box([0] * files),
            follow=box([0] * len(self.inst.files)), wanted=box([0] * files),
            used=box([0] * nodes), residents=box([0] * (nodes * files)),
            num_residents=box([0] * nodes), costs=box(costs, real=True), random=self.random,
            values=box([0.0, 0.0], real=True), counts=box([0, 0]), moved=box([0] * kernel.LONGEST_BLOCK),
            **{name: box([0] * (len(order) + 1)) for name in ("fetched", "copied", "digest")},
            code=box(codes), marked=box([0] * (marks * nodes)), mark=box([0] * (marks * nodes * files)),
            sums=box([0] * 4),
        )  # fmt: skip

    def moved(self, line: order_kernel.Order) -> order_kernel.Order:
        """The same state in the arrays of this engine."""
        own = {"reader_ptr": self.reader_ptr, "readers": self.readers, "random": self.random}
        rows = {
            name: self.box(row, real=name in ("costs", "values"))
            for name, row in line._asdict().items()
            if name not in own
        }
        return order_kernel.Order(**rows, **own)

    def _dispatch_arrays(self) -> deal_kernel.Dispatch:
        """The arrays of a dispatch, all at their start."""
        nodes, files, tasks = self.inst.num_nodes, self.inst.num_files, self.inst.num_tasks
        network = self.problem.network
        cells = [0] * (nodes * files)
        return deal_kernel.Dispatch(
            reader_ptr=self.reader_ptr, readers=self.readers, order=self.box([0] * tasks),
            rank=self.box([0] * tasks), taken=self.box([0] * tasks), on=self.box(cells),
            copies=self.box([0] * files), pending=self.box([0] * files), wanted=self.box([0] * files),
            used=self.box([0] * nodes), ready=self.box([0.0] * nodes, real=True),
            residents=self.box(cells), num_residents=self.box([0] * nodes),
            queue=self.box([0] * (nodes * tasks)), length=self.box([0] * nodes),
            costs=self.box([1.0 / network.remote_bytes_per_second, 1.0 / network.replica_bytes_per_second],
                real=True),
            random=self.random,
        )  # fmt: skip

    def score(self, queues: Queues, eviction: str = OUR_EVICTION) -> float:
        """Simulated makespan of *queues* (tasks only) in seconds; infinity if they cannot run."""
        arrays = queue_arrays(queues, eviction, compiled=self.fast, options=self.options)
        self.run_anneal(arrays, self._scoring, kernel.Schedule(0, 0, 1, 1.0, 1.0, 0.0))
        return float(self._scoring.values[kernel.NOW])

    def deal(self, order: Sequence[int], dealing: deal_kernel.Dealing) -> Queues | None:
        """Queues dealt from *order*; None where a task fits nowhere."""
        for rank, k in enumerate(order):
            self._work.order[rank] = k
        if not self._dispatch(self.inst, self._work, dealing):
            return None
        tasks = self.inst.num_tasks
        return [
            [int(k) for k in self._work.queue[i * tasks : i * tasks + self._work.length[i]]]
            for i in range(self.inst.num_nodes)
        ]

    def planned_end(self) -> float:
        """When the last deal planned its last task to end, in seconds: a cheap guide to its score."""
        return max(float(value) for value in self._work.ready)

    def annealing(self, queues: Queues, score: float) -> Annealing:
        """An annealing that starts from *queues*, whose score is *score*."""
        return Annealing(self, queues, score)

    def run_anneal(self, arrays: Any, search: kernel.Search, schedule: kernel.Schedule) -> None:
        """One stretch of annealing over *arrays*."""
        self._anneal(self.inst, arrays, self._state, self._log, search, schedule)

    def run_order(self, work: order_kernel.Order, schedule: kernel.Schedule) -> None:
        """One stretch of annealing one order of all tasks."""
        self._order(self.inst, work, schedule)


class Annealing:
    """Queues under improvement, run in stretches so that the caller can watch the clock."""

    STEPS_PER_REPLAY = 1
    """Moves in the time of a replay."""

    def __init__(self, engine: Engine, queues: Queues, score: float) -> None:
        self._engine = engine
        self._arrays = queue_arrays(
            queues, OUR_EVICTION, compiled=engine.fast, options=engine.options
        )
        self._search = engine.search(list(self._arrays.ptr), list(self._arrays.entry), score)

    def run(
        self, steps: int, hot: float, cold: float, target: float, first: int = 0, total: int = 0
    ) -> None:
        """Moves from number *first* of *total* (0: all are *steps*); ends early at *target* seconds."""
        schedule = kernel.Schedule(steps, first, total or steps, hot, cold, target)
        self._engine.run_anneal(self._arrays, self._search, schedule)

    @property
    def best_score(self) -> float:
        """Least makespan found, in seconds."""
        return float(self._search.values[kernel.BEST])

    @property
    def evaluations(self) -> int:
        """Replays made so far."""
        return int(self._search.counts[kernel.EVALUATIONS])

    def best_queues(self) -> Queues:
        """The queues of :attr:`best_score`."""
        return rows(self._search.best_ptr, self._search.best_entry)

    def best_rounds(self) -> Queues:
        """The tasks of each round of the best plan; none where it has no barriers."""
        return []


class OrderAnnealing:
    """One order of all tasks under improvement, with the interface of :class:`Annealing`.

    It begins from *order* with the nodes taking turns, or from stretches of it, one a node, side by side.
    Scores are seconds of transfers.
    """

    STEPS_PER_REPLAY = 10
    best_score = float("inf")
    """Of a replay: none was made."""

    def __init__(self, engine: Engine, order: Sequence[int], in_turn: bool = False) -> None:
        self._engine = engine
        nodes, tasks = engine.inst.num_nodes, len(order)
        cuts = [tasks * i // nodes for i in range(nodes + 1)]
        rows = [order[i::nodes] if in_turn else order[cuts[i] : cuts[i + 1]] for i in range(nodes)]
        listed = [k for k in chain(*zip_longest(*rows, fillvalue=-1)) if k >= 0]
        node = [0] * tasks
        for i, row in enumerate(rows):
            for k in row:
                fitting = (
                    j % nodes for j in range(i, i + nodes) if engine.problem.fits(k, j % nodes)
                )
                node[k] = next(fitting)
        self.line = engine.line(listed, node)

    def run(
        self, steps: int, hot: float, cold: float, target: float, first: int = 0, total: int = 0
    ) -> None:
        """Moves from number *first* of *total* (0: all are *steps*), whatever the *target*."""
        schedule = kernel.Schedule(steps, first, total or steps, hot, cold, 0.0)
        self._engine.run_order(self.line, schedule)

    @property
    def seconds(self) -> float:
        """Transfers of the best order."""
        return float(self.line.values[kernel.BEST])

    @property
    def evaluations(self) -> int:
        """Orders scored so far."""
        return int(self.line.counts[kernel.EVALUATIONS])

    def best_queues(self) -> Queues:
        """Each node's part of the best order."""
        return parts(self.line, self._engine.inst.num_nodes)

    def best_rounds(self) -> Queues:
        """None: barriers come later."""
        return []


class RoundAnnealing(Annealing):
    """Goes on from the best order of an :class:`OrderAnnealing` by replays, with barriers in it.

    At first one stands after every *every* tasks.
    """

    def __init__(self, engine: Engine, ordered: OrderAnnealing, every: int) -> None:
        tasks, line = engine.inst.num_tasks, engine.moved(ordered.line)
        cut = [int(p % every == 0) for p in range(tasks)]
        line.order[:], line.node[:], line.cut[:] = line.best_order, line.best_node, engine.box(cut)
        for p, k in enumerate(line.order):
            line.place[k] = p
        self._engine = engine
        empty: Queues = [[] for _ in range(engine.inst.num_nodes - 1)]
        self._arrays = queue_arrays(
            [list(range(tasks)), *empty], OUR_EVICTION, [[0] * tasks], [()] * tasks, engine.fast,
            engine.options,
        )  # fmt: skip
        self._search = engine.search([0], [], 0.0)._replace(line=line)
        engine.run_anneal(self._arrays, self._search, kernel.Schedule(0, 0, 1, 1.0, 1.0, 0.0))
        self._search.values[kernel.BEST] = self._search.values[kernel.NOW]
        order_kernel.keep_best(line)

    def best_queues(self) -> Queues:
        """Each node's part of the best order."""
        return parts(self._search.line, self._engine.inst.num_nodes)

    def best_rounds(self) -> Queues:
        """The tasks between two barriers, in the best order."""
        line, rounds = self._search.line, Queues([[]])
        for k, cut in zip(line.best_order, line.best_cut):
            if cut and rounds[-1]:
                rounds.append([])
            rounds[-1].append(int(k))
        return rounds if len(rounds) > 1 else []


def parts(line: order_kernel.Order, nodes: int) -> Queues:
    """The queues of so many *nodes* in the best order."""
    queues: Queues = [[] for _ in range(nodes)]
    for k in line.best_order:
        queues[int(line.best_node[k])].append(int(k))
    return queues
