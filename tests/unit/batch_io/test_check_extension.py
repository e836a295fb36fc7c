"""The checker finds lies about own peaks, interference, streams,
buffers and numbered nodes.

The schedules are those of the slow reference, so that no engine has a part in them.
"""

from collections.abc import Callable
from typing import Any

import pytest

import ioopt
from ioopt.checks.batch_io import check as batch_io
from tests.batch_io_extension_traces import instance, job, random_extension
from tests.batch_io_traces import by_hand
from tests.oracle.batch_io_compare import METRICS, policy_of
from tests.oracle.batch_io_reference import Reference

Change = Callable[[dict[Any, Any]], Any]

BUFFERED = instance(
    job((2, 4), (1, 6), nodes=4, B=8, I=4, O=2, id=1),
    job((4, 6), nodes=4, B=6, id=2),
    job((1, 4), nodes=4, submit=1, io_bytes_per_second=1, id=3),
    job((1, 0), submit=1, B=4, id=4),
    nodes=8,
    node_bytes_per_second=1,
    storage_bytes_per_second=3,
    buffer={"bytes_per_second": 6, "drain_bytes_per_second": 2},
)
# Base-line. 1 stages in 4 bytes at 2, 0-2, computes to 4; 2 computes to 4: both write,
# r_w = 4, at 3 of 6 bytes/s: 1 to 16/3, 2 to 6 (its end: 4, then 2 at 4... after 16/3).
# 1 computes to 19/3, but 4 + 6 > 8 bytes: it writes when its first drain is through.


def machine(buffer: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """What changes of the machine, and of its buffer."""
    changes["burst_buffer"] = BUFFERED["machine"]["burst_buffer"] | (buffer or {})
    return {**BUFFERED, "machine": {**BUFFERED["machine"], **changes}}


def options(**changes: Any) -> dict[str, Any]:
    return {**BUFFERED, "options": {**BUFFERED["options"], **changes}}


def scheduled(instance: dict[str, Any], policy: str = "base-line") -> dict[str, Any]:
    return Reference(instance, policy).run().schedule()


def rules(
    instance: dict[str, Any], schedule: Any, policy: str = "base-line"
) -> set[str]:
    plan = {"policy": policy.removesuffix("+top"), "top": policy.endswith("+top")}
    report = batch_io.check(ioopt.load(instance), plan, schedule)
    return {item.rule for item in report.violations}


def by_id(schedule: dict[str, Any]) -> dict[Any, Any]:
    return {row["id"]: row for row in schedule["jobs"]}


def later(record: dict[str, Any], seconds: float) -> None:
    """The whole record happens later."""
    for key in ("request_seconds", "first_grant_seconds", "finish_seconds"):
        record[key] += seconds
    record["rates"] = [
        [a + seconds, b + seconds, rate] for a, b, rate in record["rates"]
    ]


def tail_later(row: dict[str, Any], first: int, seconds: float) -> None:
    """The streams from *first* on and the release happen later."""
    for stream in row["streams"][first:]:
        later(stream, seconds)
    row["released_seconds"] += seconds


def test_the_schedule_by_hand() -> None:
    schedule = by_id(scheduled(BUFFERED))
    assert schedule[1]["streams"][0]["finish_seconds"] == 2
    first, second = schedule[1]["io"]
    assert (first["request_seconds"], first["finish_seconds"]) == (4, 4 + 4 / 3)
    # At 16/3 the write of 2 has 2 bytes left at its peak of 4: 35/6. Drains
    # then share 2 bytes/s.
    assert schedule[2]["end_seconds"] == pytest.approx(35 / 6)
    assert second["first_grant_seconds"] == schedule[1]["streams"][1]["finish_seconds"]
    assert rules(BUFFERED, scheduled(BUFFERED)) == set()


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (
            "released",
            lambda jobs: jobs[1].update(released_seconds=jobs[1]["end_seconds"]),
        ),
        (
            "released",
            lambda jobs: jobs[2].update(
                released_seconds=jobs[2]["released_seconds"] + 1
            ),
        ),
        ("streams", lambda jobs: jobs[1]["streams"].pop()),
        ("streams", lambda jobs: jobs[1]["streams"].pop(0)),
        ("streams", lambda jobs: jobs[1]["streams"].append(jobs[1]["streams"][1])),
        ("streams", lambda jobs: jobs[3]["streams"].append(jobs[1]["streams"][0])),
        ("streams", lambda jobs: jobs[1]["streams"][1].update(kind="out")),
        ("streams", lambda jobs: jobs[1]["streams"][2].update(phase=0)),
        ("streams", lambda jobs: jobs[1]["streams"][2].update(finish_seconds=None)),
        ("streams", lambda jobs: tail_later(jobs[1], 3, 1.0)),
        ("streams", lambda jobs: tail_later(jobs[2], 0, -0.5)),
        ("peak", lambda jobs: jobs[1]["streams"][0].update(finish_seconds=1.5)),
        ("request", lambda jobs: jobs[1]["io"][0].update(request_seconds=3)),
        ("space", lambda jobs: jobs[1]["io"][1].update(first_grant_seconds=6.5)),
        ("space", lambda jobs: jobs[1]["io"][1].update(first_grant_seconds=20.0)),
        ("bytes", lambda jobs: jobs[1]["streams"][0].update(rates=[[0, 2, 1.5]])),
        ("bytes", lambda jobs: jobs[2]["io"][0].update(rates=[[4, 35 / 6, 3]])),
        ("grant", lambda jobs: jobs[1]["streams"][0].update(first_grant_seconds=None)),
        ("grant", lambda jobs: jobs[1]["streams"][1].update(first_grant_seconds=3)),
        ("rates", lambda jobs: jobs[1]["streams"][0].update(rates=[[-1, 1, 2]])),
        ("schedule", lambda jobs: jobs[1]["streams"][0].pop("kind")),
        ("schedule", lambda jobs: jobs[1].update(released_seconds="later")),
        ("peak", lambda jobs: jobs[3]["io"][0]["rates"][0].__setitem__(2, 1.5)),
        (
            "start",
            lambda jobs: jobs[4].update(
                start_seconds=2, end_seconds=3, released_seconds=3
            ),
        ),
    ],
)
def test_each_lie_about_streams_and_writes_is_found(rule: str, change: Change) -> None:
    schedule = scheduled(BUFFERED)
    change(by_id(schedule))
    assert rule in rules(BUFFERED, schedule)


def test_writes_faster_than_the_buffer() -> None:
    """Both write at their peak of 4, more than the buffer's 6 together; each
    alone would be right.
    """
    schedule = scheduled(machine({"bytes_per_second": 8}))
    assert rules(BUFFERED, schedule) == {"writes"}


def test_writes_that_share_by_something_else_than_nodes() -> None:
    """2 has 6 nodes beside 4 of 1: rates 4 and 2 swapped are within every limit."""
    jobs = [job((2, 6), nodes=4, B=8, id=1), job((2, 6), nodes=8, B=6, id=2)]
    instance = {**machine(nodes=12), "jobs": jobs}
    schedule = scheduled(instance)
    assert rules(instance, schedule) == set()
    rows = by_id(schedule)
    # At 2 and 4 of 6: job 2 to 2 + 6/4 = 3.5 s, job 1 then at 4 for
    # its 3 bytes: 4.25 s.
    assert [rows[k]["end_seconds"] for k in (1, 2)] == [4.25, 3.5]
    for record in [row["io"][0] for row in schedule["jobs"]]:
        record.pop("rates")
    for k, end in ((1, 3.5), (2, 4.0)):
        shift = end - rows[k]["end_seconds"]
        rows[k]["io"][0]["finish_seconds"] = rows[k]["end_seconds"] = end
        tail_later(rows[k], 0, shift)
    assert "writes" in rules(instance, schedule)


def test_streams_above_the_drain_rate() -> None:
    """Drains at 2 each where the buffer drains 2 in all, though the storage takes 8."""
    wide = machine(storage_bytes_per_second=8)
    fast = machine({"drain_bytes_per_second": 3}, storage_bytes_per_second=8)
    schedule = scheduled(fast)
    assert rules(fast, schedule) == set()
    assert rules(wide, schedule) & {"drain", "peak"}
    two = {
        **wide,
        "jobs": [{**job, "stage_in_bytes": 0} for job in BUFFERED["jobs"][:2]],
    }
    schedule = scheduled(two)
    rows = by_id(schedule)
    for row in rows.values():
        size = {1: 4, 2: 6}[row["id"]]
        stream = row["streams"][0]
        begin = stream["request_seconds"]
        stream.update(
            finish_seconds=begin + size / 2, rates=[[begin, begin + size / 2, 2]]
        )
    problem = ioopt.load(two)
    terms = batch_io.Terms.of(problem, None)
    views, found = batch_io._matched(terms, schedule["jobs"])
    assert not found
    lies = batch_io.check_totals(terms, batch_io.Spans.of(views))
    assert {item.rule for item in lies} == {"drain"}


def test_a_buffer_that_holds_too_much() -> None:
    """4 starts at 1 while 8 + 6 of 16 bytes are held, 4 more than fit."""
    schedule = scheduled(machine({"bytes": 99}))
    assert rules(BUFFERED, schedule) <= {"buffer"}
    big = machine({"bytes": 99}, nodes=16)
    assert rules(machine(nodes=16), scheduled(big)) == {"buffer"}


def test_a_buffer_is_held_to_the_release() -> None:
    """One node. 1 computes to 1 and writes 6 bytes at 1 byte/s to 7; 2, next on the
    node, needs 8 bytes of the buffer beside the 10 that 1 holds while it drains and
    stages out: 18 of 16."""
    jobs = [job((1, 6), B=10, O=6, id=1), job((1, 0), B=8, id=2)]
    tight = {**machine(nodes=1), "jobs": jobs}
    early = scheduled({**machine({"bytes": 99}, nodes=1), "jobs": jobs})
    assert by_id(early)[2]["start_seconds"] == by_id(early)[1]["end_seconds"] == 7
    assert rules(tight, early) == {"buffer"}
    right = scheduled(tight)
    assert rules(tight, right) == set()
    assert by_id(right)[2]["start_seconds"] == by_id(right)[1]["released_seconds"] > 7


def test_nodes_held_to_the_release() -> None:
    per_node = machine({"placement": "per-node", "bytes": 64})
    for kept in (options(nodes_until="release"), per_node):
        schedule = scheduled(kept)
        assert rules(kept, schedule) == set()
        rows = by_id(schedule)
        assert (
            rows[3]["start_seconds"]
            == rows[2]["released_seconds"]
            > rows[2]["end_seconds"]
        )
        shift = rows[2]["end_seconds"] - rows[3]["start_seconds"]
        for key in ("start_seconds", "end_seconds", "released_seconds"):
            rows[3][key] += shift
        later(rows[3]["io"][0], shift)
        assert "nodes" in rules(kept, schedule)


def test_staging_ahead() -> None:
    """1 may stage in while it waits; not before its submission, and its
    bytes are held from then.
    """
    ahead = {
        **options(staging="ahead"),
        "jobs": [
            {
                **BUFFERED["jobs"][3],
                "id": 0,
                "submit_seconds": 0,
                "nodes": 8,
                "buffer_bytes": 9,
            },
            {**BUFFERED["jobs"][0], "buffer_bytes": 6, "submit_seconds": 0},
        ],
    }
    schedule = scheduled(ahead)
    row = by_id(schedule)[1]
    # 0 has all nodes from 0 to 1; 1 stages 4 bytes in at 2 from 0 to 2, starts at 1.
    assert row["streams"][0]["request_seconds"] == 0
    assert (row["start_seconds"], row["streams"][0]["finish_seconds"]) == (1, 2)
    assert rules(ahead, schedule) == set()
    assert "streams" in rules({**ahead, "options": {"queue": "fcfs"}}, schedule)
    # With 11 bytes for 0 the two do not fit beside each other.
    less = {
        **ahead,
        "jobs": [{**ahead["jobs"][0], "buffer_bytes": 11}, ahead["jobs"][1]],
    }
    assert rules(less, schedule) == {"buffer"}


def shared(interference: float) -> dict[str, Any]:
    jobs = [(k, 0, 2, 100, [(k, 6)]) for k in (1, 2, 3)]
    return by_hand(jobs, {"interference": interference}, queue="fcfs")


@pytest.mark.parametrize(
    "policy", ["base-line", "cons-fcfs", "cons-fcfs+top", "adaptive", "fill"]
)
def test_interference_caps_the_sum(policy: str) -> None:
    """At 2 of 4 bytes/s each, two requests get 4 / 1.5 of 4; without
    interference they had it all.
    """
    schedule = scheduled(shared(0.0), policy)
    assert rules(shared(0.0), schedule, policy) == set()
    assert rules(shared(0.5), schedule, policy) == {"storage"}
    assert rules(shared(0.5), scheduled(shared(0.5), policy), policy) == set()


def test_a_part_of_the_peak_from_a_conservative_policy_under_interference() -> None:
    schedule = scheduled(shared(0.5), "cons-fcfs")
    records = [row["io"][0] for row in schedule["jobs"]]
    # 1 alone at 2 from 1 to 2, then beside 2 at 4/3 each. A little less
    # is no whole grant.
    assert [rate for _, _, rate in records[0]["rates"]] == pytest.approx(
        [2, 4 / 3, 4 / 3]
    )
    row = schedule["jobs"][0]
    row["io"][0]["rates"] = [[1, 2, 2], [2, 5.2, 1.25]]
    row["io"][0]["finish_seconds"] = row["end_seconds"] = 5.2
    assert "conservative" in rules(shared(0.5), schedule, "cons-fcfs")


def test_numbered_nodes() -> None:
    numbered = {**shared(0.0), "options": {"reservation": "nodes"}}
    schedule = scheduled(numbered)
    assert [row["nodes"] for row in schedule["jobs"]] == [[0, 1], [2, 3], [4, 5]]
    assert rules(numbered, schedule) == set()
    for nodes, rule in (
        ([1, 2], "overlap"),
        ([4], "allocation"),
        ([6, 8], "allocation"),
        ([7, 7], "allocation"),
        ([6, 7], None),
    ):
        schedule["jobs"][1]["nodes"] = nodes
        assert rules(numbered, schedule) >= ({rule} if rule else set())
    assert rules(numbered, schedule) == set()


@pytest.mark.parametrize("block", range(4))
def test_no_false_alarms_and_the_measures_of_the_reference(block: int) -> None:
    tails = 0
    for seed in range(60 * block, 60 * block + 60):
        instance = random_extension(seed)
        name, settings = policy_of(seed)
        sim = Reference(instance, name, **settings).run()
        plan = {"policy": name.removesuffix("+top"), "top": name.endswith("+top")}
        report = batch_io.check(ioopt.load(instance), plan, sim.schedule())
        assert report.violations == (), (seed, name)
        metrics = sim.metrics()
        for key in METRICS:
            if metrics[key] is None or ("release" in key and not sim.buffered):
                assert report.metrics.get(key) is None
            else:
                assert report.metrics[key] == pytest.approx(float(metrics[key])), (
                    seed,
                    key,
                )
        tails += metrics["max_release_seconds"] > 0
    assert tails > 20
