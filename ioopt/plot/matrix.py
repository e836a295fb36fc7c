"""Draw the Ousterhout matrix: rows and nodes, local and remote jobs, replicas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ioopt.errors import UsageError
from ioopt.plot.gantt import rectangles
from ioopt.plot.layout import Box, finish, headline, name_boxes, new_axes
from ioopt.plot.palette import IDLE, role
from ioopt.result import Result
from ioopt.units import quantity

MOST_ROWS = 40
"""Most rows of the matrix drawn; more are not readable."""
MOST_PIECES = 4_000
"""Most pieces of jobs drawn with edges and names."""
REPLICA = 0.35
"""Opacity of the replicas of a job."""


def plot_decision(result: Result) -> Any:
    """Draw the matrix after one decision (gang-matrix); return the axes."""
    jobs = (result.plan or {}).get("jobs", [])
    return plot_matrix(jobs, title=headline(result, "matrix after the decision"))


def plot_gang(result: Result) -> Any:
    """Draw the fullest matrix of a workload with history; return the axes."""
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
    """Return the first instant with the most slots in home instances, and the jobs."""
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
    """Draw *jobs* (``id``, ``columns``, ``home_row``, ``rows``, ``local``).

    Home instances are solid and have the job's id where it fits, replicas are pale,
    idle slots grey. Only occupied nodes and rows are drawn, and at most 40 rows.
    Returns the axes.
    """
    from matplotlib.patches import Patch

    width = max((max(job["columns"]) + 1 for job in jobs), default=1)
    height = max((max(job["rows"]) + 1 for job in jobs), default=1)
    shown = min(height, MOST_ROWS)
    axes = new_axes(10, 1.2 + min(0.5, 8 / shown) * max(2, shown))
    axes.set_xlim(0, width)
    axes.set_ylim(shown - 0.5, -0.5)
    axes.barh(range(shown), width, 0.9, color=IDLE, linewidth=0)
    pieces = list(_pieces(jobs, shown))
    _draw(axes, pieces)
    axes.set_yticks(range(0, shown, 1 + shown // 21))
    axes.set_xlabel("node (number)")
    rows = "row (time slice)"
    if shown < height:
        rows += f", the first {shown} of {height}"
    axes.set_ylabel(rows)
    kinds = [role("local"), role("remote start")]
    handles = [Patch(facecolor=colour, label=words) for words, colour in kinds]
    handles += [
        Patch(facecolor=kinds[0][1], alpha=REPLICA, label="replica in another row"),
        Patch(facecolor=IDLE, label="idle"),
    ]
    finish(axes, title, handles)
    if len(pieces) <= MOST_PIECES:
        name_boxes(axes, _boxes(pieces))
    return axes


Piece = tuple[int, int, int, bool, bool, str]
"""A run of nodes of a job: (row, first node, nodes, is local, is at home, id)."""


def _pieces(jobs: Iterable[Mapping[str, Any]], rows: int) -> Iterator[Piece]:
    for job in jobs:
        runs = list(_runs(job["columns"]))
        for row in (row for row in job["rows"] if row < rows):
            for first, count in runs:
                home = row == job["home_row"]
                yield row, first, count, bool(job.get("local")), home, str(job["id"])


def _boxes(pieces: Iterable[Piece]) -> Iterator[Box]:
    """Yield a box for the longest run of each home instance, to hold its name."""
    longest: dict[str, Piece] = {}
    for piece in pieces:
        if piece[4] and piece[2] > longest.get(piece[5], (0, 0, 0))[2]:
            longest[piece[5]] = piece
    for row, first, count, local, _, name in longest.values():
        yield Box(first, row - 0.45, count, 0.9, name, role(_kind(local))[1])


def _kind(local: bool) -> str:
    if local:
        return "local"
    return "remote start"


def _draw(axes: Any, pieces: Sequence[Piece]) -> None:
    """Draw one collection of rectangles per kind, however many jobs there are."""
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
            rectangles(axes, corners, role(_kind(local))[1], edge, opacity)


def _runs(columns: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield maximal runs of consecutive nodes as (first, length)."""
    ordered = enumerate(sorted(columns))
    for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0]):
        nodes = [node for _, node in run]
        yield nodes[0], len(nodes)
