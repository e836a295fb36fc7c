"""SWF traces as batch-io problems: jobs that fit, walltimes, and I/O by rule or from Darshan logs."""

from collections.abc import Sequence

from ioopt.errors import InstanceError
from ioopt.formats.darshan.io import slow_machine
from ioopt.formats.darshan.log import DarshanLog
from ioopt.formats.io_rule import SHORTEST_WALLTIME_SECONDS, IoRule, MachineRule
from ioopt.formats.report import file_name, imported, some
from ioopt.formats.swf.log import SwfJob, SwfTrace
from ioopt.formats.swf.pairing import Pairing, matched
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem, Machine


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
    """Make a batch-io problem of a log.

    Submit times count from the first job kept. A job without a requested time has its run time (at
    least a second) as walltime. Jobs larger than the machine are left out with a warning.
    *requested_size* prefers the requested to the allocated processors. The I/O is that of the rule
    *io*, of jobs with one of the *darshan* logs that of the log
    (:class:`ioopt.formats.swf.pairing.Pairing`); *skipped* says which logs could not be read.
    *max_jobs* keeps the first jobs. Raises InstanceError when no job is left.
    """
    jobs, left_out = trace.usable_jobs()
    said = [*trace.warnings, *left_out]
    if machine.nodes:
        processors = machine.nodes * machine.processors_per_node
    else:
        processors, guess = trace.machine_processors()
        said += [guess] if guess else []
    own, unmatched = matched(darshan, jobs, trace.epoch)
    achieved = [(log.processes, log.rate) for log in own if log.rate is not None]
    block = machine.machine(processors, achieved)
    sized = [(job, machine.nodes_for(job.size(requested_size) or 1)) for job in jobs]
    fitting, dropped = _fitting(sized, block["nodes"], max_jobs)
    said += dropped
    said += trace.unused(job for job, _ in fitting)
    warnings = [f"log left out: {reason}" for reason in skipped]
    warnings += [text for log in darshan for text in log.warnings]
    warnings += [f"{trace.name}: {text}" for text in said]
    if not fitting:
        raise InstanceError(f"{trace.name}: no job that can be used; {'; '.join(warnings)}")
    pairing = Pairing(darshan, io, own)
    rows = _rows(fitting, block, pairing)
    warnings += [*pairing.remarks(), *unmatched, *slow_machine(block, rows)]
    data = {"name": file_name(trace.name), "meta": _meta(trace, io), "machine": block,
            "options": options or {}, "jobs": rows}  # fmt: skip
    synthetic = {"I/O": pairing.invented(), "rates": machine.invented_rates(block, achieved)}
    return imported(BatchIoProblem, data, warnings, trace.name, synthetic)


def _fitting(
    sized: Sequence[tuple[SwfJob, int]], nodes: int, most: int | None
) -> tuple[list[tuple[SwfJob, int]], list[str]]:
    """The first jobs that fit on so many *nodes*, at *most* so many, and what is left out."""
    said = []
    too_large = [job.id for job, wanted in sized if wanted > nodes]
    if too_large:
        said.append(
            f"{len(too_large)} jobs left out, larger than the machine of {nodes} nodes: "
            f"{some(too_large)}"
        )
    fitting = [(job, wanted) for job, wanted in sized if wanted <= nodes]
    if most is not None and most < len(fitting):
        said.append(f"the first {most} of {len(fitting)} jobs")
    return fitting[:most], said


def _rows(fitting: Sequence[tuple[SwfJob, int]], block: Json, pairing: Pairing) -> list[Json]:
    """The jobs as the instance has them."""
    machine = Machine.model_validate(block)
    first = min(job.submit_seconds or 0.0 for job, _ in fitting)
    rows = []
    for job, nodes in fitting:
        run = job.run_seconds or 0.0
        peak = machine.peak(machine.allocated_nodes(nodes))
        rows.append(
            {
                "id": job.id,
                "submit_seconds": (job.submit_seconds or 0.0) - first,
                "nodes": nodes,
                "walltime_seconds": job.requested_seconds or max(run, SHORTEST_WALLTIME_SECONDS),
                **pairing.io(job.id, run, peak),
            }
        )
    return rows


def _meta(trace: SwfTrace, io: IoRule) -> Json:
    meta: Json = {"source": file_name(trace.name), "seed": io.seed}
    for key in ("Computer", "Installation", "Acknowledge"):
        if key in trace.header:
            meta[key.lower()] = "; ".join(trace.header[key])
    return meta
