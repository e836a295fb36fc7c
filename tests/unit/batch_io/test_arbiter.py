"""The arbiter decides as the simulator's policies do, and nothing
breaks its decisions.
"""

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from batch_io_traces import FLAT, snapshot

import ioopt
from ioopt.embed import IoArbiter
from ioopt.errors import InstanceError, UsageError
from ioopt.registry import solvers_for

MACHINE = {**FLAT, "nodes": 16, "storage_bytes_per_second": 6.0}


def two(policy: Any = "fill", **settings: Any) -> IoArbiter:
    arbiter = IoArbiter(MACHINE, policy, settings)
    arbiter.request("a", nodes=4, size=8.0, now=0.0)
    arbiter.request("b", nodes=4, size=4.0, now=1.0)
    return arbiter


def test_grants_follow_requests_progress_and_finishes() -> None:
    arbiter = two("cons-fcfs+top")
    assert arbiter.decide(1.0) == {"a": 4.0, "b": 2.0}
    arbiter.finish("a")
    assert arbiter.decide(3.0) == {"b": 4.0}
    arbiter.finish("b")
    assert arbiter.decide(4.0) == {} and len(arbiter) == 0
    # FILL serves the fewest bytes left first; progress turns the order around.
    arbiter = two()
    assert arbiter.decide(1.0) == {"a": 2.0, "b": 4.0}
    arbiter.progress("a", 7.0)
    assert arbiter.decide(2.0) == {"a": 4.0, "b": 2.0}


@pytest.mark.parametrize("name", [row.name for row in solvers_for("io-requests")])
def test_decides_as_the_solver_does_and_so_does_a_restored_one(name: str) -> None:
    rng = random.Random(4)
    for _ in range(40):
        arbiter = IoArbiter(MACHINE, name)
        rows = []
        for k in range(rng.randint(1, 7)):
            size, moved = float(rng.randint(1, 50)), float(rng.choice([0, 0, 3]))
            extra = {
                "start_seconds": 0.0,
                "compute_seconds_so_far": float(rng.randint(0, 9)),
                "ideal_io_seconds_so_far": 1.0,
                "iteration_seconds": float(rng.randint(1, 900)),
            }
            asked, nodes = float(rng.randint(0, 10)), rng.randint(1, 16)
            arbiter.request(k, nodes, size + moved, asked, **extra)
            arbiter.progress(k, moved)
            row = {"id": k, "nodes": nodes, "request_seconds": asked, **extra}
            rows.append({**row, "left_bytes": size, "moved_bytes": moved})
        plan = ioopt.solve(snapshot(MACHINE, 10.0, rows), name).plan
        assert plan is not None
        assert arbiter.decide(10.0) == plan["grants"]
        assert arbiter.notes == ()
        restored = IoArbiter.restore(json.loads(json.dumps(arbiter.state())))
        assert restored.decide(10.0) == plan["grants"]
        assert restored.state() == arbiter.state()


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (lambda view: [1.0], "1 rates for 2 requests"),
        (lambda view: [float("nan"), 1.0], "below 0 or above"),
        (lambda view: [-1.0, 1.0], "below 0 or above"),
        (lambda view: [5.0, 0.0], "below 0 or above"),
        (lambda view: [4.0, 4.0], "8.0 bytes/s in all"),
        (lambda view: ["fast", "faster"], "TypeError"),
    ],
)
@pytest.mark.parametrize("deadline", [None, 3600.0])
def test_bad_policies_are_answered_by_sharing(
    policy: Any, words: str, deadline: float | None
) -> None:
    arbiter = two(policy)
    assert arbiter.decide(1.0, deadline) == {"a": 3.0, "b": 3.0}
    assert len(arbiter.notes) == 1 and words in arbiter.notes[0]


@pytest.mark.parametrize(
    "values",
    [
        {"id": "a", "nodes": 1},  # outstanding already
        {"id": 7, "nodes": 1},  # number among text
        {"id": "c", "nodes": 17},  # larger than the machine
        {"id": "c", "nodes": 0},
        {"id": "c", "nodes": 1, "size": -1.0},
        {"id": "c", "nodes": 1, "now": float("nan")},
    ],
)
def test_bad_requests_change_nothing(values: dict[str, Any]) -> None:
    arbiter = two()
    before = arbiter.state()
    with pytest.raises(InstanceError):
        arbiter.request(**{"size": 1.0, "now": 2.0, **values})
    assert arbiter.state() == before


def test_unknown_requests_and_states_are_refused() -> None:
    arbiter = two()
    with pytest.raises(UsageError, match="not outstanding"):
        arbiter.finish("z")
    with pytest.raises(UsageError, match=r"moved 9\.0 of 8\.0"):
        arbiter.progress("a", 9.0)
    with pytest.raises(UsageError, match="no setting 'beta'"):
        IoArbiter(MACHINE, "fill", {"beta": 1})
    with pytest.raises(InstanceError, match="not a saved arbiter"):
        IoArbiter.restore({"machine": MACHINE})


@pytest.mark.parametrize(
    "events", [8_000, pytest.param(200_000, marks=pytest.mark.slow)]
)
def test_many_events_leave_nothing_behind(events: int) -> None:
    rng = random.Random(2)
    arbiter = IoArbiter(MACHINE, "fill")
    held = []
    # What else runs in this process allocates too: only what our own
    # lines hold is counted.
    ours = tracemalloc.Filter(True, str(Path(ioopt.__file__).parent / "*"))
    tracemalloc.start()
    for number in range(events // 4):
        arbiter.request(number, rng.randint(1, 8), 10.0, float(number))
        if number >= 8:
            arbiter.progress(number - 8, rng.uniform(0, 10))
            arbiter.decide(float(number))
            arbiter.finish(number - 8)
        if number in (events // 8, events // 4 - 1):
            traces = tracemalloc.take_snapshot().filter_traces([ours]).traces
            held.append(sum(trace.size for trace in traces))
    tracemalloc.stop()
    assert len(arbiter) == 8
    assert held[1] < held[0] + 20_000
