"""Proofs by enumeration and by spreading heavy files, against exhaustive search and by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from conftest import ENGINES, first
from oracle.replication_exhaustive import optimum
from replication_samples import fits_somewhere, made, tiny

from ioopt.checking import check
from ioopt.models.replication.file_options import file_options
from ioopt.models.replication.static import fits, loads, reduce, to_plan
from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.replication.exact import enumeration
from ioopt.solvers.replication.exact import enumeration_kernel as kernel
from ioopt.solvers.replication.exact import ip_search as splits
from ioopt.solvers.replication.exact.enumeration import Enumeration
from ioopt.solving import solve

VARIANTS = [("acyclic", True), ("printed", True), ("acyclic", False)]


def _loads(*arguments) -> list[tuple[int, ...]]:
    return sorted(option.loads for option in file_options(*arguments))


def test_options_of_a_file_by_hand() -> None:
    """Fetch 10, copy end 1, read on nodes 0 and 1 of three.

    Fetched by 0 and sent to 1: 11 and 1; the other way round; by both: 10 and 10; by node 2, which
    sends two copies (12, and 1 each) or one that is passed on (11, 2 where it passes, 1).
    """
    both = frozenset({0, 1})
    acyclic = [(1, 1, 12), (1, 2, 11), (1, 11, 0), (2, 1, 11), (10, 10, 0), (11, 1, 0)]
    assert _loads(3, 10, 1, both, "acyclic", True) == acyclic
    # In a printed circle 0 and 1 send to each other and node 2 only fetches.
    assert _loads(3, 10, 1, both, "printed", True) == sorted([*acyclic, (2, 2, 10)])
    assert _loads(3, 10, 1, both, "acyclic", False) == [(10, 10, 0)]


def _exact(problem: ReplicationProblem, *variant, fast: bool = False) -> tuple[int | None, int]:
    """The least load that the search finds (None: no plan), and the bound that it proves."""
    instance = reduce(problem)
    best: list[int] = []

    def found(moves) -> None:
        best.append(max(loads(instance, moves)))
        assert fits(instance, moves)
        assert not check(problem, to_plan(instance, moves, variant[0] == "printed"))
        assert not best[1:] or best[-1] < best[-2]

    search = Enumeration(instance, *variant, Deadline(None), fast)
    bound = search.advance(1 << 40, lambda: False, lambda: best[-1] - 1 if best else 1 << 60, found)
    assert bound is not None
    return (best[-1] if best else None), bound


def _limited(problem: ReplicationProblem, room: int | None) -> ReplicationProblem:
    nodes = tuple(node.model_copy(update={"disk_bytes": room}) for node in problem.nodes)
    return problem.model_copy(update={"nodes": nodes})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", first(2, range(6)))
def test_enumeration_equals_exhaustive_search(seed: int, engine: str) -> None:
    room = [None, 120, 80][seed % 3]
    problem = _limited(tiny(seed, nodes=2 + seed % 2, tasks=4), room)
    if not fits_somewhere(problem):
        problem = _limited(problem, max(problem.task_bytes(k) for k in range(4)))
    instance = reduce(problem)
    assert enumeration.applies(instance) and instance.exact
    for cycles, replication in VARIANTS:
        best, bound = _exact(problem, cycles, replication, fast=engine == "compiled")
        true = optimum(problem, cycles, replication)
        assert (best is None) == (true is None)
        if best is not None:
            assert best == bound
            assert Fraction(best) * instance.unit == true


def test_enumeration_gives_up_after_so_many_nodes() -> None:
    instance = reduce(tiny(1, tasks=4))
    args = (lambda: False, lambda: 1 << 60, lambda moves: pytest.fail("found"))
    search = Enumeration(instance, "acyclic", True, Deadline(None))
    assert search.advance(2, *args) is None and search.state.numbers[kernel.NODES] == 2


def test_where_enumeration_applies() -> None:
    assert enumeration.applies(reduce(tiny(1, tasks=4)))
    assert not enumeration.applies(reduce(tiny(1, tasks=enumeration.MOST_TASKS + 1)))
    assert not enumeration.applies(reduce(tiny(1, nodes=enumeration.MOST_NODES + 1)))
    fast = tiny(1)
    nodes = (fast.nodes[0].model_copy(update={"speed": 2.0}), *fast.nodes[1:])
    assert not enumeration.applies(reduce(fast.model_copy(update={"nodes": nodes})))
    held = (fast.nodes[0].model_copy(update={"holds": ("f0",)}), *fast.nodes[1:])
    assert not enumeration.applies(reduce(fast.model_copy(update={"nodes": held})))


def _events(counts: list[int], sizes: list[int], nodes: int, compute: float) -> ReplicationProblem:
    """counts[k] tasks that read file k of sizes[k] bytes and nothing else."""
    tasks = {f"t{k}.{m}": (compute, [f"f{k}"]) for k, n in enumerate(counts) for m in range(n)}
    return made(nodes, {f"f{k}": size for k, size in enumerate(sizes)}, tasks, 1, 20)


def test_spreads_by_hand() -> None:
    """Two heavy files (40) with 3 and 1 tasks, a light one (5): in all 85 + 5 of compute, two nodes.

    Within 46 a node 92 - 90 = 2 are left, half of both ends of a copy (2 + 2): each file on one
    node, alike for both or not. Within 47, 4 are left, and the first may be on both nodes.
    """
    problem = _events([3, 1, 1], [40, 40, 5], 2, 1.0)
    instance = reduce(problem)
    heavy = splits.heavy_classes(instance)
    assert [instance.classes[k].count for k in heavy] == [3, 1]
    units = round(1 / instance.unit)
    assert splits.spreads(instance, heavy, True, 46 * units) == [(1, 1), (1, 2)]
    assert splits.spreads(instance, heavy, True, 47 * units) == [(1, 1), (1, 2), (3, 1), (3, 2)]
    assert splits.spreads(instance, heavy, False, 47 * units) == [(1, 1), (1, 2)]


@pytest.mark.parametrize("nodes", first(1, [2, 3]))
@pytest.mark.parametrize("variant", range(3))
def test_spreading_proves_what_exhaustive_search_finds(nodes: int, variant: int) -> None:
    cycles, replication = VARIANTS[variant]
    problem = _events([3, 1, 1], [20, 20, 5], nodes, 3.0)
    assert splits.heavy_classes(reduce(problem))
    settings = {"cycles": cycles, "replication": str(replication).lower()}
    result = solve(problem, "ip", settings=settings, time_limit=30)
    assert result.status == "optimal" and check(problem, result) == []
    true = optimum(problem, cycles, replication)
    assert true is not None
    assert result.objective == pytest.approx(float(true), abs=1e-9)
