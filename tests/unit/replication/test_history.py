"""What a schedule of a workflow tells beside its times, on a
chain worked out by hand.
"""

import json
from typing import Any

import pytest
from replication_samples import made

import ioopt
from ioopt.formats.trace_events import trace_events
from ioopt.plot.gantt import plot_replication
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import simulate


@pytest.fixture
def chain() -> ReplicationProblem:
    """On a: 10 bytes come (0-10 s), make 20 more (10-15 s, two cores); b
    copies and reads them.
    """
    tasks = {
        "make": (5, ["raw"], ["made"], {"cores": 2}),
        "read": (3, ["made"]),
        "aside": (1,),
    }
    nodes = [{"id": "a", "cores": 2, "disk_bytes": 30}, {"id": "b"}]
    return made(nodes, {"raw": 10, "made": 20}, tasks, 1, 10)


PLAN = ReplicationPlan(order={"a": ("make", "aside"), "b": ("read",)})


def test_cores_disks_and_critical_path(chain: ReplicationProblem) -> None:
    """make ends at 15, its output reaches b at 15 + 20 / 10 = 17, read ends at 20."""
    schedule = simulate(chain, PLAN, engine="python").schedule
    cores = {row["id"]: row["cores"] for row in schedule["tasks"]}
    assert cores == {"make": [0, 1], "aside": [0], "read": [0]}
    critical = [
        row
        for row in (*schedule["tasks"], *schedule["transfers"])
        if row.get("critical")
    ]
    assert {row.get("id") or row["file"] for row in critical} == {
        "raw",
        "make",
        "made",
        "read",
    }
    assert schedule["disks"] == {
        "a": {
            "bytes": 30,
            "used": [[0, 10], [10, 30]],
            "live": [[0, 10], [10, 30], [15, 20], [20, 0]],
        },
        "b": {"bytes": None, "used": [[15, 20]], "live": [[15, 20], [20, 0]]},
    }


def test_a_trace_has_core_lanes_arrows_and_counters(chain: ReplicationProblem) -> None:
    events = trace_events(simulate(chain, PLAN, engine="python").timeline)[
        "traceEvents"
    ]
    names = [
        event["args"]["name"] for event in events if event["name"] == "thread_name"
    ]
    assert names == ["a compute 0", "a compute 1", "a remote", "b compute", "b copy"]
    rows = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    arrows = [
        (event["ph"], rows[event["tid"]]) for event in events if event["ph"] in "sf"
    ]
    assert arrows == [
        ("s", "a compute 0"),
        ("f", "b copy"),
        ("s", "b copy"),
        ("f", "b compute"),
    ]
    live = [
        event["args"]["bytes"] for event in events if event["name"] == "a live bytes"
    ]
    assert live == [10, 30, 20, 0]


def test_a_batch_keeps_its_rows_and_its_picture(chain: ReplicationProblem) -> None:
    batch: dict[str, Any] = json.loads(chain.model_dump_json(exclude_defaults=True))
    for task in batch["tasks"]:
        task.pop("outputs", None)
        task.pop("cores", None)
    batch["nodes"][0].pop("cores")
    ran = simulate(ReplicationProblem.model_validate(batch), PLAN, engine="python")
    assert set(ran.schedule["tasks"][0]) == {
        "id",
        "node",
        "start_seconds",
        "end_seconds",
        "cores",
    }
    assert "disks" not in ran.schedule and ran.timeline.counters == {} == dict(
        ran.timeline.flows
    )


def test_the_picture_has_a_panel_of_live_bytes(chain: ReplicationProblem) -> None:
    result = ioopt.solve(chain, "heft")
    axes = plot_replication(result)
    below = axes.figure.axes[1]
    assert [line.get_label() for line in below.get_lines()] == ["a", "b", "disk"]
    (legend,) = axes.figure.legends
    assert "critical path" in [text.get_text() for text in legend.get_texts()]


def test_a_task_on_cores_apart_is_one_task() -> None:
    """Cores 1 and 3 end first, so the wide task takes these; core 2
    between them is another's.
    """
    batch = ioopt.Batch(remote="1MB/s", replica="1MB/s")
    batch.add_node(cores=4)
    for seconds in (9, 5, 9, 5):
        batch.add_task(seconds)
    batch.add_task(6, "wide", cores=2)
    result = ioopt.solve(batch, "fifo")
    assert [
        row["cores"] for row in result.schedule["tasks"] if row["id"] == "wide"
    ] == [[1, 3]]
    axes = plot_replication(result)
    # One box, as high as two lanes: the tasks of 9 s are drawn as neighbours.
    names = ["t0", "t1", "t2", "t3", "wide"]
    assert sorted(text.get_text() for text in axes.texts) == names
