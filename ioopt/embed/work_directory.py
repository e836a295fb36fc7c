"""Dispatch the tasks of a workflow inside an engine, such that their files stay within
the quota of the work directory.

>>> from ioopt.embed import WorkDirectory
>>> tasks = [{"id": "trim", "compute_seconds": 5, "outputs": ["t"]},
...          {"id": "map", "compute_seconds": 5, "inputs": ["t"], "outputs": ["m"]}]
>>> files = [{"id": "t", "bytes": 6}, {"id": "m", "bytes": 4}]
>>> run = WorkDirectory({"cores": 2, "quota_bytes": 10, "tasks": tasks, "files": files})
>>> run.next()
'trim'
>>> run.started("trim")
>>> run.ended("trim", now=7.0, files={"t": 8})
>>> run.next()
>>> print(run.notes[0].partition(';')[0])
stuck at 7 s with 1 tasks left: nothing runs, and map lacks 2 bytes
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Self, get_args

from ioopt import arguments
from ioopt.embed.guard import Guard, restoring
from ioopt.errors import (
    InstanceError,
    StateError,
    UnsolvableInstanceError,
    UsageError,
)
from ioopt.formats.native import validate
from ioopt.options import shown
from ioopt.problems.base import LARGEST, Json
from ioopt.problems.work_directory import Fault, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, Policy
from ioopt.sim.work_directory.order import least_order
from ioopt.units import counted

EVENTS = ("ready", "expect", "started", "ended")


class WorkDirectory:
    """One run of a work-directory *instance* under the dispatcher of the simulator.

    *policy*, *safe* and *in_flight* are the parameters of the dispatcher (rules B5 to
    B7). *policy* may also be a list of all tasks. The reference order of the dispatcher
    is the order with the smallest known peak. A task is ready once its producers have
    ended and it is released: at time 0, or by :meth:`ready`. The planned bytes of a
    file are used until the engine reports better ones. The object reads no clock and no
    file, and is not thread-safe. Invalid input raises InstanceError, UsageError or
    StateError and changes nothing, and a quota that no order found keeps raises
    UnsolvableInstanceError; :meth:`next` never raises. ``notes`` belong to the last
    decision.
    """

    def __init__(
        self,
        instance: Mapping[str, object] | WorkDirectoryProblem,
        policy: Policy | Sequence[str] = "submission",
        *,
        safe: bool = True,
        in_flight: int | None = None,
    ) -> None:
        self.problem: WorkDirectoryProblem = validate(
            WorkDirectoryProblem, instance, "instance"
        )
        self._how: Json = {"policy": policy, "safe": safe, "in_flight": in_flight}
        if isinstance(policy, str) and policy not in get_args(Policy):
            raise UsageError(
                f"policy {policy!r}: there are {', '.join(get_args(Policy))}"
            )
        order = [self.problem.tasks[k].id for k in least_order(self.problem)]
        quota = self.problem.quota_bytes
        try:
            self._dispatcher = Dispatcher(
                self.problem, policy, quota, safe, in_flight, order
            )
        except Fault as fault:
            if fault.record["kind"] == "no order found":
                raise UnsolvableInstanceError(f"quota_bytes: {fault}") from None
            raise InstanceError(f"policy or in_flight: {fault}") from None
        self._product: dict[str, tuple[int, int]] = {}
        for k, files in enumerate(self.problem.outputs):
            for f in files:
                self._product[self.problem.products[f].id] = (k, f)
        self._released = [not task.release_seconds for task in self.problem.tasks]
        self._running: set[int] = set()
        self._log: list[tuple[str, list[object]]] = []
        self._now = 0.0
        self._guard = Guard()
        self.notes: tuple[str, ...] = ()
        for k, released in enumerate(self._released):
            if released and not self.problem.predecessors[k]:
                self._dispatcher.released(k, 0.0)

    def __repr__(self) -> str:
        left = counted(self._dispatcher.unstarted, "task")
        return f"{type(self).__name__}({left} to start, {len(self._running)} running)"

    @property
    def use(self) -> int:
        """Return the number of bytes in the directory, including the files of running
        tasks.
        """
        return self._dispatcher.use

    def ready(self, task: str, now: float) -> None:
        """Record that *task*, which has a release time, is released at time *now*
        (seconds).
        """
        k = self._index(task)
        now = arguments.seconds(now, "now")
        if self._released[k]:
            raise StateError(f"task {task!r} is released already")
        self._log.append(("ready", [task, now]))
        self._now = now
        self._released[k] = True
        if not self._dispatcher.waits[k]:
            self._dispatcher.released(k, now)

    def expect(self, files: Mapping[str, int]) -> None:
        """Replace the planned bytes of output files by *files*, the bytes keyed by
        file. A file may be written already or not.
        """
        if not isinstance(files, Mapping):
            raise InstanceError(
                f"files: wanted a mapping from files to bytes, not {shown(files)}"
            )
        for name, size in files.items():
            is_size = type(size) is int and 0 <= size <= LARGEST
            if name not in self._product or not is_size:
                raise InstanceError(
                    f"file {name!r}: {size!r}: wanted the bytes of an output file"
                )
        if files:
            self._log.append(("expect", [dict(files)]))
        for name, size in files.items():
            self._dispatcher.resize(*self._product[name], size)

    def next(
        self, deadline: float | None = None, among: Collection[str] | None = None
    ) -> str | None:
        """Return the task to start now; None means wait.

        *among* are the tasks from which the task is chosen (None: all). The engine must
        call :meth:`started` next. *deadline*, in seconds, is for the whole call. When
        the dispatcher fails or is late while no task runs, the first ready task that
        fits is returned.
        """
        index = self.problem.task_index
        dispatcher = self._dispatcher
        deadline, ignored = arguments.usable_deadline(deadline)
        chosen = None
        if isinstance(among, Collection) and not isinstance(among, str):
            chosen = {index.get(name, -1) for name in among if isinstance(name, str)}
        elif among is not None:
            ignored += (
                f"among: wanted a list of tasks, not {shown(among)}; it is left out",
            )
            among = None
        k, self.notes = self._guard.run(
            lambda: dispatcher.next(chosen),
            lambda: self._first(chosen),
            self._wrong,
            deadline,
        )
        self.notes = ignored + self.notes
        waits = among is None and dispatcher.ready + dispatcher.closed
        if k is None and not self._running and waits:
            self.notes += (str(dispatcher.stuck(self._now)),)
        if k is None:
            return None
        return self.problem.tasks[k].id

    def started(self, task: str, files: Mapping[str, int] | None = None) -> None:
        """Record that *task*, which is ready, starts, whether or not :meth:`next`
        returned it.

        *files* gives the bytes of the files that it will write, keyed by file.
        """
        k = self._index(task)
        if not self._waits(k):
            raise StateError(f"task {task!r} is not ready, or has started")
        self.expect(files or {})
        self._log.append(("started", [task]))
        self._dispatcher.started(k)
        self._running.add(k)

    def ended(
        self, task: str, now: float, files: Mapping[str, int] | None = None
    ) -> None:
        """Record that *task*, which was running, has ended at time *now* (seconds).
        *files* gives the bytes of the files that it has written, keyed by file.
        """
        k = self._runs(task)
        now = arguments.seconds(now, "now")
        self.expect(files or {})
        self._now = now
        self._log.append(("ended", [task, self._now]))
        self._running.discard(k)
        for j in self._dispatcher.ended(k):
            if self._released[j]:
                self._dispatcher.released(j, self._now)

    def failed(self, task: str) -> None:
        """Record that *task*, which was running, has failed and left no files; it is
        ready again.
        """
        self._runs(task)
        log = [row for row in self._log if row != ("started", [task])]
        kept = {"notes": self.notes, "_guard": self._guard}
        vars(self).update(vars(self.restore(self.state() | {"events": log})) | kept)

    def state(self) -> Json:
        """Return the state of the run as plain JSON values: the instance and all
        events.
        """
        instance = self.problem.model_dump(mode="json", by_alias=True)
        events = [list(row) for row in self._log]
        return {"instance": instance, **self._how, "events": events}

    @classmethod
    def restore(cls, state: Json) -> Self:
        """Return a run in the saved *state*.

        Raises InstanceError when *state* is not a return value of :meth:`state`.
        """
        with restoring("run"):
            how = {key: state[key] for key in ("policy", "safe", "in_flight")}
            made = cls(state["instance"], **how)
            for name, told in state["events"]:
                if name not in EVENTS:
                    raise ValueError(name)
                getattr(made, name)(*told)
        return made

    def _waits(self, k: int) -> bool:
        dispatcher = self._dispatcher
        return self._released[k] and not dispatcher.waits[k] and not dispatcher.began[k]

    def _wrong(self, k: int | None) -> str | None:
        if k is None or (self._waits(k) and self._dispatcher.fits(k)):
            return None
        return f"task {k}, which may not start"

    def _first(self, among: Collection[int] | None) -> int | None:
        """Return the first ready task among *among* that fits, in the order of the
        instance; None if there is none, or if a task runs.
        """
        if self._running:
            return None
        dispatcher = self._dispatcher
        for k in sorted(k for _, k in dispatcher.ready + dispatcher.closed):
            if dispatcher.fits(k) and (among is None or k in among):
                return k
        return None

    def _index(self, task: str) -> int:
        if arguments.name(task, "task") not in self.problem.task_index:
            raise UsageError(f"there is no task {task!r}")
        return self.problem.task_index[task]

    def _runs(self, task: str) -> int:
        k = self._index(task)
        if k not in self._running:
            raise StateError(f"task {task!r} is not running")
        return k
