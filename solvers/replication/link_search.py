"""Driving the link-aware kernels: score queues, deal an order, anneal; compiled or pure Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ioopt.problems.replication import ReplicationProblem
from ioopt.sim import replication_kernel
from ioopt.sim.compiled import compiled, is_ready
from ioopt.sim.replication_state import instance_arrays, new_log, new_state, queue_arrays
from ioopt.solvers.replication import link_kernel as kernel

OUR_EVICTION = "farthest-next-use"
MODULUS = 2147483647
Queues = list[list[int]]


def kernels_ready() -> bool:
    """Whether every kernel of the search stands compiled on disk."""
    return (
        is_ready(kernel.__name__, "anneal")
        and is_ready(kernel.__name__, "dispatch")
        and is_ready(replication_kernel.__name__, "replay")
    )


def compile_kernels() -> None:
    """Compile every kernel of the search, by running each on a batch of two tasks."""
    problem = ReplicationProblem.model_validate(
        {
            "network": {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 1.0},
            "nodes": [{"id": "n", "disk_bytes": 1}],
            "files": [{"id": "f", "bytes": 1}],
            "tasks": [{"id": name, "compute_seconds": 1.0, "inputs": ["f"]} for name in "ab"],
        }
    )
    engine = Engine(problem, 0, fast=True)
    queues = engine.deal([0, 1], 1, 0.0, 0.0, 0.0)
    assert queues is not None
    annealing = engine.annealing(queues, engine.score(queues))
    annealing.run(1, 1.0, 1.0, 0.0)


class Engine:
    """The arrays of one problem and the kernels over them, compiled if *fast*.

    The same seed and calls give the same answers, compiled or not.
    """

    def __init__(self, problem: ReplicationProblem, seed: int, fast: bool) -> None:
        self.problem, self.fast = problem, fast
        self.inst = instance_arrays(problem, compiled=fast)
        self._state = new_state(self.inst, compiled=fast)
        self._log = new_log(self.inst, 0, 0, fast)
        readers = problem.readers
        pointers = [0]
        for row in readers:
            pointers.append(pointers[-1] + len(row))
        self.reader_ptr = self.ints(pointers)
        self.readers = self.ints([k for row in readers for k in row])
        self._random = self.ints([1 + (seed * 7919 + 104729) % (MODULUS - 1)])
        self._work = self._dispatch_arrays()
        self._replay = self._function(replication_kernel.__name__, "replay")
        self._dispatch = self._function(kernel.__name__, "dispatch")
        self.anneal = self._function(kernel.__name__, "anneal")

    def ints(self, values: Sequence[int]) -> Any:
        """*values* in the form that the kernels take."""
        if not self.fast:
            return list(values)
        import numpy

        return numpy.array(values, dtype=numpy.int64)

    def floats(self, values: Sequence[float]) -> Any:
        """*values* in the form that the kernels take."""
        if not self.fast:
            return list(values)
        import numpy

        return numpy.array(values, dtype=numpy.float64)

    def _function(self, module: str, name: str) -> Any:
        from importlib import import_module

        return compiled(module, name) if self.fast else getattr(import_module(module), name)

    def _dispatch_arrays(self) -> kernel.Dispatch:
        nodes, files, tasks = self.inst.num_nodes, self.inst.num_files, self.inst.num_tasks
        network = self.problem.network
        cells = [0] * (nodes * files)
        return kernel.Dispatch(
            reader_ptr=self.reader_ptr, readers=self.readers, order=self.ints([0] * tasks),
            rank=self.ints([0] * tasks), taken=self.ints([0] * tasks), on=self.ints(cells),
            copies=self.ints([0] * files), pending=self.ints([0] * files), wanted=self.ints([0] * files),
            used=self.ints([0] * nodes), ready=self.floats([0.0] * nodes),
            residents=self.ints(cells), num_residents=self.ints([0] * nodes),
            queue=self.ints([0] * (nodes * tasks)), length=self.ints([0] * nodes),
            costs=self.floats(
                [1.0 / network.remote_bytes_per_second, 1.0 / network.replica_bytes_per_second]
            ),
            random=self._random,
        )  # fmt: skip

    def score(self, queues: Queues, eviction: str = OUR_EVICTION) -> float:
        """Simulated makespan of *queues* (tasks only) in seconds; infinity if they cannot run."""
        arrays = queue_arrays(queues, eviction, compiled=self.fast)
        value, code = self._replay(self.inst, arrays, self._state, self._log, float("inf"))
        return float(value) if code == replication_kernel.FINISHED else float("inf")

    def deal(
        self, order: Sequence[int], window: int, penalty: float, drift: float, noise: float
    ) -> Queues | None:
        """Queues dealt from *order* (see :func:`link_kernel.dispatch`); None where a task fits nowhere."""
        for rank, k in enumerate(order):
            self._work.order[rank] = k
        if not self._dispatch(self.inst, self._work, window, penalty, drift, noise):
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

    def run_anneal(
        self, arrays: Any, search: Any, steps: int, hot: float, cold: float, target: float
    ) -> None:
        """One stretch of annealing over *arrays*."""
        self.anneal(
            self.inst, arrays, self._state, self._log, search, steps, hot, cold, target
        )  # fmt: skip

    def random_state(self) -> Any:
        """The state of the generator, shared by dealing and annealing."""
        return self._random


class Annealing:
    """Queues under improvement, run in stretches so that the caller can watch the clock."""

    def __init__(self, engine: Engine, queues: Queues, score: float) -> None:
        self._engine = engine
        self._arrays = queue_arrays(queues, OUR_EVICTION, compiled=engine.fast)
        entries, ptr = list(self._arrays.entry), list(self._arrays.ptr)
        self._search = kernel.Search(
            reader_ptr=engine.reader_ptr, readers=engine.readers,
            best_ptr=engine.ints(ptr), best_entry=engine.ints(entries),
            kept_ptr=engine.ints(ptr), kept_entry=engine.ints(entries),
            block=engine.ints([0] * kernel.LONGEST_BLOCK), random=engine.random_state(),
            values=engine.floats([score, score]), counts=engine.ints([0, 0, 0]),
        )  # fmt: skip

    def run(self, steps: int, hot: float, cold: float, target: float) -> None:
        """Anneal for *steps* moves from *hot* to *cold* (seconds), ending early at *target*."""
        self._engine.run_anneal(self._arrays, self._search, steps, hot, cold, target)

    def restart(self) -> None:
        """Go on from the best queues found so far."""
        kernel.copy_queues(
            self._search.best_ptr, self._search.best_entry, self._arrays.ptr, self._arrays.entry
        )
        self._search.values[kernel.NOW] = self._search.values[kernel.BEST]

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
        ptr, entry = self._search.best_ptr, self._search.best_entry
        return [[int(k) for k in entry[ptr[i] : ptr[i + 1]]] for i in range(len(ptr) - 1)]
