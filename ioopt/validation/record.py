"""Read the record of a run: what each task did, when, where, and what it waited for.

A record is a trace of Nextflow (text or CSV, gzip is unpacked). What a task waited for
is told by the edges between tasks (a CSV with the columns ``task`` and
``reads_output_of``), by the graph of processes that Nextflow draws, or by a WfFormat
file. Only tasks that completed are replayed. Failed attempts and tasks that Nextflow
took from its cache are kept apart, and notes tell what is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import named, read_text
from ioopt.formats.nextflow.dag import read_dag
from ioopt.formats.nextflow.processes import process_cores
from ioopt.formats.nextflow.trace import (
    NAME,
    Graph,
    Written,
    bytes_of,
    cell,
    graph_of,
    least_written,
    numbered,
    read_trace,
    recorded_cores,
    said,
    seconds_of,
    share_of,
    tasks_before,
)
from ioopt.formats.report import Warnings, by_kind, file_name
from ioopt.formats.rows import amount_of, bad_value, cells_by_column, table
from ioopt.formats.wfformat.instance import read_wfformat
from ioopt.units import counted
from ioopt.validation.matching import match_tasks

COMPLETED = "COMPLETED"
CACHED = "CACHED"


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """Describe one attempt at a task, as recorded.

    ``submit``, ``start`` and ``end`` are in seconds since the first submission of the
    record. ``realtime`` is the run time of the script alone. ``cpu_share`` is the share
    of this time for which the script used a processor (4 with four busy threads).
    ``read_bytes`` came from storage rather than from memory, ``asked_bytes`` is what
    the program asked for; ``written_bytes`` is what it wrote. What was not recorded is
    None.
    """

    id: str
    process: str
    tag: str | None
    host: str | None
    submit: float
    start: float
    end: float
    realtime: float | None
    cpu_share: float | None
    cores: int
    memory_bytes: int
    read_bytes: int | None
    asked_bytes: int | None
    written_bytes: int
    attempt: int = 1
    status: str = COMPLETED


@dataclass(frozen=True)
class Record:
    """Store a recorded run: its tasks, the files that they read and write, and notes.

    ``tasks`` completed. ``failed`` has the attempts that did not complete, and
    ``cached`` the tasks whose results Nextflow took from an earlier run. ``files`` maps
    each file to its bytes. ``inputs`` and ``outputs`` list the files of each completed
    task; a file that no completed task writes was there before the run.
    """

    name: str
    tasks: tuple[RecordedTask, ...]
    failed: tuple[RecordedTask, ...] = ()
    cached: tuple[RecordedTask, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    outputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Return the hosts that ran completed tasks, in order of their names.

        The tuple is empty if some completed task has no recorded host.
        """
        hosts = {task.host for task in self.tasks}
        known = sorted(host for host in hosts if host is not None)
        if len(known) < len(hosts):
            return ()
        return tuple(known)

    @property
    def makespan(self) -> float:
        """Return the seconds from the first submission to the last completion, among
        the completed tasks.
        """
        first = min(task.submit for task in self.tasks)
        return max(task.end for task in self.tasks) - first

    @cached_property
    def writer(self) -> dict[str, str]:
        """Return, for each file that a completed task writes, the id of this task."""
        found: dict[str, str] = {}
        for task, files in self.outputs.items():
            found |= dict.fromkeys(files, task)
        return found

    @property
    def has_graph(self) -> bool:
        """Return whether some task reads what another one wrote."""
        return any(
            file in self.writer for files in self.inputs.values() for file in files
        )


def read_record(
    trace: str,
    dag: str | None = None,
    edges: str | None = None,
    skip_bad: float | None = None,
    task_cpus: Mapping[str, int] = {},
) -> Record:
    """Return the record in the file *trace*.

    What the tasks waited for is in *dag*, Nextflow's graph of processes, or in *edges*:
    a CSV of tasks and those whose output they read, or a WfFormat file, whose files are
    taken too. Without either the tasks are independent, and a note says so. *skip_bad*
    is the largest share of rows that may be left out because they cannot be read, and
    *task_cpus* has the cores of tasks by patterns of their processes.
    Raises InstanceError for files that cannot be used, and UsageError for two graphs.
    """
    if dag is not None and edges is not None:
        raise UsageError("--dag and --edges: one graph is enough; leave one out")
    name = named(trace)
    warnings: Warnings = defaultdict(list)
    rows, remarks = read_trace(
        trace, ("name", "submit"), lambda row: _task(row, warnings), warnings, skip_bad
    )
    cores = process_cores(rows, task_cpus, warnings)
    rows = [replace(row, cores=cores.of(row)) for row in rows]
    completed = _of_status(rows, {COMPLETED})
    if not completed:
        raise InstanceError(f"{name}: no task completed successfully")
    cached = _of_status(rows, {CACHED})
    failed = [row for row in rows if row.status not in (COMPLETED, CACHED)]
    known = _numbered([*completed, *cached])
    first = min(task.submit for task in completed)
    tasks = [_shifted(task, -first) for task in known[: len(completed)]]
    cached = known[len(completed) :]
    if edges is not None and read_text(edges).lstrip().startswith("{"):
        graph = _of_workflow(tasks, edges)
    else:
        before: Mapping[str, Sequence[str]] = {}
        if edges is not None:
            before = _read_edges(edges, known, failed)
        elif dag is not None:
            before = tasks_before(known, read_dag(dag), warnings)
        graph = _of_edges(tasks, cached, before, warnings)
    record = Record(
        name=file_name(name),
        tasks=tuple(tasks),
        failed=tuple(_shifted(task, -first) for task in failed),
        cached=tuple(cached),
        files=graph.files,
        inputs=graph.inputs,
        outputs=graph.outputs,
    )
    notes = (*remarks, *by_kind(warnings), *_missing(record))
    return replace(record, notes=notes)


def _of_status(rows: Sequence[RecordedTask], wanted: set[str]) -> list[RecordedTask]:
    return [row for row in rows if row.status in wanted]


def _numbered(tasks: Sequence[RecordedTask]) -> list[RecordedTask]:
    """Return *tasks* with ids that occur once."""
    ids = numbered(task.id for task in tasks)
    return [replace(task, id=id_) for task, id_ in zip(tasks, ids)]


def _shifted(task: RecordedTask, seconds: float) -> RecordedTask:
    """Return *task* with all its times later by *seconds*."""
    return replace(
        task,
        submit=round(task.submit + seconds, 6),
        start=round(task.start + seconds, 6),
        end=round(task.end + seconds, 6),
    )


def _missing(record: Record) -> list[str]:
    """Return one note for each thing that the record lacks or has too much of."""
    notes = []
    if not record.has_graph:
        notes.append(
            "no task reads what another one wrote: tasks are taken to be independent"
        )
    unplaced = [task.id for task in record.tasks if task.host is None]
    if unplaced:
        notes.append(
            f"no host is recorded for {counted(len(unplaced), 'task')}, such as "
            f"{unplaced[0]}: the recorded placement is not known"
        )
    if record.failed:
        lost = sum(task.cores * (task.end - task.start) for task in record.failed)
        notes.append(
            f"{counted(len(record.failed), 'attempt')} that did not complete, such as "
            f"{record.failed[0].id}, left out: {lost:.0f} core seconds"
        )
    retried = [task.id for task in record.tasks if task.attempt > 1]
    if retried:
        notes.append(
            f"{counted(len(retried), 'task')} completed after a retry, such as "
            f"{retried[0]}: only the last attempt is replayed"
        )
    if record.cached:
        notes.append(
            f"{counted(len(record.cached), 'task')} taken from the cache of an earlier "
            f"run, such as {record.cached[0].id}: their outputs are there at the start"
        )
    return notes


# Read the rows.


def _instant(text: str, what: str) -> float:
    """Return the seconds of a point in time: milliseconds of the epoch or a date.

    >>> _instant("1500", "submit"), _instant("1970-01-01 00:00:02.500", "submit")
    (1.5, 2.5)
    """
    if "-" not in text:
        return amount_of(text, what) / 1000
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise bad_value(what, text, "is no date") from None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return date.timestamp()


def _task(row: Mapping[str, str], warnings: Warnings) -> RecordedTask | None:
    """Return the attempt in a row; None for one that failed before it had times."""
    name = said(row, "name")
    found = NAME.fullmatch(name)
    if found is None:
        raise bad_value("name", name, "is no process")
    status = said(row, "status", COMPLETED)
    realtime = cell(row, "realtime", seconds_of)
    times = (0.0, 0.0, 0.0)
    if status != CACHED:
        known = _times(row, realtime, warnings)
        if known is None and status != COMPLETED:
            warnings["attempts that failed before they ran are left out"].append(name)
            return None
        if known is None:
            raise bad_value("complete", said(row, "complete"), "is no point in time")
        times = known
    busy = cell(row, "%cpu", share_of)
    if busy is None and status == COMPLETED:
        warnings["no %cpu: all of realtime counts as computing"].append(name)
    return RecordedTask(
        id=name,
        process=found["process"],
        tag=found["tag"],
        host=said(row, "hostname") or None,
        submit=times[0],
        start=times[1],
        end=times[2],
        realtime=realtime,
        cpu_share=busy,
        cores=recorded_cores(row),
        memory_bytes=bytes_of(said(row, "memory", "0"), "memory"),
        read_bytes=cell(row, "read_bytes", bytes_of),
        asked_bytes=cell(row, "rchar", bytes_of),
        written_bytes=least_written(row),
        attempt=max(1, round(amount_of(said(row, "attempt", "1"), "attempt"))),
        status=status,
    )


SKEW = 1.0
"""Seconds by which rounding may put the end of a task before its submission."""


def _times(
    row: Mapping[str, str], realtime: float | None, warnings: Warnings
) -> tuple[float, float, float] | None:
    """Return the submission, the start and the end of an attempt; None if unknown.

    The end follows from ``duration`` if ``complete`` is missing, and the start from
    ``realtime`` if ``start`` is. Dates of Nextflow are whole seconds in places, so that
    a start may seem to be before the submission; it is moved there.
    """
    submit = cell(row, "submit", _instant)
    start = cell(row, "start", _instant)
    end = cell(row, "complete", _instant)
    if submit is None:
        return None
    if end is None:
        duration = cell(row, "duration", seconds_of)
        if duration is None:
            return None
        end = submit + duration
    if end < submit - SKEW:
        warnings["a task ends before its submission (clocks differ)"].append(
            said(row, "name")
        )
    if start is None:
        warnings["no start: it follows from the end and realtime"].append(
            said(row, "name")
        )
        start = end - (realtime or 0.0)
    end = max(end, submit)
    return submit, min(max(start, submit), end), end


# Read the graph.

SMALLEST_READ = 2**20
"""Fewer bytes than these, read beyond the products, count as rounding to pages."""


def _of_edges(
    tasks: Sequence[RecordedTask],
    cached: Sequence[RecordedTask],
    before: Mapping[str, Sequence[str]],
    warnings: Warnings,
) -> Graph:
    """Return the graph in which each task reads what the tasks *before* it wrote."""
    written = {
        task.id: Written(task.written_bytes, task.written_bytes)
        for task in (*tasks, *cached)
    }
    read = {task.id: _read(task) for task in tasks}
    return graph_of(tasks, written, read, before, warnings, SMALLEST_READ)


def _read(task: RecordedTask) -> int:
    """Return the bytes that *task* read from storage, or asked for if only this is
    recorded.
    """
    if task.read_bytes is not None:
        return task.read_bytes
    return task.asked_bytes or 0


def _read_edges(
    source: str, tasks: Sequence[RecordedTask], failed: Collection[RecordedTask]
) -> dict[str, list[str]]:
    """Return, for each task, those whose output it reads by the table *source*.

    Raises InstanceError for a task that the trace does not have.
    """
    name = named(source)
    columns, rows = table(read_text(source), name, ("task", "reads_output_of"))
    known = {task.id for task in tasks}
    lost = {task.id for task in failed}
    found: dict[str, list[str]] = defaultdict(list)
    for number, cells in rows:
        row = cells_by_column(columns, cells)
        pair = (row["task"], row["reads_output_of"])
        unknown = [task for task in pair if task not in known and task not in lost]
        if unknown:
            raise InstanceError(
                f"{name}: line {number}: task {unknown[0]!r} is not in the trace"
            )
        reader, writer = pair
        both = reader in known and writer in known
        if both and writer not in found[reader]:
            found[reader].append(writer)
    return found


def _of_workflow(tasks: Sequence[RecordedTask], source: str) -> Graph:
    """Return the graph of the WfFormat file *source*, whose tasks are matched to those
    of the trace.
    """
    workflow = read_wfformat(source)
    of = match_tasks(tasks, workflow, named(source))
    inputs = {of[task.id]: task.inputs for task in workflow.tasks}
    outputs = {of[task.id]: task.outputs for task in workflow.tasks}
    sizes = {file.id: file.bytes for file in workflow.files}
    return Graph(sizes, inputs, outputs)
