"""Darshan logs as the I/O of the jobs of a trace (Zhou et al., Section IV.B): whose each is."""

from collections.abc import Iterable, Sequence

from ioopt.formats.darshan.io import io_of, rate_remarks
from ioopt.formats.darshan.log import SLACK_SECONDS, DarshanLog
from ioopt.formats.io_rule import IoRule
from ioopt.formats.report import some
from ioopt.formats.swf.log import SwfJob
from ioopt.problems.base import Json

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


class Pairing:
    """Gives the jobs of a trace I/O: that of their log (in *own*), else that of a rule."""

    def __init__(self, logs: Sequence[DarshanLog], rule: IoRule, own: Sequence[DarshanLog]) -> None:
        self._by_job = {log.job_id: log for log in own}
        self._any = bool(logs)
        self._rule = rule
        self._rng = rule.generator()
        self._used: list[DarshanLog] = []
        self._ruled = 0
        self._longer: list[int] = []

    def io(self, job_id: int, run_seconds: float, peak: float) -> Json:
        """The I/O of one job; each takes one draw of the rule, whether it has a log or not."""
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
        """What I/O is not that of the job itself; empty where all is."""
        if not self._ruled or not self._rule.fraction:
            return ""
        which = f"of {self._ruled} jobs without a log: " if self._any else ""
        return which + self._rule.describe()

    def remarks(self) -> list[str]:
        """What happened, for the user."""
        if not self._any:
            return []
        said = [f"{len(self._used)} jobs have a Darshan log of their own, {self._ruled} have none"]
        if self._longer:
            said.append(
                f"{len(self._longer)} jobs ran shorter than their Darshan log; compute is cut, and "
                f"I/O where that is not enough: {some(self._longer)}"
            )
        return said + rate_remarks(self._used)
