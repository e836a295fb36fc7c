"""Proof by how the heavy files are spread (ours), for batches in which a task reads one file (PPA)."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ioopt.models.replication.static import StaticInstance
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.replication.exact.enumeration import equal_nodes
from ioopt.solvers.replication.exact.ip_search import PROOF, Search

MOST_HEAVY, MOST_SPREADS = 8, 1_500


def heavy_classes(instance: StaticInstance) -> list[int]:
    """Classes that read the files with the longest fetch; empty where the proof does not apply."""
    longest = max(instance.far, default=0)
    files = [file for file, far in enumerate(instance.far) if far == longest]
    if not equal_nodes(instance) or not 0 < len(files) < min(len(instance.far), MOST_HEAVY + 1):
        return []
    readers = [instance.readers[file] for file in files]
    if any(len(some) != 1 or len(instance.classes[some[0]].inputs) != 1 for some in readers):
        return []
    return [some[0] for some in readers]


def spreads(
    instance: StaticInstance, heavy: list[int], replication: bool, upper: int
) -> list[tuple[int, ...]]:
    """Masks of nodes for the *heavy* classes that leave the sum of loads within *upper* a node.

    Nodes are alike, so those not used before are taken in order. Fewest copies first. Every further
    node of a class costs both ends of a copy or another fetch. More than MOST_SPREADS are
    not listed: one too many says so.
    """
    file = instance.classes[heavy[0]].inputs[0]
    far = instance.far[file]
    near = 2 * min(instance.near[instance.classes[k].inputs[0]] for k in heavy)
    price = min(far, near) if replication else far
    work = sum(group.count * instance.least_work[k] for k, group in enumerate(instance.classes))
    spare = instance.num_nodes * upper - work - sum(instance.far)
    counts = [instance.classes[k].count for k in heavy]
    ways = _masks(counts, instance.num_nodes, 0, max(price, 1), spare)
    found = list(islice(ways, MOST_SPREADS + 1))
    return sorted(found, key=lambda masks: (sum(mask.bit_count() for mask in masks), masks))


def _masks(
    counts: list[int], nodes: int, used: int, price: int, spare: int
) -> Iterator[tuple[int, ...]]:
    """Masks for the classes of *counts* when *used* nodes are taken and *spare* load may be spent."""
    if spare < 0:
        return
    if not counts:
        yield ()
        return
    for mask in range(1, 1 << nodes):
        fresh, spread = mask >> used, mask.bit_count()
        if fresh & (fresh + 1) or spread > counts[0]:
            continue
        rest = spare - (spread - 1) * price
        for tail in _masks(counts[1:], nodes, used + fresh.bit_count(), price, rest):
            yield (mask, *tail)


def try_spreads(search: Search) -> None:
    """Go through the ways to spread heavy files, where those alone decide (PPA)."""
    heavy = heavy_classes(search.instance)
    if not heavy or search.moves is None or search.over():
        return
    ways = spreads(search.instance, heavy, search.replication, search.load - 1)
    if len(ways) > MOST_SPREADS:
        return
    for masks in ways:
        model = search.model(search.load - 1)
        model.hold_to(dict(zip(heavy, masks, strict=True)))
        limits = replace(BackendLimits.of(search.request), gap=None)
        answer = solve_by_cpsat(model.program, limits, parameters=PROOF)
        if answer.found:
            search.offer(model.moves(answer.values))
        if answer.status not in (Status.OPTIMAL, Status.INFEASIBLE) or search.over():
            return
    search.raise_bound(search.load)
