"""Solve tiny static replication problems by enumeration, written from the paper alone.

Every assignment of tasks is tried. For every file, each way to bring it to nodes is
kept if it satisfies equations (1)-(8) as the variant requires; a node fetches the file,
copies it from another node, or does without it. The ways of all files are combined.
Combinations are dropped if another one is no worse on every load and every disk. No
code is shared with the models or solvers.
"""

from fractions import Fraction
from itertools import product

from ioopt.problems.replication import ReplicationProblem

Vector = tuple[Fraction, ...]


def optimum(
    problem: ReplicationProblem, cycles: str = "acyclic", replication: bool = True
) -> Fraction | None:
    """Return the least batch time (13) in seconds; None if no plan satisfies (21)."""
    nodes = range(len(problem.nodes))
    best: Fraction | None = None
    for assign in product(nodes, repeat=len(problem.tasks)):
        base = [Fraction(0)] * len(problem.nodes)
        for task, node in enumerate(assign):
            seconds = Fraction(str(problem.tasks[task].compute_seconds))
            base[node] += seconds / Fraction(str(problem.nodes[node].speed))
        dead = [
            Fraction(
                sum(problem.files[f].bytes for f in held if not problem.readers[f])
            )
            for held in problem.holds
        ]
        front: set[Vector] = {(*base, *dead)}
        for file, readers in enumerate(problem.readers):
            if readers:
                ways = _ways(
                    problem, file, {assign[k] for k in readers}, cycles, replication
                )
                sums = {tuple(a + b for a, b in zip(x, y)) for x in front for y in ways}
                front = _pareto(problem, sums)
        for vector in front:
            span = max(vector[: len(problem.nodes)])
            best = span if best is None else min(best, span)
    return best


def _ways(
    problem: ReplicationProblem,
    file: int,
    reading: set[int],
    cycles: str,
    replication: bool,
) -> set[Vector]:
    """Return the loads and stored bytes of all nodes for every valid way to place one
    file.
    """
    count = len(problem.nodes)
    size = Fraction(problem.files[file].bytes)
    far = size / Fraction(str(problem.network.remote_bytes_per_second))
    near = size / Fraction(str(problem.network.replica_bytes_per_second))
    held = [file in holds for holds in problem.holds]
    choices = []
    for node in range(count):
        if held[node]:
            choices.append(["held"])
            continue
        ways: list = [None, "fetch"]
        if replication and node in reading:  # (2)
            ways += [other for other in range(count) if other != node]
        choices.append(ways)
    found = set()
    for way in product(*choices):
        has = {node for node, how in enumerate(way) if how is not None}
        sources = {node: how for node, how in enumerate(way) if isinstance(how, int)}
        if not reading <= has or not set(sources.values()) <= has:  # (7), (1)
            continue
        if "fetch" not in way and not any(held):  # (8)
            continue
        if cycles == "acyclic" and not _rooted(sources, has):
            continue
        load = [Fraction(0)] * (2 * count)
        for node, how in enumerate(way):
            load[count + node] = size if node in has else Fraction(0)
            if how == "fetch":
                load[node] += far
            elif isinstance(how, int):
                load[node] += near
                load[how] += near
        found.add(tuple(load))
    return found


def _rooted(sources: dict[int, int], has: set[int]) -> bool:
    for node in sources:
        seen = set()
        while node in sources:
            if node in seen:
                return False
            seen.add(node)
            node = sources[node]
    return True


def _pareto(problem: ReplicationProblem, vectors: set[Vector]) -> set[Vector]:
    count = len(problem.nodes)
    kept: list[Vector] = []
    for vector in sorted(vectors, key=sum):
        disks = zip(problem.nodes, vector[count:])
        if any(n.disk_bytes is not None and used > n.disk_bytes for n, used in disks):
            continue
        if not any(all(a <= b for a, b in zip(other, vector)) for other in kept):
            kept.append(vector)
    return set(kept)
