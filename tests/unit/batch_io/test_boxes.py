"""Queues that plan in boxes, numbered units and passes by event, by hand:
rules 30 to 36 and 47.

Beside the worked cases (tests/cases/batch-io-extension), which every engine repeats.
"""

from typing import Any

import pytest

from tests.unit.batch_io.test_queue import spans, trace

CONSERVATIVE = {"queue": "fcfs", "backfill": "conservative"}
EVENT = {"queue": "fcfs", "pass": "event"}
# At 10: b 20 s and c 6 s on both nodes, d and e 5 s on one. Waits of (b, c, d, e),
# submitted at 1, 3, 2, 3: d e together, c, b: 10, 10, 15, 21 -> 8 + 7 + 12 + 20 = 47.
# As queued: 10, 30, 30, 35 -> 106.
SEARCHED = "a 0 2 10; b 1 2 20; d 2 1 5; e 3 1 5; c 3 2 6"
# One node from 10 on; b 20 s since 0, c 12 s since 9.5. Waits of b c: 10 + 20.5, of c
# b: .5 + 22, so c is first; as eighth powers 3.1e10 against 5.5e10: b is first.
POWERS = "a 0 1 10; b 0 1 20; c 9.5 1 12"
# Eight jobs of one node, lengths 8 to 1, wait for one node at 10: shortest first
# is the seventh sort.
EIGHT = (
    "x 0 1 10; a 1 1 8; b 1 1 7; c 1 1 6; d 1 1 5; e 1 1 4; f 1 1 3; g 1 1 2; h 1 1 1"
)
SHORTEST_FIRST = {
    "x": 0,
    "h": 10,
    "g": 11,
    "f": 13,
    "e": 16,
    "d": 20,
    "c": 25,
    "b": 31,
    "a": 38,
}
# 3 nodes at 10: pairs of 2 and 1 nodes of equal length go together: (a d) 1 s, (b
# e) 2 s, (c f) 3 s.
PAIRS = "x 0 3 10; f 1 1 3; a 1 2 1; e 1 1 2; c 1 2 3; b 1 2 2; d 1 1 1"
# a on 0-1 to 10, b on 2 to 20. c (2 units) has the block 0-1 at 10, d (4) all at 20. e
# (1 unit, 9 s) fits on 3 at 4; f (1 unit, 30 s) would delay d: at 30.
BLOCKS = "a 0 2 10; b 0 1 20; c 1 2 10; d 2 4 10; e 4 1 9; f 5 1 30"
IN_BLOCKS = {"a": 0, "b": 0, "c": 10, "d": 20, "e": 4, "f": 30}
# Both end at their walltime 10. After a, c's box is [10, 20) since b is predicted to
# end now, and d may not have a's node; after b, c starts.
BOX_OF_NOW = "a 0 1 10; b 0 1 10; c 1 2 10; d 2 1 8"


def starts(jobs: str, machine: dict[str, Any], **options: Any) -> dict[str, float]:
    """Starts of jobs given as name, submit, nodes, walltime and, where
    it differs, run time.
    """
    rows = []
    for text in jobs.split("; "):
        name, submit, nodes, wall, *run = text.split()
        seconds = float(run[0]) if run else float(wall)
        rows.append((name, float(submit), int(nodes), float(wall), [(seconds, 0)]))
    return {
        name: times[0] for name, times in spans(trace(rows, machine, **options)).items()
    }


@pytest.mark.parametrize(
    ("nodes", "jobs", "options", "expected"),
    [
        # All of 8 until 10: c (3) at 10, b (5) at 13.
        (8, "a 0 8 10; b 1 8 5; c 2 8 3", {"queue": "sjf"}, {"a": 0, "b": 13, "c": 10}),
        # 2 of 8 free until 10, b waits for all. Behind it c (9) and d (8) would
        # fit: d is shorter.
        (
            8,
            "a 0 6 10; b 0 8 5; c 0 2 9; d 0 2 8",
            {"queue": "fcfs"},
            {"a": 0, "b": 10, "c": 0, "d": 15},
        ),
        (
            8,
            "a 0 6 10; b 0 8 5; c 0 2 9; d 0 2 8",
            {"queue": "fcfs", "backfill_order": "sjf"},
            {"a": 0, "b": 10, "c": 15, "d": 0},
        ),
        # b is planned at 10, then c (5 s) at 20. At 10 c is first, and b's box does
        # not stand: rebuilt.
        (
            2,
            "a 0 2 10; b 1 2 10; c 2 2 5",
            CONSERVATIVE | {"queue": "sjf", "plan": "rebuild"},
            {"a": 0, "b": 15, "c": 10},
        ),
        # a (walltime 5) runs to 20. b (2 nodes) was planned at 5, c (all) at 15. At 6 d
        # comes: a is predicted at 306, so that d (1 node, 3 s) starts at 6; at 20 b
        # (order of arrival), at 30 c.
        (
            4,
            "a 0 3 5 20; b 1 2 10; c 2 4 10; d 6 1 3",
            CONSERVATIVE,
            {"a": 0, "b": 20, "c": 30, "d": 6},
        ),
        *(
            (4, BLOCKS, CONSERVATIVE | {"plan": plan}, IN_BLOCKS)
            for plan in ("keep", "rebuild")
        ),
        *(
            (2, BOX_OF_NOW, EVENT | how, {"a": 0, "b": 0, "c": 10, "d": 20})
            for how in ({"backfill": "conservative"}, {"reservation": "nodes"})
        ),
        (2, SEARCHED, {"queue": "plan"}, {"a": 0, "b": 21, "c": 15, "d": 10, "e": 10}),
        # The first may be held in front: b from 10 to 30, then d and e, then c.
        (
            2,
            SEARCHED,
            {"queue": "plan", "plan_depth": 1},
            {"a": 0, "b": 10, "c": 35, "d": 30, "e": 30},
        ),
        (1, POWERS, {"queue": "plan"}, {"a": 0, "b": 22, "c": 10}),
        (1, POWERS, {"queue": "plan", "plan_power": 8}, {"a": 0, "b": 10, "c": 30}),
        *(
            (1, EIGHT, {"queue": "plan", "plan_evaluations": most}, SHORTEST_FIRST)
            for most in (9, 189)
        ),
    ],
)
def test_starts_by_hand(
    nodes: int, jobs: str, options: dict[str, Any], expected: dict[str, float]
) -> None:
    machine = {"nodes": nodes, "allocation": "partition" if jobs == BLOCKS else "flat"}
    assert starts(jobs, machine, **options) == expected


def test_exchanges_find_what_no_sort_has() -> None:
    """Starts 10 10 11 11 13 13. One evaluation is as queued."""
    sums = [
        sum(starts(PAIRS, {"nodes": 3}, queue="plan", plan_evaluations=most).values())
        for most in (1, 9, 189)
    ]
    assert sums[2] <= sums[1] <= sums[0] and sums[2] == 10 + 10 + 11 + 11 + 13 + 13
