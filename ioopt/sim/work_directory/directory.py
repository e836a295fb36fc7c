"""Track the contents of a work directory (rule B2 of docs/rules/work-directory.md)."""

from collections.abc import Mapping

from ioopt.problems.base import LONGEST_SECONDS
from ioopt.problems.work_directory import Fault, WorkDirectoryProblem


def lengths(
    problem: WorkDirectoryProblem, actual: Mapping[str, float] | None
) -> list[float]:
    """Return the run time of each task in seconds, in the order of the problem.

    *actual* seconds, keyed by task id, replace the planned compute seconds. Raises
    :class:`Fault` for an unknown task, and for negative or absurd seconds.
    """
    found = [task.compute_seconds for task in problem.tasks]
    for name, seconds in (actual or {}).items():
        k = problem.task_index.get(name)
        if k is None:
            raise Fault("unknown task", task=name)
        if not 0 <= seconds <= LONGEST_SECONDS:
            raise Fault("negative", task=name, seconds=seconds)
        found[k] = seconds
    return found


class Directory:
    """Count the bytes inside a work directory as tasks start and end (rule B2).

    ``use`` is the number of bytes inside. ``left`` has one number for each product: how
    many tasks have still to write or read it.
    """

    def __init__(self, problem: WorkDirectoryProblem) -> None:
        self.problem = problem
        self.use = 0
        self.left = [1 + len(tasks) for tasks in problem.readers]
        self.own = list(problem.own_bytes)
        self.sizes = [file.bytes for file in problem.products]
        self.leaves = [not file.keep for file in problem.products]
        self.scratch = [task.scratch_bytes for task in problem.tasks]
        self.touched = [
            (*a, *b) for a, b in zip(problem.inputs, problem.outputs, strict=True)
        ]

    def start(self, k: int) -> None:
        """Start task *k*: add the bytes of its outputs and its scratch."""
        self.use += self.own[k]

    def end(self, k: int) -> None:
        """End task *k*: remove its scratch, and the products that no task needs any
        more.
        """
        self.use -= self.scratch[k]
        for f in self.touched[k]:
            self.left[f] -= 1
            if not self.left[f] and self.leaves[f]:
                self.use -= self.sizes[f]
