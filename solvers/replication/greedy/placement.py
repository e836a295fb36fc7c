"""Tasks placed one after another by the bytes they bring and the load they make (ours)."""

from functools import partial

from ioopt.models.replication.bounds import area
from ioopt.models.replication.static import StaticInstance


def placed_by_disk(instance: StaticInstance) -> tuple[list[int], int]:
    """Node of every task, and the largest load.

    Tasks with most work first, each where its files fit and on nodes below the average load, then where it
    brings the fewest bytes. A new file weighs as if it were fetched once.
    """
    sizes, nodes, ceiling = instance.sizes, range(instance.num_nodes), area(instance)
    disks = [node.disk_bytes for node in instance.problem.nodes]
    files = [set(held) for held in instance.held]
    stored = [sum(sizes[file] for file in held) for held in files]
    load = [0] * len(nodes)
    where = [0] * len(instance.problem.tasks)

    def brought(k: int, i: int) -> int:
        return sum(sizes[file] for file in set(instance.classes[k].inputs) - files[i])

    def rank(k: int, i: int) -> tuple[int, ...]:
        disk, room, new = disks[i], instance.room[i], brought(k, i)
        able = disk is None or sum(sizes[f] for f in instance.classes[k].inputs) <= disk
        fits = able and (room is None or stored[i] + new <= room)
        slowed = load[i] + instance.work[k][i] - instance.least_work[k]
        return not able, not fits, slowed > ceiling, new, slowed, i

    for k in sorted(range(len(instance.classes)), key=lambda k: (-sum(instance.work[k]), k)):
        group, chosen = instance.classes[k], []
        for _ in group.tasks:
            node = min(nodes, key=partial(rank, k))
            stored[node] += brought(k, node)
            for file in set(group.inputs) - files[node]:
                known = any(file in held for held in files)
                load[node] += (instance.near if known else instance.far)[file]
                files[node].add(file)
            load[node] += instance.work[k][node]
            chosen.append(node)
        for task, node in zip(group.tasks, sorted(chosen), strict=True):
            where[task] = node
    return where, max(load)
