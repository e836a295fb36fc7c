"""A Timeline as Trace Event JSON (opens in Perfetto and chrome://tracing) and as CSV.

Format: "Trace Event Format", complete events (``ph`` X), instants (i) and metadata (M); times are
microseconds. Each resource is a thread of one process, so that its intervals stand in one row.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from ioopt.timeline import Interval, Timeline

PROCESS = 1
CSV_COLUMNS = ("resource", "kind", "label", "start_seconds", "end_seconds", "bytes_per_second")


def trace_events(timeline: Timeline) -> dict[str, Any]:
    """The trace as plain JSON values: a row a resource and kind, in the timeline's order.

    What overlaps on a resource (computing and staging) is kept apart, since viewers nest only
    intervals that contain each other.
    """
    events: list[dict[str, Any]] = []
    rows: dict[tuple[str, str], int] = {}
    kinds = sorted({item.kind for item in timeline.intervals})
    for resource in timeline.resources:
        present = {item.kind for item in timeline.on(resource)}
        for kind in [kind for kind in kinds if kind in present] or [""]:
            row = rows[resource, kind] = len(rows) + 1
            name = f"{resource} {kind}".rstrip()
            events.append(_metadata("thread_name", row, {"name": name}))
            events.append(_metadata("thread_sort_index", row, {"sort_index": row}))
    for item in timeline.intervals:
        events.append(
            {
                **_common(item, rows[item.resource, item.kind]),
                "ph": "X",
                "dur": item.duration * 1e6,
            }
        )
    first = {resource: rows[resource, kind] for resource, kind in reversed(rows)}
    for item in timeline.marks:
        events.append({**_common(item, first[item.resource]), "ph": "i", "s": "t"})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def trace_events_json(timeline: Timeline) -> str:
    """:func:`trace_events` as text."""
    return json.dumps(trace_events(timeline), indent=None, separators=(",", ":")) + "\n"


def timeline_csv(timeline: Timeline) -> str:
    """One line an interval and instant, by time; empty rate where it has no meaning."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    items = sorted([*timeline.intervals, *timeline.marks], key=lambda item: (item.start, item.end))
    for item in items:
        rate = "" if item.rate is None else repr(item.rate)
        row = [item.resource, item.kind, item.label, repr(item.start), repr(item.end), rate]
        writer.writerow(row)
    return text.getvalue()


def _metadata(name: str, row: int, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "ph": "M", "pid": PROCESS, "tid": row, "args": arguments}


def _common(item: Interval, row: int) -> dict[str, Any]:
    known = {"bytes_per_second": item.rate, **item.info}
    return {
        "name": item.label,
        "cat": item.kind,
        "ts": item.start * 1e6,
        "pid": PROCESS,
        "tid": row,
        "args": {key: value for key, value in known.items() if value is not None},
    }
