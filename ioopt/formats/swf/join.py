"""Which Darshan log is of which job of a trace."""

from collections.abc import Iterable, Sequence

from ioopt.formats.darshan.log import DarshanLog
from ioopt.formats.report import some
from ioopt.formats.swf.log import SwfJob

SLACK = 60.0
"""Seconds that the clocks of the batch system and of the nodes may differ by."""
THREADS = 4
"""Most processes a processor: hardware threads of one core."""


def matched(
    logs: Sequence[DarshanLog], jobs: Iterable[SwfJob], epoch: int | None
) -> tuple[list[DarshanLog], list[str]]:
    """The logs that are of *jobs*, and what to say of the others, with counts.

    A log and its job have the same number; the log starts while the job runs, where the trace says
    when that was (*epoch*, its UnixStartTime, and the job's wait), and has no more than ``THREADS``
    processes a processor of the job.
    """
    by_id = {job.id: job for job in jobs}
    found: list[DarshanLog] = []
    missed: dict[str, list[int]] = {}
    for log in logs:
        job = by_id.get(log.job_id)
        why = "match no job" if job is None else _mismatch(log, job, epoch)
        if why is None:
            found.append(log)
        else:
            missed.setdefault(why, []).append(log.job_id)
    said = [f"{len(ids)} Darshan logs {why}: {some(sorted(ids))}" for why, ids in missed.items()]
    if logs and epoch is None:
        said.append("start times of Darshan logs are not compared: the trace has no UnixStartTime")
    return found, said


def _mismatch(log: DarshanLog, job: SwfJob, epoch: int | None) -> str | None:
    """Why the log is not of the job of its number; None where it may be."""
    if epoch is not None and job.submit_seconds is not None and job.wait_seconds is not None:
        start = epoch + job.submit_seconds + job.wait_seconds
        if not start - SLACK <= log.start_seconds <= start + (job.run_seconds or 0.0) + SLACK:
            return "have the number of a job that did not run when they start"
    if log.processes > THREADS * (job.size() or log.processes):
        return "have the number of a job with too few processors for their processes"
    return None
