"""Queues that plan in boxes, numbered units and passes by event: rules 30 to 36.

Beside the worked cases (tests/cases/batch-io-extension), which every engine repeats.
"""

from typing import Any

import pytest

from tests.unit.batch_io.test_queue import spans, trace

CONSERVATIVE = {"queue": "fcfs", "backfill": "conservative"}
EVENT = {"queue": "fcfs", "pass": "event"}
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
    ],
)
def test_starts_by_hand(
    nodes: int, jobs: str, options: dict[str, Any], expected: dict[str, float]
) -> None:
    machine = {"nodes": nodes, "allocation": "partition" if jobs == BLOCKS else "flat"}
    assert starts(jobs, machine, **options) == expected
