"""``ioopt plot``: draw a result or a comparison, or write a report or a picture of run
stores.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ioopt.campaign.frame import read_frame
from ioopt.campaign.report import RATIOS, draw_store, report_html
from ioopt.cli.lazy import WritingCommand
from ioopt.cli.options import (
    PATH,
    measure_option,
    output_option,
    paper_width_option,
)
from ioopt.comparing.picture import plot_comparison
from ioopt.comparing.runs import is_stored, runs_in
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import is_sqlite, read_json, reading, write_text
from ioopt.pictures import (
    DEFAULT,
    draw_beside,
    draw_result,
    page_of,
    result_to_draw,
)
from ioopt.plot.page import check_target, save

EPILOG = """\b
Examples:
  ioopt plot result.json -o gantt.png
  ioopt plot result.json -o page.html       (plan, links, disks; zoom, no server)
  ioopt plot result.json --picture gantt -o jobs.svg
  ioopt plot minmin.json ours.json -o beside.png     (Gantt charts on one scale)
  ioopt plot base-line.json fill.json -o bandwidth.png         (batch I/O)
  ioopt plot replay.json -o replay.png          (of `ioopt simulate -o`)
  ioopt plot comparison.json -o bars.html
  ioopt plot comparison.json -o column.pdf --width 85
  ioopt plot runs.sqlite -o report.html
  ioopt plot monday.sqlite tuesday.sqlite -o runs.csv
  ioopt plot runs.sqlite -o ratios.svg
"""
REPORTS = (".html", ".csv")


@click.command(cls=WritingCommand, epilog=EPILOG)
@click.argument(
    "sources", metavar="RESULT...|RUNS.sqlite...", nargs=-1, required=True, type=PATH
)
@output_option(required=True, text="OUT.png, .svg, .pdf or .html; of stores also .csv.")
@click.option(
    "--picture",
    metavar="NAME",
    help="For a result: default or gantt. For stores: ratios; without --picture an "
    ".html file is a full report.",
)
@click.option("--kind", metavar="KIND", help="For stores: the kind of instance.")
@measure_option("by which runs of stores are compared")
@paper_width_option("--width", "For a comparison: draw")
def plot(
    sources: tuple[str, ...],
    output: str,
    picture: str | None,
    kind: str | None,
    measure: str | None,
    width: float | None,
) -> None:
    """Draw RESULT: a Gantt chart, bandwidth, a matrix or bars, depending on its family.

    The .html page of a result shows its plan, links, disks and critical path. It can be
    zoomed, and it is one file that needs no server.

    Several results are drawn below each other on one scale of time: bandwidth of batch
    I/O, else Gantt charts. Run stores are opened read-only and merged; they give a page
    with tables and pictures, a table of all rows, or one picture.
    """
    stores = all(map(is_sqlite, sources))
    if stores and picture is None and Path(output).suffix.lower() in REPORTS:
        _report(sources, output, measure)
        return
    check_target(output)
    if width is not None and (stores or len(sources) > 1):
        raise UsageError(f"{', '.join(sources)}: --width belongs to one comparison")
    if stores:
        with reading(", ".join(sources)):
            axes = draw_store(sources, picture or RATIOS, kind, measure)
        save(axes, output)
        return
    if kind or measure:
        names = ", ".join(sources)
        raise UsageError(f"{names}: --kind and --measure belong to run stores")
    if len(sources) > 1:
        results = [result_to_draw(read_json(name), name) for name in sources]
        save(draw_beside(results, picture), output)
        return
    (result,) = sources
    data = read_json(result)
    if not isinstance(data, Mapping):
        raise InstanceError(
            f"{result}: a result is a JSON object, not {type(data).__name__}"
        )
    with reading(result):
        if _wants_page(data, output, picture):
            write_text(output, _page(data, result))
            return
        axes = _axes(data, result, picture, width)
    save(axes, output, exact=width is not None)


def _wants_page(data: Mapping[str, object], output: str, picture: str | None) -> bool:
    """Return whether *output* is to be the page of a result."""
    of_result = not is_stored(data)
    return of_result and picture is None and Path(output).suffix.lower() == ".html"


def _page(data: Mapping[str, object], name: str) -> str:
    """Return the page of the result *data*, which was read from the file *name*."""
    result = result_to_draw(data, name)
    try:
        return page_of(result)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _report(stores: tuple[str, ...], output: str, measure: str | None) -> None:
    """Write the stores as a page with tables and pictures (.html), or their rows as a
    table (.csv).
    """
    if Path(output).suffix.lower() == ".html":
        with reading(", ".join(stores)):
            text = report_html(stores, measure)
    else:
        text = read_frame(stores, measure).to_csv(index=False)
    write_text(output, text)


def _axes(
    data: Mapping[str, object], name: str, picture: str | None, width: float | None
) -> Any:
    """Draw a comparison or a result, given as the contents of its JSON file, and return
    the axes. A comparison may be *width* millimetres wide.
    """
    if is_stored(data):
        if picture is not None:
            raise UsageError(
                f"{name}: a comparison has one picture; leave out --picture"
            )
        runs = runs_in(data, name).labelled()
        return plot_comparison(runs.rows, runs.measure.name, runs.baseline, width)
    if width is not None:
        raise UsageError(f"{name}: --width belongs to one comparison")
    result = result_to_draw(data, name)
    try:
        return draw_result(result, picture or DEFAULT)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
