"""Queue, allocation, kill and the loop, by hand."""

from typing import Any

import pytest
from batch_io_traces import by_hand as trace
from conftest import ENGINES

import ioopt

WAYS = [{"arithmetic": "exact"}, {"engine": "python"}]


@pytest.fixture(autouse=True, params=ENGINES)
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WAYS[1], "engine", request.param)


def spans(
    instance: dict[str, Any], solver: str = "base-line", **settings: str
) -> dict[Any, tuple[float, float]]:
    """Start and end of each job, the same however it is run."""
    found = []
    for way in WAYS:
        result = ioopt.solve(instance, solver, settings={**settings, **way})
        assert result.violations == ()
        assert result.schedule is not None
        jobs = result.schedule["jobs"]
        found.append({j["id"]: (j["start_seconds"], j["end_seconds"]) for j in jobs})
    for other in found[1:]:
        for name, times in found[0].items():
            assert other[name] == pytest.approx(times)
    return found[0]


FCFS = {"queue": "fcfs"}
IN_BOXES = {
    "backfill": "conservative",
    "reservation": "nodes",
    "estimate": "uncongested",
}
REBUILT = {"backfill": "conservative", "plan": "rebuild", "estimate": "uncongested"}
BEHIND = [
    ("a", 0, 6, 10, [(10, 0)]),
    ("b", 1, 6, 10, [(5, 0)]),
    ("c", 1, 2, 5, [(5, 0)]),
]


@pytest.mark.parametrize(
    ("jobs", "machine", "options", "expected"),
    [
        # a overruns its 5 s; at 6 it begins to write. z comes and goes at 1. s (50 s)
        # would not end before b's reservation at 5; at 6 that would be 306, but nobody
        # ended or arrived then (rule 1).
        (
            [
                ("a", 0, 4, 5, [(6, 4)]),
                ("b", 0, 8, 10, [(5, 0)]),
                ("z", 1, 1, 1, [(0, 0)]),
                ("s", 1, 1, 50, [(1, 0)]),
            ],
            {},
            {},
            {"a": (0, 7), "b": (7, 12), "z": (1, 1), "s": (12, 13)},
        ),
        # 6 nodes, boxes by run times. a runs to 10, b (6 nodes) waits for that; c (5 s
        # of at most 20) starts behind it. Until the pass ends c's box is its 5 s, so d
        # (4 nodes, 5 s) gets 5 to 10, and e (8 s) would run into it: it starts after b.
        # By c's 20 s d would come after b, and e at once.
        (
            [
                ("a", 0, 2, 10, [(10, 0)]),
                ("b", 0, 6, 10, [(10, 0)]),
                ("c", 0, 2, 20, [(5, 0)]),
                ("d", 0, 4, 5, [(5, 0)]),
                ("e", 0, 2, 8, [(8, 0)]),
            ],
            {"nodes": 6},
            REBUILT,
            {"a": (0, 10), "b": (10, 20), "c": (0, 5), "d": (5, 10), "e": (20, 28)},
        ),
        # A box of no length keeps nobody off its nodes (rule 35). a has node 0 to 10. b
        # wants both nodes for no time: at 10. c takes node 1 from 0 to 20 in spite of
        # it; at 10 there is no second node for b, which goes to 20.
        (
            [
                ("a", 0, 1, 10, [(10, 0)]),
                ("b", 0, 2, 5, [(0, 0)]),
                ("c", 0, 1, 20, [(20, 0)]),
            ],
            {"nodes": 2},
            IN_BOXES,
            {"a": (0, 10), "b": (20, 20), "c": (0, 20)},
        ),
        # Boxes that overlap take their nodes once (rules 31, 33, 35). a has 4 nodes to
        # 5. Planned meanwhile: b on 0-1 from 5 to 8, c on 0-2 from 8 to 18, d on node 3
        # from 5. At 5, by walltime c, b, d: c stays, b starts and runs by its walltime
        # to 25, over the box of c. Node 3 is nobody's: d starts.
        (
            [
                ("a", 0, 4, 5, [(5, 0)]),
                ("b", 1, 2, 20, [(3, 0)]),
                ("c", 2, 3, 2, [(10, 0)]),
                ("d", 3, 1, 30, [(10, 0)]),
            ],
            {"nodes": 4},
            IN_BOXES | {"queue": "sjf"},
            {"a": (0, 5), "b": (5, 8), "c": (8, 18), "d": (5, 15)},
        ),
        # a holds 4 of 8 until 10. b wants 6: reserved at 10, extra = 8 - 6 = 2. c (2
        # nodes, long) takes the extra at 1; d (2 nodes, long) finds none and waits; e
        # (2 nodes, ends by 10) fits before.
        (
            [
                ("a", 0, 4, 10, [(10, 0)]),
                ("b", 1, 6, 10, [(5, 0)]),
                ("c", 1, 2, 50, [(50, 0)]),
                ("d", 1, 2, 50, [(50, 0)]),
                ("e", 1, 2, 9, [(9, 0)]),
            ],
            {},
            {},
            {"a": (0, 10), "b": (10, 15), "c": (1, 51), "d": (15, 65), "e": (1, 10)},
        ),
        # Without backfilling the queue stops at the first that does not fit.
        *(
            (
                BEHIND,
                {},
                {"backfill": "none", "reservation": kept},
                {"a": (0, 10), "b": (10, 15), "c": (10, 15)},
            )
            for kept in ("count", "nodes")
        ),
        (BEHIND, {}, {}, {"a": (0, 10), "b": (10, 15), "c": (1, 6)}),
        # a outlives its walltime 5. At 6 its end is predicted at 306, so c
        # (walltime 290) may pass b.
        (
            [
                ("a", 0, 6, 5, [(20, 0)]),
                ("b", 6, 8, 10, [(1, 0)]),
                ("c", 6, 2, 290, [(30, 0)]),
            ],
            {},
            {},
            {"a": (0, 20), "c": (6, 36), "b": (36, 37)},
        ),
        # 3 nodes become 4 of unit 4, which all transfer: r = min(4, 4), 8 bytes in 2 s.
        ([("a", 0, 3, 9, [(0, 8)])], {"unit_nodes": 4}, {}, {"a": (0, 2)}),
        # Phases of nothing must not nest: thousands of them in a row.
        ([("z", 0, 1, 9, [(0, 0)] * 3000 + [(1, 0)])], {}, {}, {"z": (0, 1)}),
    ],
)
def test_spans_by_hand(jobs: Any, machine: Any, options: Any, expected: Any) -> None:
    assert spans(trace(jobs, machine, **(FCFS | options))) == expected


def test_computing_and_io_alternate() -> None:
    """4 nodes at 4 B/s: 2 s, 8 B in 2 s, then twice 1 s and 4 B in 1 s."""
    instance = trace([("a", 0, 4, 99, [(2, 8), (1, 4), (1, 4)])])
    first, last = instance["jobs"][0]["phases"][:2]
    instance["jobs"][0]["phases"] = [first, {**last, "repeat": 2}]
    assert spans(instance) == {"a": (0, 8)}
    result = ioopt.solve(instance, "base-line")
    assert result.schedule is not None
    io = result.schedule["jobs"][0]["io"]
    assert [(row["request_seconds"], row["finish_seconds"]) for row in io] == [
        (2, 4),
        (5, 6),
        (7, 8),
    ]


def test_wfp_takes_the_cube_of_the_wait() -> None:
    # At 10: b (10/20)^3 8 = 1, c (9/10)^3 2 = 1.458: c first. Squares
    # would be 2 and 1.62.
    jobs = [
        ("a", 0, 8, 10, [(10, 0)]),
        ("b", 0, 8, 20, [(1, 0)]),
        ("c", 1, 2, 10, [(1, 0)]),
    ]
    assert spans(trace(jobs)) == {"a": (0, 10), "c": (10, 11), "b": (11, 12)}


def test_partitions_are_aligned_and_the_full_machine_is_one() -> None:
    # 12 units: blocks of 1, 2, 4, 8 and all 12. a (3 -> 4) at 0-3, b (5 -> 8)
    # only at 0-7: waits.
    big = {"nodes": 12, "allocation": "partition"}
    jobs = [
        ("a", 0, 3, 9, [(9, 0)]),
        ("b", 0, 5, 9, [(9, 0)]),
        ("c", 0, 9, 9, [(1, 0)]),
    ]
    assert spans(trace(jobs, big, queue="fcfs")) == {
        "a": (0, 9),
        "b": (9, 18),
        "c": (18, 19),
    }


def test_kill_ends_a_job_at_its_walltime_but_not_one_that_just_made_it() -> None:
    # Shared at 2 each: both would need 4 s. a is killed at 3; then b has 2
    # bytes left at rate 4.
    jobs = [
        ("a", 0, 4, 3, [(0, 8)]),
        ("b", 0, 4, 9, [(0, 8)]),
        ("c", 0, 1, 1, [(1, 0)]),
    ]
    machine = {"nodes": 9}
    assert spans(trace(jobs, machine, kill=True)) == {
        "a": (0, 3),
        "b": (0, 3.5),
        "c": (0, 1),
    }
    result = ioopt.solve(trace(jobs, machine, kill=True), "base-line")
    assert result.schedule is not None
    killed = {job["id"]: job["killed"] for job in result.schedule["jobs"]}
    assert killed == {"a": True, "b": False, "c": False}
    assert result.schedule["jobs"][0]["io"][0]["finish_seconds"] is None


def test_open_loop_keeps_the_starts_of_the_uncongested_run() -> None:
    # Uncongested a ends at 2 and c starts then; in the open loop c starts at
    # 2 whatever a does.
    jobs = [
        ("a", 0, 4, 9, [(0, 8)]),
        ("b", 0, 4, 9, [(0, 8)]),
        ("c", 0, 4, 9, [(1, 0)]),
    ]
    instance = trace(jobs, queue="fcfs")
    assert spans(instance) == {"a": (0, 4), "b": (0, 4), "c": (4, 5)}
    assert spans(instance, loop="open") == {"a": (0, 4), "b": (0, 4), "c": (2, 3)}


def test_expansion_factor_multiplies_the_bytes() -> None:
    assert spans(trace([("a", 0, 4, 9, [(1, 8)])]), ef="1.5") == {"a": (0, 4)}


def test_metrics_of_a_delayed_pair() -> None:
    # Both share 4 from 0 to 4 and then c runs. Delays 4 - 2 = 2 each on 4
    # nodes, none for c on 2.
    jobs = [
        ("a", 0, 4, 9, [(0, 8)]),
        ("b", 0, 4, 9, [(0, 8)]),
        ("c", 2, 2, 9, [(4, 0)]),
    ]
    result = ioopt.solve(trace(jobs), "base-line")
    metrics = result.metrics
    assert metrics["io_delay_seconds"] == pytest.approx(4 / 3)
    assert metrics["node_weighted_io_delay"] == pytest.approx((4 * 2 + 4 * 2) / 10)
    assert metrics["mean_slowdown"] == pytest.approx((2 + 2 + 1) / 3)
    assert metrics["max_slowdown"] == pytest.approx(2)
    assert metrics["mean_wait_seconds"] == pytest.approx(2 / 3)
    assert metrics["mean_response_seconds"] == pytest.approx((4 + 4 + 6) / 3)
    # Window 0.2 to 2: all 8 nodes busy, half of the transfer is useful.
    assert metrics["utilisation"] == pytest.approx(1)
    assert metrics["useful_utilisation"] == pytest.approx(0.5)
