"""The branch and bound over queues of one problem: its arrays, and runs of it in pieces.

See :mod:`ioopt.solvers.replication.exact.queue_kernel`.
"""

from itertools import accumulate
from typing import Any

import numpy as np

from ioopt.compiled import compiled
from ioopt.models.replication.transfer_bound import TransferBound
from ioopt.problems.replication import EvictionPolicy, ReplicationProblem
from ioopt.sim.replication.state import instance_arrays, new_log, new_state, queue_arrays
from ioopt.solvers.replication.exact import queue_kernel as kernel
from ioopt.solvers.replication.exact.queue_bound import Path

MOST_TASKS = 40
"""A search keeps the state behind each child of a branching; beyond that no proof is in sight."""
SCRATCH = ("victims", "keys", "use", "rates", "room", "crossing", "receivers")
"""Fields of the simulator's state that mean nothing between two steps."""


class QueueSearch:
    """The search over all queues of *problem* under one eviction policy; it can be left and resumed.

    Only plans that end before *upper* seconds are looked for. ``fast``: on compiled kernels.
    """

    def __init__(
        self, problem: ReplicationProblem, eviction: EvictionPolicy, upper: float, fast: bool
    ) -> None:
        self.problem, self.fast = problem, fast
        tasks, nodes = len(problem.tasks), len(problem.nodes)
        self._inst = instance_arrays(problem)
        self._log = new_log(self._inst, 0, 0)
        queues = queue_arrays([range(tasks)] * nodes, eviction)
        self._words, (self._state, self._plan) = _one_block(
            new_state(self._inst), queues._replace(growing=1)
        )
        self._bounds = TransferBound(problem)
        self._path = self._paths()
        self._tree = self._stack(upper)

    def _paths(self) -> Path:
        problem, bounds = self.problem, self._bounds
        tasks, nodes, files = len(problem.tasks), len(problem.nodes), len(problem.files)
        urgent = sorted(range(tasks), key=lambda k: -bounds.tail[k])
        cores = sum(node.cores for node in problem.nodes)
        links = 1 if problem.network.remote_link == "shared" else nodes
        return Path(
            order=np.array(bounds.order), urgent=np.array([*urgent, kernel.CLOSE]),
            quick=np.array(bounds.seconds_on_fastest), tail=np.array(bounds.tail),
            far=np.array([f.bytes / r for f, r in zip(problem.files, bounds.rates, strict=True)]),
            near=problem.replica_seconds_per_byte,
            remote_rate=links * problem.network.remote_bytes_per_second,
            producer=np.array(problem.producer, dtype=np.int64), fits=self._fits(),
            state=np.zeros(tasks, np.int64), on=np.zeros(tasks, np.int64),
            start=np.zeros(tasks), end=np.zeros(tasks),
            after=np.zeros(files), owed=np.zeros(files),
            free=np.zeros(cores), power=np.zeros(cores),
        )  # fmt: skip

    def _fits(self) -> Any:
        tasks, nodes = len(self.problem.tasks), len(self.problem.nodes)
        pairs = ((k, i) for k in range(tasks) for i in range(nodes))
        return np.array([int(self.problem.fits(k, i)) for k, i in pairs], dtype=np.int64)

    def _stack(self, upper: float) -> kernel.Tree:
        problem = self.problem
        tasks, nodes = len(problem.tasks), len(problem.nodes)
        depths, width = tasks + nodes + 2, tasks + 2
        below = [0] * tasks
        for k in reversed(self._bounds.order):
            for p in problem.predecessors[k]:
                below[p] |= below[k] | 1 << k
        return kernel.Tree(
            words=self._words, before=np.zeros_like(self._words),
            kept=np.zeros(depths * width * len(self._words), np.int64),
            node=np.zeros(depths, np.int64), children=np.zeros(depths, np.int64),
            at=np.zeros(depths, np.int64), row=np.zeros(depths * width, np.int64),
            bound=np.zeros(depths * width), below=np.array(below, dtype=np.int64), fits=self._fits(),
            best=np.zeros(tasks * nodes, np.int64), numbers=np.zeros(5, np.int64),
            seconds=np.array([upper]),
        )  # fmt: skip

    def run(self, visits: int) -> bool:
        """Replay up to about *visits* more children; whether the search has ended."""
        run = compiled(kernel.__name__, "search") if self.fast else kernel.search
        arrays = (self._inst, self._plan, self._state, self._log, self._tree, self._path)
        return bool(run(*arrays, self.visited + visits) == kernel.DONE)

    @property
    def visited(self) -> int:
        """Children replayed so far."""
        return int(self._tree.numbers[kernel.VISITED])

    @property
    def upper(self) -> float:
        """Seconds of the best plan known."""
        return float(self._tree.seconds[kernel.UPPER])

    def look_below(self, seconds: float) -> None:
        """Only plans that end before *seconds* are looked for from now on."""
        self._tree.seconds[kernel.UPPER] = min(self.upper, seconds)

    @property
    def pressed(self) -> bool:
        """Whether a file was ever evicted or saved for room: only then do policies differ."""
        return bool(self._tree.numbers[kernel.PRESSED])

    @property
    def bound(self) -> float:
        """No queues end sooner than that, in seconds: the least bound of what is still open."""
        tree, width = self._tree, len(self.problem.tasks) + 2
        if not tree.numbers[kernel.BEGUN]:
            return 0.0
        least = self.upper
        for depth in range(int(tree.numbers[kernel.DEPTH]) + 1):
            rest = slice(depth * width + tree.at[depth], depth * width + tree.children[depth])
            least = min([least, *tree.bound[rest]])
        return float(least)

    def best_queues(self) -> list[list[int]] | None:
        """The queues found that end at :attr:`upper`; None where none were."""
        if not self._tree.numbers[kernel.FOUND]:
            return None
        tasks = len(self.problem.tasks)
        rows = (self._tree.best[i : i + tasks] for i in range(0, len(self._tree.best), tasks))
        return [[int(k) for k in _until_end(row)] for row in rows]


def _until_end(row: Any) -> Any:
    ends = [x for x, k in enumerate(row) if k < 0]
    return row[: ends[0]] if ends else row


def _one_block(*parts: Any) -> tuple[Any, list[Any]]:
    """The arrays of *parts* as views of one block of words, scratch and constants apart."""
    moved = [
        (number, name, array)
        for number, part in enumerate(parts)
        for name, array in part._asdict().items()
        if name == "entry" or (hasattr(part, "has") and name not in SCRATCH)
    ]
    lengths = [-(-array.nbytes // 8) for _, _, array in moved]
    block = np.zeros(sum(lengths), np.int64)
    result = list(parts)
    for (number, name, array), begin in zip(moved, accumulate([0, *lengths]), strict=False):
        view = block[begin:].view(array.dtype)[: len(array)]
        view[:] = array
        result[number] = result[number]._replace(**{name: view})
    return block, result
