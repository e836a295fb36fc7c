"""A Timeline as Trace Event JSON (opens in Perfetto and chrome://tracing) and as CSV.

Format: "Trace Event Format", complete events (``ph`` X), instants (i), flows (s, f), counters (C) and
metadata (M); times are microseconds. Each resource is a thread of one process, so that its intervals
stand in one row.
"""

import csv
import io
import json

from ioopt.problems.base import Json
from ioopt.timeline import Interval, Timeline

PROCESS = 1
CSV_COLUMNS = ("resource", "kind", "label", "start_seconds", "end_seconds", "bytes_per_second")


def trace_events(timeline: Timeline) -> Json:
    """The trace as plain JSON values: a row a resource and kind, in the timeline's order.

    What overlaps on a resource (computing and staging; cores) is kept apart, since viewers nest only
    intervals that contain each other.
    """
    events: list[Json] = []
    rows: dict[tuple[str, str], int] = {}
    present: dict[str, set[tuple[str, int]]] = {name: set() for name in timeline.resources}
    for item in timeline.intervals:
        present[item.resource].add((item.kind, int(item.info.get("core") or 0)))
    for resource in timeline.resources:
        several = any(core for _, core in present[resource])
        for kind, core in sorted(present[resource]) or [("", 0)]:
            name = _lane(kind, core if several and kind == "compute" else None)
            row = rows[resource, _lane(kind, core)] = len(rows) + 1
            events.append(_metadata("thread_name", row, {"name": f"{resource} {name}".rstrip()}))
            events.append(_metadata("thread_sort_index", row, {"sort_index": row}))

    def row_of(item: Interval) -> int:
        return rows[item.resource, _lane(item.kind, int(item.info.get("core") or 0))]

    for item in timeline.intervals:
        events.append({**_common(item, row_of(item)), "ph": "X", "dur": item.duration * 1e6})
    first = {resource: rows[resource, kind] for resource, kind in reversed(rows)}
    for item in timeline.marks:
        events.append({**_common(item, first[item.resource]), "ph": "i", "s": "t"})
    for number, (maker, reader) in enumerate(timeline.flows):
        # An arrow begins within its interval: at the very end viewers may take the next one.
        arrow = {"name": "file", "cat": "flow", "id": number, "pid": PROCESS}
        events.append(
            {
                **arrow,
                "ph": "s",
                "ts": (maker.end - 1e-3 * maker.duration) * 1e6,
                "tid": row_of(maker),
            }
        )
        events.append(
            {**arrow, "ph": "f", "bp": "e", "ts": reader.start * 1e6, "tid": row_of(reader)}
        )
    for name, steps in timeline.counters.items():
        for time, value in steps:
            events.append(
                {
                    "name": name,
                    "ph": "C",
                    "ts": time * 1e6,
                    "pid": PROCESS,
                    "args": {"bytes": value},
                }
            )
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
    items = sorted([*timeline.intervals, *timeline.marks], key=lambda item: (item.start, item.end))
    for item in items:
        rate = "" if item.rate is None else repr(item.rate)
        row = [item.resource, item.kind, item.label, repr(item.start), repr(item.end), rate]
        writer.writerow(row)
    return text.getvalue()


def _metadata(name: str, row: int, arguments: Json) -> Json:
    return {"name": name, "ph": "M", "pid": PROCESS, "tid": row, "args": arguments}


def _common(item: Interval, row: int) -> Json:
    known = {"bytes_per_second": item.rate, **item.info}
    return {
        "name": item.label,
        "cat": item.kind,
        "ts": item.start * 1e6,
        "pid": PROCESS,
        "tid": row,
        "args": {key: value for key, value in known.items() if value is not None},
    }
