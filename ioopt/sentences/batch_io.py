"""Explain batch I/O schedules: waiting, computing, transfers, and congestion."""

from ioopt.problems.base import JobId, Json
from ioopt.problems.batch_io import BatchIoProblem, Job
from ioopt.result import Result
from ioopt.sentences import scaled
from ioopt.tables import percent
from ioopt.units import quantity


def told(problem: BatchIoProblem, result: Result) -> list[str]:
    """Return sentences on the parts of the mean response time, and on the jobs that
    lose most time to congestion.
    """
    assert result.schedule is not None
    rows = {row["id"]: row for row in result.schedule["jobs"]}
    jobs = [job for job in problem.jobs if job.id in rows]
    if not jobs:
        return ["There is no job."]
    response = result.metrics["mean_response_seconds"]
    wait = result.metrics["mean_wait_seconds"]
    delay = result.metrics["io_delay_seconds"]
    compute = sum(_computing(job) for job in jobs) / len(jobs)
    moving = sum(_outstanding(row) for row in rows.values()) / len(jobs)
    times = (
        f"Mean response of a job: {_share(wait, response)} waiting in the queue, "
        f"{_share(compute, response)} computing, {_share(moving, response)} with I/O "
        f"outstanding; mean I/O delay per job: {quantity('io_delay_seconds', delay)}."
    )
    return [times, _hurt(rows)]


def _computing(job: Job) -> float:
    """Return the seconds of computing in all phases of a job."""
    return sum(phase.compute_seconds * phase.repeat for phase in job.phases)


def _outstanding(row: Json) -> float:
    """Return the seconds during which a request of the job in *row* is waiting or
    transferring.
    """
    finished = [io for io in row["io"] if io["finish_seconds"] is not None]
    return sum(io["finish_seconds"] - io["request_seconds"] for io in finished)


def _share(part: float, whole: float) -> str:
    """Return *part* as a percentage of *whole*; a dash when the whole is 0."""
    shown = None
    if whole:
        shown = percent(part / whole)
    return shown or "-"


def _hurt(rows: dict[JobId, Json]) -> str:
    """Return the sentence on the jobs whose requests wait longest for their first
    grant.
    """
    held = {
        name: sum(
            io["first_grant_seconds"] - io["request_seconds"]
            for io in row["io"]
            if io["first_grant_seconds"] is not None
        )
        for name, row in rows.items()
    }
    total = sum(held.values())
    if total <= 0:
        return "No request waits for its first byte."
    most = sorted(held, key=lambda name: -held[name])[: max(1, len(held) // 10)]
    share = percent(sum(held[name] for name in most) / total)
    mean = total / len(held)
    worst = held[most[0]]
    tenth = ""
    if len(held) >= 10:
        tenth = f"a tenth of the jobs has {share} of that, "
    return (
        f"Requests wait {quantity('wait_seconds', mean, worst)} per job for their "
        f"first byte; {tenth}job {most[0]} waits longest "
        f"({quantity('wait_seconds', worst, mean)})."
    )


KNOBS = {
    "the storage's bandwidth": scaled("machine", "storage_bytes_per_second"),
    "the nodes' bandwidth": scaled("machine", "node_bytes_per_second"),
}
