"""Schedules of a machine's batch queue: waiting, computing,
transferring, congestion.
"""

from ioopt.explaining import Family, scaled
from ioopt.problems.base import JobId, Json
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.result import Result
from ioopt.tables import percent
from ioopt.units import quantity


def told(problem: BatchIoProblem, result: Result) -> list[str]:
    """What a job's response consists of, and which jobs congestion costs most."""
    assert result.schedule is not None
    rows = {row["id"]: row for row in result.schedule["jobs"]}
    jobs = [job for job in problem.jobs if job.id in rows]
    if not jobs:
        return ["There is no job."]
    response = result.metrics["mean_response_seconds"]
    wait = result.metrics["mean_wait_seconds"]
    delay = result.metrics["io_delay_seconds"]
    compute = sum(
        phase.compute_seconds * phase.repeat for job in jobs for phase in job.phases
    )
    moving = sum(
        io["finish_seconds"] - io["request_seconds"]
        for row in rows.values()
        for io in row["io"]
        if io["finish_seconds"] is not None
    )
    parts = (wait, compute / len(jobs), moving / len(jobs))
    shares = [percent(part / response) if response else "-" for part in parts]
    times = (
        f"Mean response of a job: {shares[0]} waiting in the queue, "
        f"{shares[1]} computing, {shares[2]} with I/O outstanding; mean I/O delay per "
        f"job: {quantity('io_delay_seconds', delay)}."
    )
    return [times, _hurt(rows)]


def _hurt(rows: dict[JobId, Json]) -> str:
    """The jobs that congestion keeps longest between asking and
    being granted anything.
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
    mean, worst = total / len(held), held[most[0]]
    tenth = f"a tenth of the jobs has {share} of that, " if len(held) >= 10 else ""
    return (
        f"Requests wait {quantity('wait_seconds', mean, worst)} per job for their "
        f"first byte; {tenth}job {most[0]} waits longest "
        f"({quantity('wait_seconds', worst, mean)})."
    )


FAMILY = Family(
    told,
    {
        "the storage's bandwidth": scaled("machine", "storage_bytes_per_second"),
        "the nodes' bandwidth": scaled("machine", "node_bytes_per_second"),
    },
)
