"""Read traces of Nextflow runs (``-with-trace``) as workflows.

A trace has one row for each task, with its run time and the numbers of bytes that it
read and wrote. It has no files and no edges. So every task gets one output with the
bytes it wrote, and one private input with the bytes it read. Without a DAG, the tasks
are independent.

The DAG of a run (``-with-dag``: ``dag.html``, ``.mmd`` or ``.dot``) joins processes,
not tasks. For each earlier process, a task then waits for the tasks with the same tag.
If none has this tag, it waits for all tasks of that process. The task reads the outputs
of the tasks for which it waits. Only the bytes that it read beyond them come from
remote storage. A task that asked for fewer bytes than those tasks wrote only waits for
them, unless the caller states what it reads. Warnings state the assumptions.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, NamedTuple, Protocol, TypeVar

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, built
from ioopt.formats.native import named, read_text
from ioopt.formats.nextflow.dag import (
    NOT_IN_DAG,
    UNNAMED,
    ProcessGraph,
    earlier_processes,
    read_dag,
)
from ioopt.formats.nextflow.processes import (
    ASSUMED_CORES,
    fitting_processes,
    process_cores,
)
from ioopt.formats.report import Warnings, by_kind, file_name
from ioopt.formats.rows import (
    amount_of,
    bad_value,
    cells_by_column,
    read_rows,
    table,
)
from ioopt.formats.values import LARGEST
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem
from ioopt.units import quantity

DONE = ("COMPLETED", "CACHED")
MAX_EDGES = 2_000_000
"""Largest number of edges from outputs to tasks. With more, the process graph is too
coarse.
"""
_DURATION = re.compile(
    r"(?:([0-9.]+)\s*d\s*)?(?:([0-9.]+)\s*h\s*)?(?:([0-9.]+)\s*m(?!s)\s*)?"
    r"(?:([0-9.]+)\s*s\s*)?(?:([0-9.]+)\s*ms)?",
    re.IGNORECASE,
)
_MILLISECONDS = (86_400_000, 3_600_000, 60_000, 1000, 1)
"""Milliseconds of a day, an hour, a minute, a second and a millisecond."""
_SIZE = re.compile(r"([^A-Za-z\s]+)\s*([KMGTPE]?)B?", re.IGNORECASE)
STAGING = 4
"""Number of files that a node receives at once; it fits recorded runs with disks of the
nodes.
"""
NAME = re.compile(r"(?P<process>\S+)(?:\s+\((?P<tag>.*)\))?")
"""Name of a task: its process and, in brackets, its tag or number."""
Columns = Literal["rchar", "read_bytes"]
_WRITTEN: dict[Columns, str] = {"rchar": "wchar", "read_bytes": "write_bytes"}
"""For each column of bytes read, the matching column of bytes written."""


Row = TypeVar("Row")
Value = TypeVar("Value")


class Traced(Protocol):
    """A task of a trace, with its process and its tag if it has one."""

    @property
    def id(self) -> str: ...
    @property
    def process(self) -> str: ...
    @property
    def tag(self) -> str | None: ...


@dataclass(frozen=True)
class _Task:
    id: str
    process: str
    tag: str | None
    seconds: float
    cores: int
    cpu_share: float | None
    memory: int
    read: int
    wrote: int
    asked_bytes: int | None
    on_disk: int


def seconds_of(text: str, what: str) -> float:
    """Return the seconds of ``1m 3s`` or ``350ms``; a bare number is milliseconds.

    >>> seconds_of("1h 2m 3.5s", "realtime"), seconds_of("1500", "realtime")
    (3723.5, 1.5)
    """
    amounts = text.strip().removeprefix("-")
    found = _DURATION.fullmatch(amounts)
    if found is None or not amounts:
        return amount_of(text, what) / 1000
    if text.strip().startswith("-"):
        raise bad_value(what, text, "is negative")
    total = 0.0
    for amount, milliseconds in zip(found.groups(), _MILLISECONDS):
        if amount is not None:
            total += amount_of(amount, what) * milliseconds
    return total / 1000


def bytes_of(text: str, what: str) -> int:
    """Return the bytes of ``1.2 GB`` (units are powers of 1024) or of a plain number.

    >>> bytes_of("1.5 KB", "rchar"), bytes_of("0", "rchar")
    (1536, 0)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return math.ceil(amount_of(text, what))
    number, unit = found.groups()
    size = amount_of(number, what) * 1024 ** " KMGTPE".index(unit.upper() or " ")
    if size > LARGEST:
        raise bad_value(what, text, f"is above {LARGEST:g} bytes")
    return math.ceil(size)


def read_nextflow_trace(
    source: str,
    dag: str | None = None,
    machine: Machine = FOUR_NODES,
    read: Columns = "rchar",
    skip_bad: float | None = None,
    waits: bool = True,
    stated: Mapping[str, Sequence[str]] = {},
    task_cpus: Mapping[str, int] = {},
) -> ReplicationProblem:
    """Return the workflow in the trace *source*, with precedence from the file *dag*.

    Without *dag*, the tasks are independent. The cells of a trace are separated by
    tabs, commas or semicolons. *read* names the column of bytes read: ``rchar`` is what
    the task asked for, ``read_bytes`` what the disk delivered. The bytes written come
    from ``wchar`` or ``write_bytes`` accordingly. *skip_bad* is the largest share of
    rows that may be left out because they cannot be read. If *waits* is true, a task
    that asked for fewer bytes than the tasks before it wrote only waits for them, as
    :func:`graph_of` says; else it reads all their outputs. *stated* has patterns of
    processes by what their tasks are known to read, and *task_cpus* the cores of tasks
    by patterns of processes; cores that are neither stated nor recorded are assumed
    (:func:`~ioopt.formats.nextflow.processes.process_cores`). Raises InstanceError for
    a trace without names or run times, and for dependency cycles in the DAG; UsageError
    for a pattern that fits no process.
    """
    name = named(source)
    warnings: Warnings = defaultdict(list)
    tasks, remarks = _tasks(source, read, warnings, skip_bad)
    if not tasks:
        raise InstanceError(f"{name}: no task completed successfully")
    cores = process_cores(tasks, task_cpus, warnings)
    before = _precedence(tasks, dag, warnings)
    joined = any(before.values())
    _compare_written(tasks, read, warnings)
    graph = graph_of(
        tasks,
        {task.id: Written(task.wrote, task.on_disk) for task in tasks},
        {task.id: task.read for task in tasks},
        before,
        warnings,
        waits=waits,
        stated=stated_reads(tasks, stated),
    )
    invented = _invented(read, joined, machine)
    remarks += by_kind(warnings)
    part = Part(
        graph.inputs,
        graph.outputs,
        graph.files,
        graph.unread(),
        tuple(remarks),
        invented,
        STAGING,
    )
    rows = [
        {
            "id": task.id,
            "compute_seconds": task.seconds,
            "cores": cores.of(task),
            "memory_bytes": task.memory,
        }
        for task in tasks
    ]
    meta: Json = {"source": "Nextflow trace"}
    if waits and any(graph.assumed.values()):
        meta[ASSUMED_READS] = graph.assumed
    if warnings[UNNAMED]:
        meta[NOT_IN_DAG] = [*warnings[UNNAMED]]
    if cores.assumed:
        meta[ASSUMED_CORES] = [row._asdict() for row in cores.assumed]
    head = {"name": file_name(name), "meta": meta}
    return built(head, rows, part, machine, (), name)


def _precedence(
    tasks: Sequence[_Task], dag: str | None, warnings: Warnings
) -> dict[str, list[str]]:
    """Return, for each task, the tasks before it by the file *dag*; warn if there are
    none at all.
    """
    before: dict[str, list[str]] = {}
    why = "without a DAG"
    if dag is not None:
        before = tasks_before(tasks, read_dag(dag), warnings)
        why = "the DAG joins none of them"
    if not any(before.values()):
        warnings[f"precedence is unknown ({why}): all tasks are independent"].append(
            tasks[0].id
        )
    return before


def _invented(read: Columns, joined: bool, machine: Machine) -> dict[str, str]:
    """Return what the instance has that the trace does not say, with a description;
    *joined* says whether a DAG joins tasks.
    """
    found = {
        "file names": "the trace has byte counts only, so each task gets one output "
        f"({_WRITTEN[read]}) and one private input ({read})"
    }
    if joined:
        found["precedence"] = (
            "between tasks of processes that the DAG joins: those of one tag, "
            "else all of them"
        )
    if machine.staging is None:
        found["staging"] = f"a node receives up to {STAGING} files at once"
    return found


def _compare_written(tasks: list[_Task], read: Columns, warnings: Warnings) -> None:
    """Warn if the bytes that count as written are many more than reached the disks."""
    wrote = sum(task.wrote for task in tasks)
    on_disk = sum(task.on_disk for task in tasks)
    if read == "rchar" and wrote > MUCH * on_disk:
        worst = max(tasks, key=lambda task: task.wrote - task.on_disk)
        warnings[
            f"wchar has {wrote / on_disk:.1f} x the bytes that reached the disks, as "
            "it counts pipes (--read read_bytes takes write_bytes instead); most in"
        ].append(worst.id)


MUCH = 1.5
"""How many times more bytes than reached the disks wchar has if a warning says so."""


class Written(NamedTuple):
    """The bytes that a task wrote: those that count as its product, and those that
    reached the disk at most.
    """

    bytes: int
    on_disk: int


class Reader(Protocol):
    """A task of a trace, with the bytes that it asked for (None: not recorded)."""

    @property
    def id(self) -> str: ...
    @property
    def asked_bytes(self) -> int | None: ...


class Graph(NamedTuple):
    """The files of a run, and which of them each completed task reads and writes.

    ``assumed`` has the tasks whose record does not show that they read all that the
    tasks before them wrote, by what they are assumed to read. Those that asked for the
    least share of it come first.
    """

    files: dict[str, int]
    inputs: dict[str, tuple[str, ...]]
    outputs: dict[str, tuple[str, ...]]
    assumed: Mapping[str, Sequence[str]] = {}

    def unread(self) -> frozenset[str]:
        """Return the files that a task writes and none reads."""
        written = frozenset(chain.from_iterable(self.outputs.values()))
        return written.difference(*self.inputs.values())


ASSUMED_READS = "assumed_reads"
"""The key in the ``meta`` of an instance for the tasks of ``Graph.assumed``."""
OWN_BYTES = "only bytes of its own, not the files before it"
ALL_FILES = "all files before it"
"""What a task is assumed to read: it asked for fewer bytes than the tasks before it
wrote, or what it asked for is not recorded.
"""
LITTLE = "only bytes of its own, as it asked for at most 1 % of the files before it"
"""What a task of several others is taken to read that asked for next to nothing of what
they wrote, such as a report from logs.
"""
LITTLE_SHARE = 0.01
"""The largest share of the bytes before a task that counts as next to nothing. Mapped
files are not counted in what a task asks for.
"""
ROUNDING = 1.05
"""How many times larger sums of rounded sizes may be: Nextflow writes one decimal."""
_PART = (
    "a task asked for fewer bytes than the tasks before it wrote: it waits for them, "
    "but what it read counts as a file of its own (if it reads them: --reads-all)"
)


def graph_of(
    tasks: Sequence[Reader],
    written: Mapping[str, Written],
    read: Mapping[str, int],
    before: Mapping[str, Sequence[str]],
    warnings: Warnings,
    smallest: int = 1,
    waits: bool = True,
    stated: Mapping[str, str] = {},
) -> Graph:
    """Return the graph in which each task reads what the tasks *before* it wrote.

    What a task *read* beyond that is a file of its own, which was there before the run,
    if it has at least *smallest* bytes. A task cannot have read more than it asked for.
    If the tasks before it wrote more, it is not known which part it read; it then waits
    for a file of 0 bytes of each, and reads all its bytes from a file of its own. It
    reads everything if no bytes that it asked for are recorded, or if *waits* is false.
    What *stated* says of a task is taken instead, and is no assumption.
    """
    files = {_product(task): told.bytes for task, told in written.items()}
    inputs: dict[str, tuple[str, ...]] = {}
    awaited: set[str] = set()
    asked: dict[str, dict[str, float]] = {OWN_BYTES: {}, ALL_FILES: {}, LITTLE: {}}
    for task in tasks:
        others = before.get(task.id, ())
        total = sum(written[other].bytes for other in others)
        reads = [_product(other) for other in others]
        how = stated.get(task.id)
        if not how:
            on_disk = sum(written[other].on_disk for other in others)
            how = _assumed(task, on_disk, waits)
            if how:
                share = (task.asked_bytes or 0) / on_disk
                little = how == OWN_BYTES and len(others) > 1 and share <= LITTLE_SHARE
                asked[LITTLE if little else how][task.id] = share
        if how == OWN_BYTES:
            awaited.update(others)
            reads = [_end(other) for other in others]
            total = 0
        rest = read[task.id] - total
        if rest >= smallest:
            reads.append(f"{task.id} reads")
            files[reads[-1]] = rest
        inputs[task.id] = tuple(reads)
    part = [*asked[LITTLE], *asked[OWN_BYTES]]
    if part:
        warnings[_PART] += part
    files |= {_end(task): 0 for task in sorted(awaited)}
    outputs = {task.id: _written_by(task.id, awaited) for task in tasks}
    assumed = {how: sorted(told, key=told.__getitem__) for how, told in asked.items()}
    return Graph(files, inputs, outputs, assumed)


def _assumed(task: Reader, on_disk: int, waits: bool) -> str | None:
    """Return what *task* is assumed to read of the *on_disk* bytes that the tasks
    before it wrote; None if it asked for as many.
    """
    asked = task.asked_bytes or 0
    if on_disk <= ROUNDING * asked:
        return None
    return OWN_BYTES if asked and waits else ALL_FILES


def _written_by(task: str, awaited: Container[str]) -> tuple[str, ...]:
    """Return the files of *task*, with the one for its end if it is *awaited*."""
    if task in awaited:
        return _product(task), _end(task)
    return (_product(task),)


STATED = {ALL_FILES: "--reads-all", OWN_BYTES: "--reads-own"}
"""The option by which a user states what tasks read."""


def stated_reads(
    tasks: Iterable[Traced], stated: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return what each task is stated to read, by the patterns of processes *stated*.

    A pattern fits the whole name of a process, or what follows its last colon. Raises
    UsageError for a pattern that fits no task, and for a task that two options fit.
    """
    found: dict[str, str] = {}
    for how, patterns in stated.items():
        for pattern in patterns:
            names = {task.process for task in tasks}
            fits = fitting_processes(STATED[how], pattern, names)
            for task in tasks:
                if task.process not in fits:
                    continue
                if found.setdefault(task.id, how) != how:
                    raise UsageError(
                        f"{STATED[how]} {pattern}: {task.process} is also given to "
                        f"{STATED[found[task.id]]}"
                    )
    return found


def _product(task: str) -> str:
    """Return the name of the one file that stands for all that *task* wrote."""
    return f"{task} wrote"


def _end(task: str) -> str:
    """Return the name of the file of 0 bytes that stands for the end of *task*."""
    return f"{task} has ended"


def least_written(row: Mapping[str, str]) -> int:
    """Return the bytes that a task left on disk at most.

    ``wchar`` counts what went through pipes as well, and ``write_bytes`` whole pages,
    or nothing on some file systems. Therefore the least of the two that is not 0
    counts.
    """
    told = [bytes_of(said(row, key, "0"), key) for key in ("wchar", "write_bytes")]
    return min((size for size in told if size), default=0)


def _tasks(
    source: str, read: Columns, warnings: Warnings, skip_bad: float | None
) -> tuple[list[_Task], list[str]]:
    """Return the successfully completed tasks of a trace, and remarks on its rows."""
    tasks, remarks = read_trace(
        source,
        ("name", "realtime"),
        lambda row: _task(row, read, warnings),
        warnings,
        skip_bad,
    )
    ids = numbered(task.id for task in tasks)
    return [replace(task, id=id_) for task, id_ in zip(tasks, ids)], remarks


def read_trace(
    source: str,
    needed: Sequence[str],
    read: Callable[[Mapping[str, str]], Row | None],
    warnings: Warnings,
    skip_bad: float | None,
) -> tuple[list[Row], list[str]]:
    """Return what *read* makes of the rows of a trace, and remarks on the rows.

    *read* takes the cells of a row by column, and returns None for a row to leave out.
    The columns *needed* must be there. A row that repeats an attempt counts once.
    """
    name = named(source)
    columns, rows = table(read_text(source), name, needed)

    unnamed: set[tuple[str, ...]] = set()

    def key(cells: tuple[str, ...]) -> tuple[str, str] | None:
        """Return the name and the id of the attempt in a row; None if it has no id."""
        row = dict(zip(columns, cells))
        name = row.get("name", "")
        attempt = said(row, "hash") or said(row, "task_id")
        if attempt:
            return name, attempt
        if cells in unnamed:
            warnings[
                "equal rows without task_id or hash count as separate tasks"
            ].append(name)
        unnamed.add(cells)
        return None

    return read_rows(
        rows,
        lambda cells: read(cells_by_column(columns, cells)),
        name,
        skip_bad,
        key,
    )


_NOT_DONE = (
    "tasks that did not complete are left out, and with them what they left in the "
    "work directory"
)


def numbered(ids: Iterable[str]) -> list[str]:
    """Return *ids*, with a number behind each that has occurred before.

    >>> numbered(["a", "b", "a"])
    ['a', 'b', 'a #2']
    """
    seen: Counter[str] = Counter()
    found = []
    for id_ in ids:
        seen[id_] += 1
        found.append(id_ if seen[id_] == 1 else f"{id_} #{seen[id_]}")
    return found


def said(row: Mapping[str, str], column: str, default: str = "") -> str:
    """Return the cell of a column; *default* if the cell is missing, empty or ``-``."""
    cell = row.get(column, "")
    if cell in ("", "-"):
        return default
    return cell


def cell(
    row: Mapping[str, str], column: str, read: Callable[[str, str], Value]
) -> Value | None:
    """Return what *read* makes of a cell; None if the cell is missing or empty."""
    text = said(row, column)
    if not text:
        return None
    return read(text, column)


def share_of(text: str, what: str) -> float:
    """Return the share in a text such as ``93.5`` or ``93.5%``."""
    return amount_of(text.removesuffix("%"), what) / 100


def recorded_cores(row: Mapping[str, str]) -> int:
    """Return the cores of the task in a row, at least 1; 0 if they are not recorded."""
    cores = cell(row, "cpus", amount_of)
    if cores is None:
        return 0
    return max(1, math.ceil(cores))


def _task(row: Mapping[str, str], read: Columns, warnings: Warnings) -> _Task | None:
    """Return the task of a row; None if the task did not complete.

    *read* names the column of the bytes read.
    """
    wrote = _WRITTEN[read]
    name = said(row, "name")
    found = NAME.fullmatch(name)
    if found is None:
        raise bad_value("name", name, "is no process")
    status = said(row, "status")
    if status and status not in DONE:
        left = bytes_of(said(row, wrote, "0"), wrote)
        size = f", {quantity('bytes', left)}" if left else ""
        warnings[_NOT_DONE].append(name + size)
        return None
    sizes = {key: bytes_of(said(row, key, "0"), key) for key in (read, wrote)}
    seconds = seconds_of(said(row, "realtime", "0"), "realtime")
    for key in (read, wrote):
        if not said(row, key):
            warnings[f"a task without {key} counts as 0 bytes"].append(name)
    if not said(row, "realtime"):
        warnings["a task without a run time counts as 0 s"].append(name)
    elif not seconds:
        warnings["a run time of 0 s, in task"].append(name)
    return _Task(
        name,
        found["process"],
        found["tag"],
        seconds,
        recorded_cores(row),
        cell(row, "%cpu", share_of),
        bytes_of(said(row, "memory", "0"), "memory"),
        sizes[read],
        sizes[wrote],
        bytes_of(said(row, "rchar", "0"), "rchar"),
        min(sizes[wrote], least_written(row)),
    )


def tasks_before(
    tasks: Sequence[Traced], graph: ProcessGraph, warnings: Warnings
) -> dict[str, list[str]]:
    """Return, for each task, the tasks whose outputs it reads according to *graph*."""
    by_process: dict[str, list[Traced]] = defaultdict(list)
    for task in tasks:
        by_process[task.process].append(task)
    earlier = earlier_processes(graph, by_process, warnings)
    found: dict[str, list[str]] = {task.id: [] for task in tasks}
    edges = 0
    for process, others in earlier.items():
        readers = by_process[process]
        for other in others:
            writers = by_process[other]
            paired = _paired_by_tag(readers, writers)
            if not paired:
                warnings[_COUNTED].append(f"{process} and {other}")
            for task in readers:
                read = writers
                if paired:
                    read = _of_tag(task.tag, writers)
                edges += len(read)
                if edges > MAX_EDGES:
                    raise InstanceError(
                        f"more than {MAX_EDGES} edges between tasks: leave out the DAG"
                    )
                found[task.id] += [writer.id for writer in read]
    return found


def _of_tag(tag: str | None, tasks: list[Traced]) -> list[Traced]:
    """Return the *tasks* with *tag*; all *tasks* if *tag* is None or no task has it."""
    if tag is None:
        return tasks
    return [task for task in tasks if task.tag == tag] or tasks


_COUNTED = (
    "tags do not pair the tasks of two processes, so each task waits for all of the "
    "earlier one; nothing to do unless you know that it does not"
)


def _paired_by_tag(readers: list[Traced], writers: list[Traced]) -> bool:
    """Return whether tags pair the tasks of two processes.

    If a process has no tag, Nextflow writes the number of the task where the tag would
    stand. Therefore tags that are numbers pair tasks only if both processes have the
    same numbers.
    """
    tags = {task.tag for task in readers}
    counted = all(tag is not None and tag.isdigit() for tag in tags)
    return not counted or tags == {task.tag for task in writers}
