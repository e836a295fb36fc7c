"""Run tasks on an executor and write their rows to a store.

Only this process writes to the store, each row in a transaction of its own. A sweep
that is killed therefore loses at most the tasks whose rows had not arrived. A task that
ended its worker is run again at the end, with no other task beside it. If it ends its
worker every time, it is recorded as failed, with the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ioopt.campaign.executors import Executor, Lost
from ioopt.campaign.grid import Source
from ioopt.campaign.store import FAILED, Store
from ioopt.campaign.work import Row, Task, failed_row

TRIES_ALONE = 2
"""The number of times that a task that ended its worker is run again, with no other
task beside it.
"""

Listener = Callable[[int, int, str], None]
"""A function called with the number of finished tasks, the number of all tasks, and a
few words on the outcome so far.
"""


@dataclass
class Tally:
    """Counts of how the tasks of a run ended."""

    done: int = 0
    """The number of rows written, including those of crashed tasks."""
    crashed: int = 0
    """The number of tasks without a result, because the solver raised an error or its
    worker died.
    """
    with_violations: int = 0
    """The number of results whose plan breaks a rule of its instance."""

    def count(self, row: Row) -> None:
        """Add one row to the counts."""
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
    """Run *tasks*, write each row to *store* as it arrives, and return the counts."""
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
    """Run a lost task again, with no other task beside it; return its row, or a failed
    row if it is lost every time.
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
