"""Read work directories from WfFormat files and Nextflow traces (rule B15)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

from ioopt.budget import TRACE
from ioopt.budget.reads import once_only, process_of
from ioopt.catalog import entries
from ioopt.errors import InstanceError, IooptError, UsageError
from ioopt.formats.cluster import Machine
from ioopt.formats.native import named, read_json, read_text, validate
from ioopt.formats.nextflow.dag import NOT_IN_DAG
from ioopt.formats.nextflow.processes import (
    ASSUMED_CORES,
    TASK_CPUS,
    fitting_processes,
)
from ioopt.formats.nextflow.trace import (
    ALL_FILES,
    ASSUMED_READS,
    OWN_BYTES,
    Columns,
    read_nextflow_trace,
)
from ioopt.formats.wfformat.instance import problem_from_wfformat
from ioopt.generate.work_directory import of_workflow
from ioopt.loading import load
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem
from ioopt.problems.work_directory import WorkDirectoryProblem

_TAG = re.compile(r"\S+\s+\((.+)\)(?: #\d+)?")
NO_TAGS = ("-", "null")
"""What traces have in place of a missing tag, beside a number."""


def read_work_directory(
    file: str,
    cores: int | None = None,
    quota: int | None = None,
    samples: int = 1,
    copies: int = 1,
    scratch: float = 0.0,
    dag: str | None = None,
    read: Columns = "rchar",
    skip_bad: float | None = None,
    reads_all: Sequence[str] = (),
    reads_own: Sequence[str] = (),
    task_cpus: Mapping[str, int] = {},
    once: Sequence[str] = (),
) -> WorkDirectoryProblem:
    """Read the work directory *file*: the file or the catalogue name of an
    ``ioopt/work-directory`` instance, a WfFormat file, or a Nextflow trace.

    *cores* and *quota* (bytes) replace those of an instance. The tasks that belong to a
    sample are copied *samples* times, and then all tasks *copies* times; the tasks of
    processes that fit one of the patterns *once* belong to none. For a WfFormat
    file or a trace, *scratch* is the scratch space of a task as a multiple of the bytes
    of its outputs. For a trace, *dag* is the file of its DAG, *read* names the column
    of the bytes read, *skip_bad* is the share of unreadable rows that may be left out,
    *reads_all* and *reads_own* are patterns of processes whose reads are stated, and
    *task_cpus* has the cores of tasks by patterns of processes. Raises InstanceError
    for an invalid file, and UsageError for invalid arguments.
    """
    name = named(file)
    if once and samples == 1:
        raise UsageError(
            f"--once {once[0]}: is for --samples N, which copies the others"
        )
    if not 0 <= scratch < float("inf"):
        raise UsageError(f"--scratch: wanted a number of 0 or more, not {scratch}")
    data: object = file
    for_trace = {
        "--reads-all": reads_all,
        "--reads-own": reads_own,
        TASK_CPUS: [*task_cpus],
    }
    if file not in entries():
        trace = not read_text(file).lstrip("\ufeff \t\r\n").startswith(("{", "["))
        if not trace:
            data = read_json(file)
        if trace or not _is_instance(data):
            if not trace:
                _need_trace(file, for_trace)
            if cores is None:
                raise UsageError(
                    "--cores N: a record does not have the machine's cores"
                )
            machine = _machine(cores)
            if trace:
                stated = {ALL_FILES: reads_all, OWN_BYTES: reads_own}
                found = read_nextflow_trace(
                    file,
                    dag,
                    machine,
                    read,
                    skip_bad,
                    stated=stated,
                    task_cpus=task_cpus,
                )
            else:
                found = problem_from_wfformat(data, name, machine=machine)
            made = _of_record(
                found, cores, quota, scratch, samples * copies, name, once
            )
            if trace:
                made = _with_observed(made, file, dag, skip_bad)
            return multiplied(made, samples, copies, once)
    _need_trace(file, for_trace)
    problem = load(data)
    if not isinstance(problem, WorkDirectoryProblem):
        kinds = "ioopt/work-directory, WfFormat or a trace"
        raise UsageError(f"{file}: {problem.format}: wanted {kinds}")
    asked = {"cores": cores, "quota_bytes": quota}
    given: Json = {key: value for key, value in asked.items() if value is not None}
    made = validate(
        WorkDirectoryProblem, problem.model_dump(by_alias=True) | given, name
    )
    return multiplied(made, samples, copies, once)


MORE_SAMPLES = "more_samples"
"""The key in the ``meta`` of an instance for how many times its samples are there."""
NO_SAMPLE = "no_sample"
"""The key in the ``meta`` of an instance for the processes of several tasks of which
nobody said whether they belong to samples.
"""


def multiplied(
    problem: WorkDirectoryProblem,
    samples: int,
    copies: int,
    once: Sequence[str] = (),
) -> WorkDirectoryProblem:
    """Return *problem* with *samples* times its samples, and then *copies* times; the
    tasks of processes that fit one of the patterns *once* belong to no sample.

    Where no task names a sample, the whole run is copied instead, and a warning says
    so. Other processes of several tasks without a sample are doubtful in a record
    (:data:`NO_SAMPLE`).
    """
    problem = _made_once(problem, once)
    meta: Json = dict(problem.meta or {})
    if samples > 1 and all(task.sample is None for task in problem.tasks):
        told = (
            f"{problem.name}: the record does not tell samples apart (no tag that is "
            "no number, and that few others read from or write for): --samples "
            f"{samples} copies the whole run, what it made once too (or state what "
            "belongs to no sample: --once PROCESS)"
        )
        meta["warnings"] = [*meta.get("warnings", ()), told]
        samples, copies = 1, samples * copies
    if "copies" in meta:
        meta["copies"] *= copies
    if samples > 1:
        meta[MORE_SAMPLES] = meta.get(MORE_SAMPLES, 1) * samples
        rows = [row for row in once_only(problem) if row["tasks"] > 1]
        stated = _fitting(problem, once)
        doubtful = [row for row in rows if row["process"] not in stated]
        if doubtful and meta.get("source"):
            meta[NO_SAMPLE] = doubtful
    made = problem.more_samples(samples).copies(copies)
    return made.model_copy(update={"meta": meta}) if meta else made


def _made_once(
    problem: WorkDirectoryProblem, once: Sequence[str]
) -> WorkDirectoryProblem:
    """Return *problem* with tasks without a sample in the processes that fit one of the
    patterns *once*.
    """
    stated = _fitting(problem, once)
    tasks = tuple(
        task.model_copy(update={"sample": None})
        if process_of(task.id) in stated
        else task
        for task in problem.tasks
    )
    return problem.model_copy(update={"tasks": tasks}) if stated else problem


def _fitting(
    problem: WorkDirectoryProblem | ReplicationProblem, once: Sequence[str]
) -> set[str]:
    """Return the processes of *problem* that fit one of the patterns *once*; raise
    UsageError for a pattern that fits none.
    """
    names = {process_of(task.id) for task in problem.tasks}
    return {
        name for pattern in once for name in fitting_processes("--once", pattern, names)
    }


def _need_trace(file: str, given: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError if an option of *given* is stated: *file* is no trace, and says
    itself what tasks read and take.
    """
    for option, patterns in given.items():
        if patterns:
            raise UsageError(
                f"{option} {patterns[0]}: is for a trace of Nextflow, and {file} says "
                "itself what tasks read and how many cores they take"
            )


def _is_instance(data: object) -> bool:
    """Return whether *data* is to be read as an ioopt instance, rather than as
    WfFormat.
    """
    if not isinstance(data, Mapping):
        return True
    return str(data.get("format")).startswith("ioopt/")


def _machine(cores: int) -> Machine:
    """Return a machine with *cores* cores. The readers of records require a whole
    machine, but only the cores are used here.
    """
    return Machine(
        nodes=1,
        cores=cores,
        disk="unlimited",
        link="shared",
        speed=1,
        remote_rate=1e9,
        replica_rate=1e9,
        staging=1,
    )


def _of_record(
    found: ReplicationProblem,
    cores: int,
    quota: int | None,
    scratch: float,
    copies: int,
    name: str,
    once: Sequence[str],
) -> WorkDirectoryProblem:
    """Return the recorded workflow *found* as a work directory, which will be there
    *copies* times.

    No file is kept: output files that no task reads count as moved out of the directory
    when they are published. The samples of a trace are found by tag
    (:func:`samples_by_tag`). If there is none, a copy is a sample, and without copies
    tasks that share files are. Raises InstanceError if no task wrote a byte.
    """
    made = {file for task in found.tasks for file in task.outputs}
    if not any(file.bytes for file in found.files if file.id in made):
        raise InstanceError(
            f"{name}: no task wrote a byte: its sizes were not recorded"
        )
    recorded = found.meta or {}
    source = recorded.get("source")
    warnings = list(found.warnings)
    wide = [task.id for task in found.tasks if task.cores > cores]
    if wide:
        few = (
            f"{len(wide)} tasks, such as {wide[0]}, get {cores} cores, fewer than they "
            "ask for"
        )
        warnings.append(f"{name}: {few}")
    tags = {}
    if source == TRACE:
        tags = samples_by_tag(found, once)
        if not tags and copies == 1:
            warnings.append(
                f"{name}: no tag names a sample: tasks that share files are one sample"
            )
    invented = f"scratch: {scratch:g} x outputs; outputs nobody reads are moved out"
    meta: Json = {"source": source, "warnings": warnings, "invented": invented}
    meta |= {"tags": len(set(tags.values())), "copies": 1}
    meta |= {FEWER_CORES: len(wide)}
    kept = (ASSUMED_READS, ASSUMED_CORES, NOT_IN_DAG)
    meta |= {key: recorded[key] for key in kept if key in recorded}
    return of_workflow(
        found.tasks,
        [(file.id, file.bytes) for file in found.files],
        cores,
        scratch,
        tags,
        name=found.name,
        quota_bytes=quota,
        meta=meta,
    )


FEWER_CORES = "fewer_cores"
"""The key in the ``meta`` of an instance for the number of recorded tasks that ask for
more cores than the machine has.
"""
OBSERVED = "observed"
"""The key in the ``meta`` of an instance for the figures of the run itself."""


def observed(
    problem: WorkDirectoryProblem, spans: Mapping[str, tuple[float, float]]
) -> Json:
    """Return the makespan and the peak of a run whose tasks started and ended as
    *spans* says, in seconds.

    As in a simulated run, an output counts in full from the start of its task, and a
    file that is not kept until its last reader has ended.
    """
    needed: dict[str, float] = {}
    for task in problem.tasks:
        for file in (*task.inputs, *task.outputs):
            needed[file] = max(needed.get(file, 0.0), spans[task.id][1])
    sizes = {file.id: file.bytes for file in problem.products}
    kept = {file.id for file in problem.products if file.keep}
    changes: list[tuple[float, int]] = []
    for task in problem.tasks:
        start, end = spans[task.id]
        changes += [(start, task.scratch_bytes), (end, -task.scratch_bytes)]
        for file in task.outputs:
            changes.append((start, sizes[file]))
            if file not in kept:
                changes.append((needed[file], -sizes[file]))
    first = min(start for start, _ in spans.values())
    return {
        "makespan_seconds": round(max(end for _, end in spans.values()) - first, 3),
        "peak_bytes": max(accumulate(size for _, size in sorted(changes))),
    }


def _with_observed(
    problem: WorkDirectoryProblem, trace: str, dag: str | None, skip_bad: float | None
) -> WorkDirectoryProblem:
    """Return *problem*, which was read from *trace*, with the figures of the run itself
    where the trace says when its tasks ran.
    """
    from ioopt.validation.record import read_record

    try:
        record = read_record(trace, dag, None, skip_bad)
    except IooptError:  # such as no times: the record answers all else
        return problem
    spans = {task.id: (task.start, task.end) for task in record.tasks}
    if not all(task.id in spans for task in problem.tasks):
        return problem
    run = observed(problem, spans) | {"undeleted_bytes": undeleted_bytes(problem)}
    meta = dict(problem.meta or {}) | {OBSERVED: run}
    return problem.model_copy(update={"meta": meta})


def undeleted_bytes(problem: WorkDirectoryProblem) -> int:
    """Return the bytes in the directory at the end of a run that deletes nothing, not
    even scratch.
    """
    scratch = sum(task.scratch_bytes for task in problem.tasks)
    return scratch + sum(file.bytes for file in problem.products)


def samples_by_tag(
    problem: ReplicationProblem, once: Sequence[str] = ()
) -> dict[str, str]:
    """Return the sample of each task that belongs to one: its tag. Tasks of processes
    that fit one of the patterns *once* belong to none.

    Nextflow writes a number in place of a missing tag, which names no sample. Nor does
    a tag whose tasks write for, or read from, half of the other tags (at least two),
    numbers among them, such as that of an index or of a report. A single tag of a
    single task names none.
    """
    tags = {}
    stated = _fitting(problem, once)
    for task in problem.tasks:
        tag = _TAG.fullmatch(task.id)
        if tag is None or tag[1] in NO_TAGS or process_of(task.id) in stated:
            continue
        tags[task.id] = tag[1]
    reads_from: dict[str, set[str]] = {tag: set() for tag in tags.values()}
    writes_for: dict[str, set[str]] = {tag: set() for tag in tags.values()}
    for task, before in zip(problem.tasks, problem.predecessors, strict=True):
        tag_here = tags.get(task.id)
        for p in before:
            tag_before = tags.get(problem.tasks[p].id)
            if tag_here and tag_before and tag_here != tag_before:
                reads_from[tag_here].add(tag_before)
                writes_for[tag_before].add(tag_here)
    many = max(2, (len(reads_from) - 1) / 2)
    if len(tags) == 1:
        return {}
    return {
        task: tag
        for task, tag in tags.items()
        if not tag.isdecimal()
        and len(reads_from[tag]) < many
        and len(writes_for[tag]) < many
    }
