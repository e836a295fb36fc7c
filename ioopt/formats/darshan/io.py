"""Make batch-io problems from Darshan logs, after joining the logs of each job."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ioopt.errors import BackendMissingError, InstanceError, UsageError
from ioopt.formats.darshan.log import (
    SLACK_SECONDS,
    DarshanLog,
    DarshanPhase,
    read_raw,
    summarise,
)
from ioopt.formats.darshan.raw import RawLog
from ioopt.formats.io_rule import SHORTEST_WALLTIME_SECONDS, MachineRule
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.rows import refuse_too_many
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem, Machine
from ioopt.timeline import covered_seconds

ENDINGS = (".darshan", ".darshan.gz", ".txt", ".txt.gz")
"""Endings of the names of files in a folder that are taken for logs."""
UNLIKE = 2.0
"""Ratio between the rates of reads and writes above which a warning is given."""


def read_darshan_logs(
    sources: Sequence[str], *, gap_seconds: float = 1.0, skip_bad: float | None = None
) -> tuple[list[DarshanLog], list[str]]:
    """Return one log for each job, and the reasons why some logs cannot be read.

    A folder in *sources* stands for the logs in it; unreadable ones are left out. If a
    file in *sources* is unreadable, its reason is raised as InstanceError. With
    *skip_bad*, such files are left out too, up to that share of all logs. Raises
    InstanceError also if no log can be read.

    A binary and a text log of one run count once. Several runs of one job are joined.
    *gap_seconds* is the gap between phases (see :func:`read_darshan`).
    """
    raws, reasons = _read_raws(sources, skip_bad is not None)
    logs: list[DarshanLog] = []
    for raw in _one_a_run(raws):
        try:
            logs.append(summarise(raw, gap_seconds=gap_seconds))
        except InstanceError as error:
            if skip_bad is None and raw.name in sources:
                raise
            reasons.append(str(error))
    if not logs and reasons:
        raise InstanceError(
            f"none of {len(reasons)} logs can be read; the first: {reasons[0]}"
        )
    if not logs:
        raise InstanceError(
            f"no Darshan log in {', '.join(sources)} ({', '.join(ENDINGS)})"
        )
    if skip_bad is not None:
        count = len(logs) + len(reasons)
        refuse_too_many(
            len(reasons), count, skip_bad, some(sources), "logs", reasons[:3]
        )
    by_job: dict[int, list[DarshanLog]] = defaultdict(list)
    for log in sorted(logs, key=lambda log: (log.start_seconds, log.name)):
        by_job[log.job_id].append(log)
    return [join_logs(runs) for runs in by_job.values()], reasons


def _read_raws(sources: Iterable[str], lenient: bool) -> tuple[list[RawLog], list[str]]:
    """Parse the files of *sources*; return the logs, and why other files are not read.

    The reason for a file outside of folders is raised as InstanceError, unless
    *lenient*. BackendMissingError is raised for such a file, *lenient* or not, if it is
    binary and the package for binary logs is missing.
    """
    raws: list[RawLog] = []
    reasons: list[str] = []
    for source, in_folder in _files(sources):
        try:
            raws.append(read_raw(source))
        except InstanceError as error:
            if not in_folder and not lenient:
                raise
            reasons.append(str(error))
        except BackendMissingError as error:
            if not in_folder:
                raise
            reasons.append(str(error))
    return raws, reasons


def _files(sources: Iterable[str]) -> Iterable[tuple[str, bool]]:
    """Yield the path of every file, and whether a folder of *sources* contains it."""
    for source in sources:
        folder = Path(source)
        if source != "-" and folder.is_dir():
            for path in sorted(folder.rglob("*")):
                if path.name.endswith(ENDINGS) and path.is_file():
                    yield str(path), True
        else:
            yield source, False


def _one_a_run(raws: Iterable[RawLog]) -> Iterable[RawLog]:
    """Return one log for each run.

    If a run has a text log and a binary log, the one with a DXT trace is returned.
    """
    found: dict[tuple[object, ...], RawLog] = {}
    for raw in raws:
        header = raw.header
        key = (
            header.job_id,
            header.processes,
            # Text logs are rounded, binary logs exact to the nanosecond.
            int(header.start_seconds),
            round(header.run_seconds, 3),
            frozenset(key for key, counters in raw.records.items() if counters),
        )
        known = found.get(key)
        if known is None:
            found[key] = raw
        elif raw.segments:
            found[key] = _preferred(raw, known)
        else:
            found[key] = _preferred(known, raw)
    return found.values()


def _preferred(kept: RawLog, other: RawLog) -> RawLog:
    """Return *kept* with a warning that *other*, a log of the same run, is not used."""
    text = f"{other.name} is of the same run and is not used"
    return replace(kept, warnings=(*kept.warnings, text))


def join_logs(runs: Sequence[DarshanLog]) -> DarshanLog:
    """Join the logs of one job to one log; each is of an application that the job ran.

    The joined log begins with the first run and ends with the last one. Time between
    runs is compute. The number of processes is the largest number active when a run
    starts. If runs overlap, their I/O times are assumed to overlap in the same
    proportion. The sum of the I/O times is then multiplied by the time that the runs
    cover together, divided by the sum of the run times.
    """
    if len(runs) == 1:
        return runs[0]
    start = min(log.start_seconds for log in runs)
    spans = [(log.start_seconds, log.start_seconds + log.run_seconds) for log in runs]
    last_end = max(end for _, end in spans)
    covered = covered_seconds(spans)
    total = sum(log.run_seconds for log in runs)
    overlap = covered / total if total > covered else 1.0
    phases: list[DarshanPhase] = []
    warnings: list[str] = []
    for log in runs:
        phases += _moved(log, start)
        warnings += log.warnings
    warnings.append(
        f"{len(runs)} logs of job {runs[0].job_id} are one job of "
        f"{last_end - start:g} s, {covered:g} s of them in its runs"
    )
    return replace(
        runs[0],
        name=", ".join(file_name(log.name) for log in runs),
        processes=max(_processes_at_start(log, runs) for log in runs),
        start_seconds=start,
        run_seconds=last_end - start,
        bytes_read=sum(log.bytes_read for log in runs),
        bytes_written=sum(log.bytes_written for log in runs),
        io_seconds=overlap * sum(log.io_seconds for log in runs),
        read_seconds=overlap * sum(log.read_seconds for log in runs),
        write_seconds=overlap * sum(log.write_seconds for log in runs),
        phases=tuple(
            sorted(phases, key=lambda phase: (phase.start_seconds, phase.end_seconds))
        ),
        warnings=tuple(warnings),
    )


def _moved(log: DarshanLog, start_seconds: float) -> list[DarshanPhase]:
    """Return the phases of *log* with times in seconds since *start_seconds*."""
    return [
        replace(
            phase,
            start_seconds=phase.start_seconds + log.start_seconds - start_seconds,
            end_seconds=phase.end_seconds + log.start_seconds - start_seconds,
        )
        for phase in log.phases
    ]


def _processes_at_start(log: DarshanLog, runs: Iterable[DarshanLog]) -> int:
    """Return the number of processes of all *runs* that are active as *log* starts."""
    processes = log.processes
    for other in runs:
        end = other.start_seconds + other.run_seconds - SLACK_SECONDS
        if other is not log and other.start_seconds <= log.start_seconds < end:
            processes += other.processes
    return processes


def phases_of(log: DarshanLog, run_seconds: float | None = None) -> list[Json]:
    """Return the compute and I/O phases of a log, as rows of an instance.

    The phases last *run_seconds* together, by default as long as the log. The I/O time
    of the log is divided among its phases in proportion to their bytes. The time from
    the end of one phase to the end of the next is compute, apart from the I/O time of
    the latter. Compute is scaled so that compute and I/O time add up to the run. Time
    after the last phase becomes a closing phase without I/O. If the I/O alone takes
    longer than the run, its bytes are scaled down to fit.
    """
    run = run_seconds
    if run is None:
        run = log.run_seconds
    part = 1.0
    if log.io_seconds:
        part = min(1.0, run / log.io_seconds)
    gaps = _compute_gaps(log)
    compute = max(0.0, run - part * log.io_seconds)
    scale = 0.0
    if sum(gaps) > 0:
        scale = compute / sum(gaps)
    if scale == 0.0:  # There is nothing to scale: put compute after the last phase.
        gaps = [0.0] * len(log.phases) + [compute]
        scale = 1.0
    rows: list[Json] = []
    for gap, phase in zip(gaps, log.phases):
        count = phase.total_bytes
        if part != 1.0:
            count = round(part * count)
        rows.append({"compute_seconds": gap * scale, "io_bytes": count})
    if gaps[-1] > 0 or not rows:
        rows.append({"compute_seconds": gaps[-1] * scale, "io_bytes": 0})
    return rows


def _compute_gaps(log: DarshanLog) -> list[float]:
    """Return the seconds of compute before each phase of I/O and after the last one.

    Those before a phase are the time since the end of the previous phase, without the
    I/O time of the phase.
    """
    gaps = []
    before = 0.0
    for phase in log.phases:
        busy = 0.0
        if log.total_bytes:
            busy = log.io_seconds * phase.total_bytes / log.total_bytes
        gaps.append(max(0.0, phase.end_seconds - before - busy))
        before = max(before, phase.end_seconds)
    gaps.append(max(0.0, log.run_seconds - before))
    return gaps


def io_of(log: DarshanLog, run_seconds: float | None = None) -> Json:
    """Return the keys of a job that describe its I/O: its phases and peak rate.

    The peak rate is the rate that the job achieved.
    """
    keys: Json = {"phases": phases_of(log, run_seconds)}
    if log.rate is not None:
        keys["io_bytes_per_second"] = log.rate
    return keys


def rate_remarks(logs: Iterable[DarshanLog]) -> list[str]:
    """Return a warning for each log that a single rate describes badly."""
    said = []
    for log in logs:
        if log.total_bytes and log.rate is None:
            said.append(
                f"{log.name}: no I/O times: its bytes move at the rate of its nodes"
            )
        if log.read_seconds and log.write_seconds and log.rate is not None:
            read = log.bytes_read / log.read_seconds
            written = log.bytes_written / log.write_seconds
            if max(read, written) > UNLIKE * min(read, written):
                said.append(
                    f"{log.name}: reads came at {read / 1e6:.4g} MB/s, writes at "
                    f"{written / 1e6:.4g}; the job has one rate, {log.rate / 1e6:.4g}"
                )
    return said


def slow_machine(block: Json, rows: Iterable[Json]) -> list[str]:
    """Return a warning if jobs achieved more than the rates of the machine allow.

    Such jobs run longer in the instance than they did.
    """
    machine = Machine.model_validate(block)
    slower = []
    for row in rows:
        peak = machine.peak(machine.allocated_nodes(row["nodes"]))
        if row.get("io_bytes_per_second", 0.0) > peak * (1 + 1e-9):
            slower.append(row["id"])
    if not slower:
        return []
    return [
        f"{len(slower)} jobs achieved more than the rates of the machine give them "
        f"and run longer than they did: {some(slower)}"
    ]


def batch_io_from_darshan(
    logs: Sequence[DarshanLog],
    *,
    machine: MachineRule = MachineRule(),
    options: Json | None = None,
    skipped: Sequence[str] = (),
) -> BatchIoProblem:
    """Make a batch-io problem with one job for each of *logs*.

    Darshan does not record the queue. Therefore a job is submitted when its log starts,
    and its walltime is the run time (at least a second). The number of nodes of a job
    is its processes divided by ``processors_per_node``. Unless *machine* says
    otherwise, the machine is as large as the largest job, and its rates are at least
    those that jobs achieved. *skipped* has the reasons why logs were left out.
    """
    if not logs:
        raise UsageError("no Darshan log to import")
    warnings = [f"log left out: {reason}" for reason in skipped]
    for log in logs:
        warnings += log.warnings
    warnings += rate_remarks(logs)
    achieved = [(log.processes, log.rate) for log in logs if log.rate is not None]
    block = machine.machine(max(log.processes for log in logs), achieved)
    if machine.nodes is None:
        warnings.append(
            f"machine of {block['nodes']} nodes, as large as the largest job; "
            "state it with nodes"
        )
    warnings.append(
        "jobs are submitted when they started and have their run time as walltime: "
        "Darshan does not see the queue; reads and writes are one kind of I/O"
    )
    logs = sorted(logs, key=lambda log: (log.start_seconds, log.job_id, log.name))
    first = logs[0].start_seconds
    rows = [
        {
            "id": log.job_id,
            "submit_seconds": log.start_seconds - first,
            "nodes": _nodes_of(log, machine, block["nodes"]),
            "walltime_seconds": max(log.run_seconds, SHORTEST_WALLTIME_SECONDS),
            **io_of(log),
        }
        for log in logs
    ]
    warnings += slow_machine(block, rows)
    data = {
        "name": f"darshan-{logs[0].job_id}",
        "meta": {
            "source": [file_name(log.name) for log in logs],
            "logs": [_summary(log) for log in logs],
        },
        "machine": block,
        "options": options or {},
        "jobs": rows,
    }
    synthetic = {"rates": machine.invented_rates(block, achieved)}
    return imported(BatchIoProblem, data, warnings, logs[0].name, synthetic)


def _nodes_of(log: DarshanLog, machine: MachineRule, most: int) -> int:
    """Return the number of nodes that the processes of *log* take.

    Raises InstanceError if it is above *most*.
    """
    nodes = machine.nodes_for(log.processes)
    if nodes > most:
        raise InstanceError(
            f"{log.name}: {log.processes} processes need {nodes} nodes, the machine "
            f"has {most}; state a larger machine or more processes per node"
        )
    return nodes


def _summary(log: DarshanLog) -> Json:
    """Return the facts about a log that ``meta`` keeps."""
    return {
        "job_id": log.job_id,
        "processes": log.processes,
        "run_seconds": log.run_seconds,
        "bytes_read": log.bytes_read,
        "bytes_written": log.bytes_written,
        "io_seconds": log.io_seconds,
        "read_seconds": log.read_seconds,
        "write_seconds": log.write_seconds,
        "phases": len(log.phases),
        "phases_from": log.times_from,
        "darshan_version": log.version,
    }
