"""Read the sizes of files from the record of an earlier run."""

from __future__ import annotations

from collections import defaultdict

from ioopt.errors import UsageError
from ioopt.loading import load
from ioopt.problems.work_directory import WorkDirectoryProblem

Place = tuple[str, int]
"""The name of a rule, and the index of one of its outputs."""


class RecordedSizes:
    """Bytes of the files that the jobs of a recorded run wrote.

    ``name`` is the file of the record.
    """

    def __init__(self, name: str, problem: WorkDirectoryProblem) -> None:
        self.name = name
        sizes = {file.id: file.bytes for file in problem.files}
        found: dict[Place, list[int]] = defaultdict(list)
        for task in problem.tasks:
            # The recorder names a task by its rule and wildcards, "rule (a, b)".
            rule = task.id.partition(" (")[0].partition("#")[0].strip()
            for at, file in enumerate(task.outputs):
                found[rule, at].append(sizes[file])
        self._means = {place: _mean(every) for place, every in found.items()}
        # An output of 0 bytes whose like have more was gone before it was measured.
        made = {file for task in problem.tasks for file in task.outputs}
        self._files = {file: sizes[file] for file in made if sizes[file]}

    def __contains__(self, file: str) -> bool:
        """Return whether the record has the size of *file* itself."""
        return file in self._files

    def of(self, file: str, place: Place) -> int | None:
        """Return the recorded bytes of *file*, or else the mean of what other jobs
        wrote in its *place*; None if the record has no job of its rule.
        """
        return self._files.get(file, self._means.get(place))


def read_sizes(path: str) -> RecordedSizes:
    """Read the sizes in the record *path*, which ``--scheduler-ioopt-record`` wrote.

    Raises IooptError for a file that is no record.
    """
    problem = load(path)
    if not isinstance(problem, WorkDirectoryProblem):
        raise UsageError(
            f"{path}: {problem.format}: wanted the record of a run, from "
            "--scheduler-ioopt-record"
        )
    return RecordedSizes(path, problem)


def _mean(sizes: list[int]) -> int:
    """Return the mean of those *sizes* that are not 0; 0 if all are."""
    some = [size for size in sizes if size]
    return sum(some) // max(1, len(some))
