"""Run tasks on an executor and write their rows to a store.

Only this process writes to the store, one row in one transaction, so a sweep that is
killed loses at most the tasks that had not come back. A task that ended its worker is
run again alone at the end; when it ends its worker every time, it is recorded as failed
with the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ioopt.campaign.executors import Executor, Lost
from ioopt.campaign.grid import Source
from ioopt.campaign.store import FAILED, Store
from ioopt.campaign.work import Row, Task, failed_row

TRIES_ALONE = 2
"""How often a task that ended its worker is run again, with no other task beside it."""

Listener = Callable[[int, int, str], None]
"""A function called with the finished tasks, all tasks, and words on the outcome so
far.
"""


@dataclass
class Tally:
    """What became of the tasks that ran."""

    done: int = 0
    """The number of rows written, including those of crashed tasks."""
    crashed: int = 0
    """The number of tasks without a result: the solver raised, or its worker died."""
    with_violations: int = 0
    """The number of results that break a rule of their instance."""

    def count(self, row: Row) -> None:
        """Count one row."""
        self.done += 1
        if row["status"] == FAILED:
            self.crashed += 1
        if row["violations"]:
            self.with_violations += 1


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    executor: Executor,
    sources: Mapping[str, Source] = MappingProxyType({}),
    listener: Listener | None = None,
) -> Tally:
    """Run *tasks* and write each row as it comes back."""
    tally = Tally()

    def write(row: Row) -> None:
        store.put(row)
        tally.count(row)
        if listener is not None:
            listener(tally.done, len(tasks), f"{tally.crashed} crashed")

    lost: list[Task] = []
    for task, answer in executor.answers(tasks, sources):
        if not isinstance(answer, Lost):
            write(answer)
        elif answer.process_died:
            lost.append(task)
        else:
            write(failed_row(task, sources.get(task.source), answer.reason))
    for task in lost:
        write(_run_alone(task, executor, sources))
    return tally


def _run_alone(task: Task, executor: Executor, sources: Mapping[str, Source]) -> Row:
    """Run once more, alone, a task that was lost; return its row, or a failed row when
    it is lost every time.
    """
    reason = ""
    for _ in range(TRIES_ALONE):
        ((_, answer),) = executor.answers([task], sources)
        if not isinstance(answer, Lost):
            return answer
        reason = answer.reason
        if not answer.process_died:
            break
    else:
        reason += f" (tried {1 + TRIES_ALONE} times)"
    return failed_row(task, sources.get(task.source), reason)
