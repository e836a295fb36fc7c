"""What is inside a work directory (rule B2)."""

from ioopt.problems.work_directory import WorkDirectoryProblem


class Directory:
    """What is inside: ``use`` in bytes, and of each product how many tasks it still waits for (rule B2)."""

    def __init__(self, problem: WorkDirectoryProblem) -> None:
        self.problem, self.use = problem, 0
        self.left = [1 + len(tasks) for tasks in problem.readers]
        self.own = list(problem.own_bytes)
        self.sizes = [file.bytes for file in problem.products]
        self.leaves = [not file.keep for file in problem.products]
        self.scratch = [task.scratch_bytes for task in problem.tasks]
        self.touched = [(*a, *b) for a, b in zip(problem.inputs, problem.outputs, strict=True)]

    def start(self, k: int) -> None:
        """Outputs and scratch of task *k* enter."""
        self.use += self.own[k]

    def end(self, k: int) -> None:
        """Its scratch leaves, and what nobody waits for any more."""
        self.use -= self.scratch[k]
        for f in self.touched[k]:
            self.left[f] -= 1
            if not self.left[f] and self.leaves[f]:
                self.use -= self.sizes[f]
