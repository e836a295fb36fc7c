"""What is said of the tasks of a process of Nextflow: patterns of names, and cores."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import ceil
from typing import NamedTuple, Protocol

from ioopt.errors import UsageError
from ioopt.formats.report import Warnings

ASSUMED_CORES = "assumed_cores"
"""The key in the ``meta`` of an instance for the rows of ``Cores.assumed``."""
TASK_CPUS = "--task-cpus"
"""The option by which a user states the cores of the tasks of a process."""
SLACK = 0.1
"""Share of a core that ``%cpu`` may be above the cores of a task: programs that run
beside the main one take some.
"""
_ASSUMED = (
    "cores of tasks without cpus: the most that %cpu shows for a task of the process, "
    f"or 1 without %cpu (else {TASK_CPUS} PROCESS=N)"
)


class Measured(Protocol):
    """A task of a trace, with its cores (0: not recorded) and the share of its run time
    for which it used a processor (4 with four busy threads; None: not recorded).
    """

    @property
    def process(self) -> str: ...
    @property
    def cores(self) -> int: ...
    @property
    def cpu_share(self) -> float | None: ...


class AssumedCores(NamedTuple):
    """The cores that the tasks of a process are assumed to take; ``measured`` says
    whether ``%cpu`` shows that they take no fewer.
    """

    process: str
    tasks: int
    cores: int
    measured: bool


class Cores(NamedTuple):
    """The cores of tasks by their processes: stated by the user, or assumed because
    they are not recorded. Assumed ones come in falling order.
    """

    stated: Mapping[str, int]
    assumed: Sequence[AssumedCores]

    def of(self, task: Measured) -> int:
        """Return the cores of *task*: stated, else recorded, else assumed."""
        if task.process in self.stated:
            return self.stated[task.process]
        if task.cores:
            return task.cores
        return next(row.cores for row in self.assumed if row.process == task.process)


def fitting_processes(
    option: str, pattern: str, processes: Collection[str]
) -> set[str]:
    """Return those of *processes* that *pattern* fits, whole or from the last colon on.

    Raises UsageError, which names *option*, if it fits none.
    """
    fits = {
        name
        for name in processes
        if fnmatchcase(name, pattern) or fnmatchcase(name.rpartition(":")[2], pattern)
    }
    if not fits:
        near = get_close_matches(pattern, processes, 1, 0.3)
        raise UsageError(
            f"{option} {pattern}: the trace has no such process"
            + (f"; meant {near[0]}?" if near else "")
        )
    return fits


def task_cpus(texts: Sequence[str]) -> dict[str, int]:
    """Return the cores by pattern of texts such as ``STAR_*=12``; raise UsageError for
    a text without a whole number of 1 or more.
    """
    found = {}
    for text in texts:
        pattern, _, number = text.rpartition("=")
        if not (pattern and number.isdecimal() and int(number)):
            raise UsageError(f"{TASK_CPUS} {text}: wanted PROCESS=N, N at least 1")
        found[pattern] = int(number)
    return found


def process_cores(
    tasks: Sequence[Measured], stated: Mapping[str, int], warnings: Warnings
) -> Cores:
    """Return the cores of the processes of *tasks* that a pattern of *stated* fits, or
    that have a task whose cores are not recorded.

    Such tasks are assumed to take the most cores that a task of their process used, in
    whole cores, which is no more than they asked for. Raises UsageError for a pattern
    that fits no process, and for a process that two patterns fit.
    """
    by_process = defaultdict[str, list[Measured]](list)
    for task in tasks:
        by_process[task.process].append(task)
    known: dict[str, int] = {}
    for pattern, cores in stated.items():
        for process in fitting_processes(TASK_CPUS, pattern, by_process):
            if known.setdefault(process, cores) != cores:
                raise UsageError(
                    f"{TASK_CPUS} {pattern}={cores}: {process} is also given "
                    f"{known[process]}"
                )
    assumed = []
    for process, members in by_process.items():
        lacking = [task for task in members if not task.cores]
        if lacking and process not in known:
            used = max(task.cores or _used(task.cpu_share) for task in members)
            row = AssumedCores(process, len(lacking), max(1, used), used > 0)
            assumed.append(row)
    assumed.sort(key=lambda row: -row.cores)
    warnings[_ASSUMED] += [f"{row.process} {row.cores}" for row in assumed]
    return Cores(known, assumed)


def _used(share: float | None) -> int:
    """Return the whole cores without which a task cannot have used a processor for
    *share* of its run time; 0 if that is not known.
    """
    return ceil(max(0.0, (share or 0.0) - SLACK))
