"""Let Dask follow the queues of a plan: each task runs on its worker, the first in the
queue first.

A scheduler plugin pins the tasks of a new graph to the workers of the plan and sets
their priorities. The names of workers are the nodes of the plan, and the keys of the
graph are its tasks. Dask still chooses from which worker a task's inputs come, and
deletes data once nobody needs them; a worker asks for the inputs of its tasks in order
of priority, but starts whichever task has its inputs.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from dask.typing import Key

from ioopt.embed.adapters.dask import Pin, Placer, Report, is_free, registered
from ioopt.formats.native import validate
from ioopt.problems.replication import CopyEntry, ReplicationPlan
from ioopt.units import counted

if TYPE_CHECKING:
    from distributed import Client, Scheduler


class PlanPins(Placer):
    """The scheduler plugin. *plan* is a replication plan, bound or not, or its
    dictionary.

    Tasks that are not in the plan, or whose worker is missing, are left to Dask; a note
    in the report says how many.
    """

    name = "ioopt-plan"

    def __init__(self, plan: ReplicationPlan | Mapping[str, object]) -> None:
        self.report = Report(plans=1)
        self._places: dict[str, tuple[str, int]] = {}
        for node, queue in validate(ReplicationPlan, plan, "plan").order.items():
            for place, entry in enumerate(queue):
                if not isinstance(entry, CopyEntry):
                    self._places[entry] = node, place

    def update_graph(
        self, scheduler: "Scheduler", *, tasks: Sequence[Key], **_: object
    ) -> None:
        """Pin the tasks of a new graph, and set their priorities."""
        addresses = {str(ws.name): ws.address for ws in scheduler.workers.values()}
        missing: dict[str, int] = {}
        left = 0
        for key in tasks:
            ts = scheduler.tasks[key]
            to_run = ts.state in ("released", "waiting") and ts.run_spec is not None
            if not to_run or not is_free(ts):
                continue
            if str(key) not in self._places:
                left += 1
                continue
            node, place = self._places[str(key)]
            if node not in addresses:
                missing[node] = missing.get(node, 0) + 1
                continue
            ts.worker_restrictions = Pin([addresses[node]])
            # The user's priority and the age of the graph still come first.
            ts.priority = (*(ts.priority or (0,))[:-1], place)
            self.report.decisions += 1
        for node, count in missing.items():
            text = f"no worker is called {node!r}: Dask places {counted(count, 'task')}"
            self.report.notes.append(text)
        if left:
            text = f"not in the plan: Dask places {counted(left, 'task')}"
            self.report.notes.append(text)

    def remove_worker(self, scheduler: "Scheduler", worker: str, **_: object) -> None:
        """Leave the tasks of a worker that has gone to Dask."""
        waiting: list[Key] = []
        count = 0
        for key, ts in scheduler.tasks.items():
            pins = ts.worker_restrictions
            if isinstance(pins, Pin) and worker in pins:
                ts.worker_restrictions = None
                count += 1
                if ts.state == "no-worker":
                    waiting.append(key)
        if count:
            text = f"{worker} has gone: Dask places {counted(count, 'task')}"
            self.report.notes.append(text)
        scheduler.transitions(dict.fromkeys(waiting, "waiting"), f"ioopt-{monotonic()}")


@contextlib.contextmanager
def followed(
    client: "Client", plan: ReplicationPlan | Mapping[str, object]
) -> Iterator[Report]:
    """Let the scheduler of *client* follow *plan* in all graphs that reach it inside
    the ``with`` block.

    The nodes of the plan are the names of workers (``str(worker.name)``), and its tasks
    the keys of the graph (``str(key)``). ioopt must be installed where the scheduler
    runs. The report, filled in when the block ends, has the number of pinned tasks and
    says what was left to Dask. Raises InstanceError for what is no plan.
    """
    with registered(client, PlanPins(plan)) as report:
        yield report
