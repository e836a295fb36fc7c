"""A Timeline as Trace Event JSON (opens in Perfetto and chrome://tracing) and as CSV.

Format: "Trace Event Format", complete events (``ph`` X), instants (i), flows (s, f),
counters (C) and metadata (M); times are microseconds. Each resource is a thread of one
process, so that its intervals stand in one row.
"""

import csv
import io
import json

from ioopt.problems.base import Json
from ioopt.timeline import Interval, Timeline

PROCESS = 1
CSV_COLUMNS = (
    "resource",
    "kind",
    "label",
    "start_seconds",
    "end_seconds",
    "bytes_per_second",
)


def trace_events(timeline: Timeline) -> Json:
    """The trace as plain JSON values: a row a resource and kind, as
    viewers nest what overlaps.
    """
    events: list[Json] = []
    rows: dict[tuple[str, str], int] = {}
    present: dict[str, set[tuple[str, int]]] = {
        name: set() for name in timeline.resources
    }
    for item in timeline.intervals:
        present[item.resource].add((item.kind, int(item.info.get("core") or 0)))
    for resource in timeline.resources:
        several = any(core for _, core in present[resource])
        for kind, core in sorted(present[resource]) or [("", 0)]:
            name = _lane(kind, core if several and kind == "compute" else None)
            row = rows[resource, _lane(kind, core)] = len(rows) + 1
            events.append(
                _metadata("thread_name", row, {"name": f"{resource} {name}".rstrip()})
            )
            events.append(_metadata("thread_sort_index", row, {"sort_index": row}))

    def row_of(item: Interval) -> int:
        return rows[item.resource, _lane(item.kind, int(item.info.get("core") or 0))]

    for item in timeline.intervals:
        more: Json = {"dur": item.duration * 1e6, "tid": row_of(item)}
        events.append(
            {**_event("X", item.label, item.start), **_described(item), **more}
        )
    first = {resource: rows[resource, kind] for resource, kind in reversed(rows)}
    for item in timeline.marks:
        more = {"s": "t", "tid": first[item.resource]}
        events.append(
            {**_event("i", item.label, item.start), **_described(item), **more}
        )
    for number, (maker, reader) in enumerate(timeline.flows):
        # An arrow begins within its interval: at the very end viewers may
        # take the next one.
        begun = _event("s", "file", maker.end - 1e-3 * maker.duration)
        events.append({**begun, "cat": "flow", "id": number, "tid": row_of(maker)})
        ended = _event("f", "file", reader.start)
        events.append(
            {**ended, "cat": "flow", "id": number, "bp": "e", "tid": row_of(reader)}
        )
    for name, steps in timeline.counters.items():
        events += [
            {**_event("C", name, time), "args": {"bytes": value}}
            for time, value in steps
        ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _lane(kind: str, core: int | None) -> str:
    return kind if core is None else f"{kind} {core}"


def trace_events_json(timeline: Timeline) -> str:
    """:func:`trace_events` as text."""
    return json.dumps(trace_events(timeline), indent=None, separators=(",", ":")) + "\n"


def timeline_csv(timeline: Timeline) -> str:
    """One line an interval and instant, by time; empty rate where it has no meaning."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    items = sorted(
        [*timeline.intervals, *timeline.marks], key=lambda item: (item.start, item.end)
    )
    for item in items:
        rate = "" if item.rate is None else repr(item.rate)
        row = [
            item.resource,
            item.kind,
            item.label,
            repr(item.start),
            repr(item.end),
            rate,
        ]
        writer.writerow(row)
    return text.getvalue()


def _metadata(name: str, row: int, arguments: Json) -> Json:
    return {"name": name, "ph": "M", "pid": PROCESS, "tid": row, "args": arguments}


def _event(phase: str, name: str, seconds: float) -> Json:
    return {"name": name, "ph": phase, "ts": seconds * 1e6, "pid": PROCESS}


def _described(item: Interval) -> Json:
    known = {"bytes_per_second": item.rate, **item.info}
    return {
        "cat": item.kind,
        "args": {key: value for key, value in known.items() if value is not None},
    }
