"""A workflow kept whole: every file one producer, every precedence a file.

Recorded runs overwrite files and let tasks wait for others whose files they do not read. Here a
file that several tasks write becomes one file a version, and a precedence without a file an
invented file of 0 bytes; each is remarked upon.
"""

from collections import defaultdict
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from ioopt.errors import InstanceError
from ioopt.formats.cluster import Part
from ioopt.formats.report import Warnings, by_kind
from ioopt.formats.wfformat.parse import Workflow, WorkflowTask

SHOWN = 8
"""Tasks of a cycle that a message names."""


def whole_part(workflow: Workflow, tasks: Sequence[WorkflowTask]) -> Part:
    """The *tasks* of *workflow* with everything between them.

    A file that none of them reads, or that other tasks of the workflow read, is to be kept. What
    other tasks of the workflow write counts as lying on remote storage.
    """
    warnings: Warnings = defaultdict(list)
    sizes = dict(workflow.sizes)
    reads, writes = _versions(workflow.tasks, sizes, warnings)
    chosen = {task.id for task in tasks}
    wanted = {file for task in workflow.tasks if task.id not in chosen for file in reads[task.id]}
    tokens: dict[str, str] = {}
    for task in tasks:
        for parent in task.declared:
            if parent not in chosen:
                warnings["precedence on a task outside the selection is dropped"].append(task.id)
            elif parent == task.id or reads[task.id].keys().isdisjoint(writes[parent]):
                if parent not in tokens:
                    tokens[parent] = _unused(f"{parent} has ended", sizes)
                    sizes[tokens[parent]] = 0
                reads[task.id][tokens[parent]] = None
    for parent, token in tokens.items():
        writes[parent][token] = None
    made = {file for task in tasks for file in writes[task.id]}
    written = {file for task in workflow.tasks for file in writes[task.id]}
    read = {file for task in tasks for file in reads[task.id]}
    for file in sizes:
        if file in read and file in written - made:
            warnings[
                "a file that a task outside the selection writes lies on remote storage"
            ].append(file)
    return Part(
        {task.id: list(reads[task.id]) for task in tasks},
        {task.id: list(writes[task.id]) for task in tasks},
        {file: size for file, size in sizes.items() if file in read | made},
        frozenset(file for file in made if file in wanted or file not in read),
        by_kind(warnings),
        {
            "files of 0 bytes": f"{len(tokens)} stand for precedence without a file, such as "
            f"{next(iter(tokens.values()))!r}"
        }
        if tokens
        else {},
    )


def _versions(
    tasks: Sequence[WorkflowTask], sizes: dict[str, int], warnings: Warnings
) -> tuple[dict[str, dict[str, None]], dict[str, dict[str, None]]]:
    """Files that each task reads and writes, in order, each file written by one task at most.

    A reader gets the version of the last writer before it; where the file does not say which is
    before it, that of the first writer that does not wait for it; else the one that was there
    before all.
    """
    reads = {task.id: dict.fromkeys(task.inputs) for task in tasks}
    writes = {task.id: dict.fromkeys(task.outputs) for task in tasks}
    place = {task.id: at for at, task in enumerate(tasks)}
    writers: dict[str, list[str]] = {}
    for task in tasks:
        for file in task.outputs:
            writers.setdefault(file, []).append(task.id)
    readers: dict[str, list[str]] = {}
    for task in tasks:
        for file in task.inputs:
            if file in writers:
                readers.setdefault(file, []).append(task.id)
    contested = {
        file: names
        for file, names in writers.items()
        if len(names) > 1 or names[0] in readers.get(file, ())
    }
    if not contested:
        return reads, writes
    before = _ancestors(tasks, place, writers, contested)
    for file, names in contested.items():
        names.sort(key=lambda name: (before[name].bit_count(), place[name]))
        chosen: dict[str, str | None] = {}
        for reader in readers.get(file, ()):
            others = [name for name in names if name != reader]
            earlier = [name for name in others if before[reader] >> place[name] & 1]
            free = [name for name in others if not before[name] >> place[reader] & 1]
            chosen[reader] = earlier[-1] if earlier else free[0] if free else None
        versions: dict[str | None, str] = {}
        for name in [*([None] if None in chosen.values() else []), *names]:
            label = _unused(f"{file} ({len(versions) + 1})", sizes) if versions else file
            versions[name] = label
            sizes[label] = sizes[file]
        what = "a file written by several tasks became one file a version, all of its last size"
        if len(names) == 1:
            what = "a file that its writer reads became two, as it was before and after"
        warnings[what].append(file)
        for name in names:
            writes[name] = {versions[name] if f == file else f: None for f in writes[name]}
        for reader, name in chosen.items():
            reads[reader] = {versions[name] if f == file else f: None for f in reads[reader]}
    return reads, writes


def _ancestors(
    tasks: Sequence[WorkflowTask],
    place: dict[str, int],
    writers: dict[str, list[str]],
    contested: dict[str, list[str]],
) -> dict[str, int]:
    """The tasks that must end before each begins, as bits, by declared parents and sole writers."""
    parents = {
        task.id: {
            *task.declared,
            *(
                writers[file][0]
                for file in task.inputs
                if file in writers and file not in contested
            ),
        }
        for task in tasks
    }
    known: dict[str, int] = {}
    try:
        for name in TopologicalSorter(parents).static_order():
            known[name] = 0
            for parent in parents[name]:
                known[name] |= known[parent] | 1 << place[parent]
    except CycleError as error:
        cycle = " -> ".join(repr(name) for name in error.args[1][:SHOWN])
        raise InstanceError(f"dependency cycle of tasks: {cycle}") from None
    return known


def _unused(name: str, taken: dict[str, int]) -> str:
    while name in taken:
        name += "'"
    return name
