"""Choose what the page of a result shows: one function for each family.

A page is made from the result alone. So the use of links is the number of transfers at
once, because a result does not have the sizes of files.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ioopt.errors import UsageError
from ioopt.formats.report import some
from ioopt.plot.bandwidth import bands, rates_by_job, said_of_limit
from ioopt.plot.gantt import of_whole_tasks
from ioopt.plot.lanes import Rows, Wide, packed
from ioopt.plot.layout import Unit
from ioopt.plot.matrix import fullest, kind_of, pieces_of
from ioopt.plot.palette import (
    BLUE,
    HUES,
    IO,
    OTHERS,
    REMOTE,
    REPLICA,
    SAVE,
    WAITING,
    role,
)
from ioopt.plot.result_page import (
    MOST_BOXES,
    Axis,
    Box,
    Boxes,
    Contents,
    Series,
    Steps,
    Table,
    time_axis,
)
from ioopt.problems.base import Json
from ioopt.result import Result
from ioopt.tables import percent
from ioopt.timeline import (
    Interval,
    Timeline,
    covered_seconds,
    jobs_timeline,
    replication_timeline,
    steps_of,
)
from ioopt.units import counted, quantity
from ioopt.waits import critical_of, may_wait, waits_of

MOST_ROWS = 200
"""The largest number of rows of a panel."""
MOST_DISKS = 12
"""The largest number of disks that are drawn: those with the fullest peaks."""
MOST_LINES = 200
"""The largest number of lines of a table."""
LANE_PIXELS = 15
LEAST_ROW_PIXELS = 22
LARGEST_ROW_PIXELS = 200


def replication_contents(result: Result) -> Contents:
    """Return the plan of a batch or workflow, the use of links and disks, and the table
    of the critical path.
    """
    schedule = _schedule(result)
    nodes = (result.plan or {}).get("order", ())
    timeline = replication_timeline(schedule, nodes)
    if "cached_bytes" in result.metrics:
        timeline = of_whole_tasks(timeline)
    waits = waits_of(timeline.intervals, may_wait)
    plan = _plan(timeline, waits)
    last = timeline.makespan
    panels: list[Boxes | Steps] = [plan, _links(timeline)]
    if schedule.get("disks"):
        panels += _disks(schedule["disks"])
    else:
        panels.append(_files_held(schedule))
    return Contents(
        panels, {"time": time_axis(last)}, [_critical_path(timeline, waits)]
    )


def _schedule(result: Result) -> Json:
    if not result.schedule:
        raise UsageError(
            "the result holds no schedule to draw; run `ioopt simulate` on its plan"
        )
    return result.schedule


def _plan(timeline: Timeline, waits: Sequence[int], rows: str = "node") -> Boxes:
    """Return the panel with a row for each resource of *timeline*."""
    names = timeline.resources[:MOST_ROWS]
    row_of = {name: row for row, name in enumerate(names)}
    shown = [k for k, item in enumerate(timeline.intervals) if item.resource in row_of]
    number = {k: place for place, k in enumerate(shown)}
    items = [timeline.intervals[k] for k in shown]
    place = Rows(row_of, items)
    boxes = []
    for k, item in zip(shown, items, strict=True):
        low, height = place(item)
        box = Box(item.kind, low, height, item.start, item.end, item.label)
        critical = bool(item.info.get("critical"))
        before = number.get(waits[k], -1) if waits else -1
        source = -1
        if item.kind == "copy":
            source = row_of.get(str(item.info.get("source")), -1)
        boxes.append(box._replace(waits=before, critical=critical, source=source))
    note = ""
    if len(names) < len(timeline.resources):
        note = f"The first {len(names)} of {len(timeline.resources)} {rows}s."
    lanes = place.lanes + place.staging_lanes
    marks = [
        (mark.kind, row_of[mark.resource], mark.start, mark.label)
        for mark in timeline.marks
        if mark.resource in row_of
    ]
    least = LEAST_ROW_PIXELS if len(names) <= 30 else LANE_PIXELS
    pixels = min(LARGEST_ROW_PIXELS, max(least, LANE_PIXELS * lanes))
    title = "Plan, by node" if rows == "node" else "Jobs"
    return Boxes(title, names, boxes, note, "time", marks, pixels)


def _links(timeline: Timeline) -> Steps:
    """Return the number of transfers at once: over the remote link to nodes and from
    them, and between nodes.
    """
    series = []
    remote = []
    moved = []
    for kind, colour in (("remote", REMOTE), ("save", SAVE), ("copy", REPLICA)):
        spans = [
            (item.start, item.end) for item in timeline.intervals if item.kind == kind
        ]
        if not spans:
            continue
        series.append(Series(role(kind)[0], colour, _at_once(spans)))
        moved.append(f"{counted(len(spans), 'transfer')}: {role(kind)[0]}")
        if kind != "copy":
            remote += spans
    note = "The remote link is not used."
    if remote:
        share = covered_seconds(remote) / timeline.makespan
        note = f"The remote link is busy {percent(share)} of the time."
    note += f" {'; '.join(moved)}." if moved else ""
    return Steps("Links: transfers at once", "transfers", series, note, stacked=True)


def _at_once(spans: Iterable[tuple[float, float]]) -> list[list[float]]:
    """Return how many of *spans* there are at a time, as steps (time, number)."""
    changes: dict[float, float] = defaultdict(float)
    for start, end in spans:
        changes[start] += 1
        changes[end] -= 1
    return steps_of(changes)


def _disks(disks: Mapping[str, Json]) -> list[Boxes | Steps]:
    """Return a panel for each disk, with the bytes on it and those that are still
    needed; if there are many disks, for the fullest ones. Empty disks are only named.
    """
    peaks = {
        name: max((value for _, value in disk["used"]), default=0)
        for name, disk in disks.items()
    }
    names = [name for name in disks if peaks[name]]
    note = ""
    if empty := [name for name in disks if not peaks[name]]:
        note = f" Nothing lies on {counted(len(empty), 'other disk')}: {some(empty)}."
    if len(names) > MOST_DISKS:
        names = sorted(names, key=lambda name: -peaks[name])[:MOST_DISKS]
        note = f" The {MOST_DISKS} fullest of {len(disks)} disks are shown."
    panels: list[Boxes | Steps] = []
    for name in names:
        disk = disks[name]
        size = disk["bytes"]
        peak = quantity("bytes", peaks[name])
        said = f"At most {peak}; the disk has no limit."
        if size is not None:
            share = percent(peaks[name] / size) if size else "all"
            said = f"At most {peak}, {share} of {quantity('bytes', size)}."
        series = [
            Series("on the disk", OTHERS, disk["used"]),
            Series("still needed", BLUE, disk["live"]),
        ]
        panels.append(
            Steps(f"Disk of {name}", "bytes", series, said + note, size, pixels=70)
        )
        note = ""
    return panels


def _files_held(schedule: Json) -> Steps:
    """Return the number of files that were brought to each disk and not deleted, for a
    schedule without bytes.
    """
    changes: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for row in schedule["transfers"]:
        if row["destination"] is not None:
            changes[row["destination"]][row["end_seconds"]] += 1
    for row in schedule["evictions"]:
        changes[row["node"]][row["seconds"]] -= 1
    names = sorted(changes, key=lambda name: (len(name), name))
    series = [
        Series(name, colour, steps_of(changes[name]))
        for name, colour in zip(names, HUES)
    ]
    note = "Bytes on the disks are not in this result, so files are counted."
    if len(names) > len(series):
        note += f" The first {len(series)} of {len(names)} nodes are shown."
    return Steps("Disks: files brought and not deleted", "files", series, note)


def _critical_path(timeline: Timeline, waits: Sequence[int]) -> Table:
    """Return the table of the critical path or, if the schedule does not mark it, of
    what ended when the last interval began, and so on.
    """
    items = timeline.intervals
    numbers = critical_of(items, waits)
    title = "Critical path: what let the last task or save begin, and so on"
    if not any(item.info.get("critical") for item in items):
        title = "What ended when the last task or transfer began, and so on"
    if len(numbers) > MOST_LINES:
        title += f" (the last {MOST_LINES} of {len(numbers)})"
    rows = []
    for k in numbers[-MOST_LINES:]:
        item = items[k]
        before = items[waits[k]] if waits[k] >= 0 else None
        because = "nothing before it" if item.start == 0 else "not known"
        if before is not None:
            because = f"{before.label} ended ({role(before.kind)[0]})"
        rows.append(
            [
                quantity("seconds", item.start),
                quantity("seconds", item.end),
                f"{item.label} ({role(item.kind)[0]})",
                item.resource,
                because,
            ]
        )
    return Table(title, ("begins", "ends", "what", "where", "begins when"), rows)


def batch_io_contents(result: Result) -> Contents:
    """Return the bandwidth of the jobs, the number of jobs that wait for the storage,
    and the jobs with their phases.
    """
    schedule = _schedule(result)
    timeline = jobs_timeline(sorted(schedule["jobs"], key=_by_start))
    panels: list[Boxes | Steps] = []
    try:
        panels.append(_bandwidth(schedule))
        note = ""
    except UsageError as error:
        note = f"No bandwidth: {error}."
    waiting = [
        (item.start, item.end) for item in timeline.intervals if item.kind == "waiting"
    ]
    words = "Jobs that wait for the storage"
    if waiting:
        series = [Series("waiting", WAITING, _at_once(waiting))]
        panels.append(Steps(words, "jobs", series, stacked=True, pixels=70))
    jobs = _jobs(timeline, schedule["jobs"], note)
    return Contents([*panels, jobs], {"time": time_axis(timeline.makespan)})


def _by_start(job: Mapping[str, Any]) -> tuple[float, str]:
    return job["start_seconds"], str(job["id"])


def _bandwidth(schedule: Json) -> Steps:
    """Return the rates of the jobs under the limit of the storage; raise UsageError if
    the schedule has no rates.
    """
    spans = rates_by_job(schedule)
    edges, width, layers = bands(spans)
    limit = schedule.get("storage_bytes_per_second")
    notes = []
    if limit is not None:
        notes.append(f"{said_of_limit(schedule, spans).capitalize()}.")
    if width is not None:
        notes.append(f"Rates are means over {quantity('seconds', float(width))}.")
    series = []
    for name, colour, rates in layers:
        levels = [*map(float, rates), 0.0]
        series.append(
            Series(name, colour, list(zip(map(float, edges), levels, strict=True)))
        )
    title = "Bandwidth of the storage, by job"
    return Steps(
        title, "bytes_per_second", series, " ".join(notes), limit, True, pixels=200
    )


def _jobs(timeline: Timeline, jobs: Sequence[Json], note: str = "") -> Boxes:
    """Return the panel of jobs with their phases or, if the phases are too many, with
    one box for each job.
    """
    if len(timeline.intervals) > MOST_BOXES:
        whole = []
        for job in jobs:
            end = job["end_seconds" if "end_seconds" in job else "finish_seconds"]
            name = str(job["id"])
            whole.append(Interval(job["start_seconds"], end, name, "compute", name))
        timeline = Timeline.of(whole)
        note += " Phases are left out, because they are too many: a box is a job."
    panel = _plan(timeline, (), "job")
    return _with_note(panel, note)


def _with_note(panel: Boxes, note: str) -> Boxes:
    """Return *panel* with *note* after its own note."""
    words = f"{panel.note} {note}".strip()
    return replace(panel, note=words)


def gang_contents(result: Result) -> Contents:
    """Return the matrix when it is fullest, if the result has its history, and the
    jobs.
    """
    schedule = _schedule(result)
    timeline = jobs_timeline(sorted(schedule["jobs"], key=_by_start))
    note = ""
    panels: list[Boxes | Steps] = []
    axes = {"time": time_axis(timeline.makespan)}
    updates = schedule.get("updates")
    if updates is None:
        note = "No matrix: solve again with --set history=yes."
    else:
        seconds, placed = fullest(updates)
        at = quantity("seconds", seconds)
        panel, axis = _matrix(placed, f"Matrix when it is fullest, at {at}")
        panels.append(panel)
        axes["node"] = axis
    return Contents([*panels, _jobs(timeline, schedule["jobs"], note)], axes)


def decision_contents(result: Result) -> Contents:
    """Return the matrix after a decision."""
    jobs = (result.plan or {}).get("jobs", [])
    panel, axis = _matrix(jobs, "Matrix after the decision")
    return Contents([panel], {"node": axis})


def _matrix(jobs: Sequence[Mapping[str, Any]], title: str) -> tuple[Boxes, Axis]:
    """Return the panel of the matrix, with a row for each time slice, and its axis of
    nodes.
    """
    nodes = max((max(job["columns"]) + 1 for job in jobs), default=1)
    rows = max((max(job["rows"]) + 1 for job in jobs), default=1)
    shown = min(rows, MOST_ROWS)
    boxes = []
    for row, first, count, local, home, name in pieces_of(jobs, shown):
        kind = kind_of(local) if home else "the same job in another row"
        boxes.append(Box(kind, row - 0.45, 0.9, first, first + count, name))
    names = [f"row {row}" for row in range(shown)]
    note = f"The first {shown} of {rows} rows." if shown < rows else ""
    axis = Axis("node", Unit(1.0, "number"), float(nodes))
    return Boxes(title, names, boxes, note, "node"), axis


def flexible_gang_contents(result: Result) -> Contents:
    """Return one frame: strict rows and loose windows over the columns of
    processors.
    """
    schedule = _schedule(result)
    columns = schedule["num_columns"]
    boxes = []
    for cell in schedule["rows"]:
        first, last = cell["columns"]
        times = cell["start_seconds"], cell["end_seconds"]
        boxes.append(Box(cell["kind"], first - 0.5, last - first, *times, cell["job"]))
    loose = ", ".join(job["job"] for job in schedule["loose_io"])
    for window in schedule["windows"]:
        times = window["start_seconds"], window["end_seconds"]
        boxes.append(Box(WINDOW, -0.5, columns, *times, loose or "no job"))
    names = [f"column {column}" for column in range(columns)]
    panel = Boxes("One frame", names, boxes)
    axis = time_axis(schedule["frame_seconds"])
    return Contents([panel], {"time": axis}, colours={WINDOW: IO})


WINDOW = "loose window for I/O"


def slots_contents(result: Result) -> Contents:
    """Return the time slots of one cycle, with a row for each job."""
    schedule = _schedule(result)
    slots = []
    for slot in schedule["slots"]:
        times = slot["start_seconds"], slot["end_seconds"]
        slots.append(Interval(*times, slot["job"], slot["kind"], slot["job"]))
    panel = _plan(Timeline.of(slots), (), "job")
    axis = time_axis(schedule["cycle_seconds"])
    return Contents([panel], {"time": axis})


def work_directory_contents(result: Result) -> Contents:
    """Return the bytes in the work directory under its quota, and the tasks, in the
    colours of their stages.
    """
    schedule = _schedule(result)
    stages = schedule["stages"]
    colours = {
        name: OTHERS if name == "others" else HUES[at % len(HUES)]
        for at, name in enumerate(stages)
    }
    series = [Series(name, colours[name], stages[name]) for name in stages]
    quota = schedule["quota_bytes"]
    peak = quantity("peak_bytes", result.metrics["peak_bytes"])
    note = f"At most {peak}; there is no quota."
    if quota is not None:
        share = percent(result.metrics["peak_bytes"] / quota) if quota else "all"
        note = f"At most {peak}, {share} of the quota {quantity('bytes', quota)}."
    use = Steps(
        "Work directory, by stage", "bytes", series, note, quota, True, pixels=200
    )
    tasks, table = _tasks(schedule["tasks"], stages)
    last = max((task["end_seconds"] for task in schedule["tasks"]), default=0.0)
    axes = {"time": time_axis(last)}
    return Contents([use, tasks], axes, [table], colours)


def _tasks(tasks: Sequence[Json], stages: Mapping[str, object]) -> tuple[Boxes, Table]:
    """Return the panel of the tasks, and the table of what ended when the last one
    began.
    """
    items = []
    for task in sorted(tasks, key=lambda task: task["start_seconds"]):
        stage = task.get("stage", "")
        kind = stage if stage in stages else "others"
        times = task["start_seconds"], task["end_seconds"]
        items.append(Interval(*times, "work directory", kind, task["id"]))
    waits = waits_of(items)
    lanes = packed([Wide(item.start, item.end, 1) for item in items])
    boxes = []
    for k, item in enumerate(items):
        box = Box(item.kind, lanes.first[k] - 0.45, 0.9, item.start, item.end, "")
        boxes.append(box._replace(label=item.label, waits=waits[k]))
    rows = [f"{lane + 1}" for lane in range(lanes.lanes)]
    note = "A row is a task that runs beside others, not a core."
    pixels = 16 if lanes.lanes > 20 else 22
    panel = Boxes("Tasks, by stage", rows, boxes, note, row_pixels=pixels)
    timeline = Timeline(tuple(items), ("work directory",))
    return panel, _critical_path(timeline, waits)
