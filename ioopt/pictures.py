"""Draw the pictures of a result, by the names that its kind gives them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import signature
from typing import Any

from ioopt.errors import UsageError
from ioopt.formats.native import write_text
from ioopt.loading import require_form, result_from_dict
from ioopt.plot.lanes import lanes_in_all
from ioopt.plot.layout import WIDTH, legend_above
from ioopt.plot.page import save, svg_text
from ioopt.problems.base import Json
from ioopt.registry import KINDS
from ioopt.result import Result
from ioopt.timeline import replication_timeline

DEFAULT = "default"
"""The first picture that a kind lists, which is drawn by default."""


def _pictures(result: Result) -> Mapping[str, Callable[..., Any]]:
    """Return the functions that draw results of the kind of *result*, keyed by the name
    of the picture.
    """
    kind = KINDS.get(result.kind or result.family)
    return {} if kind is None else kind.pictures()


def result_to_draw(data: Any, name: str) -> Result:
    """Return the result in *data*, the document of a result or a simulation; raise
    InstanceError when its parts do not have the form of its kind.
    """
    if isinstance(data, Mapping) and data.get("format") == "ioopt/simulation":
        told = {"format": "ioopt/result", "status": "feasible", "stop": "finished"}
        data = {"solver": "replay", **data, **told}
    result = result_from_dict(data, name)
    kind = KINDS.get(result.kind or result.family)
    if kind is not None:
        require_form(kind, data, name)
    return result


def draw_result(result: Result, picture: str = DEFAULT, axes: Any = None) -> Any:
    """Draw one picture of a result and return its axes. *axes*, if given, are used for
    a picture that consists of one panel.

    Raises UsageError when there is no such picture, and when *axes* is given for a
    picture of several panels.
    """
    name, known = result.kind or result.family, _pictures(result)
    if not known:
        raise UsageError(f"there is no picture for {name}")
    if picture not in known:
        raise UsageError(
            f"no picture {picture!r} for {name}; known: {', '.join(known)}"
        )
    if result.schedule is None and result.plan is None:
        raise UsageError("the result holds neither plan nor schedule to draw")
    draw = known[picture]
    if axes is None:
        return draw(result)
    if "axes" not in signature(draw).parameters:
        raise UsageError(f"the picture {picture!r} of {name} draws a figure of its own")
    return draw(result, axes=axes)


def drawn(result: Result) -> Iterator[tuple[str, Any]]:
    """Yield (picture, axes) for every picture whose data the result contains."""
    for picture in _pictures(result):
        with suppress(UsageError):
            yield picture, draw_result(result, picture)


def gantt_of(result: Result) -> str:
    """Return the name of the kind's Gantt chart, which has one row for each node or
    job; if it has none, the name of its default picture.
    """
    return "gantt" if "gantt" in _pictures(result) else DEFAULT


def draw_beside(results: Sequence[Result], picture: str | None = None) -> Any:
    """Draw one picture of each of *results* below each other on one time scale, and
    return the last axes: *picture*, or the first that has a time scale.

    Raises UsageError for a result without such a picture.
    """
    from matplotlib.figure import Figure

    heights = [_inches(result) for result in results]
    figure = Figure(figsize=(WIDTH, 0.4 + sum(heights)), layout="constrained")
    panels = figure.subplots(len(results), squeeze=False, height_ratios=heights)[:, 0]
    until = max(map(_last_end, results))
    handles: Json = {}
    heading = ""
    for panel, result in zip(panels, results, strict=True):
        _on_time_scale(result, picture)(result, axes=panel, until=until)
        if legend := panel.get_legend():
            entries = zip(legend.get_texts(), legend.legend_handles, strict=True)
            for text, handle in entries:
                if text.get_visible():
                    handles[text.get_text()] = handle
            heading = legend.get_title().get_text()
            legend.remove()
        panel.set_xlabel(panel.get_xlabel() if panel is panels[-1] else "")
    legend_above(figure, list(handles.values()), list(handles), heading)
    return panels[-1]


def _inches(result: Result) -> float:
    """Return the height in inches of the panel of *result*: more for many lanes."""
    schedule = result.schedule or {}
    if "transfers" not in schedule:
        return PANEL_INCHES
    return max(PANEL_INCHES, LANE_INCHES * lanes_in_all(replication_timeline(schedule)))


PANEL_INCHES = 2.7
"""The least height of a panel among several."""
LANE_INCHES = 0.19
"""The height of a lane of a panel among several; names of tasks fit into it."""


def _on_time_scale(result: Result, picture: str | None) -> Callable[..., Any]:
    """Return the function that draws *picture* of *result* on a time scale or, if it is
    None, the first picture that has one.
    """
    for name, draw in _pictures(result).items():
        if picture in (None, name) and "until" in signature(draw).parameters:
            return draw
    words = "picture on a time scale" if picture is None else f"picture {picture!r}"
    raise UsageError(
        f"{result.instance}: {result.solver}: no {words} to draw beside others"
    )


def _last_end(result: Result) -> float:
    """Return the time in seconds at which the last task, transfer or job in the
    schedule of *result* ends.
    """
    schedule = result.schedule or {}
    last = 0.0
    for part in ("tasks", "transfers", "jobs"):
        for row in schedule.get(part, ()):
            last = max(last, row.get("end_seconds", row.get("finish_seconds")) or 0.0)
    return last


def save_result(result: Result, path: str) -> None:
    """Write a result as JSON, as a page that can be zoomed, or as a picture, depending
    on the file extension of *path*.
    """
    if path.removesuffix(".gz").endswith(".json"):
        write_text(path, result.json_pieces())
    elif path.endswith(".html"):
        write_text(path, page_of(result))
    else:
        save(draw_result(result), path)


def page_of(result: Result) -> str:
    """Return the page of *result*, with panels that can be zoomed.

    Raises UsageError when there is no page for its kind, or nothing to draw.
    """
    from ioopt.plot.result_page import result_page

    name = result.kind or result.family
    kind = KINDS.get(name)
    contents = None if kind is None else kind.page(result)
    if contents is None:
        raise UsageError(f"there is no page for {name}")
    return result_page(result, contents)


def small_svg(result: Result) -> str:
    """Return a small picture of the result as SVG text for a notebook; empty if the
    result has no picture.
    """
    try:
        figure = draw_result(result, gantt_of(result)).figure
    except (UsageError, ModuleNotFoundError):
        return ""
    width, height = figure.get_size_inches()
    figure.set_size_inches(min(width, 8.0), min(height, 4.0))
    return svg_text(figure)
