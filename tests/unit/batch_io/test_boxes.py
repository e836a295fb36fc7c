"""Queues that plan in boxes, numbered units and passes by event, by hand: rules 30 to 36 and 47."""

from __future__ import annotations

import pytest
from conftest import ENGINES

import ioopt
from tests.unit.batch_io.test_queue import spans, trace

FOUR = {"nodes": 4}


def job(name: str, submit: float, nodes: int, wall: float, run: float | None = None) -> tuple:
    return (name, submit, nodes, wall, [(wall if run is None else run, 0)])


def starts(jobs: list[tuple], machine: dict | None = None, **options: object) -> dict[str, float]:
    if "event" in options:
        options["pass"] = options.pop("event")
    return {name: times[0] for name, times in spans(trace(jobs, machine, **options)).items()}


def test_shortest_first_orders_the_queue_and_the_candidates_behind() -> None:
    # All of 8 until 10. sjf: c (3) at 10, b (5) at 13. fcfs with the rest by walltime: see below.
    jobs = [job("a", 0, 8, 10), job("b", 1, 8, 5), job("c", 2, 8, 3)]
    assert starts(jobs, queue="sjf") == {"a": 0, "b": 13, "c": 10}
    # 2 of 8 free until 10, b waits for all. Behind it both c (9) and d (8) would fit: d is shorter.
    jobs = [job("a", 0, 6, 10), job("b", 0, 8, 5), job("c", 0, 2, 9), job("d", 0, 2, 8)]
    assert starts(jobs, queue="fcfs") == {"a": 0, "b": 10, "c": 0, "d": 15}
    assert starts(jobs, queue="fcfs", backfill_order="sjf") == {"a": 0, "b": 10, "c": 15, "d": 0}


@pytest.mark.parametrize("engine", ENGINES)
def test_numbered_reservations_keep_others_off_their_nodes(engine: str) -> None:
    # 0-1 free from 5, 2-5 from 20. c is reserved 0-3 at 20, so that d (to 46) waits although 2 are left.
    jobs = [job("a", 0, 2, 5), job("b", 0, 4, 20), job("c", 1, 4, 10), job("d", 6, 2, 40)]
    six = {"nodes": 6}
    assert starts(jobs, six, queue="fcfs") == {"a": 0, "b": 0, "c": 20, "d": 6}
    instance = trace(jobs, six, queue="fcfs", reservation="nodes")
    assert spans(instance)["d"] == (20, 60)
    result = ioopt.solve(instance, "base-line", settings={"engine": engine})
    assert result.schedule is not None
    nodes = {row["id"]: row["nodes"] for row in result.schedule["jobs"]}
    assert nodes == {"a": [0, 1], "b": [2, 3, 4, 5], "c": [0, 1, 2, 3], "d": [4, 5]}


def test_nodes_are_those_of_units() -> None:
    # Units of 4 nodes: a (5 nodes) has units 0 and 1, b unit 2.
    jobs = [job("a", 0, 5, 10), job("b", 0, 1, 10)]
    wide = {"nodes": 12, "unit_nodes": 4}
    result = ioopt.solve(trace(jobs, wide, reservation="nodes"), "base-line")
    assert result.schedule is not None
    assert [row["nodes"] for row in result.schedule["jobs"]] == [[*range(8)], [8, 9, 10, 11]]


def test_conservative_boxes_are_moved_up_when_a_job_ends() -> None:
    # b is planned at 10, c (all) at 20; d (25 s) must not delay c: at 30. a ends at 6: all move up by 4.
    jobs = [job("a", 0, 3, 10, 6), job("b", 1, 3, 10), job("c", 2, 4, 10), job("d", 3, 1, 25)]
    assert starts(jobs, FOUR, queue="fcfs", backfill="conservative") == {
        "a": 0, "b": 6, "c": 16, "d": 26,
    }  # fmt: skip
    # EASY protects b alone: at 3 d fits beside a and b and delays c to 28.
    assert starts(jobs, FOUR, queue="fcfs")["d"] == 3


def test_kept_boxes_of_later_jobs_stand_in_the_way_and_rebuilt_ones_do_not() -> None:
    # sjf: b is planned at 10, then c (5 s) at 20. At 10 c is first, but b's box stands; rebuilt, c is at 10.
    jobs = [job("a", 0, 2, 10), job("b", 1, 2, 10), job("c", 2, 2, 5)]
    two = {"nodes": 2}
    kept = starts(jobs, two, queue="sjf", backfill="conservative")
    assert kept == {"a": 0, "b": 10, "c": 20}
    anew = starts(jobs, two, queue="sjf", backfill="conservative", plan="rebuild")
    assert anew == {"a": 0, "b": 15, "c": 10}


def test_an_overrun_drops_all_boxes() -> None:
    # a (walltime 5) runs to 20. b (2 nodes) was planned at 5, c (all) at 15. At 6 d comes: a is predicted at
    # 306, so that d (1 node, 3 s) starts at 6; at 20 b (order of arrival), at 30 c.
    jobs = [job("a", 0, 3, 5, 20), job("b", 1, 2, 10), job("c", 2, 4, 10), job("d", 6, 1, 3)]
    found = starts(jobs, FOUR, queue="fcfs", backfill="conservative")
    assert found == {"a": 0, "b": 20, "c": 30, "d": 6}


def test_partitions_are_planned_by_blocks() -> None:
    # a on 0-1 to 10, b on 2 to 20. c (2 units) has the block 0-1 at 10, d (4) all at 20. e (1 unit, 9 s) fits
    # on 3 at 4; f (1 unit, 30 s) would delay d: at 30.
    blocks = {"nodes": 4, "allocation": "partition"}
    jobs = [job("a", 0, 2, 10), job("b", 0, 1, 20), job("c", 1, 2, 10), job("d", 2, 4, 10),
            job("e", 4, 1, 9), job("f", 5, 1, 30)]  # fmt: skip
    for plan in ("keep", "rebuild"):
        found = starts(jobs, blocks, queue="fcfs", backfill="conservative", plan=plan)
        assert found == {"a": 0, "b": 0, "c": 10, "d": 20, "e": 4, "f": 30}


def test_waiting_jobs_may_be_planned_by_their_run_time() -> None:
    # c asks for 100 s and runs 5: with its run time it is over before b's reservation at 10.
    jobs = [job("a", 0, 1, 10), job("b", 1, 2, 10), job("c", 2, 1, 100, 5)]
    two = {"nodes": 2}
    for options in ({}, {"reservation": "nodes"}, {"backfill": "conservative"}):
        assert starts(jobs, two, queue="fcfs", **options)["c"] == 20
        assert starts(jobs, two, queue="fcfs", estimate="uncongested", **options)["c"] == 2


def test_a_pass_an_event_sees_the_later_ends_of_the_instant_as_running() -> None:
    # a and b end at 10. After a alone, c (2 nodes) is reserved at 20, the walltime of b, and d (8 s) starts.
    jobs = [job("a", 0, 1, 10), job("b", 0, 1, 20, 10), job("c", 1, 2, 10), job("d", 2, 1, 8)]
    two = {"nodes": 2}
    assert starts(jobs, two, queue="fcfs") == {"a": 0, "b": 0, "c": 10, "d": 20}
    for options in ({}, {"reservation": "nodes"}, {"backfill": "conservative"}):
        found = starts(jobs, two, queue="fcfs", event="event", **options)
        assert found == {"a": 0, "b": 0, "c": 18, "d": 10}


def test_a_box_of_now_waits_for_nodes_that_are_about_to_be_free() -> None:
    # Both end at their walltime 10. After a, c's box is [10, 20) since b is predicted to end now, and d may
    # not have a's node; after b, c starts.
    jobs = [job("a", 0, 1, 10), job("b", 0, 1, 10), job("c", 1, 2, 10), job("d", 2, 1, 8)]
    for options in ({"backfill": "conservative"}, {"reservation": "nodes"}):
        found = starts(jobs, {"nodes": 2}, queue="fcfs", event="event", **options)
        assert found == {"a": 0, "b": 0, "c": 10, "d": 20}


# At 10: b 20 s and c 6 s on both nodes, d and e 5 s on one. Waits of (b, c, d, e), submitted at 1, 3, 2, 3:
# d e together, c, b: 10, 10, 15, 21 -> 8 + 7 + 12 + 20 = 47. As queued: 10, 30, 30, 35 -> 106.
SEARCHED = [job("a", 0, 2, 10), job("b", 1, 2, 20), job("d", 2, 1, 5), job("e", 3, 1, 5),
            job("c", 3, 2, 6)]  # fmt: skip


def test_a_planned_queue_takes_the_order_with_the_least_sum_of_waits() -> None:
    found = starts(SEARCHED, {"nodes": 2}, queue="plan")
    assert found == {"a": 0, "b": 21, "c": 15, "d": 10, "e": 10}


def test_the_first_of_a_planned_queue_may_be_held_in_front() -> None:
    # b from 10 to 30, then d and e, then c.
    found = starts(SEARCHED, {"nodes": 2}, queue="plan", plan_depth=1)
    assert found == {"a": 0, "b": 10, "c": 35, "d": 30, "e": 30}


def test_powers_of_waits_let_nobody_wait_too_long() -> None:
    # One node from 10 on; b 20 s since 0, c 12 s since 9.5. Waits of b c: 10 + 20.5, of c b: .5 + 22, so c is
    # first; as eighth powers 3.1e10 against 5.5e10: b is first.
    one = {"nodes": 1}
    jobs = [job("a", 0, 1, 10), job("b", 0, 1, 20), job("c", 9.5, 1, 12)]
    assert starts(jobs, one, queue="plan")["c"] == 10
    assert starts(jobs, one, queue="plan", plan_power=8)["c"] == 30


@pytest.mark.parametrize("evaluations", [9, 189])
def test_more_than_five_jobs_are_sorted_and_exchanged(evaluations: int) -> None:
    # Eight jobs of one node, lengths 8 to 1, wait for one node at 10: shortest first is the seventh sort.
    jobs = [job("x", 0, 1, 10)] + [job(n, 1, 1, 8 - k) for k, n in enumerate("abcdefgh")]
    found = starts(jobs, {"nodes": 1}, queue="plan", plan_evaluations=evaluations)
    assert found["h"] == 10 and found["a"] == 10 + sum(range(1, 8))


def test_exchanges_find_what_no_sort_has() -> None:
    # 3 nodes at 10: pairs of 2 and 1 nodes of equal length go together: (a d) 1 s, (b e) 2 s, (c f) 3 s.
    # Starts 10 10 11 11 13 13. One evaluation is as queued.
    sizes = {"f": (1, 3), "a": (2, 1), "e": (1, 2), "c": (2, 3), "b": (2, 2), "d": (1, 1)}
    jobs = [job("x", 0, 3, 10)] + [job(n, 1, *what) for n, what in sizes.items()]
    three = {"nodes": 3}
    sums = [
        sum(starts(jobs, three, queue="plan", plan_evaluations=most).values())
        for most in (1, 9, 189)
    ]
    assert sums[2] <= sums[1] <= sums[0] and sums[2] == 10 + 10 + 11 + 11 + 13 + 13
