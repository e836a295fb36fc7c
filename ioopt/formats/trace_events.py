"""Write a Timeline as Trace Event JSON, for Perfetto and chrome://tracing, or as CSV.

The JSON follows the "Trace Event Format". It has complete events (``ph`` X), instants
(i), flows (s, f), counters (C) and metadata (M). Times are microseconds. All resources
belong to one process. Each kind of interval on a resource is a thread of that process
and has a row of its own.
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
    """Return *timeline* as a JSON document in the Trace Event Format.

    Each resource has a row for each kind of interval. If intervals of that kind ran on
    several cores, it has a row for each core. Viewers nest the intervals of a row that
    overlap.
    """
    rows, events = _rows(timeline)

    def row_of(item: Interval) -> int:
        return rows[item.resource, _lane(item.kind, _core(item))]

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
        # An arrow must begin within its interval: at the very end, viewers may take the
        # next interval.
        begun = _event("s", "file", maker.end - 1e-3 * maker.duration)
        events.append({**begun, "cat": "flow", "id": number, "tid": row_of(maker)})
        ended = _event("f", "file", reader.start)
        events.append(
            {**ended, "cat": "flow", "id": number, "bp": "e", "tid": row_of(reader)}
        )
    for name, steps in timeline.counters.items():
        for time, value in steps:
            events.append({**_event("C", name, time), "args": {"bytes": value}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _rows(timeline: Timeline) -> tuple[dict[tuple[str, str], int], list[Json]]:
    """Number the rows of the trace.

    Return the number of each (resource, lane), and the events that name the rows. A
    lane is a kind of interval on one core.
    """
    present: dict[str, set[tuple[str, int]]] = {
        name: set() for name in timeline.resources
    }
    for item in timeline.intervals:
        present[item.resource].add((item.kind, _core(item)))
    rows: dict[tuple[str, str], int] = {}
    events: list[Json] = []
    for resource in timeline.resources:
        several = any(core for _, core in present[resource])
        for kind, core in sorted(present[resource]) or [("", 0)]:
            name = kind
            if several and kind == "compute":
                name = _lane(kind, core)
            row = len(rows) + 1
            rows[resource, _lane(kind, core)] = row
            label = f"{resource} {name}".rstrip()
            events.append(_metadata("thread_name", row, {"name": label}))
            events.append(_metadata("thread_sort_index", row, {"sort_index": row}))
    return rows, events


def _core(item: Interval) -> int:
    """Return the core that an interval names, or 0 if it names none."""
    return int(item.info.get("core") or 0)


def _lane(kind: str, core: int) -> str:
    return f"{kind} {core}"


def trace_events_json(timeline: Timeline) -> str:
    """Return *timeline* as the text of a JSON document in the Trace Event Format."""
    return json.dumps(trace_events(timeline), indent=None, separators=(",", ":")) + "\n"


def timeline_csv(timeline: Timeline) -> str:
    """Return a CSV line for each interval and each instant, in order of time; the rate
    is empty for kinds that have none.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    items = sorted(
        [*timeline.intervals, *timeline.marks], key=lambda item: (item.start, item.end)
    )
    for item in items:
        row = [item.resource, item.kind, item.label, repr(item.start), repr(item.end)]
        if item.rate is None:
            row.append("")
        else:
            row.append(repr(item.rate))
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
