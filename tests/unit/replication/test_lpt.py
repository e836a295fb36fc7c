"""LPT on file groups: hand-sized cases, the PPA figures, refusals."""

from __future__ import annotations

import pytest

import ioopt
from ioopt.errors import NotApplicableError
from ioopt.generate.replication.generate import generate
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Status


def make(files, tasks, nodes) -> ReplicationProblem:
    """80 ms/MB remote, 1 ms/MB a copy; *files* in MB, *tasks* as (seconds, file or None)."""
    return ReplicationProblem.model_validate(
        {
            "network": {"remote_bytes_per_second": 12.5e6, "replica_bytes_per_second": 1e9},
            "nodes": [{"id": f"n{i}", **node} for i, node in enumerate(nodes)],
            "files": [{"id": f"f{f}", "bytes": size * 10**6} for f, size in enumerate(files)],
            "tasks": [
                {"id": f"t{k}", "compute_seconds": float(seconds),
                 "inputs": [] if file is None else [f"f{file}"]}
                for k, (seconds, file) in enumerate(tasks)
            ],
        }
    )  # fmt: skip


def _solve(problem):
    result = ioopt.solve(problem, "lpt", time_limit=10)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL), (result.notes, result.violations)
    return result


def test_groups_go_longest_first():
    # 50 MB take 4 s, 25 MB take 2 s. 4 + 1, 2 + 1, 2 + 1: the long one alone is 5, the short two 6.
    result = _solve(make([50, 25, 25], [(1, 0), (1, 1), (1, 2)], [{}, {}]))
    assert result.objective == pytest.approx(6.0)


def test_a_group_is_split_where_its_copy_pays():
    # One file of 100 MB, two tasks of 5 s: fetch 8 s; both on the other node: 0.1 + 10 = 10.1.
    result = _solve(make([100], [(5, 0), (5, 0)], [{}, {}]))
    assert result.objective == pytest.approx(10.1)
    assert len(result.plan["remote"]) == 1 and len(result.plan["copies"]) == 1


def test_held_files_speeds_and_tasks_without_files():
    # n1 holds f0 and is twice as fast: 4 s / 2 there; the task without a file computes on n0.
    problem = make([50], [(4, 0), (1.5, None)], [{}, {"holds": ["f0"], "speed": 2.0}])
    result = _solve(problem)
    assert result.objective == pytest.approx(2.0)
    assert result.plan["assign"] == {"t0": "n1", "t1": "n0"}
    assert result.plan["remote"] == []


def test_small_disks_are_passed_over_and_served_one_file_at_a_time():
    problem = make([64, 64, 64], [(1, 0), (1, 1), (1, 2)], [{"disk_bytes": 64_000_000},
                                                           {"disk_bytes": 10_000_000}])  # fmt: skip
    result = _solve(problem)
    assert set(result.plan["assign"].values()) == {"n0"}
    assert result.plan["moves"] == "replay"
    assert result.objective == pytest.approx(3 * 5.12 + 3)


def test_tasks_of_several_files_are_refused():
    problem = make([10, 10], [(1, 0)], [{}])
    both = problem.tasks[0].model_copy(update={"inputs": ("f0", "f1")})
    with pytest.raises(NotApplicableError, match="'t0' reads 2"):
        ioopt.solve(
            ReplicationProblem.model_validate(problem.model_dump() | {"tasks": [both]}), "lpt"
        )


@pytest.mark.parametrize(("nodes", "most"), [(8, 0.001), (32, 0.008)])
@pytest.mark.parametrize("seed", range(3))
def test_ppa_2000_is_close_to_its_bound(nodes, most, seed):
    problem = generate("ppa-2000", {"nodes": nodes, "disk": "unlimited"}, seed)
    result = _solve(problem)
    assert result.gap is not None and result.gap <= most
