"""A workflow on one machine with one work directory of limited size.

Sizes are in whole bytes, times in seconds. The model is ours; its rules B1 to B15 are
in docs/rules/work-directory.md.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator

from ioopt.errors import InstanceError, SimulationError
from ioopt.problems import base
from ioopt.units import EXACT_INTEGERS

if TYPE_CHECKING:
    from networkx import DiGraph

SAME_INSTANT = 10**9
"""Number of parts of a second. Times that differ by at most one part are one
instant.
"""
FLOAT_PARTS = 2**50
"""Reciprocal of the tolerance for starts in a plan. A start, and the end for which it
waits, are sums of floats, whose errors together are at most one part in 2**51.
"""
DIGITS = 9
"""Number of decimals to which the seconds of a task are rounded when multiplied."""
MOST_COPIED_TASKS = 1_000_000
"""Largest number of tasks of all copies of a workflow together."""
SHOWN = 5
"""Largest number of items of a list that a message names."""


LONG = {
    "stuck": "stuck at {seconds:g} s with {left} tasks left: nothing runs, and "
    "{waiting[0][task]} lacks {waiting[0][over]} bytes; admit with --set "
    "safe=true, or give a larger quota",
    "no order found": "no order of the tasks was found that keeps the quota: the best "
    "needs {least} bytes, {over} over it; give a larger quota",
}
"""Message for each kind of fault that the usual form "kind: key value, ..." would leave
unclear.
"""


class Fault(SimulationError, ValueError):
    """Report an error in an instance, a plan or an answer.

    ``record`` has the kind of the error and its details, as the rules define them.
    """

    def __init__(self, kind: str, **found: object) -> None:
        self.record: base.Json = {"kind": kind, **found}
        told = []
        for key, item in found.items():
            if isinstance(item, list):
                item = item[:SHOWN]
            told.append(f"{key} {item!r}")
        words = ", ".join(told)
        text = LONG.get(kind, "{kind}: {words}")
        super().__init__(text.format(kind=kind, words=words, **found))


class Ticks:
    """Convert times to whole ticks, so that sums are exact.

    A second has ``per_second`` ticks. Only the *seconds* given here can be converted.
    Times at most ``slack`` ticks apart are one instant.
    """

    def __init__(self, seconds: Iterable[float]) -> None:
        self._ratios = {value: _ratio(value) for value in set(seconds)}
        self.per_second = lcm(*{below for _, below in self._ratios.values()})
        self.slack = self.per_second // SAME_INSTANT

    def of(self, seconds: float) -> int:
        """Return *seconds*, which must be one of the given times, in ticks."""
        above, below = self._ratios[seconds]
        return above * (self.per_second // below)

    def all_of(self, seconds: Iterable[float]) -> list[int]:
        """Return each of *seconds*, which must be given times, in ticks."""
        known = {value: self.of(value) for value in self._ratios}
        return [known[value] for value in seconds]

    def seconds(self, ticks: int) -> float:
        """Return the seconds of *ticks*, as the nearest float."""
        return ticks / self.per_second

    def reach(self, ticks: int) -> int:
        """Return the last tick that counts as the same instant as *ticks*.

        *ticks* is the start of a task in a plan, a float that may have a rounding
        error.
        """
        return ticks + self.slack + ticks // FLOAT_PARTS


def _ratio(seconds: float) -> tuple[int, int]:
    """Return two integers whose quotient is *seconds* as a decimal number.

    The decimal number is the one that *seconds* shows as text.
    """
    if seconds == int(seconds) and abs(seconds) < EXACT_INTEGERS:
        return int(seconds), 1
    return Decimal(repr(float(seconds))).as_integer_ratio()


class WorkTask(base.Lean):
    """A task: the files that it reads and writes, its scratch space and its sample.

    The scratch space is in use while the task runs.
    """

    LATER = frozenset(
        {"cores", "inputs", "outputs", "scratch_bytes", "release_seconds", "sample"}
    )
    id: base.Name
    compute_seconds: base.Seconds
    cores: base.PositiveCount = 1
    inputs: tuple[base.Name, ...] = ()
    outputs: tuple[base.Name, ...] = ()
    scratch_bytes: base.Count = 0
    release_seconds: base.Seconds = 0.0
    sample: base.JobId | None = None

    def copy_number(self, n: int, renamed: Mapping[str, str], sampled: bool) -> Self:
        """Return copy *n* of the task, with its files *renamed*. Without samples in the
        instance (*sampled* is false), *n* is its sample.
        """
        sample: int | str | None = n
        if sampled:
            sample = None if self.sample is None else f"{self.sample}#{n}"
        told: base.Json = {"id": f"{self.id}#{n}", "sample": sample}
        for key in ("inputs", "outputs"):
            told[key] = tuple(renamed.get(f, f) for f in getattr(self, key))
        return self.model_copy(update=told)

    def gather(self, renamed: Sequence[Mapping[str, str]]) -> Self:
        """Return the task as it reads the files of all copies, which *renamed* has by
        copy. Its seconds and its scratch space grow with the number of copies.
        """
        inputs: dict[str, None] = {}
        for file in self.inputs:
            inputs |= dict.fromkeys(names.get(file, file) for names in renamed)
        seconds = round(self.compute_seconds * len(renamed), DIGITS)
        return self.model_copy(
            update={
                "inputs": tuple(inputs),
                "compute_seconds": seconds,
                "scratch_bytes": self.scratch_bytes * len(renamed),
            }
        )


class WorkFile(base.Lean):
    """A file.

    A product is a file that some task writes. With ``keep``, it is never removed.
    """

    LATER = frozenset({"keep"})
    id: base.Name
    bytes: base.Count
    keep: bool = Field(default=False, strict=True)


class WorkDirectoryProblem(base.Problem):
    """Tasks on one machine that write to one directory with a quota (rules B1 and B2).

    If ``quota_bytes`` is null, there is no quota. Raises a validation error, a
    :class:`Fault`, for repeated ids, unknown files, files with two producers,
    dependency cycles, and tasks with too many cores. The properties below name tasks
    and products by their positions.
    """

    format: Literal["ioopt/work-directory"] = "ioopt/work-directory"
    cores: base.PositiveCount
    quota_bytes: base.Count | None = None
    tasks: tuple[WorkTask, ...] = ()
    files: tuple[WorkFile, ...] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _read_at_once(
        cls, data: object, build: ModelWrapValidatorHandler[Self]
    ) -> Self:
        with base.collector_paused():
            return build(data)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _require_unique("task", [task.id for task in self.tasks])
        _require_unique("file", [file.id for file in self.files])
        known = {file.id for file in self.files}
        for task in self.tasks:
            _require_files(task, task.inputs, known)
            _require_files(task, task.outputs, known)
        writer: dict[str, str] = {}
        for task in self.tasks:
            for name in task.outputs:
                if writer.setdefault(name, task.id) != task.id:
                    raise Fault(
                        "two producers", file=name, tasks=[writer[name], task.id]
                    )
        if len(self.topological) < len(self.tasks):
            cycle = base.find_cycle(dict(enumerate(self.predecessors)))
            raise Fault("circle", tasks=[self.tasks[k].id for k in cycle])
        for task in self.tasks:
            if task.cores > self.cores:
                raise Fault("cores", task=task.id, cores=task.cores, machine=self.cores)
        return self

    def graph(self) -> "DiGraph":
        """Return the tasks and files as a networkx graph.

        Its nodes are ``("task", id)`` with ``compute_seconds``, and ``("file", id)``
        with ``bytes``. An edge leads from each file to the tasks that read it, and from
        each task to the files that it writes.
        """
        from ioopt.graphs import graph_of_tasks

        return graph_of_tasks(self.tasks, self.files)

    @cached_property
    def task_index(self) -> dict[str, int]:
        """Return the position of each task, by id."""
        return {task.id: k for k, task in enumerate(self.tasks)}

    @cached_property
    def products(self) -> tuple[WorkFile, ...]:
        """Return the files that some task writes, in the order of the instance."""
        written = {name for task in self.tasks for name in task.outputs}
        return tuple(file for file in self.files if file.id in written)

    def _positions(self, key: str) -> tuple[tuple[int, ...], ...]:
        at = {file.id: f for f, file in enumerate(self.products)}
        rows = (getattr(task, key) for task in self.tasks)
        return tuple(tuple(at[name] for name in names if name in at) for names in rows)

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the products that it reads (other files do not
        count).
        """
        return self._positions("inputs")

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the products that it writes."""
        return self._positions("outputs")

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each product, the tasks that read it."""
        found: list[list[int]] = [[] for _ in self.products]
        for k, files in enumerate(self.inputs):
            for f in files:
                found[f].append(k)
        return tuple(map(tuple, found))

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the producers of its inputs, each once.

        They are in the order of the inputs.
        """
        writer = {f: k for k, files in enumerate(self.outputs) for f in files}
        return tuple(
            tuple(dict.fromkeys(writer[f] for f in files)) for files in self.inputs
        )

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each task, the readers of its outputs, each once."""
        read = self.readers
        return tuple(
            tuple(dict.fromkeys(k for f in row for k in read[f]))
            for row in self.outputs
        )

    @cached_property
    def own_bytes(self) -> tuple[int, ...]:
        """Return, for each task, the bytes that it adds at its start: outputs and
        scratch.
        """
        sizes = [file.bytes for file in self.products]
        rows = zip(self.tasks, self.outputs, strict=True)
        return tuple(
            task.scratch_bytes + sum(sizes[f] for f in files) for task, files in rows
        )

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Return, for each task, its level (rule B5).

        The level is 0 without predecessors, and otherwise one more than the largest
        level of a predecessor.
        """
        level = [0] * len(self.tasks)
        for k in self.topological:
            level[k] = max((level[p] + 1 for p in self.predecessors[k]), default=0)
        return tuple(level)

    @cached_property
    def topological(self) -> tuple[int, ...]:
        """Return all tasks, each after its predecessors; tasks of cycles are left out.

        Tasks without predecessors come first. Their order is that of first mention in
        the list of all tasks, in which each task is followed by its predecessors. Any
        other task comes as soon as its last predecessor has come.
        """
        waits = [len(row) for row in self.predecessors]
        after: list[list[int]] = [[] for _ in waits]
        mentioned: dict[int, None] = {}
        for k, row in enumerate(self.predecessors):
            mentioned[k] = None
            for p in row:
                after[p].append(k)
                mentioned[p] = None
        found = [k for k in mentioned if not waits[k]]
        for k in found:
            for j in after[k]:
                waits[j] -= 1
                if not waits[j]:
                    found.append(j)
        return tuple(found)

    @cached_property
    def components(self) -> tuple[int, ...]:
        """Return, for each task, the first task of its weak component.

        A weak component has the tasks that are joined by products, directly or through
        others.
        """
        from networkx import weakly_connected_components

        graph = self.graph()
        products = {file.id for file in self.products}
        graph.remove_nodes_from(
            ("file", file.id) for file in self.files if file.id not in products
        )
        found = [0] * len(self.tasks)
        for part in weakly_connected_components(graph):
            tasks = [self.task_index[name] for kind, name in part if kind == "task"]
            first = min(tasks)
            for k in tasks:
                found[k] = first
        return tuple(found)

    @cached_property
    def samples(self) -> tuple[int, ...]:
        """Return, for each task, the number of its sample (rule B1); -1 without a
        sample.

        Samples are numbered in order of first mention. If no task names a sample, each
        weak component is a sample.
        """
        named = [task.sample for task in self.tasks]
        labels: Sequence[int | str | None] = named
        if all(name is None for name in named):
            labels = self.components
        known = (label for label in dict.fromkeys(labels) if label is not None)
        number: dict[int | str | None, int] = {None: -1}
        for at, label in enumerate(known):
            number[label] = at
        return tuple(number[label] for label in labels)

    @cached_property
    def ticks(self) -> Ticks:
        """Return the conversion to ticks that makes all times of the instance whole."""
        seconds = [task.compute_seconds for task in self.tasks]
        return Ticks(seconds + [task.release_seconds for task in self.tasks])

    @cached_property
    def gathering(self) -> frozenset[int]:
        """Return the tasks without a sample that wait, also through other tasks, for
        tasks that name a sample.
        """
        after: set[int] = set()
        for k in self.topological:
            named = self.tasks[k].sample is not None
            if named or not after.isdisjoint(self.predecessors[k]):
                after.add(k)
        return frozenset(k for k in after if self.tasks[k].sample is None)

    def copies(self, count: int) -> Self:
        """Return one instance with *count* copies of this one (rule B15).

        Copies are numbered from 1. The number is added to names and to samples; without
        samples it is the sample of the tasks. A file that no task writes stays shared.
        For a count of 1, return the instance itself.
        """
        return self._copied(count, (), f"{self.name} x{count}")

    def more_samples(self, count: int) -> Self:
        """Return this instance with *count* times its samples (rule B15).

        Tasks that name a sample are copied as by :meth:`copies`. The others stay one:
        what they write feeds all copies, and they read the files of all copies. Those
        that are :attr:`gathering` take *count* times the seconds and the bytes. If no
        task names a sample, nothing can be told apart: the whole instance is copied.
        """
        once = [k for k, task in enumerate(self.tasks) if task.sample is None]
        if len(once) == len(self.tasks):
            return self.copies(count)
        return self._copied(count, once, f"{self.name}, samples x{count}")

    def _copied(self, count: int, once: Sequence[int], name: str) -> Self:
        """Return the instance *name* with *count* copies of all tasks but *once*."""
        if count == 1:
            return self
        kept = set(once)
        copied = [task for k, task in enumerate(self.tasks) if k not in kept]
        if count * len(copied) + len(once) > MOST_COPIED_TASKS:
            raise InstanceError(
                f"{count} copies of {len(copied)} tasks: at most "
                f"{MOST_COPIED_TASKS} tasks in all"
            )
        written = [file for task in copied for file in task.outputs]
        renamed = [{f: f"{f}#{n}" for f in written} for n in range(1, count + 1)]
        sampled = any(task.sample is not None for task in self.tasks)
        late = [self.tasks[k] for k in once if k in self.gathering]
        tasks = [self.tasks[k] for k in once if k not in self.gathering]
        for n, names in enumerate(renamed, 1):
            tasks += [task.copy_number(n, names, sampled) for task in copied]
        tasks += [task.gather(renamed) for task in late]
        files = self._copied_files(renamed, {f for task in late for f in task.outputs})
        _require_valid_copies(self.name, tasks, files)
        data = {key: getattr(self, key) for key in ("cores", "quota_bytes", "meta")}
        return type(self)(name=name, tasks=tuple(tasks), files=tuple(files), **data)

    def _copied_files(
        self, renamed: Sequence[Mapping[str, str]], larger: Set[str]
    ) -> list[WorkFile]:
        """Return the files once, with those that *renamed* has by copy in all copies,
        and the *larger* ones as many times as large.
        """
        files = []
        for file in self.files:
            if file.id in larger:
                size = file.bytes * len(renamed)
                files.append(file.model_copy(update={"bytes": size}))
            elif file.id not in renamed[0]:
                files.append(file)
        for names in renamed:
            files += [
                file.model_copy(update={"id": names[file.id]})
                for file in self.files
                if file.id in names
            ]
        return files


def _require_valid_copies(
    name: str, tasks: Sequence[WorkTask], files: Sequence[WorkFile]
) -> None:
    """Raise InstanceError if *tasks* and *files* of the instance *name*, some of which
    are copies, share an id or are larger than those of an instance may be.
    """
    for what, ids in (("task", [t.id for t in tasks]), ("file", [f.id for f in files])):
        if repeated := base.first_repeated(ids):
            raise InstanceError(
                f"{name}: {what} {ids[repeated[0]]!r} has the name that a copy of "
                f"another {what} gets; rename it"
            )
    most: dict[str, list[tuple[str, float, float]]] = {
        "seconds": [(t.id, t.compute_seconds, base.LONGEST_SECONDS) for t in tasks],
        "scratch bytes": [(t.id, t.scratch_bytes, base.LARGEST) for t in tasks],
        "bytes": [(f.id, f.bytes, base.LARGEST) for f in files],
    }
    for what, rows in most.items():
        for item, size, limit in rows:
            if size > limit:
                raise InstanceError(
                    f"{name}: {item!r} with all samples: at most {limit:g} {what}, "
                    f"not {size:g}"
                )


def _require_unique(what: str, ids: list[str]) -> None:
    """Raise :class:`Fault` if an id is given twice; *what* is ``task`` or ``file``."""
    repeated = base.first_repeated(ids)
    if repeated:
        raise Fault("duplicate", what=what, id=ids[repeated[0]])


def _require_files(task: WorkTask, names: Sequence[str], known: set[str]) -> None:
    """Raise :class:`Fault` if *names*, files of *task*, has an unknown or repeated
    file.
    """
    for at, name in enumerate(names):
        if name not in known:
            raise Fault("unknown file", task=task.id, file=name)
        if name in names[:at]:
            raise Fault("listed twice", task=task.id, file=name)


class WorkDirectoryPlan(base.Lean, base.Plan):
    """The ``starts`` of all tasks as (seconds, task), with every task once.

    Tasks start in order of seconds; equal times keep the order of the list (rule B3).
    With ``ignore_quota``, the plan needs more than the quota and shows how many bytes
    suffice (rule B9).
    """

    LATER = frozenset({"ignore_quota"})
    starts: tuple[tuple[base.Real, base.Name], ...]
    ignore_quota: bool = Field(default=False, strict=True)


def beyond(
    problem: WorkDirectoryProblem,
    plan: WorkDirectoryPlan | None,
    schedule: base.Json | None,
) -> base.Json:
    """Return in which respects a result deviates from the instance.

    ``quota`` is ``kept`` or ``ignored``. ``actual`` is the number of tasks with other
    compute times than those of the instance.
    """
    quota = "kept"
    if plan is not None and plan.ignore_quota:
        quota = "ignored"
    changed = 0
    actual = (schedule or {}).get("actual_compute_seconds")
    if actual:
        planned = {task.id: task.compute_seconds for task in problem.tasks}
        for task, seconds in actual.items():
            changed += seconds != planned.get(task)
    return {"quota": quota, "actual": changed}
