"""Explain gang schedules: waiting, time slices of other jobs, and remote files."""

from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem
from ioopt.result import Result
from ioopt.sentences import MORE
from ioopt.tables import percent
from ioopt.units import quantity


def told(problem: GangProblem, result: Result) -> list[str]:
    """Return sentences on the parts of the mean response time, and on the jobs that end
    on nodes without their files.
    """
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
    lost = response - wait - work
    times = (
        f"Mean response of a job: {percent(wait / response)} waiting for a first "
        f"slice, {percent(work / response)} running as if alone at its files, "
        f"{percent(lost / response)} lost to other jobs' slices, remote files and "
        "migration."
    )
    moved = result.metrics.get("migrated_tasks", 0)
    wide = quantity("matrix_utilisation", result.metrics["matrix_utilisation"])
    if away:
        where = f"{away} of {len(rows)} jobs end on nodes without their files"
    else:
        where = "Every job ends on the nodes of its files"
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
    """Make remote files faster: the additional time for reading them, compared with
    local files, is divided by 1.1.
    """
    local = "local_seconds"
    remote = "remote_seconds"
    rows = data["jobs"]
    if data.get("io"):
        local = f"{local}_per_block"
        remote = f"{remote}_per_block"
        rows = [data["io"]]
    for row in rows:
        row[remote] = row[local] + (row[remote] - row[local]) / MORE
    return bool(rows)


KNOBS = {
    "the speed of remote files": _remote,
    "the speed of migration": _migration,
    "the height of the matrix (at least one row)": _row,
}
