"""Turn Darshan logs into batch-io problems, after joining the logs of each job."""

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
"""File endings in a folder that may be logs."""
UNLIKE = 2.0
"""Ratio of read and write rates above which a warning is given."""


def read_darshan_logs(
    sources: Sequence[str], *, gap_seconds: float = 1.0, skip_bad: float | None = None
) -> tuple[list[DarshanLog], list[str]]:
    """Read one log for each job, and the reasons why some logs cannot be read.

    A folder stands for the logs in it; unreadable ones there are left out. For other
    files the first reason is raised or, with *skip_bad*, up to that share of all logs
    is left out. Raises InstanceError as well if no log can be read. A binary and a text
    log of one run count once, several runs of one job are joined.
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
    """Parse the files of *sources*; return the reasons why some cannot be read.

    Outside of folders a reason is raised, unless *lenient*. A missing package, which
    binary logs need, is always raised there.
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
    """Yield every file, and whether it comes from a folder given by the user."""
    for source in sources:
        folder = Path(source)
        if source != "-" and folder.is_dir():
            for path in sorted(folder.rglob("*")):
                if path.name.endswith(ENDINGS) and path.is_file():
                    yield str(path), True
        else:
            yield source, False


def _one_a_run(raws: Iterable[RawLog]) -> Iterable[RawLog]:
    """Keep one log per run; of a text and a binary log, the one with a trace."""
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
    """Return *kept* with a warning that *other*, of the same run, is not used."""
    text = f"{other.name} is of the same run and is not used"
    return replace(kept, warnings=(*kept.warnings, text))


def join_logs(runs: Sequence[DarshanLog]) -> DarshanLog:
    """Join the runs of one job (applications that its script started) to one log.

    It begins with the first and ends with the last run; time between runs is compute.
    Its processes are the most that ran at once. If runs overlap, their I/O times are
    taken to overlap as much: the sum is scaled by the time covered over the sum of the
    run times.
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
    """Return the phases of *log* in seconds since *start_seconds*."""
    return [
        replace(
            phase,
            start_seconds=phase.start_seconds + log.start_seconds - start_seconds,
            end_seconds=phase.end_seconds + log.start_seconds - start_seconds,
        )
        for phase in log.phases
    ]


def _processes_at_start(log: DarshanLog, runs: Iterable[DarshanLog]) -> int:
    """Return the processes of all *runs* active when *log* starts."""
    processes = log.processes
    for other in runs:
        end = other.start_seconds + other.run_seconds - SLACK_SECONDS
        if other is not log and other.start_seconds <= log.start_seconds < end:
            processes += other.processes
    return processes


def phases_of(log: DarshanLog, run_seconds: float | None = None) -> list[Json]:
    """Return the compute and I/O phases of one log, *run_seconds* long (default: as
    long as the log).

    The log's I/O time is shared out over its phases by bytes; the rest of the time from
    the end of one phase to the end of the next is compute, scaled so that compute and
    I/O time add up to the run. Time after the last phase is a closing phase without
    I/O. Where the I/O alone takes longer than the run, its bytes are scaled down to it.
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
    """Return the seconds without I/O up to the end of each phase, and those after."""
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
    """Warn of jobs that achieved more than the machine's rates: they run longer in the
    instance.
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
    """Make a batch-io problem of the logs, one job for each.

    *skipped* lists the logs left out. A job is submitted when its log starts (Darshan
    does not record the queue), and its walltime is the run time (at least a second).
    Nodes are processes over ``processors_per_node``; the machine is as large as the
    largest job, and its rates are at least what the jobs achieved, unless *machine*
    says otherwise.
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
    """Return the nodes that the processes of *log* take; InstanceError above *most*."""
    nodes = machine.nodes_for(log.processes)
    if nodes > most:
        raise InstanceError(
            f"{log.name}: {log.processes} processes need {nodes} nodes, the machine "
            f"has {most}; state a larger machine or more processes per node"
        )
    return nodes


def _summary(log: DarshanLog) -> Json:
    """Return what ``meta`` keeps of a log."""
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
