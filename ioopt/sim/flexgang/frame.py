"""One frame of a flexible gang plan as a schedule and a timeline: rows and windows by column."""

from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.problems.flexgang.pattern import Pattern
from ioopt.timeline import Interval, Timeline


def frame_schedule(problem: FlexibleGangProblem, plan: FlexibleGangPlan, pattern: Pattern) -> Json:
    """The frame in seconds: loose windows with who may run there, strict rows with their jobs.

    ``columns`` are first and one past the last; a job's ``kind`` tells I/O from compute.
    """
    kinds = {job.id: job.kind for job in problem.jobs}
    columns = {
        name: [block.start, block.stop]
        for name, position in plan.home.items()
        for block in [problem.block(problem.job_index[name], position)]
    }
    cells = [
        {
            "job": name,
            "kind": kinds[name],
            "row": row,
            "columns": columns[name],
            "start_seconds": pattern.row_start(row),
            "end_seconds": pattern.row_start(row) + pattern.quantum_seconds,
        }
        for name, rows in plan.rows.items()
        for row in rows
    ]
    return {
        "frame_seconds": pattern.frame_seconds,
        "num_columns": problem.machine.num_columns,
        "windows": [
            {"start_seconds": start, "end_seconds": start + length}
            for start, length in pattern.windows()
        ],
        "rows": sorted(cells, key=lambda cell: (cell["start_seconds"], cell["columns"])),
        "loose_io": [{"job": name, "columns": columns[name]} for name in plan.loose],
        "fill": [
            {"job": name, "columns": columns[name], "tau_seconds": seconds}
            for name, seconds in plan.tau_seconds.items()
        ],
    }


def frame_timeline(
    problem: FlexibleGangProblem, plan: FlexibleGangPlan, pattern: Pattern
) -> Timeline:
    """One frame, a resource a column: strict cells by job, loose windows as ``loose``."""
    schedule = frame_schedule(problem, plan, pattern)
    names = [f"column {c}" for c in range(problem.machine.num_columns)]
    intervals = [
        Interval(
            cell["start_seconds"], cell["end_seconds"], names[column], cell["kind"], cell["job"],
            info={"row": cell["row"]},
        )
        for cell in schedule["rows"]
        for column in range(*cell["columns"])
    ]  # fmt: skip
    for start, length in pattern.windows():
        for column, name in enumerate(names):
            members = [
                job["job"]
                for job in schedule["loose_io"] + schedule["fill"]
                if job["columns"][0] <= column < job["columns"][1]
            ]
            label = ", ".join(members) or "idle"
            intervals.append(Interval(start, start + length, name, "loose", label))
    return Timeline.of(intervals, names)
