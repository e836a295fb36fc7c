"""Gang schedules: waiting for a place, slices of others, remote files."""

from ioopt.explaining import MORE, Family
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem
from ioopt.result import Result
from ioopt.tables import percent
from ioopt.units import quantity


def told(problem: GangProblem, result: Result) -> list[str]:
    """Waits against slices, and who computes away from its files."""
    assert result.schedule is not None
    arrivals = {job.id: job.arrival_seconds for job in problem.jobs}
    rows = [row for row in result.schedule["jobs"] if row["finish_seconds"] is not None]
    if not rows:
        return ["No job ends."]
    alone = {job.id: local for job, (local, _) in zip(problem.jobs, problem.times)}
    response = sum(row["finish_seconds"] - arrivals[row["id"]] for row in rows)
    wait = sum(row["start_seconds"] - arrivals[row["id"]] for row in rows)
    work = sum(alone[row["id"]] for row in rows)
    away = sum(not row["local"] for row in rows)
    shares = [percent(part / response) for part in (wait, work, response - wait - work)]
    times = (
        f"Mean response of a job: {shares[0]} waiting for a first slice, {shares[1]} "
        f"running as if alone at its files, {shares[2]} lost to other jobs' slices, "
        "remote files and migration."
    )
    moved = result.metrics.get("migrated_tasks", 0)
    wide = quantity("matrix_utilisation", result.metrics["matrix_utilisation"])
    where = (
        f"{away} of {len(rows)} jobs end on nodes without their files"
        if away
        else "Every job ends on the nodes of its files"
    )
    return [
        times,
        f"{where}; {moved or 'no'} tasks migrate; the matrix is filled to {wide}.",
    ]


def _migration(data: Json) -> bool:
    seconds = data["machine"].get("migration_seconds", 0)
    data["machine"]["migration_seconds"] = seconds / MORE
    return bool(seconds)


def _row(data: Json) -> bool:
    data["machine"]["levels"] += max(1, round(data["machine"]["levels"] * (MORE - 1)))
    return True


def _remote(data: Json) -> bool:
    """What remote files cost beyond local ones is a tenth less."""
    local, remote = "local_seconds", "remote_seconds"
    rows = data["jobs"]
    if data.get("io"):
        local, remote, rows = f"{local}_per_block", f"{remote}_per_block", [data["io"]]
    for row in rows:
        row[remote] = row[local] + (row[remote] - row[local]) / MORE
    return bool(rows)


FAMILY = Family(
    told,
    {
        "the speed of remote files": _remote,
        "the speed of migration": _migration,
        "the height of the matrix (at least one row)": _row,
    },
)
