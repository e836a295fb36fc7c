"""The bound of what shared files cost a node: by hand, for any plan, in a search."""

import random

import pytest
from conftest import first
from replication_exhaustive import optimum
from replication_samples import tiny

import ioopt
from ioopt.generate.replication.generate import generate
from ioopt.models.replication.bounds import NodeCut, area
from ioopt.models.replication.static import Moves, reduce
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.replication.exact.ip import Settings
from ioopt.solvers.replication.exact.ip_search import Search

LIMITS = BackendLimits(seconds=10.0)
ENOUGH = 1e6
"""A cut, in units, that no node of these instances exceeds."""


def least_objective(cut: NodeCut) -> int:
    """The least objective of a node."""
    cut.ask(ENOUGH)
    answer = solve_by_cpsat(cut.program, LIMITS)
    assert answer.status is Status.OPTIMAL and answer.objective is not None
    return round(answer.objective)


@pytest.mark.parametrize(
    ("replication", "upper", "price"), [(True, 1296, 16), (False, 1700, 640)]
)
def test_one_file_that_all_nodes_read(
    replication: bool, upper: int, price: int
) -> None:
    """A file is fetched in 5.12 s (1,280 units) and copied in .064 s (16 units); six
    tasks take 1.5 s each (375 units).

    No node may be without a task, as the two others could not do all. So each pays the
    price: an end of a copy, or without copies half of a second fetch.
    """
    cut = NodeCut(reduce(ioopt.load("cycle3")), upper, replication)
    assert (cut.total, cut.price) == (1280 + 6 * 375, [price])
    least = least_objective(cut)
    assert least == price * cut.SCALE
    assert cut.least_load(least) == -(-(3530 + 3 * price) // 3)
    most = cut.ask(price - 1)
    assert most == (price - 1) * cut.SCALE
    assert solve_by_cpsat(cut.program, LIMITS).status is Status.INFEASIBLE


def test_below_the_area_there_is_no_node() -> None:
    """Three nodes of 1,176 units each cannot do 3,530 units of work."""
    cut = NodeCut(reduce(ioopt.load("cycle3")), 1176)
    cut.ask(ENOUGH)
    assert solve_by_cpsat(cut.program, LIMITS).status is Status.INFEASIBLE


def test_multipliers_give_all_nodes_of_a_plan_the_same_objective() -> None:
    """n0 shares one file with n1 and one with n2: the cuts are 2, 1 and 1 prices.

    The mean is 4/3 prices. The two tasks of n0 take off 1/3 each; the only tasks of n1
    and n2 add 1/3.
    """
    size = 64_000_000
    problem = ioopt.load(
        {
            "format": "ioopt/replication",
            "version": 1,
            "network": {
                "remote_bytes_per_second": 12_500_000,
                "replica_bytes_per_second": 1_000_000_000,
            },
            "nodes": [{"id": node} for node in ("n0", "n1", "n2")],
            "files": [{"id": "x", "bytes": size}, {"id": "y", "bytes": size}],
            "tasks": [
                {"id": "a", "compute_seconds": 1.5, "inputs": ["x"]},
                {"id": "b", "compute_seconds": 2.0, "inputs": ["y"]},
                {"id": "c", "compute_seconds": 2.5, "inputs": ["x"]},
                {"id": "d", "compute_seconds": 3.0, "inputs": ["y"]},
            ],
        }
    )
    cut = NodeCut(reduce(problem), 10_000)
    moves = Moves((0, 0, 1, 2), ((0, 0), (1, 0)), ((0, 0, 1), (1, 0, 2)))
    price = cut.price[0]
    assert cut.cuts(moves) == [2 * price, price, price]
    cut.even_out(moves)
    third = price * cut.SCALE / 3
    assert cut.multipliers == [round(third), round(third), -round(third), -round(third)]


@pytest.mark.parametrize("seed", first(3, range(24)))
@pytest.mark.parametrize("replication", [True, False])
def test_stays_below_the_optimum_with_any_multipliers(
    seed: int, replication: bool
) -> None:
    problem = tiny(seed, nodes=2 + seed % 2, tasks=4 - seed % 2, extras=seed % 3 == 2)
    instance = reduce(problem)
    true = optimum(problem, "acyclic", replication)
    if true is None:
        return
    draw = random.Random(seed)
    cut = NodeCut(instance, int(true / instance.unit), replication)
    for turn in range(4):
        if turn:
            size = cut.SCALE * max([1, *cut.price])
            cut.multipliers = [draw.randint(-size, size) for _ in cut.multipliers]
        bound = cut.least_load(least_objective(cut))
        assert bound * instance.unit <= true
        if not turn:
            assert bound >= area(instance)


def image(tasks: int, nodes: int) -> ReplicationProblem:
    """A batch of the preset image-85 on nodes with unlimited disks."""
    settings = {"disk": "unlimited", "tasks": tasks, "nodes": nodes}
    return generate("image-85", settings, 1)


def test_a_step_makes_a_cheap_node_dearer() -> None:
    instance = reduce(image(8, 2))
    cut = NodeCut(instance, int(1.02 * area(instance)))
    cut.ask(ENOUGH)
    answer = solve_by_cpsat(cut.program, LIMITS)
    before = cut.program.value(answer.values)
    cut.avoid(answer.values, 100.0)
    cut.ask(ENOUGH)
    assert cut.program.value(answer.values) > before


def test_a_search_raises_its_bound_and_keeps_it_below_the_optimum() -> None:
    problem = image(8, 2)
    known = ioopt.solve(problem, "ip", measure="additive_seconds")
    assert known.status.value == "optimal" and known.objective is not None
    instance = reduce(problem)
    request = SolveRequest[Settings, ReplicationPlan](
        SolveOptions(None), Deadline(None)
    )
    search = Search(instance, request, "acyclic", True)
    search.quick_bounds()
    weak = search.bound
    search.anneal(0.1, 1)
    search.node_cut(5.0)
    assert weak < search.bound <= known.objective / float(instance.unit) + 1e-6
    assert search.common == search.bound
