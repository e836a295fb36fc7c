"""Place the tasks of any Dask graph by ioopt's dispatchers while the tasks run.

A scheduler plugin holds back every task of a new graph. Once the inputs of a task
exist, the dispatcher decides which worker gets the task, and when; these are the
dispatchers of the simulations. Everything else is done by Dask: it moves the inputs,
keeps copies for later readers, and deletes data that is no longer needed. Estimates
come from Dask: the mean seconds and bytes of tasks with the same key prefix, and its
own measurement of the bandwidth. Some tasks are left to Dask: tasks that are restricted
to workers, hosts or resources, actors, and P2P shuffles. After any error Dask places
the tasks that were held back.
"""

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

from dask.typing import Key
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin

from ioopt.decisions.replication import Dispatcher
from ioopt.embed.live_view import LiveView, make_dispatcher
from ioopt.problems.replication import Network, Node, Task
from ioopt.solvers.replication.online.homes import Homes

if TYPE_CHECKING:
    from distributed import Client, Scheduler
    from distributed.scheduler import TaskState, WorkerState

UNKNOWN_SECONDS = 0.5
"""The estimated seconds of a task when no task with its prefix has ended; Dask uses the
same value.
"""
UNKNOWN_BYTES = 1 << 20
"""The estimated output bytes of a task when no task with its prefix has ended."""
DEADLINE_SECONDS = 10.0
"""The number of seconds that one round of decisions may take. After a round that takes
longer, Dask places all remaining tasks.
"""
NOBODY = "ioopt://held"
"""The address of a worker that does not exist. A task that is restricted to this
address waits.
"""
Policy = str | Callable[[], Dispatcher] | None
Settings = Mapping[str, object] | None


class Pin(set[str]):
    """A restriction of a task to workers that this module has set. Restrictions set by
    users have another type.
    """


@dataclass
class Report:
    """The number of decisions and what they cost.

    ``seconds`` is the time spent in the scheduler on decisions and bookkeeping.
    ``wanted_bytes`` is the number of bytes that the placements copy between workers.
    ``plans`` is the number of times that a dispatcher was made. ``ran_on``, filled on
    request only, gives the worker on which each key ran.
    """

    decisions: int = 0
    seconds: float = 0.0
    wanted_bytes: int = 0
    plans: int = 0
    notes: list[str] = field(default_factory=list)
    ran_on: dict[str, str] = field(default_factory=dict)


class Placer(SchedulerPlugin):
    """A scheduler plugin that restricts tasks to workers, and reports on it."""

    name: str
    report: Report

    def let_go(self) -> None:
        """Let Dask place all tasks that are held back; a plugin need not hold any."""


class Placement(Placer):
    """The scheduler plugin. *policy* is the name of a dispatcher, or a function that
    makes a dispatcher.

    If *policy* is None, no task is held back. With *record*, the report also says on
    which worker each task ran.
    """

    name = "ioopt"

    def __init__(
        self, policy: Policy = Homes, settings: Settings = None, *, record: bool = False
    ) -> None:
        if policy is not None:  # an unknown one is refused here, not in the scheduler
            make_dispatcher(policy, settings)
        self.policy = policy
        self.settings = dict(settings or {})
        self.record = record
        self.report = Report()
        self._held: dict[Key, None] = {}
        self._given: dict[Key, str] = {}
        self._bytes: dict[str, tuple[int, int]] = {}
        self._view: LiveView | None = None
        self._keys: list[Key] = []
        self._index: dict[Key, int] = {}
        self._asked = False

    async def start(self, scheduler: "Scheduler") -> None:
        """Store the scheduler; Dask calls this when the plugin is added."""
        self._scheduler = scheduler

    def update_graph(
        self, scheduler: "Scheduler", *, tasks: Sequence[Key], **_: object
    ) -> None:
        """Hold back the tasks of a new graph."""
        if self.policy is None:
            return
        for key in tasks:
            ts = scheduler.tasks[key]
            to_run = ts.state in ("released", "waiting") and ts.run_spec is not None
            if to_run and is_free(ts):
                ts.worker_restrictions = Pin([NOBODY])
                self._held[key] = None
                self._view = None

    def add_worker(self, scheduler: "Scheduler", worker: str) -> None:
        """Make a new plan if the new worker takes tasks at once; most workers begin to
        take tasks later.
        """
        if scheduler.workers[worker] in scheduler.running:
            self._workers_changed()

    def remove_worker(self, *_: object, **__: object) -> None:
        """Make a new plan without the worker that has left."""
        self._workers_changed()

    def log_event(self, topic: str, msg: object) -> None:
        """Make a new plan when a worker starts or stops taking tasks, or hands a task
        to another worker.

        The status of workers is visible only in Dask's log: ``add_worker`` is called
        before the worker runs, and there is no hook for a pause or a retirement.
        """
        if isinstance(msg, dict) and msg.get("action") == "worker-status-change":
            if Status.running.name in (msg["status"], msg["prev-status"]):
                self._workers_changed()
        elif topic == "stealing" and isinstance(msg, tuple) and msg[0] == "confirm":
            _, key, _, _, target, *_ = msg
            if key in self._given:
                self._given[key] = target
                self._scheduler.tasks[key].worker_restrictions = Pin([target])
                self._workers_changed()

    def restart(self, scheduler: "Scheduler") -> None:
        """Forget all tasks, because Dask has dropped them to restart all workers."""
        self._held.clear()
        self._given.clear()
        self._view = None

    def _workers_changed(self) -> None:
        """Drop the view of the workers, and request a decision from a new view."""
        self._view = None
        if self._held or self._given:
            self._ask()

    def transition(
        self, key: Key, start: str, finish: str, *_: object, **more: Any
    ) -> None:
        """Record the new state of a task, and request a decision if the change allows
        one.
        """
        begun = perf_counter()
        if finish == "no-worker":
            self._waits(key)
        elif start == "no-worker" or finish in (
            "released",
            "forgotten",
            "erred",
            "memory",
        ):
            self._held.pop(key, None)
        if start == "processing":
            self._ended(key, finish == "memory", more.get("worker", ""))
        self.report.seconds += perf_counter() - begun

    def _waits(self, key: Key) -> None:
        """Record that a task that was held back could run now, and request a
        decision.
        """
        if not isinstance(self._scheduler.tasks[key].worker_restrictions, Pin):
            return
        if key not in self._held:  # the worker or the result of the task was lost
            self._held[key] = None
            self._view = None
        elif self._view is not None:
            self._view.becomes_ready(self._index[key])
        self._ask()

    def _ended(self, key: Key, made: bool, worker: str) -> None:
        ts = self._scheduler.tasks[key]
        sizes = {}
        if made:
            size = max(0, ts.nbytes)
            count, total = self._bytes.get(ts.prefix.name, (0, 0))
            self._bytes[ts.prefix.name] = count + 1, total + size
            # Learn once 1, 2, 4, ... tasks of the prefix have ended.
            if self._view is not None and count & (count + 1) == 0:
                self._learn(ts, count == 0)
            if self.record:
                self.report.ran_on[str(key)] = str(self._scheduler.workers[worker].name)
            sizes = {self._index.get(key, -1): size}
        given = self._given.pop(key, None)
        if self._view is not None and given is not None:
            self._view.now = monotonic()
            self._view.ends(self._index[key], sizes)
        if self._held:
            self._ask()

    def _learn(self, ts: "TaskState", first: bool) -> None:
        """Replace the estimates of held tasks with the prefix of *ts* by measured
        values.

        If *ts* is the *first* task with this prefix that has ended, make a new plan.
        """
        assert self._view is not None
        for k in self._kinds.get(ts.prefix.name, ()):
            key = self._keys[k]
            if key in self._held:
                size = self._size(self._scheduler.tasks[key])
                self._view.expect(k, _seconds(ts), size)
        learn = getattr(self._dispatcher, "learn", None)
        if first and learn is not None:
            learn()
        elif first:
            self._view = None

    def _ask(self) -> None:
        """Request a decision as soon as the scheduler has finished its present work."""
        if not self._asked:
            self._asked = True
            self._scheduler.loop.add_callback(self._decide)

    def _decide(self) -> None:
        begun = perf_counter()
        self._asked = False
        found: dict[Key, str] = {}
        try:
            self._answer(found, begun + DEADLINE_SECONDS)
        except (
            Exception
        ) as error:  # Dask's event loop must continue, with the earlier decisions
            logging.getLogger("distributed.ioopt").warning(
                "ioopt: %s; Dask places", error
            )
            self.report.notes.append(f"{type(error).__name__}: {error}")
            self.let_go()
        for key, address in found.items():
            self._scheduler.tasks[key].worker_restrictions = Pin([address])
        self.report.decisions += len(found)
        self.report.seconds += perf_counter() - begun
        self._scheduler.transitions(
            dict.fromkeys(found, "processing"), f"ioopt-{monotonic()}"
        )

    def _answer(self, found: dict[Key, str], until: float) -> None:
        """Add to *found*, keyed by task, the worker's address for each task that the
        dispatcher places now.

        Raises TimeoutError when the time *until* has passed.
        """
        if not self._scheduler.running:
            return
        if self._view is None:
            self._take_back()
        if not self._held:
            return
        view = self._view or self._begin()
        view.now = monotonic()
        moved = view.moved
        while view.ready:
            pair = view.ask(self._dispatcher)
            if pair is None:
                if not view.at_rest():
                    break
                # No further event will come to which the dispatcher could react.
                pair = (view.ready[0], 0)
                view.give(*pair)
            key = self._keys[pair[0]]
            address = self._addresses[pair[1]]
            found[key] = self._given[key] = address
            del self._held[key]
            if perf_counter() > until:
                raise TimeoutError(f"no answer within {DEADLINE_SECONDS:g} s")
        self.report.wanted_bytes += view.moved - moved

    def _take_back(self) -> None:
        """Ask the workers that take no tasks now to hand over the tasks that they have
        not begun.

        Such a task goes to the running worker with the fewest tasks per thread, by the
        protocol of Dask's own work stealing. A task that is computing stays on its
        worker.
        """
        scheduler = self._scheduler
        stealing = scheduler.extensions["stealing"]
        coming: Counter[str] = Counter()

        def load(ws: "WorkerState") -> tuple[float, str, str]:
            tasks = len(ws.processing) + coming[ws.address]
            return tasks / ws.nthreads, str(ws.name), ws.address

        for key in self._given:
            task = scheduler.tasks[key]
            worker = task.processing_on
            if worker is not None and worker not in scheduler.running:
                target = min(scheduler.running, key=load)
                coming[target.address] += 1
                stealing.move_task_request(task, worker, target)

    def _begin(self) -> LiveView:
        """Make a view of all tasks that are held or placed, and a new dispatcher;
        return the view.
        """
        scheduler = self._scheduler
        self.report.plans += 1
        workers = sorted(scheduler.running, key=lambda ws: (str(ws.name), ws.address))
        self._addresses = [ws.address for ws in workers]
        states = (scheduler.tasks[key] for key in self._held)
        held = sorted(states, key=lambda ts: ts.priority or ())
        under_way = [scheduler.tasks[key] for key in self._given]
        self._keys = [ts.key for ts in (*held, *under_way)]
        self._index = {key: k for k, key in enumerate(self._keys)}
        self._kinds: dict[str, list[int]] = {}
        for k, ts in enumerate(held):
            self._kinds.setdefault(ts.prefix.name, []).append(k)
        self._view = view = self._seen([*held, *under_way], workers)
        view.under_way = len(under_way)
        for k, ts in enumerate(held):
            if ts.state == "no-worker":
                view.becomes_ready(k)
        nodes = {address: i for i, address in enumerate(self._addresses)}
        for k, ts in enumerate(under_way, len(held)):
            if self._given[ts.key] in nodes:
                view.give(k, nodes[self._given[ts.key]])
        self._dispatcher = make_dispatcher(self.policy or Homes, self.settings)
        return view

    def _seen(
        self, states: Sequence["TaskState"], workers: Sequence["WorkerState"]
    ) -> LiveView:
        """Return a view of the tasks *states*, the data that they read and write, and
        *workers*.

        Times and sizes are estimates. The data that the tasks write have the lowest
        indices.
        """
        files: dict[TaskState, int] = {}
        for ts in states:
            files.setdefault(ts, len(files))
        for ts in states:
            for dependency in ts.dependencies:
                files.setdefault(dependency, len(files))
        # The fastest pair of workers had the least sharing on its links; the view
        # itself models sharing.
        pairs = self._scheduler.bandwidth_workers.values()
        rate = float(max(self._scheduler.bandwidth, *pairs, 0.0))
        network = Network(remote_bytes_per_second=rate, replica_bytes_per_second=rate)
        nodes = tuple(Node(id=ws.address, cores=ws.nthreads) for ws in workers)
        view = LiveView(network, nodes, True, monotonic())
        io = []
        for ts in states:
            io.append(([files[d] for d in ts.dependencies], [files[ts]]))
        holds = []
        for ws in workers:
            holds.append([f for ts, f in files.items() if ws in (ts.who_has or ())])
        view.fill([_task(ts) for ts in states], io, map(self._size, files), holds)
        return view

    def _size(self, ts: "TaskState") -> int:
        if ts.nbytes >= 0:
            return int(ts.nbytes)
        count, total = self._bytes.get(ts.prefix.name, (0, 0))
        if count == 0:
            return UNKNOWN_BYTES
        return total // count

    def let_go(self) -> None:
        """Let Dask place all tasks that are held back."""
        held = list(self._held)
        self._held = {}
        waiting = []
        for key in held:
            ts = self._scheduler.tasks[key]
            ts.worker_restrictions = None
            if ts.state == "no-worker":
                waiting.append(key)
        self._scheduler.transitions(
            dict.fromkeys(waiting, "waiting"), f"ioopt-{monotonic()}"
        )


@contextlib.contextmanager
def placed(
    client: "Client",
    policy: Policy = Homes,
    settings: Settings = None,
    *,
    record: bool = False,
) -> Iterator[Report]:
    """Let ioopt place all graphs that reach the scheduler of *client* inside the
    ``with`` block.

    The default dispatcher makes some graphs faster. The other dispatchers are slower
    than Dask alone, and ``rolling`` can take several times as long; they are meant for
    comparisons with simulations. The arguments are those of :class:`Placement`. ioopt
    must be installed where the scheduler runs. The report is filled in when the block
    ends. Raises UsageError for a policy that is not a dispatcher.
    """
    with registered(client, Placement(policy, settings, record=record)) as report:
        yield report


@contextlib.contextmanager
def registered(client: "Client", placer: Placer) -> Iterator[Report]:
    """Register *placer* with the scheduler of *client* inside the ``with`` block.

    When the block ends, its restrictions are removed, and the report is filled in.
    """
    report = Report()
    client.register_plugin(placer)
    try:
        yield report
    finally:
        try:
            found = client.run_on_scheduler(_end, placer.name)
            vars(report).update(vars(found))
            client.unregister_scheduler_plugin(placer.name)
        except OSError as error:  # this error must not replace one of the block
            report.notes.append(f"the scheduler is gone: {error}")


def _end(name: str, dask_scheduler: "Scheduler") -> Report:
    """Remove all restrictions of the plugin *name*, and return its report."""
    placer: Placer = dask_scheduler.plugins[name]  # type: ignore[assignment]
    placer.let_go()
    for task in dask_scheduler.tasks.values():  # a task may have to run again
        if isinstance(task.worker_restrictions, Pin):
            task.worker_restrictions = None
    return placer.report


def is_free(ts: "TaskState") -> bool:
    """Return whether Dask may run a task on any worker, and the task belongs to no P2P
    shuffle.
    """
    if ts.worker_restrictions or ts.host_restrictions or ts.resource_restrictions:
        return False
    return not ts.actor and "shuffle" not in (ts.annotations or {})


def _task(ts: "TaskState") -> Task:
    """Return a Dask task in the form that dispatchers use. Validation is skipped,
    because Dask has validated the task.
    """
    return Task.model_construct(
        id=str(ts.key),
        compute_seconds=_seconds(ts),
        outputs=(str(ts.key),),
        inputs=tuple(str(d.key) for d in ts.dependencies),
    )


def _seconds(ts: "TaskState") -> float:
    known = float(ts.prefix.duration_average)
    if known < 0:
        return UNKNOWN_SECONDS
    return known
