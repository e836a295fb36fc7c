"""WfFormat JSON into plain tasks and file sizes, with every oddity either warned of or refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ioopt.errors import InstanceError

MAX_BYTES = 1 << 62
_NUMBERED = re.compile(r"[_-](?:ID)?\d+$")


@dataclass(frozen=True)
class WorkflowTask:
    """One task: run time in seconds, distinct files read, tasks waited for.

    ``programs`` are the names under which it may be selected, the best known first.
    """

    id: str
    programs: tuple[str, ...]
    runtime: float
    inputs: tuple[str, ...]
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Workflow:
    """A parsed file: tasks in its order, bytes of every file, and what was odd about it."""

    name: str
    version: str
    tasks: tuple[WorkflowTask, ...]
    sizes: dict[str, int]
    warnings: tuple[str, ...]


@dataclass
class _Draft:
    """A task as read, before references are resolved."""

    id: str
    name: str
    where: str
    reads: list[str]
    writes: list[str]
    waits: list[str]
    feeds: list[str]
    program: str | None = None
    runtime: Any = None


class _Reader:
    """Typed access to untrusted JSON; each failure is one InstanceError that names the place."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.warnings: dict[str, list[str]] = {}

    def fail(self, where: str, message: str) -> InstanceError:
        """The error that says *message* about *where*."""
        return InstanceError(f"{self.name}: {where}: {message}")

    def warn(self, what: str, item: str) -> None:
        """Remember that *what* is so for *item*."""
        self.warnings.setdefault(what, []).append(item)

    def said(self) -> tuple[str, ...]:
        """One line a kind of oddity, with its first item and how many there were."""
        return tuple(
            f"{what}: {items[0][:80]}" + (f" and {len(items) - 1} more" if len(items) > 1 else "")
            for what, items in self.warnings.items()
        )

    def mapping(self, value: Any, where: str) -> Mapping[str, Any]:
        """*value* as an object."""
        if not isinstance(value, Mapping):
            raise self.fail(where, f"wanted an object, not {_kind(value)}")
        return value

    def items(self, value: Any, where: str) -> Sequence[Any]:
        """*value* as a list; nothing is an empty one."""
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.fail(where, f"wanted a list, not {_kind(value)}")
        return value

    def text(self, value: Any, where: str) -> str:
        """*value* as text that can be an id."""
        if not isinstance(value, str) or not value:
            raise self.fail(where, f"wanted text, not {_kind(value)}")
        if len(value) > 4096:
            raise self.fail(where, f"an id of {len(value)} characters; 4096 is the most")
        return value

    def texts(self, value: Any, where: str) -> list[str]:
        """*value* as a list of ids."""
        items = self.items(value, where)
        return [self.text(item, f"{where}[{i}]") for i, item in enumerate(items)]

    def number(self, value: Any, where: str) -> float:
        """*value* as a finite number of a sensible size."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail(where, f"wanted a number, not {_kind(value)}")
        if (isinstance(value, int) and abs(value) > MAX_BYTES) or not math.isfinite(value):
            raise self.fail(where, "a number too large to be meant")
        return value

    def size(self, value: Any, where: str) -> int:
        """*value* as whole bytes, rounded up."""
        size = self.number(value, where)
        if size < 0 or size > MAX_BYTES:
            raise self.fail(where, f"a size of {size} bytes; it must be 0 or more")
        return math.ceil(size)


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    if isinstance(value, (bool, int, float)):
        return str(value)[:40]
    return "a list" if isinstance(value, list) else "an object"


def parse_workflow(data: Any, name: str) -> Workflow:
    """Read parsed JSON *data* from file *name*.

    Warned of: an input listed twice, a file without a size (0 bytes), a run time that is missing
    or negative (0 s), a parent that does not exist. Raises InstanceError for the rest: another
    version, wrong types, ids given twice, negative sizes, no tasks.
    """
    read = _Reader(name)
    top = read.mapping(data, "top level")
    version = top.get("schemaVersion")
    if version not in ("1.4", "1.5", "1.6"):
        raise read.fail("schemaVersion", f"wanted 1.4 or 1.5, not {_kind(version)}")
    workflow = read.mapping(top.get("workflow"), "workflow")
    drafts, sizes = _old(read, workflow) if version == "1.4" else _new(read, workflow)
    if not drafts:
        raise read.fail("workflow", "no tasks")
    tasks = _resolve(read, drafts, sizes)
    title = top.get("name")
    title = title[:200] if isinstance(title, str) and title else "workflow"
    return Workflow(title, str(version), tasks, sizes, read.said())


def _old(read: _Reader, workflow: Mapping[str, Any]) -> tuple[list[_Draft], dict[str, int]]:
    """Version 1.4: everything stands in ``workflow.tasks``."""
    drafts: list[_Draft] = []
    sizes: dict[str, int] = {}
    for k, item in enumerate(read.items(workflow.get("tasks"), "workflow.tasks")):
        where = f"workflow.tasks[{k}]"
        task = read.mapping(item, where)
        name = read.text(task.get("name"), f"{where}.name")
        key = task.get("id")
        label = name if key is None else read.text(key, f"{where}.id")
        # The short id of 1.4 ("ID000001") says little; the name carries it when they differ.
        label = name if label in name else f"{name}_{label}"
        draft = _Draft(
            label, name, where, [], [],
            read.texts(task.get("parents"), f"{where}.parents"),
            read.texts(task.get("children"), f"{where}.children"),
            _program(task.get("command")), task.get("runtimeInSeconds", task.get("runtime")),
        )  # fmt: skip
        for i, entry in enumerate(read.items(task.get("files"), f"{where}.files")):
            place = f"{where}.files[{i}]"
            file = read.mapping(entry, place)
            path = file.get("path")
            file_id = read.text(file.get("name"), f"{place}.name")
            file_id = path + file_id if isinstance(path, str) else file_id
            size = file.get("sizeInBytes", file.get("size"))
            if size is not None:
                sizes.setdefault(file_id, read.size(size, f"{place}.sizeInBytes"))
            link = str(file.get("link", "")).lower()
            if link not in ("input", "output"):
                raise read.fail(f"{place}.link", f"wanted input or output, not {_kind(link)}")
            (draft.reads if link == "input" else draft.writes).append(file_id)
        drafts.append(draft)
    return drafts, sizes


def _new(read: _Reader, workflow: Mapping[str, Any]) -> tuple[list[_Draft], dict[str, int]]:
    """Version 1.5: structure in ``specification``, run times in ``execution``."""
    where = "workflow.specification"
    specification = read.mapping(workflow.get("specification"), where)
    sizes: dict[str, int] = {}
    for i, item in enumerate(read.items(specification.get("files"), f"{where}.files")):
        place = f"{where}.files[{i}]"
        file = read.mapping(item, place)
        name = read.text(file.get("id"), f"{place}.id")
        if file.get("sizeInBytes") is None:
            continue
        size = read.size(file["sizeInBytes"], f"{place}.sizeInBytes")
        if sizes.setdefault(name, size) != size:
            raise read.fail(place, f"file {_kind(name)} has {sizes[name]} and {size} bytes")
    drafts = []
    for k, item in enumerate(read.items(specification.get("tasks"), f"{where}.tasks")):
        place = f"{where}.tasks[{k}]"
        task = read.mapping(item, place)
        key = read.text(task.get("id"), f"{place}.id")
        title = task.get("name")
        reads, writes, waits, feeds = (
            read.texts(task.get(part), f"{place}.{part}")
            for part in ("inputFiles", "outputFiles", "parents", "children")
        )
        title = title if isinstance(title, str) and title else key
        drafts.append(_Draft(key, title, place, reads, writes, waits, feeds))
    if workflow.get("execution") is not None:
        _add_execution(read, read.mapping(workflow["execution"], "workflow.execution"), drafts)
    return drafts, sizes


def _add_execution(read: _Reader, execution: Mapping[str, Any], drafts: list[_Draft]) -> None:
    by_id = {draft.id: draft for draft in drafts}
    for k, item in enumerate(read.items(execution.get("tasks"), "workflow.execution.tasks")):
        where = f"workflow.execution.tasks[{k}]"
        task = read.mapping(item, where)
        key = read.text(task.get("id"), f"{where}.id")
        if key not in by_id:
            read.warn("run times of unknown tasks were left out", key)
            continue
        by_id[key].program = _program(task.get("command"))
        by_id[key].runtime = task.get("runtimeInSeconds")


def _program(command: Any) -> str | None:
    program = command.get("program") if isinstance(command, Mapping) else None
    return program if isinstance(program, str) and program else None


def _resolve(
    read: _Reader, drafts: list[_Draft], sizes: dict[str, int]
) -> tuple[WorkflowTask, ...]:
    """Tasks with distinct inputs, known sizes, and parents both declared and through files."""
    by_id: dict[str, _Draft] = {}
    for draft in drafts:
        if draft.id in by_id:
            raise read.fail(draft.where, f"id {_kind(draft.id)} is given twice")
        by_id[draft.id] = draft
    meant = {draft.name: draft.id for draft in drafts} | {key: key for key in by_id}
    parents = _parents(read, drafts, meant)
    tasks = []
    for draft in drafts:
        inputs = tuple(dict.fromkeys(draft.reads))
        if len(inputs) < len(draft.reads):
            read.warn("an input listed twice was taken once, in task", draft.id)
        for file in inputs:
            if file not in sizes:
                read.warn("a file without a size counts as 0 bytes", file)
                sizes[file] = 0
        runtime = _runtime(read, draft)
        tasks.append(
            WorkflowTask(draft.id, _programs(draft), runtime, inputs, tuple(parents[draft.id]))
        )
    return tuple(tasks)


def _runtime(read: _Reader, draft: _Draft) -> float:
    if draft.runtime is None:
        read.warn("a task without a run time counts as 0 s", draft.id)
        return 0.0
    runtime = float(read.number(draft.runtime, f"{draft.where} ({draft.id}) runtimeInSeconds"))
    if runtime < 0:
        read.warn("a negative run time counts as 0 s, in task", draft.id)
    return max(0.0, runtime)


def _parents(
    read: _Reader, drafts: list[_Draft], meant: Mapping[str, str]
) -> dict[str, dict[str, None]]:
    """Ordered sets of parents: declared at either end, and writers of files that are read."""
    parents: dict[str, dict[str, None]] = {draft.id: {} for draft in drafts}
    writers: dict[str, list[str]] = {}
    for draft in drafts:
        for file in draft.writes:
            writers.setdefault(file, []).append(draft.id)
    for draft in drafts:
        for other in draft.waits:
            if other in meant:
                parents[draft.id][meant[other]] = None
            else:
                read.warn("an unknown parent was left out", other)
        for other in draft.feeds:
            if other in meant:
                parents[meant[other]][draft.id] = None
            else:
                read.warn("an unknown child was left out", other)
        for file in draft.reads:
            parents[draft.id].update(
                (writer, None) for writer in writers.get(file, ()) if writer != draft.id
            )
    return parents


def _programs(draft: _Draft) -> tuple[str, ...]:
    """Command, its last path part, the task's name and its name without the number."""
    names = []
    if draft.program is not None and "\n" not in draft.program:
        names += [draft.program, draft.program.rsplit("/", 1)[-1]]
    names += [_NUMBERED.sub("", draft.name), draft.name]
    return tuple(dict.fromkeys(name for name in names if name))
