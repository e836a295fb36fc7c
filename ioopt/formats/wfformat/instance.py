"""WfFormat 1.4 to 1.6 (WfCommons workflow traces) read as a workflow or as one batch.

Files become inputs and outputs with their sizes, run times compute seconds, cores
cores; products that nobody reads are to be kept. The machines that the file names are
the nodes unless others are asked for; disks and rates are not in such a file and are
given. Flattened to a batch there are no dependencies: files that an earlier task of the
workflow wrote count as lying on remote storage.

Schema: https://github.com/wfcommons/WfFormat, whose wfcommons-migrate-instance.py
brings older files up to date. What 1.6 has more is optional, and not read.

Kept whole, every file has one producer and every precedence a file. Recorded runs
overwrite files and let tasks wait for others whose files they do not read: a file that
several tasks write becomes one file a version, and a precedence without a file an
invented file of 0 bytes; each is remarked upon.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from ioopt.errors import InstanceError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, RecordedNode, built
from ioopt.formats.native import named, read_json
from ioopt.formats.report import Warnings, by_kind
from ioopt.formats.wfformat.parse import Workflow, WorkflowTask, parse_workflow
from ioopt.problems.replication import ReplicationProblem

_SHOWN = 8


def read_wfformat(
    source: str, machine: Machine = FOUR_NODES, flatten: bool = False
) -> ReplicationProblem:
    """The workflow, or with *flatten* the batch, of a WfFormat file.

    What was odd but usable, dropped or invented stands in ``meta["warnings"]``. Raises
    InstanceError for anything else.

    Parameters
    ----------
    source
        Path (``-``: standard input; gzip is unpacked).
    machine
        Nodes, disks and rates; by default the file's machines (4 nodes if it names none) with
        unlimited disks on a shared 100 Mbps link.
    flatten
        Independent tasks that read files: precedence, products and cores are dropped.
    """
    return problem_from_wfformat(read_json(source), named(source), machine, flatten)


def problem_from_wfformat(
    data: object,
    name: str,
    machine: Machine = FOUR_NODES,
    flatten: bool = False,
) -> ReplicationProblem:
    """Like :func:`read_wfformat` for parsed JSON *data*; *name* is used in messages."""
    workflow = parse_workflow(data, name)
    try:
        part = _flat_part(workflow) if flatten else _whole_part(workflow)
    except InstanceError as error:
        raise InstanceError(f"{name}: {error}") from None
    machines = workflow.machines
    if flatten:  # a batch has no cores: a node takes one task at a time
        machines = tuple(RecordedNode(node.name) for node in machines)
    return built(
        {"name": workflow.name, "meta": {"source": f"WfFormat {workflow.version}"}},
        [
            {"id": task.id, "compute_seconds": task.runtime}
            | ({} if flatten else {"cores": task.cores})
            for task in workflow.tasks
        ],
        part,
        machine,
        workflow.warnings,
        name,
        machines,
    )


def _flat_part(workflow: Workflow) -> Part:
    """Independent tasks: what they read, from wherever it came."""
    tasks = workflow.tasks
    used = {file for task in tasks for file in task.inputs}
    writers = Counter(file for task in tasks for file in task.outputs)
    waiting = sum(
        bool(task.declared)
        or any(writers[f] > (f in task.outputs) for f in task.inputs)
        for task in tasks
    )
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


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."


def _whole_part(workflow: Workflow) -> Part:
    """The tasks with all between them; what nobody reads is kept."""
    tasks = workflow.tasks
    warnings: Warnings = defaultdict(list)
    sizes = dict(workflow.sizes)
    reads, writes = _versions(tasks, sizes, warnings)
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
    made = {file for task in tasks for file in writes[task.id]}
    read = {file for task in tasks for file in reads[task.id]}
    return Part(
        {task.id: list(reads[task.id]) for task in tasks},
        {task.id: list(writes[task.id]) for task in tasks},
        {file: size for file, size in sizes.items() if file in read | made},
        frozenset(made - read),
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
    """Files that each task reads and writes, in order, each file written
    by one task at most.

    A reader gets the version of the last writer before it; where the file does not say
    which is before it, that of the first writer that does not wait for it; else the one
    that was there before all.
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
            label = (
                _unused(f"{file} ({len(versions) + 1})", sizes) if versions else file
            )
            versions[name] = label
            sizes[label] = sizes[file]
        what = (
            "a file written by several tasks became one file a version, all of its "
            "last size"
        )
        if len(names) == 1:
            what = "a file that its writer reads became two, as it was before and after"
        warnings[what].append(file)
        for name in names:
            writes[name] = {
                versions[name] if f == file else f: None for f in writes[name]
            }
        for reader, name in chosen.items():
            reads[reader] = {
                versions[name] if f == file else f: None for f in reads[reader]
            }
    return reads, writes


def _ancestors(
    tasks: Sequence[WorkflowTask],
    place: dict[str, int],
    writers: dict[str, list[str]],
    contested: dict[str, list[str]],
) -> dict[str, int]:
    """The tasks that must end before each begins, as bits, by declared
    parents and sole writers.
    """
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
        shown = " -> ".join(_short(item) for item in error.args[1][:_SHOWN])
        raise InstanceError(f"dependency cycle of tasks ({shown})") from None
    return known


def _unused(name: str, taken: dict[str, int]) -> str:
    while name in taken:
        name += "'"
    return name
