"""Darshan logs as batch-io problems, and as the I/O of the jobs of a trace (Zhou et al., Section IV.B)."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.darshan.log import DarshanLog, read_darshan
from ioopt.formats.io_rule import SHORTEST_WALLTIME_SECONDS, MachineRule
from ioopt.formats.report import file_name, imported, some
from ioopt.problems.batch_io import BatchIoProblem

MOST_IO_SHARE = 0.9


def read_darshan_logs(
    sources: Sequence[str], *, gap_seconds: float = 1.0, skip_bad: bool = False
) -> tuple[list[DarshanLog], list[str]]:
    """The logs, and with *skip_bad* the reasons why some cannot be read, else the first is raised.

    InstanceError as well when none can be read.
    """
    logs: list[DarshanLog] = []
    reasons: list[str] = []
    for source in sources:
        try:
            logs.append(read_darshan(source, gap_seconds=gap_seconds))
        except InstanceError as error:
            if not skip_bad:
                raise
            reasons.append(str(error))
    if reasons and not logs:
        raise InstanceError(f"none of {len(reasons)} logs can be read; the first: {reasons[0]}")
    return logs, reasons


def phases_of(log: DarshanLog) -> list[dict[str, Any]]:
    """Compute and I/O phases of one log.

    The log's I/O time is shared out over its phases by bytes; what is left of the time from the
    end of one phase to the end of the next is compute, scaled so that compute and I/O time add up
    to the run time. Time after the last phase is a closing phase without I/O.
    """
    total = log.bytes_read + log.bytes_written
    gaps, before = [], 0.0
    for phase in log.phases:
        busy = log.io_seconds * phase.total_bytes / total if total else 0.0
        gaps.append(max(0.0, phase.end_seconds - before - busy))
        before = max(before, phase.end_seconds)
    gaps.append(max(0.0, log.run_seconds - before))
    compute = max(0.0, log.run_seconds - log.io_seconds)
    scale = compute / sum(gaps) if sum(gaps) > 0 else 0.0
    if scale == 0.0:
        gaps, scale = [0.0] * len(log.phases) + [compute], 1.0
    rows = [
        {"compute_seconds": gap * scale, "io_bytes": phase.total_bytes}
        for gap, phase in zip(gaps, log.phases)
    ]
    if gaps[-1] > 0 or not rows:
        rows.append({"compute_seconds": gaps[-1] * scale, "io_bytes": 0})
    return rows


def batch_io_from_darshan(
    logs: Sequence[DarshanLog],
    *,
    machine: MachineRule = MachineRule(),
    options: dict[str, Any] | None = None,
    skipped: Sequence[str] = (),
) -> BatchIoProblem:
    """Make a batch-io problem in which every log is one job; *skipped* says which others are not.

    Submitted when the log starts (Darshan does not see the queue), as long a walltime as the run
    (at least a second). Nodes are processes over ``processors_per_node``; the machine is as large
    as the largest job unless *machine* says otherwise. Logs of one job number (an application
    started again) become jobs ``number-1``, ``number-2``, ...
    """
    if not logs:
        raise UsageError("no Darshan log to import")
    warnings = [f"log left out: {reason}" for reason in skipped]
    warnings += [text for log in logs for text in log.warnings]
    block = machine.machine(max(log.processes for log in logs))
    if machine.nodes is None:
        warnings.append(
            f"machine of {block['nodes']} nodes, as large as the largest job; state it with nodes"
        )
    warnings.append(
        "jobs are submitted when they started and have their run time as walltime: Darshan does not "
        "see the queue; reads and writes are one"
    )
    logs = sorted(logs, key=lambda log: (log.start_seconds, log.job_id, log.name))
    ids, renamed = _ids(logs)
    warnings += renamed
    rows = []
    for log, job_id in zip(logs, ids):
        nodes = machine.nodes_for(log.processes)
        if nodes > block["nodes"]:
            raise InstanceError(
                f"{log.name}: {log.processes} processes need {nodes} nodes, the machine has "
                f"{block['nodes']}; state a larger machine or more processes per node"
            )
        rows.append(
            {
                "id": job_id,
                "submit_seconds": log.start_seconds - logs[0].start_seconds,
                "nodes": nodes,
                "walltime_seconds": max(log.run_seconds, SHORTEST_WALLTIME_SECONDS),
                "phases": phases_of(log),
            }
        )
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
    synthetic = {"rates": machine.invented_rates(block)}
    return imported(BatchIoProblem, data, warnings, logs[0].name, synthetic)


def _summary(log: DarshanLog) -> dict[str, Any]:
    return {
        "job_id": log.job_id, "processes": log.processes, "run_seconds": log.run_seconds,
        "bytes_read": log.bytes_read, "bytes_written": log.bytes_written,
        "io_seconds": log.io_seconds, "phases": len(log.phases),
        "darshan_version": log.version,
    }  # fmt: skip


def _ids(logs: Sequence[DarshanLog]) -> tuple[list[Any], list[str]]:
    """Ids of the jobs, unique, and a warning where logs share a job number."""
    times = Counter(log.job_id for log in logs)
    repeated = [job_id for job_id, count in times.items() if count > 1]
    if not repeated:
        return [log.job_id for log in logs], []
    seen: Counter[int] = Counter()
    ids: list[Any] = []
    for log in logs:
        seen[log.job_id] += 1
        ids.append(f"{log.job_id}-{seen[log.job_id]}" if times[log.job_id] > 1 else str(log.job_id))
    return ids, [f"several logs of one job, each a job of its own: {some(repeated)}"]


class Pairing:
    """Gives the jobs of a trace the I/O of Darshan logs.

    A job takes the log with its number; where there is none, one drawn from all logs. From the log
    come the bytes per process and second of run time and the number of phases; the job's volume is
    that times its processors and run time, in equal phases, cut so that at most 9/10 of its run
    time is I/O at the peak rate.
    """

    def __init__(self, logs: Sequence[DarshanLog]) -> None:
        self._logs = [log for log in logs if log.run_seconds > 0]
        if not self._logs:
            raise UsageError("none of the Darshan logs has a run time, so none can be paired")
        self._by_job = {log.job_id: log for log in self._logs}
        self._matched = self._drawn = 0
        self._cut: list[int] = []

    def phases(
        self, job_id: int, run_seconds: float, processors: int, peak: float, rng: random.Random
    ) -> list[dict[str, Any]]:
        """Phases of the job *job_id* of the trace; one draw from *rng* a job, matched or not."""
        drawn = self._logs[rng.randrange(len(self._logs))]
        log = self._by_job.get(job_id)
        if log is None:
            log, self._drawn = drawn, self._drawn + 1
        else:
            self._matched += 1
        total = log.bytes_read + log.bytes_written
        volume = total / (log.processes * log.run_seconds) * processors * run_seconds
        most = MOST_IO_SHARE * run_seconds * peak
        if volume > most:
            self._cut.append(job_id)
            volume = most
        count = max(1, len(log.phases))
        compute = (run_seconds - volume / peak) / count
        return [
            {
                "compute_seconds": max(0.0, compute),
                "io_bytes": round(volume / count),
                "repeat": count,
            }
        ]

    def remarks(self) -> list[str]:
        """What happened, for the user."""
        said = [f"{self._matched} jobs have a Darshan log of their own, {self._drawn} one drawn"]
        if self._cut:
            said.append(
                f"{len(self._cut)} jobs would be I/O for more than {MOST_IO_SHARE:g} of their run "
                f"time, their volume is cut: {some(self._cut)}"
            )
        return said
