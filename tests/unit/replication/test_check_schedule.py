"""The schedule part of the replication checker: one good timeline and
each way to spoil it.

Files a, b of 10 B, remote 10 B/s (1 s each on the shared link), copies 100 B/s (0.1 s).
n0 runs t0 (reads a) then t1 (reads b); n1 runs t2 (reads a). Disks hold one file. a
reaches n0 at 1 s, n1 copies it (1 to 1.1 s), t0 computes 1 to 2 s, a is evicted at 2 s,
b arrives at 3 s, t1 to 4 s.
"""

import copy

import pytest
from replication_samples import document, made, moved, ran

from ioopt.checks.replication.check import check
from ioopt.problems.replication import ReplicationProblem

PROBLEM = made(
    [{"disk_bytes": 10}] * 2,
    {"a": 10, "b": 10},
    {"t0": (1, "a"), "t1": (1, "b"), "t2": (2, "a")},
)
PLAN = {"order": {"n0": ["t0", "t1"], "n1": ["t2"]}}


GOOD = {
    "tasks": [ran("t0", "n0", 1, 2), ran("t1", "n0", 3, 4), ran("t2", "n1", 1.1, 3.1)],
    "transfers": [
        moved("a", None, "n0", 0, 1),
        moved("a", "n0", "n1", 1, 1.1),
        moved("b", None, "n0", 2, 3),
    ],
    "evictions": [{"file": "a", "node": "n0", "seconds": 2.0}],
}


def test_good_schedule() -> None:
    report = check(PROBLEM, PLAN, GOOD)
    assert report.violations == ()
    assert report.objectives["makespan_seconds"] == 4.0
    # The plan states no moves: (13) of what the replay moved. n0: 20/10 + 10/100 + 2 s.
    assert report.objectives["additive_seconds"] == pytest.approx(4.1)


SPOILED = [
    # (rules, part, row, new values; None removes the row)
    (["duration"], "tasks", 2, {"end_seconds": 3.5}),
    (["schedule"], "tasks", 2, None),
    (["staging"], "tasks", 2, {"start_seconds": 1.0, "end_seconds": 3.0}),
    # On n0, t2 is out of place and lacks its evicted input.
    (
        ["order", "staging"],
        "tasks",
        2,
        {"node": "n0", "start_seconds": 4.0, "end_seconds": 6.0},
    ),
    (["overlap", "staging"], "tasks", 1, {"start_seconds": 1.5, "end_seconds": 2.5}),
    (["transfer"], "transfers", 1, {"source": "n1"}),
    (["transfer"], "transfers", 1, {"start_seconds": 0.9}),
    (["rate"], "transfers", 0, {"start_seconds": 0.5}),
    (["rate"], "transfers", 0, {"start_seconds": 0.001}),
    (["rate"], "transfers", 1, {"end_seconds": 1.0999}),
    (["instants"], "transfers", 2, {"start_seconds": 3.0, "end_seconds": 2.0}),
    (["instants"], "transfers", 0, {"start_seconds": -1.0}),
    (["instants"], "tasks", 0, {"end_seconds": float("nan")}),
    (["instants"], "evictions", 0, {"seconds": float("inf")}),
    (["duration"], "tasks", 2, {"end_seconds": 3.1001}),
    (["(21) disk"], "transfers", 2, {"start_seconds": 1.9}),
    (["(21) disk"], "evictions", 0, {"seconds": 2.5}),
    (["(21) disk"], "evictions", 0, None),
    (["staging"], "evictions", 0, {"seconds": 1.5}),
    (["eviction", "(21) disk"], "evictions", 0, {"file": "b"}),
    (["unknown"], "transfers", 0, {"file": "c"}),
    (["unknown"], "transfers", 1, {"source": "n7"}),
]


@pytest.mark.parametrize(("found", "part", "row", "change"), SPOILED)
def test_spoiled_schedule(
    found: list, part: str, row: int, change: dict | None
) -> None:
    schedule = copy.deepcopy(GOOD)
    if change is None:
        del schedule[part][row]
    else:
        schedule[part][row] |= change
    seen = [v.rule for v in check(PROBLEM, PLAN, schedule).violations]
    assert seen == found


def test_private_links_allow_what_the_shared_one_does_not() -> None:
    both = copy.deepcopy(GOOD)
    both["transfers"][1] = moved("a", None, "n1", 0.1, 1.1)
    assert [v.rule for v in check(PROBLEM, PLAN, both).violations] == ["rate"]
    network = PROBLEM.network.model_copy(update={"remote_link": "per-node"})
    private = PROBLEM.model_copy(update={"network": network})
    assert check(private, PLAN, both).violations == ()


def test_two_at_once_into_one_node() -> None:
    network = PROBLEM.network.model_copy(update={"remote_bytes_per_second": 100.0})
    nodes = tuple(
        node.model_copy(update={"disk_bytes": None}) for node in PROBLEM.nodes
    )
    wide = PROBLEM.model_copy(update={"network": network, "nodes": nodes})
    both = copy.deepcopy(GOOD)
    both["transfers"][2] |= {"start_seconds": 0.5}
    both["evictions"] = []
    assert [v.rule for v in check(wide, PLAN, both).violations] == ["transfer"]


def _fetches(*spans: tuple[float, float], links: str = "shared") -> list[str]:
    """Rules that fetches of 10 B to nodes of their own break, over a link of 10 B/s."""
    problem = made(len(spans), {"a": 10}, {})
    network = problem.network.model_copy(update={"remote_link": links})
    problem = problem.model_copy(update={"network": network})
    moves = [moved("a", None, f"n{k}", *span) for k, span in enumerate(spans)]
    report = check(problem, {"order": {}}, {"transfers": moves})
    return [v.rule for v in report.violations]


def test_every_transfer_and_every_instant_of_a_busy_link_is_judged() -> None:
    """Within one busy period whose sum is right: 10 B take 1 s alone, 20 B
    cannot end by 1.5 s.
    """
    assert _fetches((0, 2), (0, 2)) == []
    assert (
        _fetches((0, 1), (0, 2)) == []
    )  # one after the other is as good as both at half
    assert _fetches((0, 0.5), (0, 2)) == ["rate"]
    assert _fetches((0, 1), (0, 2 - 1e-6)) == ["rate"]  # 10 B/s x 1 us are left
    assert _fetches((0, 1), (0, 1.5), (0, 3)) == ["rate"]
    assert _fetches((0, 1), (0, 1.5), (0, 3), links="per-node") == []
    assert _fetches((0, 3), (1, 2), (1, 3)) == []
    assert _fetches((0, 3), (1, 2), (1.1, 3)) == []
    # 30 B in 3 s, but 20 of them between 1.1 and 2.9.
    assert _fetches((0, 3), (1.1, 2.9), (1.1, 2.9)) == ["rate"]
    assert _fetches((0, 9), (9, 10), (9, 10.9)) == [
        "rate"
    ]  # idle time before helps nobody


def test_a_storage_disk_is_a_pipe_too() -> None:
    data = document(2, {"a": 10}, {}, 100) | {
        "storages": [{"id": "s", "bytes_per_second": 10.0}]
    }
    data["files"][0]["storage"] = "s"
    problem = ReplicationProblem.model_validate(data)
    for end, rules in ((2, []), (1.5, ["rate"]), (0.9, ["rate", "rate"])):
        moves = [moved("a", None, "n0", 0, end), moved("a", None, "n1", 0, end)]
        report = check(problem, {"order": {}}, {"transfers": moves})
        assert [v.rule for v in report.violations] == rules


def test_copy_entries_are_done_once_while_the_file_is_there() -> None:
    """n1 copies a at 1.1 s, holds it from then on; the entry
    counts for the makespan.
    """
    plan = {"order": {"n0": ["t0", "t1"], "n1": ["t2", {"copy": "a"}]}}
    entry = {"file": "a", "node": "n1", "seconds": 4.5}
    report = check(PROBLEM, plan, GOOD | {"copy_entries": [entry]})
    assert report.violations == () and report.metrics["makespan_seconds"] == 4.5
    for entries in (
        [],
        [entry, entry],
        [entry | {"seconds": 1.0}],
        [entry | {"node": "n0"}],
    ):
        rules = {
            v.rule
            for v in check(PROBLEM, plan, GOOD | {"copy_entries": entries}).violations
        }
        assert rules == {"copy entry"}
    report = check(PROBLEM, plan, GOOD | {"copy_entries": [entry, entry]})
    (twice,) = report.violations
    assert twice.message == "the queue of n1 asks for 1 fewer copies of it"


def test_metrics_of_the_schedule() -> None:
    """Two fetches and a copy of 10 B; b and a are read and held
    nowhere: 20 / 10 + 1 s.
    """
    assert check(PROBLEM, PLAN, GOOD).metrics == {
        "compute_imbalance": 0.0,
        "additive_seconds": pytest.approx(4.1),
        "makespan_seconds": 4.0,
        "link_bound_seconds": 3.0,
        "lower_bound_seconds": 3.0,
        "link_model": "shared",
        "remote_bytes": 20,
        "replica_bytes": 10,
        "remote_transfers": 2,
        "replications": 1,
        "evictions": 1,
    }


BOUNDS: list[tuple[dict, float]] = [
    # One link: 20 bytes at 10 bytes/s, then the least compute of 1 s.
    ({}, 3.0),
    # Two private links of 10 bytes/s: 1 + 1 s, but the longest task is 10 / 10 + 2 s.
    ({"network": {"remote_link": "per-node"}}, 3.0),
    # One interface takes no more than 4 bytes/s: 20 / 8 + 1 s for all, 10 / 4
    # + 2 s for one task.
    ({"network": {"replica_bytes_per_second": 4.0}}, 4.5),
    # Both files come from one disk of 2 bytes/s: 20 / 2 + 1 s.
    ({"storages": [{"id": "s", "bytes_per_second": 2.0}], "storage": "s"}, 11.0),
    # Held files need no transfer: 4 s of computing on two nodes of speed 1
    # and 3, or 2 / 3 s.
    ({"holds": ["a", "b"], "speed": 3.0}, 1.0),
    # The longest task, 2 / 0.25 s, on the faster of two slow nodes; 4 /
    # 0.5 s in all as well.
    ({"holds": ["a", "b"], "speed": 0.25, "first_speed": 0.25}, 8.0),
]


@pytest.mark.parametrize(("change", "seconds"), BOUNDS)
def test_the_lower_bound_is_recomputed(change: dict, seconds: float) -> None:
    data = PROBLEM.model_dump(mode="json", exclude_none=True)
    data["network"] |= change.get("network", {})
    data["storages"] = change.get("storages", [])
    data["nodes"][0] |= {"disk_bytes": 20, "holds": change.get("holds", [])}
    data["nodes"][0]["speed"] = change.get("first_speed", 1.0)
    data["nodes"][1]["speed"] = change.get("speed", 1.0)
    for file in data["files"]:
        file |= {"storage": change["storage"]} if "storage" in change else {}
    problem = ReplicationProblem.model_validate(data)
    stated = check(problem, PLAN, GOOD).metrics["lower_bound_seconds"]
    assert stated == pytest.approx(seconds)
