"""Traces of Nextflow runs (``-with-trace``) as workflows, as far as they tell.

A trace has one row a task, with how long it ran and how many bytes it read and wrote, but neither
files nor edges. So every task gets one product of the bytes it wrote, and reads one file of its own
of the bytes it read; tasks are independent. With the run's DAG (``-with-dag``, ``dag.html``,
``.mmd`` or ``.dot``), which joins processes and not tasks, a task waits for the tasks of each earlier process
that have its tag or, where none has, for all of them; it reads their products, and only what it read
beyond them comes from remote storage. All of this is remarked upon.
"""

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Literal

from ioopt.errors import InstanceError
from ioopt.formats.cluster import FOUR_NODES, Machine, Part, built
from ioopt.formats.native import named
from ioopt.formats.nextflow.dag import ProcessGraph, earlier_processes, read_dag
from ioopt.formats.report import Warnings, by_kind, file_name
from ioopt.formats.values import LARGEST, csv_rows, number
from ioopt.problems.replication import ReplicationProblem

DONE = ("COMPLETED", "CACHED")
MAX_EDGES = 2_000_000
"""Reads of products: past that a graph of processes says too little about tasks."""
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.I)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)B?", re.I)
_NAME = re.compile(r"(?P<process>\S+)(?:\s+\((?P<tag>.*)\))?")
Columns = Literal["rchar", "read_bytes"]


@dataclass(frozen=True)
class _Task:
    id: str
    process: str
    tag: str | None
    seconds: float
    cores: int
    read: int
    wrote: int


def seconds_of(text: str, where: str) -> float:
    """Seconds of a duration such as ``1m 3s`` or ``350ms``; a bare number is milliseconds.

    >>> seconds_of("1h 2m 3.5s", "here"), seconds_of("1500", "here")
    (3723.5, 1.5)
    """
    text = text.strip()
    parts = _DURATION.findall(text)
    if parts and not _DURATION.sub("", text).strip():
        total = sum(float(value) * _UNITS[unit.lower()] for value, unit in parts)
        return number(total / 1000, where)
    return number(_plain(text, where) / 1000, where)


def bytes_of(text: str, where: str) -> int:
    """Bytes of a size such as ``1.2 GB`` (Nextflow's units are powers of 1024) or a bare number.

    >>> bytes_of("1.5 KB", "here"), bytes_of("0", "here")
    (1536, 0)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return math.ceil(number(_plain(text, where), where))
    scale = 1024 ** " KMGTPE".index(found[2].upper() or " ")
    return math.ceil(number(float(found[1]) * scale, where))


def _plain(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InstanceError(
            f"{where}: {text[:40]!r} is no number with a unit of Nextflow"
        ) from None


def read_nextflow_trace(
    source: str, dag: str | None = None, machine: Machine = FOUR_NODES, read: Columns = "rchar"
) -> ReplicationProblem:
    """The workflow of a trace (tabs, commas or semicolons), with the precedence of *dag* where that is given.

    *read* names the column of the bytes read: ``rchar`` (all that the task asked for) or
    ``read_bytes`` (what the disk delivered); the bytes written are ``wchar`` or ``write_bytes``
    alike. Raises InstanceError for a trace without names or run times, and for dependency cycles in the DAG.
    """
    name = named(source)
    warnings: Warnings = defaultdict(list)
    tasks = _tasks(source, read, warnings)
    if not tasks:
        raise InstanceError(f"{name}: no task has ended well")
    before = {} if dag is None else _before(tasks, read_dag(dag), warnings)
    if not any(before.values()):
        why = "without a DAG" if dag is None else "the DAG joins none of them"
        warnings[f"precedence is unknown ({why}): all tasks are independent"].append(tasks[0].id)
    sizes = {f"{task.id} wrote": task.wrote for task in tasks}
    inputs: dict[str, list[str]] = {}
    for task in tasks:
        inputs[task.id] = [f"{other} wrote" for other in before.get(task.id, ())]
        rest = task.read - sum(sizes[file] for file in inputs[task.id])
        if rest > 0:
            sizes[f"{task.id} reads"] = rest
            inputs[task.id].append(f"{task.id} reads")
    used = {file for files in inputs.values() for file in files}
    invented = {
        "files": f"one product a task ({'wchar' if read == 'rchar' else 'write_bytes'}), and one file of "
        f"its own for what else it read ({read}): a trace names none"
    }
    if any(before.values()):
        invented["precedence"] = (
            "between tasks of processes that the DAG joins: those of one tag, else all of them"
        )
    part = Part(
        inputs,
        {task.id: [f"{task.id} wrote"] for task in tasks},
        sizes,
        frozenset(f"{task.id} wrote" for task in tasks) - used,
        by_kind(warnings),
        invented,
    )
    rows = [{"id": t.id, "compute_seconds": t.seconds, "cores": t.cores} for t in tasks]
    head = {"name": file_name(name), "meta": {"source": "Nextflow trace"}}
    return built(head, rows, part, machine, (), name)


def _tasks(source: str, read: Columns, warnings: Warnings) -> list[_Task]:
    wrote = "wchar" if read == "rchar" else "write_bytes"
    tasks: list[_Task] = []
    seen: Counter[str] = Counter()
    for where, row in csv_rows(source, ("name", "realtime")):
        cells = {
            key: (row.get(key) or "").strip().removeprefix("-")
            for key in ("name", "status", "realtime", "cpus", read, wrote)
        }
        found = _NAME.fullmatch(cells["name"])
        if found is None:
            raise InstanceError(f"{where}: name: {cells['name'][:40]!r} is no process")
        if cells["status"] and cells["status"] not in DONE:
            warnings["tasks that did not complete are left out"].append(cells["name"])
            continue
        sizes = {key: bytes_of(cells[key] or "0", f"{where}: {key}") for key in (read, wrote)}
        seconds = seconds_of(cells["realtime"] or "0", f"{where}: realtime")
        usual = {read: "0 bytes", wrote: "0 bytes", "realtime": "0 s", "cpus": "1 core"}
        for key, amount in usual.items():
            if cells[key] == "":
                what = "a run time" if key == "realtime" else key
                warnings[f"a task without {what} counts as {amount}"].append(cells["name"])
            elif key == "realtime" and not seconds:
                warnings["a run time of 0 s, in task"].append(cells["name"])
        cores = number(_plain(cells["cpus"] or "1", f"{where}: cpus"), f"{where}: cpus")
        seen[cells["name"]] += 1
        label = cells["name"] + (f" #{seen[cells['name']]}" if seen[cells["name"]] > 1 else "")
        tasks.append(
            _Task(label, found["process"], found["tag"], seconds,
                  max(1, math.ceil(min(cores, LARGEST))), sizes[read], sizes[wrote])
        )  # fmt: skip
    return tasks


def _before(tasks: list[_Task], graph: ProcessGraph, warnings: Warnings) -> dict[str, list[str]]:
    """Return the tasks whose products each task reads."""
    by_process: dict[str, list[_Task]] = defaultdict(list)
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
                tagged = writers
                if paired and task.tag is not None:
                    tagged = [w for w in writers if w.tag == task.tag] or writers
                edges += len(tagged)
                if edges > MAX_EDGES:
                    raise InstanceError(
                        f"more than {MAX_EDGES} edges between tasks: leave out the DAG"
                    )
                found[task.id] += [writer.id for writer in tagged]
    return found


_COUNTED = (
    "numbers in brackets count the tasks of each process, "
    "so each task waits for all of the earlier one"
)


def _paired_by_tag(readers: list[_Task], writers: list[_Task]) -> bool:
    """Whether a task reads of those with its tag, rather than of all that the other process wrote.

    Where a process has no tag, Nextflow puts the number of the task in its place. So numbers
    pair tasks only where both processes have the same ones.
    """
    tags = {task.tag for task in readers}
    counted = all(tag is not None and tag.isdigit() for tag in tags)
    return not counted or tags == {task.tag for task in writers}
