"""Proofs by enumeration, against exhaustive search and by hand."""

from fractions import Fraction

import pytest
from conftest import both_makers, first
from oracle.replication_exhaustive import optimum
from replication_samples import tiny

from ioopt.checking import check
from ioopt.compiled.memory import Maker
from ioopt.models.replication.file_options import file_options
from ioopt.models.replication.static import fits, loads, reduce, to_plan
from ioopt.options import Deadline
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.replication.exact import enumeration
from ioopt.solvers.replication.exact.enumeration import Enumeration

VARIANTS = [("acyclic", True), ("printed", True), ("acyclic", False)]


def _loads(*arguments) -> list[tuple[int, ...]]:
    return sorted(option.loads for option in file_options(*arguments))


def test_options_of_a_file_by_hand() -> None:
    """Fetch 10, copy end 1, read on nodes 0 and 1 of three.

    Fetched by 0 and sent to 1: 11 and 1; the other way round; by both: 10 and 10; by
    node 2, which sends two copies (12, and 1 each) or one that is passed on (11, 2
    where it passes, 1).
    """
    both = frozenset({0, 1})
    acyclic = [(1, 1, 12), (1, 2, 11), (1, 11, 0), (2, 1, 11), (10, 10, 0), (11, 1, 0)]
    assert _loads(3, 10, 1, both, "acyclic", True) == acyclic
    # In a printed circle 0 and 1 send to each other and node 2 only fetches.
    assert _loads(3, 10, 1, both, "printed", True) == sorted([*acyclic, (2, 2, 10)])
    assert _loads(3, 10, 1, both, "acyclic", False) == [(10, 10, 0)]


def _exact(
    problem: ReplicationProblem, *variant, make: Maker | None = None
) -> tuple[int | None, int]:
    """The least load that the search finds (None: no plan), and the
    bound that it proves.
    """
    instance = reduce(problem)
    best: list[int] = []

    def found(moves) -> None:
        best.append(max(loads(instance, moves)))
        assert fits(instance, moves)
        assert not check(problem, to_plan(instance, moves, variant[0] == "printed"))
        assert not best[1:] or best[-1] < best[-2]

    search = Enumeration(instance, *variant, Deadline(None), make=make)
    bound = search.advance(
        1 << 40, lambda: False, lambda: best[-1] - 1 if best else 1 << 60, found
    )
    assert bound is not None
    return (best[-1] if best else None), bound


def _limited(problem: ReplicationProblem, room: int | None) -> ReplicationProblem:
    nodes = tuple(
        node.model_copy(update={"disk_bytes": room}) for node in problem.nodes
    )
    return problem.model_copy(update={"nodes": nodes})


@pytest.mark.parametrize("seed", first(2, range(6)))
def test_enumeration_equals_exhaustive_search(seed: int) -> None:
    room = [None, 120, 80][seed % 3]
    problem = _limited(tiny(seed, nodes=2 + seed % 2, tasks=4), room)
    if not all(problem.hosts):
        problem = _limited(problem, max(problem.task_bytes(k) for k in range(4)))
    instance = reduce(problem)
    assert enumeration.applies(instance) and instance.exact
    for cycles, replication in VARIANTS:
        both = [_exact(problem, cycles, replication, make=m) for m in both_makers()]
        (best, bound), compiled = both
        assert compiled == (best, bound)
        true = optimum(problem, cycles, replication)
        assert (best is None) == (true is None)
        if best is not None:
            assert best == bound
            assert Fraction(best) * instance.unit == true


def test_enumeration_gives_up_after_so_many_nodes() -> None:
    instance = reduce(tiny(1, tasks=4))
    args = (lambda: False, lambda: 1 << 60, lambda moves: pytest.fail("found"))
    search = Enumeration(instance, "acyclic", True, Deadline(None))
    assert search.advance(2, *args) is None and search.state.visited == 2


def test_where_enumeration_applies() -> None:
    assert enumeration.applies(reduce(tiny(1, tasks=4)))
    assert not enumeration.applies(reduce(tiny(1, tasks=enumeration.MOST_TASKS + 1)))
    assert not enumeration.applies(reduce(tiny(1, nodes=enumeration.MOST_NODES + 1)))
    plain = tiny(1)
    for odd in ({"speed": 2.0}, {"holds": ("f0",)}):
        nodes = (plain.nodes[0].model_copy(update=odd), *plain.nodes[1:])
        assert not enumeration.applies(
            reduce(plain.model_copy(update={"nodes": nodes}))
        )
