"""Trace Event JSON, CSV and Gantt chart of one small timeline, read back."""

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from replication_samples import document

import ioopt
from ioopt.errors import UsageError
from ioopt.formats.trace_events import CSV_COLUMNS, timeline_csv, trace_events_json
from ioopt.plot.gantt import plot_replication, plot_timeline
from ioopt.result import Result
from ioopt.sim.replication.simulate import simulate
from ioopt.timeline import Interval, Timeline, replication_timeline


def solved() -> Result:
    """A batch of three tasks on two nodes with one file too many for the disk of n0."""
    return ioopt.solve(BATCH, "minmin")


BATCH = document(
    [{"disk_bytes": 60}, {"disk_bytes": 100}],
    {"f": 60, "g": 50},
    {"a": (1, "f"), "b": (2, "g"), "c": (1, "f")},
    10,
    30,
)


def test_trace_has_every_interval_once_in_microseconds() -> None:
    problem = ioopt.load(BATCH)
    result = solved()
    timeline = simulate(
        problem, ioopt.loading.plan_of(ioopt.registry.KINDS["replication"], result.plan)
    ).timeline
    assert timeline is not None
    events = json.loads(trace_events_json(timeline))["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    assert len(complete) == len(timeline.intervals) > 4
    for event, item in zip(complete, timeline.intervals, strict=True):
        assert event["ts"] == pytest.approx(item.start * 1e6)
        assert event["dur"] == pytest.approx(item.duration * 1e6)
    names = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    assert all(names[event["tid"]].endswith(event["cat"]) for event in complete)
    instants = [event for event in events if event["ph"] == "i"]
    assert len(instants) == len(timeline.marks)
    rows = list(csv.DictReader(io.StringIO(timeline_csv(timeline))))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert len(rows) == len(timeline.intervals) + len(timeline.marks)
    assert max(float(row["end_seconds"]) for row in rows) == timeline.makespan


def test_a_trace_is_one_that_viewers_accept() -> None:
    """Every event has the fields of its phase, and events of a thread do not overlap,
    because viewers would show one inside the other.
    """
    intervals = [
        Interval(0, 4, "n0", "remote", "a", 5.0),
        Interval(1, 6, "n0", "remote", "b"),
        Interval(4, 7, "n0", "remote", "c"),
        Interval(7, 9, "n0", "compute", "t", info={"core": 1}),
    ]
    timeline = Timeline.of(intervals, marks=[Interval(5, 5, "n0", "eviction", "a")])
    timeline = replace(
        timeline,
        flows=((timeline.intervals[0], timeline.intervals[3]),),
        counters={"n0 live bytes": [(0.0, 3), (9.0, 0)]},
    )
    document = json.loads(trace_events_json(timeline))
    assert list(document) == ["traceEvents", "displayTimeUnit"]
    needed = {"X": {"dur", "tid"}, "i": {"s", "tid"}, "C": {"args"}, "M": {"args"}}
    needed |= {"s": {"id", "tid"}, "f": {"id", "tid", "bp"}}
    named = set()
    spans: dict[int, list[tuple[float, float]]] = {}
    for event in document["traceEvents"]:
        assert {"name", "ph", "pid"} | needed[event["ph"]] <= set(event)
        assert event["ph"] == "M" or event["ts"] >= 0
        if event["name"] in ("process_name", "thread_name"):
            named.add((event["name"], event["args"]["name"]))
        if event["ph"] == "X":
            span = event["ts"], event["ts"] + event["dur"]
            spans.setdefault(event["tid"], []).append(span)
    rows = {"n0 remote 0", "n0 remote 1", "n0 compute 1"}
    assert named == {("process_name", "ioopt"), *(("thread_name", row) for row in rows)}
    for row in spans.values():
        assert all(one[1] <= other[0] for one, other in pairwise(sorted(row)))


def test_gantt_draws_one_row_a_node_and_all_kinds() -> None:
    result = solved()
    axes = plot_replication(result)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["n0", "n1"]
    assert axes.get_xlabel() == "time (s)"
    (legend,) = axes.figure.legends
    shown = {text.get_text() for text in legend.get_texts()}
    assert {"computing", "file from remote storage", "idle"} <= shown
    assert result.schedule is not None
    again = plot_timeline(replication_timeline(result.schedule), axes)
    assert again is axes
    with pytest.raises(UsageError, match="no schedule"):
        plot_replication(result.model_copy(update={"schedule": None}))
