"""Properties of the exact replication solvers on random small instances."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replication_samples import fits_somewhere, tiny

from ioopt.checking import check
from ioopt.models.replication import bounds
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Status
from ioopt.solving import solve

SEEDS = st.integers(0, 10_000)
FEW = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def optimum(problem: ReplicationProblem, solver: str = "ip") -> float | None:
    """The proven optimum of one round, None when one round cannot hold the batch."""
    result = solve(problem, solver, time_limit=5)
    if result.status is Status.INFEASIBLE:
        return None
    proven = result.metrics.get("one_round_bound_seconds", result.bound)
    assert result.objective is not None and proven >= result.objective * (1 - 1e-9)
    assert check(problem, result) == []
    assert bounds.quick(problem) <= result.bound <= result.objective * (1 + 1e-12)
    return result.objective


def with_nodes(problem: ReplicationProblem, **update: object) -> ReplicationProblem:
    nodes = tuple(node.model_copy(update=update) for node in problem.nodes)
    return problem.model_copy(update={"nodes": nodes})


def test_more_disk_never_hurts_and_copies_never_do() -> None:
    solved = []

    @FEW
    @given(SEEDS)
    def holds(seed: int) -> None:
        problem = tiny(seed, tasks=4, files=4, extras=True)
        if not fits_somewhere(problem):
            return
        limited, free = optimum(problem), optimum(with_nodes(problem, disk_bytes=None))
        assert free is not None
        assert limited is None or free <= limited + 1e-9
        alone = optimum(with_nodes(problem, disk_bytes=None), "ip-no-replication")
        assert alone is not None and free <= alone + 1e-9
        solved.append(seed)

    holds()
    assert len(solved) >= 3


def test_names_and_order_of_items_change_nothing() -> None:
    solved = []

    @FEW
    @given(SEEDS)
    def holds(seed: int) -> None:
        problem = tiny(seed, nodes=3, tasks=4)
        data = problem.model_dump(mode="json")
        turned = ReplicationProblem.model_validate(
            data
            | {
                "tasks": [
                    t | {"id": f"job {t['id']}", "inputs": t["inputs"][::-1]}
                    for t in data["tasks"][::-1]
                ],
                "files": data["files"][::-1],
                "nodes": data["nodes"][::-1],
            }
        )
        first, second = optimum(problem), optimum(turned)
        assert first is not None and second is not None
        assert abs(first - second) <= 1e-9 * max(1.0, first)
        solved.append(first)

    holds()
    assert any(value > 0 for value in solved)
