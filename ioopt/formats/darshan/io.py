"""Darshan logs, those of one job joined, as batch-io problems."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ioopt.errors import BackendMissingError, InstanceError, UsageError
from ioopt.formats.darshan.log import SLACK_SECONDS, DarshanLog, read_raw, summarise
from ioopt.formats.darshan.raw import RawLog
from ioopt.formats.io_rule import SHORTEST_WALLTIME_SECONDS, MachineRule
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.rows import refuse_too_many
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem, Machine
from ioopt.timeline import covered_seconds

ENDINGS = (".darshan", ".darshan.gz", ".txt", ".txt.gz")
"""What files in a folder are called that may be logs."""
UNLIKE = 2.0
"""Rates of reading and writing that differ by more are said."""


def read_darshan_logs(
    sources: Sequence[str], *, gap_seconds: float = 1.0, skip_bad: float | None = None
) -> tuple[list[DarshanLog], list[str]]:
    """One log a job, and the reasons why some cannot be read.

    A folder stands for the logs in it; what cannot be read there is left out. Elsewhere
    the first reason is raised, or, with *skip_bad*, that share of all logs may be left
    out. InstanceError as well when none can be read. Binary log and text of one run are
    one log, several runs of one job are joined.
    """
    raws: list[RawLog] = []
    reasons: list[str] = []
    for source, lenient in _files(sources):
        try:
            raws.append(read_raw(source))
        except (InstanceError, BackendMissingError) as error:
            skipped = skip_bad is not None and isinstance(error, InstanceError)
            if not (lenient or skipped):
                raise
            reasons.append(str(error))
    logs: list[DarshanLog] = []
    for raw in _one_a_run(raws):
        try:
            logs.append(summarise(raw, gap_seconds=gap_seconds))
        except InstanceError as error:
            if skip_bad is None and raw.name in sources:
                raise
            reasons.append(str(error))
    if not logs:
        raise InstanceError(
            f"none of {len(reasons)} logs can be read; the first: {reasons[0]}"
            if reasons
            else f"no Darshan log in {', '.join(sources)} ({', '.join(ENDINGS)})"
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


def _files(sources: Iterable[str]) -> Iterable[tuple[str, bool]]:
    """Every file, and whether it stands in a folder that was named."""
    for source in sources:
        folder = Path(source)
        if source != "-" and folder.is_dir():
            for path in sorted(folder.rglob("*")):
                if path.name.endswith(ENDINGS) and path.is_file():
                    yield str(path), True
        else:
            yield source, False


def _one_a_run(raws: Iterable[RawLog]) -> Iterable[RawLog]:
    """Text and binary of one run as one log, the one that has a
    trace; the other is named.
    """
    found: dict[tuple[object, ...], RawLog] = {}
    for raw in raws:
        header = raw.header
        # Texts round what binary logs know to the nanosecond.
        run = int(header.start_seconds), round(header.run_seconds, 3)
        counted = frozenset(key for key, counters in raw.records.items() if counters)
        key = (header.job_id, header.processes, *run, counted)
        kept, other = found.get(key), raw
        if kept is None or raw.segments:
            kept, other = raw, kept
        if other is not None:
            said = f"{other.name} is of the same run and does not count"
            kept = replace(kept, warnings=(*kept.warnings, said))
        found[key] = kept
    return found.values()


def join_logs(runs: Sequence[DarshanLog]) -> DarshanLog:
    """The runs of one job (applications that its script started) as one log.

    It begins with the first and ends with the last run; what lies between runs is
    compute. It has as many processes as ever ran at once. Where runs overlap, their I/O
    times are taken to overlap as much: the sum is scaled by the time covered over the
    sum of the run times.
    """
    if len(runs) == 1:
        return runs[0]
    start = min(log.start_seconds for log in runs)
    ends = [log.start_seconds + log.run_seconds for log in runs]
    covered = covered_seconds((log.start_seconds, end) for log, end in zip(runs, ends))
    longest = sum(log.run_seconds for log in runs)
    overlap = covered / longest if longest > covered else 1.0
    phases = [
        replace(
            phase,
            start_seconds=phase.start_seconds + log.start_seconds - start,
            end_seconds=phase.end_seconds + log.start_seconds - start,
        )
        for log in runs
        for phase in log.phases
    ]
    said = (
        f"{len(runs)} logs of job {runs[0].job_id} are one job of "
        f"{max(ends) - start:g} s, {covered:g} s of them in its runs"
    )
    return replace(
        runs[0],
        name=", ".join(file_name(log.name) for log in runs),
        processes=max(
            sum(
                log.processes
                for log, end in zip(runs, ends)
                if log is other
                or log.start_seconds <= other.start_seconds < end - SLACK_SECONDS
            )
            for other in runs
        ),
        start_seconds=start,
        run_seconds=max(ends) - start,
        bytes_read=sum(log.bytes_read for log in runs),
        bytes_written=sum(log.bytes_written for log in runs),
        io_seconds=overlap * sum(log.io_seconds for log in runs),
        read_seconds=overlap * sum(log.read_seconds for log in runs),
        write_seconds=overlap * sum(log.write_seconds for log in runs),
        phases=tuple(
            sorted(phases, key=lambda phase: (phase.start_seconds, phase.end_seconds))
        ),
        warnings=(*(text for log in runs for text in log.warnings), said),
    )


def phases_of(log: DarshanLog, run_seconds: float | None = None) -> list[Json]:
    """Compute and I/O phases of one log, *run_seconds* long (default:
    as long as the log).

    The log's I/O time is shared out over its phases by bytes; what is left of the time
    from the end of one phase to the end of the next is compute, scaled so that compute
    and I/O time add up to the run. Time after the last phase is a closing phase without
    I/O. Where the I/O alone takes longer than the run, its bytes are scaled down to it.
    """
    run = log.run_seconds if run_seconds is None else run_seconds
    total = log.total_bytes
    part = min(1.0, run / log.io_seconds) if log.io_seconds else 1.0
    gaps, before = [], 0.0
    for phase in log.phases:
        busy = log.io_seconds * phase.total_bytes / total if total else 0.0
        gaps.append(max(0.0, phase.end_seconds - before - busy))
        before = max(before, phase.end_seconds)
    gaps.append(max(0.0, log.run_seconds - before))
    compute = max(0.0, run - part * log.io_seconds)
    scale = compute / sum(gaps) if sum(gaps) > 0 else 0.0
    if scale == 0.0:
        gaps, scale = [0.0] * len(log.phases) + [compute], 1.0
    rows = [
        {
            "compute_seconds": gap * scale,
            "io_bytes": phase.total_bytes
            if part == 1.0
            else round(part * phase.total_bytes),
        }
        for gap, phase in zip(gaps, log.phases)
    ]
    if gaps[-1] > 0 or not rows:
        rows.append({"compute_seconds": gaps[-1] * scale, "io_bytes": 0})
    return rows


def io_of(log: DarshanLog, run_seconds: float | None = None) -> Json:
    """The keys of a job that say its I/O: phases, and the rate that it
    achieved as its peak rate.
    """
    rate = {} if log.rate is None else {"io_bytes_per_second": log.rate}
    return {"phases": phases_of(log, run_seconds), **rate}


def rate_remarks(logs: Iterable[DarshanLog]) -> list[str]:
    """What one rate a job cannot say of the logs."""
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
    """Which jobs achieved more than the machine gives them, and so run
    longer than they did.
    """
    machine = Machine.model_validate(block)
    slower = [
        row["id"]
        for row in rows
        if row.get("io_bytes_per_second", 0.0)
        > machine.peak(machine.allocated_nodes(row["nodes"])) * (1 + 1e-9)
    ]
    return [
        f"{len(slower)} jobs achieved more than the rates of the machine give them "
        f"and run longer than they did: {some(slower)}"
    ] * bool(slower)


def batch_io_from_darshan(
    logs: Sequence[DarshanLog],
    *,
    machine: MachineRule = MachineRule(),
    options: Json | None = None,
    skipped: Sequence[str] = (),
) -> BatchIoProblem:
    """Make a batch-io problem of one log a job; *skipped* says which
    others are not in it.

    Submitted when the log starts (Darshan does not see the queue), as long a walltime
    as the run (at least a second). Nodes are processes over ``processors_per_node``;
    the machine is as large as the largest job, and its rates are at least what the jobs
    achieved, unless *machine* says otherwise.
    """
    if not logs:
        raise UsageError("no Darshan log to import")
    warnings = [f"log left out: {reason}" for reason in skipped]
    warnings += [text for log in logs for text in log.warnings]
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
    rows = []
    for log in logs:
        nodes = machine.nodes_for(log.processes)
        if nodes > block["nodes"]:
            raise InstanceError(
                f"{log.name}: {log.processes} processes need {nodes} nodes, the "
                f"machine has {block['nodes']}; state a larger machine or more "
                "processes per node"
            )
        rows.append(
            {
                "id": log.job_id,
                "submit_seconds": log.start_seconds - logs[0].start_seconds,
                "nodes": nodes,
                "walltime_seconds": max(log.run_seconds, SHORTEST_WALLTIME_SECONDS),
                **io_of(log),
            }
        )
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


def _summary(log: DarshanLog) -> Json:
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
