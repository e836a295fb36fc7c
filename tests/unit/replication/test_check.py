"""The replication checker: each rule kept by one plan and broken, alone,
by a neighbour of it.

Instance ``PAIR``: files a (10 B) and b (20 B), tasks t0(a), t1(a, b), t2(b) of 1, 2, 3
s on nodes n0 and n1 (speed 2), remote 10 B/s, copies 100 B/s. Plan ``GOOD``: t0 on n0;
t1, t2 on n1; both files fetched to n1, a copied from n1 to n0.
Exec n0 = 10/100 + 1 = 1.1 s; Exec n1 = 30/10 + 10/100 + (2 + 3)/2 = 5.6 s.
"""

import pytest
from replication_samples import document

from ioopt.check.replication.check import check
from ioopt.problems.replication import ReplicationProblem

PAIR = document(
    [{}, {"speed": 2.0}],
    {"a": 10, "b": 20, "dead": 5},
    {"t0": (1, "a"), "t1": (2, "ab"), "t2": (3, "b")},
)
GOOD = {
    "assign": {"t0": "n0", "t1": "n1", "t2": "n1"},
    "order": {"n0": ["t0"], "n1": ["t1", "t2"]},
    "remote": [["a", "n1"], ["b", "n1"]],
    "copies": [["a", "n1", "n0"]],
}


def problem(disks=(None, None), holds=((), ())) -> ReplicationProblem:
    nodes = [
        node | {"disk_bytes": disk, "holds": list(held)}
        for node, disk, held in zip(PAIR["nodes"], disks, holds, strict=True)
    ]
    return ReplicationProblem.model_validate(PAIR | {"nodes": nodes})


def rules(
    plan: dict, on: ReplicationProblem | None = None, schedule: dict | None = None
) -> list:
    return [v.rule for v in check(on or problem(), plan, schedule).violations]


def test_good_plan_and_its_objective() -> None:
    report = check(problem(), GOOD)
    assert report.violations == ()
    assert report.objectives == {"additive_seconds": pytest.approx(5.6, abs=1e-12)}
    # compute 1 s and 2.5 s: 2.5 / 1.75 - 1
    assert report.metrics["compute_imbalance"] == pytest.approx(2.5 / 1.75 - 1)


BROKEN = [
    # (rule, change to GOOD)
    ("(1) source", {"copies": [["a", "n0", "n0"]], "moves": "printed"}),
    ("(2) reader", {"copies": [["a", "n1", "n0"], ["b", "n1", "n0"]]}),
    ("(3) one source", {"copies": [["a", "n1", "n0"], ["a", "n1", "n0"]]}),
    ("(4) one node", {"order": {"n0": ["t0"], "n1": ["t1", "t2", "t0"]}}),
    ("(4) one node", {"order": {"n0": ["t0", "t0"], "n1": ["t1", "t2"]}}),
    ("(4) one node", {"order": {"n0": ["t0"], "n1": ["t1"]}}),
    ("(4) one node", {"assign": {"t0": "n0", "t1": "n1"}}),
    ("(5) one fetch", {"remote": [["a", "n1"], ["b", "n1"], ["b", "n1"]]}),
    ("(6) remote or copy", {"remote": [["a", "n0"], ["a", "n1"], ["b", "n1"]]}),
    ("(7) inputs", {"copies": []}),
    ("order", {"assign": {"t0": "n1", "t1": "n1", "t2": "n1"}}),
    ("unknown", {"remote": [["a", "n1"], ["b", "n1"], ["c", "n1"]]}),
    ("unknown", {"copies": [["a", "n1", "n0"], ["a", "n9", "n0"]]}),
    ("unknown", {"order": {"n0": ["t0", "t9"], "n1": ["t1", "t2"]}}),
]


@pytest.mark.parametrize(("rule", "change"), BROKEN)
def test_breaks_only(rule: str, change: dict) -> None:
    assert rules(GOOD | change) == [rule]


def test_circle_is_refused_unless_the_printed_model_made_it() -> None:
    circle = {"remote": [["b", "n1"]], "copies": [["a", "n1", "n0"], ["a", "n0", "n1"]]}
    held = problem(holds=((), ("a",)))
    assert rules(GOOD | circle) == ["(8) remote transfer", "forest"]
    # A held copy elsewhere waives (8), so only the forest rule is left.
    three = ReplicationProblem.model_validate(
        PAIR | {"nodes": [*PAIR["nodes"], {"id": "n2", "holds": ["a"]}]}
    )
    assert rules(GOOD | circle, three) == ["forest"]
    assert rules(GOOD | circle | {"moves": "printed"}, three) == []
    assert rules(GOOD | circle | {"moves": "printed"}) == ["(8) remote transfer"]
    assert rules(GOOD | {"remote": [["b", "n1"]]}, held) == []


def test_held_file_is_not_brought_again() -> None:
    assert rules(GOOD, problem(holds=((), ("a",)))) == ["held"]


def test_disk_counts_everything_that_is_there() -> None:
    assert rules(GOOD, problem(disks=(10, 30))) == []
    assert rules(GOOD, problem(disks=(9, 30))) == ["(21) disk"]
    # A held file that nobody reads still occupies disk.
    assert rules(GOOD, problem(disks=(14, 30), holds=(("dead",), ()))) == ["(21) disk"]
    assert rules(GOOD, problem(disks=(15, 30), holds=(("dead",), ()))) == []


def test_copy_entry_allows_a_copy_for_no_reader() -> None:
    change = {
        "copies": [["a", "n1", "n0"], ["b", "n1", "n0"]],
        "order": {"n0": ["t0", {"copy": "b"}], "n1": ["t1", "t2"]},
    }
    assert rules(GOOD | change) == []


def test_plan_with_an_order_only() -> None:
    report = check(problem(disks=(30, 30)), {"order": GOOD["order"]})
    assert report.violations == () and "additive_seconds" not in report.objectives
    assert rules({"order": GOOD["order"]}, problem(disks=(9, 30))) == ["(21) disk"]
    replay = GOOD | {
        "moves": "replay",
        "remote": [["a", "n1"], ["b", "n1"], ["b", "n1"]],
    }
    report = check(problem(), replay)
    assert report.violations == ()
    # The second fetch of b costs another 2 s on n1.
    assert report.objectives["additive_seconds"] == pytest.approx(7.6)


ROUNDS = {
    "order": {"n0": [], "n1": ["t0", "t1", "t2"]},
    "rounds": [
        {"tasks": ["t0"], "assign": {"t0": "n1"}, "remote": [["a", "n1"]]},
        {"tasks": ["t1"], "remote": [["b", "n1"]]},
        {"tasks": ["t2"], "evicted": [["a", "n1"]]},
    ],
}


def test_rounds_carry_and_evict() -> None:
    report = check(problem(disks=(30, 30)), ROUNDS)
    assert report.violations == ()
    # n1: 30 B fetched in 3 s, 6 s of compute at speed 2.
    assert report.objectives["additive_seconds"] == pytest.approx(6.0)
    early = [dict(part) for part in ROUNDS["rounds"]]
    early[1] = early[1] | {"evicted": [["a", "n1"]]}
    early[2] = {"tasks": ["t2"]}
    assert rules(ROUNDS | {"rounds": early}) == ["(7) inputs", "(8) remote transfer"]
    tight = check(problem(disks=(30, 29)), ROUNDS).violations
    assert [(v.rule, v.item) for v in tight] == [("(21) disk", "round 2: n1")]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"order": {"n0": [], "n1": ["t1", "t0", "t2"]}}, ["rounds"]),
        ({"remote": [["a", "n1"]]}, ["rounds"]),
        ({"remote": [["a", "n1"], ["b", "n1"]]}, []),
        ({"rounds": [*ROUNDS["rounds"], {"tasks": ["t2"]}]}, ["rounds"]),
        (
            {"rounds": [*ROUNDS["rounds"], {"tasks": [], "evicted": [["a", "n1"]]}]},
            ["eviction"],
        ),
    ],
)
def test_rounds_must_agree(change: dict, found: list) -> None:
    assert rules(ROUNDS | change) == found


def test_barriers_add_the_rounds_up() -> None:
    plan = {
        "order": {"n0": ["t0"], "n1": ["t1", "t2"]},
        "rounds": [
            {"tasks": ["t0"], "remote": [["a", "n0"]]},
            {
                "tasks": ["t1", "t2"],
                "remote": [["b", "n1"]],
                "copies": [["a", "n0", "n1"]],
            },
        ],
    }
    # Round 1: n0 1 + 1 = 2 s. Round 2: n1 2 + 0.1 + 2.5 = 4.6 s; n0 0.1 s.
    assert check(problem(), plan).objectives["additive_seconds"] == pytest.approx(4.6)
    apart = check(problem(), plan | {"barriers": True})
    assert apart.objectives["additive_seconds"] == pytest.approx(6.6)
