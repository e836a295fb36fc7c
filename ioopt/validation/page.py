"""Write a validation as one page: the recorded run above the replayed and the planned
one, on one time axis, and what was fitted and noted.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence

from ioopt.plot.page import NO_PICTURES, can_draw, figure, page, table
from ioopt.plot.runs import Run, Span, plot_runs
from ioopt.problems.base import Json
from ioopt.units import column
from ioopt.validation.answer import Answer
from ioopt.validation.record import Record
from ioopt.validation.summary import (
    constant,
    fitted_value,
    rows,
    short,
    time,
    worst,
)

MOST_TASKS = 10
"""The number of tasks in the table of tasks."""
CAPTION = (
    "Each bar is a task, from the start of its container to the end of its last copy; "
    "rows are nodes. A dotted line marks the end of the run."
)
NOT_MODELLED = (
    "Not modelled: other users of the storage and the network, the protocol of the "
    "file system (metadata, locks), failures and retries, and differences between "
    "processors."
)


def page_of(answer: Answer) -> str:
    """Return the page on *answer*; it loads nothing from elsewhere."""
    name = answer.record.name
    parts = [f"<h1>{html.escape(name)}: recorded, replayed, planned</h1>"]
    parts.append(table(("", "answer"), list(rows(answer.validation)), words=True))
    parts.append(_picture(answer))
    if answer.validation.fitted_on:
        parts.append("<h2>Fitted constants</h2>")
        parts.append(table(CONSTANT_HEADS, list(_constants(answer))))
    if answer.validation.replayed is not None:
        parts.append("<h2>Tasks whose replayed times differ most</h2>")
        parts.append(table(TASK_HEADS, list(_tasks(answer))))
    parts.append("<h2>Notes</h2>")
    notes = (*answer.validation.notes, NOT_MODELLED)
    parts.append(
        f"<ul>{''.join(f'<li>{html.escape(note)}</li>' for note in notes)}</ul>"
    )
    return page(name, "".join(parts))


def _picture(answer: Answer) -> str:
    """Return the picture of the runs; words if there is nothing to draw it with."""
    if not can_draw():
        return NO_PICTURES
    return figure(plot_runs(list(runs(answer))), CAPTION)


def runs(answer: Answer) -> Iterator[Run]:
    """Yield the recorded run, and the replayed and the planned one if there are any."""
    record = answer.record
    found = answer.validation
    yield Run(f"recorded, {time(found.recorded.makespan_seconds)}", _recorded(record))
    process = {task.id: short(task.process) for task in record.tasks}
    if answer.replayed_schedule is not None and found.replayed is not None:
        spans = _scheduled(answer.replayed_schedule, process)
        yield Run(f"replayed, {time(found.replayed.makespan_seconds)}", spans)
    if answer.planned_schedule is not None and found.plan is not None:
        spans = _scheduled(answer.planned_schedule, process)
        yield Run(f"planned, {time(found.plan.makespan_seconds)}", spans)


def _recorded(record: Record) -> list[Span]:
    """Return the spans of a record; a task without a host is in a row of its own."""
    first = min(task.submit for task in record.tasks)
    found = []
    for task in record.tasks:
        host = task.host or "host unknown"
        start = task.start - first
        found.append(Span(host, short(task.process), start, task.end - first))
    return found


def _scheduled(schedule: Json, process: Mapping[str, str]) -> list[Span]:
    """Return the spans of a schedule."""
    found = []
    for row in schedule["tasks"]:
        times = row["start_seconds"], row["end_seconds"]
        found.append(Span(row["node"], process[row["id"]], *times))
    return found


CONSTANT_HEADS = ("constant", "value", "what it is")
MEANING = {
    "overhead_seconds": "what a task holds its cores for, beside reading, computing "
    "and writing: the start and the end of its container",
    "remote_bytes_per_second": "what the storage reads and writes, all nodes together",
    "node_bytes_per_second": "what the network interface of a node moves",
    "cache_bytes": "the memory of a node that keeps files of the storage",
    "write_factor": "bytes that the storage moves for each byte written (copies)",
    "disk_bytes_per_second": "what the disk of a node and its cache move for its tasks",
}
"""What each constant is, in words."""


def _constants(answer: Answer) -> Iterator[Sequence[str]]:
    """Yield each fitted constant with its value and what it is."""
    found = answer.validation
    for name in found.fitted:
        yield constant(name), fitted_value(found, name), MEANING.get(name, "")


TASK_HEADS = ("task", "recorded", "replayed", "difference")


def _tasks(answer: Answer) -> Iterator[Sequence[str | None]]:
    """Yield the tasks whose replayed times differ most from the recorded ones."""
    tasks = worst(answer.validation.tasks, MOST_TASKS)
    recorded = column("seconds", [task.recorded_seconds for task in tasks])
    replayed = column("seconds", [task.replayed_seconds for task in tasks])
    for task, before, after in zip(tasks, recorded, replayed, strict=True):
        yield short(task.id), before, after, f"{task.off:+.1f} s"
