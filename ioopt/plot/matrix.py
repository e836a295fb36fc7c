"""The Ousterhout matrix as a picture: rows, nodes, jobs local or remote, home
instances, replicas.
"""

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
"""Rows of the matrix drawn; more cannot be read."""
MOST_PIECES = 4_000
"""Pieces of jobs drawn with their edges and names."""
REPLICA = 0.35
"""How opaque the replicas of a job are beside its home instance."""


def plot_decision(result: Result) -> Any:
    """The matrix that one decision (gang-matrix) leads to; returns the axes."""
    jobs = (result.plan or {}).get("jobs", [])
    return plot_matrix(jobs, title=headline(result, "matrix after the decision"))


def plot_gang(result: Result) -> Any:
    """The fullest matrix of a simulated workload whose history was written; returns the
    axes.
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
    """The first instant at which home instances fill most slots, and the jobs placed
    then.
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
    """Draw *jobs* (``id``, ``columns``, ``home_row``, ``rows``, ``local``); returns the
    axes.

    Home instances are solid and carry the job's id where it fits, replicas are pale,
    idle slots grey. As much is drawn as the jobs occupy, of the rows the first 40.
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
    axes.set_ylabel(
        rows if shown == height else f"{rows}, the first {shown} of {height}"
    )
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
"""(row, first node, nodes, whether local, whether the home instance, id) of a run of a
job.
"""


def _pieces(jobs: Iterable[Mapping[str, Any]], rows: int) -> Iterator[Piece]:
    for job in jobs:
        runs = list(_runs(job["columns"]))
        for row in (row for row in job["rows"] if row < rows):
            for first, count in runs:
                home = row == job["home_row"]
                yield row, first, count, bool(job.get("local")), home, str(job["id"])


def _boxes(pieces: Iterable[Piece]) -> Iterator[Box]:
    """The longest run of each home instance, for its name."""
    longest: dict[str, Piece] = {}
    for piece in pieces:
        if piece[4] and piece[2] > longest.get(piece[5], (0, 0, 0))[2]:
            longest[piece[5]] = piece
    for row, first, count, local, _, name in longest.values():
        yield Box(first, row - 0.45, count, 0.9, name, role(_kind(local))[1])


def _kind(local: bool) -> str:
    return "local" if local else "remote start"


def _draw(axes: Any, pieces: Sequence[Piece]) -> None:
    """One collection a kind, however many jobs there are."""
    for local, home in ((True, True), (True, False), (False, True), (False, False)):
        corners = [
            (first, first + count, row - 0.45, 0.9)
            for row, first, count, *kind, _ in pieces
            if kind == [local, home]
        ]
        if corners:
            edge = "white" if len(pieces) <= MOST_PIECES else "none"
            rectangles(
                axes, corners, role(_kind(local))[1], edge, 1.0 if home else REPLICA
            )


def _runs(columns: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Maximal runs of consecutive nodes as (first, length)."""
    ordered = enumerate(sorted(columns))
    for _, run in groupby(ordered, key=lambda pair: pair[1] - pair[0]):
        nodes = [node for _, node in run]
        yield nodes[0], len(nodes)
