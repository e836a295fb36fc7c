"""Draw the Ousterhout matrix: its rows and nodes, local and remote jobs, and replicas
of jobs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ioopt.errors import UsageError
from ioopt.plot.gantt import rectangles
from ioopt.plot.layout import (
    WIDTH,
    Box,
    finish,
    headline,
    name_boxes,
    new_axes,
    patches,
)
from ioopt.plot.palette import IDLE, role
from ioopt.result import Result
from ioopt.units import quantity

MOST_ROWS = 40
"""The largest number of rows that are drawn; more rows are not readable."""
MOST_PIECES = 4_000
"""The largest number of pieces of jobs that are drawn with edges and names."""
REPLICA = 0.35
"""The opacity with which replicas of a job are drawn."""


def plot_decision(result: Result) -> Any:
    """Draw the matrix after the decision of a gang-matrix result; return the axes."""
    jobs = (result.plan or {}).get("jobs", [])
    return plot_matrix(jobs, title=headline(result, "matrix after the decision"))


def plot_gang(result: Result) -> Any:
    """Draw the matrix of a gang workload at the time when it is fullest; return the
    axes.

    Raises UsageError if the result has no history of the matrix.
    """
    updates = (result.schedule or {}).get("updates")
    if updates is None:
        raise UsageError(
            f"{result.instance}: the schedule has no history of the matrix; "
            "solve again with --set history=yes"
        )
    seconds, jobs = fullest(updates)
    more = f"fullest matrix, at {quantity('seconds', seconds)}"
    return plot_matrix(jobs, title=headline(result, more))


def fullest(
    updates: Iterable[Mapping[str, Any]],
) -> tuple[float, list[Mapping[str, Any]]]:
    """Return the first time at which the jobs occupy the most slots in their home rows,
    and the jobs in the matrix at this time.
    """
    places: dict[Any, Mapping[str, Any]] = {}
    best = -1
    seconds = 0.0
    jobs = []
    for update in updates:
        for job in update["left"]:
            del places[job]
        places.update((job["id"], job) for job in update["placed"])
        slots = sum(len(job["columns"]) for job in places.values())
        if slots > best:
            best = slots
            seconds = update["seconds"]
            jobs = list(places.values())
    return seconds, jobs


def plot_matrix(jobs: Sequence[Mapping[str, Any]], title: str = "") -> Any:
    """Draw the matrix of *jobs*, which have ``id``, ``columns``, ``home_row``, ``rows``
    and ``local``; return the axes.

    Home instances are solid and replicas pale; both have the id of the job where it
    fits. Idle slots are grey. Only the nodes and rows up to the last occupied ones
    are drawn, and at most 40 rows.
    """
    from matplotlib.patches import Patch

    width = max((max(job["columns"]) + 1 for job in jobs), default=1)
    height = max((max(job["rows"]) + 1 for job in jobs), default=1)
    shown = min(height, MOST_ROWS)
    axes = new_axes(WIDTH, 1.2 + min(0.5, 8 / shown) * max(2, shown))
    axes.set_xlim(0, width)
    axes.set_ylim(shown - 0.5, -0.5)
    axes.barh(range(shown), width, 0.9, color=IDLE, linewidth=0)
    pieces = list(pieces_of(jobs, shown))
    _draw(axes, pieces)
    axes.set_yticks(range(0, shown, 1 + shown // 21))
    axes.set_xlabel("node (number)")
    rows = "row (time slice)"
    if shown < height:
        rows += f", the first {shown} of {height}"
    axes.set_ylabel(rows)
    kinds = [kind_of(local) for local in (True, False) if local in _locals(pieces)]
    handles = patches(kinds)
    if not all(home for *_, home, _ in pieces):
        pale = role(kinds[0])[1]
        handles.append(Patch(color=pale, alpha=REPLICA, label="the same, other rows"))
    handles.append(Patch(facecolor=IDLE, label="idle"))
    finish(axes, title, handles)
    if len(pieces) <= MOST_PIECES:
        name_boxes(axes, _boxes(pieces))
    return axes


Piece = tuple[int, int, int, bool, bool, str]
"""A run of neighbouring nodes of a job in one row: (row, first node, number of nodes,
is local, is home instance, id).
"""


def pieces_of(jobs: Iterable[Mapping[str, Any]], rows: int) -> Iterator[Piece]:
    """Yield the pieces of *jobs* in the first *rows* rows."""
    for job in jobs:
        runs = list(_runs(job["columns"]))
        for row in (row for row in job["rows"] if row < rows):
            for first, count in runs:
                home = row == job["home_row"]
                yield row, first, count, bool(job.get("local")), home, str(job["id"])


def _locals(pieces: Iterable[Piece]) -> set[bool]:
    """Return which of local (True) and remote (False) jobs *pieces* have."""
    return {local for _, _, _, local, _, _ in pieces}


def _boxes(pieces: Iterable[Piece]) -> Iterator[Box]:
    """Yield a box for the longest run of nodes of each instance of a job, to hold the
    id of the job.
    """
    longest: dict[tuple[str, int], Piece] = {}
    for piece in pieces:
        key = piece[5], piece[0]
        if piece[2] > longest.get(key, (0, 0, 0))[2]:
            longest[key] = piece
    for row, first, count, local, home, name in longest.values():
        colour = role(kind_of(local))[1] if home else IDLE
        yield Box(first, row - 0.45, count, 0.9, name, colour)


def kind_of(local: bool) -> str:
    if local:
        return "local"
    return "remote start"


def _draw(axes: Any, pieces: Sequence[Piece]) -> None:
    """Draw one collection of rectangles for each kind of piece; this is fast for any
    number of jobs.
    """
    edge = "none"
    if len(pieces) <= MOST_PIECES:
        edge = "white"
    for local, home in ((True, True), (True, False), (False, True), (False, False)):
        corners = [
            (first, first + count, row - 0.45, 0.9)
            for row, first, count, *kind, _ in pieces
            if kind == [local, home]
        ]
        opacity = REPLICA
        if home:
            opacity = 1.0
        if corners:
            rectangles(axes, corners, role(kind_of(local))[1], edge, opacity)


def _runs(columns: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the maximal runs of consecutive nodes in *columns* as (first node, number
    of nodes).
    """
    ordered = enumerate(sorted(columns))
    for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0]):
        nodes = [node for _, node in run]
        yield nodes[0], len(nodes)
