"""The Ousterhout matrix as a picture: rows, nodes, jobs local or remote, home instances, replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioopt.errors import UsageError
from ioopt.result import Result

LOCAL, REMOTE = "#4477aa", "#ee7733"
"""Colours of jobs on their file nodes and elsewhere (told apart by colour-blind readers too)."""


def plot_decision(result: Result) -> Any:
    """The matrix that one decision (gang-matrix) leads to; returns the axes."""
    jobs = (result.plan or {}).get("jobs", [])
    axes = plot_matrix(jobs)
    axes.set_title(f"{result.instance}: matrix after {result.solver}")
    return axes


def plot_gang(result: Result) -> Any:
    """The fullest matrix of a simulated workload whose history was written; returns the axes.

    Raises UsageError where the schedule has no history.
    """
    updates = (result.schedule or {}).get("updates")
    if updates is None:
        raise UsageError(
            f"{result.instance}: the schedule has no history of the matrix; "
            "solve again with --set history=yes"
        )
    seconds, jobs = fullest(updates)
    axes = plot_matrix(jobs)
    axes.set_title(f"{result.instance}, {result.solver}: matrix at {seconds:g} s")
    return axes


def fullest(updates: Iterable[Mapping[str, Any]]) -> tuple[float, list[Mapping[str, Any]]]:
    """The first instant at which home instances fill most slots, and the jobs placed then."""
    places: dict[Any, Mapping[str, Any]] = {}
    best, seconds, jobs = -1, 0.0, []
    for update in updates:
        for job in update["left"]:
            del places[job]
        places.update((job["id"], job) for job in update["placed"])
        slots = sum(len(job["columns"]) for job in places.values())
        if slots > best:
            best, seconds, jobs = slots, update["seconds"], list(places.values())
    return seconds, jobs


def plot_matrix(
    jobs: Sequence[Mapping[str, Any]],
    nodes: int | None = None,
    levels: int | None = None,
    axes: Any = None,
) -> Any:
    """Draw *jobs* (``id``, ``columns``, ``home_row``, ``rows``, ``local``); returns the axes.

    Home instances are solid and carry the job's id, replicas are pale. *nodes* and *levels*
    default to what the jobs occupy.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    width = nodes or max((max(job["columns"]) + 1 for job in jobs), default=1)
    height = levels or max((max(job["rows"]) + 1 for job in jobs), default=1)
    if axes is None:
        axes = Figure(figsize=(9.0, 1.4 + 0.5 * height), layout="constrained").add_subplot()
    for job in jobs:
        colour = LOCAL if job.get("local") else REMOTE
        runs = list(_runs(job["columns"]))
        for row in job["rows"]:
            home = row == job["home_row"]
            axes.broken_barh(
                runs, (row - 0.45, 0.9), facecolor=colour, alpha=1.0 if home else 0.35,
                edgecolor="white", linewidth=0.8,
            )  # fmt: skip
            start, length = max(runs, key=lambda run: run[1])
            if home and length >= 0.011 * width * len(str(job["id"])):
                axes.text(
                    start + length / 2, row, str(job["id"]), ha="center", va="center",
                    fontsize="small", color="white", clip_on=True,
                )  # fmt: skip
    axes.set_xlim(0, width)
    axes.set_ylim(height - 0.5, -0.5)
    axes.set_yticks(range(height))
    axes.set_xlabel("node")
    axes.set_ylabel("row (time slice)")
    handles = [
        Patch(facecolor=LOCAL, label="on its file nodes"),
        Patch(facecolor=REMOTE, label="remote"),
        Patch(facecolor="grey", alpha=0.35, label="replica"),
    ]
    axes.legend(handles=handles, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _runs(columns: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Maximal runs of consecutive nodes as (first, length)."""
    first, previous = None, None
    for node in sorted(columns):
        if previous is None or node != previous + 1:
            if first is not None and previous is not None:
                yield first, previous - first + 1
            first = node
        previous = node
    if first is not None and previous is not None:
        yield first, previous - first + 1
