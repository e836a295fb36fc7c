"""Bounds of additive time hold for plans that the static model leaves out:
evictions and relays.
"""

from replication_samples import made

import ioopt
from ioopt.models.replication.static import Moves, past_relays, reduce
from ioopt.problems.replication import ReplicationProblem


def held() -> ReplicationProblem:
    """A task of 2.5 s reads f, 8 s over the link and 1 s at both ends of a copy.

    Beside what n0 holds f does not fit: n1 fetches and computes, 10.5 s. If n0
    lets it go, n1 fetches and sends in 9 s while n0 takes 1 + 2.5 s, and
    nobody fetches in less.
    """
    disks = [{"disk_bytes": 9, "holds": ["old"]}, {"disk_bytes": 9}]
    return made(disks, {"f": 8, "old": 3}, {"t": (2.5, "f")}, 1, 8)


def test_the_bound_is_one_of_plans_that_evict_held_files() -> None:
    result = ioopt.solve(held(), "ip")
    assert (result.objective, result.bound, result.status) == (10.5, 9.0, "feasible")
    assert result.metrics["one_round_bound_seconds"] == 10.5
    assert "no plan of one round that evicts nothing" in result.notes[0]
    better = ioopt.solve(held(), "two-stage")
    assert (better.objective, better.violations) == (9.0, ())


def test_the_bound_of_the_printed_model_is_no_more_than_that() -> None:
    result = ioopt.solve(held(), "ip-printed")
    assert (result.objective, result.status) == (10.5, "feasible")
    assert result.bound is not None and result.bound <= 9.0


def test_held_files_that_leave_room_for_all_cost_no_proof() -> None:
    """With a disk of 11 bytes n0 holds both, and the 9 s are those of
    a plan of one round.
    """
    problem = held()
    roomy = problem.nodes[0].model_copy(update={"disk_bytes": 11})
    problem = problem.model_copy(update={"nodes": (roomy, problem.nodes[1])})
    for name in ("ip", "ip-printed"):
        result = ioopt.solve(problem, name)
        assert (result.objective, result.status) == (9.0, "optimal")


def relay() -> ReplicationProblem:
    """f takes 8 s over the link, 1 s at both ends of a copy; a, b, c read it, d
    has 9.5 s of computing.

    Each task has a node. With b and c at 12.5 + 1 s, a's node fetches in 8 + 5 s and
    has 1 s left to send once: to b, which sends on and ends at 14.5 s, or to d, which
    does not read f, takes 1 s and sends twice, and ends at 12.5 s, a at 14 s.
    """
    tasks = {"a": (5, "f"), "b": (12.5, "f"), "c": (12.5, "f"), "d": (9.5,)}
    return made(4, {"f": 8}, tasks, 1, 8)


def test_the_bound_is_one_of_plans_that_relay() -> None:
    problem = relay()
    result = ioopt.solve(problem, "ip")
    assert (result.objective, result.bound, result.status) == (14.5, 14.0, "feasible")
    assert result.metrics["one_round_bound_seconds"] == 14.5
    plan = {
        "assign": {"a": "n0", "b": "n1", "c": "n2", "d": "n3"},
        "order": {"n0": ["a"], "n1": ["b"], "n2": ["c"], "n3": [{"copy": "f"}, "d"]},
        "remote": [["f", "n0"]],
        "copies": [["f", "n0", "n3"], ["f", "n3", "n1"], ["f", "n3", "n2"]],
    }
    found = {
        "format": "ioopt/result",
        "instance": problem.name,
        "family": "replication",
        "solver": "my:own",
        "status": "feasible",
        "stop": "finished",
        "plan": plan,
    }
    assert ioopt.check(problem, {**found, "objective": 14.0}) == []
    assert ioopt.check(problem, {**found, "objective": 13.9}) != []
    printed = ioopt.solve(problem, "ip-printed", settings={"cycles": "acyclic"})
    assert printed.objective == 14.5 and "only to nodes that read them" in " ".join(
        printed.notes
    )


def test_senders_send_past_relays() -> None:
    """n0 sends to n3, that to n1 and n2; n0 is to send to both."""
    moves = Moves((0, 1, 2, 3), ((0, 0),), ((0, 0, 3), (0, 3, 1), (0, 3, 2)))
    direct = past_relays(reduce(relay()), moves)
    assert direct == Moves((0, 1, 2, 3), ((0, 0),), ((0, 0, 1), (0, 0, 2)))
