"""Burst buffers, rule by rule, with the arithmetic (rules 38 to 46, 48 and
49); both engines agree.

Unless said otherwise: 4 nodes of 2 B/s, storage 4 B/s; a shared buffer of 16 B that
takes 4 B/s and drains at 1 B/s.
"""

from typing import Any

import pytest

import ioopt
from ioopt.errors import UsageError
from ioopt.generate.batch_io.generate import generate
from ioopt.plot.bandwidth import rates_by_job
from tests.batch_io_extension_traces import instance, job
from tests.conftest import ENGINES

TIMES = ("request", "first_grant", "finish")


def run(
    problem: dict[str, Any], policy: str = "cons-fcfs", **settings: str
) -> list[dict[str, Any]]:
    result = ioopt.solve(problem, policy, settings=settings)
    assert result.violations == () and result.schedule is not None
    jobs: list[dict[str, Any]] = result.schedule["jobs"]
    return jobs


def starts(problem: dict[str, Any]) -> list[float]:
    return [row["start_seconds"] for row in run(problem)]


def times(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record[key + "_seconds"] for key in TIMES)


def streams(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(record["kind"], *times(record)) for record in row["streams"]]


def test_peaks_of_writes_and_streams() -> None:
    """Rule 39. r_w = min(p, b N, Bb): 2 nodes 4, of which p = 1 leaves 1; r_s =
    min(1, 4) whatever p.
    """
    (row,) = run(instance(job((0, 4), nodes=2, B=4)))
    assert times(row["io"][0]) == (0, 0, 1) and streams(row) == [("drain", 1, 1, 5)]
    (row,) = run(instance(job((0, 4), nodes=2, B=4, io_bytes_per_second=0.5)))
    assert times(row["io"][0]) == (0, 0, 8) and streams(row) == [("drain", 8, 8, 12)]
    (row,) = run(
        instance(job((0, 4), nodes=2, B=4), buffer={"drain_bytes_per_second": 9})
    )
    assert streams(row) == [("drain", 1, 1, 2)]  # min(9, BW = 4)
    per_node = {
        "placement": "per-node",
        "bytes_per_second": 0.5,
        "drain_bytes_per_second": 0.25,
    }
    (row,) = run(instance(job((0, 4), nodes=2, B=4), buffer=per_node))
    assert times(row["io"][0]) == (0, 0, 4)  # 2 * .5
    assert streams(row) == [("drain", 4, 4, 12)]  # 2 * .25


def test_writes_share_the_buffer_by_nodes() -> None:
    """Rule 40. Jobs of 1 and 3 nodes, Bb = 4: r_w 2 and 4, shares 1 and 3, so 3 B
    and 9 B take 3 s each.
    """
    first, second = run(instance(job((0, 3), B=3), job((0, 9), nodes=3, B=9)))
    assert first["io"][0]["rates"] == [[0, 3, 1]] and second["io"][0]["rates"] == [
        [0, 3, 3]
    ]
    # Alone from 1 s on, the second has its peak of 4: 3 B by then, 8 B more by 3 s.
    first, second = run(instance(job((0, 1), B=3), job((0, 11), nodes=3, B=11)))
    assert second["io"][0]["rates"] == [[0, 1, 3], [1, 3, 4]]
    # Without congestion both have their peaks.
    first, second = run(
        instance(job((0, 3), B=3), job((0, 9), nodes=3, B=9)), "no-congestion"
    )
    assert first["io"][0]["rates"] == [[0, 1.5, 2]] and second["io"][0]["rates"] == [
        [0, 2.25, 4]
    ]


def test_a_write_waits_for_its_space() -> None:
    """Rule 40. B = 3: after the stage-in 2 B drain 4-6, so the second write,
    asked at 5, begins at 6.
    """
    (row,) = run(instance(job((0, 2), (1, 2), B=3, I=3)))
    assert streams(row)[0] == ("in", 0, 0, 3)  # staged bytes take no space
    assert [times(r) for r in row["io"]] == [(3, 3, 4), (5, 6, 7)]
    assert streams(row)[1:] == [("drain", 4, 4, 6), ("drain", 7, 7, 9)]
    (row,) = run(instance(job((0, 2), (1, 2), B=4)))
    assert [times(r) for r in row["io"]] == [(0, 0, 1), (2, 2, 3)]


def test_streams_are_requests_of_the_policy() -> None:
    """Rule 42. D = 4 of BW = 4: cons-fcfs drains one job after the other,
    base-line both at 2 B/s.
    """
    pair = [job((0, 2), nodes=2, B=4), job((0, 2), nodes=2, B=4)]
    wide = {"drain_bytes_per_second": 4, "bytes_per_second": 8}
    first, second = run(instance(*pair, buffer=wide))
    assert streams(first) == [("drain", 0.5, 0.5, 1)]
    assert streams(second) == [("drain", 0.5, 1, 1.5)]
    first, second = run(instance(*pair, buffer=wide), "base-line")
    assert streams(first) == streams(second) == [("drain", 0.5, 0.5, 1.5)]
    # D = 1: both fit BW = 4, the policy grants 1 each, of which half arrives.
    first, second = run(instance(*pair, buffer={"bytes_per_second": 8}))
    assert first["streams"][0]["rates"] == [[0.5, 4.5, 0.5]]


def test_direct_requests_do_not_feel_the_drain_rate() -> None:
    """Rule 42. Two streams of D = 1 get .5 each; the job without a buffer keeps
    its 2 B/s beside them.
    """
    jobs = [job((0, 2), B=2), job((0, 2), B=2), job((1, 2))]
    first, _, third = run(instance(*jobs))
    assert first["streams"][0]["rates"] == [[1, 5, 0.5]]
    assert third["io"][0]["rates"] == [[1, 2, 2]]


def test_a_kill_drops_what_is_not_written() -> None:
    """Rule 43. Killed at 5: the second write is lost, the first is drained 1-5...
    and nothing staged out.
    """
    problem = instance(
        job((0, 4), (3, 8), nodes=2, B=12, O=3, wall=5), options={"kill": True}
    )
    (row,) = run(problem)
    assert row["killed"] and times(row["io"][1]) == (4, 4, None)
    assert streams(row) == [("drain", 1, 1, 5)] and row["released_seconds"] == 5
    (row,) = run(instance(job((1, 0), B=4, I=4, O=4, wall=2), options={"kill": True}))
    assert row["killed"] and streams(row) == [("in", 0, 0, None)]
    assert row["end_seconds"] == row["released_seconds"] == 2


def test_who_holds_what_until_when() -> None:
    """Rule 44. Job 0 ends at 1 and drains to 5. Job 1 needs 4 nodes: at 1, or at 5 if
    they wait too. Job 2 needs 12 of 16 bytes, of which 8 are free until 5."""
    jobs = [job((0, 4), nodes=4, B=8), job((1, 0), nodes=4), job((1, 0), B=12)]
    assert starts(instance(*jobs)) == [0, 1, 5]
    assert starts(instance(*jobs, options={"nodes_until": "release"})) == [0, 5, 6]


def test_the_release_of_an_ended_job_is_predicted() -> None:
    """Rules 44 and 46. Job 0 (B 16) ends at 1 and drains 4 B to 5, so the head job 1 is
    promised 5: job 2 may run 4 s from 1 on, job 3 (5 s, 4 of the 12 bytes that are left
    then) too, job 4 (5 s, 9 bytes) may not."""
    jobs = [
        job((0, 4), nodes=2, B=16),
        job((5, 0), B=4, submit=1),
        job((4, 0), wall=4, submit=1),
        job((5, 0), wall=5, submit=1),
    ]
    assert starts(instance(*jobs)) == [0, 5, 1, 1]
    # Now extra nodes are 1: who is over by 5 needs none.
    jobs[1] = job((5, 0), nodes=3, B=4, submit=1)
    assert starts(instance(*jobs)) == [0, 5, 1, 1]
    jobs[3] = job((5, 0), nodes=2, wall=5, submit=1)
    assert starts(instance(*jobs)) == [0, 5, 1, 10]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_release_of_a_killed_job_counts_no_stage_out(engine: str) -> None:
    """Rules 41 and 44. Job 0 writes 4 B by 2, is killed at 3 and drains to 6; its 8 B
    are not staged out. So job 1 (10 of 16 B) is promised 6, and job 2, 5 s on all nodes
    at 4, waits until job 1 ends at 16."""
    jobs = [
        job((0, 4), (10, 0), B=10, O=8, wall=3),
        job((10, 0), B=10, submit=1),
        job((5, 0), nodes=4, wall=5, submit=4),
    ]
    rows = run(instance(*jobs, options={"kill": True}), engine=engine)
    assert rows[0]["killed"] and rows[0]["released_seconds"] == 6
    assert [row["start_seconds"] for row in rows] == [0, 6, 16]


@pytest.mark.parametrize("engine", ENGINES)
def test_waiting_holders_lose_their_bytes(engine: str) -> None:
    """Rule 45. Job 0 has 3 of 4 nodes to 5. Job 1 (4 nodes) waits, takes 10 of 16 B
    and stages from 0. Job 2 needs 8 B at 2: job 1 loses its; from 3 on, when job 2 is
    over, it stages again."""
    jobs = [
        job((5, 0), nodes=3, wall=5),
        job((2, 0), nodes=4, B=10, I=6),
        job((1, 0), B=8, submit=2, wall=1),
    ]
    problem = instance(*jobs, options={"staging": "ahead"})
    _, second, third = run(problem, engine=engine)
    assert third["start_seconds"] == 2
    assert streams(second) == [("in", 3, 3, 9)]
    assert second["streams"][0]["rates"] == [[3, 9, 1]]
    assert (second["start_seconds"], second["end_seconds"]) == (5, 11)


def test_easy_counts_both_resources() -> None:
    """Rule 46. Job 0 holds 2 nodes and 12 of 16 B to 10; the head, 2 nodes and 8 B, is
    promised 10, with 2 nodes and 16 - 8 = 8 B beside it. Late jobs of 1 node: 3 B fit
    now (4 free) and then, 5 B do not fit now; none of more than 8 B may stay. Without
    backfill nobody passes the head."""
    jobs = [
        job((10, 0), nodes=2, B=12, wall=10),
        job((5, 0), nodes=2, B=8),
        job((20, 0), B=3, wall=20),
        job((20, 0), B=5, wall=20),
        job((9, 0), B=1, wall=9),
    ]
    assert starts(instance(*jobs)) == [0, 10, 0, 10, 0]
    # 8 + 3 + 5 B are all there are.
    assert starts(instance(*jobs, options={"backfill": "none"})) == [0, 10, 10, 10, 15]


def test_partitions_promise_a_block_and_the_bytes() -> None:
    """Rule 46. Job 0 (block 0-1, 12 B) runs to 10: the head of 2 nodes lacks bytes
    until then and is promised nodes 0-1 at 10, the lowest block, with 8 B beside it.
    Late jobs: 3 B on node 2."""
    jobs = [
        job((10, 0), nodes=2, B=12, wall=10),
        job((5, 0), nodes=2, B=8),
        job((20, 0), B=3, wall=20),
        job((20, 0), B=4, wall=20),
    ]
    rows = run(instance(*jobs, allocation="partition"))
    # 3 + 4 B fit beside 8, but not beside 12 and 3.
    assert [row["start_seconds"] for row in rows] == [0, 10, 0, 10]
    assert [row["first_node"] for row in rows[:3]] == [0, 0, 2]


def test_measures() -> None:
    """Rule 48. Stage-in 0-4, compute to 6, write 6-8, drained to 12: ideal 4 + 2
    + 4/2 = 8, no delay.
    """
    result = ioopt.solve(instance(job((2, 4), B=4, I=4)), "cons-fcfs")
    found = [
        result.metrics[name]
        for name in (
            "mean_response_seconds",
            "mean_slowdown",
            "makespan_seconds",
            "io_delay_seconds",
            "mean_release_seconds",
            "max_release_seconds",
        )
    ]
    assert found == [8, 1, 8, 0, 4, 4]


@pytest.mark.parametrize(
    ("jobs", "changes", "mean"),
    [
        # Each holds all 16 bytes for 1 + 2 (write) + 8 (drain) = 11 s:
        # ends 3 and 11 + 3.
        ([job((1, 8), nodes=2, B=16)] * 2, {}, 8.5),
        # Each keeps all nodes for 1 + 1 (write at 8) + 2 (drain at 4) = 4
        # s: ends 2 and 4 + 2.
        ([job((1, 8), nodes=4, B=16)] * 2, {"buffer": {"placement": "per-node"}}, 4.0),
        # Nodes kept for 1 + 1/2 + 2 = 3.5 s: ends 1.5 and 3.5 + 1.5.
        (
            [job((1, 2), nodes=4, B=2)] * 2,
            {"options": {"nodes_until": "release"}},
            3.25,
        ),
        # Written by 3, drained by 11; the second write has room then, and takes 2 s.
        ([job((1, 8), (1, 8), nodes=2, B=8)], {}, 13.0),
        # 4 s of stage-in, before or after the start, 1 s of computing, 2 s of writing.
        ([job((1, 8), nodes=4, B=8, I=4)], {"options": {"staging": "ahead"}}, 7.0),
        ([job((1, 8), nodes=4, B=8, I=4)], {"options": {"staging": "at-start"}}, 7.0),
    ],
)
def test_the_bound_knows_what_the_buffer_costs(
    jobs: list[dict[str, Any]], changes: dict[str, Any], mean: float
) -> None:
    result = ioopt.solve(instance(*jobs, **changes), "fill")
    assert result.objective == pytest.approx(mean) and result.status == "optimal"


def test_pictures_show_the_storage_s_traffic() -> None:
    """A write of 4 B/s to the buffer is none of the storage's, which
    takes its drain of 1 B/s.
    """
    result = ioopt.solve(instance(job((0, 4), nodes=2, B=4), job((0, 2))), "cons-fcfs")
    assert result.schedule is not None
    assert rates_by_job(result.schedule) == {"0": [(1, 5, 1)], "1": [(0, 1, 2)]}


def test_a_generated_buffer_is_used() -> None:
    for settings in ({}, {"placement": "per-node", "staging": "at-start"}):
        problem = generate("burst-buffer", settings, seed=3)
        result = ioopt.solve(problem, "fill")
        assert result.violations == () and result.schedule is not None
        kinds = {
            record["kind"]
            for row in result.schedule["jobs"]
            for record in row["streams"]
        }
        assert kinds == {"in", "drain", "out"}


def test_a_plan_that_outgrows_its_buffer_is_refused() -> None:
    with pytest.raises(UsageError, match="phases of 8 bytes exceed buffer_bytes 4"):
        ioopt.solve(instance(job((0, 4), B=4)), "cons-fcfs", settings={"ef": "2"})
