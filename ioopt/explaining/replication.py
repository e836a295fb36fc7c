"""Plans of batches and workflows: link, computing, waits; bytes
that were fetched again.
"""

from ioopt.explaining import MORE, Family, scaled
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Result
from ioopt.tables import percent
from ioopt.timeline import covered_seconds
from ioopt.units import quantity


def told(problem: ReplicationProblem, result: Result) -> list[str]:
    """Shares of the makespan, and what was fetched more than once."""
    assert result.schedule is not None
    tasks = result.schedule["tasks"]
    transfers = result.schedule["transfers"]
    span = max((row["end_seconds"] for row in tasks), default=0.0)
    if span <= 0:
        return ["The plan takes no time."]
    cores = {node.id: node.cores for node in problem.nodes}
    needs = {task.id: task.cores for task in problem.tasks}
    room = sum(cores.values()) * span
    busy = sum((t["end_seconds"] - t["start_seconds"]) * needs[t["id"]] for t in tasks)
    last = {node.id: 0.0 for node in problem.nodes}
    for row in tasks:
        last[row["node"]] = max(last[row["node"]], row["end_seconds"])
    after = sum((span - last[name]) * cores[name] for name in cores)
    remote = [
        row for row in transfers if row["source"] is None or row["destination"] is None
    ]
    link = covered_seconds((row["start_seconds"], row["end_seconds"]) for row in remote)
    busy, after, waits = (
        percent(part / room) for part in (busy, after, room - busy - after)
    )
    crossing = f"The remote link is busy {percent(link / span)} of that time"
    times = (
        f"{crossing if link else 'The remote link is not used'}; cores compute "
        f"{busy}, wait for files, other tasks or disk space {waits}, and are idle at "
        f"the end {after}."
    )
    return [times, _again(problem, transfers)]


def _again(problem: ReplicationProblem, transfers: list[Json]) -> str:
    sizes = {file.id: file.bytes for file in problem.files}
    moves = [(row["file"], row["source"], row["destination"]) for row in transfers]
    fetched = [
        name for name, source, target in moves if source is None and target is not None
    ]
    first = sum(sizes[name] for name in {*fetched})
    again = sum(sizes[name] for name in fetched) - first
    copied = sum(sizes[name] for name, *ends in moves if None not in ends)
    saved = sum(sizes[name] for name, _, target in moves if target is None)
    total = quantity("remote_bytes", first + again) if first else "nothing"
    text = f"The plan fetches {total} from remote storage"
    if again:
        share = percent(again / (first + again))
        text += (
            f", {quantity('remote_bytes', again)} ({share}) of it files that were "
            "fetched before"
        )
    elif first:
        text += ", no file twice"
    text += (
        f"; {quantity('replica_bytes', copied) if copied else 'nothing'} is copied "
        "between nodes"
    )
    return (
        f"{text} and {quantity('saved_bytes', saved)} saved." if saved else f"{text}."
    )


def _speeds(data: Json) -> bool:
    for node in data["nodes"]:
        node["speed"] = node.get("speed", 1.0) * MORE
    return True


FAMILY = Family(
    told,
    {
        "the remote link": scaled("network", "remote_bytes_per_second"),
        "the nodes' network": scaled("network", "replica_bytes_per_second"),
        "disk": scaled("nodes", "disk_bytes"),
        "computing speed": _speeds,
        "the storage nodes' speed": scaled("storages", "bytes_per_second"),
    },
)
