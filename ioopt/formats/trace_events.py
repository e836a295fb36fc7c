"""Write a Timeline as Trace Event JSON, for Perfetto and chrome://tracing, or as CSV.

The JSON follows the "Trace Event Format". It has complete events (``ph`` X), instants
(i), flows (s, f), counters (C) and metadata (M). Times are microseconds. All resources
belong to one process. Each kind of interval on a resource is a thread of that process
and has a row of its own. Intervals of a kind that overlap have several rows, because
viewers show the complete events of a thread as calls, one inside the other.
"""

import csv
import io
import json
from collections.abc import Mapping

from ioopt.problems.base import Json
from ioopt.timeline import Interval, Timeline, lanes_of

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
    several cores, it has a row for each core; if they overlap, as many as overlap.
    """
    lanes = _lanes(timeline)
    rows, events = _rows(timeline, lanes)

    def row_of(item: Interval) -> int:
        return rows[item.resource, _lane(item.kind, lanes[id(item)])]

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


def _lanes(timeline: Timeline) -> dict[int, int]:
    """Return the number of the lane of each interval, by its identity: the core that it
    names, or else one that no other interval of its kind has at the time.
    """
    found: dict[int, int] = {}
    free: dict[str, list[Interval]] = {}
    for item in timeline.intervals:
        core = item.info.get("core")
        if core is None:
            free.setdefault(item.kind, []).append(item)
        else:
            found[id(item)] = int(core)
    for items in free.values():
        found |= lanes_of(items)
    return found


def _rows(
    timeline: Timeline, lanes: Mapping[int, int]
) -> tuple[dict[tuple[str, str], int], list[Json]]:
    """Number the rows of the trace.

    Return the number of each (resource, lane), and the events that name the process and
    the rows. *lanes* has the number of the lane of each interval.
    """
    present: dict[str, set[tuple[str, int]]] = {
        name: set() for name in timeline.resources
    }
    for item in timeline.intervals:
        present[item.resource].add((item.kind, lanes[id(item)]))
    rows: dict[tuple[str, str], int] = {}
    events = [_metadata("process_name", 0, {"name": "ioopt"})]
    for resource in timeline.resources:
        several = {kind for kind, lane in present[resource] if lane}
        for kind, lane in sorted(present[resource]) or [("", 0)]:
            name = _lane(kind, lane) if kind in several else kind
            row = len(rows) + 1
            rows[resource, _lane(kind, lane)] = row
            label = f"{resource} {name}".rstrip()
            events.append(_metadata("thread_name", row, {"name": label}))
            events.append(_metadata("thread_sort_index", row, {"sort_index": row}))
    return rows, events


def _lane(kind: str, number: int) -> str:
    return f"{kind} {number}"


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
