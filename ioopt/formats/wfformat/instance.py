"""Read WfFormat 1.4 to 1.6 (WfCommons workflow traces) as a workflow or as one batch.

Files become inputs and outputs with their sizes, and run times become compute seconds.
Core counts are kept. Outputs that no task reads must be saved. The nodes are the
machines that the file names, unless the caller asks for others. A WfFormat file has no
disks and no rates, so these come from the caller too. A workflow flattened to a batch
has no dependencies; files that an earlier task wrote count as inputs on remote storage.

Schema: https://github.com/wfcommons/WfFormat, whose wfcommons-migrate-instance.py
brings older files up to date. What 1.6 adds is optional and is not read.

In a workflow of ioopt every file has one producer, and a task waits for another task
only by reading a file of that task. In recorded runs, tasks overwrite files, and tasks
wait for others without reading their files. Therefore a file that several tasks write
becomes one file for each version, and a precedence without a file gets a file of 0
bytes. Warnings name the files.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from ioopt.errors import InstanceError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, RecordedNode, built
from ioopt.formats.native import named, read_json
from ioopt.formats.report import Warnings, by_kind
from ioopt.formats.wfformat.parse import Workflow, WorkflowTask, parse_workflow
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem

Files = dict[str, None]
"""Names of files in order, each once."""
_SHOWN = 8
"""Largest number of tasks of a dependency cycle that a message names."""


def read_wfformat(
    source: str, machine: Machine = FOUR_NODES, flatten: bool = False
) -> ReplicationProblem:
    """Return the workflow in a WfFormat file or, with *flatten*, its tasks as a batch.

    ``meta["warnings"]`` of the result names oddities, dropped data and assumptions.
    Raises InstanceError for a file that cannot be used.

    Parameters
    ----------
    source
        Path (``-``: standard input; gzip is unpacked).
    machine
        Nodes, disks and rates. By default the nodes are the machines of the file, or 4
        nodes if it names none. Disks are unlimited. The nodes share a 100 Mbps link.
    flatten
        Return independent tasks that read files, without precedence, outputs and cores.
    """
    return problem_from_wfformat(read_json(source), named(source), machine, flatten)


def problem_from_wfformat(
    data: object,
    name: str,
    machine: Machine = FOUR_NODES,
    flatten: bool = False,
) -> ReplicationProblem:
    """Convert parsed JSON *data* of the file *name* like :func:`read_wfformat`."""
    workflow = parse_workflow(data, name)
    machines = workflow.machines
    rows: list[Json] = [
        {"id": task.id, "compute_seconds": task.runtime} for task in workflow.tasks
    ]
    try:
        if flatten:
            part = _flat_part(workflow)
            # A batch has no cores: a node runs one task at a time.
            machines = tuple(RecordedNode(node.name) for node in machines)
        else:
            part = _whole_part(workflow)
            for row, task in zip(rows, workflow.tasks, strict=True):
                row["cores"] = task.cores
                row["memory_bytes"] = task.memory
    except InstanceError as error:
        raise InstanceError(f"{name}: {error}") from None
    return built(
        {"name": workflow.name, "meta": {"source": f"WfFormat {workflow.version}"}},
        rows,
        part,
        machine,
        workflow.warnings,
        name,
        machines,
    )


def _flat_part(workflow: Workflow) -> Part:
    """Return the files of a batch: the tasks keep their inputs but have no outputs.

    Warnings tell which precedence and cores are dropped.
    """
    tasks = workflow.tasks
    used = set(chain.from_iterable(task.inputs for task in tasks))
    writers = Counter(chain.from_iterable(task.outputs for task in tasks))
    waiting = sum(_waits(task, writers) for task in tasks)
    warnings = []
    if waiting:
        warnings.append(
            f"precedence is dropped: {waiting} of {len(tasks)} tasks wait for others, "
            "and what those write counts as lying on remote storage"
        )
    wide = sum(task.cores > 1 for task in tasks)
    if wide:
        warnings.append(
            f"cores are dropped: {wide} of {len(tasks)} tasks take more than one"
        )
    return Part(
        {task.id: list(task.inputs) for task in tasks},
        {task.id: [] for task in tasks},
        {file: size for file, size in workflow.sizes.items() if file in used},
        frozenset(),
        tuple(warnings),
    )


def _waits(task: WorkflowTask, writers: Counter[str]) -> bool:
    """Return whether *task* waits for others.

    *writers* has, for each file, the number of tasks that write it.
    """
    if task.declared:
        return True
    for file in task.inputs:
        others = writers[file]
        if file in task.outputs:
            others -= 1
        if others:
            return True
    return False


def _short(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= 40:
        return line
    return line[:37] + "..."


def _whole_part(workflow: Workflow) -> Part:
    """Return the files of the workflow with all precedence.

    Files that a task writes and no task reads must be saved.
    """
    tasks = workflow.tasks
    warnings: Warnings = defaultdict(list)
    sizes = dict(workflow.sizes)
    reads, writes = _versions(tasks, sizes, warnings)
    tokens = _precedence_files(tasks, reads, writes, sizes)
    invented = {}
    if tokens:
        invented["files of 0 bytes"] = (
            f"{len(tokens)} stand for precedence without a file, such as {tokens[0]!r}"
        )
    made = set(chain.from_iterable(writes.values()))
    read = set(chain.from_iterable(reads.values()))
    return Part(
        {task.id: list(reads[task.id]) for task in tasks},
        {task.id: list(writes[task.id]) for task in tasks},
        {file: size for file, size in sizes.items() if file in read | made},
        frozenset(made - read),
        by_kind(warnings),
        invented,
    )


def _precedence_files(
    tasks: Sequence[WorkflowTask],
    reads: dict[str, Files],
    writes: dict[str, Files],
    sizes: dict[str, int],
) -> list[str]:
    """Add a file of 0 bytes for each task that others await without reading its files.

    The files are added to *reads*, *writes* and *sizes*. Return their names.
    """
    tokens: dict[str, str] = {}
    for task in tasks:
        for parent in task.declared:
            if parent == task.id or reads[task.id].keys().isdisjoint(writes[parent]):
                if parent not in tokens:
                    tokens[parent] = _unused(f"{parent} has ended", sizes)
                    sizes[tokens[parent]] = 0
                reads[task.id][tokens[parent]] = None
    for parent, token in tokens.items():
        writes[parent][token] = None
    return list(tokens.values())


def _versions(
    tasks: Sequence[WorkflowTask], sizes: dict[str, int], warnings: Warnings
) -> tuple[dict[str, Files], dict[str, Files]]:
    """Return, for each task, the files that it reads and the files that it writes.

    In the result at most one task writes a file. A file that several tasks write, or
    that its writer also reads, is split into one file for each version, with a warning.
    """
    reads = {task.id: dict.fromkeys(task.inputs) for task in tasks}
    writes = {task.id: dict.fromkeys(task.outputs) for task in tasks}
    place = {task.id: at for at, task in enumerate(tasks)}
    writers = _tasks_by_file(writes)
    readers = _tasks_by_file(reads)
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
        chosen = {
            reader: _writer_read(reader, names, before, place)
            for reader in readers.get(file, ())
        }
        versions: list[str | None] = [*names]
        if None in chosen.values():
            versions.insert(0, None)
        labels = _labels(file, versions, sizes)
        if len(names) == 1:
            what = (
                "a file that its writer reads was split into two, before and "
                "after the write"
            )
        else:
            what = (
                "a file written by several tasks was split into one file per "
                "version, all of its last size"
            )
        warnings[what].append(file)
        for name in names:
            writes[name] = _renamed(writes[name], file, labels[name])
        for reader, writer in chosen.items():
            reads[reader] = _renamed(reads[reader], file, labels[writer])
    return reads, writes


def _tasks_by_file(files_of: Mapping[str, Files]) -> dict[str, list[str]]:
    """Return, for each file, the tasks that have it in *files_of*, in order."""
    found: dict[str, list[str]] = {}
    for task, files in files_of.items():
        for file in files:
            found.setdefault(file, []).append(task)
    return found


def _writer_read(
    reader: str,
    writers: Sequence[str],
    before: Mapping[str, int],
    place: Mapping[str, int],
) -> str | None:
    """Return the one of *writers* whose version of a file *reader* reads.

    This is the last writer that must end before *reader* begins. If there is none, it
    is the first writer that does not wait for *reader*. Return None if there is no such
    writer either; *reader* then reads the version that existed before all tasks.
    *before* has the ancestors of each task as bits, and *place* has the bit number of
    each task.
    """
    others = [name for name in writers if name != reader]
    earlier = [name for name in others if before[reader] >> place[name] & 1]
    if earlier:
        return earlier[-1]
    for name in others:
        if not before[name] >> place[reader] & 1:
            return name
    return None


def _labels(
    file: str, versions: Sequence[str | None], sizes: dict[str, int]
) -> dict[str | None, str]:
    """Return a name for each version of *file*, keyed by the writer of the version.

    The first version keeps the name of the file. The size of each version is added to
    *sizes*.
    """
    labels: dict[str | None, str] = {}
    for writer in versions:
        label = file
        if labels:
            label = _unused(f"{file} ({len(labels) + 1})", sizes)
        labels[writer] = label
        sizes[label] = sizes[file]
    return labels


def _renamed(files: Files, old: str, new: str) -> Files:
    """Return *files* in the same order with *old* replaced by *new*."""
    renamed: Files = {}
    for file in files:
        if file == old:
            renamed[new] = None
        else:
            renamed[file] = None
    return renamed


def _ancestors(
    tasks: Sequence[WorkflowTask],
    place: dict[str, int],
    writers: dict[str, list[str]],
    contested: dict[str, list[str]],
) -> dict[str, int]:
    """Return, for each task, the tasks that must end before it begins, as bits.

    Bit ``place[t]`` of the number stands for task t. These tasks are the declared
    parents, the tasks that alone write one of the input files, and all their ancestors.
    *contested* has the files of several versions, which are ignored. Raises
    InstanceError for a dependency cycle.
    """
    parents: dict[str, set[str]] = {}
    for task in tasks:
        parents[task.id] = set(task.declared)
        for file in task.inputs:
            if file in writers and file not in contested:
                parents[task.id].add(writers[file][0])
    known: dict[str, int] = {}
    try:
        for name in TopologicalSorter(parents).static_order():
            known[name] = 0
            for parent in parents[name]:
                known[name] |= known[parent] | 1 << place[parent]
    except CycleError as error:
        shown = " -> ".join(_short(item) for item in error.args[1][:_SHOWN])
        raise InstanceError(f"dependency cycle of tasks ({shown})") from None
    return known


def _unused(name: str, taken: Mapping[str, int]) -> str:
    """Return *name*, with quotes added until it is not among *taken*."""
    while name in taken:
        name += "'"
    return name
