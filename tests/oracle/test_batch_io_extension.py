"""Rules 24-49: the engines against the slow reference on tiny random traces, and by hand."""

from __future__ import annotations

from typing import Any

import pytest

import ioopt
from tests.batch_io_extension_traces import random_extension
from tests.batch_io_traces import by_hand
from tests.conftest import ENGINES
from tests.oracle.batch_io_compare import RUNS, differences, policy_of

KINDS = {"rates": ("rates",), "queue": ("queue",), "buffer": ("buffer",), "both": ("queue", "buffer"),
         "mixed": ()}  # fmt: skip


BLOCK = 250
BLOCKS = [
    pytest.param(kind, range(at, at + BLOCK), marks=pytest.mark.slow)
    for kind in KINDS
    for at in range(100, 2100 if kind == "mixed" else 1100, BLOCK)
]
"""1,000 seeds of each kind, 2,000 of all mixed."""


@pytest.mark.parametrize(("kind", "seeds"), [*((kind, None) for kind in KINDS), *BLOCKS])
@pytest.mark.parametrize("engine", [*ENGINES, "exact"])
def test_engines_against_the_reference(engine: str, kind: str, seeds: range | None) -> None:
    for seed in seeds or range({"python": 25, "exact": 40}.get(engine, 100)):
        found = differences(random_extension(seed, *KINDS[kind]), *policy_of(seed), engine)
        assert not found, (seed, found)


def queue_of(nodes: int, options: dict[str, Any], *jobs: tuple[float, int, float, float]) -> Any:
    """Jobs 0, 1, ... of (submit, nodes, walltime, compute) on numbered nodes of a flat machine."""
    rows = [
        (k, submit, n, wall, [(compute, 0)]) for k, (submit, n, wall, compute) in enumerate(jobs)
    ]
    how = {"backfill": "conservative", "reservation": "nodes", "estimate": "uncongested", **options}
    return by_hand(rows, {"nodes": nodes, "storage_bytes_per_second": 1}, **how)


def starts(instance: Any, engine: str) -> list[float]:
    result = ioopt.solve(instance, "base-line", settings=RUNS[engine])
    assert result.schedule is not None and result.violations == ()
    return [row["start_seconds"] for row in result.schedule["jobs"]]


@pytest.mark.parametrize("engine", [*ENGINES, "exact"])
def test_a_box_of_no_length_keeps_nobody_off_its_nodes(engine: str) -> None:
    """Rule 35. 0 has node 0 to 10. 1 wants both nodes for no time: at 10. 2 takes node 1 from 0 to
    20 in spite of it; at 10 there is no second node for 1, which goes to 20.
    """
    jobs = (0.0, 1, 10.0, 10.0), (0.0, 2, 5.0, 0.0), (0.0, 1, 20.0, 20.0)
    assert starts(queue_of(2, {"queue": "fcfs"}, *jobs), engine) == [0, 20, 0]


@pytest.mark.parametrize("engine", [*ENGINES, "exact"])
def test_boxes_that_overlap_take_their_nodes_once(engine: str) -> None:
    """Rules 31, 33, 35. 0 has 4 nodes to 5. Planned meanwhile: 1 on 0-1 from 5 to 8, 2 on 0-2 from
    8 to 18, 3 on node 3 from 5. At 5, by walltime 2, 1, 3: 2 stays, 1 starts and runs by its walltime
    to 25, over the box of 2. Node 3 is nobody's: 3 starts.
    """
    jobs = (0.0, 4, 5.0, 5.0), (1.0, 2, 20.0, 3.0), (2.0, 3, 2.0, 10.0), (3.0, 1, 30.0, 10.0)
    assert starts(queue_of(4, {"queue": "sjf"}, *jobs), engine) == [0, 5, 8, 5]
