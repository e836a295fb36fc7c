"""Driving the link-aware kernels: score queues, deal an order, anneal; compiled or pure Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

from ioopt.compiled import boxes, compiled, is_ready
from ioopt.problems.replay_options import RULES, ReplayOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.state import instance_arrays, new_log, new_state, queue_arrays
from ioopt.solvers.replication.plans import flat, tiny_batch
from ioopt.solvers.replication.search import deal_kernel
from ioopt.solvers.replication.search import link_kernel as kernel
from ioopt.solvers.replication.search.flow_arrays import flow_arrays

OUR_EVICTION = "farthest-next-use"
Queues = list[list[int]]


def kernels_ready() -> bool:
    """Whether every kernel of the search stands compiled on disk."""
    return is_ready(kernel.__name__, "anneal") and is_ready(deal_kernel.__name__, "dispatch")


def compile_kernels() -> None:
    """Compile every kernel of the search, by running each on a batch of two tasks."""
    engine = Engine(tiny_batch(), 0, fast=True)
    queues = engine.deal([0, 1], deal_kernel.Dealing(1, 0.0, 0.0, 0.0))
    assert queues is not None
    engine.score(queues)


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
        self._allocate(1 + (seed * 7919 + 104729) % (kernel.MODULUS - 1))

    def go_fast(self) -> None:
        """Go on with compiled kernels, exactly as the plain ones would have gone on."""
        self.fast = True
        self._allocate(int(self._random[0]))

    def _allocate(self, random: int) -> None:
        problem, fast = self.problem, self.fast
        self.inst = instance_arrays(problem, compiled=fast)
        self._state = new_state(self.inst, compiled=fast)
        self._log = new_log(self.inst, 0, 0, fast)
        self.box = boxes(fast)
        self.reader_ptr, self.readers = map(self.box, flat(problem.readers))
        self._random = self.box([random])
        self._work = self._dispatch_arrays()
        self._dispatch = self._function(deal_kernel, "dispatch")
        self._anneal = self._function(kernel, "anneal")
        self._scoring = self.search([0] * (self.inst.num_nodes + 1), [], float("inf"))

    def _function(self, module: ModuleType, name: str) -> Any:
        return compiled(module.__name__, name) if self.fast else getattr(module, name)

    def search(self, ptr: list[int], entries: list[int], score: float) -> kernel.Search:
        """The state of an annealing that begins from these queues."""
        return kernel.Search(
            reader_ptr=self.reader_ptr, readers=self.readers,
            best_ptr=self.box(ptr), best_entry=self.box(entries),
            kept_ptr=self.box(ptr), kept_entry=self.box(entries),
            block=self.box([0] * kernel.LONGEST_BLOCK), random=self._random,
            values=self.box([score, score], real=True), counts=self.box([0, 0, 0]),
            flow=flow_arrays(self.problem, rows(ptr, entries), self.fast),
        )  # fmt: skip

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
            random=self._random,
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


class Annealing:
    """Queues under improvement, run in stretches so that the caller can watch the clock."""

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

    def go_fast(self) -> None:
        """Go on with compiled kernels, once the engine does."""
        engine, arrays, search = self._engine, self._arrays, self._search
        self._arrays = type(arrays)(*(engine.box(v) if isinstance(v, list) else v for v in arrays))
        new = engine.search(search.kept_ptr, search.kept_entry, 0.0)
        self._search = new._replace(
            flow=type(search.flow)(*map(engine.box, search.flow)),
            best_ptr=engine.box(search.best_ptr), best_entry=engine.box(search.best_entry),
            values=engine.box(search.values, real=True), counts=engine.box(search.counts),
        )  # fmt: skip

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
