"""Explain plans of batches and workflows: use of the remote link, computing, waiting,
and bytes that were fetched again.
"""

from ioopt.checks.replication.check import node_times
from ioopt.formats.cluster import ASSUMED_RATES
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.result import Result
from ioopt.sentences import MORE, scaled
from ioopt.tables import percent
from ioopt.timeline import covered_seconds
from ioopt.units import quantity


def told(problem: ReplicationProblem, result: Result) -> list[str]:
    """Return sentences on how the makespan is spent, and on files that were fetched
    again.
    """
    assert result.schedule is not None
    tasks = result.schedule["tasks"]
    transfers = result.schedule["transfers"]
    span = result.metrics["makespan_seconds"]  # the last save may end after the tasks
    if span <= 0:
        return ["The plan takes no time."]
    cores = {node.id: node.cores for node in problem.nodes}
    needs = {task.id: task.cores for task in problem.tasks}
    last = {node.id: 0.0 for node in problem.nodes}
    busy = 0
    for row in tasks:
        busy += (row["end_seconds"] - row["start_seconds"]) * needs[row["id"]]
        last[row["node"]] = max(last[row["node"]], row["end_seconds"])
    whole = sum(cores.values()) * span
    after = sum((span - last[name]) * cores[name] for name in cores)
    waits = whole - busy - after
    remote = []
    for row in transfers:
        if row["source"] is None or row["destination"] is None:
            remote.append((row["start_seconds"], row["end_seconds"]))
    link = covered_seconds(remote)
    crossing = "The remote link is not used"
    if link:
        crossing = f"The remote link is busy {percent(link / span)} of that time"
    work, reason = _work_and_waits(problem)
    spent = f"cores {work} {percent(busy / whole)}"
    times = (
        f"{crossing}; {spent}, wait for {reason} {percent(waits / whole)}, and are "
        f"idle at the end {percent(after / whole)}."
    )
    found = result.metrics.get("cached_bytes") if problem.is_shared else None
    return [times, _again(problem, transfers, found) + _of_a_cycle(result)]


def addends(problem: ReplicationProblem, result: Result) -> dict[str, dict[str, float]]:
    """Return what the additive objective of a result adds up for each node; nothing if
    the objective is another, or the plan states no transfers.
    """
    if result.objective_name != "additive_seconds" or result.plan is None:
        return {}
    rows = node_times(problem, ReplicationPlan.model_validate(result.plan)) or ()
    found = {}
    for row in rows:
        parts = row._asdict()
        del parts["node"]
        found[row.node] = parts | {"sum": row.total}
    return found


def _of_a_cycle(result: Result) -> str:
    """Return the sentence on copies that form a cycle in the plan, to follow that on
    the transfers of the replay; nothing if there are none.
    """
    file = ReplicationPlan.model_validate(result.plan).copied_in_cycle
    if file is None:
        return ""
    return (
        f" These transfers, also drawn, are the replay's: in the plan the copies of "
        f"{file} form a cycle that no fetch enters, so its additive time cannot be "
        "reached."
    )


def _work_and_waits(problem: ReplicationProblem) -> tuple[str, str]:
    """Return the words for what busy cores do, and for what idle ones wait for."""
    if problem.is_shared:
        return "compute, read and write", "other tasks or memory"
    if _memory_limits(problem):
        return "compute", "files, other tasks, memory or disk space"
    return "compute", "files, other tasks or disk space"


def _memory_limits(problem: ReplicationProblem) -> bool:
    """Return whether tasks need memory and a node has a limit of it."""
    limited = any(node.memory_bytes is not None for node in problem.nodes)
    return limited and any(task.memory_bytes for task in problem.tasks)


def _again(
    problem: ReplicationProblem, transfers: list[Json], found: int | None
) -> str:
    """Return the sentence on the bytes that were fetched, fetched again, copied and
    saved.

    On shared storage nothing is copied, and *found* are the bytes of inputs that were
    found in caches; otherwise it is None.
    """
    sizes = {file.id: file.bytes for file in problem.files}
    seen: set[str] = set()
    fetched = 0
    again = 0
    copied = 0
    saved = 0
    for row in transfers:
        size = sizes[row["file"]]
        if row["destination"] is None:
            saved += size
        elif row["source"] is not None:
            copied += size
        else:
            fetched += size
            if row["file"] in seen:
                again += size
            seen.add(row["file"])
    text = f"The plan fetches {_bytes('remote_bytes', fetched)} from remote storage"
    if again:
        share = percent(again / fetched)
        text += (
            f", {_bytes('remote_bytes', again)} ({share}) of it files that were "
            "fetched before"
        )
    elif fetched:
        text += ", no file twice"
    if found is None:
        text += f"; {_bytes('replica_bytes', copied)} is copied between nodes"
    else:
        text += f"; {_bytes('cached_bytes', found)} is found in caches"
    if saved:
        text += f" and {_bytes('saved_bytes', saved)} saved"
    return f"{text}."


def _bytes(metric: str, amount: int) -> str:
    """Return a number of bytes as text with a unit, "nothing" for 0; *metric* is the
    name of the metric.
    """
    return quantity(metric, amount) if amount else "nothing"


def assumed(problem: ReplicationProblem) -> dict[str, tuple[str, str]]:
    """Return the links whose rate was assumed at import, each with the rate and the
    key of ``--machine`` that states it.
    """
    told = (problem.meta or {}).get(ASSUMED_RATES) or {}
    network = problem.network
    rates = {
        "the remote link": ("remote_rate", network.remote_bytes_per_second),
        "the nodes' network": ("replica_rate", network.replica_bytes_per_second),
    }
    return {
        link: (quantity("bytes_per_second", rate), key)
        for link, (key, rate) in rates.items()
        if told.get(key) == rate
    }


def _speeds(data: Json) -> bool:
    """Increase the speed of every node by 10 %."""
    for node in data["nodes"]:
        node["speed"] = node.get("speed", 1.0) * MORE
    return True


KNOBS = {
    "the remote link": scaled("network", "remote_bytes_per_second"),
    "the nodes' network": scaled("network", "replica_bytes_per_second"),
    "disk": scaled("nodes", "disk_bytes"),
    "the disks' rate": scaled("nodes", "disk_bytes_per_second"),
    "memory": scaled("nodes", "memory_bytes"),
    "computing speed": _speeds,
    "the storage nodes' speed": scaled("storages", "bytes_per_second"),
}
