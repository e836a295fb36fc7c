"""Make batch-io problems from SWF traces, with the jobs that fit the machine.

The I/O of jobs comes from a rule or from Darshan logs. Logs are matched to jobs as in
Zhou et al., Section IV.B.
"""

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from ioopt.errors import InstanceError
from ioopt.formats.darshan.io import io_of, rate_remarks, slow_machine
from ioopt.formats.darshan.log import SLACK_SECONDS, DarshanLog
from ioopt.formats.io_rule import (
    GIVEN,
    SHORTEST_WALLTIME_SECONDS,
    IoRule,
    MachineRule,
)
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.swf.log import HEADER_SIZES, MOST_IN_USE, SwfJob, SwfTrace
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem, Machine

SLACK = 60.0
"""Seconds by which the clocks of the batch system and of the nodes may differ."""
THREADS = 4
"""Largest number of processes on a processor: the hardware threads of a core."""


def matched(
    logs: Sequence[DarshanLog], jobs: Iterable[SwfJob], epoch: int | None
) -> tuple[list[DarshanLog], list[str]]:
    """Return the logs that belong to *jobs*, and remarks with the number of other logs.

    A log belongs to the job with the same number on two conditions. The log has at most
    ``THREADS`` processes for each processor of the job, and it starts while the job
    runs. The start is checked only if the trace states *epoch* (its UnixStartTime) and
    the submission and wait of the job.
    """
    by_id = {job.id: job for job in jobs}
    found: list[DarshanLog] = []
    missed: dict[str, list[int]] = {}
    for log in logs:
        why: str | None = "match no job"
        if log.job_id in by_id:
            why = _mismatch(log, by_id[log.job_id], epoch)
        if why is None:
            found.append(log)
        else:
            missed.setdefault(why, []).append(log.job_id)
    said = [
        f"{len(ids)} Darshan logs {why}: {some(sorted(ids))}"
        for why, ids in missed.items()
    ]
    if logs and epoch is None:
        said.append(
            "start times of Darshan logs are not compared: the trace has no "
            "UnixStartTime"
        )
    return found, said


def _none_matches(
    trace: SwfTrace,
    logs: Sequence[DarshanLog],
    jobs: Sequence[SwfJob],
    remarks: Sequence[str],
) -> str:
    """Return the message for Darshan logs of which none belongs to one of *jobs*;
    *remarks* say why.
    """
    numbers = sorted(job.id for job in jobs)
    span = "has no jobs"
    if numbers:
        span = f"has jobs {numbers[0]} to {numbers[-1]}"
    starts = [(job.submit_seconds or 0.0) + (job.wait_seconds or 0.0) for job in jobs]
    if trace.epoch is not None and starts:
        span += f", started {_days(trace.epoch + s for s in starts)}"
    return (
        f"{trace.name}: no Darshan log belongs to a job: {'; '.join(remarks)}. The job "
        f"log {span}; the Darshan logs start {_days(s.start_seconds for s in logs)}. "
        "Give the job log of the same machine and days (or --time-zone), or leave out "
        "--darshan"
    )


def _days(seconds: Iterable[float]) -> str:
    """Return the first and the last of times, which are seconds of the epoch."""
    listed = list(seconds)
    first, last = (
        f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M}"
        for time in (min(listed), max(listed))
    )
    return first if first == last else f"{first} to {last} UTC"


def _mismatch(log: DarshanLog, job: SwfJob, epoch: int | None) -> str | None:
    """Return why *log* cannot belong to *job*, which has the same number, or None."""
    if (
        epoch is not None
        and job.submit_seconds is not None
        and job.wait_seconds is not None
    ):
        start = epoch + job.submit_seconds + job.wait_seconds
        end = start + (job.run_seconds or 0.0)
        if not start - SLACK <= log.start_seconds <= end + SLACK:
            return "have the number of a job that did not run when they start"
    if log.processes > THREADS * (job.size() or log.processes):
        return "have the number of a job with too few processors for their processes"
    return None


class Pairing:
    """Give each job the I/O of its own log, or else I/O invented by *rule*.

    *own* has the logs that belong to jobs; *logs* has all logs that were read.
    """

    def __init__(
        self, logs: Sequence[DarshanLog], rule: IoRule, own: Sequence[DarshanLog]
    ) -> None:
        self._by_job = {log.job_id: log for log in own}
        self._any = bool(logs)
        self._rule = rule
        # The rule makes one draw per job, in the order of the trace.
        self._rng = random.Random(rule.seed)
        self._used: list[DarshanLog] = []
        self._ruled = 0
        self._longer: list[int] = []

    def io(self, job_id: int, run_seconds: float, peak: float) -> Json:
        """Return the I/O of a job, as keys of its row in the instance.

        *peak* is the peak rate of the job in bytes per second. One random number is
        drawn for every job, even one with a log. Thus the I/O invented for a job does
        not depend on which other jobs have logs.
        """
        phases = self._rule.phases(run_seconds, peak, self._rng)
        log = self._by_job.get(job_id)
        if log is not None:
            self._used.append(log)
            if log.run_seconds > run_seconds + 2 * SLACK_SECONDS:
                self._longer.append(job_id)
            return io_of(log, run_seconds)
        self._ruled += 1
        return {"phases": phases}

    def invented(self) -> str:
        """Describe the I/O that the rule has invented; return empty text if there is
        none.
        """
        if not self._ruled or not self._rule.fraction:
            return ""
        if self._any:
            return f"of {self._ruled} jobs without a log: {self._rule.describe()}"
        return self._rule.describe()

    def remarks(self) -> list[str]:
        """Return remarks for the user on the jobs with logs and on the rates of the
        logs.
        """
        if not self._any:
            return []
        said = [
            f"{len(self._used)} jobs have a Darshan log of their own, "
            f"{self._ruled} have none"
        ]
        if self._longer:
            said.append(
                f"{len(self._longer)} jobs ran shorter than their Darshan log; "
                "compute is cut, and I/O where that is not enough: "
                f"{some(self._longer)}"
            )
        return said + rate_remarks(self._used)


def batch_io_from_swf(
    trace: SwfTrace,
    *,
    machine: MachineRule = MachineRule(),
    io: IoRule = IoRule(),
    darshan: Sequence[DarshanLog] = (),
    skipped: Sequence[str] = (),
    requested_size: bool = False,
    max_jobs: int | None = None,
    options: Json | None = None,
) -> BatchIoProblem:
    """Make a batch-io problem from *trace*.

    Submit times count from the first job kept. The walltime of a job without a
    requested time is its run time, but at least one second. Jobs larger than the
    machine are left out with a warning. With *requested_size*, the requested number of
    processors is preferred to the allocated one. *max_jobs* keeps only the first jobs.

    A job with a log in *darshan* has the I/O of this log, and any other job has I/O by
    the rule *io* (:class:`Pairing`). *skipped* has a reason for each log that could not
    be read. Raises InstanceError if no job is left.
    """
    jobs, left_out = trace.usable_jobs()
    unclear = unclear_nodes(trace, machine)
    by_nodes = _has_nodes(jobs) and not _states_processors(machine)
    if by_nodes:
        machine = _with_processors(machine, jobs)
    processors, guess = _processors(trace, machine, by_nodes)
    own, unmatched = matched(darshan, jobs, trace.epoch)
    if darshan and not own:
        raise InstanceError(_none_matches(trace, darshan, jobs, unmatched))
    achieved = [(log.processes, log.rate) for log in own if log.rate is not None]
    block = machine.machine(processors, achieved)
    sized = _sized(jobs, machine, by_nodes, requested_size)
    fitting, dropped = _fitting(sized, block["nodes"], max_jobs)
    said = [*trace.warnings, *left_out, unclear, guess]
    said += _partly_used(sized, machine.processors_per_node)
    said += dropped
    said += trace.unused(job for job, _ in fitting)
    warnings = [f"log left out: {reason}" for reason in skipped]
    for log in darshan:
        warnings += log.warnings
    warnings += [f"{trace.name}: {text}" for text in said if text]
    if not fitting:
        raise InstanceError(
            f"{trace.name}: no job that can be used; {'; '.join(warnings)}"
        )
    pairing = Pairing(darshan, io, own)
    rows = _rows(fitting, block, pairing)
    warnings += [*pairing.remarks(), *unmatched, *slow_machine(block, rows)]
    data = {
        "name": file_name(trace.name),
        "meta": _meta(trace, io),
        "machine": block,
        "options": options or {},
        "jobs": rows,
    }
    synthetic = {
        "I/O": pairing.invented(),
        "rates": machine.invented_rates(block, achieved),
    }
    return imported(BatchIoProblem, data, warnings, trace.name, synthetic)


def unclear_nodes(trace: SwfTrace, machine: MachineRule) -> str:
    """Return what to do if *trace* has the processors of its jobs, and nothing says how
    many nodes these are; otherwise empty text.
    """
    if trace.kind == "swf" or _states_processors(machine):
        return ""
    if _has_nodes(trace.usable_jobs()[0]):
        return ""
    how = "--machine processors_per_node=N"
    if trace.kind == "sacct":
        how += ", or ask sacct for the column NNodes"
    return (
        "the log has the processors of jobs, not their nodes, so each counts as a node "
        f"of its own; state {how}"
    )


def nodes_source(trace: SwfTrace, machine: MachineRule) -> str:
    """Return the words that say where the number of nodes of the machine comes from."""
    if machine.nodes:
        return GIVEN
    if trace.kind != "swf":
        return MOST_IN_USE
    source = "the processors of the largest job"
    if trace.header_number(*HEADER_SIZES):
        source = "the log's processors"
    if _states_processors(machine):
        return source
    return f"{source}, one a node: state processors_per_node"


def _has_nodes(jobs: Sequence[SwfJob]) -> bool:
    return all(job.nodes for job in jobs)


def _states_processors(machine: MachineRule) -> bool:
    return "processors_per_node" in machine.model_fields_set


def _with_processors(machine: MachineRule, jobs: Sequence[SwfJob]) -> MachineRule:
    """Return *machine* with the most processors a node of any job, which also converts
    the processes of Darshan logs.
    """
    per_node = max(-(-(job.size() or 1) // (job.nodes or 1)) for job in jobs)
    return machine.model_copy(update={"processors_per_node": per_node})


def _partly_used(sized: Sequence[tuple[SwfJob, int]], per_node: int) -> list[str]:
    """Return a remark on jobs that use a part of the processors of their nodes.

    *sized* has each job with its number of nodes; *per_node* is the number of
    processors of a node.
    """
    partly = [job.id for job, nodes in sized if (job.size() or 0) < nodes * per_node]
    if not partly:
        return []
    return [
        f"{len(partly)} jobs use fewer than {per_node} processors a node; each counts "
        f"as having its nodes alone: {some(partly)}"
    ]


def _processors(
    trace: SwfTrace, machine: MachineRule, by_nodes: bool
) -> tuple[int, str]:
    """Return the number of processors of the machine, and a remark if it is a guess
    (else empty text). *by_nodes* says that the nodes of jobs are from the log.
    """
    if machine.nodes:
        return machine.nodes * machine.processors_per_node, ""
    if by_nodes:
        nodes, remark = trace.machine_nodes()
        return nodes * machine.processors_per_node, remark
    processors, guess = trace.machine_processors()
    return processors, guess or ""


def _sized(
    jobs: Iterable[SwfJob], machine: MachineRule, by_nodes: bool, requested: bool
) -> list[tuple[SwfJob, int]]:
    """Return each job with its number of nodes: that of the log if *by_nodes*, else
    from its processors, the *requested* ones if they are preferred.
    """
    found = []
    for job in jobs:
        nodes = job.nodes if by_nodes else None
        size = job.size(requested) or 1
        found.append((job, nodes or machine.nodes_for(size)))
    return found


def _fitting(
    sized: Sequence[tuple[SwfJob, int]], nodes: int, most: int | None
) -> tuple[list[tuple[SwfJob, int]], list[str]]:
    """Return the jobs that need at most *nodes* nodes, and remarks on the other jobs.

    *sized* has each job with its number of nodes. If *most* is given, only the first
    *most* jobs that fit are returned.
    """
    said = []
    too_large = [job.id for job, wanted in sized if wanted > nodes]
    if too_large:
        said.append(
            f"{len(too_large)} jobs left out, larger than the machine of {nodes} "
            f"nodes: {some(too_large)}"
        )
    fitting = [(job, wanted) for job, wanted in sized if wanted <= nodes]
    if most is not None and most < len(fitting):
        said.append(f"the first {most} of {len(fitting)} jobs")
    return fitting[:most], said


def _rows(
    fitting: Sequence[tuple[SwfJob, int]], block: Json, pairing: Pairing
) -> list[Json]:
    """Return the jobs as rows of the instance, with their I/O."""
    machine = Machine.model_validate(block)
    first = min(job.submit_seconds or 0.0 for job, _ in fitting)
    rows = []
    for job, nodes in fitting:
        labels = {
            "wait_seconds": job.wait_seconds,
            "user": job.user,
            "queue": job.queue,
            "partition": job.partition,
        }
        run = job.run_seconds or 0.0
        peak = machine.peak(machine.allocated_nodes(nodes))
        rows.append(
            {
                "id": job.id,
                "submit_seconds": (job.submit_seconds or 0.0) - first,
                "nodes": nodes,
                "walltime_seconds": job.requested_seconds
                or max(run, SHORTEST_WALLTIME_SECONDS),
                **pairing.io(job.id, run, peak),
                **{key: value for key, value in labels.items() if value is not None},
            }
        )
    return rows


def _meta(trace: SwfTrace, io: IoRule) -> Json:
    """Return the provenance of the instance, for its ``meta``."""
    meta: Json = {"source": file_name(trace.name), "seed": io.seed}
    for key in ("Computer", "Installation", "Acknowledge"):
        if key in trace.header:
            meta[key.lower()] = "; ".join(trace.header[key])
    return meta
