"""Scale instances, so that a run on the emulated network takes seconds, not hours."""

from __future__ import annotations

from dataclasses import dataclass

from ioopt.problems.replication import ReplicationProblem
from testbed.executor import require_known


@dataclass(frozen=True)
class Rates:
    """The rates of an emulated network, in bytes per second.

    At the rate of the link, a transfer of a tenth of a second has 250 KB, which is many
    packets; at the rate of the interfaces, agents take a few per cent of a core.
    """

    link: float = 2.5e6
    """Rate of the shared link of a scaled instance."""
    interface: float = 25e6
    """Largest rate of a node's interface, which is slower if the instance says so."""


RATES = Rates()


def scaled(
    problem: ReplicationProblem, factor: float, rates: Rates = RATES
) -> ReplicationProblem:
    """Return *problem* with all times multiplied by *factor*, and with sizes and rates
    multiplied so that the shared link has its emulated rate.

    A plan has then the makespan times *factor*, unless interfaces are cut to their
    largest emulated rate. Disks are rounded up, by a byte for each file, because sizes
    are whole numbers. Raises CarryingFault for an instance with keys that cannot be
    carried out.
    """
    require_known(problem)
    before = problem.network
    by_bytes = rates.link / before.remote_bytes_per_second * factor
    interface = before.replica_bytes_per_second * by_bytes / factor
    network = before.model_copy(
        update={
            "remote_bytes_per_second": rates.link,
            "replica_bytes_per_second": min(interface, rates.interface),
        }
    )
    files = []
    for file in problem.files:
        size = round(file.bytes * by_bytes)
        files.append(file.model_copy(update={"bytes": size}))
    nodes = []
    for node in problem.nodes:
        disk = node.disk_bytes
        if disk is not None:
            disk = round(disk * by_bytes) + len(files)
        nodes.append(node.model_copy(update={"disk_bytes": disk}))
    tasks = []
    for task in problem.tasks:
        times = {
            "compute_seconds": task.compute_seconds * factor,
            "release_seconds": task.release_seconds * factor,
            "overhead_seconds": task.overhead_seconds * factor,
        }
        tasks.append(task.model_copy(update=times))
    return ReplicationProblem(
        name=problem.name,
        network=network,
        storages=problem.storages,
        nodes=tuple(nodes),
        files=tuple(files),
        tasks=tuple(tasks),
    )


def reason_against(problem: ReplicationProblem) -> str | None:
    """Return why the emulated network cannot carry *problem*; None if it can."""
    if problem.network.remote_link != "shared":
        return "it has private links"
    if any(storage.bytes_per_second for storage in problem.storages):
        return "its storages have rates of their own"
    return None
